"""BDF for a residual of a user's own, with its own result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from ..jacobians.differences import FoldedDifference
from ..results.statistics import Statistics
from ..results.status import Status
from ..results.steps import Step, hermite_step
from ..system.assembly import State as Start
from ..system.callbacks import Callbacks
from ..system.system import System
from ..typing import ArrayLike, Matrix, Vector
from .bdf_formulas import EXCLUDED
from .bdf_residual import called_from_python
from .bdf_stepper import BdfStepper, Equations, norms_for
from .control.driver import Driver
from .control.records import State

FLOOR = 1e-2  # lower bound of unknowns in the increments of difference quotients

Function = Callable[[float, Vector, Vector], ArrayLike]  # F(t, y, yd)
FullMatrix = Callable[[float, Vector, Vector, float], ArrayLike]  # jac(t, y, yd, c)
Residual = Callable[[float, Vector, Vector, Vector], Any]  # residual(t, y, yd, out)


class FullJacobian:
    """All entries, from a function of the user or from forward differences [Arnold, eq. (16)].

    Parameters
    ----------
    residual : callable
        `residual(t, y, yd, out)`
    n : int
    jac : callable or None
        `jac(t, y, yd, c) -> (n, n)`
    """

    def __init__(self, residual: Residual, n: int, jac: FullMatrix | None) -> None:
        self._jac = jac
        self._difference = FoldedDifference(residual, np.ones((n, n)), floor=FLOOR, check=False)

    @property
    def calls(self) -> int:
        """See `StepJacobian`."""
        return int(self._difference.calls)

    def evaluate(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector) -> Vector:
        """See `StepJacobian`."""
        if self._jac is not None:
            return np.array(self._jac(t, y.copy(), yd.copy(), c), dtype=float).ravel(order="F")
        return self._difference.values(t, y, yd, c, residual)

    def update(self, t: float, y: Vector, yd: Vector, c: float) -> None:
        """There is no cheap update."""
        return None

    def suspect(self) -> bool:
        """No entry can be missing."""
        return False


@dataclass(frozen=True)
class ResidualSolution:
    """The result of `Bdf.solve_residual`.

    Attributes
    ----------
    t : ndarray, shape (m,)
    y, yd : ndarray, shape (m, n)
        One row per time.
    success : bool
    status : Status
    message : str
    statistics : Statistics
    """

    t: Vector
    y: Matrix
    yd: Matrix
    status: Status
    message: str
    statistics: Statistics

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == Status.SUCCESS


class _NoSystem:
    """What the driver asks of a system, of equations that have none: no constraints, whose rank could be lost."""

    nq = nv = nc = 0
    mechanism, has_friction, dependent = None, False, ()
    model = np.zeros(1, dtype=np.uint8)

    def __init__(self) -> None:
        self.callbacks = Callbacks()

    def workspace(self) -> Vector:
        """No kernel is called."""
        return np.zeros(1)


class FunctionEquations(Equations):
    """Those of a user's `F(t, y, yd) = 0`; `y` and `yd` are put out in the place of positions and velocities."""

    def __init__(self, F: Function, t0: float, y0: Vector, yd0: Vector) -> None:
        self._F, none = F, np.zeros(0)
        self.system = cast(System, _NoSystem())
        self.state, self.y0, self.yd0 = Start(t0, y0, yd0, none, none), y0, yd0
        self.called, self.model, self.work = called_from_python(self._evaluate), self.system.model, self.system.workspace()

    def _evaluate(self, t: float, y: Vector, yd: Vector, out: Vector) -> bool:
        """The residual; not a number if it raises, until the exception is raised again."""
        out[:] = np.nan
        self.system.callbacks.called(self.residual, t, y, yd, out)
        return bool(np.isfinite(out).all())

    def residual(self, t: float, y: Vector, yd: Vector, out: Vector) -> None:
        """`out = F(t, y, yd)`."""
        out[:] = self._F(t, y.copy(), yd.copy())

    def views(self, y: Vector, yd: Vector) -> State:
        """See `Equations`."""
        return State(q=y, v=yd, a=np.zeros(0), lam=np.zeros(0))

    def step(self, t0: float, t: float, s: BdfStepper) -> Step:
        """There are no events that ask for steps."""
        return hermite_step(self.system, s.row(), s.row())


def integrate_function(stepper: BdfStepper, t_eval: Vector | None) -> ResidualSolution:
    """The solution at given times, or at the steps."""
    found = Driver(stepper, t_eval=t_eval, every=1, progress=None, until=None).to_end()
    return ResidualSolution(found.t, found.q, found.v, found.status, found.message, found.statistics)


# arguments -----------------------------------------------------------------------------------------------------------------------


def full_pattern(n: int) -> csc_array:
    """That of a full matrix."""
    return csc_array(np.ones((n, n)))


def initial_values(y0: ArrayLike, yd0: ArrayLike) -> tuple[Vector, Vector]:
    """The initial values of `solve_residual` as vectors."""
    y, yd = np.array(y0, dtype=float), np.array(yd0, dtype=float)
    if y.ndim != 1 or y.shape != yd.shape:
        raise ValueError(f"solve_residual: y0 and yd0 must be vectors of one length, got shapes {y.shape} and {yd.shape}")
    return y, yd


def norms_per_unknown(n: int, rtol: float, atol: ArrayLike, excluded: ArrayLike | None) -> Any:
    """The norms with an absolute tolerance for each unknown, and those that are excluded from the error test."""
    absolute, mask = _per_unknown(n, atol, excluded)
    return norms_for(rtol, absolute, np.where([mask, np.zeros(n, dtype=bool)], EXCLUDED, 0))


def _per_unknown(n: int, atol: ArrayLike, excluded: ArrayLike | None) -> tuple[Vector, npt.NDArray[np.bool_]]:
    absolute, mask = np.array(atol, dtype=float), np.zeros(n, dtype=bool) if excluded is None else np.array(excluded)
    for name, shape, possible in (("atol", absolute.shape, ((), (n,))), ("excluded", mask.shape, ((n,),))):
        if shape not in possible:
            raise ValueError(f"solve_residual: {name} must have one entry for each of the {n} unknowns, got shape {shape}")
    if not (np.isfinite(absolute).all() and (absolute >= 0.0).all()):
        raise ValueError(f"solve_residual: atol must be finite and not negative, got {absolute!r}")
    return np.full(n, absolute), mask.astype(bool)


def output_times(t_eval: ArrayLike | None, t0: float, t_end: float) -> Vector | None:
    """Validated times of the output of `solve_residual`."""
    if t_eval is None:
        return None
    times = np.array(t_eval, dtype=float)
    ahead = np.sign(t_end - t0) * np.diff(np.concatenate([[t0], times, [t_end]]))
    if times.ndim != 1 or not (ahead >= 0.0).all():
        raise ValueError("solve_residual: t_eval must lie within t_span, in the direction of integration")
    return times
