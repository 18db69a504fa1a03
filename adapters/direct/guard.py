"""What compiled callbacks of all solvers share: a problem in tables, the count of its evaluations, and the care for values not finite.

A callback is compiled once for each class of problems; all that is particular to a mechanism is in its tables.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types

from mbdae.compilation.compiled import by_address, compiled, compiled_with
from mbdae.compilation.structure import Structure
from mbdae.driver.callbacks import FATAL, GOOD, RECOVERABLE, TOLERATED, TOLERATED_AT_A_GAP, TOLERATED_IN_A_ROW
from mbdae.system.vectors import is_finite, put
from mbdae.typing import Integers, Vector

NO_FAULT, EQUATIONS, JACOBIAN = range(3)  # values of `Guard.fatal`


class Guard(Structure):
    """What has been evaluated, and where it was not finite."""

    calls: int  # evaluations of the equations
    jacobians: int
    bad: int  # evaluations that were not finite
    bad_in_a_row: int
    last_bad: int  # `calls` at the last one
    gap: float  # first time, in the direction of integration, at which they were not finite
    at_the_gap: int  # evaluations that were not finite since then
    direction: float
    fatal: int  # what ended the run
    t: float  # of the first evaluation of those in a row that were not finite
    y: Vector
    yd: Vector


class Equations(Structure):
    """A problem for the callbacks."""

    n: int
    m: int
    guard: Guard
    arguments: Any  # of the kernel, behind `out`
    model: Any
    work: Vector
    follow: Any  # to be called before an evaluation where constraints are redundant, see `NullVectors`
    redundant: Integers
    at: Vector
    drifts: int
    weight: float
    derivatives: int  # address of `Derivatives`, or zero


class Derivatives(Structure):
    """What the exact Jacobian needs besides."""

    sweep: Any
    scratch: Any
    arguments: Any  # of the kernel for complex numbers
    values: Vector
    places: Integers  # of the values in dense or band storage; empty for sparse storage


@compiled
def follow_null_space(t, y, equations):
    """`Problem.follow`."""
    e = equations
    if e.redundant.shape[0] > 0:
        e.follow(t, y, e.redundant, e.at, e.drifts, e.weight, e.model, e.work)


@compiled
def judged(t, finite, y, yd, guard):
    """What the callback returns after an evaluation: the solver cuts its step where the equations are not finite, up to a limit."""
    guard.calls += 1
    if finite:
        if guard.direction * t >= guard.gap:
            guard.gap, guard.at_the_gap = np.inf, 0
        return GOOD
    guard.bad += 1
    guard.bad_in_a_row = guard.bad_in_a_row + 1 if guard.last_bad == guard.calls - 1 else 1
    guard.last_bad = guard.calls
    if guard.bad_in_a_row == 1:  # the others in a row may be its consequences
        guard.t = t
        put(y, guard.y)
        put(yd, guard.yd)
    guard.gap = min(guard.gap, guard.direction * t)
    guard.at_the_gap += 1
    if guard.bad_in_a_row > TOLERATED_IN_A_ROW or guard.bad > TOLERATED or guard.at_the_gap > TOLERATED_AT_A_GAP:
        guard.fatal = EQUATIONS
        return FATAL
    return RECOVERABLE


@compiled
def are_finite(t, values, guard):
    """Whether the values of a Jacobian are finite; otherwise the run is to end."""
    for k in range(values.shape[0]):
        if not is_finite(values[k]):
            guard.fatal, guard.t = JACOBIAN, t
            return False
    return True


@cache
def with_kernel(callback: Any, kernel: Any) -> Any:
    """A callback for the kernel of a class of problems, its name `kernel`."""
    return compiled_with(callback, kernel, kernel=kernel)


@cache
def with_derivative(callback: Any, derivative: Any, kind: types.Type) -> Any:
    """A callback for the Jacobian of a class of problems: its names `derivative`, and `DERIVATIVES`, the type of these."""
    return compiled_with(callback, derivative, derivative=derivative, DERIVATIVES=kind)


@cache
def address(function: Any, arguments: tuple[Any, ...]) -> int:
    """Of a compiled function `int64 f(arguments)`, for calls from C and Fortran."""
    at: int = by_address(function, types.int64(*arguments)).__wrapper_address__()
    return at
