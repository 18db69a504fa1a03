"""Planar four-bar mechanism of rigid bodies: four spatial revolute joints with parallel axes, three redundant constraints.

A textbook crank-rocker whose bodies live in space: ground 1 m from A (0, 0, 0) to D (1, 0, 0), crank AB 0.3 m, coupler BC 0.9 m, rocker
DC 0.7 m, all axes along z. Uniform bars of square section 0.05 m x 0.05 m, density 7800 kg/m^3; gravity 9.81 along -y; the crank starts
upright at 4 rad/s, counter-clockwise, and keeps turning. The data were chosen here.

Each joint has five equations, 20 for 18 velocity coordinates. Three of them are redundant, those of the loop along z and about x and y.
There is one degree of freedom; the multipliers, of minimal norm, are not unique, except for those of the forces in
the plane. With the angle `theta` of the crank, its moment of inertia m reduced and the potential V,

    m(theta) theta'^2/2 + V(theta) = E,    t = integral of sqrt(m / (2 (E - V))) d theta.

The crank makes a turn in 0.790156691922775 s.
"""

import math
from typing import Any, TypeAlias

import numpy as np

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Revolute
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import angle_in_plane, components, place, rates

Triple: TypeAlias = tuple[Any, Any, Any]

GROUND_LENGTH, LENGTHS = 1.0, (0.3, 0.9, 0.7)  # of crank, coupler, rocker
WIDTH, DENSITY = 0.05, 7800.0
ANGLE, RATE = 0.5 * math.pi, 4.0


def build() -> Mechanism:
    """The mechanism."""
    bars = [_bar(*data) for data in zip(("crank", "coupler", "rocker"), LENGTHS, *start())]
    (a, b, c), across = (0.5 * length for length in LENGTHS), {"a_i": (0, 0, 1), "a_j": (0, 0, 1)}
    joints = [
        Revolute("A", GROUND, "crank", (0.0, 0.0, 0.0), (-a, 0.0, 0.0), **across),
        Revolute("B", "crank", "coupler", (a, 0.0, 0.0), (-b, 0.0, 0.0), **across),
        Revolute("C", "coupler", "rocker", (b, 0.0, 0.0), (c, 0.0, 0.0), **across),
        Revolute("D", GROUND, "rocker", (GROUND_LENGTH, 0.0, 0.0), (-c, 0.0, 0.0), **across),
    ]
    return Mechanism("spatial-four-bar", bars, joints, gravity=(0.0, -9.81, 0.0))


def start() -> tuple[Triple, Triple, Triple, Triple]:
    """First points, angles from the x-axis, velocities of the first points, and rates of crank, coupler, rocker."""
    crank, coupler, rocker = LENGTHS
    B, D = crank * _direction(ANGLE), np.array([GROUND_LENGTH, 0.0])
    x, y = D - B
    diagonal = math.hypot(x, y)
    beta = math.atan2(y, x) + math.acos((coupler**2 + diagonal**2 - rocker**2) / (2.0 * coupler * diagonal))
    x, y = B + coupler * _direction(beta) - D
    gamma = math.atan2(y, x)
    rates = (RATE, RATE * crank * math.sin(ANGLE - gamma) / (coupler * math.sin(gamma - beta)),
             RATE * crank * math.sin(ANGLE - beta) / (rocker * math.sin(gamma - beta)))
    return (np.zeros(2), B, D), (ANGLE, beta, gamma), (np.zeros(2), crank * RATE * _direction(ANGLE + 0.5 * math.pi), np.zeros(2)), rates


def inertia(length: float) -> tuple[float, float, float]:
    """Mass and moments of inertia along and across a bar."""
    m = DENSITY * WIDTH**2 * length
    return m, m * WIDTH**2 / 6.0, m * (length**2 + WIDTH**2) / 12.0


def _bar(name: str, length: float, point: Vector, angle: float, velocity: Vector, rate: float) -> RigidBody:
    m, axial, across = inertia(length)
    half = 0.5 * length
    return RigidBody(name, m, (axial, across, across), (*(point + half * _direction(angle)), 0.0),
                     (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)),
                     (*(velocity + half * rate * _direction(angle + 0.5 * math.pi)), 0.0), (0.0, 0.0, rate))


def _direction(angle: float) -> Vector:
    return np.array([math.cos(angle), math.sin(angle)])


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    out: Observables = {}
    for k, name in enumerate(("crank", "coupler", "rocker")):
        out |= {f"{name}_angle": angle_in_plane(place(q, k)[1][:, 0], 0, 1), f"d_{name}_angle": float(rates(v, k)[1][2])}
    r, A = place(q, 1)
    return {**out, "dd_crank_angle": float(rates(a, 0)[1][2]), **components("C", r + 0.5 * LENGTHS[1] * A[:, 0]),
            "energy": system.energy(t, q, v)}


# angles from the x-axis; that of the crank wrapped to (-pi, pi]
_ROWS = (
    (0.1, 2.002217018687182, 0.4111814834361215, 2.0144414842962766, 4.857674333260315, -0.019804099370285693, 2.0825313347146137,
     15.803472431104181),
    (0.25, 3.0611110914143413, 0.5196255685473179, 2.4034935492191742, 11.089506966525944, 2.3748613232487874, 2.821093499965241,
     98.82012396805918),
    (0.5, -0.24113473573230318, 0.970125260175815, 1.8605526983029335, 7.046990211623729, -2.605899798166305, -3.6367980497107197,
     0.5127861222910592),
    (0.75, 1.4100234873482222, 0.4476818352788389, 1.773128247797934, 4.049107974388667, -0.4941846997970363, 1.4678546950694096,
     -4.492949553073741),
    (1.0, 2.6808930933173243, 0.4536964082908629, 2.2873875642262687, 8.148264977706162, 1.0784800269514065, 2.8648635619516183,
     53.513269179021876),
    (1.5, 1.2416531392825394, 0.4714359281622034, 1.7158833104781381, 4.396461983762315, -0.7065104565293027, 1.385054797934858,
     -13.51106554306171),
    (2.0, -0.856039882566957, 1.1024045164353393, 2.1739387291258425, 8.921160062559041, -0.37727143173886757, -4.031801486348043,
     -49.8619343645689),
    (2.5, 2.1533158151828355, 0.41274690458261304, 2.0789879120668613, 5.40339803201102, 0.1343627179610915, 2.2928848976190936,
     21.39966964745374),
    (3.0, 0.8088419534046297, 0.5653984503358505, 1.6179013224746646, 7.0339176191102455, -1.9531914137345998, 0.8365033690036224,
     -63.066987291664766),
    (4.0, 1.7725190581945114, 0.41714821474652586, 1.9166257296275633, 4.251098078940662, -0.20401645569362264, 1.7843228855226003,
     8.366910222427537),
    (5.0, -3.1173464019976627, 0.54318788584782, 2.4285292315309595, 12.052555233027052, 2.8403268887096957, 2.6940047521060673,
     114.00003416796618),
)
_REFERENCES = table("motion", "recomputed", "energy integral of the one degree of freedom, 30 digits", 15,
                    "crank_angle coupler_angle rocker_angle d_crank_angle d_coupler_angle d_rocker_angle dd_crank_angle", _ROWS)

ENTRY = Entry(
    name="spatial-four-bar",
    title="Four-bar mechanism in space",
    summary="A planar crank-rocker built with four spatial revolute joints: three of its twenty equations are redundant.",
    source="textbook mechanism; data chosen here",
    build=build,
    parameters={},
    hardness="Three redundant equations make the full matrix of Newton's method singular. The period depends on the energy, so the error "
             "of the crank angle grows turn by turn: with DOP853 at rtol = 1e-10 from 1e-10 after one turn to 3e-9 after six.",
    t_end=5.0,
    step=1e-3,
    observe=_observe,
    references=_REFERENCES,
    view="xy",
)
