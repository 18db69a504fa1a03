"""Runs of RADAU in the library of pyradau13, with the arrays that the package would set up."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.interrupts import signals
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.results.status import Status
from mbdae.typing import Vector

from ..direct.bound import EXACT
from ..direct.chunks import Chunks, march_of
from ..direct.guard import JACOBIAN, NO_FAULT
from ..direct.march import ARRIVED
from ..terminal import alone
from .bound import Bound
from .library import routine
from .output import Output
from .radau import STOP, Solver, accepted_address, interpolated, jacobian_address, mass_address, rhs_address
from .radau_arrays import Arrays, report

DIRECT_RADAU = "pyradau13", "pyradau13", "radau_", "contra_"  # distribution, module, symbols

_P, _D = ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)
_JACOBIAN = ctypes.CFUNCTYPE(None, _P, _D, _D, _D, _P, _P, _P)
_ACCEPTED = ctypes.CFUNCTYPE(None, _P, _D, _D, _D, _P, _P, _P, _P, _P, ctypes.POINTER(ctypes.c_int32))
_VISIT = ctypes.CFUNCTYPE(ctypes.c_int64)
# it keeps the lock of the interpreter, as compiled code does: other threads get their turns when Python is visited
_RADAU = ctypes.PYFUNCTYPE(None, *(_P,) * 27, ctypes.c_size_t)


class DirectRadau:
    """A run of RADAU with compiled callbacks.

    Parameters
    ----------
    run : Run
    options : dict
        Those of `radau13` in the package. `jacobian_fn` is called for strategies, `dense_callback` where there is more to do after a step
        than output.
    y0 : ndarray
    span : float
        Its clock runs from `span` to `2 span`.
    jacobian : str or Strategy
    output : Output
    failure : callable
        `failure(report) -> SolverFailure` of what the package would say about a failed run.
    """

    def __init__(self, run: Run, options: dict[str, Any], y0: Vector, span: float, jacobian: str | Strategy, output: Output,
                 failure: Any) -> None:
        self.run, self.options, self.output, self.failure, self.n = run, options, output, failure, run.problem.n
        self.bound = Bound(run.callbacks)
        self.arrays = Arrays(options, y0, span)
        visit = run.callbacks.guarded(self._visit, 1)
        self.solver = Solver(mass=self.arrays.mass, dense=routine(*DIRECT_RADAU[:2], "contra_"), visit=self.bound.address(_VISIT(visit)),
                             flag=signals.flag, begin=span, end=2.0 * span, cont=0, length=0, before=span, s=span, y=y0.copy(),
                             at=np.zeros(1), component=np.zeros(1, dtype=np.int32), code=ARRIVED)
        self.march = march_of(run, self.bound.equations, self.solver, run.wanted is not None, output.every)
        self.march.before_y[:] = y0
        self.chunks = Chunks(None, self.march, self.bound, run, lambda: self.solver.y, self._no_output)
        self.exact = as_strategy(jacobian) == EXACT
        self.rhs, self.mass = rhs_address(run.problem.kernel, self.bound.equations), mass_address(self.bound.equations, self.march)
        self.jacobian = self._jacobian() if "jacobian_fn" in options else 0
        self.accepted = self._accepted() if output.single else accepted_address(self.bound.equations, self.march)

    def integrate(self) -> None:
        """Run to the end."""
        with alone("RADAU"):
            try:
                self.chunks.begin()
                self._call()
                if not self.output.single:
                    self.chunks.take_output()
                self._check()
                if not self.output.single:
                    self.chunks.end(ARRIVED)
            finally:
                self.bound.pass_on()

    def _check(self) -> None:
        """Raise what has ended the run."""
        self.bound.check()
        if self.bound.guard.fatal != NO_FAULT or self.arrays.failed:
            raise self.bound.explained(self.failure(report(self.arrays)), self.run.t)

    def _call(self) -> None:
        a, equations, march = self.arrays, self.bound.equations, self.march
        _RADAU(routine(*DIRECT_RADAU[:2], "radau_"))(*a.before_jacobian(self.rhs), self.jacobian, *a.before_mass(self.jacobian != 0),
                                                     self.mass, *a.before_output(), self.accepted, *a.work(), equations._address,
                                                     march._address, *a.end())

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

    # callbacks -----------------------------------------------------------------------------------------------------------

    def _visit(self) -> int:
        """Called by compiled code when it is time for Python; an exception is kept, and ends the run."""
        self.chunks.end(self.solver.code)
        self.chunks.begin()
        return 0

    def _no_output(self, code: int) -> SolverFailure:
        return SolverFailure(Status.SOLVER_FAILED, "RADAU: there is no output within a step")

    def _jacobian(self) -> int:
        """Address of the callback for the Jacobian."""
        p = self.run.problem
        if self.exact:
            return jacobian_address(p.derivative, self.bound.equations, self.bound.derivatives())
        evaluate, n = self.options["jacobian_fn"], self.n

        def jacobian(number: int, s: Any, y: Any, matrix: Any, rows: int, rpar: int, ipar: int) -> None:
            self.bound.pass_on()
            np.ctypeslib.as_array(matrix, (n, n)).T[:] = evaluate(s[0], np.ctypeslib.as_array(y, (n,)).copy())
            if self.run.callbacks.error is not None:
                self.bound.guard.fatal = JACOBIAN

        return self.bound.address(_JACOBIAN(jacobian))

    def _accepted(self) -> int:
        """Address of a callback in Python after each step."""
        accept, n, d = self.options["dense_callback"], self.n, self.solver

        def at(s: float) -> Vector:
            y = np.empty(n)
            interpolated(self.run.callbacks.time(s), y, self.march)
            return y

        def accepted(number: int, before: Any, s: Any, y: Any, cont: int, length: int, size: int, rpar: int, ipar: int, flag: Any) -> None:
            d.before, d.s, d.cont, d.length = before[0], s[0], cont, length
            self.bound.pass_on()
            if self.bound.guard.fatal != NO_FAULT or accept(before[0], s[0], np.ctypeslib.as_array(y, (n,)).copy(), at):
                flag[0] = STOP

        return self.bound.address(_ACCEPTED(accepted))
