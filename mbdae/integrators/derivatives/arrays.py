"""The arrays of the derivatives of a form."""

from functools import cache
from typing import Any

import numpy as np
from numba import types

from ...compilation.compiled import by_address
from ...compilation.structure import Structure
from ...problems.base import Problem
from ...problems.known import positions_of_mass
from ...typing import Integers, Vector

_F, _X, _Z = types.float64, types.float64[::1], types.complex128[::1]
_SIGNATURE = types.void(_F, _X, _X, types.UniTuple(_F, 2), types.UniTuple(types.int64[::1], 5), types.UniTuple(_Z, 3), _X,
                        types.Tuple((types.uint8[::1], _Z)))


class FormDerivatives(Structure):
    """`F_y` and `F_yd` in the order of the pattern, and what their evaluation needs.

    Attributes
    ----------
    here : int
        1 if they are evaluated in compiled code.
    derive : compiled function
        `Problem.derivative`, called by its address, with its arguments `sweep`, `scratch` and `arguments`.
    state, rates : ndarray, shape (nnz,)
        `F_y` and `F_yd`.
    places, sources, signs : ndarray
        The assembly of `F_yd` from `pieces`, see `mbdae.problems.known`.
    pieces : ndarray
        A one, `masses` entries of the mass matrix, and those of `Phi_q` where `F_yd` contains them.
    """

    here: int
    derive: Any
    sweep: tuple[Integers, ...]
    scratch: tuple[np.ndarray, ...]
    arguments: tuple[np.ndarray, ...]
    state: Vector
    rates: Vector
    places: Integers
    sources: Integers
    signs: Vector
    pieces: Vector
    masses: int


def fields(problem: Problem, here: bool, gradients: bool = False) -> dict[str, Any]:
    """Those of `FormDerivatives` for a problem; with `gradients` its `F_yd` contains `Phi_q`."""
    made, pattern, entries, s = problem.derivative_arguments, problem.pattern, problem.known.rates, problem.system
    masses = len(positions_of_mass(s).rows)
    pieces = np.zeros(1 + masses + (s.nnz if gradients else 0))
    pieces[0] = 1.0
    return {"here": int(here), "derive": _derivative_of(problem.derivative), "sweep": made.sweep, "scratch": made.scratch,
            "arguments": made.arguments, "state": np.zeros(pattern.nnz), "rates": np.zeros(pattern.nnz), "places": entries.places,
            "sources": entries.sources, "signs": entries.signs, "pieces": pieces, "masses": masses}


@cache
def _derivative_of(derivative: Any) -> Any:
    """`Problem.derivative` as a function called by its address, so that the time loop is compiled once."""
    return by_address(derivative, _SIGNATURE)
