"""Runs of LSODAR in the library of Assimulo, with the arrays that its class would set up."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.typing import Vector

from .arguments import integer, integer_with_address
from .assimulo_steps import PACKAGE, DirectSteps
from .library import routine
from .lsodar import MARCH, Solver, rhs_address, take_step
from .odepack import interpolated

DIRECT_LSODAR = PACKAGE, "assimulo.lib.odepack", "dlsodar_", "dintdy_"  # distribution, module, symbols
VECTOR_ATOL, GIVEN, DIFFERENCES = 2, 1, 2  # values of `ITOL` and `JT`


class DirectLsodar(DirectSteps):
    """LSODAR: see `DirectSteps`."""

    name = "Assimulo LSODAR"
    loop, take_step, interpolated = staticmethod(MARCH), staticmethod(take_step), staticmethod(interpolated)
    counted = {"nsteps": 10, "nfcns": 11, "njacs": 12}

    def _made(self, solver: Any, y0: Vector) -> Solver:
        o, n, equations, end = solver.options, self.n, self.bound.equations, abs(self.run.callbacks.clock(self.run.t_end))
        rwork, iwork = np.zeros(22 + n * max(16, n + 9)), np.zeros(20 + n, dtype=np.int32)
        rwork[[0, 5]] = end, o["maxh"]
        iwork[[5, 7, 8]] = o["maxsteps"], o["maxordn"], o["maxords"]
        jacobian = self.bound.rhs_jacobian_in_python(self.run.callbacks.rhs_jacobian(), 5) if o["usejac"] else 0
        return Solver(routine=routine(*DIRECT_LSODAR[:3]), dense=routine(*DIRECT_LSODAR[:2], DIRECT_LSODAR[3]),
                      rhs=rhs_address(self.run.problem.kernel, equations), jacobian=jacobian,
                      n=integer_with_address(n, equations._address), s=np.zeros(1), y=y0.copy(), to=np.array([end]),
                      errors=integer(VECTOR_ATOL), rtol=np.full(n, float(o["rtol"])), atol=np.array(o["atol"], dtype=float),
                      task=integer(0), state=integer(1), options=integer(1), rwork=rwork, lrw=integer(len(rwork)), iwork=iwork,
                      liw=integer(len(iwork)), formula=integer(GIVEN if jacobian else DIFFERENCES), last=end, before=0.0,
                      inside_s=np.zeros(1), derivative=integer(0), flag=integer(0), roots=integer(0), bad=0)

    def _unknowns(self) -> Vector:
        y: Vector = self.record.y
        return y

    def error(self) -> Exception:
        """See `DirectRun`."""
        return Exception(f"LSODAR failed with flag {self.code}")
