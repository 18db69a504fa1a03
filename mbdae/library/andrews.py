"""Andrews' squeezing mechanism: seven bodies, ten revolute joints, a spring and a motor; one degree of freedom.

Schiehlen (ed.): Multibody Systems Handbook (1990); Test Set for IVP Solvers, Bari, problem "Andrews' squeezing mechanism" (data,
start, solution at 0.03 s); benchmark A03 of the IFToMM Technical Committee for Multibody Dynamics (0.05 s, coordinates of F, balance of
energy). A torque of 0.033 N m on the crank K1, from rest, no gravity. The motion is fast: the crank has passed 2.5 turns after 0.03 s.

Revolute joints: one each at O, B (ground), F, G, H; two at A on the ground, which carries K5 and K7; three at E, where K2, K3, K4, K6 meet.
That is 20 equations for 21 coordinates. The spring acts between D on K3 and C on the ground.

    body        from    angle of its x-axis         points in its frame, which begins at the point "from"
    K1 crank    O       beta                        F (rr, 0)
    K2 rod      F       beta + theta                E (-d, 0)
    K3 ternary  B       gamma                       E (0, -ss), D (sd, -sc)
    K4 rod      G       phi + delta                 E (0, -e)
    K5 arm      A       delta                       G (zt, 0)
    K6 rod      H       Omega + epsilon             E (zf, 0)
    K7 arm      A       epsilon                     H (0, -u)

So the seven classical angles are `beta, gamma, delta, epsilon` of K1, K3, K5, K7, and what K2, K4, K6 are turned against K1, K5, K7. The
multipliers of the joints at E, in the order K3, K4, K6, are those of the classical form with its loops cut at E (see `andrews_classical`).
Of K1, K3, K5, K7, which turn about fixed points, only the distance of the centre of mass matters; its direction is the customary one and
shows in pictures only.

Of the data as published:

- The list of the test set at 0.03 s has 16 digits per value. It is off by up to 3e-10 in the angles, 5e-8 in the velocities, 1.3e-6 in
  accelerations and multipliers.
- The IFToMM start `beta = -0.0620` is the rounded one of the test set. Taken as exact and closed anew, it moves F(0.05 s) in the third
  digit; hence the parameter `start`.
"""

import math
from functools import cache

import numpy as np

from ..model.bodies import GROUND, PlanarBody
from ..model.forces import TSDA, PointTorque
from ..model.geometry import Geometry
from ..model.joints import PlanarRevolute
from ..model.mechanism import Mechanism
from .andrews_classical import (
    ANGLES,
    FREE_LENGTH,
    INERTIAS,
    LENGTHS,
    MASSES,
    POINT_A,
    POINT_B,
    POINT_C,
    POINT_O,
    STIFFNESS,
    TORQUE,
    seven_angles,
    start_angles,
)
from .base import Entry, check_coordinates, table

(rr, ra), (d, da), (ss, sa, sb, sc, sd), (e, ea), (zt, ta, tb), (zf, fa), (u, ua, ub) = LENGTHS

# body: centre of mass and points in the frame of the table above
_SHAPES = {
    "K1": {"centre": (ra, 0.0), "O": (0.0, 0.0), "F": (rr, 0.0)},
    "K2": {"centre": (-da, 0.0), "F": (0.0, 0.0), "E": (-d, 0.0)},
    "K3": {"centre": (sb, -sa), "B": (0.0, 0.0), "E": (0.0, -ss), "D": (sd, -sc)},
    "K4": {"centre": (0.0, ea - e), "G": (0.0, 0.0), "E": (0.0, -e)},
    "K5": {"centre": (ta, tb), "A": (0.0, 0.0), "G": (zt, 0.0)},
    "K6": {"centre": (zf - fa, 0.0), "H": (0.0, 0.0), "E": (zf, 0.0)},
    "K7": {"centre": (-ub, -ua), "A": (0.0, 0.0), "H": (0.0, -u)},
}
_LOOPS = slice(14, 20)  # multipliers of the joints at E


def build(start="ivp", coordinates="cartesian"):
    """The mechanism at rest; `start` as in `start_angles`, `coordinates` of the bodies or `"classical"`, the seven angles."""
    if coordinates == "classical":
        return seven_angles(start, picture=_picture)
    check_coordinates("andrews", coordinates)
    spring = TSDA("spring", GROUND, "K3", (*POINT_C, 0.0), (*_local("K3", "D"), 0.0), k=STIFFNESS, l0=FREE_LENGTH)
    motor = PointTorque("motor", "K1", (0.0, 0.0, TORQUE))
    return Mechanism("andrews", _bodies(start_angles(start)), _joints(), forces=[spring, motor])


def _bodies(angles):
    return [PlanarBody(name, m, inertia, r, angle, (0.0, 0.0), 0.0)
            for name, m, inertia, (r, angle) in zip(_SHAPES, MASSES, INERTIAS, _poses(angles))]


def _poses(angles):
    """Centre of mass and angle of each body."""
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    turned = (beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon)
    at_f, at_g, at_h = _placed(POINT_O, beta, (rr, 0.0)), _placed(POINT_A, delta, (zt, 0.0)), _placed(POINT_A, epsilon, (0.0, -u))
    origins = (POINT_O, at_f, POINT_B, at_g, POINT_A, at_h, POINT_A)
    return [(_placed(origin, angle, shape["centre"]), angle) for shape, origin, angle in zip(_SHAPES.values(), origins, turned)]


@cache
def _geometry():
    return Geometry(build())


def _picture(t, q):
    """The bodies at the seven angles `q`."""
    return _geometry().at(t, np.array([x for r, angle in _poses(q) for x in (*r, angle)]))


def _joints():
    def pin(name, i, j):
        return PlanarRevolute(name, i, j, _local(i, name[0]), _local(j, name[0]))

    return [pin("O", GROUND, "K1"), pin("F", "K1", "K2"), pin("B", GROUND, "K3"), pin("A5", GROUND, "K5"), pin("G", "K5", "K4"),
            pin("A7", GROUND, "K7"), pin("H", "K7", "K6"), pin("E3", "K3", "K2"), pin("E4", "K4", "K2"), pin("E6", "K6", "K2")]


def _local(body, point):
    """A point of a body, seen from its centre of mass."""
    if body == GROUND:
        return {"O": POINT_O, "A": POINT_A, "B": POINT_B}[point]
    (x, y), (cx, cy) = _SHAPES[body][point], _SHAPES[body]["centre"]
    return x - cx, y - cy


def _placed(origin, angle, point):
    """A point of a frame that begins at `origin` and is turned by `angle`."""
    c, s = math.cos(angle), math.sin(angle)
    return origin[0] + c * point[0] - s * point[1], origin[1] + s * point[0] + c * point[1]


def _classical(system, x):
    """The classical angles, their rates or accelerations, from those of the bodies."""
    if system.mechanism is None:
        return [float(value) for value in x]
    k1, k2, k3, k4, k5, k6, k7 = (float(value) for value in x[2::3])
    return [k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7]


def _named(prefix, values):
    return dict(zip((prefix + name for name in ANGLES), values))


def _observe(system, t, q, v, a, lam):
    angles, energy = _classical(system, q), system.energy(t, q, v)
    q0, v0 = system.initial_guess()
    work = TORQUE * (angles[0] - _classical(system, q0)[0])
    loops = lam if system.mechanism is None else lam[_LOOPS]
    return {**_named("", angles), "F_x": rr * math.cos(angles[0]), "F_y": rr * math.sin(angles[0]), "energy": energy,
            "energy_balance": energy - system.energy(0.0, q0, v0) - work, **_named("d_", _classical(system, v)),
            **_named("dd_", _classical(system, a)), **{f"lambda{k + 1}": float(x) for k, x in enumerate(loops)}}


def _names(prefix, names=ANGLES):
    return " ".join(prefix + name for name in names)


_STATE, _RATES, _REACTIONS = _names(""), _names("d_"), f"{_names('dd_')} {_names('lambda', '123456')}"
_SOURCE = "Test Set for IVP Solvers, Bari; 16 digits are printed"
_PUBLISHED = (
    *table("test set, angles", "published", _SOURCE, 9, _STATE, (
        (0.03, 15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
         1.048080741042263),)),
    *table("test set, rates", "published", _SOURCE, 7, _RATES, (
        (0.03, 1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808, -19.29337464421385,
         0.3231791658026955),)),
    *table("test set, accelerations and multipliers", "published", _SOURCE, 5, _REACTIONS, (
        (0.03, -24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213, 16743.62929479361, -566749.3645176222,
         9826.520791458422,
         199.1753333731910, -29.75531228015052, 23.06654119098399, 31.45271365475927, 22.64249232082739, 11.61740700019673),)),
)

_INTEGRAL = "energy integral of the one degree of freedom, 30 digits; an extrapolation in 113-bit arithmetic has the same crank angles"
_STATE_ROWS = (
    (0.01,
     2.1601131315315265062, -1.8833642311070443193, 0.15851675800122669325, -0.32864107517467030658, 0.5251547747977294611,
     0.32864107517467030658, 1.0684272046324011487,
     711.92315283110397906, -786.77008085993975666, -136.4381913781196977, -240.29302926786455147, 4.7915482253710542423,
     240.29302926786455147, -41.140566961610488299,
     209058.27853254117288, -369745.60017161343228, -6373.7739358418416749, -5657.4103309945472977, -11869.750534558465143,
     5657.4103309945472977, 34721.437501431542186,
     57.025290437502583112, 2.9679042462494832455, 3.2188603850089387132, -18.179269867940356938, 5.1595027180323508247,
     34.240117291606608396),
    (0.03,
     15.810771195153707097, -15.75637105841183947, 0.040822240119645804858, -0.53473011634207959377, 0.52440996587995406937,
     0.53473011634207959377, 1.0480807410419378731,
     1139.9203022591060642, -1424.3792951775400732, 11.032911910618593745, 19.293374105032040832, 0.57356991482950245382,
     -19.293374105032040832, 0.32317914924913087499,
     -24631.76312287463447, 51850.319636464231534, 324102.60070757860581, 566749.42200099532649, 16743.63541834544461,
     -566749.42200099532649, 9826.5078015441626885,
     199.17534810453862819, -29.755309974971763324, 23.066543611622151129, 31.452725275771137075, 22.642494786394378578,
     11.617392352611255907),
    (0.05,
     33.825867766954517332, -33.583431517463868498, 0.11339507381259901503, -0.40785286560188444249, 0.52606044491699582713,
     0.40785286560188444249, 1.056902429434962831,
     1144.5355026538474684, -1336.033722651192454, -190.93706860429462468, -334.31706087086465358, 0.87586508294301516139,
     334.31706087086465358, -39.617288978352995018,
     391866.39768930252035, -745643.51879130329221, 107933.16503666823826, 194626.86080732441269, -26303.81735414978412,
     -194626.86080732441269, 102937.81804144961867,
     108.9054884295292468, -27.2162211484448085, 12.602041740749929586, -41.547752816204762071, 18.158341114689581235,
     105.37455182624509981),
)
_STATES = table("angles, rates, accelerations, multipliers", "recomputed", _INTEGRAL, 16,
                f"{_STATE} {_RATES} {_REACTIONS}", _STATE_ROWS)

_PIN_ROWS = (
    (0.005, 0.2110763859032666787, 0.006844641754253787717, 0.001466587622996195710),
    (0.01, 2.160113131531526506, -0.003890552388649431935, 0.005819244118541015420),
    (0.015, 5.655429749991794086, 0.005665434415839353635, -0.004111307928120077196),
    (0.02, 8.184905889661675544, -0.002274420924160498096, 0.006620197086170539815),
    (0.025, 12.10714923444765866, 0.006274785249525569065, -0.003102752015926561600),
    (0.03, 15.81077119515370710, -0.006963039427046851508, -0.0007183884307191019081),
    (0.04, 24.37530497201335542, 0.005086198911145603807, -0.004809426227343681195),
    (0.05, 33.82586776695451733, -0.005208504722296719976, 0.004676695260310721585),
)
_PIN = table("crank pin", "recomputed", _INTEGRAL, 16, "beta F_x F_y", _PIN_ROWS)

_IFTOMM_ROWS = (
    (0.005, 0.2096185030747202044, 0.006846772592532549300, 0.001456607382291162779),
    (0.01, 2.153381340199014167, -0.003851290593627421739, 0.005845302452691130120),
    (0.02, 8.178115005483415436, -0.002229411834531650067, 0.006635489648251304637),
    (0.03, 15.80017467066272021, -0.006970260781768039243, -0.0006445654614904543662),
    (0.04, 24.36806492575054855, 0.005051245442674753147, -0.004846124170701524351),
    (0.05, 33.81534072136017378, -0.005158985250188670179, 0.004731265284079486507),
)
_IFTOMM = table("crank pin", "recomputed", _INTEGRAL, 16, "beta F_x F_y", _IFTOMM_ROWS, start="iftomm")

ENTRY = Entry(
    name="andrews",
    title="Andrews' squeezing mechanism",
    summary="Seven planar bodies, fast, started from rest by a motor; the classical index-3 test problem, one degree of freedom.",
    source="Test Set for IVP Solvers, Bari: Andrews' squeezing mechanism; IFToMM Technical Committee for Multibody Dynamics, benchmark A03",
    build=build,
    parameters={"start": "ivp", "coordinates": "cartesian"},
    variants=({"start": "iftomm"}, {"coordinates": "classical"}, {"start": "iftomm", "coordinates": "classical"}),
    hardness="The crank turns faster and faster, and the short arms K4 and K6 are whipped around: accelerations grow to 1e6 rad/s^2 and "
             "change within 1e-4 s. Not stiff; an explicit method on the underlying ODE is the fastest. IDA at its defaults fails in "
             "index 3 and GGL: the error test of the multipliers can never be passed.",
    film=0.005,
    t_end=0.05,
    step=1e-5,
    observe=_observe,
    references=_PUBLISHED + _STATES + _PIN + _IFTOMM,
    view="xy",
)
