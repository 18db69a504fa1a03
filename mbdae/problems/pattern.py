"""Structural sparsity of the equations, from incidence: which equations depend on which unknowns, without evaluations.

A body has two groups of coordinates, translation and rotation. A primitive constraint has the groups that its gradient depends on; a force
has the groups that it depends on and those that it acts on.
"""

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from ..jacobians.signatures import Indices
from ..model.bodies import Particle, PlanarBody
from ..model.forces import Friction
from ..system.extra import kind_of
from ..system.layout import ROTATION, TRANSLATION
from ..system.system import System

Group = tuple[str, int]  # the translation or rotation of a body
Groups = dict[Group, Indices]  # its coordinates


@dataclass(frozen=True)
class Structure:
    """Patterns of the pieces of the equations, boolean CSR arrays; columns are `q`, `v` or `lam` coordinates.

    Attributes
    ----------
    map_q, map_v : kinematic map `T(q) v`
    stab_q, stab_c : `T(q) Phi_q^T mu` by `q` and `mu`
    mass, dyn_q, dyn_v, dyn_c : `M a + Phi_q^T lam - Q`
    phi_q, vel_q, vel_v, acc_v : the constraints on three levels (`vel_q` also serves the acceleration level)
    """

    map_q: csr_array
    map_v: csr_array
    stab_q: csr_array
    stab_c: csr_array
    mass: csr_array
    dyn_q: csr_array
    dyn_v: csr_array
    dyn_c: csr_array
    phi_q: csr_array
    vel_q: csr_array
    vel_v: csr_array
    acc_v: csr_array


_KNOWN: WeakKeyDictionary[System, Structure] = WeakKeyDictionary()


def structure(system: System) -> Structure:
    """Structure of a system, not to be changed; dense blocks if it consists of user functions."""
    if system not in _KNOWN:  # each run has a problem of its own, of the same system
        _KNOWN[system] = _found(system)
    return _KNOWN[system]


def _found(system: System) -> Structure:
    if system.of_functions:
        return _dense(system)
    if system.cartesian is None:
        return multibody_structure(system)
    from .tree_pattern import tree_structure
    return tree_structure(system)


def multibody_structure(system: System) -> Structure:
    """Structure of a mechanism in Cartesian coordinates."""
    return _Multibody(system).structure()


class Pairs:
    """A pattern made of blocks (row indices) x (column indices)."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns
        self.rows: list[Indices] = []
        self.columns: list[Indices] = []

    def add(self, rows: ArrayLike, columns: ArrayLike) -> None:
        r, c = np.meshgrid(rows, columns, indexing="ij")
        self.rows.append(r.ravel())
        self.columns.append(c.ravel())

    def csr(self) -> csr_array:
        r = np.concatenate(self.rows) if self.rows else np.zeros(0, int)
        c = np.concatenate(self.columns) if self.columns else np.zeros(0, int)
        return boolean(coo_array((np.ones(len(r)), (r, c)), shape=self.shape))


def boolean(a: Any) -> csr_array:
    """The pattern of a sparse array as a CSR array of ones."""
    a = a.tocsr()
    a.sum_duplicates()
    a.data[:] = 1.0
    return a


class _Multibody:
    """Patterns of a mechanism."""

    def __init__(self, system: System) -> None:
        assert system.mechanism is not None
        self.system, self.mechanism = system, system.mechanism
        self.index = {b.name: k for k, b in enumerate(self.mechanism.bodies)}
        self.q_of: Groups = {}
        self.v_of: Groups = {}
        for b, record in zip(self.mechanism.bodies, system._bodies):
            n = 2 if isinstance(b, PlanarBody) else 3
            rotation_q, rotation_v = (0, 0) if isinstance(b, Particle) else (1, 1) if n == 2 else (4, 3)
            self._groups(self.q_of, b.name, int(record["q"]), n, rotation_q)
            self._groups(self.v_of, b.name, int(record["v"]), n, rotation_v)

    @staticmethod
    def _groups(table: Groups, name: str, at: int, n: int, m: int) -> None:
        table[name, TRANSLATION] = np.arange(at, at + n)
        table[name, ROTATION] = np.arange(at + n, at + n + m)

    def structure(self) -> Structure:
        s = self.system
        dyn_q, dyn_v, vel_q, acc_v = Pairs(s.nv, s.nq), Pairs(s.nv, s.nv), Pairs(s.nc, s.nq), Pairs(s.nc, s.nv)
        stab_q, friction = Pairs(s.nq, s.nq), Pairs(s.nv, s.nc)
        self._constraints(dyn_q, vel_q, acc_v, stab_q)
        self._forces(dyn_q, dyn_v, friction)
        map_q, map_v = self._kinematics()
        gradient = csr_array((s.pattern.nonzero.astype(float), s.pattern.col, s.pattern.ptr), shape=(s.nc, s.nv)).copy()
        gradient.eliminate_zeros()
        gradient = boolean(gradient)
        return Structure(
            map_q=map_q, map_v=map_v, stab_q=boolean(stab_q.csr() + map_q), stab_c=boolean(map_v @ gradient.T), mass=self._mass(),
            dyn_q=dyn_q.csr(), dyn_v=dyn_v.csr(), dyn_c=boolean(gradient.T + friction.csr()), phi_q=boolean(gradient @ map_v.T),
            vel_q=vel_q.csr(), vel_v=gradient, acc_v=acc_v.csr())

    def _constraints(self, dyn_q: Pairs, vel_q: Pairs, acc_v: Pairs, stab_q: Pairs) -> None:
        row = 0
        for p in self.mechanism.primitives:
            rows = np.arange(row, row + p.rows)
            row += p.rows
            for a, b in kind_of(p).couplings(p):
                dyn_q.add(self.v_of[a], self.q_of[b])
                stab_q.add(self.q_of[a], self.q_of[b])
                vel_q.add(rows, self.q_of[b])
                acc_v.add(rows, self.v_of[a])
                acc_v.add(rows, self.v_of[b])

    def _forces(self, dyn_q: Pairs, dyn_v: Pairs, friction: Pairs) -> None:
        for body in self.mechanism.bodies:
            if self.v_of[body.name, ROTATION].size == 3:  # gyroscopic torque
                dyn_v.add(self.v_of[body.name, ROTATION], self.v_of[body.name, ROTATION])
        for f in self.mechanism.forces:
            kind = kind_of(f)
            acts, sees = kind.groups(f, self.mechanism)
            acts, sees = ([g for g in groups if g in self.v_of] for groups in (acts, sees))
            for a in acts:
                for b in sees:
                    dyn_q.add(self.v_of[a], self.q_of[b])
                    if kind.sees_velocities:
                        dyn_v.add(self.v_of[a], self.v_of[b])
                if isinstance(f, Friction):
                    friction.add(self.v_of[a], np.array(self.mechanism.normal_rows(f)))

    def _kinematics(self) -> tuple[csr_array, csr_array]:
        s = self.system
        map_q, map_v = Pairs(s.nq, s.nq), Pairs(s.nq, s.nv)
        for (name, group), q in self.q_of.items():
            v = self.v_of[name, group]
            if q.size == 4:
                map_q.add(q, q)
                map_v.add(q, v)
            else:
                for a, b in zip(q, v):
                    map_v.add([a], [b])
        return map_q.csr(), map_v.csr()

    def _mass(self) -> csr_array:
        mass = Pairs(self.system.nv, self.system.nv)
        for record in self.system._bodies:
            at = int(record["v"])
            full = record["kind"] == 3 and np.any(record["J"][[1, 2, 5]] != 0.0)
            for k in range(at, at + (6 if record["kind"] == 3 else 3)):
                mass.add([k], [k])
            if full:
                mass.add(np.arange(at + 3, at + 6), np.arange(at + 3, at + 6))
        return mass.csr()


def _dense(system: Any) -> Structure:
    nq, nv, nc = system.nq, system.nv, system.nc

    def full(m: int, n: int) -> csr_array:
        return csr_array(np.ones((m, n)))

    identity = system.nq == system.nv and system._functions.user_kinematics is None
    empty, eye = csr_array((nq, nq)), csr_array(np.eye(nq, nv))
    return Structure(
        map_q=empty if identity else full(nq, nq), map_v=eye if identity else full(nq, nv), stab_q=full(nq, nq), stab_c=full(nq, nc),
        mass=full(nv, nv), dyn_q=full(nv, nq), dyn_v=full(nv, nv), dyn_c=full(nv, nc), phi_q=full(nc, nq), vel_q=full(nc, nq),
        vel_v=full(nc, nv), acc_v=full(nc, nv))
