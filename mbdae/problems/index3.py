"""Index 3: the equations of motion as they are."""

from ..compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels
from .base import Problem, with_diagonal
from .pieces import begin, dynamics, finite, kinematics, release, sizes, split


@compiled
def _residual(t, y, yd, out, model, work):
    nq, nv, nc = sizes(model)
    q, v, lam = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nc)
    G = begin(t, q, v, model, work)
    kinematics(t, q, split(yd, 0, nq), v, model, split(out, 0, nq))
    dynamics(t, q, v, split(yd, nq, nv), lam, G, model, work, split(out, nq, nv))
    kernels.phi(t, q, model, work, split(out, nq + nv, nc))
    release(model, split(out, nq + nv, nc), lam)
    return finite(out)

@compiled
def _derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_residual, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


class Index3(Problem):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0` with `y = (q, v, lam)`."""

    formulation = "index3"
    title = "index 3"
    unknowns = (("q", "nq"), ("v", "nv"), ("lam", "nc"))
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("position", "nc"))
    block_index = {"q": 1, "v": 2, "lam": 3}
    algebraic_blocks = ("lam",)
    loose_blocks = ("v", "lam")
    released = (("position", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                    ("y", "dynamics", "lam", "G^T"))
    first_step = 1e-5  # the iteration matrix grows as 1/h^2: with the nanoseconds that solvers begin with it is singular to rounding

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def pack(self, state):
        return self._pack(state, lam=(self.basic(state), 0.0))

    def _pattern_blocks(self, s):
        return {("kinematics", "q"): with_diagonal(s.map_q), ("kinematics", "v"): s.map_v, ("dynamics", "q"): s.dyn_q,
                ("dynamics", "v"): s.dyn_v + s.mass, ("dynamics", "lam"): s.dyn_c, ("position", "q"): s.phi_q}
