"""Gear's form: GGL with the multipliers as derivatives of further states, index 1."""

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels
from .base import Problem, with_diagonal
from .pieces import begin, finite, regularise, sizes, split, stabilised


@compiled
def _residual(t, y, yd, out, model, work):
    nq, nv, nc = sizes(model)
    q, v = split(y, 0, nq), split(y, nq, nv)
    lam, mu = split(yd, nq + nv, nc), split(yd, nq + nv + nc, nc)
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


class Gear(Problem):
    """GGL with `lam = wd`, `mu = zd` and `y = (q, v, w, z)`: index 1 in these unknowns.

    `w` and `z` start at zero; they are integrals of the multipliers. In the exact solution `z` vanishes. In a numerical one its slope
    takes up the truncation error of the positions and jumps with every change of step and order, so the error test must not see it: a
    solver would keep to order one and steps of microseconds for good.
    """

    formulation = "gear"
    title = "Gear, index 1"
    unknowns = (("q", "nq"), ("v", "nv"), ("w", "nc"), ("z", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("velocity", "nc"), ("position", "nc"))
    block_index = {"q": 1, "v": 1, "w": 1, "z": 1}
    loose_blocks = ("z",)
    regularised = (("yd", "velocity", "w"), ("yd", "position", "z"))
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("yd", "dynamics", "w", "G^T"),
                    ("yd", "kinematics", "z", "TG"), ("y", "dynamics", "w", "0"), ("y", "kinematics", "z", "0"),
                    ("y", "kinematics", "v", "-T"), ("y", "velocity", "v", "G"))

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def pack(self, state):
        return self._pack(state, w=(0.0, state.lam), z=(0.0, 0.0))

    def unpack(self, y, yd):
        b = self.blocks
        return y[..., b["q"]], y[..., b["v"]], yd[..., b["v"]], yd[..., b["w"]]

    def _pattern_blocks(self, s):
        return {("kinematics", "q"): with_diagonal(s.stab_q), ("kinematics", "v"): s.map_v, ("kinematics", "z"): s.stab_c,
                ("dynamics", "q"): s.dyn_q, ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "w"): s.dyn_c,
                ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v, ("position", "q"): s.phi_q}
