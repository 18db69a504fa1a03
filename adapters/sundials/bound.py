"""A problem bound to a library of SUNDIALS for one run: its tables, and the addresses of its callbacks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.typing import Vector

from .. import storage
from ..direct import bound
from .callbacks import Derivatives, Equations, jacobian_address, residual_address, rhs_address
from .library import Library
from .session import Session

_P = ctypes.c_void_p
_IDA_JACOBIAN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_double, *(_P,) * 8)
_CVODE_JACOBIAN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *(_P,) * 7)


class Bound(bound.Bound):
    """A problem bound to a library: its tables, and the addresses of its callbacks.

    Parameters
    ----------
    library : Library
    callbacks : SolverCallbacks
        Gets what has been counted, and keeps exceptions of functions in Python.
    forward : {1.0, -1.0}
    linsolver : {"dense", "sparse", "kkt"}

    Attributes
    ----------
    values : ndarray
        Of the Jacobian, in the order of the pattern; empty where it is kept in another way.
    """

    def __init__(self, library: Library, callbacks: SolverCallbacks, forward: float, linsolver: str) -> None:
        super().__init__(callbacks, forward)
        self.library, self.linsolver = library, linsolver
        p, sparse, own = self.problem, linsolver == "sparse", linsolver == "kkt"
        self.values = np.zeros(p.pattern.nnz if p.implicit and (sparse or own) else 0)
        kind = "SUNSparseMatrix" if sparse else "SUNDenseMatrix"
        addresses = (library.address(f"SUNSparseMatrix_{name}") if sparse else 0 for name in ("IndexValues", "IndexPointers"))
        self.equations = Equations(**self.tables(), vector_data=library.address("N_VGetArrayPointer"),
                                   matrix_data=0 if own else library.address(f"{kind}_Data"),
                                   **dict(zip(("index_values", "index_pointers"), addresses)))

    # the equations -------------------------------------------------------------------------------------------------------

    def residual(self) -> int:
        """Address of the callback for the residual."""
        return residual_address(self.problem.kernel, self.equations)

    def rhs(self) -> int:
        """Address of the callback for the right-hand side."""
        return rhs_address(self.problem.kernel, self.equations)

    # Jacobians -----------------------------------------------------------------------------------------------------------

    def exact_jacobian(self) -> int:
        """Address of the compiled callback for the exact Jacobian."""
        p, pattern, index = self.problem, self.problem.pattern, self.library.index
        rows, columns = storage.positions(pattern)
        if self.linsolver == "dense":
            values, places = np.empty(pattern.nnz), columns.astype(np.int64) * p.m + rows
        else:
            values, places = self.values, np.zeros(0, dtype=np.int64)
        data = Derivatives(**p.derivative_arguments._asdict(), values=values, places=places,
                           indices=pattern.indices.astype(index), indptr=pattern.indptr.astype(index))
        self.keep(data)
        self.equations.derivatives = data._address
        return jacobian_address(p.derivative, self.equations, data)

    def jacobian_in_python(self) -> int:
        """Address of a callback for the Jacobian of a strategy."""
        store = {"dense": storage.dense(self.problem), "sparse": self._store_sparse(), "kkt": self._store_values}[self.linsolver]
        evaluate = self.callbacks.jacobian(store)

        def jacobian(t: float, c: float, y: int, yp: int, r: int, J: int, *others: int) -> int:
            self.callbacks.calls = self.guard.calls
            residual = self._vector(r, self.problem.m).copy()
            matrix = self._dense(J) if self.linsolver == "dense" else J
            return evaluate(t, self._vector(y).copy(), self._vector(yp).copy(), c, matrix, residual)

        return self.address(_IDA_JACOBIAN(jacobian))

    def rhs_jacobian(self) -> int:
        """Address of a callback for the Jacobian of the right-hand side."""
        evaluate = self.callbacks.rhs_jacobian()

        def jacobian(t: float, y: int, f: int, J: int, *others: int) -> int:
            self.pass_on()
            self._dense(J)[:, :] = evaluate(t, self._vector(y).copy())
            return -1 if self.callbacks.error is not None else 0

        return self.address(_CVODE_JACOBIAN(jacobian))

    def _vector(self, at: int, n: int | None = None) -> Vector:
        data = ctypes.cast(self.library.N_VGetArrayPointer(at), ctypes.POINTER(ctypes.c_double))
        return np.ctypeslib.as_array(data, (self.problem.n if n is None else n,))

    def _dense(self, J: int) -> Vector:
        """A dense matrix of the library, which stores it by columns."""
        n = self.problem.n
        data = ctypes.cast(self.library.SUNDenseMatrix_Data(J), ctypes.POINTER(ctypes.c_double))
        return np.ctypeslib.as_array(data, (n, n)).T

    def _store_sparse(self) -> Callable[[Vector, int], None]:
        pattern, lib = self.problem.pattern, self.library
        whole = ctypes.c_int32 if lib.index == np.int32 else ctypes.c_int64

        def store(values: Vector, J: int) -> None:
            for function, kind, content in ((lib.SUNSparseMatrix_Data, ctypes.c_double, values),
                                            (lib.SUNSparseMatrix_IndexValues, whole, pattern.indices),
                                            (lib.SUNSparseMatrix_IndexPointers, whole, pattern.indptr)):
                np.ctypeslib.as_array(ctypes.cast(function(J), ctypes.POINTER(kind)), content.shape)[:] = content

        return store

    def _store_values(self, values: Vector, J: int) -> None:
        self.values[:] = values

    # failures ------------------------------------------------------------------------------------------------------------

    def failure(self, session: Session, code: int, t: float) -> SolverFailure:
        """A call of the solver that has failed after the time `t`; after `check`."""
        return self.explained(SolverFailure(*session.failure(code)), t)
