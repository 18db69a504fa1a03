"""Polynomials and hinges at the times of the stages of a formula, and what is known of a kink."""

import numpy as np

from ...compilation.structure import Structure
from ...typing import Matrix, Vector

DEGREE = 5  # of the polynomials
PLACES = 64  # of hinges
FEWEST = 10  # stages of a formula for which residuals of the polynomials are left to be explained


class Kink(Structure):
    """The plan for the kink that was found last, see `kinks`."""

    stage: int  # what the present step is: NOTHING, BEFORE or ACROSS
    across: float  # length of the step across it
    rejected: float  # length of the longest step that was rejected at this time


class Hinges(Structure):
    """Orthonormal polynomials at the times `c` of the stages, and normalised hinges `max(c - tau, 0)` orthogonal to them, by rows.

    There are none for few stages.
    """

    c: Vector
    smooth: Matrix
    hinges: Matrix
    places: Vector  # `tau` of the hinges


def no_kink() -> Kink:
    """None is known."""
    return Kink(stage=0, across=0.0, rejected=0.0)


def hinges_of(c: Vector) -> Hinges:
    """Those of a formula with stages at `c`."""
    n = PLACES if len(c) >= FEWEST else 0
    smooth = np.linalg.qr(np.polynomial.legendre.legvander(2.0 * c - 1.0, DEGREE))[0] if n else np.zeros((len(c), 0))
    places = (np.arange(n) + 0.5) / PLACES
    hinges = np.maximum(c[:, np.newaxis] - places, 0.0)
    hinges -= smooth @ (smooth.T @ hinges)
    return Hinges(c=c.copy(), smooth=np.ascontiguousarray(smooth.T), places=places,
                  hinges=np.ascontiguousarray((hinges / np.linalg.norm(hinges, axis=0)).T))
