"""Routines in the extension modules of Fortran packages, by their addresses.

A version that was not tested is refused by name: a routine with other arguments would overwrite memory.
"""

import ctypes
import functools
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from numba.core import config

from mbdae.problems.base import Problem

from ..direct.bound import is_compiled

BACKENDS = ("auto", "library", "wrapper")
TESTED = {"scikits-odes-daepack": ("3.0.0",), "pyradau13": ("0.5",), "assimulo-testing": ("3.9.0b2",)}


class LibraryError(ImportError):
    """No library whose routines were tested is there."""


@functools.cache
def routine(package: str, module: str, name: str) -> int:
    """Address of a routine.

    Parameters
    ----------
    package : str
        Name of the distribution.
    module : str
        Its extension module.
    name : str
        The symbol.

    Raises
    ------
    LibraryError
        If the package is not installed, its version was not tested, or its library does not export the symbol.
    """
    try:
        found = version(package)
    except PackageNotFoundError as error:
        raise LibraryError(f"{package} is not installed") from error
    if found not in TESTED[package]:
        raise LibraryError(f"{package} {found}: its routines were not tested, those of {', '.join(TESTED[package])} were; "
                           "backend='wrapper' calls them through the package")
    file = import_module(module).__file__
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(file), name), ctypes.c_void_p).value
    except (AttributeError, OSError) as error:
        raise LibraryError(f"{package}: its library does not export {name}") from error
    assert address is not None
    return address


def called_directly(owner: str, backend: str, problem: Problem, package: str, module: str, *names: str) -> bool:
    """Whether a run calls routines in the library of a package.

    Raises
    ------
    LibraryError
        If `backend="library"` and it cannot be called.
    ValueError
        If `backend="library"` and compiled callbacks cannot be made for the problem.
    """
    if backend == "wrapper" or config.DISABLE_JIT:
        return False
    if not is_compiled(problem):
        if backend == "library":
            raise ValueError(f"{owner}: backend='library' needs compiled equations; the kernel of this problem is a function in Python")
        return False
    try:
        for name in names:
            routine(package, module, name)
    except ImportError:
        if backend == "library":
            raise
        return False
    return True
