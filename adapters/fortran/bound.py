"""A problem bound to a Fortran code for one run: its tables, and the addresses of its callbacks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mbdae.driver.callbacks import FATAL, SolverCallbacks
from mbdae.typing import Integers, Matrix, Vector

from .. import storage
from ..direct import bound
from ..direct.guard import JACOBIAN
from .records import Derivatives, Equations

_JACOBIAN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *(ctypes.POINTER(ctypes.c_double),) * 5, ctypes.c_void_p, ctypes.c_void_p)
_RHS_JACOBIAN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *(ctypes.POINTER(ctypes.c_double),) * 6)


class Bound(bound.Bound):
    """A problem bound to a Fortran code.

    Parameters
    ----------
    callbacks : SolverCallbacks
        With the clock of the solver.
    band : storage.Band, optional
        Storage of the Jacobian, and order of the unknowns; by default it is dense.

    Attributes
    ----------
    equations : Equations
    """

    def __init__(self, callbacks: SolverCallbacks, band: storage.Band | None = None) -> None:
        super().__init__(callbacks, float(callbacks.direction))
        n = self.problem.n
        self.band = band
        order = np.zeros(0, dtype=np.int64) if band is None else band.order
        self.equations = Equations(**self.tables(), t0=float(callbacks.t0), order=order, y=np.zeros(n), yd=np.zeros(n), out=np.zeros(n),
                                   tried=np.full(1 + 2 * n, np.nan))

    def derivatives(self) -> Derivatives:
        """What the callback for the exact Jacobian needs; it is kept alive."""
        p = self.problem
        places, size = self._places()
        data = Derivatives(**p.derivative_arguments._asdict(), values=np.empty(p.pattern.nnz), places=places, size=size)
        self.keep(data)
        self.equations.derivatives = data._address
        return data

    def _places(self) -> tuple[Integers, int]:
        """Where the values of the Jacobian belong in the matrix of the solver, which has it by columns, and the size of that."""
        n = self.problem.n
        rows, columns = storage.positions(self.problem.pattern)
        if self.band is None:
            return columns.astype(np.int64) * n + rows, n * n
        rows, columns, length = self.band.place[rows], self.band.place[columns], self._length
        return columns * length + self.band.lower + self.band.upper + rows - columns, n * length

    @property
    def _length(self) -> int:
        """Of a column of the matrix of the solver."""
        return self.problem.n if self.band is None else 2 * self.band.lower + self.band.upper + 1

    def jacobian_in_python(self, evaluate: Callable[[float, Vector, Vector, float, Matrix], object]) -> int:
        """Address of a callback for the Jacobian of a strategy, `evaluate(s, y, yd, c, J)` with the columns of `J` as its rows."""
        n, shape = self.problem.n, (self.problem.n, self._length)

        def jacobian(number: int, s: Any, y: Any, yd: Any, matrix: Any, c: Any, rpar: int, ipar: int) -> None:
            self.pass_on()
            at, rate = (np.ctypeslib.as_array(x, (n,)).copy() for x in (y, yd))
            flag = evaluate(s[0], at, rate, c[0], np.ctypeslib.as_array(matrix, shape))
            if flag == FATAL or self.callbacks.error is not None:
                self.guard.fatal = JACOBIAN

        return self.address(_JACOBIAN(jacobian))

    def rhs_jacobian_in_python(self, evaluate: Callable[[float, Vector], Matrix], place: int) -> int:
        """Address of a callback `JAC(N, X, Y, ...)` of seven arguments for `evaluate(s, y)`, the matrix that of number `place`."""
        n = self.problem.n

        def jacobian(number: int, s: Any, y: Any, *others: Any) -> None:
            self.pass_on()
            np.ctypeslib.as_array(others[place - 3], (n, n)).T[:] = evaluate(s[0], np.ctypeslib.as_array(y, (n,)).copy())
            if self.callbacks.error is not None:
                self.guard.fatal = JACOBIAN

        return self.address(_RHS_JACOBIAN(jacobian))
