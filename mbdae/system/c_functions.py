"""C functions around a user's compiled ones, with derivatives for the complex step.

Where a function takes complex arguments and its complex step agrees with differences, derivatives are exact; otherwise they are
central differences, and beside a jump one-sided ones that do not reach across it. Each function is wrapped once, however many elements
and systems use it. On an exception the wrapper stores the arguments and returns NaN; `replay` then repeats the call in Python, which
raises the exception unchanged.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numba import carray, cfunc, njit, types

from ..compilation.compiled import compiled
from ..compilation.foreign import pointer
from ..typing import Matrix, Numbers, Vector
from . import words
from .layout import FRAME

Function: TypeAlias = Callable[..., Any]  # of a user, compiled

STEP = 1e-30
INCREMENT = 6e-6  # of central differences
JUMP = 1e-3  # second difference of three values, relative to their sizes, at a jump
KEPT = 512  # functions
_d, _i = types.float64, types.int64


@dataclass(frozen=True)
class CFunction:
    """A C function and its address; `replay()` raises its exception again, `place(labels)` is the label and the time of that."""

    keep: object
    address: int
    replay: Callable[[], None]
    place: Callable[[Iterable[Any]], tuple[str, float]]


# functions of time ---------------------------------------------------------------------------------------------------------------


@lru_cache(KEPT)
def motion(function: Function) -> CFunction:
    """`double f(double t)`."""
    note = np.zeros(2)
    where = note.ctypes.data

    def wrapped(t: float) -> float:
        try:
            value: float = function(t)
            return value
        except Exception:
            kept = carray(pointer(where), (2,), np.float64)
            kept[0], kept[1] = 1.0, t
            return np.nan

    return finished(cfunc(_d(_d))(wrapped), note, function)


# laws ----------------------------------------------------------------------------------------------------------------------------


@lru_cache(KEPT)
def law(function: Function) -> CFunction:
    """`double f(double x, double xd, double t, int64 which)`: the law, its derivative by `x`, by `xd`."""
    note = np.zeros(4)
    slope = (_exact_slope if _law_is_analytic(function) else _difference_of_law)(function)
    where = note.ctypes.data

    def wrapped(x: float, xd: float, t: float, which: int) -> float:
        try:
            if which == 0:
                value: float = function(x, xd, t)
                return value
            derivative: float = slope(x, xd, t, which)
            return derivative
        except Exception:
            kept = carray(pointer(where), (4,), np.float64)
            kept[0], kept[1], kept[2], kept[3] = 1.0, x, xd, t
            return np.nan

    return finished(cfunc(_d(_d, _d, _d, _i))(wrapped), note, function, 2)


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


def _law_is_analytic(function: Function) -> bool:
    """Whether complex numbers give the derivatives of a law, tried at lengths and rates of several sizes and signs."""
    e, h = 1j * STEP, INCREMENT
    try:
        for x in (0.03, 0.3, 1.1, 4.2, -0.7):
            for r in (0.05, 0.6, -0.9, 7.0, -8.0):
                exact = [(function(x + e * k, r + e * (1 - k), 0.1) + 0j).imag / STEP for k in (1, 0)]
                ends = [[function(x + s * h * k, r + s * h * (1 - k), 0.1) for k in (1, 0)] for s in (1, -1)]
                if not _agree(np.array(exact), (np.array(ends[0]) - ends[1]) / (2 * h)):
                    return False
    except Exception:  # numba cannot compile it for complex numbers, or it refuses the values tried
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
    return _force(function, len(states), _force_is_analytic(function, np.asarray(states, dtype=float)))


@lru_cache(KEPT)
def _force(function: Function, k: int, analytic: bool) -> CFunction:
    note = np.zeros(2 + FRAME * k)
    real = _wrench_of(function)
    with_derivative = real if analytic else _difference_of_force(real)
    where = note.ctypes.data

    def wrapped(t: float, states: int, k: int, out: int, is_complex: int) -> None:
        failed = False
        if is_complex:
            z, y = carray(pointer(states), (k, FRAME), np.complex128), carray(pointer(out), (k, 6), np.complex128)
            try:
                with_derivative(t, z, y)
            except Exception:
                failed, y[0, 0] = True, np.nan
            if failed:
                _note_states(carray(pointer(where), (2 + FRAME * k,), np.float64), t, z)
        else:
            x, f = carray(pointer(states), (k, FRAME), np.float64), carray(pointer(out), (k, 6), np.float64)
            try:
                real(t, x, f)
            except Exception:
                failed, f[0, 0] = True, np.nan
            if failed:
                _note_states(carray(pointer(where), (2 + FRAME * k,), np.float64), t, x)

    def repeat(t: float, *x: float) -> None:
        _real_wrench(_python(function), t, np.array(x).reshape(k, FRAME))

    return finished(cfunc(types.void(_d, _i, _i, _i, _i))(wrapped), note, repeat)


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
    def run(t, x, out):  # plain loops: this is compiled anew in every process
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


def _force_is_analytic(function: Function, states: Matrix) -> bool:
    rng, found = np.random.default_rng(0), []
    try:
        for _ in range(4):
            x = states + 0.01 * rng.normal(size=states.shape) * (1.0 + np.abs(states))
            x[:, :3] *= rng.choice([-1.0, 1.0], (len(x), 3))  # complex powers of negative numbers lose the derivative
            d = rng.normal(size=states.shape)
            exact = _real_wrench(function, 0.1, x + 1j * STEP * d).imag / STEP
            ends = [_real_wrench(function, 0.1, x + s * INCREMENT * d) for s in (1, -1)]
            found.append(_agree(exact, (ends[0] - ends[1]) / (2 * INCREMENT)))
    except Exception:
        return False
    return all(found)


def finished(c: Any, note: Vector, function: Function, time: int = 0) -> CFunction:
    """The C function `c`, which stores in `note` the arguments of a call that has failed; `function` repeats it.

    `time` is its place among the arguments; the first one of a function of a system is the number of the evaluation.
    """
    def replay() -> None:
        if note[0]:
            note[0] = 0.0
            function(*note[1:].tolist())

    def place(labels: Iterable[Any]) -> tuple[str, float]:
        names = [words.evaluation(note[1], given) if isinstance(given, dict) else given for given in labels]
        return " or ".join(dict.fromkeys(names)), float(note[1 + time])

    return CFunction((c, note), c.address, replay, place)
