"""Symmetric top that precesses steadily: the exact solution is known, rotations and reactions included.

A cone (height 0.1 m, radius 0.05 m, density 2700 kg/m^3) stands on its tip, a spherical joint, inclined by 60 degrees; gravity 9.81 along
-z. With the moments `J1` across and `J3` along the axis about the centre of mass, which is `l` from the tip, it precesses at the rate
`w_p` without nutation if it spins with `w_s = m g l/(J3 w_p) + (J1 + m l^2 - J3) w_p cos(tilt)/J3`. Then `w_p = 10 rad/s` asks for
`w_s = 135.6 rad/s`, and `A(t) = R_z(w_p t) R_x(tilt) R_z(w_s t)`.

Data as in the toolbox plkinon/metis; the exact solution is that of every textbook on tops. The quaternion is followed from its start
without a change of sign.
"""

import math

from ..model.bodies import GROUND, RigidBody
from ..model.joints import Spherical
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table
from .rigid import components, rates

HEIGHT, RADIUS, GRAVITY, TILT, PRECESSION = 0.1, 0.05, 9.81, math.pi / 3.0, 10.0
MASS = 2700.0 * math.pi * RADIUS**2 * HEIGHT / 3.0
ARM = 0.75 * HEIGHT
ACROSS, ALONG = 3.0 / 80.0 * MASS * (4.0 * RADIUS**2 + HEIGHT**2), 0.3 * MASS * RADIUS**2
SPIN = MASS * GRAVITY * ARM / (ALONG * PRECESSION) + (ACROSS + MASS * ARM**2 - ALONG) * PRECESSION * math.cos(TILT) / ALONG


def exact(t: float) -> Observables:
    """The exact solution by the names of the outputs."""
    c, s, turned, spun = math.cos(TILT), math.sin(TILT), PRECESSION * t, SPIN * t
    x, y = ARM * s * math.sin(turned), -ARM * s * math.cos(turned)
    plus, minus = 0.5 * (turned + spun), 0.5 * (turned - spun)
    half_c, half_s = math.cos(0.5 * TILT), math.sin(0.5 * TILT)
    across, along = PRECESSION * s, SPIN + PRECESSION * c
    kinetic = 0.5 * (ACROSS + MASS * ARM**2) * across**2 + 0.5 * ALONG * along**2
    pull = -MASS * PRECESSION**2
    return {"x": x, "y": y, "z": ARM * c, "e0": half_c * math.cos(plus), "e1": half_s * math.cos(minus), "e2": half_s * math.sin(minus),
            "e3": half_c * math.sin(plus), "omega_x": across * math.sin(spun), "omega_y": across * math.cos(spun), "omega_z": along,
            "reaction_x": pull * x, "reaction_y": pull * y, "reaction_z": MASS * GRAVITY, "energy": kinetic + MASS * GRAVITY * ARM * c}


def build() -> Mechanism:
    """The mechanism."""
    start, half = exact(0.0), 0.5 * TILT
    top = RigidBody("top", MASS, (ACROSS, ACROSS, ALONG), (0.0, start["y"], start["z"]), (math.cos(half), math.sin(half), 0.0, 0.0),
                    (-PRECESSION * start["y"], 0.0, 0.0), (0.0, start["omega_y"], start["omega_z"]))
    return Mechanism("precessing-top", [top], [Spherical("tip", GROUND, "top", s_j=(0.0, 0.0, -ARM))], gravity=(0.0, 0.0, -GRAVITY))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """The reaction is the force of the ground on the tip."""
    return {**dict(zip("xyz", map(float, q[:3]))), **{f"e{k}": float(q[3 + k]) for k in range(4)}, **components("omega", rates(v, 0)[1]),
            **components("reaction", -lam), "energy": system.energy(t, q, v)}


_EXACT = table("steady precession", "closed form", "A(t) = R_z(w_p t) R_x(tilt) R_z(w_s t)", 14, " ".join(exact(0.0)),
               [(t, *exact(t).values()) for t in (0.0, 0.1, 0.5, 1.0, 2.0)])

ENTRY = Entry(
    name="precessing-top",
    title="Steadily precessing top",
    summary="A spinning cone on its tip precesses without nutation; positions, rotations and reactions are known exactly.",
    source="plkinon/metis, data of its top; exact solution of the symmetric top",
    build=build,
    parameters={},
    hardness="Not stiff; the spin of 22 turns a second sets the steps, although nothing but the phase of the rotations changes "
             "quickly. Errors of the phase grow with the square of time: IDA in its GGL form is off by 4e-4 after 2 s at "
             "default tolerances, DOP853 by 3e-5.",
    t_end=2.0,
    step=2e-4,
    observe=_observe,
    references=_EXACT,
    view="3d",
    film=0.2,
)
