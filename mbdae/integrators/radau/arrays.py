"""The arrays and numbers of an integration by Radau IIA methods."""

from typing import Any

import numpy as np

from ...compilation.structure import Structure
from ...problems.base import Problem
from ...system.sparse_lu import ROOM, Columns, Ordering, SparseFactors, new_factors
from ...system.system import System
from ...typing import Integers, Matrix, Vector
from ..bdf_formulas import Norms
from ..control.newton import NewtonRule
from ..control.records import Run, State
from ..control.step_size import Rule
from ..derivatives.arrays import FormDerivatives, fields
from ..iteration_matrix import Factors
from ..projections.levels import Projection
from .block_arrays import new_blocks, no_blocks
from .blocks import Blocks
from .interpolation import ACCELERATIONS, NOT_TRIED, Extension
from .tableau import PAIRS, STAGES, Formula

NOTHING, DERIVATIVES, FACTORS = range(3)  # what an attempt asks for
SHORTEST = 2  # number of factorisations of whole matrices between those by blocks
UNKNOWN_ETA = 1.0  # ratio of error and correction while no contraction rate is known


class Memory(Structure):
    """Numbers that steps and attempts pass on.

    Attributes
    ----------
    level, last_level : int
        Which formula the next step has, and which one the last step had.
    last_step : float
        Size of the last step, 0 before the first one.
    formed : float
        Step size for which the matrices are factorised, 0 for none.
    formed_level : int
        Their formula.
    current : int
        1 if derivatives have been evaluated and are to be used.
    age : int
        Steps since their evaluation.
    cautious : int
        1 if the next derivatives are to be evaluated at the start of the step.
    asked, status : int
        What an attempt has asked for, and what has become of that.
    time : float
        Where derivatives are asked for; the unknowns are in `y` and `yd`.
    eta : float
        Ratio of error and correction in Newton's method.
    rate : float
        Contraction rate of the last step that had more than one correction.
    corrections : int
        Of the last attempt.
    failures : int
        Of Newton's method in the present step.
    falls : int
        Failures of Newton's method in the present step, with derivatives of its own.
    rejections : int
        Of the present step, by the error test.
    wait : int
        Steps before the order may rise.
    first_ratio : float
        Of the second step to the first one, at most.
    whole : int
        Factorisations to come that are of the whole matrix, not by blocks.
    patience : int
        How many there will be after the next solution by blocks that is not corrected enough.
    """

    level: int
    last_level: int
    last_step: float
    formed: float
    formed_level: int
    current: int
    age: int
    cautious: int
    asked: int
    status: int
    time: float
    eta: float
    rate: float
    corrections: int
    failures: int
    falls: int
    rejections: int
    wait: int
    first_ratio: float
    whole: int
    patience: int


class Derivatives(FormDerivatives):
    """Those of the form, and the places of their entries.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (nnz,)
    """

    rows: Integers
    columns: Integers


class SparseMatrix(Structure):
    """A scaled matrix by columns and its factors, of no columns where these are of another kind; the same by blocks, see `blocks`."""

    columns: Columns
    factors: SparseFactors
    blocks: Blocks


class RadauRun(Run):
    """Arrays of an integration; `start` and `end` are views of `y0` and `y1`."""

    memory: Memory
    formulas: tuple[Formula, ...]
    rules: tuple[Rule, ...]  # of the step size, for each formula
    first_rule: Rule  # after the first step
    newtons: tuple[NewtonRule, ...]
    share: float  # tolerance of the error estimates, relative to that of the run
    lowest: int  # formulas that may be used
    highest: int
    norms: Norms
    weights: Matrix
    derivatives: Derivatives
    real: Factors
    pairs: tuple[Factors, ...]
    sparse: SparseMatrix  # the same where they are sparse and factorised in compiled code
    sparse_pairs: tuple[SparseMatrix, ...]
    y0: Vector
    y1: Vector
    rate: Vector  # the derivative at the start
    rate1: Vector
    Z: Matrix  # Y_i - y0, by rows
    past: Matrix  # of the last step: values at the nodes but the last one, relative to its end
    R: Matrix  # residuals of the stages
    bends: Matrix  # second differences of two steps with three stages, of others zero, see `control.bend`
    y: Vector  # scratch of the size of the unknowns: a stage, its derivative, right-hand sides
    yd: Vector
    r: Vector
    difference: Vector
    rc: np.ndarray
    basis: Vector  # values of the Lagrange polynomials
    within: State  # of a state within the step, a view of `y`
    extension: Extension
    residual: Any  # called by its address, see `bdf_residual`
    parameters: Vector
    follow: Any
    redundant: Integers  # the redundant constraints, see `Problem.follow`
    followed: Vector
    drifts: int
    weight: float
    project: Any  # called by its address
    projection: Projection
    projected: Vector  # workspace of the projections


def new_memory(level: int) -> Memory:
    """Before the first step."""
    return Memory(level=level, last_level=level, last_step=0.0, formed=0.0, formed_level=-1, current=0, age=0, cautious=0, asked=NOTHING,
                  status=0, time=0.0, eta=UNKNOWN_ETA, rate=0.0, corrections=0, failures=0, falls=0, rejections=0, wait=0, first_ratio=1.0,
                  whole=0, patience=SHORTEST)


def arrays_for(n: int) -> dict[str, Any]:
    """Those for `n` unknowns."""
    s, vectors = STAGES[-1], ("y0", "y1", "rate", "rate1", "y", "yd", "r", "difference")
    return {name: np.zeros(n) for name in vectors} | {name: np.zeros((s, n)) for name in ("Z", "past", "R")} | {
        "weights": np.zeros((2, n)), "rc": np.zeros(n, complex), "basis": np.zeros(s + 1)}


def new_extension(system: System) -> Extension:
    """Before the first step."""
    m, nq, nv = STAGES[-1] + 3, system.nq, system.nv
    return Extension(state=NOT_TRIED, only=0, q=np.zeros((m, nq)), v=np.zeros((m, nv)), rates=np.zeros((m, nq)), a=np.zeros((m, nv)),
                     gap_q=np.zeros(nq), gap_v=np.zeros(nv), integrals=np.zeros(m), lam=np.zeros(system.nc),
                     guess=system.multiplier_guess(), accelerate=ACCELERATIONS, work=system.workspace())


def new_derivatives(problem: Problem, here: bool) -> Derivatives:
    """Room for the derivatives of a problem."""
    pattern = problem.pattern
    return Derivatives(**fields(problem, here), rows=pattern.indices.astype(np.int64),
                       columns=np.repeat(np.arange(problem.n), np.diff(pattern.indptr)))


def new_sparse(problem: Problem, found: Ordering | None, d: Derivatives, by_blocks: bool) -> tuple[SparseMatrix, tuple[SparseMatrix, ...]]:
    """The real matrix and the complex ones: with columns in this order, of none where factors are dense or by SuperLU; and by blocks."""
    types = float, *(complex,) * PAIRS
    blocks = new_blocks(problem, d, types) if by_blocks else tuple(map(no_blocks, types))
    pattern = problem.pattern
    order, entries = found or (np.zeros(0, dtype=np.int64), 0)
    start, rows = (pattern.indptr, pattern.indices) if found else (order, order)

    def new(dtype: type, own: Blocks) -> SparseMatrix:
        columns = Columns(start=start.astype(np.int64), rows=rows.astype(np.int64), values=np.zeros(len(rows), dtype))
        return SparseMatrix(columns=columns, factors=new_factors(order, ROOM * entries, dtype), blocks=own)

    return new(float, blocks[0]), tuple(new(complex, x) for x in blocks[1:])
