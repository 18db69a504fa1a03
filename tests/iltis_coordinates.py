"""The Iltis in 14 coordinates: place of the chassis, angle of each A-arm, spin of each wheel.

Everything is seen from the chassis; bodies move as the four-bar linkage of their corner lets them, which Newton's method solves, and
Newton-Euler equations are projected on the 14 rates. Nothing of the library is used but its parameters and the motion of the rack.
"""

import math

import numpy as np

from mbdae.library import iltis
from mbdae.model import rotations

STEP = 1e-25
CORNERS = tuple(iltis.CORNERS.items())


def rotation(axis, angle):
    x = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x


def linkage(axle, side, angle, rack):
    """A-arm and hub: `(r, A)` each, for real or complex angle and rack."""
    def nominal(point, x=0.0):
        return np.array([axle + x, side * point[0], point[1] - 0.57])

    tie = -math.copysign(0.14, axle)
    p, e0, b0, a = nominal((0.1585, 0.6)), nominal((0.488, 0.531)), nominal((0.572, 0.229)), nominal((0.259, 0.302))
    w0, t0, k = nominal((0.615, 0.356)), nominal((0.448, 0.531), tie), nominal((0.07, 0.6), tie)
    link, rod = (e0 - p) @ (e0 - p), (t0 - k) @ (t0 - k)
    k = k + (np.array([0, rack, 0]) if axle > 0 else 0)
    axis = (e0 - b0) / np.linalg.norm(e0 - b0)
    arm = rotation((1, 0, 0), side * angle)
    b, z = a + arm @ (b0 - a), np.zeros(2, dtype=complex)

    def hub(z):
        return rotation((1, 0, 0), z[0]) @ rotation(axis, z[1])

    def gap(z):
        d, f = b + hub(z) @ (e0 - b0) - p, b + hub(z) @ (t0 - b0) - k
        return np.array([d @ d - link, f @ f - rod])

    def slope(z):
        h = 1e-6
        return np.array([(gap(z + h * i) - gap(z - h * i)) / (2 * h) for i in np.eye(2)]).T

    for _ in range(20):  # the slope is a difference quotient: convergence is linear, and quick
        z = z - np.linalg.solve(slope(z), gap(z))
    centre = b0 + 0.16073 * (a - b0) / np.linalg.norm(a - b0)
    return (a + arm @ (centre - a), arm), (b + hub(z) @ (w0 - b0), hub(z))


def moved(f, angle, rate, rack):
    """Places of the bodies of a linkage, derivatives by the angle, velocities, accelerations that no rate changes; rotations likewise.

    `f(angle, rack)` gives a list of `(r, A)`, `rack` holds the rack's motion and two derivatives.
    """
    s, ds, dds = rack

    def path(tau, x=0.0):
        return f(angle + rate * tau + x, s + ds * tau + 0.5 * dds * tau**2)

    def slopes(tau, x):
        """Derivative along the motion, or by the angle, by the complex step."""
        step = 1j * STEP
        return [(r.imag / STEP, A.imag / STEP) for r, A in (path(tau, step) if x else path(tau + step))]

    h = 5e-4
    around = [slopes(k * h, False) for k in (-2, -1, 1, 2)]
    out = []
    for k, ((r, A), (r_x, A_x), (d_r, d_A)) in enumerate(zip(path(0.0), slopes(0.0, True), slopes(0.0, False))):
        r, A = r.real, A.real
        dd_r, dd_A = ((a[k][c] - d[k][c] + 8 * (m[k][c] - b[k][c])) / (12 * h) for c in (0, 1) for a, b, m, d in [around])
        w_x, w = axial(A_x @ A.T), axial(d_A @ A.T)
        out.append((r, A, r_x, d_r, dd_r, w_x, w, axial(dd_A @ A.T + d_A @ d_A.T)))
    return out


def axial(S):
    return 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])


def tyre(manoeuvre, radius, centre, axis, velocity):
    """Force on the wheel, its lever from the centre, and a free torque, as the text books write it; all global."""
    left, right = iltis.MANOEUVRES[manoeuvre]
    s = 2 * np.pi * (centre[0] - 0.97) / 5
    inside = (left if centre[1] > 0 else right) * (0 < s < 2 * np.pi)
    height, slope = inside * 0.1 * (1 - np.cos(s)), inside * 0.04 * np.pi * np.sin(s)
    n = np.array([-slope, 0, 1]) / np.hypot(1, slope)
    load = max(0.0, 460000 * (radius - centre[2] + height) / np.hypot(1, slope))
    if manoeuvre == "rest":
        return np.array([0, 0, load]), np.zeros(3), np.zeros(3)
    if load == 0:
        return np.zeros(3), np.zeros(3), np.zeros(3)
    ahead = np.cross(axis, n) / np.linalg.norm(np.cross(axis, n))
    across, spoke = np.cross(n, ahead), np.cross(ahead, axis)
    foot = (n @ (centre - [centre[0], 0, height])) * n  # from the tangent of the road below the centre to the centre
    lever = -spoke * foot[2] / spoke[2]
    g, a = np.arctan((n @ axis) / (n @ spoke)), np.arctan((velocity @ across) / (velocity @ ahead))
    assert load < 12930
    c = 14.47 * load * (load - 12930) - 2625 * 12930
    mu = (-4.64e-5 * load + 1.216 + 2.18e-11 * load**2) * 1.0274
    s = c / (12930 * mu * load) * (a - 12930 * 2.29 * (18175 - load) * load * g / (18175 * c))
    shape = s - s * abs(s) / 3 + s**3 / 27 if abs(s) < 3 else np.sign(s)
    side = mu * load * shape
    return load * n + side * across, lever, (-1.71e-5 * load + 1.71e-5 * abs(side)) * side * n


def accelerations(manoeuvre, t, q, v):
    """Accelerations of the chassis (global, body-fixed) and of the angles of the arms, from the 14 equations."""
    A, omega = rotations.to_matrix(q[3:7]), v[3:6]
    V, gravity = A.T @ v[:3], A.T @ [0, 0, -9.81]
    M, Q = np.zeros((14, 14)), np.zeros(14)

    def add(mass, inertia, r, J_r, d_r, dd_r, J_w, w, dd_w, force=None, torque=None):
        """A body: its velocity is `J_r u`, in the chassis `d_r`; what the rates do not change of its acceleration is `dd_r`."""
        a = dd_r + np.cross(omega, d_r) + np.cross(omega, V + np.cross(omega, r) + d_r)
        alpha, spin = dd_w + np.cross(omega, w), omega + w
        M[:] += mass * J_r.T @ J_r + J_w.T @ inertia @ J_w
        Q[:] += J_r.T @ (mass * (gravity - a) + (0 if force is None else force))
        Q[:] += J_w.T @ ((0 if torque is None else torque) - inertia @ alpha - np.cross(spin, inertia @ spin))

    def jacobians(r):
        J_r, J_w = np.zeros((3, 14)), np.zeros((3, 14))
        J_r[:, :3], J_w[:, 3:6] = np.eye(3), np.eye(3)
        J_r[:, 3:6] = np.array([np.cross(e, r) for e in np.eye(3)]).T
        return J_r, J_w

    steered, zero = manoeuvre == "ramp-steer", np.zeros(3)
    rack = (iltis._rack(t), iltis._d_rack(t), iltis._dd_rack(t)) if steered else (0.0, 0.0, 0.0)
    share = 1e-3 if steered else 0.0
    I = np.diag([130, 1620, 1670.0])
    add(1260 * (1 - share), (1 - share) * I, zero, *pair(jacobians(zero), zero, zero), zero, zero)
    s, d_s, dd_s = (np.array([0, x, 0]) for x in rack)
    add(1260 * share, share * I, s, *pair(jacobians(s), d_s, dd_s), zero, zero)
    for k, (_, (axle, side)) in enumerate(CORNERS):
        angle, rate, spin = corner_state(q, v, k, side)

        def bodies(x, y, axle=axle, side=side):
            return linkage(axle, side, x, y)

        for j, (r, R, r_x, d_r, dd_r, w_x, w, dd_w) in enumerate(moved(bodies, angle, rate, rack)):
            J_r, J_w = jacobians(r)
            J_r[:, 6 + k], J_w[:, 6 + k] = r_x, w_x
            if j == 0:
                B = R @ rotation((1, 0, 0), -side * math.atan2(0.073, 0.313))
                add(6.0, B @ np.diag([0.052099, 0.023235, 0.068864]) @ B.T, r, J_r, d_r, dd_r, J_w, w, dd_w)
                continue
            n = R[:, 1]
            radial = 1.2402 * (np.eye(3) - np.outer(n, n))
            add(0.0, 1.908e-3 * np.outer(n, n), r, J_r, d_r, dd_r, J_w, w, dd_w)
            J_w = J_w.copy()
            J_w[:, 10 + k] = n
            F, lever, torque = tyre(manoeuvre, iltis.RADIUS[axle], q[:3] + A @ r, A @ n, A @ (V + np.cross(omega, r) + d_r))
            add(57.35, radial + 1.908 * 0.999 * np.outer(n, n), r, J_r, d_r, dd_r, J_w, w + spin * n, dd_w + spin * np.cross(w, n),
                A.T @ F, A.T @ (np.cross(lever, F) + torque))
        Q[6 + k] += springs(axle, side, angle, rate, rack)
    u = np.linalg.solve(M, Q)
    return A @ (u[:3] + np.cross(omega, V)), u[3:6], u[6:10], u[10:]


def pair(J, d_r, dd_r):
    return J[0], d_r, dd_r, J[1]


def corner_state(q, v, k, side):
    """Angle of an A-arm and its rate, and the rate at which its wheel turns in the hub."""
    chassis, arm = (rotations.to_matrix(q[7 * b + 3:7 * b + 7]) for b in (0, 3 * k + 1))
    R = chassis.T @ arm
    omega = [v[6 * b + 3:6 * b + 6] for b in (0, 3 * k + 1, 3 * k + 2, 3 * k + 3)]
    return side * math.atan2(R[2, 1], R[1, 1]), side * (omega[1][0] - omega[0][0]), omega[3][1] - omega[2][1]


def springs(axle, side, angle, rate, rack):
    """Generalised force of shock absorber and leaf spring on the angle of the arm."""
    x = math.copysign(0.075, axle)

    def lengths(angle, rack):
        (_, R), (h, H) = linkage(axle, side, angle, rack)
        pivot = np.array([axle, side * 0.259, 0.302 - 0.57])
        low = pivot + R @ np.array([x, side * (0.5 - 0.259), 0.241 - 0.302])
        d = low - np.array([axle + x, side * 0.297, 0.632 - 0.57])
        return np.sqrt(d @ d), 0.137 - (h + H @ np.array([0, side * (0.488 - 0.615), 0.175]))[2] - 0.1

    (length, leaf), by_angle = lengths(angle, rack[0]), [z.imag / STEP for z in lengths(angle + 1j * STEP, rack[0])]
    along = [z.imag / STEP for z in lengths(angle + 1j * STEP * rate, rack[0] + 1j * STEP * rack[1])]
    Z, dZ, L = length.real, along[0], leaf.real
    shock = -4.0092e6 + 2.8397e7 * Z - 6.7061e7 * Z**2 + 5.2796e7 * Z**3
    shock += np.select([dZ < -0.2, dZ > 0.21], [-416.42 + 1844.3 * dZ, 1919.1638 + 1634.727 * dZ],
                       9945.627 * dZ + 33955.72 * dZ**2 - 59832.25 * dZ**3 - 395651 * dZ**4)
    pull = 35906 * (L - 0.152) if L > 0.006 else 35906 * (0.006 - 0.152) + 1e7 * (L - 0.006)
    return -shock * by_angle[0] - pull * by_angle[1]
