"""Index 3: the equations of motion with the constraints on the position level."""

from typing import Any

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system import kernels
from .base import PatternBlocks, WithMultipliers
from .pattern import Structure
from .pieces import equations_of_motion, finite, regularise


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    m = equations_of_motion(t, y, yd, out, model, work)
    kernels.phi(t, m.q, model, work, m.constraints)
    regularise(model, m.constraints, m.lam)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class Index3(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0` with `y = (q, v, lam)`.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.Index3(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (57, 57)
    """

    formulation = "index3"
    title = "index 3"
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("position", "nc"))
    block_index = {"q": 1, "v": 2, "lam": 3}
    excluded_blocks = ("v", "lam")
    regularised = (("y", "position", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                    ("y", "dynamics", "lam", "G^T"))
    first_step = 1e-5  # the iteration matrix grows as 1/h^2: with first steps of nanoseconds it is singular to rounding

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        return super()._pattern_blocks(s) | {("position", "q"): s.phi_q}
