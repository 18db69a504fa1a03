"""The buffer `model` of a system, `uint8`: a header of integers, then tables of records.

The array `work`, real or complex for the complex step, is the scratch of evaluations; the header has the offsets of its parts.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..compilation.compiled import compiled, matrix, records, window
from ..compilation.compiled import table as table  # one table as records
from ..typing import Bytes, Integers

# kinds of systems and bodies
MULTIBODY, USER, TREE = 0, 1, 2
FIXED, PARTICLE, PLANAR, RIGID = 0, 1, 2, 3
TRANSLATION, ROTATION = 0, 1  # groups of the coordinates of a body

# evaluations of a system of user functions, and the functions behind the first six
PHI, PHI_Q, NU, GAMMA, FORCE, MASS, QDOT, RETRACT, DIFFERENCE = range(9)
ENERGY = 9  # of forces of a user's own kind
EVALUATIONS = ("phi", "phi_q", "nu", "gamma", "force", "mass", "kinematics", "retract", "difference")  # in this order
USER_FUNCTIONS = ("mass", "force", "phi", "phi_q", "nu", "gamma", "friction")

# header: sizes, then offsets into `work`, then start and length of each table
KIND, NB, NQ, NV, NC, NNZ, NENV, CONSTANT_MASS, DIAGONAL_MASS, ADDRESS, IDENTITY_MAP, COUPLED, MASS_SIZE, TREE_SIZE = range(14)
W_FRAMES, W_MASS, W_MINV, W_G, W_W, W_ENV, W_DIAG, W_V1, W_V2, W_C1, W_C2, W_TREE, W_RARE, W_NULL, WORK_SIZE = range(14, 29)
MOST_CONSTRAINTS, MOST_FORCES = 16, 8  # room for tables, one for each kind of constraint and of force that is built in
TABLES = ("gravity", "body", "motion", "user_force", "members", "friction",
          "segment", "block", "block_of", "rows", "first", "env_ptr", "pair",
          "dependent", "candidate", "max_entry", "null_space", "drift", "quaternion", "angle",
          "extra_constraint", "extra_force", "extra_records", "tree_joint", "tree_step", "tree_sizes", "tree_row", "tree_end", "tree_place",
          *(f"constraint {k}" for k in range(MOST_CONSTRAINTS)), *(f"force {k}" for k in range(MOST_FORCES)))
_FIRST_TABLE = 29
(GRAVITY, BODY, MOTION, USER_FORCE, MEMBERS, FRICTION,
 SEGMENT, BLOCK, BLOCK_OF, ROWS, FIRST, ENV_PTR, PAIR,
 DEPENDENT, CANDIDATE, MAX_ENTRY, NULL_SPACE, DRIFT, QUATERNION, ANGLE,
 EXTRA_CONSTRAINT, EXTRA_FORCE, EXTRA_RECORDS, TREE_JOINT, TREE_STEP, TREE_SIZES, TREE_ROW, TREE_END, TREE_PLACE,
 CONSTRAINTS) = range(_FIRST_TABLE, _FIRST_TABLE + 2 * 30, 2)
FORCES = CONSTRAINTS + 2 * MOST_CONSTRAINTS
HEADER = _FIRST_TABLE + 2 * len(TABLES)
HEADER_BYTES = 8 * HEADER

_i, _f = "i8", "f8"
BODY_T = np.dtype([("kind", _i), ("q", _i), ("v", _i), ("mass", _f), ("J", _f, 9)])
# where a quaternion stands in `q`, and its angular velocity in `v`; all other coordinates are one and the same number in both
QUATERNION_T = np.dtype([("q", _i), ("v", _i)])
MOTION_T = np.dtype([("kind", _i), ("f", _i), ("df", _i), ("d2f", _i), ("c", _f, 8)])
# one record for all two-body constraints: `at_i`, `at_j` point at the segments of the first row in the values of Phi_q
ELEMENT_T = np.dtype([
    ("i", _i), ("j", _i), ("kind_i", _i), ("kind_j", _i), ("row", _i), ("at_i", _i), ("at_j", _i), ("stride", _i), ("motion", _i),
    ("s_i", _f, 3), ("s_j", _f, 3), ("a_i", _f, 3), ("b_i", _f, 3), ("a_j", _f, 3),
])
SPRING_T = np.dtype([
    ("i", _i), ("j", _i), ("planar", _i), ("law", _i), ("k", _f), ("c", _f), ("free", _f),
    ("s_i", _f, 3), ("s_j", _f, 3), ("a_i", _f, 3), ("b_i", _f, 3), ("b_j", _f, 3),
])
LOAD_T = np.dtype([("body", _i), ("torque", _i), ("in_body", _i), ("motion", _i, 3), ("s", _f, 3)])
USER_FORCE_T = np.dtype([("address", _i), ("start", _i), ("count", _i)])
FRICTION_T = np.dtype([
    ("i", _i), ("j", _i), ("revolute", _i), ("smooth", _i), ("nrows", _i), ("rows", _i, 3), ("lever", _f), ("mu", _f), ("v_s", _f),
    ("s_i", _f, 3), ("s_j", _f, 3), ("a_i", _f, 3),
])
# what records of other forces begin with
FORCE_T = np.dtype([("i", _i), ("j", _i)])
# elements of a kind that is not built in: the address of their kernels, the first byte of their records, and how many there are
EXTRA_T = np.dtype([("address", _i), ("at", _i), ("count", _i)])
# the part of a row of Phi_q that belongs to one body: `n` values from `at`, of the columns from `v`
SEGMENT_T = np.dtype([("row", "i4"), ("at", "i4"), ("v", "i4"), ("n", "i4")])
BLOCK_T = np.dtype([("v", _i), ("n", _i), ("at", _i)])
# a constraint equation that is left out of the factorisation, and its place in the order of elimination
DEPENDENT_T = np.dtype([("row", _i), ("at", _i)])
# the largest table of a long chain: small integers keep it in the cache
PAIR_T = np.dtype([("to", "i4"), ("a", "i4"), ("b", "i4"), ("n", "i4")])

# addresses of code that few systems need, in `work`, see `rare`
RARE_FRICTION, RARE_NULL_SPACE, RARE_TREE = range(3)
# addresses of evaluations, behind them, see `out_of_line`
(PLACE, PLACE_VELOCITY, EVALUATE_PHI, EVALUATE_PHI_Q, EVALUATE_NU, EVALUATE_GAMMA, EVALUATE_FORCE, FACTOR, SOLVE, SOLVE_REDUCED,
 ACCELERATIONS, ARTICULATED, REFINE, REFINED_ACCELERATIONS, RARE_CALLS) = range(3, 18)

FRAME = 18  # r (3), A (9, by rows), rdot (3), omega (3, body-fixed)


@compiled
def header(model):
    """The header as integers."""
    return records(model, 0, HEADER, np.int64)


def records_of(model: Bytes, which: int, dtype: npt.DTypeLike) -> Any:
    """`table` for Python: a view that keeps the buffer alive."""
    at, n = model[:HEADER_BYTES].view(np.int64)[which:which + 2]
    return model[at:at + n * np.dtype(dtype).itemsize].view(dtype)


@compiled
def count(model, which):
    """Number of records in a table."""
    return header(model)[which + 1]


@compiled
def part(model, work, which):
    """One part of the scratch `work`."""
    head = header(model)
    return window(work, head[which], head[which + 1] - head[which])


@compiled
def frames(model, work):
    """Frames of all bodies, the ground last: an array (nb + 1, 18)."""
    head = header(model)
    return matrix(work, head[W_FRAMES], head[NB] + 1, FRAME)


def pack(sizes: dict[int, int], tables: dict[Any, Any]) -> Bytes:
    """Buffer of a system.

    Parameters
    ----------
    sizes : dict
        Header entry -> integer; the offsets into `work` are laid out here.
    tables : dict
        Table name -> array.
    """
    head = np.zeros(HEADER, dtype=np.int64)
    for slot, value in sizes.items():
        head[slot] = value
    _lay_out_work(head, tables)
    chunks, at = [head], HEADER_BYTES
    for k, name in enumerate(TABLES):
        data = np.ascontiguousarray(tables.get(name, np.zeros(0)))
        head[_FIRST_TABLE + 2 * k], head[_FIRST_TABLE + 2 * k + 1] = at, data.size
        at += data.nbytes
        chunks.append(data)
    return np.concatenate([c.reshape(-1).view(np.uint8) if c.size else np.zeros(0, np.uint8) for c in chunks])


def with_redundancy(model: Bytes, rows: Integers, candidates: Integers, max_entry: float, order: Integers) -> Bytes:
    """The buffer with the tables of redundant constraint equations, and with room for the null space in the scratch.

    Parameters
    ----------
    model : ndarray of uint8
    rows : ndarray of int
        The equations left out at first, as many as are redundant.
    candidates : ndarray of int
        All that can be left out.
    max_entry : float
        Bound of the null vectors for this choice, see `null_space`.
    order : ndarray of int
        The equations in the order of their elimination.
    """
    if not len(rows):
        return model
    dependent = np.zeros(len(rows), dtype=DEPENDENT_T)
    dependent["row"], dependent["at"] = rows, np.argsort(order)[rows]
    head = model[:HEADER_BYTES].view(np.int64).copy()
    chunks, at = [model], len(model)
    tables = {DEPENDENT: dependent, CANDIDATE: np.array(candidates, np.int64), MAX_ENTRY: np.array([max_entry]),
              NULL_SPACE: np.zeros(len(rows) * head[NC]), DRIFT: np.zeros(head[NC])}
    for which, data in tables.items():
        head[which:which + 2] = at, len(data)
        at += data.nbytes
        chunks.append(data.view(np.uint8))
    head[WORK_SIZE] += len(rows) * head[NC]
    model = np.concatenate(chunks)
    model[:HEADER_BYTES] = head.view(np.uint8)
    return model


def _lay_out_work(head: Integers, tables: dict[Any, Any]) -> None:
    mass = int(head[MASS_SIZE]) or int((tables["block"]["n"] ** 2).sum())
    sizes = {W_FRAMES: (head[NB] + 1) * FRAME, W_MASS: mass, W_MINV: mass, W_G: head[NNZ], W_W: head[NNZ], W_ENV: head[NENV],
             W_DIAG: head[NC], W_V1: head[NV], W_V2: head[NV], W_C1: head[NC], W_C2: head[NC], W_TREE: head[TREE_SIZE],
             W_RARE: RARE_CALLS, W_NULL: 0}
    at = 0
    for slot, n in sizes.items():
        head[slot] = at
        at += int(n)
    head[WORK_SIZE] = at
