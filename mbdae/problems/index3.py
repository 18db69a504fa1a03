"""Index 3: the equations of motion as they are."""

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels
from .base import WithMultipliers
from .pieces import equations_of_motion, finite, regularise


@compiled
def _residual(t, y, yd, out, model, work):
    q, _, _, lam, _, F = equations_of_motion(t, y, yd, out, model, work)
    kernels.phi(t, q, model, work, F)
    regularise(model, F, lam)
    return finite(out)


@compiled
def _derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_residual, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


class Index3(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0` with `y = (q, v, lam)`."""

    formulation = "index3"
    title = "index 3"
    rows = (("kinematics", "nq"), ("dynamics", "nv"), ("position", "nc"))
    block_index = {"q": 1, "v": 2, "lam": 3}
    loose_blocks = ("v", "lam")
    regularised = (("y", "position", "lam"),)
    known_blocks = (("yd", "kinematics", "q", "I"), ("yd", "dynamics", "v", "M"), ("y", "kinematics", "v", "-T"),
                    ("y", "dynamics", "lam", "G^T"))
    first_step = 1e-5  # the iteration matrix grows as 1/h^2: with the nanoseconds that solvers begin with it is singular to rounding

    kernel = staticmethod(_residual)
    derivative = staticmethod(_derivative)

    def _pattern_blocks(self, s):
        return super()._pattern_blocks(s) | {("position", "q"): s.phi_q}
