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


_ONE_ROWS = (
    (0.25, 0.6884689050495898, 1.874696909596685, 0.0411268833964963, 1.1651475513124911, 0.058953491913144564, -0.4667740016519965),
    (0.5, 1.0231369303238191, 1.7143697434572394, 0.06773135410725384, 0.9732686344365558, 0.17244005406578855, -1.117636584974215),
    (1.0, 1.358308867487024, 1.0422918896428393, 1.1462853630294887, 0.11131758428898166, 4.044412842024378, -0.21139519885110392),
    (2.0, -1.6926984436474748, 0.8762381149613088, 5.642486897353065, 2.3561913145052755, 5.464699195262899, 3.8638141795339656),
    (3.0, -0.603960484414472, 1.9037070016057505, 6.247727917344968, 1.8252300426959696, -0.024141684276741897, 0.1903092821707497),
)
_ONE = table("one loop", "recomputed", PRECISE, 15, "x1 y1 angle1 rail1 d_angle1 d_rail1", _ONE_ROWS, loops=1)

_TWO_ROWS = (
    (0.25, -0.1617944744859148, 3.606129180758387, 0.04710900978459312, -0.005873295512916897, 1.1186864903566016, 2.0018290694655865,
     0.10528212656948167, -0.05125888040508967, -0.8014532483264755, 1.1808861492177298),
    (0.5, -0.3385614907571102, 2.8084797773880705, 0.08990281017908082, -0.03629610782515544, 0.8428050410967739, 2.3958109962212157,
     0.2566974616919733, -0.26766543370682316, -1.3628524937041209, 1.8522228886530374),
    (1.0, 0.047690688556108876, 0.6818143981958557, 1.9797810943784506, -0.8691678014998795, 0.10601071575891954, 2.4668740444908597,
     6.57452467016418, -0.75819055855994, 0.22647498698029725, 1.6224860358349564),
    (1.5, 1.1508023381511994, -0.9256681294710101, 3.3635096110067138, -2.972008152126891, 0.4408121666280148, 5.313751653703776,
     -5.161723837099662, -6.482010396005519, -3.265133740051814, 3.9622834204200292),
    (2.0, -0.2321858659154577, -0.8260243080156877, 4.47991627133867, -7.827581719662897, 1.3566663284734208, 4.860946695609396,
     -2.4302519706142833, -8.929914316069025, -2.182323086502375, 5.999222743723884),
)
_TWO = table("two loops", "recomputed", PRECISE, 15,
             "x2 y2 angle1 angle2 rail1 rail2 d_angle1 d_angle2 d_rail1 d_rail2", _TWO_ROWS, loops=2)

_FOUR_ROWS = (
    (0.25, -0.1416966528992484, 7.300518443691938, 0.04928024298667187, -0.006907836848148707, 0.036235256517969675, -0.0008167778295035213,
     1.1022826288319145, 2.025713486662755, 1.1423771302469146, 1.8739683070958144, -0.015305177709594586, 0.13368220141658693),
    (0.5, -0.1478112818711899, 6.382265029374825, 0.0955295766930984, -0.034690451068461574, 0.017628126865415854, -0.024291174187513073,
     0.8137040520450304, 2.413373634029683, 1.0450604419285858, 1.8926634668647737, -0.26283902521391905, 0.009792930384722488),
    (1.0, -0.4054703293963239, 2.8368699884084925, 2.562030382897141, 0.04633787862201514, 0.13825118611674894, 0.02675045392886228,
     0.15220789937430576, 3.299738371231744, 0.8785683697146301, 2.395153823360407, 4.295544539638193, 3.99406171482715),
    (1.5, 1.2330342456945784, -1.8632961198382054, 4.172309303924264, -1.908658788195308, 4.205440144371795, 4.456276814200822,
     1.0826416309449167, 4.643732519883325, 0.4980585842817876, 4.59718063708675, 12.728823975518871, 1.7397637301164042),
)
_FOUR = table("four loops", "recomputed", PRECISE, 15,
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
