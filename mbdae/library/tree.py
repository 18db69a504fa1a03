"""Tree of bars: every bar carries a number of bars at its end.

A family of any size, `1 + B + ... + B^(L-1)` bars on L levels with B branches each, of the bars of `chain`; the first one stands on the
ground. The bars at one end are spread evenly over 120 degrees about the direction of the bar that carries them, by turns about its y-axis
and, one level on, about its z-axis. So the start of a tree with a single branch is that of the chain. Spherical joints: all
bars spin about their own axes, 6, -4, 8, -2 rad/s in turn, and keep these spins. Revolute joints about the axes of these turns, and
the tree in the plane: at rest.

    joints      degrees of freedom, n bars
    spherical   3 n
    revolute    n
    planar      n

The constraints of a tree are independent in every position. Bars and joints are numbered depth first, so that the reduced
matrix `Phi_q M^-1 Phi_q^T` has a small envelope: with 1023 bars in the plane a row has 11 entries in the mean, while level by level,
as one draws it, it would have 137.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..model import rotations
from ..model.bodies import GROUND
from ..model.mechanism import Mechanism
from ..typing import Vector
from .base import Entry, one_of, table, whole_number
from .chain import AXES, DOWN, GRAVITY, HALF, JOINTS, LENGTH, MOST, bar, joint, observe, planar_bar, spin

Bar: TypeAlias = tuple[int, int, int | None]  # see `_bars`
Frame: TypeAlias = tuple[float, float, float, float] | float  # a quaternion, or an angle in the plane

SPREAD = math.radians(60.0)  # of the outermost branches from the direction of the bar that carries them


def build(levels: int = 3, branches: int = 2, joints: str = "spherical") -> Mechanism:
    """The mechanism; there may be at most 4096 bars.

    Parameters
    ----------
    levels : int
    branches : int
        Number of bars at the end of a bar.
    joints : {"spherical", "revolute", "planar"}
    """
    levels = whole_number("tree", "levels", levels, 1, MOST)
    branches = whole_number("tree", "branches", branches, 1, MOST)
    one_of("tree", "joints", joints, JOINTS)
    count = sum(branches**k for k in range(levels))
    if count > MOST:
        raise ValueError(f"tree: levels and branches must make at most {MOST} bars, got {levels!r} and {branches!r}, which make more")
    tips, frames = [np.zeros(2 if joints == "planar" else 3)], [0.0 if joints == "planar" else DOWN]
    bodies, pins = [], []
    for k, (parent, level, place) in enumerate(_bars(levels, branches), 1):
        turn = SPREAD * (2.0 * place / (branches - 1) - 1.0) if place is not None else 0.0
        frame = _turned(frames[parent], AXES[level % 2], turn)
        along = _direction(frame)
        name, centre = f"link {k}", tips[parent] + HALF * along
        bodies.append(planar_bar(name, centre, frame) if joints == "planar" else bar(name, centre, frame, (spin(k, joints), 0.0, 0.0)))
        before, at = (f"link {parent}", HALF) if parent else (GROUND, 0.0)
        pins.append(joint(joints, f"joint {k}", before, name, at, -HALF, level))
        tips.append(tips[parent] + LENGTH * along)
        frames.append(frame)
    return Mechanism("tree", bodies, pins, gravity=GRAVITY[joints])


def _bars(levels: int, branches: int) -> list[Bar]:
    """Of each bar, depth first: the number of the bar that carries it (0 is the ground), its level, its place (`None` if it is alone)."""
    found: list[Bar] = []
    waiting: list[Bar] = [(0, 1, None)]
    places: Sequence[int | None] = range(branches) if branches > 1 else (None,)
    while waiting:
        found.append(waiting.pop())
        level = found[-1][1]
        if level < levels:
            waiting += [(len(found), level + 1, place) for place in reversed(places)]
    return found


def _turned(frame: Frame, axis: Sequence[float], turn: float) -> Frame:
    """An angle, or a quaternion, turned on about an axis of the body."""
    if isinstance(frame, float):
        return frame + turn
    c, (x, y, z) = math.cos(0.5 * turn), (math.sin(0.5 * turn) * u for u in axis)
    e0, e1, e2, e3 = frame
    return (e0 * c - e1 * x - e2 * y - e3 * z, e0 * x + e1 * c + e2 * z - e3 * y,
            e0 * y - e1 * z + e2 * c + e3 * x, e0 * z + e1 * y - e2 * x + e3 * c)


def _direction(frame: Frame) -> Vector:
    """Of the x-axis."""
    return np.array([math.cos(frame), math.sin(frame)]) if isinstance(frame, float) else rotations.to_matrix(frame)[:, 0]


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerance 1e-13; a model in joint coordinates agrees"

_SPHERICAL_ROWS = (
    (0.5, 0.053693590659865, 0.44422812068815, -0.89430329033943, -0.82339605624927, -1.3981164017994, -2.3692002584722,
     -0.84865042634089, 3.1116625477376, -2.3886681959841, 8.0, -0.067859270198036, 0.2987552286581),
    (1.0, -0.043743266804335, 0.78340360566676, 0.61997202939943, -0.40959813865592, 0.73703392457606, 0.078978788233015,
     0.36672521398893, 4.4491218647851, 0.6244130085346, 8.0, 1.4455409580693, 6.8565696512024),
    (1.5, 0.07315969389692, 0.36113040257189, 0.92964105520746, 2.7995568003289, 1.8435517070712, 2.2204206861246, -0.97437183114567,
     0.60578370575307, 4.6196714562142, 8.0000000000007, -1.7312005714355, 5.0810948711962),
    (2.0, 0.58417090102609, 0.20538618884854, 0.78521390195581, 1.0913261985383, 0.76209307876008, 3.727443681655, 0.8962984644119,
     -2.2229901397702, 1.0537968699339, 8.0000000000005, 4.796093187126, -5.6592025899287),
)
_SPHERICAL = table("seven bars", "recomputed", _SOURCE, 10,
                   "x1 y1 z1 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _SPHERICAL_ROWS)

_REVOLUTE_ROWS = (
    (0.5, 0.035842790716902, 0.0, -0.99935744073561, -0.87367153381844, -1.6552115899054, -2.5609859872231, -0.56005413862665,
     2.763650716709, -2.2018163017107, -1.1567184153394, -2.020796819868, 1.124711806627),
    (1.0, 0.40266592101007, 0.0, -0.91534701401005, 0.65953825531529, -0.22774783848522, -0.78349994619611, 0.78895464566887,
     1.651718615916, 0.28270526171921, 1.013032223978, -2.5398317914231, 2.2526193945769),
    (1.5, 0.98286921164999, 0.0, 0.18430440252617, 1.992038736865, 2.9996699744838, 0.35102853955396, 0.55906501483421,
     -0.37617341508269, 0.87229291540819, 1.0632870415493, 1.5773714750355, -2.2724506849636),
    (2.0, 0.47971290735954, 0.0, 0.87742551052078, 1.0191631534628, -0.60764014901668, 2.7646624504164, 0.3071279691827,
     -1.2913820332547, 2.0361508360666, 1.3838328516122, 0.033163041348658, -3.2083058951269),
)
_REVOLUTE = table("seven bars", "recomputed", _SOURCE, 10,
                  "x1 y1 z1 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _REVOLUTE_ROWS, joints="revolute")

_PLANAR_ROWS = (
    (0.5, -0.65195248263321, -0.8625920871696, -1.9417048331591, -0.16548673589803, 0.85149406127337, 0.15865960377148, 1.9572304043668,
     -2.5879254827077, -0.8808286486112, 2.5306333823914, 1.217310959954),
    (1.0, -1.1310338841862, -1.6997917380058, -0.2507442864756, -1.432041848831, -1.2278638969074, 0.043861432047022, 0.45134180827387,
     0.18966433865943, -9.2717060058339, 2.4238121293506, -3.2570776479113),
    (1.5, -1.7184549818702, -2.2130519788014, -0.86089813567957, -3.400494245159, -2.2207484584044, -4.2995351583012, -2.9584201317524,
     -2.3424548457563, 2.0530005716751, -2.4878127046409, -3.752611974027),
    (2.0, -2.9062654334868, -1.7620899375274, -3.6138118346307, -2.4061924195663, -3.3076478815825, -3.0191814809488, -1.9954529769768,
     -0.92688402340286, 0.1082371145281, -4.3293731142481, -1.0469163768631),
)
_PLANAR = table("seven bars", "recomputed", _SOURCE, 10,
                "angle1 angle2 angle3 angle4 angle5 angle6 angle7 d_angle1 d_angle7 x7 y7", _PLANAR_ROWS, joints="planar")

_FOUR_ROWS = (
    (0.5, 0.052770381674235, 0.45520697508391, -0.88882050868154, 0.092682991207502, -0.087911898326156, -1.8340340836419,
     0.09249584221603, 1.9050381012005, -1.880367003439, 6.0, 0.11642950592506, -1.0634602403019),
    (1.0, 0.033024282232963, 0.92098252687566, 0.38820172845149, 0.32777856062148, 0.87684424247266, 0.77014017108747, 0.2408221805989,
     2.8261037181711, 0.74598516803022, 6.0, -1.1930916345534, 2.7731764398359),
    (1.5, 0.018274215829106, -0.20915015461193, 0.97771277268002, -0.020313510215024, 0.57810048439418, 1.8925591947119,
     0.14362843247985, 0.054312847825576, 2.830165893811, 5.9999999999998, 2.0134969405763, -1.4527979516572),
    (2.0, -0.23569531607554, -0.86085025008349, 0.45098177891281, -0.75275843896307, -2.6672668026151, 0.73845048506321,
     -0.47319646590937, -2.7097246451111, 1.0562523389195, 5.9999999999996, -1.4525585316384, 2.0843867389582),
)
_FOUR = table("four branches", "recomputed", _SOURCE, 10,
              "x1 y1 z1 x2 y2 z2 x5 y5 z5 omega_last_x omega_last_y omega_last_z", _FOUR_ROWS, levels=2, branches=4)

ENTRY = Entry(
    name="tree",
    title="Tree of bars",
    summary="Every bar carries as many bars at its end as there are branches, on spherical or revolute joints or in the plane; the number "
            "of bars grows geometrically with the levels.",
    source="none; made for studies of size and sparsity",
    build=build,
    parameters={"levels": 3, "branches": 2, "joints": "spherical"},
    variants=({"joints": "revolute"}, {"joints": "planar"}, {"levels": 2, "branches": 4}),
    hardness="Not stiff. Disturbances grow by a factor of 30 to 110 in 3 s; while the ends whip around, accelerations reach 440 rad/s^2. "
             "Numbered level by level, the factorisation would cost a power of the size; as it is numbered, hardly more than the size.",
    t_end=2.0,
    step=1e-3,
    observe=observe,
    references=_SPHERICAL + _REVOLUTE + _PLANAR + _FOUR,
    view="3d",
)
