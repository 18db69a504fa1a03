"""The result of `mbdae.solve`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..system.system import System
    from ..typing import ArrayLike, FullState, Matrix, Vector
    from .jumps import Jump
    from .trajectory import Trajectory


class Solution:
    """A motion of a mechanism.

    One row per time: `q[k]` belongs to `t[k]`.

    Attributes
    ----------
    t : ndarray, shape (n,)
    q, v, a, lam : ndarray, shape (n, nq), (n, nv), (n, nv), (n, nc)
    success : bool
    status : Status
    message : str
        Why and when the run ended.
    statistics : Statistics
    nfev, njev, nlu : int or None
        As in SciPy: evaluations (those for Jacobians not counted), Jacobians, factorisations.
    system : System
    method, formulation : str
    sol : callable or None
        Dense output `sol(t) -> (q, v, a, lam)` if it was asked for.
    t_events : list of ndarray or None
        Times at which each event was found.
    jumps : list of Jump
        The changes of the state by events, in the order of time, each with the states before and after.
    """

    def __init__(self, system: System, trajectory: Trajectory, method: str, formulation: str) -> None:
        self.system = system
        self.t, self.q, self.v, self.a, self.lam = trajectory.t, trajectory.q, trajectory.v, trajectory.a, trajectory.lam
        self.status, self.message, self.statistics = Status(trajectory.status), trajectory.message, trajectory.statistics
        self.method, self.formulation = method, formulation
        self.sol: Callable[[ArrayLike], FullState] | None = None
        self.t_events: list[Vector] | None = None
        self.jumps: list[Jump] = []

    @property
    def success(self) -> bool:
        """Whether the run reached its end, or the terminal event."""
        return self.status == Status.SUCCESS

    @property
    def nfev(self) -> int | None:
        """Evaluations, those for Jacobians not counted."""
        return self.statistics.residuals

    @property
    def njev(self) -> int | None:
        """Jacobians."""
        return self.statistics.jacobians

    @property
    def nlu(self) -> int | None:
        """Factorisations."""
        return self.statistics.factorisations

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} ... {self.t[-1]:g}" if len(self.t) else "no output"
        return f"<Solution of {self.system.name!r} by {self.method}, {self.formulation}: {self.status.name}, {span}, {len(self.t)} points>"

    def body(self, name: str) -> tuple[Matrix, Matrix]:
        """Coordinates and velocities of one body, `(n, 3 or 7)` and `(n, 3 or 6)`.

        Rigid bodies: centre of mass and quaternion, velocity and body-fixed angular velocity; planar bodies: x, y, angle and their rates.
        """
        q, v = self.system.coordinates(name)
        return self.q[:, q], self.v[:, v]

    def multipliers(self, name: str) -> Matrix:
        """Multipliers of a joint, driver or single constraint equation, shape (n, rows)."""
        return self.lam[:, self.system.rows(name)]

    @cached_property
    def energy(self) -> Vector:
        """Kinetic and potential energy at each time, shape (n,)."""
        return np.array([self.system.energy(t, q, v) for t, q, v in zip(self.t, self.q, self.v)])

    @cached_property
    def constraint_residuals(self) -> Matrix:
        """Largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` at each time, shape (n, 3)."""
        return np.array([self._residuals(k) for k in range(len(self.t))]).reshape(-1, 3)

    def _residuals(self, k: int) -> list[float]:
        s, t, q, v, a = self.system, self.t[k], self.q[k], self.v[k], self.a[k]
        G = s.phi_q(t, q)
        levels = s.phi(t, q), G @ v - s.nu(t, q), G @ a - s.gamma(t, q, v)
        return [np.abs(x).max(initial=0.0) for x in levels]
