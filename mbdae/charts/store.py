"""The arrays of a chart at one configuration, in one array that kernels receive as `store`.

`P` selects or combines the independent coordinates, `z = P q`. With `PT = P T(q)` the matrix `K = [Phi_q; PT]` is square, and regular
where the coordinates are independent. `N`, stored by columns, is the basis of the null space of `Phi_q` with `PT N = I`; `S` is the inverse
of the reduced mass matrix `N^T M N`, stored as its Cholesky factor. Without constraints `N = PT^-1`, in any metric, and `S = PT PT^T`.

`PT` and the factors in the workspace belong to the configuration evaluated last. `N` and `S` take `n` solves, so they may belong to one
nearby: then `K^-1` is approximate, and what it is to solve exactly is iterated. A flag tells which.

A row of `P` that selects a coordinate has one entry, of `PT` three if the coordinate is part of a quaternion. `spans` has the columns
outside of which rows are zero, so that products with them do not take `nq` operations each.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..compilation.compiled import compiled, matrix, window
from ..jacobians.signatures import Array, Tables
from ..system import layout as lay
from ..system.layout import header
from ..system.system import System
from ..typing import Integers


class Factors(NamedTuple):
    """A chart and its factors at a configuration, as kernels take them.

    Attributes
    ----------
    n : int
        Number of independent coordinates.
    store : ndarray
        See the module.
    model, work : ndarray
        Tables and scratch of the system; `work` holds the mass matrix, `Phi_q` and the factors of the reduced matrix.
    """

    n: int
    store: Array
    model: Tables
    work: Array


class Displaced(NamedTuple):
    """Scratch for displaced states: a complex store and workspace, and a real workspace."""

    store: Array
    work: Array
    real: Array


class Bases(NamedTuple):
    """`PT` and the columns of `N`, shape (n, nv) both, and the Cholesky factor of `S`, shape (n, n)."""

    PT: Array
    N: Array
    S: Array


SPANS = 8  # numbers of a row in `spans`
P_FIRST, P_END, PT_FIRST, PT_END, N_FIRST, N_END = range(6)  # columns of a row of P, of PT and of N
BLOCK = 6  # first of the rows that `S` couples with this one
TURN = 7  # first quaternion that does not begin before the row of P


class Scratch(NamedTuple):
    """Vectors of the lengths nv, nc, nc, nq and n; the first three and the last belong to a linear system with `K`."""

    move: Array
    residual: Array
    product: Array
    trial: Array
    mismatch: Array


class Path(NamedTuple):
    """The continuation from a guess to new positions: vectors of the lengths nq, nq, nc, n and n."""

    guess: Array
    reached: Array
    residual: Array
    distance: Array
    goal: Array


@compiled
def _sizes(model: Tables) -> tuple[int, int, int]:
    head = header(model)
    return head[lay.NQ], head[lay.NV], head[lay.NC]


@compiled
def chart(n: int, model: Tables, store: Array) -> Array:
    """`P`, shape (n, nq)."""
    return matrix(store, 0, n, header(model)[lay.NQ])


@compiled
def bases(n: int, model: Tables, store: Array) -> Bases:
    """The `Bases` in `store`."""
    nq, nv, _ = _sizes(model)
    at = n * nq
    return Bases(matrix(store, at, n, nv), matrix(store, at + n * nv, n, nv), matrix(store, at + 2 * n * nv, n, n))


@compiled
def scratch(n: int, model: Tables, store: Array) -> Scratch:
    """The `Scratch` in `store`."""
    nq, nv, nc = _sizes(model)
    at = n * nq + 2 * n * nv + n * n
    return Scratch(window(store, at, nv), window(store, at + nv, nc), window(store, at + nv + nc, nc), window(store, at + nv + 2 * nc, nq),
                   window(store, at + nv + 2 * nc + nq, n))


@compiled
def path(n: int, model: Tables, store: Array) -> Path:
    """The `Path` in `store`."""
    nq, nv, nc = _sizes(model)
    at = n * nq + 2 * n * nv + n * n + nv + 2 * nc + nq + n
    return Path(window(store, at, nq), window(store, at + nq, nq), window(store, at + 2 * nq, nc), window(store, at + 2 * nq + nc, n),
                window(store, at + 2 * nq + nc + n, n))


@compiled
def spans(n: int, model: Tables, store: Array) -> Array:
    """Where rows of `P`, `PT` and `N` begin and end, shape (n, SPANS); integers in the dtype of the store."""
    nq, nv, nc = _sizes(model)
    return matrix(store, n * nq + 2 * n * nv + n * n + nv + 3 * nc + 3 * nq + 3 * n, n, SPANS)


@compiled
def is_complete(store: Array) -> bool:
    """Whether `N` and `S` belong to the configuration of the factors."""
    return bool(store[store.shape[0] - 1].real != 0.0)


@compiled
def set_complete(complete: float, store: Array) -> None:
    """Note whether they do, as 1 or 0."""
    store[store.shape[0] - 1] = complete


@compiled
def dot_within(x: Array, y: Array, first: Any, end: Any) -> Any:
    """`x . y` where `x` is zero before `first` and from `end` on; these are real or complex numbers."""
    s, at = 0.0 * x[0] * y[0], int(first.real)
    n = int(end.real) - at
    x, y = window(x, at, n), window(y, at, n)  # indices from zero on: see `system.sparse`
    for k in range(n):
        s += x[k] * y[k]
    return s


def new_displaced(system: System, P: NDArray[np.float64]) -> Displaced:
    """Scratch for the derivatives in the chart `z = P q`."""
    return Displaced(new_store(system, P, complex), system.workspace(complex), system.workspace())


def new_store(system: System, P: NDArray[np.float64], dtype: DTypeLike = float) -> Array:
    """A store for the chart `z = P q`."""
    n, (nq, nv, nc) = len(P), (system.nq, system.nv, system.nc)
    matrices, vectors, continuation = n * nq + 2 * n * nv + n * n, nv + 2 * nc + nq + n, 2 * nq + nc + 2 * n
    store = np.zeros(matrices + vectors + continuation + n * SPANS + 1, dtype=dtype)
    adopt(system, P, store)
    return store


def adopt(system: System, P: NDArray[np.float64], store: Array) -> None:
    """Make `z = P q` the chart of a store; its factors have to be prepared anew."""
    n = len(P)
    store[:P.size + 2 * n * system.nv] = 0.0
    store[:P.size] = P.ravel()
    store[len(store) - n * SPANS - 1:-1] = _spans(system, P).ravel()
    store[-1] = 0.0


def _spans(system: System, P: NDArray[np.float64]) -> Integers:
    """See `spans`."""
    n, nv = len(P), system.nv
    out = np.zeros((n, SPANS), dtype=np.int64)
    used = P != 0.0
    first, end = used.argmax(axis=1), np.where(used.any(axis=1), P.shape[1] - used[:, ::-1].argmax(axis=1), 0)
    turns: Integers = system.quaternions["q"].astype(np.int64) if not system.of_functions else np.zeros(0, dtype=np.int64)
    if len(turns):  # whole quaternions
        of_first, of_last = (turns[np.maximum(np.searchsorted(turns, x, side="right") - 1, 0)] for x in (first, end - 1))
        first = np.where((of_first <= first) & (first < of_first + 4), of_first, first)
        end = np.where((of_last < end) & (end < of_last + 4), of_last + 4, end)
    out[:, P_FIRST], out[:, P_END], out[:, TURN] = first, end, np.searchsorted(turns, first)
    out[:, PT_FIRST], out[:, PT_END] = first - out[:, TURN], end - np.searchsorted(turns, end)
    if system.of_functions and not system.identity_map:
        out[:, PT_FIRST], out[:, PT_END] = 0, nv
    out[:, N_END] = nv
    return _with_blocks(out) if system.nc == 0 else out


def _with_blocks(out: Integers) -> Integers:
    """Without constraints `S` and `N` have blocks where rows of `PT` have the same columns or none in common."""
    first, end = out[:, PT_FIRST], out[:, PT_END]
    same = (first[1:] == first[:-1]) & (end[1:] == end[:-1])
    if (end > first).all() and (same | (first[1:] >= end[:-1])).all():
        out[:, N_FIRST], out[:, N_END] = first, end
        out[1:, BLOCK] = np.maximum.accumulate(np.where(same, 0, np.arange(1, len(out))))
    return out
