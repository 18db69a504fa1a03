"""SciPy's `solve_ivp` methods on the underlying ODE."""

import time
import warnings
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from mbdae.method import Availability
from mbdae.status import Statistics, Status

from .boundary import Guard, Output, SolverFailure, drive

_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
_IMPLICIT = ("Radau", "BDF", "LSODA")


def availability():
    """State of the package."""
    return Availability("scipy", metadata.version("scipy"), "pip install scipy")


def solve_ivp_arguments(problem, rtol=1e-6, atol=1e-8, method="DOP853", jacobian="exact", guard=None):
    """Arguments for `scipy.integrate.solve_ivp` and its solver classes: `fun`, tolerances, and `jac` where the method takes one."""
    guard = Guard() if guard is None else guard

    def rhs(t, y):
        out = problem.rhs(t, np.ascontiguousarray(y, dtype=float))
        guard.check(t, out)
        return out

    def jac(t, y):
        J = problem.rhs_jacobian(t, y)
        guard.check_jacobian(t, J)
        return J

    options = {"fun": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol)}
    if jacobian == "exact" and method in _IMPLICIT:
        options["jac"] = jac
    return options


class _Stepper:
    def __init__(self, solver):
        self.solver, self._dense = solver, None

    def step(self):
        message = self.solver.step()
        if self.solver.status == "failed":
            raise SolverFailure(Status.STEP_TOO_SMALL, f"SciPy: {message}")
        self._dense = None
        return self.solver.t, self.solver.y.copy(), None

    def at(self, t):
        if self._dense is None:
            self._dense = self.solver.dense_output()
        return self._dense(t), None


@dataclass(frozen=True)
class SolveIvp:
    """A method of `scipy.integrate.solve_ivp` on the underlying ODE; the output is projected onto the constraints.

    Parameters
    ----------
    method : {"RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"}
    jacobian : {"exact", "difference"}
        For the implicit methods.
    max_step : float
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    """

    method: str = "DOP853"
    jacobian: str = "exact"
    max_step: float = np.inf
    max_steps: int = 1_000_000

    formulations = ("ode",)
    package = "scipy"
    availability = staticmethod(availability)

    def __post_init__(self):
        if self.method not in _METHODS:
            raise ValueError(f"SolveIvp: method must be one of {', '.join(_METHODS)}, got {self.method!r}")
        if self.jacobian not in ("exact", "difference"):
            raise ValueError(f"SolveIvp: jacobian must be 'exact' or 'difference', got {self.jacobian!r}")
        if self.max_steps < 1:
            raise ValueError(f"SolveIvp: max_steps must be at least 1, got {self.max_steps}")
        if not self.max_step > 0:
            raise ValueError(f"SolveIvp: max_step must be positive, got {self.max_step!r}")

    @property
    def label(self):
        """Name for tables and legends."""
        return f"SciPy {self.method}"

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None):
        """See `mbdae.method`."""
        import scipy.integrate

        guard = Guard()
        options = solve_ivp_arguments(problem, rtol, atol, self.method, self.jacobian, guard)
        y0, yd0 = problem.pack(state)
        problem.compile(state.t, y0, yd0)
        begin = time.perf_counter()
        solver = getattr(scipy.integrate, self.method)(options.pop("fun"), state.t, y0, t_end, max_step=self.max_step, **options)
        output = Output(t_eval, every)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="lsoda:")  # it fails, too, and the message of the solution says so
            steps, status, message = drive(_Stepper(solver), guard, state.t, (y0, None), t_end, output, progress, self.max_steps)
        statistics = Statistics(steps=steps, residuals=int(solver.nfev), residuals_jacobian=guard.calls - int(solver.nfev),
                                jacobians=int(solver.njev), factorisations=int(solver.nlu), seconds=time.perf_counter() - begin)
        return output.trajectory(problem, statistics, status, message)
