"""A direction that turns in body i: `u_i . u_j = 0` with `u_i = A_i n(t)`, `n(t) = b_i cos f(t) - a_i sin f(t)`."""

import math

from ...compilation.compiled import compiled
from ...model.motions import Constant
from ...model.primitives import Turn
from ...typing import Excitation
from ..frames import omega, rotate, spin, spin2, unrotate
from ..vec3 import add, cross, dot, scale, sub
from .common import first, put_i, put_j, second, value
from .kind import ConstraintKind, Mask, couplings_of_rotations

_ZERO = (0.0, 0.0, 0.0)


@compiled
def _normal(e, f):
    """`n` and its derivative with respect to the angle."""
    c, s = math.cos(f), math.sin(f)
    return sub(scale(c, e["b_i"]), scale(s, e["a_i"])), sub(scale(-s, e["b_i"]), scale(c, e["a_i"]))


@compiled
def phi(e, t, X, motions, out):
    n, _ = _normal(e, value(motions, e["motion"], t))
    out[e["row"]] = dot(rotate(X, e["i"], n), rotate(X, e["j"], e["a_j"]))


@compiled
def phi_q(e, t, X, motions, G):
    n, _ = _normal(e, value(motions, e["motion"], t))
    u, w = rotate(X, e["i"], n), rotate(X, e["j"], e["a_j"])
    put_i(G, e, 0, _ZERO, cross(n, unrotate(X, e["i"], w)))
    put_j(G, e, 0, _ZERO, cross(e["a_j"], unrotate(X, e["j"], u)))


@compiled
def nu(e, t, X, motions, out):
    _, dn = _normal(e, value(motions, e["motion"], t))
    out[e["row"]] = -first(motions, e["motion"], t) * dot(rotate(X, e["i"], dn), rotate(X, e["j"], e["a_j"]))


@compiled
def gamma(e, t, X, motions, out):
    i, j, a_j = e["i"], e["j"], e["a_j"]
    n, dn = _normal(e, value(motions, e["motion"], t))
    fd, fdd = first(motions, e["motion"], t), second(motions, e["motion"], t)
    n1 = scale(fd, dn)  # n' and n'', in body i
    n2 = sub(scale(fdd, dn), scale(fd * fd, n))
    rate = add(spin(X, i, n), rotate(X, i, n1))
    bend = add(spin2(X, i, n), rotate(X, i, add(scale(2.0, cross(omega(X, i), n1)), n2)))
    out[e["row"]] = -(dot(bend, rotate(X, j, a_j)) + 2.0 * dot(rate, spin(X, j, a_j))
                      + dot(rotate(X, i, n), spin2(X, j, a_j)))


def _nonzero(p: Turn, end: str, k: int) -> Mask:
    """Only rotations enter."""
    return (False,) * 3, (True,) * 3


def _excitation(p: Turn) -> list[Excitation]:
    """The driven angle enters by `cos f`, `sin f` and its derivatives."""
    def u(t: float) -> tuple[float, ...]:
        x, rate, curvature = p.f(t)
        return math.cos(x), math.sin(x), rate, curvature

    return [] if isinstance(p.f, Constant) else [u]


KIND = ConstraintKind(Turn, phi, phi_q, gamma, nu, nonzero=_nonzero, couplings=couplings_of_rotations, excitation=_excitation)
