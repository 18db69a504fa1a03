"""Gear-Gupta-Leimkuhler: stabilised index 2, in residual and explicit form."""

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.layout import header, part
from .base import Problem, with_diagonal
from .pieces import begin, finite, regularise, sizes, split, stabilised


@compiled
def _residual(t, y, yd, out, model, work):
    """[Arnold, eq. (9)]"""
    nq, nv, nc = sizes(model)
    q, v, lam, mu = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nc), split(y, nq + nv + nc, nc)
    G = begin(t, q, v, model, work)
    stabilised(t, q, split(yd, 0, nq), v, split(yd, nq, nv), lam, mu, G, model, work, split(out, 0, nq), split(out, nq, nv),
               split(out, nq + nv, nc))
    kernels.phi(t, q, model, work, split(out, nq + nv + nc, nc))
    regularise(model, split(out, nq + nv, nc), lam)
    regularise(model, split(out, nq + nv + nc, nc), mu)
    return finite(out)


@compiled
def _derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_residual, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


@compiled
def _explicit(t, y, yd, out, model, work):
    """[Arnold, eq. (10)]: `vd - M^-1 (Q - Phi_q^T lam)`, which is `M^-1` times the dynamics of `_residual`."""
    _residual(t, y, yd, out, model, work)
    nq, nv, _ = sizes(model)
    F, L = split(out, nq, nv), part(model, work, lay.W_MINV)
    if header(model)[lay.CONSTANT_MASS] == 0:
        kkt.factor_mass(part(model, work, lay.W_MASS), model, L)
    sparse.mass_solve(L, F, model, F)
    return finite(out)


@compiled
def _explicit_derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_explicit, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


class GGL(Problem):
    """`qd = T (v - Phi_q^T mu)`, `M vd + Phi_q^T lam = Q`, `Phi_q v = nu`, `Phi = 0` with `y = (q, v, lam, mu)`.

    Index 2; `mu` vanishes in the exact solution.

    Parameters
    ----------
    system : System
    form : {"residual", "explicit"}
        Dynamics as `M vd + Phi_q^T lam - Q` [Arnold, eq. (9)] or as `vd - M^-1 (Q - Phi_q^T lam)` [Arnold, eq. (10)].
    """

    formulation = "ggl"
    title = "GGL, index 2"
    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"), ("mu", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("velocity", "nc"), ("position", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 2, "mu": 2}
    algebraic_blocks = ("lam", "mu")
    loose_blocks = ("lam", "mu")
    regularised = (("y", "velocity", "lam"), ("y", "position", "mu"))
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                    ("y", "kinematics", "mu", "TG"), ("y", "dynamics", "lam", "G^T"), ("y", "velocity", "v", "G"))
    known_of_explicit = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "I"), ("y", "kinematics", "v", "-T"),
                         ("y", "kinematics", "mu", "TG"), ("y", "velocity", "v", "G"))

    def __init__(self, system, form="residual"):
        if form not in ("residual", "explicit"):
            raise ValueError(f"GGL: form must be 'residual' or 'explicit', got {form!r}")
        self.form = form
        self.kernel, self.derivative = (_residual, _derivative) if form == "residual" else (_explicit, _explicit_derivative)
        if form == "explicit":
            self.known_blocks = self.known_of_explicit
        super().__init__(system)

    def pack(self, state):
        return self._pack(state, lam=(state.lam, 0.0), mu=(0.0, 0.0))

    def _pattern_blocks(self, s):
        W = s.mass if self.form == "explicit" else with_diagonal(0 * s.mass)
        return {("kinematics", "q"): with_diagonal(s.stab_q), ("kinematics", "v"): s.map_v, ("kinematics", "mu"): s.stab_c,
                ("dynamics", "q"): W @ s.dyn_q, ("dynamics", "v"): W @ s.dyn_v + s.mass, ("dynamics", "lam"): W @ s.dyn_c,
                ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v, ("position", "q"): s.phi_q}
