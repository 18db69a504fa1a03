"""Overdetermined: the equations of motion with the constraints on all three levels, for solvers of the ODASSL kind."""

from ..compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels
from .base import Problem, with_diagonal
from .pieces import acceleration, begin, dynamics, finite, kinematics, release, sizes, split, velocity


@compiled
def _residual(t, y, yd, out, model, work):
    nq, nv, nc = sizes(model)
    q, v, lam, a = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nc), split(yd, nq, nv)
    G = begin(t, q, v, model, work)
    kinematics(t, q, split(yd, 0, nq), v, model, split(out, 0, nq))
    dynamics(t, q, v, a, lam, G, model, work, split(out, nq, nv))
    kernels.phi(t, q, model, work, split(out, nq + nv, nc))
    velocity(t, q, v, G, model, work, split(out, nq + nv + nc, nc))
    acceleration(t, q, v, a, G, model, work, split(out, nq + nv + 2 * nc, nc))
    release(model, split(out, nq + nv + 2 * nc, nc), lam)
    return finite(out)

@compiled
def _derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_residual, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


class Overdetermined(Problem):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0`, `Phi_q v = nu`, `Phi_q vd = gamma` with `y = (q, v, lam)`.

    More equations than unknowns.
    """

    formulation = "overdetermined"
    title = "overdetermined"
    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("position", "nc"), ("velocity", "nc"), ("acceleration", "nc"))
    block_index = {"q": 1, "v": 1, "lam": 1}
    algebraic_blocks = ("lam",)
    loose_blocks = ("lam",)
    released = (("acceleration", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("yd", "acceleration", "v", "G"),
                    ("y", "kinematics", "v", "-T"), ("y", "dynamics", "lam", "G^T"), ("y", "velocity", "v", "G"))

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def pack(self, state):
        return self._pack(state, lam=(self.basic(state), 0.0))

    def _pattern_blocks(self, s):
        return {("kinematics", "q"): with_diagonal(s.map_q), ("kinematics", "v"): s.map_v, ("dynamics", "q"): s.dyn_q,
                ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "lam"): s.dyn_c, ("position", "q"): s.phi_q,
                ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v,
                ("acceleration", "q"): s.vel_q, ("acceleration", "v"): s.vel_v + s.acc_v}
