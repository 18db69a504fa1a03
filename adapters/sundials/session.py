"""One IDA or CVODE in the memory of its library."""

import ctypes
import os
from ctypes import POINTER, c_double, c_long, c_void_p
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from mbdae.results.status import Status
from mbdae.typing import Vector

from .library import OPERATIONS, Library
from .linear import OwnSolver
from .march import ONE_STEP
from .own_solver import fill_in, set_content

CSC, THREADS = 0, 1  # of sparse matrices and of their factorisation
ADAMS, BDF = 1, 2
MANY_STEPS = 1_000_000_000  # of one call of the solver, which takes one

FAILURES = {  # codes that IDA and CVODE share
    -1: (Status.SOLVER_FAILED, "the solver has taken too many steps"),
    -2: (Status.SOLVER_FAILED, "the tolerances are below what rounding permits"),
    -3: (Status.STEP_TOO_SMALL, "the error test has failed repeatedly, or with the smallest step size"),
    -4: (Status.NEWTON_FAILED, "Newton's iteration has not converged repeatedly, or with the smallest step size"),
    -5: (Status.SOLVER_FAILED, "the linear solver could not be initialised"),
    -6: (Status.NEWTON_FAILED, "the iteration matrix could not be factorised"),
    -7: (Status.NEWTON_FAILED, "the linear solver has failed"),
    -8: (Status.SOLVER_FAILED, "the equations could not be evaluated"),
    -9: (Status.SOLVER_FAILED, "the equations could not be evaluated at the first step"),
    -10: (Status.SOLVER_FAILED, "the equations could not be evaluated repeatedly"),
    -11: (Status.SOLVER_FAILED, "the equations could not be evaluated"),
}
OF_IDA = {-9: (Status.SOLVER_FAILED, "the equations could not be evaluated repeatedly"),
          -12: (Status.SOLVER_FAILED, "the equations could not be evaluated at the start")}
OF_CVODE = {-27: (Status.STEP_TOO_SMALL, "the initial and the final time are too close to each other")}


class SolverError(RuntimeError):
    """A call of SUNDIALS was refused."""


class Session:
    """A solver of SUNDIALS, a context that frees it at its end.

    Parameters
    ----------
    library : Library
    name : {"IDA", "CVode"}
    n : int
        Number of unknowns.

    Attributes
    ----------
    memory, y, yp, inside : c_void_p
        The solver, and vectors of the unknowns, of their derivatives and for interpolation.
    """

    def __init__(self, library: Library, name: str, n: int) -> None:
        os.environ.setdefault("SUNLOGGER_WARNING_FILENAME", os.devnull)  # SUNDIALS would print its warnings
        self.library, self.name, self.n = library, name, n
        self.context, self.memory = c_void_p(), c_void_p()
        self._matrix: Any = None
        self._linear: Any = None
        self._factorises_before_free = False
        self._own: OwnSolver | None = None
        library.SUNContext_Create(None, ctypes.byref(self.context))
        if library.origin == "wheel":
            library.SUNContext_ClearErrHandlers(self.context)
        self.y, self.yp, self.inside, self._other = (c_void_p(library.N_VNew_Serial(n, self.context)) for _ in range(4))

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def view(self, vector: c_void_p) -> Vector:
        """The entries of a vector, as long as the session is open."""
        data = ctypes.cast(self.library.N_VGetArrayPointer(vector), POINTER(c_double))
        return np.ctypeslib.as_array(data, (self.n,))

    def call(self, function: str, *arguments: Any) -> int:
        """A function of the solver by its name behind `IDA` or `CVode`; codes of failures are raised."""
        code: int = getattr(self.library, self.name + function)(self.memory, *arguments)
        if code < 0:
            raise SolverError(f"SUNDIALS: {self.name}{function} returned {code}")
        return code

    def count(self, name: str) -> int:
        """A counter of the solver."""
        number = c_long()
        self.call(f"Get{name}", ctypes.byref(number))
        return number.value

    # making it ---------------------------------------------------------------------------------------------------------

    def start_ida(self, residual: int, t0: float, y0: Vector, yd0: Vector) -> None:
        """IDA at its initial values."""
        self._set(self.y, y0)
        self._set(self.yp, yd0)
        self.memory = c_void_p(self.library.IDACreate(self.context))
        self._without_reports()
        self.call("Init", c_void_p(residual), t0, self.y, self.yp)

    def start_cvode(self, rhs: int, t0: float, y0: Vector, multistep: int) -> None:
        """CVODE at its initial values, with the formulas `ADAMS` or `BDF`."""
        self._set(self.y, y0)
        self.memory = c_void_p(self.library.CVodeCreate(multistep, self.context))
        self._without_reports()
        self.call("Init", c_void_p(rhs), t0, self.y)

    def _without_reports(self) -> None:
        if self.library.origin == "system":
            self.call("SetErrFile", None)

    def _set(self, vector: c_void_p, values: Vector) -> None:
        self.view(vector)[:] = values

    def set_tolerances(self, rtol: float, atol: Vector) -> None:
        """Relative tolerance, and an absolute one for each unknown."""
        self._set(self._other, atol)
        self.call("SVtolerances", rtol, self._other)

    def set_algebraic(self, algebraic: "np.ndarray[Any, np.dtype[np.bool_]]", suppress: bool) -> None:
        """Which unknowns of IDA have no derivative, and whether these are left out of the error test."""
        self._set(self._other, np.where(algebraic, 0.0, 1.0))
        self.call("SetId", self._other)
        self.call("SetSuppressAlg", int(suppress))

    def use_dense(self) -> None:
        """Dense LU factors."""
        lib = self.library
        self._matrix = c_void_p(lib.SUNDenseMatrix(self.n, self.n, self.context))
        self._linear = c_void_p(lib.SUNLinSol_Dense(self.y, self._matrix, self.context))
        self.call("SetLinearSolver", self._linear, self._matrix)

    def use_sparse(self, pattern: csc_array) -> None:
        """Sparse LU factors by SuperLU_MT, in one thread, or KLU."""
        lib = self.library
        self._matrix = c_void_p(lib.SUNSparseMatrix(self.n, self.n, int(pattern.nnz), CSC, self.context))
        if lib.origin == "wheel":
            self._linear = c_void_p(lib.SUNLinSol_SuperLUMT(self.y, self._matrix, THREADS, self.context))
            self._factorises_before_free = True
        else:
            self._linear = c_void_p(lib.SUNLinSol_KLU(self.y, self._matrix, self.context))
        self.call("SetLinearSolver", self._linear, self._matrix)

    def use_own(self, solver: OwnSolver, solve: Any) -> None:
        """Factors of mbdae, with the function that solves with them."""
        lib, self._own = self.library, solver
        layout = lib.linear_solvers
        self._matrix = c_void_p(lib.SUNDenseMatrix(1, 1, self.context))  # IDA wants to have one
        self._linear = c_void_p(lib.SUNLinSolNewEmpty(self.context))
        assert self._linear.value is not None
        fill_in(self._linear.value, layout, solver, lib.address(OPERATIONS["gettype"]), solve)
        self.call("SetLinearSolver", self._linear, self._matrix)

    # running it -----------------------------------------------------------------------------------------------------------

    def step(self, t_end: float) -> tuple[int, float]:
        """One step; the code of the solver and the time that it has reached."""
        reached = c_double()
        if self.name == "IDA":
            code = self.library.IDASolve(self.memory, t_end, ctypes.byref(reached), self.y, self.yp, ONE_STEP)
        else:
            code = self.library.CVode(self.memory, t_end, self.y, ctypes.byref(reached), ONE_STEP)
        return code, reached.value

    def interpolated(self, t: float, derivative: int = 0) -> Vector:
        """The unknowns or their derivatives at a time within the last step, by the polynomial of the solver."""
        self.call("GetDky", t, derivative, self.inside)
        return self.view(self.inside).copy()

    def failure(self, code: int) -> tuple[Status, str]:
        """Status and reason of a failed step."""
        known = FAILURES | (OF_IDA if self.name == "IDA" else OF_CVODE)
        status, reason = known.get(code, (Status.SOLVER_FAILED, "the solver has failed"))
        return status, f"SUNDIALS: {reason} (code {code} of {self.name.upper()})"

    def close(self) -> None:
        """Free everything."""
        lib = self.library
        # SuperLU_MT frees factors that do not exist where it has not factorised, and crashes: its few bytes are left
        frees = self._linear is not None and not (self._factorises_before_free and self._factorisations() == 0)
        if self.memory:
            getattr(lib, f"{self.name}Free")(ctypes.byref(self.memory))
        if self._own is not None and self._linear is not None:
            set_content(self._linear.value, None)
        if frees:
            lib.SUNLinSolFree(self._linear)
        if self._matrix is not None:
            lib.SUNMatDestroy(self._matrix)
        for vector in (self.y, self.yp, self.inside, self._other):
            lib.N_VDestroy(vector)
        lib.SUNContext_Free(ctypes.byref(self.context))

    def _factorisations(self) -> int:
        return self.count("NumLinSolvSetups") if self.memory else 0
