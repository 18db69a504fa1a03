"""What the scripts of this folder share: the three examples, the four methods, errors as they are defined here.

The paper: Y. Wei, Z. Deng, Q. Li, B. Wang, "Projected Runge-Kutta methods for constrained Hamiltonian systems", Applied Mathematics and
Mechanics 37 (2016) 1077-1094. Its methods are Gauss formulas of three stages with projections to what is nearest by the sum of squares.
Here the mass matrix measures distances; in examples 1 and 3, where all masses are equal, that is the same.

Data. Of example 1 everything is known. Of example 2 start, step and length of the run could not be found, nor orbit, spin, step and length
of the run of example 3: these are those of the library, `mbdae show double-spherical-pendulum` and `mbdae show tethered-satellites`. So
curves of examples 2 and 3 cannot be laid over those of the paper, only magnitudes can be compared.

Errors. Of a rod with `d = r_j - r_i`, its derivatives `d'`, `d''` from the velocities and accelerations of its ends, and its length `l`:

    position |d.d - l^2|/l^2,   velocity |2 d.d'|/l^2 [1/s],   acceleration |2 (d.d'' + d'.d')|/l^2 [1/s^2],   energy |H/H0 - 1|.

In example 1, `l = 1 m`, the first three are the constraint errors themselves, and the energy error is `|H - H0|` [J].
"""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

import mbdae
from mbdae import library
from mbdae.library.tethered_satellites import MU
from mbdae.model.bodies import GROUND
from mbdae.model.joints import Rod
from mbdae.pictures.figures import COLOURS

OUTPUT = "results/papers/projected_rk"  # default of --output
METHODS = {"R-K": "", "R-K-PV": "PV", "R-K-PVAE-n": "PVAE-n", "R-K-PVAE-0": "PVAE-0"}
LOOK = {"R-K": {"color": COLOURS[6]}, "R-K-PV": {"color": COLOURS[1]}, "R-K-PVAE-n": {"color": COLOURS[2]},
        "R-K-PVAE-0": {"color": COLOURS[0], "linestyle": (0, (3.5, 1.2))}}
WIDTHS = {"R-K": 1.4, "R-K-PV": 2.3, "R-K-PVAE-n": 1.3, "R-K-PVAE-0": 1.3}  # the second is seen where it lies below others
PARTS = 250  # of the time axis, each drawn by the largest error in it
QUANTITIES = ("position", "velocity", "acceleration", "energy")


@dataclass(frozen=True, eq=False)
class Example:
    """One of the three, under its name in the library, with the rod that the paper shows and the magnitudes it states.

    `published` is by method and quantity.
    """

    name: str
    title: str
    rod: str
    h: float
    t_end: float
    published: dict
    parameters: tuple = ()
    absolute: bool = False

    @property
    def system(self):
        """The equations."""
        return _system(self.name, self.parameters)


# the largest constraint error without projections follows from a rod that varies between 0.6 and 1.4 m
PENDULUM = Example("particle-pendulum", "Simple pendulum", "rod", 1e-3, 30.0, absolute=True, published={
    "R-K": {"position": 0.96, "velocity": 1e8, "energy": 1e15}, "R-K-PV": {"position": 1e-16, "energy": 1e-6},
    "R-K-PVAE-n": {"position": 1e-16, "acceleration": 1e-14}, "R-K-PVAE-0": {"position": 1e-16, "acceleration": 1e-14}})
SPHERICAL = Example("double-spherical-pendulum", "Double spherical pendulum", "rod 2", 1e-3, 10.0, {}, (("example", "projected-rk"),))
SATELLITES = Example("tethered-satellites", "Tethered satellites", "tether 12", 1.0, 10000.0, {
    "R-K-PVAE-0": {"position": 1e-15, "velocity": 1e-11, "acceleration": 1e-13}})
# the pendulum with one Newton iteration per step, which explains the energy error of the paper
LOOSE, LOOSE_TOL = "R-K-PV, one iteration", 1e-7
EXAMPLES = (PENDULUM, SPHERICAL, SATELLITES)


@cache
def _system(name, parameters):
    return library.system(name, **dict(parameters))


def energy(example, q, v):
    """Kinetic and potential energy of states in rows, or of one."""
    mechanism = example.system.mechanism
    m = np.array([body.mass for body in mechanism.bodies])
    r, w = (np.reshape(x, (*np.shape(x)[:-1], len(m), 3)) for x in (q, v))
    potential = -MU * m / np.sqrt((r * r).sum(axis=-1)) if example is SATELLITES else -m * (r @ np.array(mechanism.gravity))
    return (0.5 * m * (w * w).sum(axis=-1) + potential).sum(axis=-1)


@cache
def run(example, project, h=None, t_end=None, **options):
    """A run of the Gauss method of three stages that hold positions; one without projections ends where Newton's method fails.

    Raises
    ------
    RuntimeError
        If a run with projections fails.
    """
    own = (lambda t, q, v: float(energy(example, q, v))) if example is SATELLITES else None
    method = mbdae.ProjectedGauss(h=h or example.h, stages=3, project=project, energy=own, stages_hold="position", **options)
    s = mbdae.solve(example.system, method, (0.0, t_end or example.t_end))
    if project and not s.success:
        raise RuntimeError(f"{example.name}, {method.label}: {s.message}")
    return s


def runs(example, h=None, t_end=None):
    """The runs of the four methods by name."""
    return {name: run(example, project, h, t_end) for name, project in METHODS.items()}


# --- errors ------------------------------------------------------------------------------------------------------------------------------


def ends(example, x, rod):
    """`x_j - x_i` of the ends of a rod, in rows; `x` are coordinates, velocities or accelerations."""
    column = {body.name: 3 * k for k, body in enumerate(example.system.mechanism.bodies)}
    i, j = (0.0 if name == GROUND else x[:, column[name]:column[name] + 3] for name in (rod.i, rod.j))
    return j - i


def errors_of_rod(example, s, rod):
    """`{quantity: values over the steps}` of the three levels."""
    d, d1, d2 = (ends(example, x, rod) for x in (s.q, s.v, s.a))
    levels = (d * d).sum(axis=1) - rod.length**2, 2.0 * (d * d1).sum(axis=1), 2.0 * (d * d2 + d1 * d1).sum(axis=1)
    return {name: np.abs(x) / rod.length**2 for name, x in zip(QUANTITIES, levels)}


def rods(example):
    """The rods or tethers of an example by name."""
    return {joint.name: joint for joint in example.system.mechanism.joints if isinstance(joint, Rod)}


def energy_error(example, s):
    """Of every step."""
    H = energy(example, s.q, s.v)
    return np.abs(H - H[0]) / (1.0 if example.absolute else abs(H[0]))


def errors(example, s):
    """Errors over the steps, those of the rod that the paper shows."""
    return {**errors_of_rod(example, s, rods(example)[example.rod]), "energy": energy_error(example, s)}


def largest(example, s):
    """The largest errors of a run, of all rods."""
    every = [errors_of_rod(example, s, rod) for rod in rods(example).values()]
    return {**{name: max(float(x[name].max()) for x in every) for name in QUANTITIES[:3]}, "energy": float(energy_error(example, s).max())}


def known(example, t):
    """Values of the library at a time, recomputed with many digits; empty if there are none."""
    entry = library.entry(example.name)
    return {k: x for r in entry.references if r.t == t and r.kind == "recomputed" and dict(r.parameters) == dict(example.parameters)
            for k, x in r.values.items()}


def deviation(example, s):
    """Largest error of the coordinates at the end of a run, or None if the end is not known."""
    exact = {k: x for k, x in known(example, round(float(s.t[-1]), 9)).items() if re.fullmatch(r"[xyz]\d?", k)}
    found = library.entry(example.name).observe(s.system, s.t[-1], *(x[-1] for x in (s.q, s.v, s.a, s.lam)))
    return max((abs(found[k] - x) for k, x in exact.items()), default=None)


# --- output ------------------------------------------------------------------------------------------------------------------------------


def envelope(t, values, t_end, parts=PARTS):
    """Times, and the largest value in each of `parts` parts of `0 ... t_end` that has any."""
    place = np.minimum((t / t_end * parts).astype(int), parts - 1)
    upper = np.full(parts, -np.inf)
    np.maximum.at(upper, place, values)
    full = upper > -np.inf
    return (np.flatnonzero(full) + 0.5) * t_end / parts, upper[full]
