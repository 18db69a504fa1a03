"""Index 2: the constraints on the velocity level."""

from typing import Any

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from .base import PatternBlocks, WithMultipliers
from .pattern import Structure
from .pieces import equations_of_motion, finite, regularise, velocity


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    m = equations_of_motion(t, y, yd, out, model, work)
    velocity(t, m.q, m.v, m.G, model, work, m.constraints)
    regularise(model, m.constraints, m.lam)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class Index2(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi_q v = nu` with `y = (q, v, lam)`. Positions drift off `Phi = 0` linearly in time.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.Index2(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (57, 57)
    """

    formulation = "index2"
    title = "index 2"
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("velocity", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 2}
    regularised = (("y", "velocity", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                    ("y", "dynamics", "lam", "G^T"), ("y", "velocity", "v", "G"))

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        return super()._pattern_blocks(s) | {("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v}
