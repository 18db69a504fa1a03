"""The arguments of a routine of Fortran, by their addresses, in memory that stays where it is."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np


class Arguments:
    """Keeps what a routine gets the addresses of."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray[Any, Any]] = []

    def real(self, x: float) -> int:
        """Address of a real number."""
        return self.array(np.array([x], dtype=float))

    def whole(self, x: int) -> int:
        """Address of an integer."""
        return self.array(integer(x))

    def array(self, x: np.ndarray[Any, Any]) -> int:
        """Address of the entries of a contiguous array."""
        self._kept.append(x)
        at: int = x.ctypes.data
        return at

    def work(self, reals: np.ndarray[Any, Any], integers: np.ndarray[Any, Any]) -> tuple[int, ...]:
        """Both work arrays, each with its length behind it."""
        return self.array(reals), self.whole(len(reals)), self.array(integers), self.whole(len(integers))


def integer(x: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """An integer of Fortran in memory of its own."""
    return np.array([x], dtype=np.int32)


def integer_with_address(x: int, address: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """An integer of Fortran with an address behind it, see `records.behind`: for callbacks that get the integer and no parameters."""
    words = np.array([0, address])
    words.view(np.int32)[0] = x
    return words.view(np.int32)


def call(routine: int, arguments: tuple[int, ...]) -> None:
    """Call a routine; it keeps the lock of the interpreter, as compiled code does."""
    _prototype(len(arguments))(routine)(*arguments)


@cache
def _prototype(count: int) -> Any:
    return ctypes.PYFUNCTYPE(None, *(ctypes.c_void_p,) * count)
