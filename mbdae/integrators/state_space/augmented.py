"""Arrays of the sparse matrix of the descriptor form, see `descriptor`."""

import numpy as np
from numba import types
from scipy.sparse import csc_array, csr_array

from ...charts.derivative import MotionDerivatives
from ...charts.store import Factors
from ...compilation.structure import Structure, StructureType
from ...problems.known import positions_of_gradient, positions_of_mass
from ...system.sparse_lu import COLUMNS, FACTORS, ROOM, Columns, SparseFactors, new_factors, ordering
from ...system.system import System
from ...typing import Integers, Matrix, Vector
from .arrays import ChartedState


class Augmented(Structure):
    """The matrix and what it consists of, for `n` independent coordinates.

    Attributes
    ----------
    derivatives : MotionDerivatives
        Those of the run.
    K, A : Columns
        `[M Phi_q^T; Phi_q -N N^T]` at the state of the derivatives, and the matrix.
    mass : ndarray
        Entries of the mass matrix; `K.values[mass_to] = mass[mass_from]`.
    gradient_from, gradient_to, transposed_to : ndarray of int
        The same for the values of `Phi_q` and those of its transpose.
    candidates, null_to : ndarray of int, shapes (r,) and (r, r)
        Equations that may be redundant, and the places of `N N^T`.
    PT, D1, D2, E1, E2, F : ndarray, shapes (n, nv), (n, nv + nc) and (n, n)
        See `descriptor`; a row for each independent coordinate, `F` by its columns.
    W, pivots : ndarray
        Factors of `I - E`.
    turning : int
        1 unless `E = 0`.
    lu : SparseFactors
        Factors of the matrix.
    sums, b, r, c : ndarray
        Scratch.
    """

    derivatives: MotionDerivatives
    K: Columns
    A: Columns
    mass: Vector
    mass_from: Integers
    mass_to: Integers
    gradient_from: Integers
    gradient_to: Integers
    transposed_to: Integers
    candidates: Integers
    null_to: Matrix
    PT: Matrix
    D1: Matrix
    D2: Matrix
    E1: Matrix
    E2: Matrix
    F: Matrix
    W: Matrix
    pivots: Integers
    turning: int
    lu: SparseFactors
    sums: Vector
    b: Vector
    r: Vector
    c: Vector


def new_augmented(system: System, n: int, derivatives: MotionDerivatives, used: bool) -> Augmented:
    """Arrays for a system with `n` degrees of freedom, empty unless they are used."""
    nv, nc = (system.nv, system.nc) if used else (0, 0)
    n, N = (n, nv + nc) if used else (0, 0)
    mass, gradient = positions_of_mass(system), positions_of_gradient(system)
    candidates = np.asarray(system.redundancy.candidates, dtype=np.int64)
    i, j = (nv + x.ravel() for x in np.meshgrid(candidates, candidates, indexing="ij"))
    rows, columns = (np.concatenate(x) if used else np.zeros(0, dtype=np.int64) for x in (
        (mass.rows, nv + gradient.rows, gradient.columns, i), (mass.columns, gradient.columns, nv + gradient.rows, j)))
    K, to = _pattern(rows, columns, N)
    ends = np.cumsum([len(mass.rows), len(gradient.rows), len(gradient.rows)]) if used else np.zeros(3, dtype=np.int64)
    mass_to, gradient_to, transposed_to, null_to = np.split(to, ends)
    many = len(candidates) if used else 0
    vectors = {"sums": N, "b": N, "r": nv, "c": nc, "mass": int(mass.places.max(initial=-1)) + 1 if used else 0}
    matrices = {"PT": nv, "D1": N, "D2": N, "E1": n, "E2": n, "F": N, "W": n}
    return Augmented(
        derivatives=derivatives, K=K, A=_columns(0, 0), mass_from=mass.places[:len(mass_to)], mass_to=mass_to,
        gradient_from=gradient.places[:len(gradient_to)], gradient_to=gradient_to, transposed_to=transposed_to,
        candidates=candidates[:many], null_to=null_to.reshape(many, many), pivots=np.zeros(n, dtype=np.int64),
        turning=int(system.nq != system.nv or system.of_functions), lu=new_factors(np.zeros(0, dtype=np.int64), 0),
        **{name: np.zeros(k) for name, k in vectors.items()}, **{name: np.zeros((n, k)) for name, k in matrices.items()})


def arrange(augmented: Augmented, P: Matrix, map_pattern: csr_array) -> None:
    """Storage for the matrix in the chart `z = P q`, and the order of its columns; `map_pattern` is that of `T`."""
    K, N = augmented.K, len(augmented.b)
    full = np.flatnonzero((P != 0.0).any(axis=0) @ map_pattern)
    rows = np.concatenate([K.rows, np.tile(np.arange(N), len(full))])
    columns = np.concatenate([np.repeat(np.arange(N), np.diff(K.start)), np.repeat(full, N)])
    A, _ = _pattern(rows, columns, N)
    augmented.A = A
    found = ordering(csc_array((np.ones(len(A.rows)), A.rows, A.start), shape=(N, N)))
    augmented.lu = new_factors(found.order, ROOM * found.entries)


def enlarge(augmented: Augmented) -> None:
    """More room for the factors."""
    lu = augmented.lu
    augmented.lu = new_factors(lu.order, ROOM * len(lu.L.values))


def _pattern(rows: Integers, columns: Integers, n: int) -> tuple[Columns, Integers]:
    """`Columns` of size `n` with these entries, which may coincide, and the place of each."""
    keys, to = np.unique(columns * max(n, 1) + rows, return_inverse=True)
    out = _columns(n, len(keys))
    out.rows[:] = keys % max(n, 1)
    out.start[:] = np.searchsorted(keys, np.arange(n + 1) * n)
    return out, to.astype(np.int64)


def _columns(n: int, entries: int) -> Columns:
    return Columns(start=np.zeros(n + 1, dtype=np.int64), rows=np.zeros(entries, dtype=np.int64), values=np.zeros(entries))


_I, _F, _X, _ROWS, _N = types.int64, types.float64, types.float64[::1], types.float64[:, ::1], types.int64[::1]
_FIELDS = {"derivatives": types.NamedUniTuple(_ROWS, 7, MotionDerivatives), "K": COLUMNS, "A": COLUMNS, "mass": _X,
           **dict.fromkeys(("mass_from", "mass_to", "gradient_from", "gradient_to", "transposed_to", "candidates"), _N),
           "null_to": types.int64[:, ::1], **dict.fromkeys(("PT", "D1", "D2", "E1", "E2", "F", "W"), _ROWS), "pivots": _N, "turning": _I,
           "lu": FACTORS, **dict.fromkeys(("sums", "b", "r", "c"), _X)}
AUGMENTED = StructureType("Augmented", tuple(_FIELDS.items()))
STATE = StructureType("ChartedState", tuple(dict.fromkeys(ChartedState.__annotations__, _X).items()))
CHART = types.NamedTuple((_I, _X, types.uint8[::1], _X), Factors)
TASK = _I(_I, _F, _F, _F, STATE, _X, _X, CHART, AUGMENTED)
