"""A primitive constraint of your own with compiled kernels: a point on a parabola that is fixed in another body."""

from dataclasses import dataclass

import mbdae
from mbdae import extend as x
from mbdae.adapters.sundae import Ida
from mbdae.extend import compiled


@dataclass(frozen=True)
class OnParabola(x.Primitive):
    """`p_z - k p_x^2 = 0` with `p = A_i^T d`, the vector from `s_i` to `s_j` in the axes of body i."""

    k: float
    s_i: tuple = x.ORIGIN
    s_j: tuple = x.ORIGIN
    points = (("s_i", "i"), ("s_j", "j"))


@compiled
def _normal(e, p):
    """The gradient `n` by `p`."""
    return -2.0 * e["k"] * p[0], 0.0, 1.0


def phi(e, X, out):
    p = x.unrotate(X, e["i"], x.distance(X, e))
    out[e["row"]] = p[2] - e["k"] * p[0] ** 2


def phi_q(e, X, G):
    """`delta p = A_i^T delta d - delta theta_i x p`."""
    p = x.unrotate(X, e["i"], x.distance(X, e))
    n = _normal(e, p)
    u = x.rotate(X, e["i"], n)
    x.put_i(G, e, 0, x.scale(-1.0, u), x.cross(n, x.add(p, e["s_i"])))
    x.put_j(G, e, 0, u, x.cross(e["s_j"], x.unrotate(X, e["j"], u)))


def gamma(e, X, out):
    """`-(n . p'' + n' . p')` at zero acceleration."""
    i, j = e["i"], e["j"]
    p, w = x.unrotate(X, i, x.distance(X, e)), x.omega(X, i)
    rate = x.unrotate(X, i, x.sub(x.point_velocity(X, j, e["s_j"]), x.point_velocity(X, i, e["s_i"])))
    bend = x.unrotate(X, i, x.sub(x.spin2(X, j, e["s_j"]), x.spin2(X, i, e["s_i"])))
    p1 = x.sub(rate, x.cross(w, p))
    p2 = x.sub(bend, x.cross(w, x.add(rate, p1)))
    out[e["row"]] = 2.0 * e["k"] * p1[0] ** 2 - x.dot(_normal(e, p), p2)


x.register(x.ConstraintKind(OnParabola, phi, phi_q, gamma, fields=(("k", float),)))

bead = mbdae.Particle("bead", 1.0, (1.0, 0.0, 0.5))
wire = [OnParabola("wire", "ground", "bead", 0.5), mbdae.CD("plane", "ground", "bead", (0, 1, 0))]
mechanism = mbdae.Mechanism("bead on a wire", [bead], wire, gravity=(0.0, 0.0, -9.81))
x.check(mechanism)
run = mbdae.solve(mechanism, Ida(), (0.0, 5.0), rtol=1e-9, atol=1e-10)
print(f"x = {run.q[-1, 0]:.6f} m after 5 s, {run.statistics.steps} steps")
print(f"energy changes by {abs(run.energy[-1] - run.energy[0]):.1e} J, Phi is {run.constraint_residuals[:, 0].max():.0e} m at most")
