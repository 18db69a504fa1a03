"""Derivatives of compiled residuals by the complex step: exact to rounding, one evaluation per group of columns."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ..compilation.compiled import generic
from .signatures import Arrays, Indices, Vector

COMPLEX_STEP = 1e-100


class Sweep(NamedTuple):
    """Columns and entries of a sparse Jacobian, group by group.

    Group `g` perturbs `columns[column_ptr[g]:column_ptr[g + 1]]`; its entries are `values[entries[k]]` in the rows `rows[k]` with
    `entry_ptr[g] <= k < entry_ptr[g + 1]`.
    """

    column_ptr: Indices
    columns: Indices
    entry_ptr: Indices
    entries: Indices
    rows: Indices


def sweep_of(pattern: csc_array, groups: Indices) -> Sweep:
    """The `Sweep` of a CSC pattern with column groups."""
    column_of = np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
    columns, entries = np.argsort(groups, kind="stable"), np.argsort(groups[column_of], kind="stable")
    ends = np.arange(groups.max(initial=-1) + 2)
    column_ptr, entry_ptr = (np.searchsorted(g, ends) for g in (groups[columns], groups[column_of][entries]))
    return Sweep(*(x.astype(np.int64) for x in (column_ptr, columns, entry_ptr, entries, pattern.indices[entries])))


class ComplexBuffers(NamedTuple):
    """Complex scratch for the unknowns, their derivatives and the residual."""

    y: NDArray[np.complex128]
    yd: NDArray[np.complex128]
    out: NDArray[np.complex128]


@generic
def directional(residual: Callable[..., Any], t: float, y: Vector, yd: Vector, factors: tuple[float, float], groups: Arrays,
                scratch: Arrays, values: Vector, arguments: tuple[Any, ...]) -> None:
    """`values` of `a F_y + c F_yd` with the factors `(a, c)`; `groups` and `scratch` are the fields of `Sweep` and `ComplexBuffers`."""
    a, c = factors
    sweep, buffers = Sweep(*groups), ComplexBuffers(*scratch)
    z, zd, out = buffers.y, buffers.yd, buffers.out
    z[:] = y
    zd[:] = yd
    for g in range(sweep.column_ptr.shape[0] - 1):
        # complex step in the columns of the group
        for k in range(sweep.column_ptr[g], sweep.column_ptr[g + 1]):
            j = sweep.columns[k]
            z[j], zd[j] = complex(y[j], a * COMPLEX_STEP), complex(yd[j], c * COMPLEX_STEP)
        residual(t, z, zd, out, *arguments)
        # imaginary parts
        for k in range(sweep.entry_ptr[g], sweep.entry_ptr[g + 1]):
            values[sweep.entries[k]] = out[sweep.rows[k]].imag / COMPLEX_STEP
        for k in range(sweep.column_ptr[g], sweep.column_ptr[g + 1]):
            j = sweep.columns[k]
            z[j], zd[j] = y[j], yd[j]
