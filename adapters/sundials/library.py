"""The C libraries of SUNDIALS: those that the wheel of scikit-sundae carries, or those of the system.

An interface that was not tested here is refused by name: a function with other arguments would overwrite memory.
"""

import ctypes
import ctypes.util
import functools
import importlib.util
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_long, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ORIGINS = ("wheel", "system")
TESTED = {"wheel": (7, 9), "system": (6, 4)}  # (major, minor) of each origin
PARTS = {"wheel": ("core", "nvecserial", "sunmatrixdense", "sunmatrixsparse", "sunlinsoldense", "sunlinsolsuperlumt", "ida", "cvode"),
         "system": ("generic", "nvecserial", "sunmatrixdense", "sunmatrixsparse", "sunlinsoldense", "sunlinsolklu", "ida", "cvode")}

_P, _D, _I, _L = c_void_p, c_double, c_int, c_long
_N = "sunindextype"

_CONTAINERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "SUNContext_Create": (_I, (_P, POINTER(_P))), "SUNContext_Free": (_I, (POINTER(_P),)),
    "N_VNew_Serial": (_P, (_N, _P)), "N_VGetArrayPointer": (_P, (_P,)), "N_VDestroy": (None, (_P,)),
    "SUNDenseMatrix": (_P, (_N, _N, _P)), "SUNDenseMatrix_Data": (_P, (_P,)),
    "SUNSparseMatrix": (_P, (_N, _N, _N, _I, _P)), "SUNSparseMatrix_Data": (_P, (_P,)),
    "SUNSparseMatrix_IndexValues": (_P, (_P,)), "SUNSparseMatrix_IndexPointers": (_P, (_P,)), "SUNMatDestroy": (None, (_P,)),
    "SUNLinSol_Dense": (_P, (_P, _P, _P)), "SUNLinSolNewEmpty": (_P, (_P,)), "SUNLinSolFree": (_I, (_P,)),
    "SUNLinSolGetType_Dense": (_I, (_P,)), "SUNLinSolSetup_Dense": (_I, (_P, _P)), "SUNLinSolSolve_Dense": (_I, (_P, _P, _P, _P, _D)),
    "SUNDIALSGetVersionNumber": (_I, (POINTER(_I), POINTER(_I), POINTER(_I), c_char_p, _I))}
_ONE_OF_TWO: dict[str, dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "wheel": {"SUNLinSol_SuperLUMT": (_P, (_P, _P, _I, _P)), "SUNContext_ClearErrHandlers": (_I, (_P,))},
    "system": {"SUNLinSol_KLU": (_P, (_P, _P, _P)), "IDASetErrFile": (_I, (_P, _P)), "CVodeSetErrFile": (_I, (_P, _P))}}
OPERATIONS = {"gettype": "SUNLinSolGetType_Dense", "setup": "SUNLinSolSetup_Dense", "solve": "SUNLinSolSolve_Dense"}
OPERATIONS_WORDS = 15  # of the table in SUNDIALS 6.4; later versions have more
_COUNTERS = ("NumSteps", "NumErrTestFails", "NumNonlinSolvIters", "NumNonlinSolvConvFails", "NumLinSolvSetups", "NumJacEvals")
_SETTINGS: dict[str, tuple[Any, ...]] = {  # further arguments of functions that both solvers have
    "SetUserData": (_P,), "SetMaxNumSteps": (_L,), "SetMaxOrd": (_I,), "SetMaxStep": (_D,), "SetInitStep": (_D,), "SetStopTime": (_D,),
    "SetLinearSolver": (_P, _P), "SetJacFn": (_P,), "SVtolerances": (_D, _P), "GetDky": (_D, _I, _P)}
_SOLVERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "IDACreate": (_P, (_P,)), "IDAInit": (_I, (_P, _P, _D, _P, _P)), "IDASolve": (_I, (_P, _D, POINTER(_D), _P, _P, _I)),
    "IDASetId": (_I, (_P, _P)), "IDASetSuppressAlg": (_I, (_P, _I)), "IDAFree": (None, (POINTER(_P),)),
    "CVodeCreate": (_P, (_I, _P)), "CVodeInit": (_I, (_P, _P, _D, _P)), "CVode": (_I, (_P, _D, _P, POINTER(_D), _I)),
    "CVodeFree": (None, (POINTER(_P),)), "CVodeSetLinSysFn": (_I, (_P, _P)),
    **{f"{solver}{name}": (_I, (_P, *more)) for solver in ("IDA", "CVode") for name, more in _SETTINGS.items()},
    **{f"{solver}Get{name}": (_I, (_P, POINTER(_L))) for solver in ("IDA", "CVode") for name in _COUNTERS},
    **{name: (_I, (_P, POINTER(_L))) for name in ("IDAGetNumResEvals", "IDAGetNumLinResEvals", "CVodeGetNumRhsEvals",
                                                  "CVodeGetNumLinRhsEvals")}}


class LibraryError(ImportError):
    """No library of SUNDIALS whose interface was tested is there."""


class LinearSolverLayout(NamedTuple):
    """Words of a linear solver: the place of the address of its table of functions, and the places of functions in that table."""

    table: int
    places: dict[str, int]


class Library:
    """Functions of SUNDIALS, as attributes by their C names.

    Attributes
    ----------
    origin : {"wheel", "system"}
    version : tuple of int
    index : dtype
        The integers of its matrices, `sunindextype`.
    sparse : str
        Its sparse direct solver.
    """

    def __init__(self, origin: str, files: Sequence[str]) -> None:
        self.origin, self.sparse = origin, "SuperLU_MT" if origin == "wheel" else "KLU"
        self._handles = [_load(f) for f in files]
        self.version = self._version()
        if self.version[:2] != TESTED[origin]:
            raise LibraryError(f"SUNDIALS {'.'.join(map(str, self.version))} of the {origin}: its interface was not tested, that of "
                               f"{'.'.join(map(str, TESTED[origin]))} was; backend='wrapper' calls it through scikit-sundae")
        self.index: np.dtype[Any] = np.dtype(np.int64)
        self._declare(_CONTAINERS | _ONE_OF_TWO[origin] | _SOLVERS, ctypes.c_int64)
        self.index = self._index_type()
        if self.index == np.int32:
            self._declare(_CONTAINERS, ctypes.c_int32)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"SUNDIALS {self.__dict__.get('version')}: {name} is not among the functions that are used")

    def address(self, name: str) -> int:
        """Of a function, for compiled code."""
        address = ctypes.cast(getattr(self, name), c_void_p).value
        assert address is not None
        return address

    def _declare(self, functions: dict[str, tuple[Any, tuple[Any, ...]]], index: Any) -> None:
        for name, (result, arguments) in functions.items():
            function = self._symbol(name)
            function.restype, function.argtypes = result, [index if a is _N else a for a in arguments]
            setattr(self, name, function)

    def _symbol(self, name: str) -> Any:
        for handle in self._handles:
            if hasattr(handle, name):
                return getattr(handle, name)
        raise LibraryError(f"SUNDIALS of the {self.origin} has no function {name}")

    def _version(self) -> tuple[int, ...]:
        numbers, label = [_I() for _ in range(3)], ctypes.create_string_buffer(32)
        self._symbol("SUNDIALSGetVersionNumber")(*map(ctypes.byref, numbers), label, 32)
        return tuple(x.value for x in numbers)

    def _index_type(self) -> "np.dtype[Any]":
        """From a vector: its data follow its length and a truth value of four bytes."""
        context = _P()
        self.SUNContext_Create(None, ctypes.byref(context))
        vector = self.N_VNew_Serial(3, context)
        content = c_void_p.from_address(vector).value
        assert content is not None
        data = self.N_VGetArrayPointer(vector)
        # the second place belongs to the vector only if its data do not stand at the first
        found = next((index for at, index in ((8, np.int32), (16, np.int64)) if c_void_p.from_address(content + at).value == data), None)
        self.N_VDestroy(vector)
        self.SUNContext_Free(ctypes.byref(context))
        if found is None:
            raise LibraryError(f"SUNDIALS of the {self.origin} has vectors of an unknown layout")
        return np.dtype(found)

    @functools.cached_property
    def linear_solvers(self) -> "LinearSolverLayout":
        """How its linear solvers are laid out, which depends on the version: read off a dense one, whose functions are known by address.

        Raises
        ------
        LibraryError
            If the context or one of the functions is not where it should be.
        """
        context = _P()
        self.SUNContext_Create(None, ctypes.byref(context))
        vector, matrix = self.N_VNew_Serial(1, context), self.SUNDenseMatrix(1, 1, context)
        solver = self.SUNLinSol_Dense(vector, matrix, context)
        head = _words(solver, 4)  # content, table, context, and something else in between in later versions
        table = head.index(context.value) - 1 if context.value in head else 0
        at = head[table] if table > 0 else None
        words = _words(at, OPERATIONS_WORDS) if at else []
        places = {name: words.index(self.address(of)) for name, of in OPERATIONS.items() if self.address(of) in words}
        self.SUNLinSolFree(solver)
        self.SUNMatDestroy(matrix)
        self.N_VDestroy(vector)
        self.SUNContext_Free(ctypes.byref(context))
        if len(places) < len(OPERATIONS):
            raise LibraryError(f"SUNDIALS {'.'.join(map(str, self.version))} of the {self.origin}: the layout of its linear solvers is not "
                               "known, which linsolver='kkt' needs; linsolver='sparse' does without")
        return LinearSolverLayout(table, places)


@functools.cache
def library(origin: str) -> Library:
    """The library of an origin, loaded once.

    Raises
    ------
    LibraryError
        If there is none, or if its interface was not tested.
    """
    if origin not in ORIGINS:
        raise ValueError(f"library: origin must be one of {', '.join(ORIGINS)}, got {origin!r}")
    return Library(origin, _files_of_the_wheel() if origin == "wheel" else _files_of_the_system())


def _words(address: int, n: int) -> list[int | None]:
    return [c_void_p.from_address(address + 8 * k).value for k in range(n)]


def _load(file: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(file)
    except OSError as error:
        raise LibraryError(f"SUNDIALS cannot be loaded: {error}") from error


def _files_of_the_wheel() -> list[str]:
    spec = importlib.util.find_spec("sksundae")
    if spec is None or spec.origin is None:
        raise LibraryError("scikit-sundae, whose wheel carries SUNDIALS, is not installed: pip install scikit-sundae")
    importlib.import_module("sksundae")  # loads what the libraries depend on
    folder, found = Path(spec.origin).parents[1] / "scikit_sundae.libs", []
    for part in PARTS["wheel"]:
        files = sorted(folder.glob(f"libsundials_{part}-*.so*"))
        if not files:
            raise LibraryError(f"the wheel of scikit-sundae carries no library sundials_{part} for this system")
        found.append(str(files[0]))
    return found


def _files_of_the_system() -> list[str]:
    found = []
    for part in PARTS["system"]:
        file = ctypes.util.find_library(f"sundials_{part}")
        if file is None:
            raise LibraryError(f"libsundials_{part} is not installed: apt-get install libsundials-dev")
        found.append(file)
    return found
