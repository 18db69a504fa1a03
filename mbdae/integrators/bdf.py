"""BDF of variable order and step size for implicit problems, by the algorithm of DASSL [Brenan, chapter 5]."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..driver.arguments import check_local_error, check_max_steps, check_order, check_rtol, check_step, is_finite, time_span
from ..driver.method import Resumable
from ..driver.record import Record
from ..driver.support import Settings, implicit_support, tightened
from ..jacobians.sources import Exact
from ..jacobians.strategy import Strategy, as_strategy, labelled
from ..problems.base import Problem
from ..results.trajectory import Trajectory
from ..system.assembly import State
from ..typing import ArrayLike, Integers, TimeProgress, Until, Vector
from ..typing import Tolerance as Atol
from .bdf_fixed import MAX_ITERATIONS, FixedBdfStepper
from .bdf_formulas import EXCLUDED, HIGHEST, Norms
from .bdf_functions import (
    FullJacobian,
    FullMatrix,
    Function,
    FunctionEquations,
    ResidualSolution,
    full_pattern,
    initial_values,
    integrate_function,
    norms_per_unknown,
    output_times,
)
from .bdf_memory import not_resumable
from .bdf_stepper import BdfStepper, Equations, Parts, ProblemEquations, StepJacobian, norms_for
from .control.driver import Driver
from .iteration_matrix import DENSE_LIMIT, IterationMatrix, scaling
from .resolution import impulse_of_rounding, share

LINEAR = ("auto", "dense", "sparse")
ALGEBRAIC = ("exclude", "scale", "test")
INDEX3_NEWTON = 0.1  # factor on `newton`: in index 3 velocities are difference quotients of positions, with the errors of these
FINEST = 3e-12  # relative tolerance of a step, below which Newton's method meets the rounding of residuals on some mechanisms
FINEST_INDEX3 = 2e-11  # the same in index 3, and for functions of a user
INDEX_OF_IMPULSES = {"lam": 2, "w": 1}  # of the multipliers of which `h lam` is one, and of their integral
MEASURES = {"mu": "v", "z": "q"}  # blocks whose size is that of the corrections: mu corrects velocities, z positions
ROUNDING = 4e-15  # of positions and of velocities, relative to the largest: the matrix couples small ones with large ones
CORRECTION_ROUNDING = 2e-13  # of `h mu` and `z`, relative to the largest position, and of impulses: they follow from that of constraints

_SETTINGS = Settings(mask=True, exclude=True, excluded_atol="atol", scaling="iteration matrix", linear_solver="dense, sparse")
_INDEX3 = Settings(mask=True, exclude=True, excluded_atol="atol", tighten=5e-2, scaling="iteration matrix", linear_solver="dense, sparse")
SUPPORT = implicit_support(ggl=_SETTINGS, gear=_SETTINGS, index2=_SETTINGS, index1=_SETTINGS, index3=_INDEX3)


@dataclass(frozen=True)
class Bdf(Resumable):
    """BDF of orders 1 to 5 with variable step size for `F(t, y, yd) = 0`: DASSL's algorithm, with matrices scaled for the index.

    A step of order `k` to the time `t` solves `F(t, y, c y + b) = 0`, where `c y + b` is the derivative of the polynomial through `y` and
    the previous values. The multipliers of a mechanism, and in index 3 the velocities, follow from the other unknowns by differences,
    which amplify errors by powers of `1/h`; `algebraic` is their treatment in the error test. Newton's method has to converge in them too,
    up to these powers: otherwise their errors grow by extrapolation, and end the run at tight tolerances in index 1.

    Parameters
    ----------
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), or another strategy or its name, such as `"grouped:partitioned"`, see
        `mbdae.JacobianStrategy`.
    linsolver : {"auto", "dense", "sparse"}
        `"auto"`: dense up to 120 unknowns, then sparse.
    max_order : int
    first_step, max_step : float
        Zero: the first step is chosen from the initial derivatives, and the step size is not limited.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    algebraic : {"exclude", "scale", "test"}
        Multipliers, and velocities in index 3: excluded from the error test, multiplied by `h^(index - 1)` as in Radau5, or tested without
        a factor. With `"test"` most runs fail except in index 1.
    local_error : float
        Largest estimated error of a step relative to the tolerances. It is 1 in DASSL, where errors add up to hundreds of tolerances on
        motions that amplify them; with 0.02 they are a thirtieth, for three quarters more steps. Tolerances below 3e-12 are not divided
        (2e-11 in index 3 and for functions of a user).
    newton : float
        Largest error of Newton's method relative to that of a step. It is 0.33 in DASSL; a smaller one costs iterations and saves as many
        by fewer steps, since the error estimates contain less noise, and the errors are smaller.
    order : int, optional
        With `fixed_step`: a fixed order without an error test, for studies of the order. Then the tolerances are those of Newton's
        method and of the short run with error control for the starting values; they must be well below the errors of the formula.
    fixed_step : float

    Raises
    ------
    ValueError
        If a field is not valid.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.Bdf(), (0.0, 0.1), rtol=1e-5)
    >>> run.success
    True
    """

    jacobian: str | Strategy = "exact"
    linsolver: str = "auto"
    max_order: int = HIGHEST
    first_step: float = 0.0
    max_step: float = 0.0
    max_steps: int = 1_000_000
    algebraic: str = "exclude"
    local_error: float = 0.02
    newton: float = 0.05
    order: int | None = None
    fixed_step: float = 0.0

    support = SUPPORT

    def __post_init__(self) -> None:
        if as_strategy(self.jacobian, "Bdf") is None:
            raise ValueError("Bdf: it has no difference quotients of its own; jacobian can be 'dense', 'grouped' or 'estimated'")
        for name, possible in (("linsolver", LINEAR), ("algebraic", ALGEBRAIC)):
            if getattr(self, name) not in possible:
                raise ValueError(f"Bdf: {name} must be one of {', '.join(possible)}, got {getattr(self, name)!r}")
        check_order("Bdf", self.max_order, HIGHEST)
        if self.order is not None:
            check_order("Bdf", self.order, HIGHEST, "order")
        for name in ("first_step", "max_step", "fixed_step"):
            check_step("Bdf", name, getattr(self, name))
        if not (is_finite(self.newton) and 0.0 < self.newton < 1.0):
            raise ValueError(f"Bdf: newton must lie between 0 and 1, got {self.newton!r}")
        check_local_error("Bdf", self.local_error)
        check_max_steps("Bdf", self.max_steps)
        if (self.order is None) != (self.fixed_step == 0.0):
            raise ValueError(f"Bdf: give both order and fixed_step, or neither, got order={self.order} and fixed_step={self.fixed_step:g}")

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        name = "Bdf" if self.order is None else f"Bdf(order={self.order}, fixed_step={self.fixed_step:g})"
        return labelled(name, self.jacobian)

    @property
    def not_resumable(self) -> str:
        """See `Resumable`."""
        if self.order is not None:
            return "has a fixed order, and starting values that are not kept"
        return not_resumable(self.jacobian)

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Atol, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        finest = FINEST_INDEX3 if problem.index.max() > 2 else FINEST
        rtol, atol = tightened(self.support, problem, *self._local(rtol, atol, finest))
        excluded = None if np.ndim(atol) else float(atol)  # an array is for all unknowns
        norms = norms_for(rtol, problem.tolerances(rtol, atol, excluded), unknown_powers(problem, self.algebraic), compared_blocks(problem),
                          rounded_blocks(problem, state))
        strategy = as_strategy(self.jacobian, "Bdf")
        assert strategy is not None
        equations, jacobian = ProblemEquations(problem, state), strategy.bind(problem)
        compile_for(problem, jacobian, state.t, equations.y0, equations.yd0)
        matrix = IterationMatrix(problem.pattern, self._linear(problem.n), *scaling(problem))
        newton = self.newton * (INDEX3_NEWTON if problem.index.max() > 2 else 1.0)
        stepper = self._stepper(equations, t_end, jacobian, matrix, norms, newton)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()

    def solve_residual(self, F: Function, t_span: ArrayLike, y0: ArrayLike, yd0: ArrayLike, *, rtol: float = 1e-6, atol: ArrayLike = 1e-8,
                       jac: FullMatrix | None = None, excluded: ArrayLike | None = None,
                       t_eval: ArrayLike | None = None) -> ResidualSolution:
        """Integrate user equations `F(t, y, yd) = 0`.

        Parameters
        ----------
        F : callable
            `F(t, y, yd) -> (n,)`; if it is not finite, the step is cut.
        t_span : (float, float)
            Backward in time if the second is the smaller one.
        y0, yd0 : array_like, shape (n,)
            Consistent: `F(t0, y0, yd0) = 0`.
        rtol : float
        atol : float or array_like of shape (n,)
        jac : callable, optional
            `jac(t, y, yd, c) -> (n, n)`, the matrix `F_y + c F_yd`; by default from forward differences.
        excluded : array_like of bool, shape (n,), optional
            Unknowns that are excluded from the error test, such as those of index 2 and 3.
        t_eval : array_like, optional
            Times of the output, in the direction of integration; by default the steps.

        Returns
        -------
        ResidualSolution

        Raises
        ------
        ValueError
            Arguments that are not valid, or not consistent.
        Exception
            Exceptions of `F` and `jac`, unchanged.
        """
        t0, t_end = time_span("solve_residual", t_span)
        check_rtol("solve_residual", rtol)
        y, yd = initial_values(y0, yd0)
        n, times = len(y), output_times(t_eval, t0, t_end)
        norms, equations = norms_per_unknown(n, *self._local(rtol, atol, FINEST_INDEX3), excluded), FunctionEquations(F, t0, y, yd)
        jacobian, matrix = FullJacobian(equations.residual, n, jac), IterationMatrix(full_pattern(n), self._linear(0))
        return integrate_function(self._stepper(equations, t_end, jacobian, matrix, norms, self.newton), times)

    def _local(self, rtol: float, atol: ArrayLike, finest: float) -> tuple[float, Any]:
        """Tolerances of one step."""
        factor = share(self.local_error, rtol, finest)
        return factor * rtol, factor * np.asarray(atol, dtype=float)

    def _linear(self, n: int) -> str:
        """The linear solver for `n` unknowns."""
        if self.linsolver != "auto":
            return self.linsolver
        return "dense" if n <= DENSE_LIMIT else "sparse"

    def _stepper(self, equations: Equations, t_end: float, jacobian: StepJacobian, matrix: IterationMatrix, norms: Norms,
                 newton: float) -> BdfStepper:
        parts = Parts(jacobian, matrix, norms, newton, self.max_order, self.first_step, self.max_step, self.max_steps)
        if self.order is None:
            return BdfStepper(equations, t_end, parts)
        return FixedBdfStepper(equations, t_end, replace(parts, max_iterations=MAX_ITERATIONS), order=self.order, size=self.fixed_step)


def compile_for(problem: Problem, jacobian: Any, t: float, y: Vector, yd: Vector) -> None:
    """Evaluate what Jacobians need, so that compilation does not count as run time."""
    if isinstance(getattr(jacobian, "source", None), Exact):
        problem.jacobian_values(t, y, yd, 1.0)
    else:
        problem.residual(t, y, yd)


def _excluded(problem: Problem) -> list[str]:
    """Blocks that are excluded from the error test, and `w` of Gear's form, on which the motion does not depend."""
    return [name for name in problem.blocks if name in problem.excluded_blocks or name == "w"]


def unknown_powers(problem: Problem, algebraic: str) -> Integers:
    """Powers of the step size on the unknowns in the error test and in Newton's convergence test, shape (2, n).

    The derivatives of `w` and `z` are multipliers, and jump with every change of step size and order: `"scale"` excludes them, too.
    """
    powers = np.zeros((2, problem.n), dtype=np.int64)
    powers[1] = scaling(problem)[1]
    for name in _excluded(problem):
        scaled = EXCLUDED if name in ("w", "z") else problem.block_index[name] - 1
        powers[0, problem.blocks[name]] = {"exclude": EXCLUDED, "scale": scaled, "test": 0}[algebraic]
    return powers


def compared_blocks(problem: Problem) -> Sequence[tuple[int, int, int, int]]:
    """Corrections of excluded blocks are compared with the largest unknown of a block, as some multipliers are zero but for rounding."""
    pairs = [(problem.blocks[name], problem.blocks[MEASURES.get(name, name)]) for name in _excluded(problem)]
    return [(own.start, own.stop, other.start, other.stop) for own, other in pairs]


def rounded_blocks(problem: Problem, state: State, left: float = 1.0) -> Sequence[tuple[int, int, int, int, float, float]]:
    """Ranges of unknowns with those whose rounding they contain, and its relative sizes: see `norms_for`.

    Impulses, `h lam` in index 2 and `w`, contain that of velocities. Corrections of Newton's method end at rounding: where it may leave
    `left` tolerances these are at least rounding over `left` there.
    """
    own, other = (ROUNDING, ROUNDING / left), (CORRECTION_ROUNDING, max(CORRECTION_ROUNDING, ROUNDING / left))
    pairs = [("q", "q", own, 1.0), ("v", "v", own, 1.0), ("mu", "q", other, 1.0), ("z", "q", other, 1.0)]
    if impulses := [name for name, index in INDEX_OF_IMPULSES.items() if problem.block_index.get(name) == index]:
        pairs += [(name, "v", other, impulse_of_rounding(problem.system, state)) for name in impulses]
    found = [(problem.blocks[x], problem.blocks[y], *eps, size) for x, y, eps, size in pairs if x in problem.blocks]
    return [(x.start, x.stop, y.start, y.stop, size * error, size * newton) for x, y, error, newton, size in found]
