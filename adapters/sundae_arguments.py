"""Problems as arguments of `sksundae.ida.IDA` and `sksundae.cvode.CVODE`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.driver.support import Settings, explicit_support, implicit_support, require, tightened
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.problems.base import Problem
from mbdae.results.status import Status
from mbdae.typing import Event, Integers, Tolerance, Vector

from . import storage

MANY_STEPS = 1_000_000  # between two output times, where SUNDIALS allows 500
DENSE_LIMIT = 120  # unknowns up to which dense factorisations are the quicker ones
ITERATIVE = ("gmres", "bicgstab", "tfqmr")
LINEAR = ("auto", "dense", "band", "sparse", *ITERATIVE)
LINEAR_ODE = ("auto", "dense", *ITERATIVE)  # the Jacobian of the underlying ODE is full
LINEAR_IDA, LINEAR_CVODE = (*LINEAR, "kkt"), (*LINEAR_ODE, "kkt")  # of runs; scikit-sundae takes no linear solvers of others

_MASKED = Settings(mask=True, linear_solver="dense, band, sparse, kkt, Krylov")
IDA_SUPPORT = implicit_support(gear=Settings(linear_solver="dense, band, sparse, kkt, Krylov"), ggl=_MASKED, index2=_MASKED, index1=_MASKED,
                               index3=Settings(mask=True, tighten=1e-3, linear_solver="dense, band, sparse, kkt, Krylov"))
CVODE_SUPPORT = explicit_support(linear_solver="dense, Krylov") | {"ode": Settings(jacobian="exact", linear_solver="dense, kkt, Krylov")}


def ida_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact", linsolver: str = "auto",
                  events: Sequence[Event] | None = None, callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `sksundae.ida.IDA`: `IDA(**ida_arguments(problem))` is a solver with the settings that the formulation needs.

    Parameters
    ----------
    problem : Problem
        In a form that `IDA_SUPPORT` lists as taken.
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get those of the formulation.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: IDA's own quotients.
    linsolver : {"auto", "dense", "band", "sparse", "gmres", "bicgstab", "tfqmr"}
        Krylov methods are preconditioned with sparse factors of the exact Jacobian; without them they fail on every mechanism.
        `"band"` numbers unknowns and equations anew: `y` and `yd` that go in or come out are `y[band_order(problem)]`.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become `eventsfn`.
    callbacks : SolverCallbacks, optional
        Counter of evaluations.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If IDA cannot take the formulation, or of unknown options.
    """
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    check_choices("ida_arguments", linsolver, jacobian, LINEAR)
    callbacks.use(jacobian)
    require("ida_arguments", IDA_SUPPORT, problem)
    linsolver = linear_solver(problem, linsolver)
    band = storage.Band(problem.pattern) if linsolver == "band" else None
    order = np.arange(problem.n) if band is None else band.order
    rtol, atol = tightened(IDA_SUPPORT, problem, rtol, atol)
    options = {"resfn": _residual(callbacks, None if band is None else order), "rtol": rtol,
               "atol": problem.tolerances(rtol, atol)[order], "linsolver": linsolver,
               "first_step": problem.first_step, "max_num_steps": MANY_STEPS}
    if problem.algebraic.any():
        options["algebraic_idx"] = np.flatnonzero(problem.algebraic[order])
    if linsolver == "sparse":
        options["sparsity"] = problem.pattern
    if band is not None:
        options["lband"], options["uband"] = band.lower, band.upper
    if linsolver in ITERATIVE:
        options["precond"] = _preconditioner(callbacks)
    elif jacobian != "difference":
        options["jacfn"] = _jacobian(callbacks, linsolver, band)
    if events is not None:
        options |= _native_events(problem, events, order)
    return options


def band_order(problem: Problem) -> Integers:
    """Order of the unknowns for the band solver: it sees `y[order]`."""
    order: Integers = storage.Band(problem.pattern).order
    return order


def check_choices(owner: str, linsolver: str, jacobian: str | Strategy, possible: Sequence[str]) -> None:
    if linsolver not in possible:
        raise ValueError(f"{owner}: linsolver must be one of {', '.join(possible)}, got {linsolver!r}")
    as_strategy(jacobian, owner)


def linear_solver(problem: Problem, linsolver: str) -> str:
    if linsolver != "auto":
        return linsolver
    return "dense" if problem.n <= DENSE_LIMIT or not problem.implicit else "sparse"


def _residual(callbacks: SolverCallbacks, order: Integers | None) -> Callable[..., Any]:
    n = callbacks.problem.n
    y, yd, result = np.empty(n), np.empty(n), np.empty(n)  # compiled code wants writable arrays, IDA hands over read-only ones
    evaluate = callbacks.residual()

    def residual(t: float, y_in: Vector, yd_in: Vector, out: Vector) -> None:
        y[:], yd[:] = y_in, yd_in
        evaluate(t, y, yd, out)

    def in_band_order(t: float, y_in: Vector, yd_in: Vector, out: Vector) -> None:
        y[order], yd[order] = y_in, yd_in
        evaluate(t, y, yd, result)
        out[:] = result[order]

    return residual if order is None else in_band_order


def _jacobian(callbacks: SolverCallbacks, linsolver: str, band: storage.Band | None) -> Callable[..., Any]:
    problem = callbacks.problem
    if band is not None:
        evaluate, place = callbacks.jacobian(band.full), band.place  # the package copies the band out of a square array
        return lambda t, y, yd, residual, c, J: evaluate(t, y[place], yd[place], c, J, residual[place]) and None
    evaluate = callbacks.jacobian(storage.csc if linsolver == "sparse" else storage.dense(problem))
    # copies: for arrays that are read-only, numba would compile everything a second time
    return lambda t, y, yd, residual, c, J: evaluate(t, y.copy(), yd.copy(), c, J, residual) and None


def _preconditioner(callbacks: SolverCallbacks) -> Any:
    """Sparse LU factors of the exact Jacobian, renewed when IDA asks for it: Krylov methods then need an iteration or two."""
    from sksundae.ida import IDAPrecond

    p = callbacks.problem.pattern
    values = np.empty(p.nnz)
    factors: list[Any] = [None]
    evaluate = callbacks.jacobian(storage.csc)

    def setup(t: float, y: Vector, yd: Vector, residual: Vector, c: float) -> None:
        evaluate(t, y.copy(), yd.copy(), c, values, residual)
        try:
            factors[0] = splu(csc_array((values, p.indices, p.indptr), shape=p.shape))
        except RuntimeError as error:
            raise SolverFailure(Status.NEWTON_FAILED, f"the Jacobian at t = {t:.9g} is singular: {error}") from error

    def solve(t: float, y: Vector, yd: Vector, residual: Vector, r: Vector, z: Vector, c: float, delta: float) -> None:
        z[:] = factors[0].solve(np.asarray(r))

    return IDAPrecond(setup, solve)


def _native_events(problem: Problem, events: Sequence[Event], order: Integers) -> dict[str, Any]:
    """Events as `eventsfn`."""
    place = np.argsort(order)

    def eventsfn(t: float, y: Vector, yd: Vector, out: Vector) -> None:
        q, v = problem.motion(t, y[place])
        out[:] = [event(t, q, v) for event in events]

    function: Any = eventsfn
    function.terminal = [bool(getattr(e, "terminal", False)) for e in events]
    function.direction = [int(getattr(e, "direction", 0)) for e in events]
    return {"eventsfn": function, "num_events": len(events)}


def cvode_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                    linsolver: str = "auto", events: Sequence[Event] | None = None,
                    callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for `sksundae.cvode.CVODE`, as `ida_arguments`; linear solvers are dense or iterative."""
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    check_choices("cvode_arguments", linsolver, jacobian, LINEAR_ODE)
    callbacks.use(jacobian)
    require("cvode_arguments", CVODE_SUPPORT, problem)
    linsolver = linear_solver(problem, linsolver)
    y, evaluate, derivative = np.empty(problem.n), callbacks.rhs(), callbacks.rhs_jacobian()

    def rhs(t: float, y_in: Vector, out: Vector) -> None:
        y[:] = y_in
        evaluate(t, y, out)

    def jacobian_of_rhs(t: float, y_in: Vector, f: Vector, J: Vector) -> None:
        J[:, :] = derivative(t, y_in.copy())

    options = {"rhsfn": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol), "linsolver": linsolver, "max_num_steps": MANY_STEPS}
    if jacobian != "difference" and linsolver == "dense":
        options["jacfn"] = jacobian_of_rhs
    if events is not None:
        native = _native_events(problem, events, np.arange(problem.n))
        inner = native["eventsfn"]

        def eventsfn(t: float, y: Vector, out: Vector) -> None:
            inner(t, y, None, out)

        function: Any = eventsfn
        function.terminal, function.direction = inner.terminal, inner.direction
        options |= native | {"eventsfn": function}
    return options
