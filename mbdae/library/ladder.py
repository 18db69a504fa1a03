"""Ladder: N planar four-bar loops standing on one another, one degree of freedom each.

The bars of `chain` in the x-y plane, gravity along -y. Loop k has two rails on the ends of rung k-1, and rung k joins their tops; rung 0 is
the ground between (-1, 0) and (1, 0). The rungs stand out by 0.1 m on either side, so that the sides of a loop are 2 (rung below), 2, 2
(rails) and 1.8 m (rung above). Were they all equal, a loop could be a rhombus and fold flat, where its equations become dependent; with
these lengths all four sides cannot lie in one direction, and the equations are independent in every position.

Start: at rest, the left rail of the first loop 20 degrees from upright to the right; each next loop is the mirror image of the one below,
in the frame of its rung. By symmetry the upright ladder would be in equilibrium.
"""

import math
from typing import TypeAlias

from ..model.bodies import GROUND
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import PRECISE, Entry, Observables, table, whole_number
from .chain import GRAVITY, HALF, LENGTH, MOST, joint, planar_bar

Point: TypeAlias = tuple[float, float]

TOP = 0.9 * HALF  # where a rail is joined to the rung above, from its centre
LEAN = math.radians(20.0)


def build(loops: int = 4) -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    loops : int
        Number of loops, of three bars each, 1 to 1365.
    """
    loops = whole_number("ladder", "loops", loops, 1, MOST // 3)
    bodies, pins = [], []
    centre, angle, below = (0.0, 0.0), 0.0, GROUND
    for k in range(1, loops + 1):
        tops = [_seen_from(centre, angle, point) for point in _tops(mirrored=k % 2 == 0)]
        feet = [_seen_from(centre, angle, point) for point in ((-HALF, 0.0), (HALF, 0.0))]
        centre, angle = _between(*tops)
        rails, rung = (f"left {k}", f"right {k}"), f"rung {k}"
        bodies += [planar_bar(name, *_between(foot, top)) for name, foot, top in zip(rails, feet, tops)]
        bodies.append(planar_bar(rung, centre, angle))
        pins += [joint("planar", f"foot of {name}", below, name, at, -HALF) for name, at in zip(rails, (-HALF, HALF))]
        pins += [joint("planar", f"top of {name}", name, rung, HALF, at) for name, at in zip(rails, (-TOP, TOP))]
        below = rung
    return Mechanism("ladder", bodies, pins, gravity=GRAVITY["planar"])


def _tops(mirrored: bool) -> tuple[Point, Point]:
    """Tops of the two rails of a loop at the start, in the frame of the rung below."""
    x1, y1 = -HALF + LENGTH * math.sin(LEAN), LENGTH * math.cos(LEAN)
    to_x, to_y = HALF - x1, -y1  # from there to the foot of the right rail
    distance = math.hypot(to_x, to_y)
    along = 0.5 * (4.0 * TOP**2 - LENGTH**2 + distance**2) / distance
    across = math.sqrt(4.0 * TOP**2 - along**2)
    c, s = to_x / distance, to_y / distance
    x2, y2 = x1 + along * c - across * s, y1 + along * s + across * c
    return ((-x2, y2), (-x1, y1)) if mirrored else ((x1, y1), (x2, y2))


def _seen_from(centre: Point, angle: float, point: Point) -> Point:
    """A point of a frame in global coordinates."""
    c, s = math.cos(angle), math.sin(angle)
    return centre[0] + c * point[0] - s * point[1], centre[1] + s * point[0] + c * point[1]


def _between(a: Point, b: Point) -> tuple[Point, float]:
    """Centre and angle of the line from one point to another."""
    return (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])), math.atan2(b[1] - a[1], b[0] - a[0])


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    out: Observables = {}
    for k in range(system.nv // 9):
        left, rung = q[9 * k:9 * k + 3], q[9 * k + 6:9 * k + 9]
        out |= {f"x{k + 1}": float(rung[0]), f"y{k + 1}": float(rung[1]), f"angle{k + 1}": float(rung[2]), f"rail{k + 1}": float(left[2]),
                f"d_angle{k + 1}": float(v[9 * k + 8]), f"d_rail{k + 1}": float(v[9 * k + 2])}
    return out | {"energy": system.energy(t, q, v)}


_SOURCE = "eighth-order Runge-Kutta on the index-1 form at relative tolerance 1e-13; a model in the angles of the bars agrees"

_ONE_ROWS = (
    (0.25, 0.6884689050495898, 1.874696909596685, 0.0411268833964963, 1.1651475513124911, 0.058953491913144564, -0.4667740016519965),
    (0.5, 1.0231369303238191, 1.7143697434572394, 0.06773135410725384, 0.9732686344365558, 0.17244005406578855, -1.117636584974215),
    (1.0, 1.358308867487024, 1.0422918896428393, 1.1462853630294887, 0.11131758428898166, 4.044412842024378, -0.21139519885110392),
    (2.0, -1.6926984436474748, 0.8762381149613088, 5.642486897353065, 2.3561913145052755, 5.464699195262899, 3.8638141795339656),
    (3.0, -0.603960484414472, 1.9037070016057505, 6.247727917344968, 1.8252300426959696, -0.024141684276741897, 0.1903092821707497),
)
_ONE = table("one loop", "recomputed", PRECISE, 15, "x1 y1 angle1 rail1 d_angle1 d_rail1", _ONE_ROWS, loops=1)

_TWO_ROWS = (
    (0.25, -0.16179447448591, 3.6061291807584, 0.047109009784593, -0.0058732955129169, 1.1186864903566, 2.0018290694656,
     0.10528212656948, -0.051258880405088, -0.80145324832648, 1.1808861492177),
    (0.5, -0.33856149075711, 2.8084797773881, 0.089902810179077, -0.036296107825138, 0.84280504109677, 2.3958109962212,
     0.25669746169197, -0.26766543370676, -1.3628524937041, 1.8522228886531),
    (1.0, 0.047690688556097, 0.68181439819582, 1.9797810943785, -0.86916780149986, 0.10601071575893, 2.4668740444909, 6.5745246701642,
     -0.75819055855995, 0.22647498698028, 1.6224860358349),
    (1.5, 1.1508023381513, -0.92566812947112, 3.3635096110065, -2.972008152127, 0.4408121666279, 5.3137516537038, -5.1617238371005,
     -6.4820103960066, -3.2651337400517, 3.9622834204196),
    (2.0, -0.23218586591534, -0.8260243080158, 4.4799162713385, -7.8275817196632, 1.3566663284732, 4.8609466956094, -2.4302519706173,
     -8.9299143160637, -2.182323086505, 5.9992227437189),
)
_TWO = table("two loops", "recomputed", _SOURCE, 10,
             "x2 y2 angle1 angle2 rail1 rail2 d_angle1 d_angle2 d_rail1 d_rail2", _TWO_ROWS, loops=2)

_FOUR_ROWS = (
    (0.25, -0.14169665289924, 7.3005184436919, 0.049280242986674, -0.006907836848148, 0.036235256517971, -0.00081677782950249,
     1.1022826288319, 2.0257134866628, 1.1423771302469, 1.8739683070958, -0.015305177709595, 0.13368220141658),
    (0.5, -0.14781128187118, 6.3822650293748, 0.095529576693101, -0.034690451068454, 0.017628126865424, -0.024291174187503,
     0.81370405204503, 2.4133736340297, 1.0450604419286, 1.8926634668648, -0.2628390252139, 0.0097929303847279),
    (1.0, -0.40547032939631, 2.8368699884085, 2.5620303828972, 0.046337878622059, 0.13825118611679, 0.02675045392893, 0.15220789937431,
     3.2997383712318, 0.87856836971465, 2.3951538233604, 4.2955445396384, 3.9940617148271),
    (1.5, 1.2330342456943, -1.8632961198384, 4.1723093039243, -1.9086587881953, 4.2054401443717, 4.4562768142008, 1.0826416309449,
     4.6437325198833, 0.49805858428174, 4.5971806370866, 12.72882397552, 1.7397637301158),
)
_FOUR = table("four loops", "recomputed", _SOURCE, 10,
              "x4 y4 angle1 angle2 angle3 angle4 rail1 rail2 rail3 rail4 d_angle4 d_rail4", _FOUR_ROWS)

ENTRY = Entry(
    name="ladder",
    title="Ladder of four-bar loops",
    summary="Planar four-bar loops standing on one another collapse under gravity: any number of closed loops and degrees of freedom, "
            "and no singular position.",
    source="none; made for studies of size and sparsity",
    build=build,
    parameters={"loops": 4},
    variants=({"loops": 1}, {"loops": 2}),
    hardness="Not stiff and never singular, but the collapse is violent: with four loops accelerations reach 1400 rad/s^2 and disturbances "
             "grow by a factor of 600 in 2 s and 4600 in 3 s. A single loop is harmless.",
    t_end=2.0,
    step=1e-3,
    observe=_observe,
    references=_ONE + _TWO + _FOUR,
    view="xy",
)
