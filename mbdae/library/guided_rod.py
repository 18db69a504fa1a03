"""A rod whose end on one body is guided along an axis as prescribed: a steering rack without mass. A constraint with kernels of its own."""

from dataclasses import dataclass
from functools import lru_cache

from ..extend import ORIGIN, ConstraintKind, Primitive, checks, register
from ..model.motions import Constant, Motion
from ..typing import Excitation
from . import guided_rod_kernels as kernels


@dataclass(frozen=True)
class GuidedRod(Primitive):
    """`d . d - length^2 = 0`, `d = r_j + A_j s_j - r_i - A_i p`, `p = s_i + f(t) axis`: a rheonomic joint between `i` and the rod.

    Parameters
    ----------
    axis : array_like, shape (3,)
        Direction in body i.
    length : float
    f : motion
        Displacement along the axis [m].
    s_i, s_j : array_like, shape (3,)
    """

    axis: tuple[float, ...]
    length: float
    f: Motion
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    directions = (("axis", "i"),)
    points = (("s_i", "i"), ("s_j", "j"))
    carries_force = True
    multiplier_unit = "N/m"

    def check(self, owner: str) -> None:
        """See `Primitive`."""
        super().check(owner)
        self.set("axis", checks.unit(self.axis, owner, "axis"))
        self.set("length", checks.positive(self.length, owner, "length"))

    def rod_ends(self, t: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """From the guided point `p`."""
        shift = self.f(t)[0]
        return tuple(s + shift * a for s, a in zip(self.s_i, self.axis)), self.s_j


@lru_cache(64)
def _input(f: Motion) -> Excitation:
    """The displacement and its rate; rods that are guided by one rack share it."""
    return lambda t: tuple(f(t))[:2]


def _excitation(rod: GuidedRod) -> list[Excitation]:
    return [] if isinstance(rod.f, Constant) else [_input(rod.f)]


register(ConstraintKind(GuidedRod, kernels.phi, kernels.phi_q, kernels.gamma, kernels.nu, fields=(("axis", float, 3), ("length", float)),
                        excitation=_excitation))
