"""Index 1: the constraints on the acceleration level, optionally with Baumgarte stabilisation."""

from typing import Any

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system import kernels
from ..system import layout as lay
from ..system.layout import part
from ..system.system import System
from .base import PatternBlocks, WithMultipliers
from .pattern import Structure
from .pieces import acceleration, equations_of_motion, finite, regularise, velocity


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array, baumgarte: tuple[float, float]) -> bool:
    """The constraints on accelerations, and with `baumgarte = (alpha, beta)` those on velocities and positions."""
    m = equations_of_motion(t, y, yd, out, model, work)
    F = m.constraints
    acceleration(t, m.q, m.v, m.a, m.G, model, work, F)
    alpha, beta = baumgarte
    if alpha != 0.0 or beta != 0.0:
        x = part(model, work, lay.W_C2)
        velocity(t, m.q, m.v, m.G, model, work, x)
        for k in range(F.shape[0]):
            F[k] += 2.0 * alpha * x[k]
        kernels.phi(t, m.q, model, work, x)
        for k in range(F.shape[0]):
            F[k] += beta * beta * x[k]
    regularise(model, F, m.lam)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class Index1(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi_q vd - gamma + 2 alpha (Phi_q v - nu) + beta^2 Phi = 0`, `y = (q, v, lam)`.

    Parameters
    ----------
    system : System
    alpha, beta : float
        Baumgarte's parameters [1/s]; zero leaves the plain index-1 form, whose positions drift quadratically in time.

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.Index1(mbdae.library.system("four-link"), alpha=5.0, beta=5.0)
    >>> problem.n, problem.m
    (57, 57)
    """

    formulation = "index1"
    title = "index 1"
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("acceleration", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 1}
    excluded_blocks = ("lam",)  # friction makes them jump, and rounding errors of large ones would force tiny steps
    regularised = (("y", "acceleration", "lam"),)
    drifts = True
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("yd", "acceleration", "v", "G"),
                    ("y", "kinematics", "v", "-T"), ("y", "dynamics", "lam", "G^T"))

    def __init__(self, system: System, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.alpha, self.beta = check_baumgarte(alpha, beta, "Index1")
        super().__init__(system)
        self.parameters = ((self.alpha, self.beta),)

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        return super()._pattern_blocks(s) | {("acceleration", "q"): s.vel_q + s.phi_q, ("acceleration", "v"): s.vel_v + s.acc_v}


def check_baumgarte(alpha: float, beta: float, owner: str) -> tuple[float, float]:
    """The parameters as floats; negative ones would make constraint violations grow."""
    for name, x in (("alpha", alpha), ("beta", beta)):
        if not (np.isfinite(x) and x >= 0.0):
            raise ValueError(f"{owner}: {name} must be finite and not negative, got {x!r}")
    return float(alpha), float(beta)
