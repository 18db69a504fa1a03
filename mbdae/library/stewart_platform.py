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
from .base import PRECISE, Entry, Observables, table
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


_FALL_ROWS = (
    (0.25, 4.700892801122618, -2.389821999482671, -9.507696945939822, 7.816546112423725),
    (0.5, 3.809183406958246, -4.72631571269045, -9.064258192779756, 7.315044649750679),
    (0.75, 2.362562210480802, -6.718448218966682, -5.736450902698183, 6.676952912698421),
    (1.0, 0.6204820414284592, -6.790219969914653, 2.531647559246908, 6.275746805260329),
)
_SPRING_ROWS = (
    (0.25, 4.8121022361705394, -0.9051724449272976, 3.6897300108038644, 7.883928458031408, 34147.28987335061),
    (0.5, 4.767115914801291, 0.557138938200142, 4.124470343194567, 7.856551033701223, 34081.97386751869),
    (1.0, 4.858464962419425, -0.5459188956159047, 0.29686225963431356, 7.912312038276624, 33931.39019945685),
    (1.5, 4.876512976881641, 0.2784409707855341, -2.1268746319694483, 7.923407020574865, 33866.82241469765),
    (2.0, 4.8180346474664875, -0.020479217018559703, 1.9474168637815583, 7.887550815315709, 33844.28366874572),
)
_PUSH_ROWS = (
    (0.25, -0.023992753493622728, -0.0038677682871994814, 4.997600421587638, -0.01027337574435489, -0.005846093784141795,
     0.008935483303057174, -0.19310760962883267, -0.031222275965120748, -0.019381405963008372, -0.08334613083052916, -0.04746832661286063,
     0.07262832898730417, 8.021721679065651, 8.018571591469211),
    (0.5, -0.09773177461347406, -0.015893297554821745, 4.990116186916051, -0.042151008943077585, -0.025640499630005524, 0.03671280191666174,
     -0.40038433704061377, -0.06583470025199034, -0.04110384755161056, -0.17805232163855736, -0.10863010336265794, 0.1563854490266196,
     8.089494941922396, 8.076749779189125),
    (0.75, -0.2266255977268244, -0.037357264662515155, 4.976599681140701, -0.09829563979192106, -0.06709317984832065, 0.08603586749543254,
     -0.6370212300368115, -0.10730782820433836, -0.06827551993579078, -0.29475407080642313, -0.2023167270059024, 0.26379535931757636,
     8.21152365904391, 8.183019457263091),
    (1.0, -0.420129233013834, -0.07038827684935661, 4.955106090179594, -0.1807711233081273, -0.14620036927250463, 0.16066872016660783,
     -0.9204269949324493, -0.15881887490652793, -0.10606290292927394, -0.4396672900128922, -0.3589081200963983, 0.4100841309262544,
     8.402810085779508, 8.355952090950757),
    (1.5, -1.0640626584544686, -0.1817626111125249, 4.869548508052858, -0.3805056783435341, -0.542394554993825, 0.41533579370876383,
     -1.719261669554744, -0.29091797835592836, -0.2635715643257581, -0.7186419402956679, -1.0725082452802195, 0.897035816646357,
     9.106065117795012, 9.087012426609665),
)
_REFERENCES = (
    *table("free fall", "closed form", "quadrature of the energy, 30 digits", 15, "platform_z d_platform_z dd_platform_z leg1", _FALL_ROWS),
    *table("on springs", "recomputed", PRECISE, 15, "platform_z d_platform_z dd_platform_z leg1 energy", _SPRING_ROWS,
           stiffness=2e4, damping=500.0),
    *table("unequal actuators", "recomputed", PRECISE, 14, "platform_x platform_y platform_z alpha beta gamma d_platform_x d_platform_y "
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
