"""The tables of a mechanism: coordinates, constraint records, sparse pattern, force records, envelope."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..model import motions as mo
from ..model import rotations
from ..model.base import Primitive
from ..model.bodies import GROUND, Body, Particle, PlanarBody, RigidBody
from ..model.forces import UserForce
from ..model.mechanism import Mechanism
from ..model.motions import Motion
from ..typing import Bytes, Flags, Integers, Law, Records, Vector
from . import layout as lay
from . import words
from .callbacks import Callbacks
from .elements.kind import ConstraintKind, Mask
from .elements.kinds import KINDS as CONSTRAINT_KINDS
from .extra import address, is_built_in, kind_of
from .loads.kind import ForceKind, copy_fields
from .loads.kinds import FRICTION, USER_FORCE
from .loads.kinds import KINDS as FORCE_KINDS
from .ordering import joint_numbers, order_rows
from .reduced import PIECE_T, envelope, meetings, pair_table, runs, segment_table

_KIND = {Particle: lay.PARTICLE, PlanarBody: lay.PLANAR, RigidBody: lay.RIGID}
_NQ = {lay.PARTICLE: 3, lay.PLANAR: 3, lay.RIGID: 7}
_NV = {lay.PARTICLE: 3, lay.PLANAR: 3, lay.RIGID: 6}
_MOTION_KIND = {mo.Constant: 0, mo.Polynomial: 1, mo.Harmonic: 2, mo.Function: 3}


@dataclass(frozen=True)
class Pattern:
    """Sparse pattern of `Phi_q` by rows: segments of whole bodies, and which of their entries can be different from zero."""

    ptr: Integers
    col: Integers
    nonzero: Flags


@dataclass(frozen=True)
class Tables:
    """The result of `build`: the buffer for kernels, and the tables that Python uses."""

    model: Bytes
    pattern: Pattern
    bodies: Records
    order: Integers


def build(mechanism: Mechanism, callbacks: Callbacks, numbering: str | tuple[str, ...] = "best") -> Tables:
    """Tables of a mechanism; user functions are registered with `callbacks`, `numbering` is that of `System`."""
    order = joint_numbers(numbering, [c.name for c in mechanism.constraints])
    found = element_tables(mechanism, callbacks)
    bodies, (nq, nv) = found.bodies, sizes(found.bodies)
    blocks = _mass_blocks(bodies)
    header = {lay.KIND: lay.MULTIBODY, lay.NB: len(bodies), lay.NQ: nq, lay.NV: nv, lay.NNZ: len(found.pattern.col), lay.CONSTANT_MASS: 1,
              lay.DIAGONAL_MASS: int((blocks["n"] == 1).all()), lay.IDENTITY_MAP: int((bodies["kind"] != lay.RIGID).all())}
    return assemble(mechanism, found, header, {"quaternion": _quaternions(bodies), "angle": _angles(bodies)}, blocks, order)


class Elements(NamedTuple):
    """Tables of bodies, constraints and forces, the pieces of `Phi_q` and its pattern, in Cartesian coordinates."""

    bodies: Records
    tables: dict[str, Any]
    pieces: Records
    pattern: Pattern
    prescribed: list[int]  # numbers of the motions of drivers that are no constraints


def element_tables(mechanism: Mechanism, callbacks: Callbacks, prescribed: Iterable[Any] = ()) -> Elements:
    """The elements of a mechanism, and drivers that are no constraints; user functions are registered with `callbacks`."""
    bodies = _body_table(mechanism.bodies)
    index = {b.name: k for k, b in enumerate(mechanism.bodies)} | {GROUND: len(mechanism.bodies)}
    motions = _Motions(callbacks)
    elements, pieces, pattern = _constraints(mechanism, bodies, index, motions)
    numbers = _Numbers(mechanism, index, motions, callbacks)
    tables, records = _element_tables(elements, _forces(mechanism, numbers))
    of_joints = [motions.add(d.f, words.motion(d)) for d in prescribed]
    more = {"motion": motions.table(), "members": numbers.table(), "extra_records": records}
    return Elements(bodies, tables | more, pieces, pattern, of_joints)


def sizes(bodies: Records) -> tuple[int, int]:
    """Numbers of Cartesian position and velocity coordinates."""
    return int(sum(_NQ[k] for k in bodies["kind"])), int(sum(_NV[k] for k in bodies["kind"]))


def _element_tables(constraints: dict[ConstraintKind, list[Records]],
                    forces: dict[ForceKind, list[Records]]) -> tuple[dict[str, Any], Bytes]:
    """Tables of all elements, and the records of those that are of no built-in kind."""
    tables, records = _tables(constraints, CONSTRAINT_KINDS, "constraint", 0)
    of_forces, more = _tables(forces, FORCE_KINDS, "force", len(records))
    last = {name: np.array(forces.get(kind, []), kind.dtype) for name, kind in (("user_force", USER_FORCE), ("friction", FRICTION))}
    return tables | of_forces | last, np.append(records, more)


def assemble(mechanism: Mechanism, elements: Elements, header: dict[int, int], of_coordinates: dict[str, Any], blocks: Records,
             numbering: str | list[int], paths: bool = False) -> Tables:
    """The tables of a system, with those of its coordinates; its constraints in the order of their elimination.

    `paths`: the pieces of a row stand one after another along paths of a tree.
    """
    bodies, pieces = elements.bodies, elements.pieces
    pairs, lengths = runs(pieces) if paths else (meetings(pieces["body"]), None)
    joint = joint_of_rows(mechanism)
    shared = pieces["row"][pairs]
    order = order_rows(joint, shared, numbering)
    first, env_ptr = envelope(order, joint, shared)
    header = header | {lay.NC: len(order), lay.NENV: int(env_ptr[-1]), lay.COUPLED: int(len(elements.tables["friction"]) > 0)}
    block_of = np.repeat(np.arange(len(blocks)), blocks["n"])
    tables = {"gravity": np.asarray(mechanism.gravity), "body": bodies, **elements.tables, **of_coordinates,
              "segment": segment_table(pieces), "block": blocks, "block_of": block_of, "rows": order,
              "first": first, "env_ptr": env_ptr, "pair": pair_table(pieces, pairs, order, first, env_ptr, lengths)}
    return Tables(lay.pack(header, tables), elements.pattern, bodies, order)


def _body_table(bodies: Sequence[Body]) -> Records:
    table = np.zeros(len(bodies), dtype=lay.BODY_T)
    q = v = 0
    for record, body in zip(table, bodies):
        kind = _KIND[type(body)]
        record["kind"], record["q"], record["v"], record["mass"] = kind, q, v, body.mass
        if isinstance(body, RigidBody):
            record["J"] = body.inertia
        elif isinstance(body, PlanarBody):
            record["J"][8] = body.inertia
        q, v = q + _NQ[kind], v + _NV[kind]
    return table


def _quaternions(bodies: Records) -> Records:
    rigid = bodies[bodies["kind"] == lay.RIGID]
    table = np.zeros(len(rigid), dtype=lay.QUATERNION_T)
    table["q"], table["v"] = rigid["q"] + 3, rigid["v"] + 3
    return table


def _angles(bodies: Records) -> Integers:
    """Velocity coordinates that are rates of angles."""
    angles: Integers = bodies["v"][bodies["kind"] == lay.PLANAR] + 2
    return angles


def _mass_blocks(table: Records) -> Records:
    sizes = []
    for record in table:
        full = record["kind"] == lay.RIGID and np.any(record["J"][[1, 2, 5]] != 0.0)
        sizes += [1] * (3 if full or record["kind"] != lay.RIGID else 6) + [3] * bool(full)
    n = np.array(sizes, dtype=np.int64)
    blocks = np.zeros(len(n), dtype=lay.BLOCK_T)
    blocks["n"], blocks["v"], blocks["at"] = n, np.cumsum(n) - n, np.cumsum(n * n) - n * n
    return blocks


class _End(NamedTuple):
    """`i` or `j`, and the number of the body there."""

    name: str
    body: int


class _Motions:
    """Functions of time as records; the first one is the constant zero."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._found: list[Motion] = [mo.Constant(0.0)]
        self._index: dict[Motion, int] = {self._found[0]: 0}
        self._labels: dict[Motion, list[str]] = {}

    def add(self, motion: Motion, label: str) -> int:
        """Number of a motion, which has this name among others."""
        if motion not in self._index:
            self._index[motion] = len(self._found)
            self._found.append(motion)
        self._labels.setdefault(motion, []).append(label)
        return self._index[motion]

    def _label(self, motion: Motion) -> str:
        return " or ".join(dict.fromkeys(self._labels[motion]))

    def table(self) -> Records:
        table = np.zeros(len(self._found), dtype=lay.MOTION_T)
        for record, motion in zip(table, self._found):
            record["kind"] = _MOTION_KIND[type(motion)]
            self._fill(record, motion)
        return table

    def _fill(self, record: Any, motion: Motion) -> None:
        if isinstance(motion, mo.Constant):
            record["c"][0] = motion.value
        elif isinstance(motion, mo.Polynomial):
            record["c"][:len(motion.coefficients)] = motion.coefficients
        elif isinstance(motion, mo.Harmonic):
            record["c"][:4] = motion.amplitude, motion.omega, motion.phase, motion.offset
        else:
            compiled = (motion.f, motion.df or motion.first, motion.d2f or motion.second)
            labels = (order + self._label(motion) for order in words.ORDERS.values())
            record["f"], record["df"], record["d2f"] = map(self._callbacks.motion, compiled, labels)


def _constraints(mechanism: Mechanism, bodies: Records, index: dict[str, int], motions: "_Motions",
                 ) -> tuple[dict[ConstraintKind, list[Records]], Records, Pattern]:
    """Records of all primitives by their kinds, the pieces of `Phi_q`, and its pattern."""
    found: dict[ConstraintKind, list[Records]] = {}
    pieces, nonzero, lengths = [], [], []
    drivers = {d.name: d for d in mechanism.drivers}
    row = at = 0
    for p in mechanism.primitives:
        kind = kind_of(p)
        e = _element(p, kind, bodies, index, motions, words.motion(drivers.get(p.name, p)))
        e["row"] = row
        ends = [_End(end, int(index[getattr(p, end)])) for end in "ij" if getattr(p, end) != GROUND]
        ends.sort(key=lambda e: e.body)
        e["stride"] = sum(_NV[bodies[b]["kind"]] for _, b in ends)
        for k in range(p.rows):
            offset = at + k * int(e["stride"])
            for end, b in ends:
                n = _NV[bodies[b]["kind"]]
                if k == 0:
                    e[f"at_{end}"] = offset
                pieces.append((row + k, b, offset, bodies[b]["v"], n, 0))
                nonzero.append(_nonzero(kind.nonzero(p, end, k), bodies[b]["kind"]))
                offset += n
            lengths.append(int(e["stride"]))
        row, at = row + p.rows, at + p.rows * int(e["stride"])
        found.setdefault(kind, []).append(e)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    mask = np.concatenate(nonzero) if nonzero else np.zeros(0, bool)
    return found, *_patterns(np.array(pieces, dtype=PIECE_T), ptr, mask)


def _patterns(pieces: Records, ptr: Integers, mask: Flags) -> tuple[Records, Pattern]:
    """The pieces with their non-zero entries filled in, and the pattern."""
    within = np.arange(len(mask)) - np.repeat(pieces["at"], pieces["n"])
    if len(pieces):
        pieces["filled"] = np.add.reduceat(mask << within, pieces["at"])
    return pieces, Pattern(ptr, np.repeat(pieces["v"], pieces["n"]) + within, mask)


def _element(p: Primitive, kind: ConstraintKind, bodies: Records, index: dict[str, int], motions: "_Motions", label: str) -> Records:
    """The record of a primitive, but for its place in `Phi_q`."""
    e = np.zeros((), dtype=kind.dtype)
    copy_fields(e, p)
    for end in "ij":
        b = index[getattr(p, end)]
        e[end] = b
        e[f"kind_{end}"] = lay.FIXED if getattr(p, end) == GROUND else bodies[b]["kind"]
    if hasattr(p, "f"):
        e["motion"] = motions.add(p.f, label)
    if kind.fill is not None:
        kind.fill(e, p, bodies)
    return e


def _nonzero(entries: Mask, kind: int) -> Flags:
    """Structurally non-zero entries of one body's segment of a row."""
    translation, rotation = entries
    if kind == lay.PARTICLE:
        return np.array(translation)
    if kind == lay.PLANAR:
        return np.array([*translation[:2], rotation[2]])
    return np.array([*translation, *rotation])


def joint_of_rows(mechanism: Mechanism) -> Integers:
    """Number of the joint or driver that each constraint row belongs to."""
    table = mechanism.bodies_by_name()
    counts = [sum(p.rows for p in c.primitives(table)) for c in mechanism.constraints]
    return np.repeat(np.arange(len(counts)), counts)


class _Numbers:
    """`Numbers` of one system: what the records of forces refer to."""

    def __init__(self, mechanism: Mechanism, index: dict[str, int], motions: "_Motions", callbacks: Callbacks) -> None:
        self.mechanism, self._index, self._motions, self._callbacks = mechanism, index, motions, callbacks
        self._members: list[int] = []

    def body(self, name: str) -> int:
        return self._index[name]

    def motion(self, motion: Motion, label: str) -> int:
        return self._motions.add(motion, label)

    def law(self, function: Law, label: str) -> int:
        return self._callbacks.law(function, label)

    def user_force(self, f: UserForce) -> int:
        bodies = {b.name: b for b in self.mechanism.bodies}
        states = np.array([_frame(bodies[name]) for name in f.bodies])
        return self._callbacks.force(f.function, states, words.user_force(f))

    def members(self, names: Iterable[str]) -> int:
        start = len(self._members)
        self._members += [self._index[name] for name in names]
        return start

    def table(self) -> Integers:
        return np.array(self._members, np.int64)


def _forces(mechanism: Mechanism, numbers: "_Numbers") -> dict[ForceKind, list[Records]]:
    """Records of all forces by their kinds."""
    found: dict[ForceKind, list[Records]] = {}
    for f in mechanism.forces:
        kind = kind_of(f)
        found.setdefault(kind, []).append(kind.record(f, numbers))
    return found


def _tables(found: dict[Any, list[Records]], kinds: tuple[Any, ...], first: str, extra: int) -> tuple[dict[str, Any], Bytes]:
    """Tables of the elements of built-in kinds, and those of other kinds: their entries and records."""
    tables = {f"{first} {n}": np.array(found[kind], kind.dtype) for n, kind in enumerate(kinds) if kind in found}
    entries, parts = np.zeros(0, lay.EXTRA_T), [np.zeros(0, np.uint8)]
    for kind in (kind for kind in found if not is_built_in(kind)):
        data = np.array(found[kind], kind.dtype)
        entry = np.array([(address(kind), extra + sum(map(len, parts)), len(data))], lay.EXTRA_T)
        entries, parts = np.append(entries, entry), [*parts, data.view(np.uint8)]
    return tables | {f"extra_{first}": entries}, np.concatenate(parts)


def _frame(body: Body) -> Vector:
    """Position, rotation matrix by rows, velocity and angular velocity of a body at the start, as user forces see them."""
    half = 0.5 * getattr(body, "angle", 0.0)
    A = rotations.to_matrix(getattr(body, "orientation", (math.cos(half), 0.0, 0.0, math.sin(half))))
    omega = getattr(body, "omega", None) or 0.0
    spin = _in_space(omega) if isinstance(omega, tuple) else (0.0, 0.0, omega)
    return np.concatenate([_in_space(body.position), A.ravel(), _in_space(body.velocity or ()), spin])


def _in_space(x: Sequence[float | None]) -> tuple[float, ...]:
    """Three components; those that are missing, or free, are zero."""
    return (*(0.0 if c is None else c for c in x), *(0.0,) * (3 - len(x)))
