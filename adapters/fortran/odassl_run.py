"""Runs of ODASSL in the library of Assimulo, with the arrays that its class would set up."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.results.status import Status
from mbdae.typing import Vector

from ..direct.chunks import Chunks, march_of
from .arguments import integer
from .bound import Bound
from .direct_run import DirectRun, since_last_step
from .library import routine
from .odassl import MARCH, Solver, interpolated, residual_address, take_step
from .output import Output

DIRECT_ODASSL = "assimulo-testing", "assimulo.lib.odassl", "odassl_"  # distribution, module, symbol
COUNTED = {"nsteps": 10, "nfcns": 11, "njacs": 12, "nerrfails": 13, "nnfails": 14}  # where the counts of Assimulo's statistics are


class DirectOdassl(DirectRun):
    """ODASSL with compiled callbacks.

    Parameters
    ----------
    run : Run
    solver : solver of Assimulo
        With its options and its problem.
    y0 : ndarray
    output : Output
    """

    name = "Assimulo ODASSL"

    def __init__(self, run: Run, solver: Any, y0: Vector, output: Output) -> None:
        self.run, self.output, self.n, self.code = run, output, run.problem.n, 0
        self.bound = Bound(run.callbacks)
        self.record = self._made(solver, y0)
        self.march = march_of(run, self.bound.equations, self.record, run.wanted is not None, output.every)
        self.chunks = Chunks(MARCH, self.march, self.bound, run, lambda: self.record.state, self._ended)
        self.chunks.compile()

    def _made(self, solver: Any, y0: Vector) -> Solver:
        o, p, n, m = solver.options, self.run.problem, self.n, self.run.problem.m
        info, rwork, iwork = np.zeros(15, dtype=np.int32), np.zeros(40 + 8 * n + m * m + 3 * m), np.zeros(22 + m, dtype=np.int32)
        info[[1, 2]] = 1  # tolerances are vectors; a call takes one step
        info[[6, 7, 8]] = o["maxh"] > 0.0, o["inith"] > 0.0, o["maxord"] > 0
        rwork[[1, 2]], iwork[2] = (o["maxh"], o["inith"]), o["maxord"]
        rtol, atol = (np.full(n, 1.0) * np.asarray(o[name], dtype=float) for name in ("rtol", "atol"))
        return Solver(routine=routine(*DIRECT_ODASSL), residual=residual_address(p.kernel, self.bound.equations), m=integer(m),
                      n=integer(n), s=np.zeros(1), y=np.array(solver.y0, dtype=float), yd=np.array(solver.yd0, dtype=float),
                      to=np.array([abs(self.run.callbacks.clock(self.run.t_end))]), info=info, rtol=rtol, atol=atol, flag=integer(0),
                      rwork=rwork, lrw=integer(len(rwork)), iwork=iwork, liw=integer(len(iwork)),
                      offset=np.array(solver.y0 - solver.problem.y0, dtype=float), state=y0.copy(), before=0.0, before_state=y0.copy(),
                      before_yd=np.zeros(n), bad=0)

    def integrate(self) -> None:
        """See `DirectRun`."""
        try:
            if self.output.single:
                self.run.pull(self)
            else:
                self.chunks.to_end()
        except SolverFailure:
            if not self.failed:
                raise
        finally:
            self.bound.pass_on()

    def step(self) -> tuple[float, Vector, Vector | None]:
        """See `Stepper`."""
        code, t = take_step(self.march)
        self.bound.pass_on()
        self.bound.check()
        if code < 0:
            raise self._ended(code)
        return t, self.record.state.copy(), self.run.callbacks.rate(self.record.yd.copy())

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        """See `Stepper`."""
        y = np.empty(self.n)
        interpolated(t, y, self.march)
        return y, None

    def _ended(self, code: int) -> SolverFailure:
        """What is replaced by `check`."""
        self.code = code
        return SolverFailure(Status.SOLVER_FAILED, str(self.error()))

    @property
    def failed(self) -> bool:
        """See `DirectRun`."""
        return self.code < 0

    def error(self) -> Exception:
        """See `DirectRun`."""
        return Exception(f"ODASSL failed with flag IDID {self.code}")

    def _explained(self, failure: SolverFailure) -> SolverFailure:
        return since_last_step(super()._explained(failure), self.bound.guard.bad, self.record.bad)

    def counts(self) -> dict[str, int]:
        """Those of Assimulo's statistics."""
        return {name: int(self.record.iwork[at]) for name, at in COUNTED.items()}
