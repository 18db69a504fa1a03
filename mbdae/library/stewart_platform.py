"""Stewart platform: a platform on six legs, which falls freely or rests on springs, dampers and actuators in the legs.

Data of the example `stewart` of the public project `aitorplaza/lib_3d_mec_ginac`, for which no solution has been published; gravity 9.81
along -z. Each leg consists of a lower and an upper body, with its z-axis from the base to the platform:

    joint               between                   where
    Universal           ground, lower body        A: radius 7, at 0, 120, 120, 240, 240, 360 degrees
    Translational (z)   lower body, upper body
    Spherical           upper body, platform      D: radius 2, at 60, 60, 180, 180, 300, 300 degrees

13 bodies, 72 constraints, 6 degrees of freedom. All bodies have 100 kg and the moments of inertia 100, 100, 200 kg m^2; the centres of mass
are at A (lower bodies), at D (upper bodies), and in the middle of the anchors (platform). The frame of a leg is the global one, turned by
the angle of A about z, then by an angle `a` about x (the axis of the universal joint on the ground, which points to the middle), then by
`b` about y (its axis on the leg). At the start, at rest, the platform is level at z = 5 and the legs are 8 m long.

In the source the forces of the actuators on the upper bodies have no reactions; here the reactions act on the lower bodies at A, where they
do no work.
With 1831.2 N in each leg the start is an equilibrium.

In the free fall the platform stays level. With `s^2 = 39 + z^2`, `sin b = -6/s`, `tan a = -+sqrt(3)/z` energy gives its height:

    1/2 m(z) z'^2 + 700 g z = 3500 g,    m(z) = 700 + 1200 (a_z^2 (1 + sin(b)^2) + b_z^2)
    a_z^2 = 3/(3 + z^2)^2,    b_z = 6 z/(s^2 sqrt(3 + z^2))

There is no singular position: after 1.1 s the platform passes through the plane of the base and falls on.

Angles: the platform is turned by `alpha` about x, then `beta` about y, then `gamma` about z; `omega` is body-fixed.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..model.bodies import GROUND, RigidBody
from ..model.forces import TSDA, PointForce
from ..model.joints import Spherical, Translational, Universal
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Matrix, Vector
from .base import Entry, Observables, table
from .rigid import components, place, rates

BASE, PLATFORM, HEIGHT, FREE_LENGTH = 7.0, 2.0, 5.0, 8.0
MASS, INERTIA = 100.0, (100.0, 100.0, 200.0)
BASE_ANGLES = (0, 2, 2, 4, 4, 6)  # of the anchors, in units of 60 degrees
PLATFORM_ANGLES = (1, 1, 3, 3, 5, 5)
UNEQUAL = (2000.0, 1500.0, 1900.0, 1600.0, 1800.0, 2100.0)  # forces of a variant [N]
HALF = 4.5  # what pictures show of either body of a leg


def build(stiffness: float = 0.0, damping: float = 0.0, force: float | Sequence[float] = 0.0) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    stiffness, damping : float
        Of a spring-damper in each leg [N/m], [N s/m], not negative; its free length is that of the start.
    force : float or sequence of 6 floats
        With which the actuators of all legs, or of legs 1 to 6, push the platform off the base [N].
    """
    stiffness, damping, pushes = _checked("stiffness", stiffness), _checked("damping", damping), _pushes(force)
    bodies = [_body("platform", (0.0, 0.0, HEIGHT), np.eye(3))]
    joints: list[Universal | Translational | Spherical] = []
    loads: list[TSDA | PointForce] = []
    x, y, z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for k, push in enumerate(pushes, 1):
        foot, head = anchors(k)
        lower, upper, R = f"lower {k}", f"upper {k}", _leg_axes(k)
        bodies += [_body(lower, foot, R), _body(upper, head + [0.0, 0.0, HEIGHT], R)]
        joints += [Universal(f"base {k}", GROUND, lower, foot, a_i=foot / BASE, a_j=y),
                   Translational(f"leg {k}", lower, upper, (0.0, 0.0, HALF), (0.0, 0.0, -HALF), z, z, x, y),
                   Spherical(f"head {k}", upper, "platform", s_j=head)]
        if stiffness or damping:
            loads.append(TSDA(f"spring {k}", lower, upper, k=stiffness, c=damping, l0=FREE_LENGTH))
        if push:
            loads += [PointForce(f"push {k}", upper, (0.0, 0.0, push), frame="body"),
                      PointForce(f"reaction {k}", lower, (0.0, 0.0, -push), frame="body")]
    return Mechanism("stewart-platform", bodies, joints, forces=loads, gravity=(0.0, 0.0, -9.81))


def _checked(name: str, value: float) -> float:
    """A number that is not negative."""
    if not (isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0.0):
        raise ValueError(f"stewart-platform: {name} must be a number that is not negative, got {value!r}")
    return float(value)


def _pushes(force: float | Sequence[float]) -> list[float]:
    try:
        f = np.broadcast_to(np.asarray(force, dtype=float), 6)
    except (TypeError, ValueError):
        f = np.array([math.nan])
    if isinstance(force, (bool, str)) or np.ndim(force) > 1 or not np.isfinite(f).all():
        raise ValueError(f"stewart-platform: force must be a number, or six of them, got {force!r}")
    return [float(x) for x in f]


def anchors(k: int) -> tuple[Vector, Vector]:
    """Anchors of the k-th leg, 1 to 6: on the base, and on the platform in its axes."""
    return _on_circle(BASE, BASE_ANGLES[k - 1]), _on_circle(PLATFORM, PLATFORM_ANGLES[k - 1])


def _on_circle(radius: float, sixths: int) -> Vector:
    angle = sixths * math.pi / 3.0
    return radius * np.array([math.cos(angle), math.sin(angle), 0.0])


def _leg_axes(k: int) -> Matrix:
    """Orientation of the k-th leg at the start: turned by the angle of its anchor about z, by `a` about x, by `b` about y."""
    foot, head = anchors(k)
    x, along = foot / BASE, head + [0.0, 0.0, HEIGHT] - foot
    z = along / math.hypot(*along)
    y = np.cross(z, x)
    y /= math.hypot(*y)
    return np.array([np.cross(y, z), y, z]).T


def _body(name: str, position: Sequence[float] | Vector, orientation: Matrix) -> RigidBody:
    return RigidBody(name, MASS, INERTIA, position, orientation, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    r, A = place(q, 0)
    d_r, omega = rates(v, 0)
    out = components("platform", r) | components("d_platform", d_r) | components("dd_platform", rates(a, 0)[0])
    out |= {"alpha": math.atan2(-A[1, 2], A[2, 2]), "beta": math.asin(A[0, 2]), "gamma": math.atan2(-A[0, 1], A[0, 0])}
    out |= components("omega", omega)
    for k in range(6):
        s = place(q, 2 * k + 2)[0] - place(q, 2 * k + 1)[0]
        out[f"leg{k + 1}"] = float(math.sqrt(s @ s))
    return out | {"energy": system.energy(t, q, v)}


_SOURCE = "eighth-order Runge-Kutta at rtol 1e-13, on the underlying ODE and in six coordinates"
_FALL_ROWS = (
    (0.25, 4.700892801122618, -2.389821999482671, -9.507696945939822, 7.816546112423725),
    (0.5, 3.809183406958246, -4.72631571269045, -9.064258192779756, 7.315044649750679),
    (0.75, 2.362562210480802, -6.718448218966682, -5.736450902698183, 6.676952912698421),
    (1.0, 0.6204820414284592, -6.790219969914653, 2.531647559246908, 6.275746805260329),
)
_SPRING_ROWS = (
    (0.25, 4.8121022361706, -0.90517244492726, 3.689730010798, 7.8839284580315, 34147.28987335),
    (0.5, 4.7671159148013, 0.55713893820031, 4.1244703431953, 7.8565510337012, 34081.973867519),
    (1.0, 4.8584649624194, -0.54591889561602, 0.29686225963377, 7.9123120382766, 33931.390199457),
    (1.5, 4.8765129768817, 0.27844097078572, -2.1268746319719, 7.9234070205749, 33866.822414698),
    (2.0, 4.8180346474665, -0.020479217018666, 1.9474168637827, 7.8875508153157, 33844.283668746),
)
_PUSH_ROWS = (
    (0.25, -0.023992753493615, -0.0038677682872074, 4.9976004215876, -0.010273375744375, -0.0058460937841182, 0.0089354833030484,
     -0.19310760962884, -0.031222275965134, -0.019381405963006, -0.083346130830591, -0.04746832661286, 0.072628328987314,
     8.0217216790656, 8.0185715914692),
    (0.5, -0.097731774613471, -0.015893297554831, 4.9901161869161, -0.042151008943121, -0.025640499630005, 0.036712801916666,
     -0.40038433704065, -0.065834700251995, -0.04110384755162, -0.17805232163866, -0.10863010336268, 0.15638544902664, 8.0894949419224,
     8.0767497791891),
    (0.75, -0.22662559772682, -0.037357264662517, 4.9765996811407, -0.098295639791926, -0.067093179848323, 0.086035867495435,
     -0.63702123003681, -0.10730782820434, -0.068275519935795, -0.29475407080643, -0.2023167270059, 0.26379535931758, 8.2115236590439,
     8.1830194572631),
    (1.0, -0.42012923301383, -0.070388276849359, 4.9551060901796, -0.18077112330814, -0.14620036927251, 0.16066872016661,
     -0.92042699493245, -0.15881887490653, -0.10606290292928, -0.4396672900129, -0.35890812009641, 0.41008413092626, 8.4028100857795,
     8.3559520909508),
    (1.5, -1.0640626584545, -0.18176261111253, 4.8695485080528, -0.38050567834355, -0.54239455499386, 0.41533579370877, -1.7192616695548,
     -0.29091797835593, -0.26357156432579, -0.71864194029568, -1.0725082452803, 0.89703581664637, 9.1060651177951, 9.0870124266097),
)
_REFERENCES = (
    *table("free fall", "closed form", "quadrature of the energy, 30 digits", 15, "platform_z d_platform_z dd_platform_z leg1", _FALL_ROWS),
    *table("on springs", "recomputed", _SOURCE, 12, "platform_z d_platform_z dd_platform_z leg1 energy", _SPRING_ROWS,
           stiffness=2e4, damping=500.0),
    *table("unequal actuators", "recomputed", _SOURCE, 12, "platform_x platform_y platform_z alpha beta gamma d_platform_x d_platform_y "
           "d_platform_z omega_x omega_y omega_z leg1 leg6", _PUSH_ROWS, force=UNEQUAL),
)

ENTRY = Entry(
    name="stewart-platform",
    title="Stewart platform",
    summary="A platform on six telescopic legs, from universal joints on the base to spherical joints; it falls, or rests on its legs.",
    source="public project aitorplaza/lib_3d_mec_ginac, example stewart; spring-dampers and forces chosen here",
    build=build,
    parameters={"stiffness": 0.0, "damping": 0.0, "force": 0.0},
    variants=({"stiffness": 2e4, "damping": 500.0}, {"force": UNEQUAL}),
    hardness="Smooth and never singular: DOP853 takes the free fall in 110 evaluations at a tolerance of 1e-6, IDA in 120 to 400, in any "
             "form. 72 constraints for 6 degrees of freedom make it a test of the linear algebra.",
    t_end=1.0,
    step=1e-3,
    observe=_observe,
    references=_REFERENCES,
    view="3d",
)
