"""Planar mechanism of N four-bar windows in a row: N + 1 upright bars and N couplers; one degree of freedom, whatever N.

Benchmark A02 of the IFToMM library of computational benchmark problems. All 2N + 1 links are uniform thin rods of 1 m and 1 kg; gravity
9.81 along -y. Bar i is pivoted at (i, 0), i = 0 ... N, and coupler i joins the tops B of the bars i - 1 and i. The bars start upright,
their tops with the velocity (1, 0). All bars stay parallel, so with the angle `theta` of the bars from the vertical

    ((N+1)/3 + N) theta'' = ((N+1)/2 + N) 9.81 sin theta,    theta(0) = 0,    theta'(0) = 1.

When the bars are parallel to the couplers, the rank of `Phi_q` drops by N: in these singular positions there are N + 1 instantaneous
degrees of freedom, and each window could continue as an antiparallelogram. They are passed twice a turn, first at 0.714 s. With a
constraint violation `eps` the two branches do not intersect but turn away from each other at a distance of the order of `sqrt(eps)`: a
method that resolves this turn takes the wrong branch or stops, one with longer steps passes.

With `coordinates="planar"` the links are planar bodies. With `coordinates="spatial"`, as the benchmark requires of codes for mechanisms in
space, they are rigid bodies with revolute joints about z: 3 N of their 15 N + 5 equations are redundant, three for each loop. Motion and
energy are the same. The moment of inertia of a spatial body about its axis, which does not affect the motion, is that of a bar with a
square section of 0.1 m. The number of full turns in `angle` follows from the time, as a turn takes `4 K(-4 w^2)` with the complete elliptic
integral `K(m)` if `theta'' = w^2 sin theta`.

Of the data as published: the data file that circulates with the benchmark is for N = 40, although its page shows N = 2. It follows
the solution for N = 40 to 1.3e-6 up to 10 s; N = 2 is 0.08 away after 1 s, N = 39 and N = 41 are 1e-3 away after 9 s.
"""

import math
from typing import TypeAlias

from scipy.special import ellipk

from ..model.bodies import GROUND, PlanarBody, RigidBody
from ..model.joints import PlanarRevolute, Revolute
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, one_of, table, whole_number
from .rigid import angle_in_plane, place, rates

Point: TypeAlias = tuple[float, float]

MOST, GRAVITY = 400, 9.81
MASS, LENGTH, INERTIA = 1.0, 1.0, 1.0 / 12.0
AXIAL = MASS * 0.1**2 / 6.0
_FOOT, _TOP = (-0.5 * LENGTH, 0.0), (0.5 * LENGTH, 0.0)  # of a bar; left and right end of a coupler


def build(windows: int = 2, coordinates: str = "planar") -> Mechanism:
    """The mechanism.

    Parameters
    ----------
    windows : int
        Number of windows N, 1 to 400.
    coordinates : {"planar", "spatial"}
        Bodies in the plane; or rigid bodies with revolute joints about z, 3 N of whose equations are redundant.
    """
    n = whole_number("n-four-bar", "windows", windows, 1, MOST)
    one_of("n-four-bar", "coordinates", coordinates, ("planar", "spatial"))
    body, joint = (_planar, PlanarRevolute) if coordinates == "planar" else (_spatial, _hinge)
    bars = [body(f"bar {i}", (i * LENGTH, 0.5 * LENGTH), 0.5 * math.pi, (0.5, 0.0), -1.0) for i in range(n + 1)]
    couplers = [body(f"coupler {i}", ((i - 0.5) * LENGTH, LENGTH), 0.0, (1.0, 0.0), 0.0) for i in range(1, n + 1)]
    pivots = [joint(f"pivot {i}", GROUND, f"bar {i}", (i * LENGTH, 0.0), _FOOT) for i in range(n + 1)]
    left = [joint(f"left {i}", f"bar {i - 1}", f"coupler {i}", _TOP, _FOOT) for i in range(1, n + 1)]
    right = [joint(f"right {i}", f"bar {i}", f"coupler {i}", _TOP, _TOP) for i in range(1, n + 1)]
    return Mechanism("n-four-bar", bars + couplers, pivots + left + right, gravity=(0.0, -GRAVITY, 0.0))


def _planar(name: str, centre: Point, angle: float, velocity: Point, rate: float) -> PlanarBody:
    return PlanarBody(name, MASS, INERTIA, centre, angle, velocity, rate)


def _spatial(name: str, centre: Point, angle: float, velocity: Point, rate: float) -> RigidBody:
    """Along the x-axis of its frame."""
    turned = (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))
    return RigidBody(name, MASS, (AXIAL, INERTIA, INERTIA), (*centre, 0.0), turned, (*velocity, 0.0), (0.0, 0.0, rate))


def _hinge(name: str, body_i: str, body_j: str, s_i: Point, s_j: Point) -> Revolute:
    return Revolute(name, body_i, body_j, (*s_i, 0.0), (*s_j, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    x, y, angle, d_x, d_y, rate, dd_angle = (float(c) for c in _first_bar(system, t, q, v, a))
    c, s = 0.5 * LENGTH * math.cos(angle), 0.5 * LENGTH * math.sin(angle)
    return {"B0_x": x + c, "B0_y": y + s, "d_B0_x": d_x - s * rate, "d_B0_y": d_y + c * rate,
            "angle": 0.5 * math.pi - angle, "d_angle": -rate, "dd_angle": -dd_angle, "energy": system.energy(t, q, v)}


def _first_bar(system: System, t: float, q: Vector, v: Vector, a: Vector) -> tuple[float, ...]:
    """Centre, angle from the x-axis, their rates, and the rate of the last."""
    assert system.mechanism is not None
    bodies = system.mechanism.bodies
    if isinstance(bodies[0], PlanarBody):
        return *q[:3], *v[:3], a[2]
    (r, A), (d_r, omega) = place(q, 0), rates(v, 0)
    fallen = 0.5 * math.pi - angle_in_plane(A[:, 0], 0, 1)
    turns = round(t / _turn((len(bodies) - 1) // 2) - fallen / (2.0 * math.pi))
    return r[0], r[1], 0.5 * math.pi - fallen - 2.0 * math.pi * turns, d_r[0], d_r[1], omega[2], rates(a, 0)[1][2]


def _turn(n: int) -> float:
    """Seconds that a turn takes with N windows."""
    return 4.0 * float(ellipk(-4.0 * GRAVITY * ((n + 1) / 2.0 + n) / ((n + 1) / 3.0 + n)))


_SOURCE = "the equation of theta, extrapolation in 113-bit arithmetic"
_NAMES = "B0_x B0_y d_B0_x d_B0_y angle d_angle"
_TWO_ROWS = (
    (0.5, 0.6952866331644005, 0.7187325634357417, 1.9602054253718333, -1.8962611405865766, 0.768818627555206, 2.727308494277073),
    (1.0, -0.1950203019494351, -0.9807992056621738, -6.6766780368811585, 1.3275783251604871, 3.3378708031050977, 6.807385240869445),
    (2.0, 0.05781579576801143, 0.9983272678634555, 1.0172601366204366, -0.05891224871344565, 6.3410333613123315, 1.0189645914385368),
    (3.0, -0.5493397393016686, -0.8355990969501911, -5.480464031247924, 3.602967850451573, 10.006351828768754, 6.558724215058129),
    (4.0, 0.11761610237680861, 0.9930591384513251, 1.0690392650289686, -0.12661504916672028, 12.684259593513971, 1.076511180085543),
    (5.0, -0.8113104610051074, -0.5846155453489755, -3.5691173971932093, 4.953105171313327, 16.654353486653484, 6.105067553519621),
    (6.0, 0.18138112622340818, 0.9834128772036331, 1.1551142876921736, -0.21304981384230176, 19.031946612934533, 1.1745974803347898),
    (7.0, -0.9582707548925151, -0.2858621351591169, -1.5770002351656562, 5.28644062976968, 23.272038916280785, 5.516646107354738),
    (8.0, 0.2510559146283013, 0.967972586249294, 1.2743121057406743, -0.3305089377254819, 25.386512181594924, 1.3164754083360837),
    (9.0, -0.999962272548479, 0.008686396242477237, 0.04227979532521876, 4.867173800977006, 29.853816714585694, 4.867357433968631),
    (10.0, 0.3284581115408154, 0.944518538178601, 1.4230514702069441, -0.49486884548704296, 31.750597186986102, 1.5066421808418295),
    (20.0, 0.8397465743068435, 0.5429785363528846, 1.8382226441967426, -2.842913789274097, 63.82866939314612, 3.3854425564292874),
)
_FORTY_ROWS = (
    (0.5, 0.6879259707907727, 0.7257808613566309, 1.9291623112747427, -1.8285420937057935, 0.7586275160827632, 2.6580506789180816),
    (1.0, -0.1153568806321099, -0.9933241113004502, -6.669987523941772, 0.7746000986623434, 3.2572069249098132, 6.714814880723563),
    (2.0, 0.03446630730040716, 0.9994058603295629, 1.0059511728141093, -0.03469203416516176, 6.317658442036117, 1.0065492036262305),
    (3.0, -0.33851814904620076, -0.9409598624629715, -6.236692759251265, 2.243702173975207, 9.770119582196681, 6.628011467913905),
    (4.0, 0.06934203222799917, 0.9975929443247337, 1.0238043879877687, -0.07116397251092174, 12.635768336921492, 1.026274688300625),
    (5.0, -0.5401900506755263, -0.841543052464443, -5.436369112578549, 3.489628365197338, 16.27862619693498, 6.460001180757471),
    (6.0, 0.10503646944431178, 0.9944683705813243, 1.0535497978857127, -0.1112766925799718, 18.95478649481003, 1.0594100617497284),
    (7.0, -0.7096145670494575, -0.7045900696370982, -4.383346617207295, 4.414604670201109, 22.78009960219287, 6.2211302800009),
    (8.0, 0.14195804135022544, 0.9898726759013038, 1.0951401972236754, -0.15705449921649645, 25.27518043817664, 1.1063445066068955),
    (9.0, -0.8403864841473457, -0.5419875988087394, -3.211293134359468, 4.979315675640043, 29.27232979764859, 5.9250306490733795),
    (10.0, 0.1805122266867284, 0.9835727405823116, 1.1484412774694142, -0.21077006677942392, 31.59743374398574, 1.167622108751707),
    (20.0, 0.4109011537629452, 0.9116799009719807, 1.5667853719090699, -0.7061622355938373, 63.25529536819093, 1.7185696100557373),
)
_RECOMPUTED = (*table("top of the first bar", "recomputed", _SOURCE, 15, _NAMES, _TWO_ROWS),
               *table("top of the first bar", "recomputed", _SOURCE, 15, _NAMES, _FORTY_ROWS, windows=40))

_PUBLISHED_ROWS = (
    (0.5, 0.687926, 0.725781), (1.0, -0.115357, -0.993324), (1.5, -0.622202, 0.782857), (2.0, 0.0344663, 0.999406),
    (2.5, 0.754378, 0.656441), (3.0, -0.338518, -0.94096), (3.5, -0.558537, 0.829479), (4.0, 0.0693421, 0.997593),
    (4.5, 0.819566, 0.572985), (5.0, -0.540191, -0.841543), (5.5, -0.49775, 0.867321), (6.0, 0.105037, 0.994468),
    (6.5, 0.880692, 0.473689), (7.0, -0.709615, -0.70459), (7.5, -0.44027, 0.897865), (8.0, 0.141958, 0.989873),
    (8.5, 0.93402, 0.357222), (9.0, -0.840387, -0.541987), (9.5, -0.38625, 0.922394), (10.0, 0.180513, 0.983573),
)
_PUBLISHED = table("data file of the benchmark", "published", "IFToMM benchmark A02, reference data, N = 40", 5, "B0_x B0_y",
                   _PUBLISHED_ROWS, windows=40)

ENTRY = Entry(
    name="n-four-bar",
    title="N four-bar windows (IFToMM A02)",
    summary="A row of parallelograms with one degree of freedom that passes its singular position, all bars in line, twice a turn.",
    source="M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, "
           "Multibody System Dynamics 16 (2006); problem A02",
    build=build,
    parameters={"windows": 2, "coordinates": "planar"},
    variants=({"windows": 40}, {"coordinates": "spatial"}),
    hardness="The singular positions, and the tighter the tolerance the harder: DOP853 turns onto another branch, where the run ends, "
             "from rtol = 1e-4 to 1e-8, and stops at 1e-10. IDA in the GGL form passes with rtol = atol from 1e-5 to 1e-7, but not with "
             "rtol = 1e-7, atol = 1e-9; ODASSL passes at 1e-8 too. HalfImplicit passes with steps up to 0.02 s for all N tried up to 100.",
    t_end=10.0,
    step=1e-3,
    observe=_observe,
    references=_RECOMPUTED + _PUBLISHED,
    view="xy",
)
