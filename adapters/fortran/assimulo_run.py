"""Runs of RODAS, RADAU5, DOPRI5 and GLIMDA in the libraries of Assimulo, with the arrays that its classes would set up."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverFailure
from mbdae.driver.run import Run
from mbdae.typing import Vector

from ..direct.guard import NO_FAULT
from . import explicit, glimda, radau5
from .after_steps import after_explicit_step_address, after_step_address, after_step_with_error_address
from .after_steps_run import AfterSteps, WithPolynomial
from .arguments import Arguments, call, integer, integer_with_address
from .assimulo_steps import PACKAGE
from .direct_run import since_last_step
from .library import routine
from .lsodar_run import DIRECT_LSODAR, DirectLsodar
from .odassl_run import DIRECT_ODASSL, DirectOdassl
from .output import Output

DIRECT_ASSIMULO = {"RodasODE": (PACKAGE, "assimulo.lib.rodas", "rodas_", "contro_"),  # distribution, module, symbols
                   "Radau5DAE": (PACKAGE, "assimulo.lib.radau5", "radau5_", "contr5_"),
                   "Dopri5": (PACKAGE, "assimulo.lib.dopri5", "dopri5_", "contd5_"), "ODASSL": DIRECT_ODASSL,
                   "LSODAR": DIRECT_LSODAR, "GLIMDA": (PACKAGE, "assimulo.lib.glimda", "glimda_")}
# where squares of errors relative to smaller ones overflow, steps of DOPRI5 and RODAS may become NaN, and are repeated without an end
SMALLEST_ATOL = 1e-30
PARAMETERS = 20  # words of parameters and counts before the work arrays


class DirectAssimulo(AfterSteps):
    """A run of one of the codes with compiled callbacks.

    Parameters
    ----------
    run : Run
    solver : solver of Assimulo
        With its options and its problem.
    y0 : ndarray
    output : Output
    """

    counted: dict[str, int]  # where the counts of Assimulo's statistics are
    work: Vector
    iwork: np.ndarray[Any, np.dtype[np.int32]]

    def __init__(self, run: Run, solver: Any, y0: Vector, output: Output) -> None:
        self.kind, self.of = type(solver).__name__, solver
        self.name, self.options, self.end = f"Assimulo {self.kind}", solver.options, abs(run.callbacks.clock(run.t_end))
        package, module, name, *dense = DIRECT_ASSIMULO[self.kind]
        self.routine, self.dense = routine(package, module, name), routine(package, module, *dense) if dense else 0
        super().__init__(run, y0, (0.0, self.end), output)
        self.arguments, self.flag, self.reached = Arguments(), integer(1), np.zeros(1)
        self._set()

    @abstractmethod
    def _set(self) -> None:
        """Make the work arrays and the callbacks."""

    def _explained(self, failure: SolverFailure) -> SolverFailure:
        return since_last_step(super()._explained(failure), self.bound.guard.bad, self.solver.bad)

    @property
    def failed(self) -> bool:
        """See `AfterSteps`."""
        return int(self.flag[0]) not in (1, 2)

    def error(self) -> Exception:
        """See `AfterSteps`."""
        return Exception(f"{self.kind.removesuffix('ODE')} failed with flag {int(self.flag[0])}")

    def counts(self) -> dict[str, int]:
        """Those of Assimulo's statistics."""
        return {name: int(self.iwork[at]) for name, at in self.counted.items()}

    def _tolerances(self, repeated: int = 1) -> tuple[int, ...]:
        """`RTOL, ATOL, ITOL`: vectors."""
        a, n = self.arguments, self.n * repeated
        return a.array(np.full(n, float(self.options["rtol"]))), a.array(np.tile(self.options["atol"], repeated)), a.whole(1)

    def _wholes(self, *numbers: int) -> tuple[int, ...]:
        return tuple(map(self.arguments.whole, numbers))

    def _span(self, y: Vector) -> tuple[int, ...]:
        """`X, Y, XEND`."""
        return self.arguments.array(self.reached), self.arguments.array(y), self.arguments.real(self.end)


_HAIRER = {"nsteps": 16, "nfcns": 13, "njacs": 14, "nerrfails": 17, "nlus": 18}


class DirectRodas(WithPolynomial, DirectAssimulo):
    """RODAS: see `DirectAssimulo`."""

    counted = _HAIRER

    def _set(self) -> None:
        n, o, p, equations = self.n, self.options, self.run.problem, self.bound.equations
        self.work, self.iwork = np.zeros(2 * n * n + 14 * n + PARAMETERS), np.zeros(n + PARAMETERS, dtype=np.int32)
        self.work[1:5] = o["maxh"], o["fac1"], o["fac2"], o["safe"]
        self.iwork[0] = o["maxsteps"]
        self.rhs, self.accepted = explicit.rhs_address(p.kernel, equations), after_step_address(equations, self.march)
        self.jacobian = self.bound.rhs_jacobian_in_python(self.run.callbacks.rhs_jacobian(), 3) if o["usejac"] else 0

    def _call(self) -> None:
        a, n, wholes, y = self.arguments, self.n, self._wholes, self.solver.y.copy()
        call(self.routine, (a.whole(n), self.rhs, a.whole(1), *self._span(y), a.real(self.options["inith"]), *self._tolerances(),
                            self.jacobian, *wholes(self.jacobian != 0, n, n), 0, a.whole(0), 0, *wholes(0, n, n), self.accepted,
                            a.whole(1), *a.work(self.work, self.iwork), self.bound.equations._address, self.march._address,
                            a.array(self.flag)))


class DirectRadau5(WithPolynomial, DirectAssimulo):
    """RADAU5 for implicit problems: see `DirectAssimulo`."""

    counted = _HAIRER

    def _set(self) -> None:
        n, o, p, equations = self.n, self.options, self.run.problem, self.bound.equations
        self.work = np.zeros(5 * ((2 * n)**2 + 12) + PARAMETERS)
        self.iwork = np.zeros(6 * n + PARAMETERS, dtype=np.int32)
        self.work[1:9] = [o[name] for name in ("safe", "thet", "fnewt", "quot1", "quot2", "maxh", "fac1", "fac2")]
        self.iwork[[1, 2]] = o["maxsteps"], o["newt"]
        self.iwork[[4, 5, 8, 9]] = n  # unknowns of index 1 and of index 2; the first n derivatives are the others of the unknowns
        self.rhs, self.mass = radau5.rhs_address(p.kernel, equations), radau5.mass_address(p.kernel, equations)
        self.accepted = after_step_with_error_address(equations, self.march)

    def _call(self) -> None:
        a, n, wholes = self.arguments, self.n, self._wholes
        x = np.concatenate([self.of.problem.y0, self.of.problem.yd0])
        flagged = np.array([0, self.march._address])
        call(self.routine, (a.whole(2 * n), self.rhs, *self._span(x), a.real(self.options["inith"]), *self._tolerances(2),
                            0, *wholes(0, 2 * n, 0), self.mass, *wholes(1, 0, 0), self.accepted, a.whole(1),
                            *a.work(self.work, self.iwork), self.bound.equations._address, a.array(flagged), a.array(self.flag)))

    def error(self) -> Exception:
        """See `AfterSteps`."""
        from assimulo.solvers.radau5 import Radau5Error

        error: Exception = Radau5Error(int(self.flag[0]), float(self.reached[0]))
        return error


class DirectDopri5(WithPolynomial, DirectAssimulo):
    """DOPRI5: see `DirectAssimulo`."""

    counted = {"nsteps": 18, "nfcns": 16, "nerrfails": 19}
    record_type = explicit.DopriSolver

    def _record(self, **fields: Any) -> Any:
        return super()._record(guesses=int(self.options["inith"] == 0.0), **fields)

    def _set(self) -> None:
        n, o, p, equations = self.n, self.options, self.run.problem, self.bound.equations
        self.work, self.iwork = np.zeros(13 * n + PARAMETERS + 1), np.zeros(n + PARAMETERS + 1, dtype=np.int32)
        self.work[1:7] = [o[name] for name in ("safe", "fac1", "fac2", "beta", "maxh", "inith")]
        self.iwork[[0, 4]] = o["maxsteps"], n
        self.rhs = explicit.rhs_of_dopri_address(p.kernel, equations, self.march)
        self.accepted = after_explicit_step_address(equations, self.march)

    def _call(self) -> None:
        a, y = self.arguments, self.solver.y.copy()
        call(self.routine, (a.whole(self.n), self.rhs, *self._span(y), *self._tolerances(), self.accepted, a.whole(2),
                            *a.work(self.work, self.iwork), self.bound.equations._address, self.march._address, a.array(self.flag)))


GLIMDA_MESSAGES = {-1: "Could not get method of order p", -2: "Too many steps, increase maxsteps.",
                   -3: "Too many consecutive failures, increase ...", -4: "Stepsize too small, decrease minh",
                   -7: "Could not compute the tolerances atol/rtol", -8: "Could not evaluate partial derivatives.",
                   -9: "Could not evaluate q(x,t)."}  # those of Assimulo


class DirectGlimda(DirectAssimulo):
    """GLIMDA: see `DirectAssimulo`."""

    counted = {"nerrfails": 1, "nnfails": 2, "nfcns": 3, "njacs": 4, "nlus": 5}
    interpolated = staticmethod(glimda.interpolated)

    def _record(self, **fields: Any) -> glimda.Solver:
        yd = self.of.problem.yd0
        return glimda.Solver(yd=yd.copy(), before_state=fields["y"].copy(), before_yd=yd.copy(), stopped=0, refused=0, **fields)

    def _set(self) -> None:
        o, equations = self.options, self.bound.equations
        self.iwork = np.zeros(6, dtype=np.int32)  # its counts
        order_three, steps_of_an_order = 1, 5  # the method of order 3; steps before the order may change
        self.whole_options = np.array([self.of._get_print_level(), o["newt"], o["maxord"], o["minord"], order_three, o["order"],
                                       steps_of_an_order, o["maxsteps"], o["maxretry"]], dtype=np.int32)
        # tolerances of Newton's method and the error, factors of the step size, its limits, rates at which the order changes, condition
        self.real_options = np.array([0.1, 0.1, 0.1, 0.1, 2.0, 0.5, min(self.end, o["maxh"]), o["minh"], 1e-3, 0.8, 0.0])
        self.residual = glimda.residual_address(self.run.problem.kernel, equations, self.march)
        self.unknowns, self.accepted = glimda.differentiated_address(equations), glimda.after_step_address(self.march)

    def _call(self) -> None:
        a, n, wholes, o, equations = self.arguments, self.n, self._wholes, self.options, self.bound.equations
        rtol, atol, vectors = self._tolerances()
        numbers = a.array(integer_with_address(n, self.march._address)), a.whole(n)
        y, yd = self.solver.y.copy(), self.solver.yd.copy()
        call(self.routine, (*numbers, self.residual, self.unknowns, 0, 0, 0, a.array(self.reached), a.real(self.end), a.array(y),
                            a.array(yd), a.real(o["inith"]), atol, rtol, vectors, *wholes(1, 1, 1, 0, 1), a.array(self.iwork),
                            a.array(self.whole_options), a.array(self.real_options), self.march._address, equations._address,
                            a.array(self.flag), self.accepted))

    @property
    def failed(self) -> bool:
        """See `AfterSteps`."""
        return int(self.flag[0]) != 0 and self.solver.stopped == 0

    def counts(self) -> dict[str, int]:
        """See `DirectAssimulo`; without the attempts in which nothing was evaluated."""
        if self.bound.guard.fatal != NO_FAULT:  # some may have been for a Jacobian; through the package there are no counts either
            return {}
        counts = super().counts()
        return counts | {name: counts[name] - self.solver.refused for name in ("nnfails", "nfcns")}

    def error(self) -> Exception:
        """See `AfterSteps`."""
        flag = int(self.flag[0])
        return Exception(f"GLIMDA failed with flag {flag}. {GLIMDA_MESSAGES[flag]}") if flag in GLIMDA_MESSAGES else KeyError(flag)


RUNS: dict[str, Any] = {"RodasODE": DirectRodas, "Radau5DAE": DirectRadau5, "Dopri5": DirectDopri5, "ODASSL": DirectOdassl,
                        "LSODAR": DirectLsodar, "GLIMDA": DirectGlimda}
