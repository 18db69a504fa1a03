"""Stiff flyball governor: a turning shaft, two hinged rods with balls, and a slider that follows them on stiff spring-dampers.

Benchmark A05 of the IFToMM library of computational benchmark problems. Shaft and rods are bricks of 1 x 0.01 x 0.01 m, the slider a
cube of 0.1 m, density 3000 kg/m^3; the balls are point masses of 5 kg at the free ends of the rods. The shaft turns about the z-axis from
z = 0 to z = 1, freely after a start at 2 pi rad/s; gravity 9.81 along -z.

    body      mass       frame, seen from the shaft
    shaft     0.3        centre at (0, 0, 0.5)
    slider    3          slides along z without turning; its height is s, 0.5 at the start
    rod 1     0.3 + 5    hinged at (0.05, 0, 1) about y, x-axis outwards, turned down by alpha, 30 degrees at the start
    rod 2     0.3 + 5    the same, turned by 180 degrees about z

The spring-dampers act between (+-0.05, 0, 0) of the slider and the middles of the rods; k = 8e5 N/m, c = 4e4 N s/m, and their free length
of 0.5 m is that at the start. With the angle `psi` of the shaft and the length l of the spring-dampers

    T = J(alpha) psi'^2/2 + I alpha'^2 + 3 s'^2/2,    V = 3 g s - 2 g b sin alpha + 8e5 (l - 0.5)^2,
    l^2 = cos^2 alpha/4 + (1 - s - sin(alpha)/2)^2,

the angular momentum J psi' is constant, and two equations for alpha and s remain. A ball and its rod are one body.

There are other versions: one with k and c times 0.005 and 0.16 of the start rate, one with a prescribed rate of the shaft.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..model.bodies import GROUND, RigidBody
from ..model.forces import TSDA
from ..model.joints import Revolute, Translational
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import angle_in_plane, place, rates

DENSITY, LENGTH, WIDTH, HINGE, CUBE, BALL = 3000.0, 1.0, 0.01, 0.05, 0.1, 5.0
STIFFNESS, DAMPING, FREE_LENGTH = 8e5, 4e4, 0.5
ALPHA, HEIGHT, RATE = math.pi / 6.0, 0.5, 2.0 * math.pi

BAR = DENSITY * LENGTH * WIDTH**2
SLIDER = DENSITY * CUBE**3
ROD = BAR + BALL
CENTRE = (0.5 * BAR + BALL) * LENGTH / ROD  # of a rod with its ball, from the hinge


def inertias(thin: bool = False) -> tuple[tuple[float, float, float], ...]:
    """Moments of inertia of shaft, slider and rod, each about its centre of mass.

    Thin bars have none about their axis, but a body needs some. It is taken from the slider, which turns with them: `axial` about the
    axis of a rod and as much more about the third axis make `axial` about that of the shaft, at all angles. So the motion is not changed.
    """
    width, axial, cube = (0.0 if thin else WIDTH), BAR * WIDTH**2 / 6.0, SLIDER * CUBE**2 / 6.0
    bar = BAR * (LENGTH**2 + width**2) / 12.0
    rod = bar + BAR * (CENTRE - 0.5 * LENGTH) ** 2 + BALL * (LENGTH - CENTRE) ** 2
    lent = axial if thin else 0.0
    return (bar, bar, axial), (cube, cube, cube - 3.0 * lent), (axial, rod, rod + lent)


def build(thin: bool = False) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    thin : bool
        Shaft and rods without the moments of inertia of their section.
    """
    if not isinstance(thin, bool):
        raise ValueError(f"flyball-governor: thin must be True or False, got {thin!r}")
    shaft, slider, rod = inertias(thin)
    still, turning = (0.0, 0.0, 0.0), (0.0, 0.0, RATE)
    bodies = [RigidBody("shaft", BAR, shaft, (0.0, 0.0, 0.5 * LENGTH), velocity=still, omega=turning),
              RigidBody("slider", SLIDER, slider, (0.0, 0.0, HEIGHT), velocity=still, omega=turning),
              _rod("rod 1", rod, 1.0), _rod("rod 2", rod, -1.0)]
    joints = [Revolute("bearing", GROUND, "shaft", s_j=(0.0, 0.0, -0.5 * LENGTH)), Translational("guide", "shaft", "slider"),
              _hinge("1", 1.0), _hinge("2", -1.0)]
    return Mechanism("flyball-governor", bodies, joints, forces=[_spring("1", 1.0), _spring("2", -1.0)], gravity=(0.0, 0.0, -9.81))


def _rod(name: str, inertia: Sequence[float], side: float) -> RigidBody:
    c, s = math.cos(ALPHA), math.sin(ALPHA)
    along, across, up = np.array([side * c, 0.0, -s]), np.array([0.0, side, 0.0]), np.array([side * s, 0.0, c])
    centre = np.array([side * HINGE, 0.0, LENGTH]) + CENTRE * along
    return RigidBody(name, ROD, inertia, centre, np.column_stack([along, across, up]),
                     RATE * np.array([0.0, centre[0], 0.0]), RATE * np.array([-s, 0.0, c]))


def _hinge(k: str, side: float) -> Revolute:
    return Revolute(f"hinge {k}", "shaft", f"rod {k}", (side * HINGE, 0.0, 0.5 * LENGTH), (-CENTRE, 0.0, 0.0),
                    (0.0, side, 0.0), (0.0, 1.0, 0.0))


def _spring(k: str, side: float) -> TSDA:
    return TSDA(f"spring {k}", "slider", f"rod {k}", (side * HINGE, 0.0, 0.0), (0.5 * LENGTH - CENTRE, 0.0, 0.0),
                k=STIFFNESS, c=DAMPING, l0=FREE_LENGTH)


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    shaft, rod = place(q, 0)[1], place(q, 2)[1]
    momentum = system.mass_times(t, q, v)
    return {"s": float(place(q, 1)[0][2]), "alpha": math.atan2(-rod[2, 0], rod[2, 2]), "shaft_angle": angle_in_plane(shaft[:, 0], 0, 1),
            "d_s": float(rates(v, 1)[0][2]), "d_alpha": float(rates(v, 2)[1][1]), "shaft_rate": float(rates(v, 0)[1][2]),
            "angular_momentum": sum(_about_z(q, momentum, k) for k in range(4)), "energy": system.energy(t, q, v)}


def _about_z(q: Vector, momentum: Vector, k: int) -> float:
    """Angular momentum of a body about the z-axis."""
    (r, A), (p, spin) = place(q, k), rates(momentum, k)
    return float(r[0] * p[1] - r[1] * p[0] + A[2] @ spin)


_SOURCE = "three equations for psi, alpha, s; extrapolation in 113-bit arithmetic"
_FULL_ROWS = (
    (0.1, 0.5238364755695757, 0.4961738690759003, 0.6221066814026875, 0.4592718104361339, -0.5226739297539802, 6.103717808830862),
    (0.25, 0.6220927215961469, 0.38739365134505355, 1.4953165461057047, 0.7471334957172857, -0.8071086524725847, 5.536672019829262),
    (0.5, 0.7432494247863257, 0.2594913815434131, 2.8076794883679015, 0.052119780158373416, -0.053905218498742476, 5.103415421971535),
    (0.75, 0.640396711609433, 0.367709289172272, -2.172821023504236, -0.7338530664482362, 0.7865865812996674, 5.455329625346692),
    (1.0, 0.5014209223795677, 0.5218333016255462, -0.6968383413105811, -0.12215149289772892, 0.14088557947952693, 6.2711257418765545),
    (2.0, 0.5059092942967037, 0.5166637973645988, -1.3931035386979231, -0.24078314698364447, 0.2769261885721885, 6.236223614435971),
    (3.0, 0.5132460783402204, 0.508245526969237, -2.0882469498441383, -0.3525436217166548, 0.4035648531924244, 6.180672706285758),
    (4.0, 0.5232233710260434, 0.49685998258825675, -2.781800795144563, -0.4543844518121416, 0.5169131926013464, 6.10800805311),
    (5.0, 0.5355631037216435, 0.48287457658693983, 2.8097907623246114, -0.5436826902778731, 0.6139170473888895, 6.022496499758459),
    (6.0, 0.5499286659056423, 0.46672078044949744, 2.1204183818734883, -0.6183259213866457, 0.6924419320104773, 5.928650227063322),
    (7.0, 0.5659381577194031, 0.4488714492183961, 1.4334187854306542, -0.6767591661929475, 0.7512568316937129, 5.830800910952329),
    (8.0, 0.5831783367097719, 0.42981954718504856, 0.7488420895633962, -0.7179948235217114, 0.7899419465793555, 5.732788321367157),
    (9.0, 0.6012184020475062, 0.41005975958537766, 0.06665174538509992, -0.7415906601114793, 0.8087523425123324, 5.637779256046883),
    (10.0, 0.6196229170613656, 0.39007370184464507, -0.6132578555138996, -0.7476033541643324, 0.8084670513455774, 5.548203622654927),
)  # shaft angle wrapped to (-pi, pi]
_THIN_ROWS = (
    (0.1, 0.5238365119541588, 0.49617382764131357),
    (0.25, 0.6220928680946973, 0.3873934930603655),
    (0.5, 0.7432495087534055, 0.2594912947056956),
    (0.75, 0.6403964848409948, 0.3677095322589757),
    (1.0, 0.5014208605721491, 0.5218333728568282),
    (2.0, 0.5059090507142106, 0.5166640774604249),
    (3.0, 0.5132455433657702, 0.5082461393234307),
    (4.0, 0.5232224515894633, 0.4968610285141202),
    (5.0, 0.5355617283994201, 0.4828761295486144),
    (6.0, 0.549926788705432, 0.4667228826415891),
    (7.0, 0.5659357604224673, 0.44887411039878145),
    (8.0, 0.5831754297722099, 0.4298227454121122),
    (9.0, 0.601215024168133, 0.4100634433874089),
    (10.0, 0.6196191335996932, 0.39007779334095455),
)
_REFERENCES = (*table("bricks", "recomputed", _SOURCE, 15, "s alpha shaft_angle d_s d_alpha shaft_rate", _FULL_ROWS),
               *table("thin rods", "recomputed", _SOURCE, 15, "s alpha", _THIN_ROWS, thin=True))

ENTRY = Entry(
    name="flyball-governor",
    title="Stiff flyball governor (IFToMM A05)",
    summary="Two balls on hinged rods lift a slider on a turning shaft through spring-dampers too stiff for explicit methods.",
    source="M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, "
           "Multibody System Dynamics 16 (2006); problem A05",
    build=build,
    parameters={"thin": False},
    variants=({"thin": True},),
    hardness="The dampers make one eigenvalue near -8e3 1/s and the springs one at -20 1/s, while the rods swing at 7 rad/s: DOP853 needs "
             "5000 evaluations for 0.1 s, LSODA 28000 for all 10 s at rtol = 1e-12. Explicit one-step methods are stable up to h = 2e-4.",
    t_end=10.0,
    step=1e-4,
    observe=_observe,
    references=_REFERENCES,
    view="3d",
    stiff=True,
)
