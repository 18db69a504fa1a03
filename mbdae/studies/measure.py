"""One run measured: errors against a reference, constraint violation, drift of energy, work, and processor time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..results.solution import Solution
from ..results.status import Status
from ..system.assembly import AssemblyError
from ..typing import Matrix, TimeProgress, Vector
from .errors import at_times, constraint_residuals, energy_drift, errors
from .kinematics import ReferenceSolution

ENOUGH_SECONDS = 0.05  # of processor time, below which a run is repeated more often than asked
MOST_REPEATS = 25
REPEAT_SECONDS = 2.0  # of all repeats of one setting
# where no number of repeats is given
AGREEMENT = 0.03  # relative difference of the two least times at which the repeats end
USUAL_REPEATS = 5  # at which they end otherwise
USUAL_SECONDS = 0.01  # of processor time of all repeats, at least
MANY_SECONDS = 0.5  # after which two repeats suffice, however they agree


class TimeLimitExceeded(Exception):
    """The time limit of a run was exceeded."""


def time_limit(limit: float | None, then: TimeProgress | None = None) -> TimeProgress:
    """A function for `solve(progress=...)` that ends a run after `limit` seconds with `TimeLimitExceeded`; it calls `then`."""
    begin = time.perf_counter()

    def watch(t: float) -> None:
        if limit is not None and time.perf_counter() - begin > limit:
            raise TimeLimitExceeded(f"time limit of {limit:g} s exceeded at t = {t:.9g}")
        if then is not None:
            then(t)

    return watch


class Runner(Protocol):
    """One run of a method with its settings."""

    def __call__(self, t_eval: Vector | None, progress: TimeProgress) -> Solution:
        """The run, with output at its own steps, or at given times."""
        ...


@dataclass(frozen=True)
class Measured:
    """What is measured of a run; `None` where it is not known. Errors as in `Errors`, counters as in `Statistics`.

    Attributes
    ----------
    error_q, error_v, error_lam, error_q_max, error_v_max, error_lam_max : float
    tolerances_q, tolerances_v : float
        Largest error in multiples of the tolerance `rtol max |x| + atol`, where `x` is the reference.
    residual_position, residual_velocity, residual_acceleration : float
        As in `constraint_residuals`.
    energy_drift : float
    steps, rejected, evaluations, evaluations_jacobian, jacobians, factorisations, newton_iterations : int
    cpu : float
        Processor time of the integration, as measured by the method: the least of the repeats [s]. The postprocessing of the output, that
        is the projection of states of the underlying ODE and multipliers computed from `q` and `v`, is left out.
    cpu_spread : float
        Median of the repeats over the least, less one.
    cpu_solve : float
        Processor time of the whole call of `mbdae.solve`, the least of the repeats [s].
    wall : float
        Wall time of the integration, the least of the repeats [s].
    repeats : int
    status, message : str
    """

    error_q: float | None = None
    error_v: float | None = None
    error_lam: float | None = None
    error_q_max: float | None = None
    error_v_max: float | None = None
    error_lam_max: float | None = None
    tolerances_q: float | None = None
    tolerances_v: float | None = None
    residual_position: float | None = None
    residual_velocity: float | None = None
    residual_acceleration: float | None = None
    energy_drift: float | None = None
    steps: int | None = None
    rejected: int | None = None
    evaluations: int | None = None
    evaluations_jacobian: int | None = None
    jacobians: int | None = None
    factorisations: int | None = None
    newton_iterations: int | None = None
    cpu: float | None = None
    cpu_spread: float | None = None
    cpu_solve: float | None = None
    wall: float | None = None
    repeats: int | None = None
    status: str = Status.SUCCESS.name
    message: str = ""

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == Status.SUCCESS.name


def measure(run: Runner, exact: ReferenceSolution, tolerance: tuple[float, float] | None, repeats: int | None,
            watch: Callable[[int, int], TimeProgress]) -> dict[str, Any]:
    """The fields of `Measured` of a run: repeated with output at its steps, then once with output at the times of the reference.

    The last run is left out where these times are among the steps.

    Parameters
    ----------
    run : Runner
    exact : ReferenceSolution
    tolerance : (float, float) or None
        `rtol`, `atol`; `None` for a fixed step.
    repeats : int, optional
        At least; short runs are repeated more often, long ones less. By default until the two least times agree to 3 %, at most
        five times, or twice if they take more than half a second.
    watch : callable
        `watch(k, n)` is the progress of the k-th of n runs.

    Returns
    -------
    dict
        A run that fails or exceeds its time limit has a status and a message, and no errors. Exceptions of user functions propagate.
    """
    try:
        solution, spent = _timed(run, repeats, watch)
        found = _counted(solution) | spent
        if not solution.success:
            return found
        found |= dict(zip(("residual_position", "residual_velocity", "residual_acceleration"), constraint_residuals(solution)))
        found["energy_drift"] = energy_drift(solution)
        runs = _expected(repeats)
        there = at_times(solution, exact.t)
        return found | _errors(run(exact.t, watch(runs, runs + 1)) if there is None else there, exact, tolerance)
    except TimeLimitExceeded as e:
        return {"status": "TIME_LIMIT", "message": str(e)}
    except (AssemblyError, FloatingPointError) as e:  # the run has diverged
        return {"status": Status.NOT_FINITE.name, "message": str(e)}


class _Spent(NamedTuple):
    """Seconds of one repeat."""

    cpu: float | None
    solve: float
    wall: float | None


def _expected(repeats: int | None) -> int:
    """The number of runs for reports of progress."""
    return 2 if repeats is None else repeats


def _timed(run: Runner, repeats: int | None, watch: Callable[[int, int], TimeProgress]) -> tuple[Solution, dict[str, Any]]:
    """The solution of the last of several runs, and the least of their times."""
    spent: list[_Spent] = []
    runs = _expected(repeats)
    while True:
        begin = time.process_time()
        solution = run(None, watch(min(len(spent), runs - 1), runs + 1))
        s = solution.statistics
        spent.append(_Spent(s.cpu_seconds, time.process_time() - begin, s.seconds))
        if not solution.success or _suffice(spent, repeats):
            return solution, _least(spent)


def _suffice(spent: list[_Spent], repeats: int | None) -> bool:
    """Whether no further repeat is needed."""
    n, total = len(spent), sum(x.solve for x in spent)
    if n >= MOST_REPEATS or total > REPEAT_SECONDS:
        return True
    if repeats is not None:
        return n >= repeats and total >= ENOUGH_SECONDS
    if n < 2 or total < USUAL_SECONDS:
        return False
    first, second, *_ = sorted(x.solve if x.cpu is None else x.cpu for x in spent)
    return n >= USUAL_REPEATS or total > MANY_SECONDS or second - first <= AGREEMENT * first


def _least(spent: list[_Spent]) -> dict[str, Any]:
    cpu, wall = [x.cpu for x in spent if x.cpu is not None], [x.wall for x in spent if x.wall is not None]
    least = min(cpu, default=None)
    return {"cpu": least, "cpu_spread": median(cpu) / least - 1.0 if least and len(cpu) > 1 else None,
            "cpu_solve": min(x.solve for x in spent), "wall": min(wall, default=None), "repeats": len(spent)}


def _counted(solution: Solution) -> dict[str, Any]:
    s = solution.statistics
    rejected = [x for x in (s.rejected_error, s.rejected_newton) if x is not None]
    return {"steps": s.steps, "rejected": sum(rejected) if rejected else None, "evaluations": s.residuals,
            "evaluations_jacobian": s.residuals_jacobian, "jacobians": s.jacobians, "factorisations": s.factorisations,
            "newton_iterations": s.newton_iterations, "status": solution.status.name,
            "message": "" if solution.success else solution.message}


def _errors(solution: Solution, exact: ReferenceSolution, tolerance: tuple[float, float] | None) -> dict[str, Any]:
    if not solution.success:
        return {"status": solution.status.name, "message": f"with output at given times: {solution.message}"}
    e = errors(solution, exact)
    found: dict[str, Any] = {"error_q": e.q, "error_v": e.v, "error_lam": e.lam, "error_q_max": e.q_max, "error_v_max": e.v_max,
                             "error_lam_max": e.lam_max}
    if tolerance is not None:
        found |= {"tolerances_q": _relative(e.q_max, exact.q, tolerance), "tolerances_v": _relative(e.v_max, exact.v, tolerance)}
    return found


def _relative(error: float | None, x: Matrix, tolerance: tuple[float, float]) -> float | None:
    rtol, atol = tolerance
    return None if error is None else error / (rtol * float(np.abs(x).max(initial=0.0)) + atol)
