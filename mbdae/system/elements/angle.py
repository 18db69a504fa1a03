"""Relative angle of planar bodies: `angle_j - angle_i - f(t) = 0`. The row of Phi_q is constant."""


from ...compilation.compiled import compiled
from ...model.primitives import PlanarAngle
from ...typing import Records
from ..layout import FIXED
from .common import first, second, value
from .kind import ConstraintKind, Group, Mask


@compiled
def phi(e, t, q, motions, out):
    difference = -value(motions, e["motion"], t) + 0.0 * q[0]
    if e["kind_i"] != FIXED:
        difference -= q[e["i"]]
    if e["kind_j"] != FIXED:
        difference += q[e["j"]]
    out[e["row"]] = difference


@compiled
def phi_q(e, G):
    if e["kind_i"] != FIXED:
        G[e["at_i"]], G[e["at_i"] + 1], G[e["at_i"] + 2] = 0.0, 0.0, -1.0
    if e["kind_j"] != FIXED:
        G[e["at_j"]], G[e["at_j"] + 1], G[e["at_j"] + 2] = 0.0, 0.0, 1.0


@compiled
def nu(e, t, motions, out):
    out[e["row"]] = first(motions, e["motion"], t)


@compiled
def gamma(e, t, motions, out):
    out[e["row"]] = second(motions, e["motion"], t)


def _nonzero(p: PlanarAngle, end: str, k: int) -> Mask:
    """Only rotations enter."""
    return (False,) * 3, (True,) * 3


def _couplings(p: PlanarAngle) -> list[tuple[Group, Group]]:
    """The gradient is constant."""
    return []


def _fill(e: Records, p: PlanarAngle, bodies: Records) -> None:
    """`i` and `j` are positions of the angles in `q`, not numbers of bodies; -1 for the ground."""
    for end in "ij":
        e[end] = bodies[e[end]]["q"] + 2 if e[f"kind_{end}"] != FIXED else -1


KIND = ConstraintKind(PlanarAngle, phi, phi_q, gamma, nu, fill=_fill, nonzero=_nonzero, couplings=_couplings)
