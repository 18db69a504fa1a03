"""A bushing: linear springs and dampers between two bodies in six directions. A force element with kernels of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..extend import ORIGIN, Force, ForceKind, checks, default_record, register
from ..model.base import check_points
from ..model.bodies import RigidBody
from . import bushing_kernels as kernels


@dataclass(frozen=True)
class Bushing(Force):
    """`F = load - K d - C d'` on body j at `s_j`, and its reaction on body i at the same place; in axes of body i.

    `d = A_i^T (r_j + A_j s_j - r_i) - s_i`. The torque on body j is the gradient of `V = sum_m g_m (1 - R_mm)` and a linear damper,

        T = -sum_m g_m e_m x R e_m - C_r w,      g_1 = (k_2 + k_3 - k_1)/2 and cyclically,

    with `R = A_i^T A_j` and the relative angular velocity `w`. For small angles it is `-K_r theta - C_r w`. Forces and torques have the
    potential `d . K d / 2 - load . d + V`. Both bodies have parallel axes when the bushing is not twisted.

    Parameters
    ----------
    k, c : sequence of 3 floats
        Stiffness [N/m] and damping [N s/m] along the axes of body i.
    k_r, c_r : sequence of 3 floats
        Stiffness [N m/rad] and damping [N m s/rad] about them.
    load : sequence of 3 floats
        Force at `d = 0` [N].
    s_i, s_j : sequence of 3 floats
        The place of the bushing on both bodies.
    """

    i: str
    j: str
    s_i: tuple[float, ...] = ORIGIN
    s_j: tuple[float, ...] = ORIGIN
    k: tuple[float, ...] = ORIGIN
    c: tuple[float, ...] = ORIGIN
    k_r: tuple[float, ...] = ORIGIN
    c_r: tuple[float, ...] = ORIGIN
    load: tuple[float, ...] = ORIGIN
    time_dependent = False
    joins_points = True

    def check(self, owner: str) -> None:
        """See `Element`."""
        self.set_points(owner)
        for field in ("k", "c", "k_r", "c_r", "load"):
            self.set(field, checks.vector(getattr(self, field), 3, owner, field))
        for field in ("k", "c", "k_r", "c_r"):
            for value in getattr(self, field):
                checks.nonnegative(value, owner, field)

    def check_bodies(self, mechanism: Any) -> None:
        """Both ends have an orientation."""
        bodies = mechanism.bodies_by_name()
        for name in (self.i, self.j):
            if bodies[name] is not None and not isinstance(bodies[name], RigidBody):
                raise ValueError(f"{self.owner}: {name!r} must be a rigid body or the ground")
        check_points(self, bodies, (("s_i", "i"), ("s_j", "j")))


def gains(k_r: Sequence[float]) -> tuple[float, float, float]:
    """`g` of the potential of the torque."""
    a, b, c = k_r
    return 0.5 * (b + c - a), 0.5 * (c + a - b), 0.5 * (a + b - c)


def _fill(e: Any, f: Bushing, numbers: Any) -> None:
    default_record(e, f, numbers)
    e["g"] = gains(f.k_r)


_VECTORS = ("s_i", "s_j", "k", "c", "g", "c_r", "load")
register(ForceKind(Bushing, kernels.force, kernels.energy, tuple((name, float, 3) for name in _VECTORS), _fill))
