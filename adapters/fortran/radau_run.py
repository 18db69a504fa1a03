"""Runs of RADAU in the library of pyradau13, with the arrays that the package would set up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.typing import Vector

from ..direct.bound import EXACT
from ..terminal import alone
from .after_steps import after_step_address
from .after_steps_run import AfterSteps, WithPolynomial
from .arguments import call
from .library import routine
from .output import Output
from .radau import Solver, jacobian_address, mass_address, rhs_address
from .radau_arrays import Arrays, report

DIRECT_RADAU = "pyradau13", "pyradau13", "radau_", "contra_"  # distribution, module, symbols


class DirectRadau(WithPolynomial, AfterSteps):
    """A run of RADAU with compiled callbacks.

    Parameters
    ----------
    run : Run
    options : dict
        Those of `radau13` in the package. `jacobian_fn` is called for strategies.
    y0 : ndarray
    span : float
        Its clock runs from `span` to `2 span`.
    jacobian : str or Strategy
    output : Output
    failure : callable
        `failure(error) -> SolverFailure` of the exception of the package about a failed run.
    """

    name = "RADAU"
    record_type = Solver

    def __init__(self, run: Run, options: dict[str, Any], y0: Vector, span: float, jacobian: str | Strategy, output: Output,
                 failure: Callable[[Exception], SolverFailure]) -> None:
        self.arrays, self._failure, self.dense = Arrays(options, y0, span), failure, routine(*DIRECT_RADAU[:2], "contra_")
        super().__init__(run, y0, (span, 2.0 * span), output, np.full(len(y0), np.nan))
        self.exact, p, equations = as_strategy(jacobian) == EXACT, run.problem, self.bound.equations
        self.rhs, self.mass = rhs_address(p.kernel, equations), mass_address(equations, self.march)
        self.jacobian = 0
        if self.exact:
            self.jacobian = jacobian_address(p.derivative, equations, self.bound.derivatives())
        elif "jacobian_fn" in options:
            self.jacobian = self.bound.rhs_jacobian_in_python(options["jacobian_fn"], 3)
        self.accepted = after_step_address(equations, self.march)

    def _record(self, **fields: Any) -> Any:
        return super()._record(mass=self.arrays.mass, **fields)

    def integrate(self) -> None:
        """Run to the end."""
        with alone(self.name):
            super().integrate()
            self.check(self._failure)

    @property
    def failed(self) -> bool:
        """See `AfterSteps`."""
        return self.arrays.failed

    def error(self) -> Exception:
        """See `AfterSteps`."""
        return RuntimeError(report(self.arrays))

    def _call(self) -> None:
        a, equations, march = self.arrays, self.bound.equations, self.march
        call(routine(*DIRECT_RADAU[:2], "radau_"), (*a.before_jacobian(self.rhs), self.jacobian, *a.before_mass(self.jacobian != 0),
                                                    self.mass, *a.before_output(), self.accepted, *a.work(), equations._address,
                                                    march._address, *a.end()))

    def counts(self) -> dict[str, int | None]:
        """Fields of `Statistics`."""
        evaluations, jacobians, factorisations, solves = self.arrays.counts()
        calls = self.bound.guard.calls
        own: dict[str, int | None]
        if not self.jacobian:
            own = {"residuals": evaluations, "residuals_jacobian": calls - evaluations, "jacobians": jacobians}
        else:
            own = {"residuals": calls, "residuals_jacobian": 0,
                   "jacobians": self.bound.guard.jacobians if self.exact else self.run.callbacks.jacobians}
        return own | {"factorisations": factorisations, "solves": solves}
