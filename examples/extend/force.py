"""A force element of your own with compiled kernels, and the same as a `UserForce`: a bushing with cubic stiffness and damping."""

from dataclasses import dataclass

import numba
import numpy as np

import mbdae
from mbdae import extend as x
from mbdae.adapters.sundae import Ida


@dataclass(frozen=True)
class Bushing(x.Force):
    """`F = (k + k3 |d|^2) d + c d'` pulls the points `s_i` and `s_j` at the distance `d` together."""

    i: str
    j: str
    k: float
    k3: float = 0.0
    c: float = 0.0
    s_i: tuple = x.ORIGIN
    s_j: tuple = x.ORIGIN
    time_dependent = False

    def check(self, owner):
        self.set_points(owner)
        for field in ("k", "k3", "c"):
            self.set(field, x.checks.nonnegative(getattr(self, field), owner, field))


def force(e, X, bodies, Q):
    d = x.distance(X, e)
    rate = x.sub(x.point_velocity(X, e["j"], e["s_j"]), x.point_velocity(X, e["i"], e["s_i"]))
    F = x.add(x.scale(e["k"] + e["k3"] * x.dot(d, d), d), x.scale(e["c"], rate))
    x.force_at(Q, bodies, X, e["i"], e["s_i"], F, x.ORIGIN)
    x.force_at(Q, bodies, X, e["j"], e["s_j"], x.scale(-1.0, F), x.ORIGIN)


def energy(e, X):
    d2 = x.dot(x.distance(X, e), x.distance(X, e))
    return 0.5 * e["k"] * d2 + 0.25 * e["k3"] * d2 * d2


numbers = tuple((name, float) for name in ("k", "k3", "c"))
x.register(x.ForceKind(Bushing, force, energy, fields=(*numbers, ("s_i", float, 3), ("s_j", float, 3))))


@numba.njit
def pull(t, r, A, v, omega, F, T):
    """The same between the body and the ground, with the numbers written into the function."""
    F[0] = -(4.0 + 20.0 * np.dot(r[0], r[0])) * r[0]


mass = mbdae.Particle("mass", 2.0, (0.5, 0.0, 0.0))
elements = {"Bushing": Bushing("bushing", "ground", "mass", k=4.0, k3=20.0), "UserForce": mbdae.UserForce("bushing", "mass", pull)}
runs = {}
for name, element in elements.items():
    mechanism = mbdae.Mechanism("oscillator", [mass], forces=[element])
    x.check(mechanism)
    runs[name] = mbdae.solve(mechanism, Ida(), (0.0, 5.0), rtol=1e-9, atol=1e-10)
    print(f"{name:10} x = {runs[name].q[-1, 0]:.7f} m after 5 s, energy at the end {runs[name].energy[-1]:.6f} J")
