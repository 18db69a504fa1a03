"""scikits.odes: IDA, DASPK and LSODI for `F(t, y, yd) = 0`; CVODE, DOP853 and DOPRI5 for `yd = f(t, y)`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate

from mbdae.driver.arguments import check_choice, check_max_steps, check_order, check_step
from mbdae.driver.availability import Availability, installed
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.driver.method import Method
from mbdae.driver.run import Run
from mbdae.driver.support import Support
from mbdae.jacobians.strategy import Strategy, labelled
from mbdae.problems.base import Problem
from mbdae.results.statistics import Statistics
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import Integers, TimeProgress, Tolerance, Until, Vector

from .fortran.daspk_run import DIRECT_DASPK, DirectDaspk
from .fortran.library import BACKENDS, called_directly
from .fortran.lsodi_run import DIRECT_LSODI, DirectLsodi
from .fortran.output import Output
from .odes_arguments import (
    SOLVERS,
    SUPPORT,
    band_order,
    check_choices,
    check_multistep,
    cvode_arguments,
    daspk_arguments,
    dop_arguments,
    ida_arguments,
    lsodi_arguments,
)
from .odes_steppers import Clock, Daspk, Dop, Lsodi, Sundials
from .storage import Band

RECENT = 100  # evaluations while SUNDIALS approaches a point where the equations are not finite
__all__ = ["Odes", "availability", "band_order", "cvode_arguments", "daspk_arguments", "dop_arguments", "ida_arguments", "lsodi_arguments"]

DIRECT = {"ddaspk": DIRECT_DASPK, "lsodi": DIRECT_LSODI}  # what is called without the package: distribution, module, symbols
_PARTS = {"scikits-odes": "scikits_odes", "scikits-odes-sundials": "scikits_odes_sundials.ida",
          "scikits-odes-daepack": "scikits_odes_daepack.ddaspkint"}


def _remedy(python: tuple[int, int]) -> str:
    """The command that installs the package for a version of Python."""
    # 3.0 takes SUNDIALS 6 and Python up to 3.12, 3.1 takes SUNDIALS 7
    extra = "odes" if python < (3, 13) else "odes7"
    # 3.0 cannot be built with the declarations of NumPy 2.5, which needs Python 3.12
    older = """older=$(mktemp) && echo 'numpy<2.5' > "$older" && PIP_CONSTRAINT="$older" """ if python == (3, 12) else ""
    return f"apt-get install -y gfortran libsundials-dev && {older}pip install 'mbdae[{extra}]'"


def availability() -> Availability:
    """State of the package, or of its first part that is not usable."""
    states = [installed(part, module, _remedy(sys.version_info[:2]), "make setup-all") for part, module in _PARTS.items()]
    return next((state for state in states if not state.installed), states[0])


@dataclass(frozen=True)
class Odes(Method):
    """A solver of scikits.odes.

    The package does not free the matrix of a run of IDA or CVODE.

    Parameters
    ----------
    solver : {"ida", "ddaspk", "lsodi", "cvode", "dop853", "dopri5"}
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of the solver. LSODI always uses those
        for `d/dy`; the explicit methods need none.
    linsolver : {"dense", "band", "spgmr", "sptfqmr"}
        `"band"`, with unknowns and equations renumbered to a small bandwidth: DASPK with the exact Jacobian, IDA with difference quotients.
        The Krylov methods: CVODE.
    multistep : {"BDF", "Adams"}
        Of CVODE.
    max_order : int, optional
        Of the multistep methods, by default the maximum.
    first_step, max_step : float
        Zero: the choice of the solver, and the first step of the formulation.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    backend : {"auto", "library", "wrapper"}
        Of DASPK and LSODI. `"library"`: the routine in the library of the package is called directly, with compiled callbacks and no
        Python in its loop; `"wrapper"`: through the package; `"auto"`: the library where its version was tested, otherwise the wrapper.
        The other solvers go through the package.

    Examples
    --------
    >>> import mbdae
    >>> mbdae.Odes("ddaspk").label
    'scikits.odes DASPK'
    """

    solver: str = "ida"
    jacobian: str | Strategy = "exact"
    linsolver: str = "dense"
    multistep: str = "BDF"
    max_order: int | None = None
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    backend: str = "auto"

    package = "scikits.odes"
    own_differences = True

    def __post_init__(self) -> None:
        check_choice("Odes", "solver", self.solver, SOLVERS)
        check_choices("Odes", self.solver, self.jacobian, self.linsolver)
        check_multistep("Odes", self.multistep)
        if self.multistep == "Adams" and self.solver != "cvode":
            raise ValueError(f"Odes: multistep='Adams' is a choice of CVODE, not of {SOLVERS[self.solver]}")
        if self.max_order is not None and not self.highest_order:
            raise ValueError(f"Odes: the order of {SOLVERS[self.solver]} is fixed, got max_order={self.max_order!r}")
        if self.max_order is not None:
            check_order("Odes", self.max_order, self.highest_order)
        check_step("Odes", "first_step", self.first_step)
        check_step("Odes", "max_step", self.max_step)
        check_max_steps("Odes", self.max_steps)
        check_choice("Odes", "backend", self.backend, BACKENDS)
        if self.backend == "library" and self.solver not in DIRECT:
            raise ValueError(f"Odes: {SOLVERS[self.solver]} goes through the package, so backend='library' is not possible")

    @staticmethod
    def availability() -> Availability:
        """State of the package."""
        return availability()

    @property
    def highest_order(self) -> int:
        """Of the formulas of the multistep methods; zero if the order is fixed."""
        return 0 if self.solver.startswith("dop") else 12 if self.multistep == "Adams" else 5

    @property
    def support(self) -> Support:
        """Each form with its `Settings`, or the reason why it is refused."""
        return SUPPORT[self.solver]

    @property
    def one_step(self) -> bool:
        """See `mbdae.driver.method`."""
        return self.solver.startswith("dop")

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        name = f"scikits.odes {SOLVERS[self.solver]}" + (f" {self.multistep}" if self.solver == "cvode" else "")
        return labelled(name, self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        # exceptions are stored: SUNDIALS loses them, and exceptions raised through FORTRAN are printed to standard error
        callbacks = SolverCallbacks(problem, keeps=True, t0=state.t, direction=1 if t_end > state.t else -1, recent=RECENT)
        start, names = problem.pack(state), DIRECT.get(self.solver)
        direct = names is not None and called_directly("Odes", self.backend, problem, *names)
        if not direct:
            problem.compile(state.t, *start)
        run = Run(callbacks, state.t, t_end, start, t_eval=t_eval, every=every, progress=progress, until=until, max_steps=self.max_steps)
        watch, steppers = Stopwatch(), []
        output = Output(progress is not None or until is not None, every) if direct else None

        def integrate() -> None:
            nonlocal watch
            steppers.append(self._stepper(run, start, rtol, atol, output))
            watch = Stopwatch()  # without what was compiled
            steppers[0].integrate(run)

        run.carry_out(integrate)
        counts = steppers[0].counts(run, self.jacobian != "difference") if steppers else {}
        return run.trajectory(Statistics(steps=run.steps, seconds=watch.seconds, cpu_seconds=watch.cpu_seconds, **counts))

    def _stepper(self, run: Run, start: tuple[Vector, Vector], rtol: float, atol: Tolerance,
                 output: Output | None) -> Sundials | Daspk | Lsodi | Dop:
        """The solver of the package, or with `output` the one that is called directly."""
        clock, (y0, yd0) = Clock(run.callbacks, run.t_end), start
        if output is not None:
            direct = self._direct_daspk if self.solver == "ddaspk" else self._direct_lsodi
            return direct(run, clock, output, rtol, atol, y0, yd0)
        makers: dict[str, Callable[..., Sundials | Daspk | Lsodi]] = {
            "ida": self._ida, "ddaspk": self._daspk, "lsodi": self._lsodi, "cvode": self._cvode}
        make: Callable[..., Sundials | Daspk | Lsodi | Dop] = makers.get(self.solver, self._dop)
        return make(run.callbacks, clock, y0, run.callbacks.rate(yd0), rtol, atol)

    # the classes behind `dae` and `ode`, which would print import errors of all missing solvers

    def _ida(self, callbacks: SolverCallbacks, clock: Clock, y0: Vector, yd0: Vector, rtol: float, atol: Tolerance) -> Sundials:
        from scikits_odes_sundials.ida import IDA

        options = ida_arguments(callbacks.problem, rtol, atol, self.jacobian, self.linsolver, callbacks=callbacks)
        options["first_step_size"] = self.first_step or options["first_step_size"]
        reports: list[str] = []
        solver = IDA(options.pop("eqsres"), **options, order=self.max_order or 0, max_step_size=self.max_step, err_handler=_into(reports))
        start, place = self._in_order(callbacks.problem, y0, yd0)
        return Sundials(solver, clock, start, reports, place)

    def _daspk(self, callbacks: SolverCallbacks, clock: Clock, y0: Vector, yd0: Vector, rtol: float, atol: Tolerance) -> Daspk:
        return Daspk(self._daspk_solver(callbacks, rtol, atol), clock, *self._in_order(callbacks.problem, y0, yd0))

    def _daspk_solver(self, callbacks: SolverCallbacks, rtol: float, atol: Tolerance) -> Any:
        """The solver of the package with its options."""
        from scikits_odes_daepack.ddaspkint import ddaspk

        options = daspk_arguments(callbacks.problem, rtol, atol, self.jacobian, self.linsolver, callbacks=callbacks)
        options["first_step"] = self.first_step or options["first_step"]
        return ddaspk(options.pop("eqsres"), **options, order=self.max_order or 5, max_step_size=self.max_step)

    def _direct_daspk(self, run: Run, clock: Clock, output: Output, rtol: float, atol: Tolerance, y0: Vector, yd0: Vector) -> Daspk:
        callbacks = run.callbacks
        band = Band(run.problem.pattern) if self.linsolver == "band" else None
        start, place = self._in_order(run.problem, y0, callbacks.rate(yd0))
        return DirectDaspk(self._daspk_solver(callbacks, rtol, atol), clock, start, place, run=run, jacobian=self.jacobian, band=band,
                           output=output)

    def _lsodi(self, callbacks: SolverCallbacks, clock: Clock, y0: Vector, yd0: Vector, rtol: float, atol: Tolerance) -> Lsodi:
        return Lsodi(self._lsodi_solver(callbacks, rtol, atol), clock, (y0, yd0))

    def _lsodi_solver(self, callbacks: SolverCallbacks, rtol: float, atol: Tolerance) -> Any:
        """The solver of the package with its options."""
        from scikits_odes_daepack.lsodiint import lsodi

        options = lsodi_arguments(callbacks.problem, rtol, atol, callbacks=callbacks)
        options["first_step"] = self.first_step or options["first_step"]
        return lsodi(options.pop("eqsres"), **options, order=self.max_order or 5, max_step_size=self.max_step)

    def _direct_lsodi(self, run: Run, clock: Clock, output: Output, rtol: float, atol: Tolerance, y0: Vector, yd0: Vector) -> Lsodi:
        solver = self._lsodi_solver(run.callbacks, rtol, atol)
        return DirectLsodi(solver, clock, (y0, run.callbacks.rate(yd0)), run=run, output=output)

    def _cvode(self, callbacks: SolverCallbacks, clock: Clock, y0: Vector, yd0: Vector, rtol: float, atol: Tolerance) -> Sundials:
        from scikits_odes_sundials.cvode import CVODE

        options = cvode_arguments(callbacks.problem, rtol, atol, self.jacobian, self.linsolver, self.multistep, callbacks=callbacks)
        reports: list[str] = []
        solver = CVODE(options.pop("eqsrhs"), **options, order=self.max_order or 0, first_step_size=self.first_step,
                       max_step_size=self.max_step, err_handler=_into(reports))
        return Sundials(solver, clock, (y0,), reports)

    def _dop(self, callbacks: SolverCallbacks, clock: Clock, y0: Vector, yd0: Vector, rtol: float, atol: Tolerance) -> Dop:
        from scikits_odes import dopri5

        options = dop_arguments(callbacks.problem, rtol, atol, callbacks=callbacks)
        options |= {"first_step": self.first_step, "max_step": self.max_step}
        solver = getattr(dopri5, self.solver)(options.pop("eqsrhs"), **options)
        return Dop(solver, scipy.integrate.DOP853 if self.solver == "dop853" else scipy.integrate.RK45, clock, y0, options)

    def _in_order(self, problem: Problem, y0: Vector, yd0: Vector) -> tuple[tuple[Vector, Vector], Integers | None]:
        """The initial values in the order of the solver, and the place of each unknown in it."""
        if self.linsolver != "band":
            return (y0, yd0), None
        order = band_order(problem)
        return (y0[order], yd0[order]), np.argsort(order)


def _into(reports: list[str]) -> Callable[..., Any]:
    """Error handler of SUNDIALS that collects its messages."""
    def handler(code: int, module: bytes, function: bytes, message: bytes) -> None:
        reports.append(message.decode(errors="replace").strip())

    return handler
