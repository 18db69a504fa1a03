"""Overdetermined: the equations of motion with the constraints on all three levels, for solvers of the ODASSL kind."""

from ..compilation.compiled import compiled
from ..jacobians.complex_step import directional
from ..system import kernels
from .base import WithMultipliers
from .pieces import acceleration, equations_of_motion, finite, regularise, sizes, split, velocity


@compiled
def _residual(t, y, yd, out, model, work):
    q, v, a, lam, G, positions = equations_of_motion(t, y, yd, out, model, work)
    nq, nv, nc = sizes(model)
    kernels.phi(t, q, model, work, positions)
    velocity(t, q, v, G, model, work, split(out, nq + nv + nc, nc))
    accelerations = split(out, nq + nv + 2 * nc, nc)
    acceleration(t, q, v, a, G, model, work, accelerations)
    regularise(model, accelerations, lam)
    return finite(out)


@compiled
def _derivative(t, y, yd, a, b, sweep, z, zd, out, values, model, work):
    directional(_residual, t, y, yd, a, b, sweep, z, zd, out, values, (model, work))


class Overdetermined(WithMultipliers):
    """`qd = T v`, `M vd + Phi_q^T lam = Q`, `Phi = 0`, `Phi_q v = nu`, `Phi_q vd = gamma` with `y = (q, v, lam)`.

    More equations than unknowns.
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

    def _pattern_blocks(self, s):
        return super()._pattern_blocks(s) | {
            ("position", "q"): s.phi_q, ("velocity", "q"): s.vel_q, ("velocity", "v"): s.vel_v,
            ("acceleration", "q"): s.vel_q, ("acceleration", "v"): s.vel_v + s.acc_v}
