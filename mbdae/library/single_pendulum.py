"""Simple pendulum: a point mass of 1 kg on a massless rod of 1 m, released from the horizontal.

Benchmark A01 of the IFToMM library of computational benchmark problems; gravity 9.81 along -y, pivot at the origin, start at (-1, 0).
The particle has three coordinates; one constraint keeps it in the x-y plane, one keeps its distance. The tension of the rod is `2 L`
times the multiplier of the distance, and by conservation of energy `-3 m g y / L`.

The benchmark's data file has six digits and is right in all of them; values with more digits were recomputed.
"""

import numpy as np

from ..model.bodies import GROUND, Particle
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..model.primitives import CD
from ..system.system import System
from ..typing import Vector
from .base import Entry, Observables, table

LENGTH = 1.0


def build() -> Mechanism:
    """The mechanism."""
    mass = Particle("mass", 1.0, position=(-LENGTH, 0.0, 0.0), velocity=(0.0, 0.0, 0.0))
    plane = CD("plane", GROUND, "mass", (0.0, 0.0, 1.0))
    return Mechanism("single-pendulum", [mass], [Rod("rod", GROUND, "mass", length=LENGTH), plane], gravity=(0.0, -9.81, 0.0))


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    x, y, d_x, d_y = float(q[0]), float(q[1]), float(v[0]), float(v[1])
    return {"x": x, "y": y, "d_x": d_x, "d_y": d_y, "angle": float(np.arctan2(y, x)), "d_angle": (x * d_y - y * d_x) / (x * x + y * y),
            "tension": 2.0 * LENGTH * float(lam[0]), "energy": system.energy(t, q, v)}


_RECOMPUTED_ROWS = (
    (0.5, -0.3910487915505464, -0.9203699487851922, 3.9110480039555524, -1.6617346075474144, 4.249430361256138, 27.086487592748206),
    (1.0, 0.9862917511318753, -0.16501085312554117, 0.2969055159163158, 1.7746436411126556, 1.7993090169070787, 4.856269407484676),
    (2.0, -0.7935661953433217, -0.6084839304437916, -2.102437874436126, 2.7419353930105093, -3.4552068990593297, 17.907682072960785),
    (5.0, -0.9423054350437573, -0.3347543384140006, 0.8579042568859491, -2.4149286543704886, 2.5627875681926295, 9.851820179524037),
    (10.0, -0.2750874625761169, -0.961419205099125, 4.175598100951729, -1.1947490545604753, 4.343160692864683, 28.29456720606725),
    (20.0, 0.9969071739909918, -0.07858808080933376, 0.09758532797669009, 1.2378914529322875, 1.241731913691167, 2.312847218218692),
    (1000.0, 0.6832301885523149, -0.7302030604227623, 2.7638532170523793, 2.5860586691109333, 3.7850474297549557, 21.489876068241895),
    (2000.0, 0.8146030685890322, -0.5800188278369355, -1.9566477078826578, -2.747999117430392, -3.3734210235546755, 17.06995410324101),
)
_RECOMPUTED = table("motion and tension", "recomputed", "angle coordinate, extrapolation in 113-bit arithmetic; tension -3 m g y", 15,
                    "x y d_x d_y d_angle tension", _RECOMPUTED_ROWS)

_PUBLISHED_ROWS = (
    (0.5, -0.391049, -0.92037), (1.0, 0.986292, -0.165011), (1.5, 0.884132, -0.467237), (2.0, -0.793566, -0.608484),
    (2.5, -0.996334, -0.0855439), (3.0, 0.176652, -0.984273), (3.5, 0.999914, -0.013142), (4.0, 0.577564, -0.816346),
    (4.5, -0.963293, -0.268452), (5.0, -0.942305, -0.334754), (5.5, 0.665293, -0.746583), (6.0, 0.999498, -0.0316965),
    (6.5, 0.0511945, -0.998689), (7.0, -0.998619, -0.0525408), (7.5, -0.727459, -0.686151), (8.0, 0.919858, -0.392252),
    (8.5, 0.975626, -0.21944), (9.0, -0.498374, -0.866962), (9.5, -0.999992, -0.00402112), (10.0, -0.275087, -0.961419),
    (10.5, 0.993019, -0.117952), (11.0, 0.838457, -0.544968), (11.5, -0.848058, -0.529903), (12.0, -0.991979, -0.126404),
    (12.5, 0.297939, -0.954585), (13.0, 0.999997, -0.00262432), (13.5, 0.478512, -0.878081), (14.0, -0.978037, -0.208431),
    (14.5, -0.913709, -0.406369), (15.0, 0.741087, -0.671409), (15.5, 0.998301, -0.0582659), (16.0, -0.0754889, -0.997147),
    (16.5, -0.999622, -0.0275083), (17.0, -0.649352, -0.760488), (17.5, 0.946886, -0.321568), (18.0, 0.959787, -0.28073),
    (18.5, -0.595326, -0.803484), (19.0, -0.999871, -0.0160837), (19.5, -0.152782, -0.98826), (20.0, 0.996907, -0.0785881),
)
_PUBLISHED = table("data file of the benchmark", "published", "IFToMM benchmark A01, reference data", 6, "x y", _PUBLISHED_ROWS)

ENTRY = Entry(
    name="single-pendulum",
    title="Simple pendulum (IFToMM A01)",
    summary="A point mass on a massless rod, released from the horizontal: the smallest constrained mechanism.",
    source="M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, "
           "Multibody System Dynamics 16 (2006); problem A01",
    build=build,
    parameters={},
    hardness="None for a few seconds. Over thousands of seconds phase errors and energy drift become visible.",
    t_end=10.0,
    step=1e-3,
    observe=_observe,
    references=_RECOMPUTED + _PUBLISHED,
    view="xy",
)
