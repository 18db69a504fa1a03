"""The arrays and numbers of an integration by BDF."""

from typing import Any

import numpy as np

from ..compilation.structure import Structure
from ..typing import Integers, Matrix, Vector
from . import bdf_formulas as bdf
from .control.records import Run, State
from .iteration_matrix import Factors

UNKNOWN_ETA = 100.0  # ratio of error and correction while no contraction rate is known


class Memory(Structure):
    """Numbers that steps and attempts pass on.

    Attributes
    ----------
    order, last_order : int
        Of the next step and of the last one.
    last_step : float
        Its size.
    constant : int
        Steps of this size and order, as far as they count.
    starting : int
        1 while order and step size rise with every step.
    holding : int
        1 after a failure of the error test, until the order might have risen: the step size is not doubled.
    error_failures, newton_failures : int
        In the present step.
    next_order : int
        Of the step after the present one.
    factor : float
        Ratio of its size to this one, or that of another attempt.
    c : float
        Leading coefficient of the corrections.
    scale : float
        Ratio of the error estimate to the norm of the correction.
    eta : float
        Ratio of error and correction in Newton's method.
    rounding : float
        Of the unknowns, in the norm of Newton's convergence test.
    size : float
        Of the unknowns relative to the tolerances, where these are below rounding.
    end : float
        Time at the end of the attempt.
    asked : int
        What an attempt has asked for: `NOTHING`, or one of the others of `bdf_step`.
    status : int
        What has become of that; before, why the last iteration has failed.
    in_full : int
        1 if the matrix has been evaluated for this attempt, and not updated or reused.
    tries : int
        Evaluations in this attempt after failures.
    suspects : int
        1 if the Jacobian may lack entries.
    plans : int
        1 if Python sets the size of each step.
    """

    order: int
    last_order: int
    last_step: float
    constant: int
    starting: int
    holding: int
    error_failures: int
    newton_failures: int
    next_order: int
    factor: float
    c: float
    scale: float
    eta: float
    rounding: float
    size: float
    end: float
    asked: int
    status: int
    in_full: int
    tries: int
    suspects: int
    plans: int


class BdfRun(Run):
    """Arrays of an integration; `start`, `end` and `within` are views of `phi[0]`, `y` and `y_within`."""

    memory: Memory
    max_order: int
    norms: bdf.Norms
    factors: Factors
    phi: Matrix  # differences, see `bdf_formulas`
    table: Matrix
    weights: Matrix
    y: Vector  # at the end of the step
    yd: Vector
    e: Vector  # the correction of the prediction
    rate: Vector  # `yd` of the last accepted step
    first: Vector  # residual at the prediction
    later: Vector
    within: State
    y_within: Vector
    yd_within: Vector
    polynomials: Matrix  # scratch of the interpolation
    residual: Any  # called by its address, see `bdf_residual`
    parameters: Vector
    follow: Any
    redundant: Integers  # the redundant constraints, see `Problem.follow`
    followed: Vector  # the state of the last call
    drifts: int  # 1 if it evaluates the term against drift, too
    weight: float


def new_memory() -> Memory:
    """Before the first step."""
    return Memory(order=1, last_order=0, last_step=0.0, constant=0, starting=1, holding=0, error_failures=0, newton_failures=0,
                  next_order=1, factor=1.0, c=0.0, scale=0.0, eta=UNKNOWN_ETA, rounding=0.0, size=0.0, end=0.0, asked=0, status=0,
                  in_full=0, tries=0, suspects=0, plans=0)


def arrays_for(n: int) -> dict[str, Any]:
    """Those for `n` unknowns."""
    names = ("y", "yd", "e", "rate", "first", "later", "y_within", "yd_within")
    return {name: np.zeros(n) for name in names} | {"phi": np.zeros((bdf.DIFFERENCES, n)), "table": np.zeros(bdf.TABLE),
                                                    "weights": np.zeros((2, n)), "polynomials": np.zeros((2, bdf.DIFFERENCES))}
