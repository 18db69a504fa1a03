"""The equations of the wheelset: data, contact of cone and circle, constraints, mass matrix, creep forces. See `wheelset`.

Positions `q = (x, y, z, theta, phi, chi)`; the wheelset spins at `w = omega + chi'`. A wheel touches its rail at the abscissa X, at the
place xi along the axle and at the angle psi from the lowest point of its circle of radius `R(xi)`, where the normals are parallel:

    R' sin(theta) cos(phi) - sin(theta) sin(phi) cos(psi) - cos(theta) sin(psi) = 0
    G'(X) (R' sin(phi) + cos(phi) cos(psi)) + R' cos(theta) cos(phi) - cos(theta) sin(phi) cos(psi) + sin(theta) sin(psi) = 0
    X = x + xi cos(theta) cos(phi) + R k,    k = cos(theta) sin(phi) cos(psi) - sin(theta) sin(psi)

The wheel is a cone, `R' = -tan(delta0)` on the left, `tan(delta0)` on the right, so the first equation is one for psi alone; the second
then gives the slope G' of the rail, a circle, hence X; the third is linear in xi. So the contact is found in closed form.

The constraints keep the gaps `y + xi sin(phi) - R cos(phi) cos(psi) - G(X)`. The published rows Q are their derivatives with the opposite
sign.

In the code `st, ct, sp, cp, ss, cs` are sine and cosine of theta, phi, psi; `side` is 1 on the left, -1 on the right. All functions also
take complex arguments. The creep forces have a kink where they saturate; complex arguments take the branch of their real part.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

MR, G, V, RN0, LI1, LI2 = 16.08, 9.81, 30.0, 0.1, 0.0605, 0.366
MU, XL, CX, CZ = 0.12, 0.19, 6400.0, 6400.0
E, GG, SIGMA, GM, C11, C22, C23 = 1.3537956, 0.7115218, 0.28, 7.92e10, 4.72772197, 4.27526987, 1.97203505
DELTA0, AR, RS = 0.0262, 0.1506, 0.06
PI = 3.1415926  # as published
OMEGA = V / RN0
TAN = np.tan(DELTA0)
CENTRE, DEPTH = AR + RS * np.sin(DELTA0), RN0 + RS * np.cos(DELTA0)  # of the circle of a rail's head
GAPS = (-5.26974908154898e-10, 4.966841105069619e-10)  # of the printed start, left and right


def _compiled(function: F) -> F:
    return njit(cache=True, error_model="numpy")(function)


@_compiled
def contact(q, side):
    """Contact of one wheel: `sin(psi), cos(psi), xi, R(xi), G'(X)`."""
    st, ct, sp, cp = np.sin(q[3]), np.cos(q[3]), np.sin(q[4]), np.cos(q[4])
    dR = -side * TAN
    A, B, C = st * sp, ct, dR * st * cp
    root = np.sqrt(A**2 + B**2 - C**2)
    ss, cs = (B * C - A * root) / (A**2 + B**2), (A * C + B * root) / (A**2 + B**2)
    slope = -(dR * ct * cp - ct * sp * cs + st * ss) / (dR * sp + cp * cs)
    X = side * CENTRE - RS * slope / np.sqrt(1.0 + slope**2)
    k = ct * sp * cs - st * ss
    xi = (X - q[0] - (RN0 + TAN * AR) * k) / (ct * cp + dR * k)
    return ss, cs, xi, RN0 + TAN * (AR - side * xi), slope


@_compiled
def row(q, side):
    """Published row `(G', -1, 0, Q4, Q5)` of the constraint of one wheel: `Q4, Q5, G'`."""
    ss, cs, xi, R, slope = contact(q, side)
    st, ct, sp, cp = np.sin(q[3]), np.cos(q[3]), np.sin(q[4]), np.cos(q[4])
    Q4 = slope * (-R * (ct * ss + cs * sp * st) - xi * cp * st)
    Q5 = -R * cs * sp - xi * cp + slope * ct * (R * cp * cs - xi * sp)
    return Q4, Q5, slope


@_compiled
def phi(t, q):
    """Height of either wheel above its rail, left and right, less the gaps of the start, shape (2,)."""
    out = np.zeros(2, dtype=q.dtype)
    for k in range(2):
        _, cs, xi, R, slope = contact(q, 1.0 - 2.0 * k)
        out[k] = q[1] + xi * np.sin(q[4]) - R * np.cos(q[4]) * cs - (RS / np.sqrt(1.0 + slope**2) - DEPTH) - GAPS[k]
    return out


@_compiled
def phi_q(t, q):
    """`Phi_q(q)`, shape (2, 6): less the published rows. The contact variables drop out, for Phi is stationary with respect to them."""
    out = np.zeros((2, 6), dtype=q.dtype)
    for k in range(2):
        Q4, Q5, slope = row(q, 1.0 - 2.0 * k)
        out[k, 0], out[k, 1], out[k, 3], out[k, 4] = -slope, 1.0, -Q4, -Q5
    return out


@_compiled
def nu(t, q):
    """`nu = -Phi_t`: no constraint depends on time."""
    return np.zeros(2, dtype=q.dtype)


@_compiled
def gamma(t, q, v):
    """`gamma(q, v) = -(Phi_q v)_q v`, shape (2,): the rate of the published rows times the velocities."""
    st, ct, sp, cp = np.sin(q[3]), np.cos(q[3]), np.sin(q[4]), np.cos(q[4])
    th, ph = v[3], v[4]
    out = np.zeros(2, dtype=v.dtype)
    for k in range(2):
        side = 1.0 - 2.0 * k
        ss, cs, xi, R, slope = contact(q, side)
        dR = -side * TAN
        n, d = dR * ct * cp - ct * sp * cs + st * ss, dR * sp + cp * cs
        psi_dot = (n * th - st * d * ph) / (ct * cs - st * sp * ss)
        bend = ct * sp * ss + st * cs
        n_dot = -ct * d * ph + bend * psi_dot
        d_dot = (dR * cp - sp * cs) * ph - cp * ss * psi_dot
        slope_dot = -(n_dot + slope * d_dot) / d
        X_dot = -RS * slope_dot / np.sqrt(1.0 + slope**2) ** 3
        k_dot = -dR * st * cp * th + ct * cp * cs * ph - bend * psi_dot
        xi_dot = (X_dot - v[0] + xi * (st * cp * th + ct * sp * ph) - R * k_dot) / (ct * cp + dR * (ct * sp * cs - st * ss))
        R_dot = dR * xi_dot
        arm = R * dR + xi  # R (cos(th) sin(psi) + cos(psi) sin(ph) sin(th)) + xi cos(ph) sin(th) = arm sin(th) cos(ph)
        Q4_dot = (-slope_dot * st * cp * arm - slope * (ct * cp * th - st * sp * ph) * arm
                  - slope * st * cp * (dR * R_dot + xi_dot))
        across, across_dot = R * cs, R_dot * cs - R * ss * psi_dot
        up, up_dot = ct * (across * cp - xi * sp), (-st * (across * cp - xi * sp) * th
                                                    + ct * (across_dot * cp - xi_dot * sp - (across * sp + xi * cp) * ph))
        Q5_dot = (-across_dot * sp - across * cp * ph - xi_dot * cp + xi * sp * ph + slope_dot * up + slope * up_dot)
        out[k] = slope_dot * v[0] + Q4_dot * th + Q5_dot * ph
    return out


@_compiled
def mass(t, q):
    """`M(q)`, shape (6, 6)."""
    s, c = np.sin(q[4]), np.cos(q[4])
    M = np.zeros((6, 6), dtype=q.dtype)
    M[0, 0] = M[1, 1] = M[2, 2] = MR
    M[3, 3], M[4, 4], M[5, 5] = LI2 * c + LI1 * s**2, LI2, LI1
    M[3, 5] = M[5, 3] = LI1 * s
    return M


@_compiled
def force(t, q, v):
    """Weight, springs and gyroscopic forces, shape (6,)."""
    s, c = np.sin(q[4]), np.cos(q[4])
    w = OMEGA + v[5]
    steer = -2.0 * XL**2 * CZ * q[3]
    yaw = LI2 * v[3] * v[4] * s - LI1 * w * v[4] - (LI1 - LI2) * v[3] * v[4] * s + c * steer
    spin = -LI1 * v[3] * v[4] * c + s * steer
    Q = np.zeros_like(v)
    Q[0], Q[1], Q[2] = -2.0 * CX * q[0], -MR * G, -2.0 * CZ * q[2]
    Q[3] = yaw + s * spin
    Q[4] = LI1 * w * v[3] * c + (LI1 - LI2) * v[3] ** 2 * s * c
    Q[5] = spin
    return Q


@_compiled
def creepages(q, v, side):
    """Creepages along and across the rail and of spin, with the velocity `w1, w2, w3` of the wheel over the rail at the contact."""
    ss, cs, xi, R, slope = contact(q, side)
    sp, cp = np.sin(q[4]), np.cos(q[4])
    cos_d = 1.0 / np.sqrt(1.0 + slope**2)
    sin_d = side * slope * cos_d
    s, c = np.sin(q[3] / cos_d), np.cos(q[3] / cos_d)
    w = OMEGA + v[5]
    lever = xi * sp - R * cp * cs
    w1 = -w * R * (s * cs + c * sp * ss) + v[0] - v[3] * (R * (s * sp * cs + c * ss) + xi * s * cp) - v[4] * c * lever
    w2 = w * R * cp * ss + v[1] + v[4] * (xi * cp + R * sp * cs)
    w3 = -w * R * (c * cs - s * sp * ss) + V + v[2] - v[3] * (xi * c * cp + R * (c * sp * cs - s * ss)) + v[4] * s * lever
    rolling = 0.5 * np.sqrt((w1 - 2.0 * v[0]) ** 2 + (w2 - 2.0 * v[1]) ** 2 + (w3 - 2.0 * v[2] - 2.0 * V) ** 2)
    along = (s * w1 + c * w3) / rolling
    across = (c * cos_d * w1 + side * sin_d * w2 - s * cos_d * w3) / rolling
    return along, across, (-side * sin_d * w + cos_d * v[3]) / rolling


@_compiled
def normal_force(q, lam, side):
    """Normal force between wheel and rail."""
    slope = contact(q, side)[4]
    return -lam * np.sqrt(1.0 + slope**2)


@_compiled
def saturation(x):
    """`tanh(x)`, for complex steps too: compiled, the hyperbolic functions of complex numbers overflow for large arguments."""
    real = np.tanh(x.real)
    return real + (x - x.real) * (1.0 - real**2)


@_compiled
def creep(q, v, lam, side):
    """Force of the rail on a wheel within the contact plane, `T1, T2, T3`; `lam` is the multiplier of this contact."""
    _, _, _, R, slope = contact(q, side)
    along, across, spin = creepages(q, v, side)
    cos_d = 1.0 / np.sqrt(1.0 + slope**2)
    sin_d = side * slope * cos_d
    s, c = np.sin(q[3] / cos_d), np.cos(q[3] / cos_d)
    N = normal_force(q, lam, side)
    size = N if N.real > 0.0 else -N
    curvatures = 0.5 / (R * np.sqrt(1.0 + TAN**2)) + 0.5 / RS
    ellipse = (3.0 * size * (1.0 - SIGMA) * E / (2.0 * PI * curvatures * GM * np.sqrt(GG))) ** (1.0 / 3.0)
    limit = MU * size
    stiffness = GM * ellipse**2
    TX = -limit * saturation(stiffness * C11 * along / limit)
    TY = -limit * saturation(stiffness * (C22 * across + ellipse * C23 * spin) / limit)
    total = TX**2 + TY**2
    if total.real > (limit**2).real:
        TX, TY = TX * limit / np.sqrt(total), TY * limit / np.sqrt(total)
    return s * TX + c * cos_d * TY, side * sin_d * TY, c * TX - s * cos_d * TY


@_compiled
def friction(t, q, v, lam):
    """Creep forces of both contacts, shape (6,)."""
    st, ct, sp, cp = np.sin(q[3]), np.cos(q[3]), np.sin(q[4]), np.cos(q[4])
    Q = np.zeros_like(v)
    for k in range(2):
        side = 1.0 - 2.0 * k
        ss, cs, xi, R, _ = contact(q, side)
        T1, T2, T3 = creep(q, v, lam[k], side)
        yaw = -(xi * st + R * ss * ct * cp) * T1 - R * ss * sp * T2 + (-xi * ct + R * ss * st * cp) * T3
        spin = -R * (cs * st + ss * ct * sp) * T1 + R * ss * cp * T2 - R * (cs * ct - ss * st * sp) * T3
        Q[0] += T1
        Q[1] += T2
        Q[2] += T3
        Q[3] += yaw + sp * spin
        Q[4] += -(xi * ct * sp - R * cs * ct * cp) * T1 + (xi * cp + R * cs * sp) * T2 + (xi * st * sp - R * cs * st * cp) * T3
        Q[5] += spin
    return Q
