"""A problem bound to a library of SUNDIALS for one run: its tables, and the addresses of its callbacks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.problems.null_vectors import FOLLOW, NOTHING, NullVectors
from mbdae.results.status import Status
from mbdae.typing import Vector

from .. import storage
from .callbacks import EQUATIONS, JACOBIAN, NO_FAULT, Derivatives, Equations, Guard, jacobian_address, residual_address, rhs_address
from .library import Library
from .session import Session

_P = ctypes.c_void_p
_IDA_JACOBIAN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_double, *(_P,) * 8)
_CVODE_JACOBIAN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *(_P,) * 7)
AT_THE_GAP = 1e-6  # distance from a time at which the equations end, relative to it, within which this explains a failure


class Bound:
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
        self.library, self.callbacks, self.problem, self.linsolver = library, callbacks, callbacks.problem, linsolver
        p, sparse, own = self.problem, linsolver == "sparse", linsolver == "kkt"
        self.values = np.zeros(p.pattern.nnz if p.implicit and (sparse or own) else 0)
        self._kept: list[Any] = []  # what compiled code has the addresses of
        self.guard = Guard(calls=0, jacobians=0, bad=0, bad_in_a_row=0, last_bad=0, gap=np.inf, at_the_gap=0, direction=forward,
                           fatal=NO_FAULT, t=0.0, y=np.zeros(p.n), yd=np.zeros(p.n))
        kind = "SUNSparseMatrix" if sparse else "SUNDenseMatrix"
        addresses = (library.address(f"SUNSparseMatrix_{name}") if sparse else 0 for name in ("IndexValues", "IndexPointers"))
        null = NullVectors(np.zeros(0, dtype=np.int64), np.zeros(0), 0, 0.0) if p.null_vectors is None else p.null_vectors
        self.equations = Equations(n=p.n, m=p.m, guard=self.guard, arguments=p.arguments, model=p.model, work=p.arguments[1],
                                   follow=NOTHING if p.null_vectors is None else FOLLOW, **null._asdict(), derivatives=0,
                                   vector_data=library.address("N_VGetArrayPointer"),
                                   matrix_data=0 if own else library.address(f"{kind}_Data"),
                                   **dict(zip(("index_values", "index_pointers"), addresses)))

    def _keep(self, function: Any) -> int:
        self._kept.append(function)
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return address

    def keep(self, used: Any) -> None:
        """Keep alive what compiled code has the address of."""
        self._kept.append(used)

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
        self._kept.append(data)
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

        return self._keep(_IDA_JACOBIAN(jacobian))

    def rhs_jacobian(self) -> int:
        """Address of a callback for the Jacobian of the right-hand side."""
        evaluate = self.callbacks.rhs_jacobian()

        def jacobian(t: float, y: int, f: int, J: int, *others: int) -> int:
            self.pass_on()
            self._dense(J)[:, :] = evaluate(t, self._vector(y).copy())
            return -1 if self.callbacks.error is not None else 0

        return self._keep(_CVODE_JACOBIAN(jacobian))

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

    def pass_on(self) -> None:
        """Pass on what the compiled callbacks have counted."""
        self.callbacks.counted(self.guard.calls, self.guard.bad, self.guard.last_bad)

    def check(self) -> None:
        """Raise the exceptions of user functions and of Ctrl-C."""
        self.callbacks.raise_kept()
        self.problem.system.callbacks.check()

    def failure(self, session: Session, code: int, t: float) -> SolverFailure:
        """A call of the solver that has failed after the time `t`; after `check`."""
        return self.explained(SolverFailure(*session.failure(code)), t)

    def explained(self, failure: SolverFailure, t: float) -> SolverFailure:
        """A failure after the time `t`, traced back to values that were not finite if they have caused it."""
        self.pass_on()
        guard = self.guard
        gap = guard.gap if guard.at_the_gap > 0 else np.inf
        if guard.bad and failure.status == Status.STEP_TOO_SMALL:  # at the end of the last step the equations may be finite
            gap = min(gap, guard.direction * guard.t)
        at_the_gap = abs(guard.direction * t - gap) <= AT_THE_GAP * abs(t)
        if guard.bad and (guard.calls - guard.last_bad < self.callbacks.recent or at_the_gap):
            self.callbacks.met(self._fault())
        if guard.fatal == EQUATIONS or at_the_gap:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {guard.t:.9g}")
        if guard.fatal == JACOBIAN:
            return SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {guard.t:.9g}")
        return failure

    def _fault(self) -> Any:
        """Why the equations are not finite at the first evaluation of the last ones that were not."""
        p, guard = self.problem, self.guard
        with p.undisturbed():
            p.residual(guard.t, guard.y.copy(), guard.yd.copy())
            return p.fault(guard.t)
