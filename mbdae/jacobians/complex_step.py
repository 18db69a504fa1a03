"""Derivatives of compiled residuals by the complex step: exact to rounding, for the price of one evaluation per group of columns."""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import generic

COMPLEX_STEP = 1e-100


class Sweep(NamedTuple):
    """Columns and entries of a sparse Jacobian, group by group.

    Group `g` perturbs `columns[column_ptr[g]:column_ptr[g + 1]]`; its entries are `values[entries[k]]` in the rows `rows[k]` with
    `entry_ptr[g] <= k < entry_ptr[g + 1]`.
    """

    column_ptr: np.ndarray
    columns: np.ndarray
    entry_ptr: np.ndarray
    entries: np.ndarray
    rows: np.ndarray


def sweep_of(pattern, groups):
    """The `Sweep` of a CSC pattern whose columns have been grouped."""
    column_of = np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
    columns, entries = np.argsort(groups, kind="stable"), np.argsort(groups[column_of], kind="stable")
    ends = np.arange(groups.max(initial=-1) + 2)
    column_ptr, entry_ptr = (np.searchsorted(g, ends) for g in (groups[columns], groups[column_of][entries]))
    return Sweep(*(x.astype(np.int64) for x in (column_ptr, columns, entry_ptr, entries, pattern.indices[entries])))


@generic
def directional(residual, t, y, yd, a, b, sweep, z, zd, out, values, arguments):
    """`values` of `a F_y + b F_yd`; `z`, `zd`, `out` are complex scratch."""
    column_ptr, columns, entry_ptr, entries, rows = sweep
    z[:] = y
    zd[:] = yd
    for g in range(column_ptr.shape[0] - 1):
        for k in range(column_ptr[g], column_ptr[g + 1]):
            j = columns[k]
            z[j], zd[j] = complex(y[j], a * COMPLEX_STEP), complex(yd[j], b * COMPLEX_STEP)
        residual(t, z, zd, out, *arguments)
        for k in range(entry_ptr[g], entry_ptr[g + 1]):
            values[entries[k]] = out[rows[k]].imag / COMPLEX_STEP
        for k in range(column_ptr[g], column_ptr[g + 1]):
            j = columns[k]
            z[j], zd[j] = y[j], yd[j]
