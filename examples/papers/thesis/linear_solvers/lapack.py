"""LAPACK's solvers in loops of compiled code: what they cost without a call from Python, which takes longer than a small system does.

Every loop puts matrix and right-hand side back before it solves, as they are overwritten.
"""

from ctypes import CFUNCTYPE, c_void_p
from functools import cache

import numpy as np
from numba import njit
from numba.extending import get_cython_function_address

from mbdae.compilation.compiled import compiled

from .contenders import Prepared

_ONE = np.ones(1, dtype=np.int32)
_LOWER = np.array([ord("L")], dtype=np.uint8)


@compiled
def _restore(repeats, A0, A, b, x):
    for _ in range(repeats):
        for k in range(A.shape[0]):
            A[k] = A0[k]
        for k in range(x.shape[0]):
            x[k] = b[k]


def _routine(name, count):
    """A routine of LAPACK with `count` arguments, all of them pointers."""
    return CFUNCTYPE(None, *[c_void_p] * count)(get_cython_function_address("scipy.linalg.cython_lapack", name))


# Compiled code that holds an address cannot be kept on disk; each loop is compiled on first use.


@cache
def _dgesv():
    call = _routine("dgesv", 8)

    @njit
    def loop(repeats, A0, A, b, x, n, pivots, info):
        for _ in range(repeats):
            _restore(1, A0, A, b, x)
            call(n.ctypes, _ONE.ctypes, A.ctypes, n.ctypes, pivots.ctypes, x.ctypes, n.ctypes, info.ctypes)

    return loop


@cache
def _dsysv():
    call = _routine("dsysv", 11)

    @njit
    def loop(repeats, A0, A, b, x, n, pivots, info, work, size):
        for _ in range(repeats):
            _restore(1, A0, A, b, x)
            call(_LOWER.ctypes, n.ctypes, _ONE.ctypes, A.ctypes, n.ctypes, pivots.ctypes, x.ctypes, n.ctypes, work.ctypes, size.ctypes,
                 info.ctypes)

    return loop


@cache
def _dposv():
    call = _routine("dposv", 8)

    @njit
    def loop(repeats, A0, A, b, x, n, info):
        for _ in range(repeats):
            _restore(1, A0, A, b, x)
            call(_LOWER.ctypes, n.ctypes, _ONE.ctypes, A.ctypes, n.ctypes, x.ctypes, n.ctypes, info.ctypes)

    return loop


@cache
def _dppsv():
    call = _routine("dppsv", 7)

    @njit
    def loop(repeats, A0, A, b, x, n, info):
        for _ in range(repeats):
            _restore(1, A0, A, b, x)
            call(_LOWER.ctypes, n.ctypes, _ONE.ctypes, A.ctypes, x.ctypes, n.ctypes, info.ctypes)

    return loop


@cache
def _dpbsv():
    call = _routine("dpbsv", 9)

    @njit
    def loop(repeats, A0, A, b, x, n, info, width, rows):
        for _ in range(repeats):
            _restore(1, A0, A, b, x)
            call(_LOWER.ctypes, n.ctypes, width.ctypes, _ONE.ctypes, A.ctypes, rows.ctypes, x.ctypes, n.ctypes, info.ctypes)

    return loop


def _prepared(loop, A0, b, *more):
    A, x, n = np.empty_like(A0), np.empty_like(b), np.array([len(b)], dtype=np.int32)
    return Prepared(lambda repeats: loop(repeats, A0, A, b, x, n, *more), lambda repeats: _restore(repeats, A0, A, b, x), x)


def _integers(*values):
    return [np.array([v], dtype=np.int32) for v in values]


def general(A, b):
    """`dgesv`, which is `dgetrf` and `dgetrs`: LU with partial pivoting, dense."""
    return _prepared(_dgesv(), A.T.ravel(), b, np.empty(len(b), dtype=np.int32), *_integers(0))


def symmetric(A, b):
    """`dsysv`: Bunch-Kaufman factorisation of a symmetric matrix, dense."""
    size = 64 * len(b)
    return _prepared(_dsysv(), A.ravel(), b, np.empty(len(b), dtype=np.int32), *_integers(0), np.empty(size), *_integers(size))


def positive(A, b):
    """`dposv`: Cholesky factorisation of a positive definite matrix, dense."""
    return _prepared(_dposv(), A.ravel(), b, *_integers(0))


def packed(A, b):
    """`dppsv`: Cholesky factorisation of the lower triangle, stored column by column."""
    return _prepared(_dppsv(), np.concatenate([A[k:, k] for k in range(len(b))]), b, *_integers(0))


def banded(A, b):
    """`dpbsv`: Cholesky factorisation of the lower half of the band."""
    i, j = np.nonzero(A)
    width = int(max((i - j).max(initial=0), 0))
    band = np.zeros((len(b), width + 1))
    for k in range(width + 1):
        band[:len(b) - k, k] = np.diagonal(A, -k)
    return _prepared(_dpbsv(), band.ravel(), b, *_integers(0, width, width + 1))
