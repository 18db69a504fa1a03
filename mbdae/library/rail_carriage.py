"""Rail carriage: a car body on two bogies with four wheelsets passes an S-shaped line change at constant speed.

The test problem of M. Arnold, A. Fuchs, C. Fuehrer, Comput. Methods Appl. Mech. Engrg. 195 (2006) 6958-6973, section 4.1: 41 joint
coordinates, in its order (car body 5, front bogie and its wheelsets 6 each, rear bogie and its wheelsets), and one contact condition for
each of the eight wheels, whose multipliers are the normal forces. Its SIMPACK model is not public. Here:

- Masses, inertias, suspension, heights and bump stops are those of the Manchester Benchmark Vehicle 1 [S. Iwnicki, Vehicle System Dynamics
  30 (1998) 295-313], as tabulated in public vehicle-track codes. There are no yaw dampers and no traction rods.
- Chosen: the speed of 10 m/s; arcs of 300 m with 6 m of straight track between them, whose curvature grows over 3 m, which moves the track
  4.3 m to the left (`rail_track`); wheel and rail profiles and the law of the contact (`rail_contact`).
- Each body's coordinates are its place along, beside and above the track and its yaw, roll and pitch there, that is, the motion in a joint
  between the track and the body (`rail_carriage_equations`). The joint of the car body is rheonomic: `s = V t`. Coordinates along the track
  and spins count from the motion with speed `V`. In GGL's formulation the unknowns are `41 + 41 + 8 + 8 = 98`, as published.

The constraints hold the wheels on the rails in both directions. A run ends with `Status.OUT_OF_LIMITS` where a normal force has become
negative, or the contact has passed the end of a flange.
"""

import math

import numpy as np

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Vector
from . import rail_carriage_equations as e
from . import rail_track
from .base import Entry, Observables, table
from .rail_contact import HALF, R0, TIP

WHEELS = tuple(f"{axle}{side}" for axle in "1234" for side in "LR")
T_END = 15.0
_VIEW = 14.0  # of the track before and behind the middle of the car body [m]
_SLEEPERS, _UNDER = 2.0, -0.2  # distance of the sleepers that are drawn, and their height [m]
_COUNT = int(2.0 * _VIEW / _SLEEPERS)  # their number, the same in all pictures
_BODIES = ("car body", "bogie 1", "axle 1", "axle 2", "bogie 2", "axle 3", "axle 4")


def _least_normal_force(t: float, q: Vector, v: Vector, lam: Vector) -> float:
    return float(-np.max(lam))


def _flange_left(t: float, q: Vector, v: Vector, lam: Vector) -> float:
    return float(min(e.wheel(q, k)[4] for k in range(e.NC)) - TIP)


LIMITS = {"a wheel lifts off its rail": _least_normal_force, "a wheel climbs its flange": _flange_left}


def build() -> System:
    """The equations of motion, at rest on straight track but for the speed."""
    return System.from_functions(
        nq=e.NQ, nc=e.NC, mass=e.mass, force=e.force, phi=e.phi, phi_q=e.phi_q, nu=e.nu, gamma=e.gamma, friction=e.friction,
        q0=np.zeros(e.NQ), v0=np.zeros(e.NQ), lam0=np.full(e.NC, -e.WHEEL_LOAD), picture=_picture, limits=LIMITS,
        name="rail-carriage", labels=tuple(f"wheel {name}" for name in WHEELS))


def _box(length: float, width: float, low: float, high: float) -> Vector:
    """The edges of a box as one line."""
    a, b = length / 2.0, width / 2.0
    ring = np.array([[a, b], [a, -b], [-a, -b], [-a, b], [a, b]])
    bottom, top = (np.column_stack([ring, np.full(5, z)]) for z in (low, high))
    uprights = [np.array([bottom[k], top[k], bottom[k]]) for k in (1, 2, 3)]
    return np.concatenate([bottom[:1], top, bottom[:2], uprights[0], bottom[1:3], uprights[1], bottom[2:4], uprights[2], bottom[3:]])


def _wheels() -> Vector:
    """Two wheels and the axle as one line."""
    angle = np.linspace(0.0, 2.0 * math.pi, 25)
    sides = [np.column_stack([R0 * np.sin(angle), np.full(25, y), R0 * np.cos(angle)]) for y in (HALF, -HALF)]
    return np.concatenate([sides[0], [[0.0, HALF, 0.0], [0.0, -HALF, 0.0]], sides[1]])


# of car body, bogie and wheelset: outlines, drawn with the thin lines of rods, and beams with the thick ones of bodies
OUTLINES = (_box(24.0, 2.7, -1.0, 2.0), _box(2.0 * e.BASE + 1.0, 2.0 * e.SPAN, -0.1, 0.1), _wheels())
BEAMS = (np.zeros((2, 3)), np.array([[e.BASE, 0.0, 0.0], [-e.BASE, 0.0, 0.0]]), np.array([[0.0, HALF, 0.0], [0.0, -HALF, 0.0]]))


def _picture(t: float, q: Vector) -> Picture:
    """Seen from the track at the middle of the car body, forward and to the left."""
    rows = e.frames(t, q, np.zeros(e.NQ))
    here = rows[e.CAR, e.S_PLACE]
    heading = rail_track.track(here)[2]

    def beside(s: float, y: float, z: float) -> Vector:
        forward, left = rail_track.chord(here, s)
        turn = rail_track.track(s)[2] - heading
        return np.array([forward - y * math.sin(turn), left + y * math.cos(turn), z])

    centres, outlines, beams = [], [], []
    for b, row in enumerate(rows):
        kind = e.KINDS[b]
        centre = beside(row[e.S_PLACE], row[e.S_PLACE + 1], row[e.S_PLACE + 2] + e.HEIGHTS[kind])
        turn = row[e.S_HEADING] - heading
        axes = np.array([[math.cos(turn), -math.sin(turn), 0.0], [math.sin(turn), math.cos(turn), 0.0], [0.0, 0.0, 1.0]])
        centres.append(centre)
        A = axes @ row[:9].reshape(3, 3)
        outlines.append(centre + OUTLINES[kind] @ A.T)
        beams.append(centre + BEAMS[kind] @ A.T)
    rails = [[beside(here + x, y, 0.0) for x in np.linspace(-_VIEW, _VIEW, 57)] for y in (HALF, -HALF)]
    first = _SLEEPERS * math.ceil((here - _VIEW) / _SLEEPERS)
    sleepers = [[beside(s, y, _UNDER) for y in (1.7 * HALF, -1.7 * HALF)] for s in np.arange(first, here + _VIEW, _SLEEPERS)[:_COUNT]]
    names = ("left rail", "right rail", *("outline of " + name for name in _BODIES), *("sleeper",) * len(sleepers))
    return Picture(centres, beams, rods=[*rails, *outlines, *sleepers], names=_BODIES, rod_names=names)


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    out = {f"{name}_car": float(x) for name, x in zip(("y", "z", "yaw", "roll", "pitch"), q[:5])}
    for k, b in enumerate((*e.BOGIES, *e.AXLES)):
        name = f"bogie{k + 1}" if k < 2 else f"{k - 1}"
        at = e.FIRST[b]
        out |= {f"{what}_{name}": float(q[at + i]) for i, what in ((1, "y"), (2, "z"), (3, "yaw"), (4, "roll"))}
    out |= {"d_y_car": float(v[0]), "dd_y_car": float(a[0])}
    rows = e.frames(t, q, v)
    for k, name in enumerate(WHEELS):
        N, T1, T2, _, sine, cosine = e.wheel_forces(t, q, v, lam, k, rows)
        vertical, lateral = N * cosine + T2 * sine, T2 * cosine - N * sine
        out |= {f"normal_force_{name}": float(N), f"creep_force_{name}": math.hypot(T1, T2),
                f"derailment_{name}": float(lateral / vertical)}
    return out


_NAMES = "y_car z_car roll_car y_1 y_2 y_3 y_4 yaw_1 yaw_4 normal_force_1L normal_force_1R"
_ROWS = (
    (2.0, 0.002466354694547, 9.533753582558e-05, 0.001039825900429, -0.007023512886526, 0.001067905693571, 2.502001716622e-06,
     6.104518120567e-07, -0.00768519206558, 2.460645181767e-06, 48736.02288737, 61958.22736249),
    (3.0, 0.1070888951332, 0.0001107844633976, 0.002396974587024, -0.007108793366664, 0.002059934050746, 0.0007863486239069,
     0.0002594265863349, -0.008398831457039, 0.0002887040443715, 46918.18518442, 64296.06552087),
    (4.0, 0.1313678189745, 0.0002102488651111, 0.004660688578613, -0.007109741030447, 0.002108913829873, -0.006905372068605,
     0.002254583320057, -0.00847029049838, 0.0003341155276624, 45416.47639461, 65786.35864736),
    (5.0, 0.1261551072604, 0.0001758809671016, 0.003956592567648, -0.00651582627969, -0.0003041198250778, -0.006883975179725,
     0.002119862612062, -0.002439814962784, 0.0004001327063218, 49338.4456878, 59801.13803267),
    (6.0, 0.03962091920549, 0.0001521456187882, 0.002235963909284, 0.007092455755303, -0.002677945190587, -0.006938276002701,
     0.002319981126634, 0.008289657544103, 0.0001697700114793, 60157.88070137, 50836.76515886),
    (7.0, -0.1067840582694, 0.0001446089552967, -0.001379779040125, 0.007115800627279, -0.002182064105801, -0.00611187652011,
     -0.001751062336631, 0.008441770660033, -0.0015540152958, 63763.582209, 47589.38671399),
    (8.0, -0.1320555394, 0.0001734574441746, -0.003846088484529, 0.007114300515086, -0.002056981124323, 0.006940973857614,
     -0.002692334460428, 0.00844557578651, -0.0001333753837284, 65477.40411323, 45864.47297321),
    (9.0, -0.1256183268977, 0.0001612691053062, -0.004700312104246, 0.006740679431667, -0.001046676589974, 0.00688013504583,
     -0.002110298208454, 0.003893658447811, -0.0004075587873983, 62091.13480922, 47716.01684959),
    (10.0, -0.05228294168665, 0.0001160981566411, -0.001942461385175, 0.002308383857156, 0.003101352913619, 0.00693043207215,
     -0.002335110092019, -0.0004953395163855, -0.0001850026759441, 55520.74676974, 53688.25805746),
    (11.0, 0.01075623112788, 6.915582607863e-05, -0.002037740041333, -0.002012752361287, -0.001085734604131, 0.006316470414931,
     0.0003838592668022, -0.0002529548027672, 0.00173573823676, 55867.48584322, 53395.97147334),
    (12.0, -0.002778824038357, 1.182717456531e-05, 0.0003836809346885, -0.0007470981600266, -0.001254562843706, 0.0006751979261525,
     0.001828660532392, 0.000284639844572, -0.0005946657606819, 54485.86154604, 54796.71330047),
    (13.0, -8.666323205248e-05, 4.094519756261e-06, 0.0001292463566454, 0.001262715087411, 0.0009761430375813, -0.002211293447056,
     -0.001845851365951, 2.717345578663e-05, 1.323450432959e-05, 54526.99782033, 54763.03978089),
    (14.0, 0.0002974279319875, -3.831411027748e-07, -0.0001631414371981, -8.973666716475e-05, 0.0002427936937605, 0.0004748511122994,
     -0.0001741451247089, -0.0001408021226076, 0.0002631249406383, 54684.53995051, 54598.50112412),
    (15.0, 4.018962332216e-05, -1.547432251832e-07, 8.778575289243e-05, -0.0005440467009166, -0.000513816260359, 0.0008625696320584,
     0.0009311191230577, 2.950181415231e-05, -0.0001020840013494, 54616.9536965, 54647.77822435),
)
_SOURCE = "Radau IIA of order 13 on GGL from kink to kink at 1e-13; eighth-order Runge-Kutta on the underlying ODE likewise at 1e-12"
_REFERENCES = table("motion over the line change", "recomputed", _SOURCE, 11, _NAMES, _ROWS)

ENTRY = Entry(
    name="rail-carriage",
    title="Rail carriage on a line change",
    summary="A car body, two bogies and four wheelsets in 41 coordinates of joints to the track, eight wheel-rail contacts as constraints, "
            "creep forces that depend on their multipliers; it passes an S-shaped line change at 10 m/s.",
    source="Arnold, Fuchs and Fuehrer 2006, section 4.1, with the data of the Manchester Benchmark Vehicle 1",
    build=build,
    sizes=(None, 41, 41, 8),
    parameters={},
    hardness="Springs of 31 MN/m between axle boxes and bogies, and creep forces that damp with hundreds of 1/s: DOP853 takes 540 to "
             "630 steps per second at tolerances from 1e-6 to 1e-10, IDA 50 at 1e-4 and 570 at 1e-9. In the arcs the leading wheels run "
             "on their flanges, where the place of the contact moves by 30 mm while the wheelset moves by 2 mm.",
    t_end=T_END,
    step=1e-4,
    size=e.SPEED * T_END,  # the way, from which coordinates along the track count
    observe=_observe,
    references=_REFERENCES,
    view="3d",
    animated=True,
)
