"""C functions around a user's compiled ones, with derivatives for the complex step.

Where a function takes complex arguments and its complex step agrees with differences, derivatives are exact; otherwise they are
central differences, and beside a jump one-sided ones that do not reach across it. Each function is wrapped once, however many elements
and systems use it. On an exception the wrapper stores the arguments and returns NaN; `replay` then repeats the call in Python, which
raises the exception unchanged.
"""

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numba import carray, njit, types

from ..compilation import kept
from ..compilation.compiled import compiled
from ..compilation.foreign import pointer
from ..compilation.fresh import fresh
from ..typing import Matrix, Numbers, Vector
from . import words
from .layout import FRAME

Function: TypeAlias = Callable[..., Any]  # of a user, compiled

STEP = 1e-30
INCREMENT = 6e-6  # of central differences
JUMP = 1e-3  # second difference of three values, relative to their sizes, at a jump
KEPT = 512  # functions
_d, _i = types.float64, types.int64
_LAW = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
_FORCE = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True)
class CFunction:
    """A C function and its address; `replay()` raises its exception again, `place(labels)` is the label and the time of that."""

    keep: kept.CFunction
    address: int
    replay: Callable[[], None]
    place: Callable[[Iterable[Any]], tuple[str, float]]


# functions of time ---------------------------------------------------------------------------------------------------------------


@lru_cache(KEPT)
def motion(function: Function) -> CFunction:
    """`double f(double t)`."""
    user = fresh(function)
    return finished(kept.c_function(_motion, _d(_d), 2, [user], function=user), function)


def _motion(t):
    try:
        return function(t)  # noqa: F821  # names given by `kept.c_function`
    except Exception:
        note = carray(pointer(where()), (2,), np.float64)  # noqa: F821
        note[0], note[1] = 1.0, t
        return np.nan


# laws ----------------------------------------------------------------------------------------------------------------------------


@lru_cache(KEPT)
def law(function: Function) -> CFunction:
    """`double f(double x, double xd, double t, int64 which)`: the law, its derivative by `x`, by `xd`."""
    exact = _or_none(_law_of, function)
    if exact is None or not _is_right(exact, _law_is_analytic(_LAW(exact.address))):
        return finished(_law_of(function, False), function, 2)
    return finished(exact, function, 2)


def _law_of(function: Function, analytic: bool = True) -> kept.CFunction:
    user = fresh(function)
    slope = (_exact_slope if analytic else _difference_of_law)(user)
    return kept.c_function(_law, _d(_d, _d, _d, _i), 4, [user], analytic, dispensable=analytic, function=user,
                           slope=slope)


def _or_none(made: Callable[[Function], kept.CFunction], function: Function) -> kept.CFunction | None:
    """The C function whose derivatives are by complex numbers; `None` if numba cannot compile that."""
    try:
        return made(function)
    except kept.NotCompiled:
        return None


def _is_right(c: kept.CFunction, is_analytic: bool) -> bool:
    """Whether derivatives that were tried are right, and no value was refused."""
    failed, c.note[0] = c.note[0], 0.0
    return is_analytic and not failed


def _law(x, xd, t, which):
    try:
        if which == 0:
            return function(x, xd, t)  # noqa: F821
        return slope(x, xd, t, which)  # noqa: F821
    except Exception:
        note = carray(pointer(where()), (4,), np.float64)  # noqa: F821
        note[0], note[1], note[2], note[3] = 1.0, x, xd, t
        return np.nan


def _exact_slope(function: Function) -> Function:
    @njit
    def slope(x, xd, t, which):
        e = complex(0.0, STEP)
        return (function(x + e * (which == 1), xd + e * (which == 2), t) + 0j).imag / STEP

    made: Function = slope
    return made


def quotient(before: float, here: float, after: float, h: float) -> float:
    """The derivative from values at `x - h`, `x`, `x + h`: central, or beside a jump from the side without it.

    The quotient across a jump is of the size of the jump over `h`, and with it the iteration matrix: Newton's method then hardly corrects
    the prediction, converges by its own measure, and solvers that keep the matrix go on with a wrong motion.
    """
    left, right = (here - before) / h, (after - here) / h
    if abs(after - 2.0 * here + before) <= JUMP * (abs(after) + 2.0 * abs(here) + abs(before)):
        return 0.5 * (left + right)
    return left if abs(left) < abs(right) else right


difference = compiled(quotient)


def _difference_of_law(function: Function) -> Function:
    @njit
    def slope(x, xd, t, which):
        here = function(x, xd, t)
        if which == 1:
            h = INCREMENT * (1.0 + abs(x))
            return difference(function(x - h, xd, t), here, function(x + h, xd, t), h)
        h = INCREMENT * (1.0 + abs(xd))
        return difference(function(x, xd - h, t), here, function(x, xd + h, t), h)

    made: Function = slope
    return made


def _law_is_analytic(law: Callable[..., float]) -> bool:
    """Whether complex numbers give the derivatives of a law, tried at lengths and rates of several sizes and signs."""
    h = INCREMENT
    for x in (0.03, 0.3, 1.1, 4.2, -0.7):
        for r in (0.05, 0.6, -0.9, 7.0, -8.0):
            exact = [law(x, r, 0.1, which) for which in (1, 2)]
            ends = [[law(x + s * h * k, r + s * h * (1 - k), 0.1, 0) for k in (1, 0)] for s in (1, -1)]
            if not _agree(np.array(exact), (np.array(ends[0]) - ends[1]) / (2 * h)):
                return False
    return True


def _agree(exact: Vector, difference: Vector) -> bool:
    scale = 1e-9 + np.abs(difference).max()
    both_off = ~np.isfinite(exact) & ~np.isfinite(difference)
    return bool((both_off | (np.abs(exact - difference) <= 1e-5 * scale)).all())


# forces on several bodies --------------------------------------------------------------------------------------------------------


def wrench(function: Function, t: float, x: Numbers) -> Numbers:
    """Forces and torques (k, 6) of a user's plain function at the states `x` (k, 18); along the imaginary parts by differences."""
    if not np.iscomplexobj(x):
        return _real_wrench(function, t, x)
    size = np.abs(x.imag).max()
    h = INCREMENT * (1.0 + np.abs(x.real).max()) / (size or 1.0)
    value = _real_wrench(function, t, x.real) + 0j
    if size > 0.0:
        before, after = (_real_wrench(function, t, x.real + s * h * x.imag) for s in (-1, 1))
        value += 1j * _differences(before, value.real, after, h)
    return value


def _differences(before: Matrix, here: Matrix, after: Matrix, h: float) -> Matrix:
    """`quotient`, entry by entry."""
    left, right = (here - before) / h, (after - here) / h
    smooth = np.abs(after - 2.0 * here + before) <= JUMP * (np.abs(after) + 2.0 * np.abs(here) + np.abs(before))
    one_sided = np.where(np.abs(left) < np.abs(right), left, right)
    found: Matrix = np.where(smooth, 0.5 * (left + right), one_sided)
    return found


def _real_wrench(function: Function, t: float, x: Numbers) -> Numbers:
    k = len(x)
    F, T = np.zeros((k, 3), x.dtype), np.zeros((k, 3), x.dtype)
    r, A, v, omega = (x[:, a:b].copy() for a, b in ((0, 3), (3, 12), (12, 15), (15, 18)))
    function(t, r, A.reshape(k, 3, 3), v, omega, F, T)
    return np.hstack((F, T))


def force(function: Function, states: Matrix) -> CFunction:
    """`void f(double t, int64 states, int64 k, int64 out, int64 is_complex)`; `states` (k, 18) at which it is tried."""
    exact = _force(function, len(states), True)
    if exact is None or not _is_right(exact.keep, _force_is_analytic(_FORCE(exact.address), np.asarray(states, dtype=float))):
        exact = _force(function, len(states), False)
    assert exact is not None
    return exact


@lru_cache(KEPT)
def _force(function: Function, k: int, analytic: bool) -> CFunction | None:
    """With derivatives by complex numbers, `None` if numba cannot compile that; or by differences."""
    def made(function: Function) -> kept.CFunction:
        user = fresh(function)
        real = _wrench_of(user)
        return kept.c_function(_wrenches, types.void(_d, _i, _i, _i, _i), 2 + FRAME * k, [user], analytic, k, dispensable=analytic,
                               real=real, with_derivative=real if analytic else _difference_of_force(real))

    def repeat(t: float, *x: float) -> None:
        _real_wrench(_python(function), t, np.array(x).reshape(k, FRAME))

    c = _or_none(made, function) if analytic else made(function)
    return None if c is None else finished(c, repeat)


def _wrenches(t, states, k, out, is_complex):
    failed = False
    if is_complex:
        z, y = carray(pointer(states), (k, FRAME), np.complex128), carray(pointer(out), (k, 6), np.complex128)
        try:
            with_derivative(t, z, y)  # noqa: F821
        except Exception:
            failed, y[0, 0] = True, np.nan
        if failed:
            _note_states(carray(pointer(where()), (2 + FRAME * k,), np.float64), t, z)  # noqa: F821
    else:
        x, f = carray(pointer(states), (k, FRAME), np.float64), carray(pointer(out), (k, 6), np.float64)
        try:
            real(t, x, f)  # noqa: F821
        except Exception:
            failed, f[0, 0] = True, np.nan
        if failed:
            _note_states(carray(pointer(where()), (2 + FRAME * k,), np.float64), t, x)  # noqa: F821


def _python(function: Any) -> Function:
    """The Python function behind a compiled one."""
    plain: Function = function.py_func
    return plain


@compiled
def _note_states(note, t, x):
    note[0], note[1] = 1.0, t
    for b in range(x.shape[0]):
        for c in range(FRAME):
            note[2 + FRAME * b + c] = x[b, c].real


def _wrench_of(function: Function) -> Function:
    @njit
    def run(t, x, out):  # plain loops, which compile soon
        k = x.shape[0]
        r, A, v, omega = (np.empty((k, 3), x.dtype), np.empty((k, 3, 3), x.dtype), np.empty((k, 3), x.dtype), np.empty((k, 3), x.dtype))
        F, T = np.zeros((k, 3), x.dtype), np.zeros((k, 3), x.dtype)
        for b in range(k):
            for i in range(3):
                r[b, i], v[b, i], omega[b, i] = x[b, i], x[b, 12 + i], x[b, 15 + i]
                for j in range(3):
                    A[b, i, j] = x[b, 3 + 3 * i + j]
        function(t, r, A, v, omega, F, T)
        for b in range(k):
            for i in range(3):
                out[b, i], out[b, 3 + i] = F[b, i], T[b, i]

    made: Function = run
    return made


def _difference_of_force(real: Function) -> Function:
    @njit
    def run(t, z, out):
        k = z.shape[0]
        x, d, f, g, e = np.empty((k, FRAME)), np.empty((k, FRAME)), np.empty((k, 6)), np.empty((k, 6)), np.empty((k, 6))
        step = size = 0.0
        for b in range(k):
            for c in range(FRAME):
                x[b, c], d[b, c] = z[b, c].real, z[b, c].imag
                step, size = max(step, abs(d[b, c])), max(size, abs(x[b, c]))
        real(t, x, f)
        for b in range(k):
            for c in range(6):
                out[b, c] = f[b, c]
        if step > 0.0:
            h = INCREMENT * (1.0 + size) / step
            real(t, x + h * d, g)
            real(t, x - h * d, e)
            for b in range(k):
                for c in range(6):
                    out[b, c] += complex(0.0, difference(e[b, c], f[b, c], g[b, c], h))

    made: Function = run
    return made


def _force_is_analytic(force: Callable[..., None], states: Matrix) -> bool:
    """Whether complex numbers give the derivatives of a force, tried near the states (k, 18) in random directions."""
    rng, found = np.random.default_rng(0), []

    def called(x: Numbers) -> Numbers:
        x, out = np.ascontiguousarray(x), np.zeros((len(x), 6), x.dtype)
        force(0.1, x.ctypes.data, len(x), out.ctypes.data, int(np.iscomplexobj(x)))
        return out

    for _ in range(4):
        x = states + 0.01 * rng.normal(size=states.shape) * (1.0 + np.abs(states))
        x[:, :3] *= rng.choice([-1.0, 1.0], (len(x), 3))  # complex powers of negative numbers lose the derivative
        d = rng.normal(size=states.shape)
        exact = called(x + 1j * STEP * d).imag / STEP
        ends = [called(x + s * INCREMENT * d) for s in (1, -1)]
        found.append(_agree(exact, (ends[0] - ends[1]) / (2 * INCREMENT)))
    return all(found)


def finished(c: kept.CFunction, function: Function, time: int = 0) -> CFunction:
    """With the means to raise the exception of a call that has failed: `function` repeats it.

    `time` is its place among the arguments; the first one of a function of a system is the number of the evaluation.
    """
    note = c.note

    def replay() -> None:
        if note[0]:
            note[0] = 0.0
            function(*note[1:].tolist())

    def place(labels: Iterable[Any]) -> tuple[str, float]:
        names = [words.evaluation(note[1], given) if isinstance(given, dict) else given for given in labels]
        return " or ".join(dict.fromkeys(names)), float(note[1 + time])

    return CFunction(c, c.address, replay, place)
