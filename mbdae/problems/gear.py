"""Gear's form: GGL with the multipliers as derivatives of further states, index 1."""

from typing import Any

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system.assembly import State
from .base import Outputs, PatternBlocks, Problem, with_diagonal
from .pattern import Structure
from .pieces import StabilisedState, finite, sizes, split, stabilised


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    """GGL, with the multipliers from `yd`."""
    nq, nv, nc = sizes(model)
    lam, mu = split(yd, nq + nv, nc), split(yd, nq + nv + nc, nc)
    stabilised(t, StabilisedState(split(y, 0, nq), split(y, nq, nv), split(yd, 0, nq), split(yd, nq, nv), lam, mu), model, work, out)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


class Gear(Problem):
    """GGL with `lam = wd`, `mu = zd` and `y = (q, v, w, z)`: index 1 in these unknowns.

    `w` and `z` start at zero; they are integrals of the multipliers. In the exact solution `z` vanishes. In a numerical one `zd`
    contains the truncation error of the positions and jumps with every change of step size and order. Therefore `z` is excluded from the
    error test; otherwise solvers stay at order one and steps of microseconds.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.Gear(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (75, 75)
    """

    formulation = "gear"
    title = "Gear, index 1"
    unknowns = (("q", "nq"), ("v", "nv"), ("w", "nc"), ("z", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("velocity", "nc"), ("position", "nc"))
    block_index = {"q": 1, "v": 1, "w": 1, "z": 1}
    excluded_blocks = ("z",)
    regularised = (("yd", "velocity", "w"), ("yd", "position", "z"))
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("yd", "dynamics", "w", "G^T"),
                    ("yd", "kinematics", "z", "TG"), ("y", "dynamics", "w", "0"), ("y", "kinematics", "z", "0"),
                    ("y", "kinematics", "v", "-T"), ("y", "velocity", "v", "G"))

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def pack(self, state: State) -> tuple[Vector, Vector]:
        return self._pack(state, w=(0.0, state.lam), z=(0.0, 0.0))

    def unpack(self, y: Vector, yd: Vector) -> Outputs:
        b = self.blocks
        return y[..., b["q"]], y[..., b["v"]], yd[..., b["v"]], yd[..., b["w"]]

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        return {("kinematics", "q"): with_diagonal(s.stab_q), ("kinematics", "v"): s.map_v, ("kinematics", "z"): s.stab_c,
                ("dynamics", "q"): s.dyn_q, ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "w"): s.dyn_c,
                ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v, ("position", "q"): s.phi_q}
