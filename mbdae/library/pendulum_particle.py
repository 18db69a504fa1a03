"""Simple pendulum as a particle on a rod, released from rest at (0.8, -0.6) m; 1 kg, 1 m, gravity 10 along -y.

Wei, Deng, Li, Wang: Applied Mathematics and Mechanics 37 (2016) 1077-1094, example 1, with all its data: 30 s with steps of 1e-3 s.
Energy is zero at y = 0. The exact solution is an elliptic function. A constraint keeps the particle in the x-y plane.

The multiplier belongs to `g = (d^2 - l^2)/2`: `lambda` is the tension of the rod divided by its length, `10 (-3 y - 1.2)`.
"""

from ..model.bodies import GROUND, Particle
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..model.primitives import CD
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table


def build() -> Mechanism:
    """The mechanism."""
    mass = Particle("mass", 1.0, (0.8, -0.6, 0.0), (0.0, 0.0, 0.0))
    plane = CD("plane", GROUND, "mass", (0.0, 0.0, 1.0))
    return Mechanism("particle-pendulum", [mass], [Rod("rod", GROUND, "mass", length=1.0), plane], gravity=(0.0, -10.0, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    x, y, d_x, d_y = float(q[0]), float(q[1]), float(v[0]), float(v[1])
    return {"x": x, "y": y, "d_x": d_x, "d_y": d_y, "lambda": 2.0 * float(lam[0]), "energy": system.energy(t, q, v)}


_ROWS = (
    (1.0, -0.7940551732480202, -0.607845689166302, -0.24078192815040306, 0.3145438703936443, 6.235370674989059),
    (5.0, -0.635656923050068, -0.771971680943362, -1.4316762974658166, 1.1788708996925028, 11.15915042830086),
    (10.0, 0.08023956547061538, -0.9967756077137355, 2.8079209834151113, 0.22603518569422837, 17.903268231412067),
    (20.0, -0.7921824522619146, -0.6102843290862868, 0.27678031460969615, -0.3592759930336218, 6.308529872588606),
    (30.0, -0.23614292209750085, -0.9717183338515609, -2.6494906155855307, 0.6438681192258422, 17.151550015546828),
)
_RECOMPUTED = table("motion and multiplier", "recomputed", "extrapolation on the index-1 form in 113-bit arithmetic", 15,
                    "x y d_x d_y lambda", _ROWS)
_ENERGY = table("energy", "closed form", "m g y at the start", 16, "energy", ((0.0, -6.0), (30.0, -6.0)))

ENTRY = Entry(
    name="particle-pendulum",
    title="Simple pendulum, a particle on a rod",
    summary="A particle on a rod, released from rest: whether a method keeps the rod and the energy over many swings.",
    source="Wei, Deng, Li, Wang: Projected Runge-Kutta methods for constrained Hamiltonian systems, Applied Mathematics and Mechanics 37 "
           "(2016) 1077-1094, example 1",
    build=build,
    parameters={},
    hardness="None for a few seconds. Without projection rod and energy drift, and errors of the phase grow with the square of "
             "time.",
    t_end=30.0,
    step=1e-3,
    observe=_observe,
    references=_RECOMPUTED + _ENERGY,
    view="xy",
)
