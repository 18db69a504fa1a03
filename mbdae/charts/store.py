"""What belongs to a chart at one configuration, in one array that kernels receive as `store`.

`P` selects or combines the independent coordinates, `z = P q`; with `PT = P T(q)` the matrix `K = [Phi_q; PT]` is square and regular
as long as the chart is good. `N`, kept by its columns, is the basis of the null space of `Phi_q` with `PT N = I`, and `S` the inverse
of the reduced mass matrix `N^T M N`, which is kept as its Cholesky factor.
"""

import numpy as np

from ..compilation.compiled import compiled, matrix, window
from ..system import layout as lay
from ..system.layout import header


@compiled
def _sizes(model):
    head = header(model)
    return head[lay.NQ], head[lay.NV], head[lay.NC]


@compiled
def chart(n, model, store):
    """`P`, shape (n, nq)."""
    return matrix(store, 0, n, header(model)[lay.NQ])


@compiled
def bases(n, model, store):
    """`PT` and the columns of `N`, shape (n, nv) both, and the Cholesky factor of `S`, shape (n, n)."""
    nq, nv, _ = _sizes(model)
    at = n * nq
    return matrix(store, at, n, nv), matrix(store, at + n * nv, n, nv), matrix(store, at + 2 * n * nv, n, n)


@compiled
def scratch(n, model, store):
    """Vectors of the lengths `nv nv nc nc nq nq n n`."""
    nq, nv, nc = _sizes(model)
    at = n * nq + 2 * n * nv + n * n
    return (window(store, at, nv), window(store, at + nv, nv), window(store, at + 2 * nv, nc), window(store, at + 2 * nv + nc, nc),
            window(store, at + 2 * (nv + nc), nq), window(store, at + 2 * (nv + nc) + nq, nq),
            window(store, at + 2 * (nv + nc + nq), n), window(store, at + 2 * (nv + nc + nq) + n, n))


@compiled
def course(n, model, store):
    """Vectors of the lengths `nq nq nc n n` for the way to new positions."""
    nq, nv, nc = _sizes(model)
    at = n * nq + 2 * n * nv + n * n + 2 * (nv + nc + nq + n)
    return (window(store, at, nq), window(store, at + nq, nq), window(store, at + 2 * nq, nc), window(store, at + 2 * nq + nc, n),
            window(store, at + 2 * nq + nc + n, n))


def new_store(system, P, dtype=float):
    """A store for the chart `z = P q`."""
    n, (nq, nv, nc) = len(P), (system.nq, system.nv, system.nc)
    store = np.zeros(n * nq + 2 * n * nv + n * n + 2 * (nv + nc + nq + n) + 2 * nq + nc + 2 * n, dtype=dtype)
    store[:P.size] = P.ravel()
    return store
