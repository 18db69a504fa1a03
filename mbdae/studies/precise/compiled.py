"""The equations of the stages by compiled kernels, in a process of their own: the other one evaluates kernels in extended precision."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from ... import library
from ...library.base import Parameters
from ...system.tree.system import TreeSystem
from ...typing import Matrix, Numbers, Vector
from .equations import Equations, JointEquations
from .stages import Found, Stages

_DISABLED = "NUMBA_DISABLE_JIT"
_prepared: list[Stages] = []  # one, in the process that runs `_prepare`


class CompiledStages:
    """`Stages` of a mechanism of the library in another process, where kernels are compiled.

    Parameters
    ----------
    name : str
    parameters : dict
    joint : bool
        Whether the unknowns are joint coordinates and rates.
    c, A : ndarray
        Nodes and matrix of the method.
    """

    def __init__(self, name: str, parameters: Parameters, joint: bool, c: Numbers, A: Numbers) -> None:
        self._process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        with _compiler():
            self._call(_prepare, name, parameters, joint, c.astype(float), A.astype(float))

    def solve(self, t: float, y: Vector, h: float, K: Matrix, sizes: Vector) -> Found | None:
        """As for `Stages`."""
        found: Found | None = self._call(_solve, t, y, h, K, sizes)
        return found

    def correct(self, residual: Matrix, rounded: Matrix | None = None) -> Matrix:
        """As for `Stages`."""
        d: Matrix = self._call(_correct, residual, rounded)
        return d

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()

    def _call(self, function: Any, *arguments: Any) -> Any:
        return self._process.submit(function, *arguments).result()


@contextmanager
def _compiler() -> Iterator[None]:
    """An environment in which a new process compiles kernels."""
    before = os.environ.pop(_DISABLED, None)
    try:
        yield
    finally:
        if before is not None:
            os.environ[_DISABLED] = before


def _prepare(name: str, parameters: Parameters, joint: bool, c: Vector, A: Matrix) -> None:
    system = library.system(name, **parameters)
    equations = JointEquations(TreeSystem(system.mechanism), float) if joint and system.mechanism is not None else Equations(system, float)
    _prepared[:] = [Stages(equations, c, A)]


def _solve(*arguments: Any) -> Found | None:
    return _prepared[0].solve(*arguments)


def _correct(*arguments: Any) -> Matrix:
    return _prepared[0].correct(*arguments)
