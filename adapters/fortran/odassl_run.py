"""Runs of ODASSL in the library of Assimulo, with the arrays that its class would set up."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.typing import Vector

from .arguments import integer
from .assimulo_steps import PACKAGE, DirectSteps
from .library import routine
from .odassl import MARCH, Solver, interpolated, residual_address, take_step

DIRECT_ODASSL = PACKAGE, "assimulo.lib.odassl", "odassl_"  # distribution, module, symbol


class DirectOdassl(DirectSteps):
    """ODASSL: see `DirectSteps`."""

    name = "Assimulo ODASSL"
    loop, take_step, interpolated = staticmethod(MARCH), staticmethod(take_step), staticmethod(interpolated)
    counted = {"nsteps": 10, "nfcns": 11, "njacs": 12, "nerrfails": 13, "nnfails": 14}

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

    def _unknowns(self) -> Vector:
        state: Vector = self.record.state
        return state

    def _rate(self) -> Vector | None:
        yd: Vector = self.record.yd
        return self.run.callbacks.rate(yd.copy())

    def error(self) -> Exception:
        """See `DirectRun`."""
        return Exception(f"ODASSL failed with flag IDID {self.code}")
