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
from .base import PRECISE, Entry, one_of, table, whole_number
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


_SPHERICAL_ROWS = (
    (0.5, 0.05369359065986518, 0.44422812068814843, -0.8943032903394277, -0.8233960562492688, -1.3981164017994014, -2.369200258472247,
     -0.848650426340886, 3.111662547737621, -2.3886681959841236, 8.0, -0.06785927019800854, 0.29875522865810233),
    (1.0, -0.043743266804345426, 0.7834036056667343, 0.6199720293994267, -0.40959813865589473, 0.7370339245760705, 0.07897878823300597,
     0.36672521398898456, 4.449121864785017, 0.6244130085346535, 8.0, 1.445540958069269, 6.856569651202441),
    (1.5, 0.07315969389699357, 0.36113040257180673, 0.929641055207451, 2.7995568003288342, 1.8435517070713963, 2.2204206861244495,
     -0.9743718311456411, 0.605783705752983, 4.619671456214315, 8.0, -1.7312005714365177, 5.081094871196178),
    (2.0, 0.5841709010260946, 0.20538618884858134, 0.7852139019557764, 1.091326198538122, 0.7620930787602141, 3.727443681654896,
     0.8962984644121416, -2.222990139770257, 1.053796869933886, 8.0, 4.796093187129883, -5.659202589924829),
)
_SPHERICAL = table("seven bars", "recomputed", PRECISE, 15,
                   "x1 y1 z1 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _SPHERICAL_ROWS)

_REVOLUTE_ROWS = (
    (0.5, 0.03584279071693261, 0.0, -0.999357440735607, -0.8736715338182927, -1.6552115899054123, -2.5609859872229723, -0.5600541386267756,
     2.76365071670904, -2.201816301710673, -1.1567184153392212, -2.020796819868109, 1.1247118066271684),
    (1.0, 0.40266592101009835, 0.0, -0.9153470140100362, 0.6595382553155897, -0.22774783848547311, -0.7834999461959293, 0.7889546456687438,
     1.651718615915951, 0.2827052617193438, 1.013032223978653, -2.5398317914250095, 2.252619394576178),
    (1.5, 0.9828692116508033, 0.0, 0.18430440252182922, 1.9920387368716268, 2.9996699744836386, 0.3510285395398362, 0.5590650148324106,
     -0.3761734150808816, 0.8722929154084988, 1.0632870415580944, 1.577371475043841, -2.272450684934613),
    (2.0, 0.47971290736069416, 0.0, 0.8774255105201524, 1.019163153482812, -0.6076401490181071, 2.7646624503866217, 0.3071279691539578,
     -1.2913820332547685, 2.036150836015242, 1.3838328515147345, 0.03316304131255136, -3.20830589505824),
)
_REVOLUTE = table("seven bars", "recomputed", PRECISE, 15,
                  "x1 y1 z1 x4 y4 z4 x7 y7 z7 omega_last_x omega_last_y omega_last_z", _REVOLUTE_ROWS, joints="revolute")

_PLANAR_ROWS = (
    (0.5, -0.6519524826332112, -0.8625920871696056, -1.941704833159077, -0.16548673589802393, 0.8514940612733711, 0.15865960377148022,
     1.9572304043667907, -2.587925482707742, -0.880828648611216, 2.530633382391415, 1.2173109599540484),
    (1.0, -1.1310338841862224, -1.6997917380057717, -0.2507442864755872, -1.4320418488310067, -1.22786389690744, 0.04386143204703289,
     0.4513418082738837, 0.18966433865946816, -9.271706005833925, 2.423812129350615, -3.2570776479112946),
    (1.5, -1.718454981870227, -2.213051978801376, -0.860898135679544, -3.400494245158955, -2.220748458404408, -4.299535158301303,
     -2.9584201317525025, -2.3424548457563317, 2.0530005716750597, -2.48781270464091, -3.7526119740269666),
    (2.0, -2.906265433486769, -1.7620899375274282, -3.6138118346307495, -2.4061924195661573, -3.307647881582533, -3.019181480949001,
     -1.995452976976824, -0.9268840234027352, 0.10823711452843868, -4.329373114248048, -1.046916376863208),
)
_PLANAR = table("seven bars", "recomputed", PRECISE, 15,
                "angle1 angle2 angle3 angle4 angle5 angle6 angle7 d_angle1 d_angle7 x7 y7", _PLANAR_ROWS, joints="planar")

_FOUR_ROWS = (
    (0.5, 0.05277038167423182, 0.45520697508391167, -0.8888205086815396, 0.09268299120749965, -0.08791189832616676, -1.8340340836418854,
     0.09249584221602673, 1.9050381012004511, -1.8803670034390134, 6.0, 0.1164295059250614, -1.0634602403019322),
    (1.0, 0.03302428223294414, 0.9209825268756453, 0.38820172845152323, 0.32777856062150207, 0.8768442424726329, 0.7701401710874389,
     0.24082218059884627, 2.8261037181710256, 0.7459851680302303, 6.0, -1.193091634553322, 2.773176439835868),
    (1.5, 0.018274215829118673, -0.20915015461190464, 0.9777127726800173, -0.020313510215085796, 0.5781004843941983, 1.8925591947120173,
     0.1436284324797846, 0.054312847825501255, 2.8301658938109, 6.0, 2.013496940576273, -1.452797951656747),
    (2.0, -0.23569531607564614, -0.8608502500834034, 0.45098177891278834, -0.7527584389633152, -2.6672668026149995, 0.7384504850630437,
     -0.4731964659093511, -2.709724645111168, 1.0562523389193499, 6.0, -1.4525585316386231, 2.0843867389584227),
)
_FOUR = table("four branches", "recomputed", PRECISE, 15,
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
