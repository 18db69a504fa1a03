"""The arrays of an integration by the SDIRK method with sparse matrices."""

from typing import Any

import numpy as np

from ...compilation.structure import Structure
from ...problems.base import Problem
from ...problems.known import Map
from ...typing import Integers, Matrix, Vector
from ..control.records import Run, State
from ..derivatives.arrays import FormDerivatives, fields
from ..iteration_matrix import Factors
from ..projections.levels import Projection
from ..state_space.arrays import SdirkCoefficients
from ..state_space.sdirk_tableau import Sdirk

NOTHING, DERIVATIVES, CHOICE, FACTORS, ROOM = range(5)  # what an attempt asks for


class Memory(Structure):
    """Numbers that steps and attempts pass on.

    Attributes
    ----------
    asked, status : int
        What an attempt has asked for, and what has become of that.
    age : int
        Steps since the derivatives were evaluated, negative if new ones are wanted.
    formed : float
        Step size for which the matrix is factorised, 0 for none.
    eta, next_eta : float
        Ratio of error and correction in Newton's method, and its value if the step is accepted.
    rate : float
        Largest contraction rate of a stage of the last attempt.
    choose : int
        1 if independent coordinates are to be chosen.
    worst : float
        Smallest pivot of the last factors for positions and velocities, relative to the largest entry of its row.
    first_worst : float
        That where the coordinates were chosen.
    """

    asked: int
    status: int
    age: int
    formed: float
    eta: float
    next_eta: float
    rate: float
    choose: int
    worst: float
    first_worst: float


class Rows(Structure):
    """A sparse matrix by rows; `places` of its values in two arrays, `-1 - place` in the second one; usual `sizes` of rows, or 0."""

    start: Integers
    columns: Integers
    values: Vector
    places: Integers
    sizes: Vector


class Elimination(Structure):
    """Factors by `elimination.eliminate`.

    Attributes
    ----------
    order, pivots : ndarray of int, shape (n,)
        Row and column of each pivot.
    start, end, columns, values, diagonal : ndarray
        Rows of the upper factor in this order, divided by their pivots, which are `diagonal`.
    first, last, sources, factors : ndarray
        For each row those that were subtracted, and how many times.
    place_of, x, listed, used : ndarray
        Scratch: for each column the place of its pivot, its value, and which columns a row has.
    """

    order: Integers
    pivots: Integers
    start: Integers
    end: Integers
    columns: Integers
    values: Vector
    diagonal: Vector
    first: Integers
    last: Integers
    sources: Integers
    factors: Vector
    place_of: Integers
    x: Vector
    listed: Integers
    used: Integers


class Partition(Structure):
    """The coordinates in use.

    Attributes
    ----------
    jacobian : Rows
        That of the positions.
    scales : ndarray, shape (nq,)
        Factors of the columns in the choice of pivots.
    pivots : ndarray of int
        The pivot of each row.
    independent, kept : ndarray of int, shapes (n,) and (nv - n,)
        The independent coordinates and the constraints that are not redundant.
    norms : ndarray of int
        The first coordinate of each quaternion.
    room : int
        Entries that the elimination may make.
    """

    jacobian: Rows
    scales: Vector
    pivots: Integers
    independent: Integers
    kept: Integers
    norms: Integers
    room: int


class Basis(Structure):
    """The matrix `[Phi_q; P T]` of positions and velocities, with the constraints that are kept.

    Attributes
    ----------
    rows : Rows
    b, move, trial : ndarray
        Scratch.
    elimination : Elimination
    map_ : tuple
        See `mbdae.problems.known.Map`.
    T : ndarray
        Values of `T`.
    residual, rates : ndarray
        Scratch for the constraints and for `T v`.
    """

    rows: Rows
    b: Vector
    move: Vector
    elimination: Elimination
    map_: Map
    T: Vector
    residual: Vector
    rates: Vector
    trial: Vector


class Derivatives(FormDerivatives):
    """Those of the form at the start of a step, and of `p''` for each quaternion.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        Where they belong.
    turn_q, turn_v : ndarray
        Derivatives of `p''` by `p` and by the angular velocity.
    """

    q: Vector
    turn_q: Vector
    turn_v: Vector


class Entries(Structure):
    """Those of the matrix: `values[to]` are sums of coefficients and entries of other arrays, by `kinds` and `places`, see `matrix`."""

    kinds: Integers
    places: Integers
    to: Integers
    values: Vector


class Weights(Structure):
    """Of the error norm."""

    weights_q: Vector
    weights_v: Vector


class Stages(Structure):
    """Of the stages by rows: accelerations, `q''`, and increments of the velocities and of `q'` since the start of the step."""

    a: Matrix
    qdd: Matrix
    dv: Matrix
    dqd: Matrix


class Dense(Structure):
    """Coefficients of the polynomials of the dense output."""

    position: Matrix
    velocity: Matrix


class SparseRun(Run):
    """Arrays of an integration."""

    memory: Memory
    rtol: float
    atol_q: Vector  # of positions
    atol_v: Vector  # of velocities
    filtered: int  # 1 if the error estimate is filtered
    rheonomic: int  # 1 if the equations depend explicitly on time
    reuse_rate: float
    max_age: int
    near: Weights
    tableau: SdirkCoefficients
    dense: Dense
    derivatives: Derivatives
    partition: Partition
    basis: Basis
    entries: Entries
    factors: Factors
    stages: Stages
    stage: State
    z: Vector  # independent positions of a stage, their rates and accelerations, by coordinates
    zd: Vector
    zdd: Vector
    y: Vector  # the state `(q, v, lam)` and `(0, a, 0)` of the derivatives
    yd: Vector
    r: Vector  # right-hand sides
    moved: Vector  # their solution
    turn: Vector  # scratch
    qd0: Vector  # q' and q'' at the start of the step
    qdd0: Vector
    base: Vector  # parts of q and q' in a stage without its own accelerations
    based: Vector
    error_q: Vector
    error_v: Vector
    rates: Vector  # scratch
    follow: Any  # called by its address, with the next two
    problem_model: np.ndarray
    problem_work: np.ndarray
    redundant: Integers  # the redundant constraints, see `Problem.follow`
    followed: Vector
    drifts: int
    weight: float
    projection: Projection


def new_memory() -> Memory:
    """Before the first step."""
    return Memory(asked=NOTHING, status=0, age=-1, formed=0.0, eta=1.0, next_eta=1.0, rate=0.0, choose=1, worst=1.0, first_worst=1.0)


def new_derivatives(problem: Problem, here: bool) -> Derivatives:
    """Room for the derivatives of a problem."""
    s = problem.system
    return Derivatives(**fields(problem, here, gradients=True), q=np.zeros(s.nq), turn_q=np.zeros(16 * len(s.quaternions)),
                       turn_v=np.zeros(12 * len(s.quaternions)))


def new_elimination(order: Integers, pivots: Integers, room: int) -> Elimination:
    """In this order, with room for so many entries."""
    n = len(order)

    def of(size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)

    return Elimination(order=order, pivots=pivots, start=of(n), end=of(n), columns=of(room), values=np.zeros(room), diagonal=np.zeros(n),
                       first=of(n), last=of(n), sources=of(room), factors=np.zeros(room), place_of=of(n), x=np.zeros(n), listed=of(n),
                       used=of(n))


def coefficients(tableau: Sdirk) -> tuple[SdirkCoefficients, Dense]:
    """Those of the formula for compiled code."""
    return (SdirkCoefficients(*(getattr(tableau, name) for name in SdirkCoefficients._fields)),
            Dense(position=tableau.dense_position, velocity=tableau.dense))
