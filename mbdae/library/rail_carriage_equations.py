"""The equations of the rail carriage: data, motion along the track, suspension, contacts. See `rail_carriage`.

Each body has the coordinates `x, y, z` and yaw, roll, pitch. It stands at the arc length `s = S + V t + x` of the track, `y` to the left
and `z` above its height at rest, and is turned from the axes of the track there (forward, left, up) by the yaw about the vertical, the roll
and the pitch. The car body has no `x`: it moves with the speed `V`. The pitch of a wheelset is what it has turned more than `V t/ROLLING`;
its "frame" does not turn with it. With `w = kappa s' + yaw'`:

    velocity in axes of the track       u = (s' (1 - kappa y), y', z')
    angular velocity before the pitch   (roll', pitch' + w sin(roll), w cos(roll))

Forces, torques and inertias of a body act through the transposes of these, `M = J^T diag(m, I) J`.
"""

import numpy as np

from ..compilation.compiled import compiled
from .rail_contact import HALF, R0, ROLLING, contact, creep_forces, second_derivative
from .rail_track import chord, track

SPEED, G = 10.0, 9.81
CAR, BOGIES, AXLES = 0, (1, 4), (2, 3, 5, 6)
FIRST = np.array([-1, 5, 11, 17, 23, 29, 35])  # coordinate x of each body
NQ, NC = 41, 8
KINDS = np.array([0, 1, 2, 2, 1, 2, 2])  # car body, bogie, wheelset
MASSES = np.array([32000.0, 2615.0, 1813.0])
INERTIAS = np.array([[56.8e3, 1.97e6, 1.97e6], [1722.0, 1476.0, 3067.0], [1120.0, 112.0, 1120.0]])
HEIGHTS = np.array([1.8, 0.6, R0])
PIVOT, BASE, SPAN = 9.5, 1.28, 1.0  # half distances of bogies, of wheelsets in a bogie, of springs across
STATIONS = np.array([0.0, PIVOT, PIVOT + BASE, PIVOT - BASE, -PIVOT, -PIVOT + BASE, -PIVOT - BASE])
ABOVE, STOP = 0.8275, 0.65  # heights of the secondary suspension and of the lateral bump stops
AXLE_OF = np.array([2, 3, 5, 6])
PRIMARY = np.array([31.391e6, 3.884e6, 1.220e6, 15e3, 2e3, 4e3])  # stiffness and damping forward, left, up
SECONDARY = np.array([160e3, 160e3, 430e3, 0.0, 32e3, 20e3])
NONE = np.zeros(6)
ROLL, PITCH = 940e3 + 2.0 * 10.5e3, 2.0 * 10.5e3  # of the anti-roll bar and the bending of the secondary springs, for a bogie
_LOADS = (MASSES[0] * G / 4.0, (MASSES[0] + 2.0 * MASSES[1]) * G / 8.0)  # of a secondary and a primary spring
WHEEL_LOAD = (MASSES[0] + 2.0 * MASSES[1] + 4.0 * MASSES[2]) * G / 8.0
BUMP_PLACES = 1e-3 * np.array([25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0])
BUMP_FORCES = np.array([0.0, 600.0, 1760.0, 3730.0, 6870.0, 11580.0, 17170.0, 29200.0, 230000.0])


def _springs() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of bodies, upper and lower, and for each the two points, stiffness and damping, load at rest, and 1 for a bump stop."""
    pairs, rows = [], []
    for k, bogie in enumerate(BOGIES):
        ahead = STATIONS[bogie]
        for side in (SPAN, -SPAN):
            pairs.append((CAR, bogie))
            rows.append([ahead, side, ABOVE - HEIGHTS[0], 0.0, side, ABOVE - HEIGHTS[1], *SECONDARY, _LOADS[0], 0.0])
        pairs.append((CAR, bogie))
        rows.append([ahead, 0.0, STOP - HEIGHTS[0], 0.0, 0.0, STOP - HEIGHTS[1], *NONE, 0.0, 1.0])
        for axle in AXLES[2 * k:2 * k + 2]:
            for side in (SPAN, -SPAN):
                pairs.append((bogie, axle))
                rows.append([STATIONS[axle] - ahead, side, HEIGHTS[2] - HEIGHTS[1], 0.0, side, 0.0, *PRIMARY, _LOADS[1], 0.0])
    return np.array(pairs), np.array(rows)


def _slopes() -> np.ndarray:
    """Of the table of the bump stops at its points, so that the interpolation is monotone [Fritsch and Carlson]."""
    steps = np.diff(BUMP_FORCES) / np.diff(BUMP_PLACES)
    return np.array([0.0, *(2.0 * steps[1:] * steps[:-1] / (steps[1:] + steps[:-1])), steps[-1]])


PAIRS, SPRINGS = _springs()
BUMP_SLOPES = _slopes()
S_FRAME, S_RATE, S_HEADING, S_TURN, S_PLACE, S_VELOCITY, S_OMEGA, S_ROLLS, S_SIZE = 0, 9, 12, 13, 14, 17, 20, 23, 25


@compiled
def bump_stop(d):
    """Force of the bump stops at a lateral displacement; zero within the free play, linear beyond the table."""
    size = d if d.real >= 0.0 else -d
    n = BUMP_PLACES.shape[0]
    if size.real <= BUMP_PLACES[0]:
        return 0.0 * d
    value = BUMP_FORCES[n - 1] + BUMP_SLOPES[n - 1] * (size - BUMP_PLACES[n - 1])
    for k in range(n - 1):
        if BUMP_PLACES[k] < size.real <= BUMP_PLACES[k + 1]:
            h = BUMP_PLACES[k + 1] - BUMP_PLACES[k]
            x = (size - BUMP_PLACES[k]) / h
            value = (BUMP_FORCES[k] * (1.0 + 2.0 * x) * (1.0 - x) ** 2 + BUMP_FORCES[k + 1] * x**2 * (3.0 - 2.0 * x)
                     + h * x * (1.0 - x) * (BUMP_SLOPES[k] * (1.0 - x) - BUMP_SLOPES[k + 1] * x))
    return value if d.real >= 0.0 else -value


@compiled
def coordinates(t, q, v, b, out):
    """Rows `s, y, z, yaw, roll, pitch` of body `b` and their rates, those of the car body and of rolling wheelsets included."""
    for k in range(6):
        at = FIRST[b] + k
        out[0, k] = q[at] if at >= 0 else 0.0 * q[0]
        out[1, k] = v[at] if at >= 0 else 0.0 * v[0]
    out[0, 0] += STATIONS[b] + SPEED * t
    out[1, 0] += SPEED
    if KINDS[b] == 2:
        out[1, 5] += SPEED / ROLLING


@compiled
def _kinematics(b, c, row):
    """One body: `kappa, kappa'` come back, the rest stands in its row."""
    kappa, rate, heading = track(c[0, 0])
    sy, cy, sr, cr = np.sin(c[0, 3]), np.cos(c[0, 3]), np.sin(c[0, 4]), np.cos(c[0, 4])
    sp, cp = np.sin(c[0, 5]), np.cos(c[0, 5])
    if KINDS[b] == 2:
        sp, cp = 0.0 * sp, 0.0 * cp + 1.0
    w = kappa * c[1, 0] + c[1, 3]
    # R = R_z(yaw) R_x(roll) R_y(pitch)
    row[0], row[1], row[2] = cy * cp - sy * sr * sp, -sy * cr, cy * sp + sy * sr * cp
    row[3], row[4], row[5] = sy * cp + cy * sr * sp, cy * cr, sy * sp - cy * sr * cp
    row[6], row[7], row[8] = -cr * sp, sr, cr * cp
    # the angular velocity of the frame, and with the spin of a wheelset
    e1, e2, e3 = c[1, 4], w * sr, w * cr
    spin = c[1, 5]
    turning = e2 if KINDS[b] == 2 else e2 + spin
    row[S_RATE], row[S_RATE + 1], row[S_RATE + 2] = e1 * cp - e3 * sp, turning, e1 * sp + e3 * cp
    row[S_OMEGA], row[S_OMEGA + 1], row[S_OMEGA + 2] = row[S_RATE], e2 + spin, row[S_RATE + 2]
    row[S_HEADING], row[S_TURN] = heading, kappa
    for k in range(3):
        row[S_PLACE + k] = c[0, k]
    row[S_VELOCITY] = c[1, 0] * (1.0 - kappa * c[0, 1])
    row[S_VELOCITY + 1], row[S_VELOCITY + 2] = c[1, 1], c[1, 2]
    row[S_ROLLS], row[S_ROLLS + 1] = c[0, 4], c[0, 5]
    return kappa, rate


@compiled
def project(b, row, F, T, with_pitch, Q):
    """`Q += J^T (F, T)` for a force in axes of the track and a torque in the frame of the body."""
    sr, cr = np.sin(row[S_ROLLS]), np.cos(row[S_ROLLS])
    sp, cp = np.sin(row[S_ROLLS + 1]), np.cos(row[S_ROLLS + 1])
    if KINDS[b] == 2:
        sp, cp = 0.0 * sp, 0.0 * cp + 1.0
    T1, T2, T3 = cp * T[0] + sp * T[2], T[1], cp * T[2] - sp * T[0]
    up, at = sr * T2 + cr * T3, FIRST[b]
    if at >= 0:
        Q[at] += (1.0 - row[S_TURN] * row[S_PLACE + 1]) * F[0] + row[S_TURN] * up
    Q[at + 1] += F[1]
    Q[at + 2] += F[2]
    Q[at + 3] += up
    Q[at + 4] += T1
    if with_pitch:
        Q[at + 5] += T2


@compiled
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def _to_track(row, x):
    """`R x`."""
    return (row[0] * x[0] + row[1] * x[1] + row[2] * x[2], row[3] * x[0] + row[4] * x[1] + row[5] * x[2],
            row[6] * x[0] + row[7] * x[1] + row[8] * x[2])


@compiled
def _to_frame(row, x):
    """`R^T x`."""
    return (row[0] * x[0] + row[3] * x[1] + row[6] * x[2], row[1] * x[0] + row[4] * x[1] + row[7] * x[2],
            row[2] * x[0] + row[5] * x[1] + row[8] * x[2])


@compiled
def _turned(c, s, x):
    """A vector turned about the vertical."""
    return c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]


@compiled
def spring(k, X, Q):
    """One spring with its damper, or a bump stop, between an upper and a lower body, along the axes of the lower one's frame."""
    A, B, data = PAIRS[k, 0], PAIRS[k, 1], SPRINGS[k]
    upper, lower = X[A], X[B]
    a, b = (data[0], data[1], data[2]), (data[3], data[4], data[5])
    forward, left = chord(lower[S_PLACE], upper[S_PLACE])
    turn = upper[S_HEADING] - lower[S_HEADING]
    c, s = np.cos(turn), np.sin(turn)
    # from the centre of the lower body to that of the upper one, and the deformation, in axes of the track at the lower one
    rise = HEIGHTS[KINDS[A]] - HEIGHTS[KINDS[B]] + upper[S_PLACE + 2] - lower[S_PLACE + 2]
    D = (forward - s * upper[S_PLACE + 1], left + c * upper[S_PLACE + 1] - lower[S_PLACE + 1], rise)
    pa, pb = _turned(c, s, _to_track(upper, a)), _to_track(lower, b)
    d = _to_frame(lower, (D[0] + pa[0] - pb[0], D[1] + pa[1] - pb[1], D[2] + pa[2] - pb[2]))
    # its rate in the frame of the lower body
    ra, rb = _cross(upper[S_RATE:S_RATE + 3], a), _cross(lower[S_RATE:S_RATE + 3], b)
    ta = _to_track(upper, ra)
    va = _turned(c, s, (upper[S_VELOCITY] + ta[0], upper[S_VELOCITY + 1] + ta[1], upper[S_VELOCITY + 2] + ta[2]))
    u = _to_frame(lower, (va[0] - lower[S_VELOCITY], va[1] - lower[S_VELOCITY + 1], va[2] - lower[S_VELOCITY + 2]))
    rd = _cross(lower[S_RATE:S_RATE + 3], d)
    f = np.empty(3, dtype=Q.dtype)
    for i in range(3):
        f[i] = data[6 + i] * d[i] + data[9 + i] * (u[i] - rb[i] - rd[i])
    f[2] -= data[12]
    if data[13] > 0.0:
        f[1] += bump_stop(d[1])
    # both forces act at the point of the upper body
    F = _to_track(lower, f)
    project(B, lower, F, _cross((b[0] + d[0], b[1] + d[1], b[2] + d[2]), f), KINDS[B] != 2, Q)
    back = _turned(c, -s, F)
    F = (-back[0], -back[1], -back[2])
    project(A, upper, F, _cross(a, _to_frame(upper, F)), True, Q)


@compiled
def frames(t, q, v):
    """A row for each body: frame, its angular velocity, heading and curvature of the track, place, velocity, angular velocity, angles."""
    X, c = np.zeros((FIRST.shape[0], S_SIZE), dtype=v.dtype), np.zeros((2, 6), dtype=v.dtype)
    for b in range(FIRST.shape[0]):
        coordinates(t, q + 0.0 * v, v, b, c)
        _kinematics(b, c, X[b])
    return X


@compiled
def _inertia(t, q, v, b, X, Q):
    """Weight, and the forces of inertia without accelerations: `-J^T (m a, I w' + w x I w)` at `v' = 0`."""
    row, c = X[b], np.zeros((2, 6), dtype=v.dtype)
    coordinates(t, q + 0.0 * v, v, b, c)
    kappa, rate, _ = track(c[0, 0])
    m, I = MASSES[KINDS[b]], INERTIAS[KINDS[b]]
    speed, turn = c[1, 0], kappa * c[1, 0]
    u = row[S_VELOCITY:S_VELOCITY + 3]
    F = (m * (speed * (rate * speed * c[0, 1] + kappa * c[1, 1]) + turn * u[1]), -m * turn * u[0], -m * G + 0.0 * turn)
    # angular accelerations before the pitch, then in the frame
    sr, cr = np.sin(c[0, 4]), np.cos(c[0, 4])
    w, dw = turn + c[1, 3], rate * speed**2
    e1, e2, e3 = 0.0 * w, dw * sr + w * cr * c[1, 4], dw * cr - w * sr * c[1, 4]
    W, o = row[S_RATE:S_RATE + 3], row[S_OMEGA:S_OMEGA + 3]
    if KINDS[b] != 2:
        sp, cp, spin = np.sin(c[0, 5]), np.cos(c[0, 5]), c[1, 5]
        e1, e3 = e1 * cp - e3 * sp - spin * W[2], e1 * sp + e3 * cp + spin * W[0]
    L = (I[0] * o[0], I[1] * o[1], I[2] * o[2])
    g = _cross(W, L)
    project(b, row, F, (-I[0] * e1 - g[0], -I[1] * e2 - g[1], -I[2] * e3 - g[2]), True, Q)


@compiled
def force(t, q, v):
    """Weight, inertia, springs, dampers, bump stops, anti-roll bars, shape (41,)."""
    X, Q = frames(t, q, v), np.zeros(NQ, dtype=v.dtype)
    for b in range(FIRST.shape[0]):
        _inertia(t, q, v, b, X, Q)
    for k in range(PAIRS.shape[0]):
        spring(k, X, Q)
    for b in (1, 4):
        roll, pitch = ROLL * (q[3] - q[FIRST[b] + 4]), PITCH * (q[4] - q[FIRST[b] + 5])
        Q[3] -= roll
        Q[FIRST[b] + 4] += roll
        Q[4] -= pitch
        Q[FIRST[b] + 5] += pitch
    return Q


@compiled
def mass(t, q):
    """`M(t, q)`, shape (41, 41): a block for each body."""
    X, M = frames(t, q, np.zeros_like(q)), np.zeros((NQ, NQ), dtype=q.dtype)
    column, F, T = np.zeros(NQ, dtype=q.dtype), np.zeros(3, dtype=q.dtype), np.zeros(3, dtype=q.dtype)
    for b in range(FIRST.shape[0]):
        row, m, I, first = X[b], MASSES[KINDS[b]], INERTIAS[KINDS[b]], FIRST[b]
        sr, cr = np.sin(row[S_ROLLS]), np.cos(row[S_ROLLS])
        sp, cp = np.sin(row[S_ROLLS + 1]), np.cos(row[S_ROLLS + 1])
        if KINDS[b] == 2:
            sp, cp = 0.0 * sp, 0.0 * cp + 1.0
        for k in range(6):
            if first + k < 0:
                continue
            F[:] = 0.0
            e1, e2, e3 = 0.0 * sr, 0.0 * sr, 0.0 * sr
            if k == 0:
                F[0] = m * (1.0 - row[S_TURN] * row[S_PLACE + 1])
                e2, e3 = row[S_TURN] * sr, row[S_TURN] * cr
            elif k < 3:
                F[k] = m
            elif k == 3:
                e2, e3 = sr, cr
            elif k == 4:
                e1 = e1 + 1.0
            else:
                e2 = e2 + 1.0
            T[0], T[1], T[2] = I[0] * (e1 * cp - e3 * sp), I[1] * e2, I[2] * (e1 * sp + e3 * cp)
            column[:] = 0.0
            project(b, row, F, T, True, column)
            for i in range(6):
                if first + i >= 0:
                    M[first + i, first + k] = column[first + i]
    return M


# contacts: wheel 2 k is the left one of wheelset k, wheel 2 k + 1 the right one ------------------------------------------------


@compiled
def wheel(q, k):
    """`contact` of wheel `k`."""
    at = FIRST[AXLE_OF[k // 2]]
    return contact(q[at + 1], q[at + 2], q[at + 3], q[at + 4], 1.0 - 2.0 * (k % 2))


@compiled
def phi(t, q):
    """Gaps of the wheels, shape (8,)."""
    out = np.zeros(NC, dtype=q.dtype)
    for k in range(NC):
        out[k] = wheel(q, k)[0]
    return out


@compiled
def phi_q(t, q):
    """`Phi_q(q)`, shape (8, 41)."""
    out = np.zeros((NC, NQ), dtype=q.dtype)
    for k in range(NC):
        at, found = FIRST[AXLE_OF[k // 2]], wheel(q, k)
        out[k, at + 1], out[k, at + 2], out[k, at + 3], out[k, at + 4] = found[1], 1.0, found[2], found[3]
    return out


@compiled
def nu(t, q):
    """`-Phi_t`: the rails do not move."""
    return np.zeros(NC, dtype=q.dtype)


@compiled
def gamma(t, q, v):
    """`-(Phi_q v)_q v`, shape (8,)."""
    out = np.zeros(NC, dtype=v.dtype)
    x = q + 0.0 * v
    for k in range(NC):
        at = FIRST[AXLE_OF[k // 2]]
        out[k] = -second_derivative(x[at + 1], x[at + 2], x[at + 3], x[at + 4], v[at + 1], v[at + 2], v[at + 3], v[at + 4],
                                    1.0 - 2.0 * (k % 2))
    return out


@compiled
def normal_force(slope, lam):
    """Of the rail on a wheel."""
    return -lam * np.sqrt(1.0 + slope**2)


@compiled
def wheel_forces(t, q, v, lam, k, X):
    """Of wheel `k`: normal force, tangential forces, the place of the contact from the centre of the axle, and the slope there."""
    b = AXLE_OF[k // 2]
    side, row = 1.0 - 2.0 * (k % 2), X[b]
    _, _, _, _, eta, radius, slope = wheel(q + 0.0 * v, k)
    N = normal_force(slope, lam[k])
    p = (0.0 * eta, side * (HALF + eta), -radius)
    o = row[S_OMEGA:S_OMEGA + 3]
    slip, spin = _to_track(row, _cross(o, p)), _to_track(row, o)
    cosine = 1.0 / np.sqrt(1.0 + slope**2)
    sine = side * slope * cosine
    along = (row[S_VELOCITY] + slip[0]) / SPEED
    across = ((row[S_VELOCITY + 1] + slip[1]) * cosine + (row[S_VELOCITY + 2] + slip[2]) * sine) / SPEED
    T1, T2 = creep_forces(N + 0.0 * along, radius, along, across, (spin[2] * cosine - spin[1] * sine) / SPEED)
    return N, T1, T2, p, sine, cosine


@compiled
def friction(t, q, v, lam):
    """Creep forces of all wheels, shape (41,)."""
    X, Q = frames(t, q, v), np.zeros(NQ, dtype=(v + 0.0 * lam[0]).dtype)
    for k in range(NC):
        b = AXLE_OF[k // 2]
        _, T1, T2, p, sine, cosine = wheel_forces(t, q, v, lam, k, X)
        F = (T1, T2 * cosine, T2 * sine)
        project(b, X[b], F, _cross(p, _to_frame(X[b], F)), True, Q)
    return Q
