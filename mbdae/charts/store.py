"""The arrays of a chart at one configuration, in one array that kernels receive as `store`.

`P` selects or combines the independent coordinates, `z = P q`. With `PT = P T(q)` the matrix `K = [Phi_q; PT]` is square, and regular
where the coordinates are independent. `N`, stored by columns, is the basis of the null space of `Phi_q` with `PT N = I`; `S` is the inverse
of the reduced mass matrix `N^T M N`, stored as its Cholesky factor.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..compilation.compiled import compiled, matrix, window
from ..jacobians.signatures import Array, Tables
from ..system import layout as lay
from ..system.layout import header
from ..system.system import System


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


def new_displaced(system: System, P: NDArray[np.float64]) -> Displaced:
    """Scratch for the derivatives in the chart `z = P q`."""
    return Displaced(new_store(system, P, complex), system.workspace(complex), system.workspace())


def new_store(system: System, P: NDArray[np.float64], dtype: DTypeLike = float) -> Array:
    """A store for the chart `z = P q`."""
    n, (nq, nv, nc) = len(P), (system.nq, system.nv, system.nc)
    matrices, vectors, continuation = n * nq + 2 * n * nv + n * n, nv + 2 * nc + nq + n, 2 * nq + nc + 2 * n
    store = np.zeros(matrices + vectors + continuation, dtype=dtype)
    store[:P.size] = P.ravel()
    return store
