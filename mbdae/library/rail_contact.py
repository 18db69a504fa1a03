"""Quasi-elastic contact of a wheel with its rail: gap, its derivatives, creep forces. See `rail_carriage`.

In the vertical plane through the axle the wheel has the radius `r(eta)` at the distance `eta` outward from its running circle, and the rail
the height `h(zeta)` at the distance `zeta` outward from its centre:

    r = R0 - CONE eta + STEEP WIDTH log(1 + exp(-(eta + ROOT)/WIDTH)),    h = CONE zeta - zeta^2/(2 CROWN) - CORNER zeta^6

that is a cone of 1:40 that goes over into a flange of 70 degrees, on an inclined rail with a round head and corners. Between points of the
wheel at the height `Z` and the rail below them there is the gap `g = Z - h`. The constraint is not its minimum, which jumps from one place
to another, but the mean of an elastic contact [Arnold and Netter, Math. Comput. Modelling Dyn. Syst. 4 (1998) 162-184; the form of the mean
is chosen here]:

    Phi = -SOFT log(sum_i exp(-g_i/SOFT)) - GAP0

with `Phi = 0` for a centred wheelset. It is smooth; the place of the contact, its slope and the radius are means with the weights
`exp(-g_i/SOFT)`. The wheel touches the rail below its axle: that the contact of a wheel with yaw lies before or behind it is neglected.

Coordinates of a wheelset here: `y` to the left, `z` up from its height when centred, yaw, roll. `side` is 1 on the left, -1 on the right.
All functions take complex arguments.
"""

import numpy as np

from ..compilation.compiled import compiled

R0, HALF = 0.46, 0.75  # radius of the running circle, half of the distance between the running circles
CONE, STEEP, WIDTH, ROOT = 0.025, 2.75, 0.006, 0.041
CROWN, CORNER = 0.3, 6.9e6
SOFT = 5e-5
ETA = np.linspace(-0.078, 0.030, 145)
RADIUS = R0 - CONE * ETA + STEEP * WIDTH * np.logaddexp(0.0, -(ETA + ROOT) / WIDTH)
TIP = -0.052  # place of the contact where the flange ends; the profile goes on for iterates of solvers
_GAPS = R0 - RADIUS - (CONE * ETA - ETA**2 / (2.0 * CROWN) - CORNER * ETA**6)
_WEIGHTS = np.exp(-_GAPS / SOFT)
GAP0 = -SOFT * np.log(np.sum(_WEIGHTS))
ROLLING = np.sum(_WEIGHTS * RADIUS) / np.sum(_WEIGHTS)  # radius at which a centred wheelset rolls

# creep: shear modulus, Poisson's ratio, coefficient of friction, Kalker's coefficients of a round contact
SHEAR, POISSON, MU = 8.2e10, 0.25, 0.3
C11, C22, C23 = 4.12, 3.67, 1.47
SATURATED = 3.0  # linear creep force, relative to the limit, from which the wheel slips


@compiled
def gaps(y, z, yaw, roll, side, out):
    """`g_i`, the slope `h'` and `h''` of the rail below and the lateral place of each point of the wheel, relative to the axle's centre."""
    sp, cp, cy = np.sin(roll), np.cos(roll), np.cos(yaw)
    for i in range(ETA.shape[0]):
        xi, r = side * (HALF + ETA[i]), RADIUS[i]
        across = xi * cp + r * sp
        zeta = side * (y + across * cy) - HALF
        cube = zeta * zeta * zeta
        out[0, i] = R0 + z + xi * sp - r * cp - (CONE * zeta - zeta * zeta / (2.0 * CROWN) - CORNER * cube * cube)
        out[1, i] = CONE - zeta / CROWN - 6.0 * CORNER * cube * zeta * zeta
        out[2, i] = -1.0 / CROWN - 30.0 * CORNER * cube * zeta
        out[3, i] = across


@compiled
def weights(g, out):
    """`exp(-g_i/SOFT)` divided by their sum; returns the gap `Phi`."""
    least = g[0].real
    for i in range(g.shape[0]):
        least = min(least, g[i].real)
    total = 0.0 * g[0]
    for i in range(g.shape[0]):
        x = (g[i] - least) / SOFT
        out[i] = np.exp(-x) if x.real < 40.0 else 0.0 * g[0]
        total += out[i]
    for i in range(g.shape[0]):
        out[i] /= total
    return least - SOFT * np.log(total) - GAP0


@compiled
def contact(y, z, yaw, roll, side):
    """`Phi`, its derivatives by y, yaw and roll (that by z is 1), and the means of `eta`, of the radius and of the slope `h'`."""
    sp, cp, sy, cy = np.sin(roll), np.cos(roll), np.sin(yaw), np.cos(yaw)
    x = np.empty((5, ETA.shape[0]), dtype=np.asarray(y).dtype)
    gaps(y, z, yaw, roll, side, x)
    phi = weights(x[0], x[4])
    by_yaw = by_roll = eta = radius = slope = 0.0 * y
    for i in range(ETA.shape[0]):
        p, s, across = x[4, i], side * x[1, i], x[3, i]
        by_yaw += p * s * across * sy
        by_roll += p * (across - s * (-side * (HALF + ETA[i]) * sp + RADIUS[i] * cp) * cy)
        eta += p * ETA[i]
        radius += p * RADIUS[i]
        slope += p * x[1, i]
    return phi, -side * slope, by_yaw, by_roll, eta, radius, slope


@compiled
def second_derivative(y, z, yaw, roll, dy, dz, dyaw, droll, side):
    """`Phi''` along a motion without accelerations."""
    sp, cp, sy, cy = np.sin(roll), np.cos(roll), np.sin(yaw), np.cos(yaw)
    x = np.empty((5, ETA.shape[0]), dtype=np.asarray(y).dtype)
    gaps(y, z, yaw, roll, side, x)
    weights(x[0], x[4])
    first = squares = second = 0.0 * (y + dy)
    for i in range(ETA.shape[0]):
        p, s, across = x[4, i], side * x[1, i], x[3, i]
        down = -side * (HALF + ETA[i]) * sp + RADIUS[i] * cp
        rate = dy + down * cy * droll - across * sy * dyaw
        bend = -across * cy * (droll**2 + dyaw**2) - 2.0 * down * sy * droll * dyaw
        change = dz + across * droll - s * rate
        first += p * change
        squares += p * change**2
        second += p * (down * droll**2 - x[2, i] * rate**2 - s * bend)
    return second - (squares - first**2) / SOFT


@compiled
def creep_forces(normal, radius, along, across, spin):
    """Tangential forces `T1, T2` of the rail on the wheel: Kalker's linear law, limited as by Vermeulen and Johnson, who made it smooth.

    `along, across, spin` are creepages, `spin` in 1/m.
    """
    if normal.real <= 0.0:
        return 0.0 * along, 0.0 * along
    curvatures = 0.5 / radius + 0.5 / CROWN
    ellipse = (3.0 * normal * (1.0 - POISSON) / (4.0 * SHEAR * curvatures)) ** (1.0 / 3.0)  # of a round contact [Hertz]
    stiffness = SHEAR * ellipse**2
    T1, T2 = -stiffness * C11 * along, -stiffness * (C22 * across + ellipse * C23 * spin)
    size, limit = np.sqrt(T1**2 + T2**2 + 1e-12), MU * normal
    ratio = size / limit
    factor = 1.0 - ratio / 3.0 + ratio**2 / 27.0 if ratio.real < SATURATED else 1.0 / ratio
    return T1 * factor, T2 * factor
