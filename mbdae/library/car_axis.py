"""Car axis on a bumpy road: two ends of an axis on stiff springs, the right wheel on a road that goes up and down; index 3, driven in time.

Test Set for IVP Solvers, Bari, problem "car axis" (data, start, solution at t = 3), nondimensional. The left wheel rolls on a flat road at
the origin, the right one at `(xb, yb)` with `yb = r sin(w t)`, `xb = sqrt(L^2 - yb^2)`. The axis of length L connects two points of mass `k
= M eps^2/2`, each held above its wheel by a spring of stiffness 1 and length 1/2; the left one is guided on the line perpendicular to that
of the wheels.

    body     mass    coordinates      held by
    axle     1       (x, y, angle)    hinge at the origin, driver: angle = arcsin(r sin(w t)/L); its tip is the right wheel
    left     k       (x, y, z)        plane z = 0; in the axle's frame x = 0; spring from the origin
    right    k       (x, y, z)        plane z = 0; axis of length L from "left"; spring from the tip of the axle

The mass of the axle does not matter, since its motion is prescribed. The multipliers of the last two equations are those of the test set
(`l1`, `l2` of `_observe`) with the other sign. In the four coordinates of the test set: `car_axis_classical`.

Of the solutions published at t = 3, the list in Fortran has 12 digits in the positions, 9 in the rates and 7 in the multipliers; the later
one of 21 digits has 12 in the positions, 10 in the rates but 9 in `d_yl`, 11 in the multipliers.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..model.bodies import GROUND, Particle, PlanarBody
from ..model.drivers import PlanarAngleDriver
from ..model.forces import TSDA
from ..model.geometry import Geometry, Picture
from ..model.joints import PlanarRevolute, Rod
from ..model.mechanism import Mechanism
from ..model.motions import Function
from ..model.primitives import CD, DP2
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, Reference, check_coordinates, table
from .car_axis_classical import FREE_LENGTH, GRAVITY, LENGTH, MASS, START, angle, d_angle, dd_angle, four_coordinates

_TIP = (LENGTH, 0.0, 0.0)


def build(coordinates: str = "cartesian") -> Mechanism | System:
    """The mechanism; `coordinates` of its bodies or `"classical"`, those of the test set."""
    if coordinates == "classical":
        return four_coordinates(picture=_picture)
    check_coordinates("car-axis", coordinates)
    (xl, yl, xr, yr), (d_xl, d_yl, d_xr, d_yr) = START
    bodies = [PlanarBody("axle", 1.0, 1.0, (0.0, 0.0), angle(0.0), (0.0, 0.0), d_angle(0.0)),
              Particle("left", MASS, (xl, yl, 0.0), (d_xl, d_yl, 0.0)), Particle("right", MASS, (xr, yr, 0.0), (d_xr, d_yr, 0.0))]
    joints = [PlanarRevolute("hinge", GROUND, "axle"), CD("plane, left", GROUND, "left", (0, 0, 1)),
              CD("plane, right", GROUND, "right", (0, 0, 1)), DP2("across", "axle", "left", (1, 0, 0)),
              Rod("axis", "left", "right", length=LENGTH)]
    springs = [TSDA("spring, left", GROUND, "left", k=1.0, l0=FREE_LENGTH),
               TSDA("spring, right", "axle", "right", _TIP, k=1.0, l0=FREE_LENGTH)]
    road = PlanarAngleDriver("road", GROUND, "axle", Function(angle, d_angle, dd_angle))
    return Mechanism("car-axis", bodies, joints, [road], springs, (0.0, -GRAVITY, 0.0))


@cache
def _geometry() -> Geometry:
    return Geometry(build())


def _picture(t: float, q: Vector) -> Picture:
    """The bodies at the four coordinates `q`."""
    return _geometry().at(t, np.array([0.0, 0.0, angle(t), q[0], q[1], 0.0, q[2], q[3], 0.0]))


def _ends(system: System, x: Vector) -> Vector:
    """The four coordinates, or their rates."""
    return x if system.mechanism is None else x[[3, 4, 6, 7]]


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    across, axis = lam if system.mechanism is None else lam[4:6]
    values = (*_ends(system, q), *_ends(system, v), 0.0 - across, 0.0 - axis, LENGTH * np.sin(angle(t)))
    return dict(zip(f"{_POSITIONS} {_RATES} {_MULTIPLIERS} road".split(), map(float, values)))


_POSITIONS, _RATES, _MULTIPLIERS = "xl yl xr yr", "d_xl d_yl d_xr d_yr", "l1 l2"


def _published(label: str, digits: Sequence[int], row: Sequence[float]) -> tuple[Reference, ...]:
    """Positions, rates and multipliers at t = 3, each with their digits."""
    parts, names = (row[:4], row[4:8], row[8:]), (_POSITIONS, _RATES, _MULTIPLIERS)
    return tuple(r for n, known, part in zip(names, digits, parts)
                 for r in table(label, "published", "Test Set for IVP Solvers, Bari, as distributed with the R package deTestSet", known, n,
                                ((3.0, *part),)))


_LATER = _published("test set, 21 digits printed", (12, 9, 11), (
    0.04934557842754028, 0.49698946023017115, 1.0417425248854215, 0.37391102726536126, -0.07705836840409724, 0.007446866587237785,
    0.017556815753723222, 0.7703410437792520, -0.004736886590848933, -0.0011046803312573437))
_FORTRAN = _published("test set, 16 digits printed", (12, 9, 7), (
    0.04934557842755629, 0.4969894602303324, 1.041742524885400, 0.3739110272652214, -0.07705836840321485, 0.007446866596327776,
    0.01755681574942899, 0.7703410437794031, -0.004736886750784630, -0.001104680411345730))

_ROWS = (
    (1.0, 0.027182095440113456, 0.49891155262926493, 1.0245487959703790, 0.42638800698116773, 0.41916441475479463, -0.024290049857214544,
     0.29717268576311038, -1.7019588283087645, -0.0038371209827120937, -0.0012287984619505462),
    (2.0, -0.045604483642859456, 0.49744534321897109, 0.95174076059278757, 0.57026336159723778, -0.20321875849937484, -0.025571824448244870,
     -0.22593171614498647, 0.28551409624658914, 0.0049688925965066381, 0.0013174621545079858),
    (3.0, 0.049345578427524092, 0.49698946023000811, 1.0417425248854261, 0.37391102726536582, -0.077058368403592084, 0.0074468665920684165,
     0.017556815753541737, 0.77034104377960106, -0.0047368865908533265, -0.0011046803312595658),
)
_RECOMPUTED = table("positions, rates and multipliers", "recomputed", "extrapolation in 113-bit arithmetic, two steps compared", 16,
                    f"{_POSITIONS} {_RATES} {_MULTIPLIERS}", _ROWS)

ENTRY = Entry(
    name="car-axis",
    title="Car axis (IVP Test Set)",
    summary="An axis on two stiff springs follows a bumpy road: the constraints depend on time, the published form has index 3.",
    source="Test Set for IVP Solvers, Bari: problem Car Axis; data and solution as distributed with the R package deTestSet",
    build=build,
    sizes=(3, 9, 9, 7),
    parameters={"coordinates": "cartesian"},
    variants=({"coordinates": "classical"},),
    hardness="Undamped springs of period 0.14 swing throughout and every method has to follow them; explicit ones of high order do best. "
             "Errors of the rates are up to 200 times the tolerance. The published form has index 3.",
    t_end=3.0,
    step=1e-3,
    observe=_observe,
    references=_RECOMPUTED + _LATER + _FORTRAN,
    view="xy",
)
