"""The tables of a mechanism in joint coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...model.bodies import GROUND
from ...model.mechanism import Mechanism
from ...typing import Integers, Records
from .. import build as cartesian
from .. import layout as lay
from ..build import Pattern, Tables
from ..callbacks import Callbacks
from ..ordering import joint_numbers
from ..reduced import PIECE_T
from .layout import BALL, END_T, JOINT_T, PLACE_T, ROW_T, SIZES, STEP_T, TURN, mass_size, scratch_size
from .spanning import SpanningTree


class _Rows(NamedTuple):
    """The rows of `Phi_q`: records, their ends and paths, and the pieces and columns of the values."""

    rows: Records
    ends: Records
    places: Records
    pieces: Records
    ptr: Integers
    col: Integers


class _Joints(NamedTuple):
    """The joints of the tree, their steps, and where quaternions and angles stand."""

    joints: Records
    steps: Records
    quaternions: Records
    angles: Integers
    nq: int
    nv: int


def build(constrained: Mechanism, tree: SpanningTree, callbacks: Callbacks, numbering: str | tuple[str, ...]) -> Tables:
    """Tables of a mechanism; `constrained` is the mechanism with its constraints alone: cut joints and drivers."""
    order = joint_numbers(numbering, [c.name for c in constrained.constraints])
    found = cartesian.element_tables(constrained, callbacks, tree.prescribed)
    index = {b.name: k for k, b in enumerate(constrained.bodies)}
    joints = _joints(tree, index, {d.name: n for d, n in zip(tree.prescribed, found.prescribed)})
    rows = _rows(joints.joints, found.pieces, len(found.pattern.ptr) - 1)
    sizes = {"nq": int(cartesian.sizes(found.bodies)[0]), "nv": int(cartesian.sizes(found.bodies)[1]), "nnz": len(found.pattern.col),
             "steps": len(joints.steps), "prescribed": len(tree.prescribed)}
    in_order = [sizes[name] for name in SIZES]
    header = {lay.KIND: lay.TREE, lay.NB: len(found.bodies), lay.NQ: joints.nq, lay.NV: joints.nv, lay.NNZ: len(rows.col),
              lay.CONSTANT_MASS: 0, lay.DIAGONAL_MASS: 0, lay.IDENTITY_MAP: int(not len(joints.quaternions)),
              lay.MASS_SIZE: mass_size(len(found.bodies), joints.nv),
              lay.TREE_SIZE: scratch_size(len(found.bodies), joints.nv, in_order)}
    tables = {"quaternion": joints.quaternions, "angle": joints.angles, "tree_joint": joints.joints, "tree_step": joints.steps,
              "tree_sizes": np.array(in_order, np.int64), "tree_row": rows.rows, "tree_end": rows.ends, "tree_place": rows.places}
    blocks = np.array([(0, joints.nv, 0)], dtype=lay.BLOCK_T)
    pattern = Pattern(rows.ptr, rows.col, np.ones(len(rows.col), dtype=bool))
    return cartesian.assemble(constrained, found._replace(pieces=rows.pieces, pattern=pattern), header, tables, blocks, order,
                              paths=True)


def _joints(tree: SpanningTree, index: dict[str, int], motions: dict[str, int]) -> _Joints:
    place = {b.body: n for n, b in enumerate(tree.branches)}
    joints = np.zeros(len(tree.branches), JOINT_T)
    steps: list[Any] = []
    quaternions, angles = [], []
    q = v = 0
    for record, branch in zip(joints, tree.branches):
        way = branch.steps
        record["body"], record["parent"] = index[branch.body], index.get(branch.before, len(index))
        record["above"] = -1 if branch.before == GROUND else place[branch.before]
        record["step"], record["steps"], record["v"], record["n"] = len(steps), len(way.steps), v, way.rates
        record["s_i"], record["s_j"], record["C"], record["angle"] = way.s_i, way.s_j, np.ravel(way.C), way.angle
        for step in way.steps:
            moved = step.prescribed
            driven = (motions[moved.driver.name], step.axis, moved.sign, moved.offset) if moved else (-1, step.axis, 0.0, 0.0)
            steps.append((step.kind, q, v, *driven))
            if step.kind == BALL:
                quaternions.append((q, v))
            elif step.kind == TURN and not moved:
                angles.append(v)
            q, v = q + step.positions, v + step.rates
    return _Joints(joints, np.array(steps, STEP_T), np.array(quaternions, lay.QUATERNION_T), np.array(angles, np.int64), q, v)


def _rows(joints: Records, pieces: Records, count: int) -> _Rows:
    """Each row of the constraints along the paths from its bodies to the root."""
    of_body = np.empty(len(joints), dtype=np.int64)
    of_body[joints["body"]] = np.arange(len(joints))
    rows, ends, at, places = np.zeros(count, ROW_T), [np.zeros(0, END_T)], 0, [np.zeros(0, PLACE_T)]
    made, col, ptr = [np.zeros(0, PIECE_T)], [np.zeros(0, np.int64)], [0]
    above, begin = joints["above"].tolist(), [0, 0]
    for r, of_row in enumerate(_by_row(pieces, count)):
        path = np.array(_path(above, of_body[of_row["body"]]), dtype=np.int64)
        rows[r] = begin[0], len(of_row), begin[1], len(path)
        ends.append(_records(END_T, of_body[of_row["body"]], of_row["at"]))
        n, v = joints["n"][path], joints["v"][path]
        ats = at + np.cumsum(n) - n
        places.append(_records(PLACE_T, path, ats)[::-1])
        made.append(_records(PIECE_T, r, path, ats, v, n, (1 << n) - 1)[n > 0])
        col.append(np.repeat(v - ats + at, n) + np.arange(n.sum()))
        at, begin = at + int(n.sum()), [begin[0] + len(of_row), begin[1] + len(path)]
        ptr.append(at)
    return _Rows(rows, np.concatenate(ends), np.concatenate(places), np.concatenate(made), np.array(ptr, np.int64), np.concatenate(col))


def _records(dtype: np.dtype[Any], *fields: Integers | int) -> Records:
    """Records with these fields in the order of the type."""
    out = np.zeros(max(np.size(x) for x in fields), dtype)
    for name, x in zip(dtype.names or (), fields):
        out[name] = x
    return out


def _by_row(pieces: Records, count: int) -> list[Records]:
    """The pieces of each row."""
    ordered = pieces[np.argsort(pieces["row"], kind="stable")]
    return np.split(ordered, np.searchsorted(ordered["row"], np.arange(1, count))) if count else []


def _path(above: list[int], ends: Integers) -> list[int]:
    """The joints from some bodies to the root, those nearest to the root first."""
    path: set[int] = set()
    for n in ends.tolist():
        while n >= 0 and n not in path:
            path.add(n)
            n = above[n]
    return sorted(path)
