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
_VIEW = 14.0  # of the track before and behind the middle of the car body [m]


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


SHAPES = (_box(24.0, 2.7, -1.0, 2.0), _box(2.0 * e.BASE + 1.0, 2.0 * e.SPAN, -0.1, 0.1), _wheels())


def _picture(t: float, q: Vector) -> Picture:
    """Seen from the track at the middle of the car body, forward and to the left."""
    rows = e.frames(t, q, np.zeros(e.NQ))
    here = rows[e.CAR, e.S_PLACE]
    heading = rail_track.track(here)[2]

    def beside(s: float, y: float, z: float) -> Vector:
        forward, left = rail_track.chord(here, s)
        turn = rail_track.track(s)[2] - heading
        return np.array([forward - y * math.sin(turn), left + y * math.cos(turn), z])

    centres, lines = [], []
    for b, row in enumerate(rows):
        kind = e.KINDS[b]
        centre = beside(row[e.S_PLACE], row[e.S_PLACE + 1], row[e.S_PLACE + 2] + e.HEIGHTS[kind])
        turn = row[e.S_HEADING] - heading
        axes = np.array([[math.cos(turn), -math.sin(turn), 0.0], [math.sin(turn), math.cos(turn), 0.0], [0.0, 0.0, 1.0]])
        centres.append(centre)
        lines.append(centre + SHAPES[kind] @ (axes @ row[:9].reshape(3, 3)).T)
    rails = [[beside(here + x, y, 0.0) for x in np.linspace(-_VIEW, _VIEW, 57)] for y in (HALF, -HALF)]
    body, lines[e.CAR] = lines[e.CAR], lines[e.CAR][[0, 0]] * 0.0 + centres[e.CAR]
    return Picture(centres, lines, rods=[*rails, body])


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
    (2.0, 0.00246628917, 9.53372614e-05, 0.00103979161, -0.00702355668, 0.00106776652, 2.50149899e-06,
     6.09982492e-07, -0.00768518013, 2.46058058e-06, 48734.0252, 61960.3352),
    (3.0, 0.107088665, 0.000110784771, 0.00239678578, -0.00710879672, 0.00205992956, 0.000786393467,
     0.000259471481, -0.00839882964, 0.000288700903, 46918.2957, 64295.9825),
    (4.0, 0.131367819, 0.000210248856, 0.00466068856, -0.00710974103, 0.00210891383, -0.00690537202,
     0.00225458333, -0.0084702905, 0.000334115493, 45416.4765, 65786.3587),
    (5.0, 0.126155099, 0.000175881229, 0.00395658357, -0.00651578017, -0.000304069367, -0.00688397664,
     0.00211986299, -0.00243982622, 0.000400132687, 49340.1315, 59799.4048),
    (6.0, 0.0396211036, 0.000152145622, 0.00223611939, 0.00709244335, -0.00267808601, -0.00693820385,
     0.00231996781, 0.00828967342, 0.000169785583, 60157.0582, 50837.5777),
    (7.0, -0.106784256, 0.000144607963, -0.00137993117, 0.00711579881, -0.00218206824, -0.00611197459,
     -0.00175107908, 0.00844177276, -0.00155402191, 63763.6804, 47589.2854),
    (8.0, -0.132055539, 0.000173457369, -0.00384608834, 0.00711430051, -0.00205698116, 0.00694097356,
     -0.00269233316, 0.0084455758, -0.000133376005, 65477.4039, 45864.4732),
    (9.0, -0.125618337, 0.000161268929, -0.00470031875, 0.00674069997, -0.00104665547, 0.00688013462,
     -0.00211029803, 0.00389365469, -0.000407558827, 62092.0724, 47715.1235),
    (10.0, -0.0522828981, 0.000116097863, -0.00194242011, 0.002308372, 0.00310134104, 0.00693047372,
     -0.00233511391, -0.000495338711, -0.000184996553, 55520.6489, 53688.359),
    (11.0, 0.0107562337, 6.91559679e-05, -0.00203774119, -0.00201274783, -0.00108573271, 0.00631646842,
     0.000383858123, -0.000252954004, 0.00173573899, 55867.4899, 53395.9673),
    (12.0, -0.00277882325, 1.18271717e-05, 0.000383681205, -0.000747096364, -0.0012545599, 0.000675197969,
     0.00182866057, 0.000284639186, -0.000594665762, 54485.8608, 54796.7137),
    (13.0, -8.66644664e-05, 4.09452025e-06, 0.000129246301, 0.0012627123, 0.000976140946, -0.00221129346,
     -0.00184585137, 2.71733721e-05, 1.32344985e-05, 54526.9977, 54763.0394),
    (14.0, 0.000297427706, -3.8313862e-07, -0.000163141437, -8.9736524e-05, 0.000242793075, 0.000474851073,
     -0.000174145166, -0.000140801795, 0.000263124944, 54684.5398, 54598.5007),
    (15.0, 4.0190405e-05, -1.5474232e-07, 8.77857415e-05, -0.000544045456, -0.000513815079, 0.000862569666,
     0.000931119142, 2.95017423e-05, -0.000102083997, 54616.9533, 54647.778),
)
_REFERENCES = table("motion over the line change", "recomputed", "DOP853, underlying ODE at 1e-10; IDA, index 2 at 1e-9", 6, _NAMES, _ROWS)

ENTRY = Entry(
    name="rail-carriage",
    title="Rail carriage on a line change",
    summary="A car body, two bogies and four wheelsets in 41 coordinates of joints to the track, eight wheel-rail contacts as constraints, "
            "creep forces that depend on their multipliers; it passes an S-shaped line change at 10 m/s.",
    source="Arnold, Fuchs and Fuehrer 2006, section 4.1, with the data of the Manchester Benchmark Vehicle 1",
    build=build,
    parameters={},
    hardness="Springs of 31 MN/m between axle boxes and bogies, and creep forces that damp with hundreds of 1/s: DOP853 takes 540 steps "
             "per second at any tolerance, IDA 50 at 1e-4 and 570 at 1e-9. In the arcs the leading wheels run on their flanges, where the "
             "place of the contact moves by 30 mm while the wheelset moves by 2 mm.",
    t_end=15.0,
    step=1e-4,
    observe=_observe,
    references=_REFERENCES,
    view="3d",
)
