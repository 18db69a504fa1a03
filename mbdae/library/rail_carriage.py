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
    (2.0, 0.00246635469, 9.53375358e-05, 0.0010398259, -0.00702351289, 0.00106790569, 2.50200172e-06,
     6.10451813e-07, -0.00768519207, 2.46064518e-06, 48736.0229, 61958.2274),
    (3.0, 0.107088895, 0.000110784463, 0.00239697459, -0.00710879337, 0.00205993405, 0.000786348625,
     0.000259426588, -0.00839883146, 0.000288704044, 46918.1852, 64296.0655),
    (4.0, 0.131367819, 0.000210248865, 0.00466068858, -0.00710974103, 0.00210891383, -0.00690537207,
     0.00225458332, -0.0084702905, 0.000334115528, 45416.4764, 65786.3586),
    (5.0, 0.126155107, 0.000175880967, 0.00395659257, -0.00651582628, -0.000304119825, -0.00688397518,
     0.00211986261, -0.00243981496, 0.000400132706, 49338.4457, 59801.138),
    (6.0, 0.0396209192, 0.000152145619, 0.00223596391, 0.00709245576, -0.00267794519, -0.006938276,
     0.00231998113, 0.00828965755, 0.00016977001, 60157.8807, 50836.7652),
    (7.0, -0.106784058, 0.000144608955, -0.00137977904, 0.00711580063, -0.00218206411, -0.00611187652,
     -0.00175106234, 0.00844177066, -0.0015540153, 63763.5822, 47589.3867),
    (8.0, -0.132055539, 0.000173457444, -0.00384608848, 0.00711430052, -0.00205698112, 0.00694097386,
     -0.00269233446, 0.00844557579, -0.000133375382, 65477.4041, 45864.473),
    (9.0, -0.125618327, 0.000161269105, -0.0047003121, 0.00674067943, -0.00104667659, 0.00688013505,
     -0.00211029821, 0.00389365845, -0.000407558787, 62091.1348, 47716.0168),
    (10.0, -0.0522829417, 0.000116098157, -0.00194246139, 0.00230838386, 0.00310135291, 0.00693043207,
     -0.00233511009, -0.000495339516, -0.000185002676, 55520.7468, 53688.258),
    (11.0, 0.0107562311, 6.91558263e-05, -0.00203774004, -0.00201275236, -0.0010857346, 0.00631647042,
     0.000383859267, -0.000252954803, 0.00173573824, 55867.4858, 53395.9715),
    (12.0, -0.00277882404, 1.18271748e-05, 0.000383680934, -0.00074709816, -0.00125456284, 0.000675197927,
     0.00182866053, 0.000284639845, -0.000594665761, 54485.8616, 54796.7133),
    (13.0, -8.66632313e-05, 4.09451996e-06, 0.000129246356, 0.00126271509, 0.000976143037, -0.00221129345,
     -0.00184585137, 2.71734558e-05, 1.32345043e-05, 54526.9978, 54763.0398),
    (14.0, 0.000297427933, -3.8314089e-07, -0.000163141437, -8.97366676e-05, 0.000242793693, 0.000474851113,
     -0.000174145124, -0.000140802123, 0.000263124941, 54684.5399, 54598.5011),
    (15.0, 4.01896242e-05, -1.54742997e-07, 8.77857526e-05, -0.000544046701, -0.000513816261, 0.000862569633,
     0.000931119124, 2.95018142e-05, -0.000102084001, 54616.9537, 54647.7782),
)
_REFERENCES = table("motion over the line change", "recomputed", "DOP853, underlying ODE at 1e-10; IDA, index 2 at 1e-10", 7, _NAMES, _ROWS)

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
