"""Gear-Gupta-Leimkuhler: stabilised index 2, in residual and explicit form."""

from typing import Any

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..jacobians.signatures import Array, Arrays, Tables, Vector
from ..system import layout as lay
from ..system import sparse
from ..system.assembly import State
from ..system.layout import header, part
from ..system.system import System
from .base import KnownBlocks, PatternBlocks, Problem, with_diagonal
from .pattern import Structure
from .pieces import StabilisedState, finite, sizes, split, stabilised


@compiled
def _residual(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    """[Arnold, eq. (9)]"""
    nq, nv, nc = sizes(model)
    lam, mu = split(y, nq + nv, nc), split(y, nq + nv + nc, nc)
    stabilised(t, StabilisedState(split(y, 0, nq), split(y, nq, nv), split(yd, 0, nq), split(yd, nq, nv), lam, mu), model, work, out)
    return finite(out)


@compiled
def _derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                arguments: tuple[Any, ...]) -> None:
    directional(_residual, t, y, yd, factors, sweep, scratch, values, arguments)


@compiled
def _explicit(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> bool:
    """[Arnold, eq. (10)]: `vd - M^-1 (Q - Phi_q^T lam)`, which is `M^-1` times the dynamics of `_residual`."""
    _residual(t, y, yd, out, model, work)
    nq, nv, _ = sizes(model)
    F, L = split(out, nq, nv), part(model, work, lay.W_MINV)
    if header(model)[lay.CONSTANT_MASS] == 0:
        sparse.factor_mass(part(model, work, lay.W_MASS), model, L)
    sparse.mass_solve(L, F, model, F)
    return finite(out)


@compiled
def _explicit_derivative(t: float, y: Array, yd: Array, factors: tuple[float, float], sweep: Arrays, scratch: Arrays, values: Vector,
                         arguments: tuple[Any, ...]) -> None:
    directional(_explicit, t, y, yd, factors, sweep, scratch, values, arguments)


class GGL(Problem):
    """`qd = T (v - Phi_q^T mu)`, `M vd + Phi_q^T lam = Q`, `Phi_q v = nu`, `Phi = 0` with `y = (q, v, lam, mu)`.

    Index 2; `mu` vanishes in the exact solution.

    Parameters
    ----------
    system : System
    form : {"residual", "explicit"}
        Dynamics as `M vd + Phi_q^T lam - Q` [Arnold, eq. (9)] or as `vd - M^-1 (Q - Phi_q^T lam)` [Arnold, eq. (10)].

    Examples
    --------
    >>> import mbdae
    >>> problem = mbdae.GGL(mbdae.library.system("four-link"))
    >>> problem.n, problem.m
    (75, 75)
    """

    formulation = "ggl"
    title = "GGL, index 2"
    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"), ("mu", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("velocity", "nc"), ("position", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 2, "mu": 2}
    algebraic_blocks = ("lam", "mu")
    excluded_blocks = ("lam", "mu")
    regularised = (("y", "velocity", "lam"), ("y", "position", "mu"))
    known_blocks: KnownBlocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                                 ("y", "kinematics", "mu", "TG"), ("y", "dynamics", "lam", "G^T"), ("y", "velocity", "v", "G"))
    known_of_explicit = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "I"), ("y", "kinematics", "v", "-T"),
                         ("y", "kinematics", "mu", "TG"), ("y", "velocity", "v", "G"))

    def __init__(self, system: System, form: str = "residual") -> None:
        if form not in ("residual", "explicit"):
            raise ValueError(f"GGL: form must be 'residual' or 'explicit', got {form!r}")
        self.form = form
        self.kernel, self.derivative = (_residual, _derivative) if form == "residual" else (_explicit, _explicit_derivative)
        if form == "explicit":
            self.known_blocks = self.known_of_explicit
        super().__init__(system)

    def pack(self, state: State) -> tuple[Vector, Vector]:
        return self._pack(state, lam=(state.lam, 0.0), mu=(0.0, 0.0))

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        W = s.mass if self.form == "explicit" else with_diagonal(0 * s.mass)
        return {("kinematics", "q"): with_diagonal(s.stab_q), ("kinematics", "v"): s.map_v, ("kinematics", "mu"): s.stab_c,
                ("dynamics", "q"): W @ s.dyn_q, ("dynamics", "v"): W @ s.dyn_v + s.mass, ("dynamics", "lam"): W @ s.dyn_c,
                ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v, ("position", "q"): s.phi_q}
