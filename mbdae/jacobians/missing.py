"""What the first evaluation of a grouped difference is checked for: entries that the pattern lacks, wrong known values."""

import numpy as np

from .quotients import EPS, columns_of, rounded

_SEED = 20070
_USUAL = {"forward": 1e-6, "central": 1e-8, "complex": 1e-12}  # errors by truncation and rounding, relative to the terms of a row
_ROUNDING = 16.0 * EPS  # errors of the function, relative to its value
_CURVED = 8.0  # times the observed truncation error of the direction
_FAR, _GROWS = 256.0, 16.0  # displacements so much larger change a row at least so much more, unless it is by rounding


def check_pattern(along, x, steps, J, known, scheme, names, size):
    """Compare a Jacobian with the derivative along a random direction, and look for the reason where they disagree.

    Parameters
    ----------
    along : callable
        `along(d, columns)`: the derivative along `d` in the columns, by the scheme and with no pattern, shape (m,).
    x, steps : ndarray, shape (n,)
        The point, and increments.
    J : csc_array, shape (m, n)
        What was found.
    known : ndarray of bool, shape (nnz,)
        Entries of `J` that were not found but given.
    scheme : str
    names : tuple of str
        Of the function and of its variable.
    size : callable
        `size()`: absolute values of the function, shape (m,).

    Raises
    ------
    ValueError
        If a row depends on a column that the pattern lacks, or a known value is wrong.
    """
    d = _direction(x, steps, scheme)
    everything = np.arange(len(x))
    found, expected = along(d, everything), J @ d
    with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite so far off tell nothing
        defect = np.abs(found - expected)
        suspicious = defect > _USUAL[scheme] * (abs(J) @ np.abs(d))
    if not suspicious.any():
        return
    twice = along(2.0 * d, everything)
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious &= ~(defect <= _CURVED * np.abs(0.5 * twice - found))
    for row in np.flatnonzero(suspicious):
        _find_missing(along, d, J, row, names)
        _find_wrong(along, steps, J, known, row, scheme, names, size)


def _direction(x, steps, scheme):
    rng = np.random.default_rng(_SEED)
    d = steps * rng.uniform(0.5, 1.0, len(x)) * rng.choice([-1.0, 1.0], len(x))
    return d if scheme == "complex" else rounded(x, d)


def _find_missing(along, d, J, row, names):
    """Displace only what the pattern says the row does not depend on: that must not change it, however curved it may be."""
    present = columns_of(J)[row == J.indices]

    def depends(columns):
        near, far = (abs(along(s * d, columns)[row]) for s in (1.0, _FAR))
        return near > 0.0 and far > _GROWS * near

    column = one_of(depends, np.setdiff1d(np.arange(len(d)), present))
    if column is not None:
        raise ValueError(f"{names[0]} depends on {names[1]}[{column}] in row {row}, which the pattern lacks; add the entry "
                         f"({row}, {column})")


def one_of(depends, columns):
    """One of the columns on which something depends, or `None`."""
    if not len(columns) or not depends(columns):
        return None
    while len(columns) > 1:
        half = columns[:len(columns) // 2]
        columns = half if depends(half) else columns[len(columns) // 2:]
    return int(columns[0]) if depends(columns) else None


def _find_wrong(along, steps, J, known, row, scheme, names, size):
    """Compare the known entries of a row with differences; what rounding or truncation does changes with the increment."""
    entries = np.flatnonzero(known & (row == J.indices))
    rounding = _ROUNDING * size()[row] if len(entries) and scheme != "complex" else 0.0
    for entry in entries:
        column = np.searchsorted(J.indptr, entry, side="right") - 1
        near, far = (along(s * steps, np.array([column]))[row] / (s * steps[column]) for s in (1.0, _FAR))
        given = J.data[entry]
        off, still_off = near - given, far - given
        visible = abs(off) > _USUAL[scheme] * abs(near) and abs(still_off) * _FAR * steps[column] > rounding
        if visible and abs(off - still_off) < 0.5 * abs(off):
            raise ValueError(f"the known value of the entry ({row}, {column}) is {given:.6g}, but the derivative of {names[0]} by "
                             f"{names[1]}[{column}] in this row is about {near:.6g}")
