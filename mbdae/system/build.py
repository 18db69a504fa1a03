"""From a mechanism to its tables: coordinates, constraint records, sparse pattern, force records, envelope."""

import math
from dataclasses import dataclass

import numpy as np

from ..model import forces as fo
from ..model import motions as mo
from ..model import primitives as pr
from ..model import rotations
from ..model.bodies import GROUND, Particle, PlanarBody, RigidBody
from ..model.joints import PlanarRevolute, Revolute
from . import layout as lay
from . import words
from .ordering import joint_numbers, order_rows
from .reduced import PIECE_T, envelope, meetings, pair_table, segment_table

_KIND = {Particle: lay.PARTICLE, PlanarBody: lay.PLANAR, RigidBody: lay.RIGID}
_NQ = {lay.PARTICLE: 3, lay.PLANAR: 3, lay.RIGID: 7}
_NV = {lay.PARTICLE: 3, lay.PLANAR: 3, lay.RIGID: 6}
_FAMILY = {pr.Coincident: "coincident", pr.PlanarCoincident: "pin", pr.DP1: "dp1", pr.DP2: "dp2", pr.D: "distance", pr.CD: "cd",
           pr.Turn: "turn", pr.PlanarAngle: "angle"}
_MOTION_KIND = {mo.Constant: 0, mo.Polynomial: 1, mo.Harmonic: 2, mo.Function: 3}


@dataclass(frozen=True)
class Pattern:
    """Sparse pattern of `Phi_q` by rows: segments of whole bodies, and which of their entries can be different from zero."""

    ptr: np.ndarray
    col: np.ndarray
    nonzero: np.ndarray


@dataclass(frozen=True)
class Tables:
    """What `build` returns: the buffer and what Python needs to know of it."""

    model: np.ndarray
    pattern: Pattern
    bodies: np.ndarray
    order: np.ndarray


def build(mechanism, callbacks, numbering="best"):
    """Tables of a mechanism; user functions are registered with `callbacks`, `numbering` is that of `System`."""
    numbering = joint_numbers(numbering, [c.name for c in mechanism.constraints])
    bodies = _body_table(mechanism.bodies)
    index = {b.name: k for k, b in enumerate(mechanism.bodies)} | {GROUND: len(mechanism.bodies)}
    motions = _Motions(callbacks)
    elements, pieces, pattern = _constraints(mechanism, bodies, index, motions)
    forces = _forces(mechanism, index, motions, callbacks)
    blocks = _mass_blocks(bodies)
    return _assemble(mechanism, bodies, motions, elements, pieces, pattern, forces, blocks, numbering)


def _assemble(mechanism, bodies, motions, elements, pieces, pattern, forces, blocks, numbering):
    nv = int(sum(_NV[k] for k in bodies["kind"]))
    pairs, joint = meetings(pieces["body"]), joint_of_rows(mechanism)
    shared = pieces["row"][pairs]
    order = order_rows(joint, shared, numbering)
    first, env_ptr = envelope(order, joint, shared)
    sizes = {lay.KIND: lay.MULTIBODY, lay.NB: len(bodies), lay.NQ: int(sum(_NQ[k] for k in bodies["kind"])), lay.NV: nv,
             lay.NC: len(order), lay.NNZ: len(pattern.col), lay.NENV: int(env_ptr[-1]), lay.CONSTANT_MASS: 1,
             lay.DIAGONAL_MASS: int((blocks["n"] == 1).all()), lay.IDENTITY_MAP: int((bodies["kind"] != lay.RIGID).all()),
             lay.COUPLED: int(len(forces["friction"]) > 0)}
    block_of = np.repeat(np.arange(len(blocks)), blocks["n"])
    tables = {"gravity": np.asarray(mechanism.gravity), "body": bodies, "motion": motions.table(), **elements, **forces,
              "segment": segment_table(pieces), "block": blocks, "block_of": block_of, "rows": order,
              "first": first, "env_ptr": env_ptr, "pair": pair_table(pieces, pairs, order, first, env_ptr)}
    return Tables(lay.pack(sizes, tables), pattern, bodies, order)


def _body_table(bodies):
    table = np.zeros(len(bodies), dtype=lay.BODY_T)
    q = v = 0
    for record, body in zip(table, bodies):
        kind = _KIND[type(body)]
        record["kind"], record["q"], record["v"], record["mass"] = kind, q, v, body.mass
        if kind == lay.RIGID:
            record["J"] = body.inertia
        elif kind == lay.PLANAR:
            record["J"][8] = body.inertia
        q, v = q + _NQ[kind], v + _NV[kind]
    return table


def _mass_blocks(table):
    sizes = []
    for record in table:
        full = record["kind"] == lay.RIGID and np.any(record["J"][[1, 2, 5]] != 0.0)
        sizes += [1] * (3 if full or record["kind"] != lay.RIGID else 6) + [3] * bool(full)
    n = np.array(sizes, dtype=np.int64)
    blocks = np.zeros(len(n), dtype=lay.BLOCK_T)
    blocks["n"], blocks["v"], blocks["at"] = n, np.cumsum(n) - n, np.cumsum(n * n) - n * n
    return blocks


class _Motions:
    """Functions of time as records; the first one is the constant zero."""

    def __init__(self, callbacks):
        self._callbacks = callbacks
        self._found = [mo.Constant(0.0)]
        self._index = {self._found[0]: 0}
        self._labels = {}

    def add(self, motion, label):
        """Number of a motion, which has this name among others."""
        if motion not in self._index:
            self._index[motion] = len(self._found)
            self._found.append(motion)
        self._labels.setdefault(motion, []).append(label)
        return self._index[motion]

    def _label(self, motion):
        return " or ".join(dict.fromkeys(self._labels[motion]))

    def table(self):
        table = np.zeros(len(self._found), dtype=lay.MOTION_T)
        for record, motion in zip(table, self._found):
            record["kind"] = _MOTION_KIND[type(motion)]
            self._fill(record, motion)
        return table

    def _fill(self, record, motion):
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


def _constraints(mechanism, bodies, index, motions):
    """Records of all primitives by family, the pieces of `Phi_q`, and its pattern."""
    found = {name: [] for name in _FAMILY.values()}
    pieces, nonzero, lengths, drivers = [], [], [], {d.name: d for d in mechanism.drivers}
    row = at = 0
    for p in mechanism.primitives:
        e = _element(p, bodies, index, motions, words.motion(drivers.get(p.name, p)))
        e["row"] = row
        spans = [(end, int(index[getattr(p, end)])) for end in "ij" if getattr(p, end) != GROUND]
        spans.sort(key=lambda s: s[1])
        e["stride"] = sum(_NV[bodies[b]["kind"]] for _, b in spans)
        for k in range(p.rows):
            offset = at + k * int(e["stride"])
            for end, b in spans:
                n = _NV[bodies[b]["kind"]]
                if k == 0:
                    e[f"at_{end}"] = offset
                pieces.append((row + k, b, offset, bodies[b]["v"], n, 0))
                nonzero.append(_nonzero(p, end, k, bodies[b]["kind"]))
                offset += n
            lengths.append(int(e["stride"]))
        row, at = row + p.rows, at + p.rows * int(e["stride"])
        found[_FAMILY[type(p)]].append(e)
    records = {name: np.array(es, dtype=lay.ELEMENT_T) if es else np.zeros(0, lay.ELEMENT_T) for name, es in found.items()}
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    mask = np.concatenate(nonzero) if nonzero else np.zeros(0, bool)
    return records, *_patterns(np.array(pieces, dtype=PIECE_T), ptr, mask)


def _patterns(pieces, ptr, mask):
    """The pieces, which now know what they are filled with, and the pattern."""
    within = np.arange(len(mask)) - np.repeat(pieces["at"], pieces["n"])
    if len(pieces):
        pieces["filled"] = np.add.reduceat(mask << within, pieces["at"])
    return pieces, Pattern(ptr, np.repeat(pieces["v"], pieces["n"]) + within, mask)


def _element(p, bodies, index, motions, label):
    e = np.zeros((), dtype=lay.ELEMENT_T)
    for end in "ij":
        b = index[getattr(p, end)]
        e[end] = b
        e[f"kind_{end}"] = lay.FIXED if getattr(p, end) == GROUND else bodies[b]["kind"]
    if isinstance(p, pr.PlanarAngle):  # reads the angles themselves, not the frames
        for end in "ij":
            e[end] = bodies[e[end]]["q"] + 2 if e[f"kind_{end}"] != lay.FIXED else -1
    for field in ("s_i", "s_j", "a_i", "b_i", "a_j"):
        if hasattr(p, field):
            e[field] = getattr(p, field)
    if isinstance(p, pr.CD):
        e["a_i"] = p.c
    if hasattr(p, "f"):
        e["motion"] = motions.add(p.f, label)
    return e


def _nonzero(p, end, k, kind):
    """Which entries of one body's segment of a row can be different from zero."""
    translation, rotation = [True] * 3, [True] * 3
    if isinstance(p, (pr.DP1, pr.Turn, pr.PlanarAngle)):
        translation = [False] * 3
    elif isinstance(p, pr.Coincident):
        translation = [axis == k for axis in range(3)]
    elif isinstance(p, pr.CD):
        translation = [c != 0.0 for c in p.c]
    if isinstance(p, (pr.Coincident, pr.CD, pr.D)) or (isinstance(p, pr.DP2) and end == "j"):
        rotation = [any(getattr(p, f"s_{end}"))] * 3
    if kind == lay.PARTICLE:
        return np.array(translation)
    if kind == lay.PLANAR:
        return np.array([*translation[:2], rotation[2]])
    return np.array(translation + rotation)


def joint_of_rows(mechanism):
    """Number of the joint or driver that each constraint row belongs to."""
    table = mechanism.bodies_by_name()
    counts = [sum(p.rows for p in c.primitives(table)) for c in mechanism.constraints]
    return np.repeat(np.arange(len(counts)), counts)


def _forces(mechanism, index, motions, callbacks):
    """Records of all force elements by family."""
    found = {"tsda": [], "rsda": [], "load": [], "user_force": [], "friction": []}
    ids = []
    for f in mechanism.forces:
        if isinstance(f, fo.TSDA):
            found["tsda"].append(_spring(f, index, callbacks, free=f.l0))
        elif isinstance(f, fo.RSDA):
            found["rsda"].append(_spring(f, index, callbacks, free=f.theta0))
        elif isinstance(f, (fo.PointForce, fo.PointTorque)):
            found["load"].append(_load(f, index, motions))
        elif isinstance(f, fo.UserForce):
            states = np.array([_frame(mechanism.body(name)) for name in f.bodies])
            found["user_force"].append((callbacks.force(f.function, states, words.user_force(f)), len(ids), len(f.bodies)))
            ids += [index[name] for name in f.bodies]
        else:
            found["friction"].append(_friction(f, mechanism, index))
    types = {"tsda": lay.SPRING_T, "rsda": lay.SPRING_T, "load": lay.LOAD_T, "user_force": lay.USER_FORCE_T, "friction": lay.FRICTION_T}
    records = {k: np.array(v, dtype=types[k]) if v else np.zeros(0, types[k]) for k, v in found.items()}
    return records | {"user_ids": np.array(ids, np.int64)}


def _frame(body):
    """Position, rotation matrix by rows, velocity and angular velocity of a body at the start, as user forces see them."""
    half = 0.5 * getattr(body, "angle", 0.0)
    A = rotations.to_matrix(getattr(body, "orientation", (math.cos(half), 0.0, 0.0, math.sin(half))))
    omega = getattr(body, "omega", None) or 0.0
    spin = _in_space(omega) if isinstance(body, RigidBody) and omega else (0.0, 0.0, omega)
    return np.concatenate([_in_space(body.position), A.ravel(), _in_space(body.velocity or ()), spin])


def _in_space(x):
    """Three components; those that are missing, or free, are zero."""
    return (*(0.0 if c is None else c for c in x), *(0.0,) * (3 - len(x)))


def _spring(f, index, callbacks, free):
    e = np.zeros((), dtype=lay.SPRING_T)
    e["i"], e["j"], e["k"], e["c"], e["free"] = index[f.i], index[f.j], f.k, f.c, free
    e["law"] = callbacks.law(f.law, words.law(f)) if f.law is not None else 0
    if isinstance(f, fo.TSDA):
        e["s_i"], e["s_j"] = f.s_i, f.s_j
    elif f.a_i is None:
        e["planar"], e["a_i"] = 1, (0.0, 0.0, 1.0)
    else:
        e["a_i"], e["b_i"], e["b_j"] = f.a_i, f.b_i, f.b_j
    return e


def _load(f, index, motions):
    e = np.zeros((), dtype=lay.LOAD_T)
    torque = isinstance(f, fo.PointTorque)
    e["body"], e["torque"], e["in_body"] = index[f.body], int(torque), int(f.frame == "body")
    e["motion"] = [motions.add(m, words.load(f, k)) for k, m in enumerate(words.components(f))]
    e["s"] = (0.0, 0.0, 0.0) if torque else f.s
    return e


def _friction(f, mechanism, index):
    joint = next(j for j in mechanism.joints if j.name == f.joint)
    rows = mechanism.normal_rows(f)
    e = np.zeros((), dtype=lay.FRICTION_T)
    e["i"], e["j"], e["mu"], e["v_s"], e["smooth"] = index[joint.i], index[joint.j], f.mu, f.v_s, int(f.smooth)
    e["revolute"] = int(isinstance(joint, (Revolute, PlanarRevolute)))
    e["lever"] = f.radius or 0.0
    e["nrows"] = len(rows)
    e["rows"][:len(rows)] = rows
    e["s_i"][:len(joint.s_i)], e["s_j"][:len(joint.s_j)] = joint.s_i, joint.s_j
    axis = (0.0, 0.0, 1.0) if isinstance(joint, PlanarRevolute) else joint.a_i
    e["a_i"][:len(axis)] = axis
    return e
