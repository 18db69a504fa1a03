"""Overdetermined: the equations of motion with the constraints on all three levels, for ODASSL and similar solvers."""

from typing import Any

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system import kernels
from .base import PatternBlocks, WithMultipliers
from .pattern import Structure
from .pieces import acceleration, equations_of_motion, finite, regularise, sizes, split, velocity


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    nq, nv, nc = sizes(model)
    m, accelerations = equations_of_motion(t, y, yd, out, model, work), split(out, nq + nv + 2 * nc, nc)
    kernels.phi(t, m.q, model, work, m.constraints)
    velocity(t, m.q, m.v, m.G, model, work, split(out, nq + nv + nc, nc))
    acceleration(t, m.q, m.v, m.a, m.G, model, work, accelerations)
    regularise(model, accelerations, m.lam)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class Overdetermined(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0`, `Phi_q v = nu`, `Phi_q vd = gamma` with `y = (q, v, lam)`.

    More equations than unknowns.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.Overdetermined(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (57, 93)
    """

    formulation = "overdetermined"
    title = "overdetermined"
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("position", "nc"), ("velocity", "nc"), ("acceleration", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 1}
    regularised = (("y", "acceleration", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("yd", "acceleration", "v", "G"),
                    ("y", "kinematics", "v", "-T"), ("y", "dynamics", "lam", "G^T"), ("y", "velocity", "v", "G"))

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        return super()._pattern_blocks(s) | {
            ("position", "q"): s.phi_q, ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v,
            ("acceleration", "q"): s.vel_q, ("acceleration", "v"): s.vel_v + s.acc_v}
