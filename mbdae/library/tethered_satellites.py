"""Three satellites tethered to a spinning triangle in orbit around the Earth.

Wei, Deng, Li, Wang: Applied Mathematics and Mechanics 37 (2016) 1077-1094, example 3: 100 kg each, three rigid massless tethers of 1 km,
gravitation -mu m r/r^3 with mu = 3.986e14 m^3/s^2 on each. Orbit and spin could not be found and were chosen here: centre at (7e6, 0, 0)
m with the velocity sqrt(mu/7e6) of a circular orbit along +y; the triangle in the plane x = 7e6 m, its corners at 0, 120, 240 degrees
from +y, spinning with 0.01 rad/s about +x. The tethers 12, 23, 31 then stay in tension, at first 3.29 N.

The multipliers belong to `g = (d^2 - l^2)/2`: `lambda` is the tension of a tether divided by its length.

The references have been computed twice in 113-bit arithmetic, by extrapolation and by collocation: from exact initial values both agree
to 16 digits. From the initial values in double precision, projected onto the constraints, the second program comes to values that agree
with these to 14.7 digits at 1000 s and 13.7 at 10000 s. With 64 bits of mantissa fewer are left, see `mbdae confirm --precise`.
"""

import math

import numba
import numpy as np

from ..model.bodies import Particle
from ..model.forces import UserForce
from ..model.joints import Rod
from ..model.mechanism import Mechanism
from ..system.system import System
from ..typing import Numbers, Vector
from .base import Entry, Observables, table
from .four_particles import momenta, state
from .rigid import components

MU, MASS, LENGTH, ORBIT, SPIN = 3.986e14, 100.0, 1000.0, 7.0e6, 0.01


def build() -> Mechanism:
    """The mechanism."""
    satellites = [_satellite(k) for k in range(3)]
    names = [s.name for s in satellites]
    tethers = [Rod(f"tether {i + 1}{j + 1}", names[i], names[j], length=LENGTH) for i, j in ((0, 1), (1, 2), (2, 0))]
    return Mechanism("tethered-satellites", satellites, tethers, forces=[UserForce(f"gravity {n}", n, _gravity) for n in names])


def _satellite(k: int) -> Particle:
    angle, radius = 2.0 * math.pi * k / 3.0, LENGTH / math.sqrt(3.0)
    y, z = radius * math.cos(angle), radius * math.sin(angle)
    return Particle(f"satellite {k + 1}", MASS, (ORBIT, y, z), (0.0, math.sqrt(MU / ORBIT) - SPIN * z, SPIN * y))


@numba.njit
def _gravity(t: float, r: Numbers, A: Numbers, v: Numbers, omega: Numbers, F: Numbers, T: Numbers) -> None:
    x, y, z = r[0]
    distance = np.sqrt(x * x + y * y + z * z)
    F[0] = -MU * MASS * r[0] / distance**3


def _observe(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """The centre is the common centre of mass; the angular momentum is about that of the Earth."""
    r, multipliers = np.reshape(q, (3, 3)), [2.0 * float(x) for x in lam]
    energy = system.kinetic_energy(t, q, v) - MU * MASS * (1.0 / np.linalg.norm(r, axis=1)).sum()
    spin = {name: x for name, x in momenta([MASS] * 3, q, v).items() if name.startswith("angular")}
    return {**state(q, v), **{f"lambda{k + 1}": x for k, x in enumerate(multipliers)},
            **{f"tension{k + 1}": LENGTH * x for k, x in enumerate(multipliers)}, **components("centre", r.mean(axis=0)),
            "energy": float(energy), **spin}


_ROWS = (
    (100.0, 6959366.197617732, 753456.1605963967, 485.82346316626007, 6959365.616884866, 752567.5097355641, 27.23943565240695,
     6959365.899318183, 753408.9806546234, -513.0628987947201, -811.8872472908979, 7497.3870294233375, 3.119434479573509,
     -811.9038408579343, 7501.972878967207, -5.767071076390818, -811.8931357515856, 7507.375897745193, 2.64763659822447, 0.0032960811238978,
     0.0032958314746404497, 0.0032939286158843034),
    (1000.0, 3311575.657410236, 6166632.582853747, -313.5117768046971, 3311580.036178532, 6167631.240696818, -261.9042302493899,
     3311632.6539615546, 6167087.067823336, 575.4172448584951, -6648.5131895267405, 3573.0656724723917, -4.833379268764926,
     -6647.8894953929075, 3572.5478692246184, 5.1337146310678445, -6648.183176068487, 3564.1580789045515, -0.3003314498892169,
     0.003430090668114171, 0.0032975832243369277, 0.003291947036158113),
    (5000.0, 4388711.6366567975, -5452797.916605948, -150.4392334014174, 4388756.376246298, -5453502.993997146, 557.2783950009863,
     4388710.758122832, -5453764.484359178, -406.84907446356925, 5879.022941266746, 4732.587488229265, 5.566165980743501, 5878.707828503133,
     4725.496704460593, -1.4782442549239214, 5878.534330213648, 4735.148954555537, -4.0879154706505165, 0.0033360764747328293,
     0.0032660150028360237, 0.0033901271381542933),
    (10000.0, -1496910.6416638945, -6837582.6465316145, -290.22417067657807, -1496836.0906120096, -6838077.375859612, 575.6193675464506,
     -1496894.8673747655, -6838582.510555515, -285.41735127265565, 7371.819488851122, -1610.7315434024533, 4.972653974536696,
     7371.618077529293, -1619.4199354243408, 0.025585905807874895, 7371.059500920237, -1610.7914681530685, -4.998249630829712,
     0.003290387177150071, 0.0032990786259855963, 0.0034596845474499623),
)
_SOURCE = "extrapolation on the index-1 form, and collocation of Gauss of order 20, in 113-bit arithmetic"
_RECOMPUTED = table("motion and multipliers", "recomputed", _SOURCE, 15,
                    " ".join([*state(np.zeros(9), np.zeros(9)), "lambda1", "lambda2", "lambda3"]), _ROWS)

ENTRY = Entry(
    name="tethered-satellites",
    title="Triangle of tethered satellites",
    summary="Three satellites on three tethers spin on their way around the Earth; nonlinear gravitation, lengths of very different sizes.",
    source="Wei, Deng, Li, Wang: Projected Runge-Kutta methods for constrained Hamiltonian systems, Applied Mathematics and Mechanics 37 "
           "(2016) 1077-1094, example 3; orbit and spin chosen here",
    build=build,
    parameters={},
    hardness="The motion is smooth, but 1 km of tether is the difference of coordinates of 7000 km: rounding of these (1e-9 m) alone "
             "violates the constraints by 2e-6 m^2, and a relative tolerance of positions is 7000 times as large for the tethers. "
             "Tolerances below that are not attainable: IDA fails in GGL with an absolute one of 1e-11, in index 3 with the default of "
             "1e-8; the half-implicit method needs 1e-8 for Newton's method.",
    t_end=10000.0,
    step=1.0,
    observe=_observe,
    references=_RECOMPUTED,
    view="3d",
    film=500.0,
)
