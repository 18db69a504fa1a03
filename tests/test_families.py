"""Families of any size: counts, starts, rank, seeds, and two routes to the same motion.

The second route shares nothing with the package but the data: bodies are placed by the coordinates of their joints, loops are cut, bodies
in space become six point masses each, and the derivatives of these places are taken by complex steps (the first) and by Cauchy's integral
(the second). What both routes reach is stated beside the bounds.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae import GROUND
from mbdae.adapters.scipy import SolveIvp
from mbdae.library import chain, ladder, random_tree, ring, tree
from mbdae.model import rotations
from mbdae.system import layout as lay

from .forms import open_levels, random_state

FAMILIES = {module.ENTRY.name: module for module in (chain, tree, ring, ladder, random_tree)}


def system(name, **given):
    entry = FAMILIES[name].ENTRY
    return mbdae.System(entry.build(**entry.checked(given)))


def label(case):
    return " ".join([case[0], *(f"{k}={v}" for k, v in case[1].items())]) if isinstance(case, tuple) and isinstance(case[1], dict) else None

# --- counts, starts, rank ------------------------------------------------------------------------------------------------

# bodies, constraint equations, degrees of freedom
COUNTS = [
    *((("chain", {"links": n, "joints": j}), (n, c * n, d * n)) for n in (1, 2, 30)
      for j, c, d in (("spherical", 3, 3), ("revolute", 5, 1), ("planar", 2, 1))),
    (("tree", {"levels": 5}), (31, 93, 93)),
    (("tree", {"levels": 1, "branches": 9}), (1, 3, 3)),
    (("tree", {"levels": 4, "branches": 3, "joints": "revolute"}), (40, 200, 40)),
    (("tree", {"levels": 3, "branches": 5, "joints": "planar"}), (31, 62, 31)),
    *((("ring", {"links": n, "joints": j, "support": p}), (n, c * (n + held), d * n - c * held)) for n in (5, 6, 31)
      for j, c, d in (("spherical", 3, 3), ("planar", 2, 1)) for p, held in (("free", 0), ("point", 1))),
    *((("ladder", {"loops": n}), (3 * n, 8 * n, n)) for n in (1, 2, 5, 20)),
    (("random-tree", {}), (20, 82, 38)),
    (("random-tree", {"bodies": 1, "seed": 3}), (1, 3, 3)),
    (("random-tree", {"bodies": 30, "seed": 4}), (30, 124, 56)),
]


@pytest.mark.parametrize(("case", "counts"), COUNTS, ids=label)
def test_starts_are_consistent_and_nothing_is_redundant(case, counts, rng):
    s = system(case[0], **case[1])
    assert (len(s.mechanism.bodies), s.nc, s.dof) == counts
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    size = 1.0 + np.abs(q).max()
    assert np.abs(s.phi(0.0, q)).max() < 2e-15 * size
    assert np.abs(s.difference(x.q, q)).max() < 2e-15 * size and np.abs(x.v - v).max() < 1e-14 * size
    assert x.redundant == ()
    assert max(open_levels(s, x).values()) < 1e-12
    for state in (x, random_state(s, rng, 0.2 / size)):
        sigma = np.linalg.svd(s.phi_q(0.0, state.q).toarray() / np.sqrt(np.diag(s.mass(0.0, state.q))), compute_uv=False)
        assert sigma[-1] > 1e-4 * sigma[0]  # found: 5e-4 with thirty bars on revolute joints


@pytest.mark.parametrize(("links", "redundant"), [(6, 1), (8, 1), (5, 0)])
def test_a_ring_loses_rank_where_it_is_folded_flat(links, redundant):
    """All bars of an even ring along x, to and fro; an odd one must end in a triangle at best, and keeps its rank."""
    angles = np.pi * (np.arange(links) % 2.0)
    if links % 2:
        angles[-3:] = np.radians([0.0, 120.0, 240.0])
    ends = np.cumsum([[0.0, 0.0], *(2.0 * np.array([np.cos(b), np.sin(b)]) for b in angles)], axis=0)
    q = np.column_stack([0.5 * (ends[:-1] + ends[1:]), angles]).ravel()
    x = mbdae.assemble(system("ring", links=links, joints="planar"), q=q)
    np.testing.assert_allclose(x.q, q, atol=1e-12)
    assert len(x.redundant) == redundant


@pytest.mark.parametrize("joints", chain.JOINTS)
def test_a_tree_with_one_branch_is_a_chain(joints):
    one, other = system("tree", levels=5, branches=1, joints=joints), system("chain", links=5, joints=joints)
    assert one.labels == other.labels
    for x, y in zip(one.initial_guess(), other.initial_guess()):
        np.testing.assert_allclose(x, y, atol=1e-14)
    x, y = (mbdae.assemble(s, v=np.sin(np.arange(s.nv))) for s in (one, other))
    np.testing.assert_allclose(x.lam, y.lam, atol=1e-11 * np.abs(y.lam).max())


@pytest.mark.parametrize(("case", "message"), [
    (("chain", {"joints": "universal"}), "chain: joints must be 'spherical' or 'revolute' or 'planar', got 'universal'"),
    (("chain", {"joints": None}), "chain: joints must be"),
    (("tree", {"levels": 0}), "tree: levels must be an integer from 1 to 4096, got 0"),
    (("tree", {"branches": 2.0}), "tree: branches must be an integer from 1 to 4096, got 2.0"),
    (("tree", {"levels": 13}), "tree: levels and branches must make at most 4096 bars, got 13 and 2"),
    (("tree", {"joints": ["planar"]}), "tree: joints must be"),
    (("ring", {"links": 4}), "ring: links must be an integer from 5 to 4096, got 4"),
    (("ring", {"joints": "revolute"}), "ring: joints must be 'spherical' or 'planar', got 'revolute'"),
    (("ring", {"support": "bar"}), "ring: support must be 'point' or 'free', got 'bar'"),
    (("ladder", {"loops": 1366}), "ladder: loops must be an integer from 1 to 1365, got 1366"),
    (("ladder", {"loops": True}), "ladder: loops must be an integer"),
    (("random-tree", {"bodies": 0}), "random-tree: bodies must be an integer from 1 to 4096, got 0"),
    (("random-tree", {"seed": -1}), "random-tree: seed must be an integer from 0 to 18446744073709551615, got -1"),
    (("random-tree", {"seed": 0.5}), "random-tree: seed must be an integer"),
], ids=label)
def test_bad_parameters_are_refused(case, message):
    with pytest.raises(ValueError) as refusal:
        system(case[0], **case[1])
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(("name", "parameter", "most"), [
    ("chain", {"joints": "planar"}, 3.5), ("chain", {"joints": "spherical"}, 5.0), ("chain", {"joints": "revolute"}, 8.0),
    ("ring", {"joints": "planar"}, 3.5), ("ring", {"joints": "planar", "support": "free"}, 5.5), ("ring", {"support": "free"}, 8.0)])
def test_the_envelope_does_not_grow_with_the_size(name, parameter, most):
    assert [entries_per_row(system(name, links=n, **parameter)) < most for n in (16, 64, 256)] == [True] * 3


def test_the_envelopes_of_ladders_and_trees():
    """One entry per row more when the number of bars of a tree doubles; what takes less work may have a few entries more."""
    assert max(entries_per_row(system("ladder", loops=n)) for n in (5, 21, 85)) < 6.0
    mechanisms = [system("tree", levels=k, joints="planar").mechanism for k in range(4, 10)]
    natural, best = (np.array([entries_per_row(mbdae.System(m, numbering)) for m in mechanisms]) for numbering in ("natural", "best"))
    assert max(np.diff(natural)) < 1.0 + 1e-9 and (best < 1.2 * natural).all()


def entries_per_row(s):
    """Of the reduced matrix in its envelope."""
    return s.model[:lay.HEADER_BYTES].view(np.int64)[lay.NENV] / s.nc


# --- seeds ---------------------------------------------------------------------------------------------------------------


def test_the_generator_is_splitmix64():
    """The values that are commonly listed for this seed."""
    draw = random_tree.Draw(1234567)
    assert [draw.bits() for _ in range(5)] == [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
                                               16408922859458223821]


def test_a_seed_means_the_same_tree_for_ever():
    m = random_tree.build(6, 0)
    assert m == random_tree.build(6, 0)
    assert [(j.i, j.j, type(j).__name__) for j in m.joints] == TREE_0
    np.testing.assert_allclose([*m.bodies[5].position, m.bodies[5].mass, m.bodies[5].inertia[1], m.joints[5].s_j[0]], NUMBERS_0, rtol=1e-13)


TREE_0 = [("ground", "body 1", "Spherical"), ("body 1", "body 2", "Spherical"), ("body 2", "body 3", "Spherical"),
          ("body 1", "body 4", "Universal"), ("body 4", "body 5", "Revolute"), ("body 1", "body 6", "Spherical")]
NUMBERS_0 = [0.28284831606267535, -0.05048323420234116, 0.039906625958213815, 1.289559748293307, -0.014579675951534393,
             -0.15456198404200797]


def test_seeds_differ():
    trees = [random_tree.build(20, seed) for seed in (0, 1, 2**64 - 1)]
    assert len({tuple((j.i, type(j)) for j in m.joints) for m in trees}) == len({m.bodies[0].mass for m in trees}) == 3


def test_random_bodies_are_possible_and_joints_of_all_kinds():
    found = [random_tree.build(20, seed) for seed in range(10)]
    assert {type(j) for m in found for j in m.joints} == set(random_tree.KINDS)
    for b in (b for m in found for b in m.bodies):
        a = np.linalg.eigvalsh(np.reshape(b.inertia, (3, 3)))
        assert a[0] + a[1] > a[2] > a[0] > 0.0 and 1.0 <= b.mass <= 5.0
        assert abs(b.inertia[1]) > 0.0


# --- conservation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [(n, g) for n, m in FAMILIES.items() for g in ({}, *m.ENTRY.variants)], ids=label)
def test_energy_is_conserved(case):
    """Found: 2e-11 at worst."""
    s = system(case[0], **case[1])
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 1.0), t_eval=[0.0, 0.5, 1.0], rtol=1e-10, atol=1e-12)
    kinetic = max(s.kinetic_energy(t, q, v) for t, q, v in zip(x.t, x.q, x.v))
    assert np.ptp(x.energy) < 1e-9 * kinetic


@pytest.mark.parametrize("joints", ["spherical", "planar"])
def test_a_free_ring_keeps_its_momentum(joints):
    s = system("ring", joints=joints, support="free")
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 2.0), t_eval=np.linspace(0.0, 2.0, 5), rtol=1e-11, atol=1e-12)
    momenta = np.array([momentum(joints, q, v) for q, v in zip(x.q, x.v)])
    inertia = 8 * (chain.ACROSS + chain.MASS / np.tan(np.pi / 8) ** 2)  # the polygon turns with 1 rad/s as a whole
    assert momenta[0, 5] == pytest.approx(inertia, rel=1e-12)
    assert np.abs(momenta - [0.0, 0.0, 0.0, *momenta[0, 3:]]).max() < 1e-9 * inertia


def momentum(joints, q, v):
    """Momentum, and angular momentum about the origin."""
    if joints == "planar":
        (x, y, _), (d_x, d_y, omega) = q.reshape(-1, 3).T, v.reshape(-1, 3).T
        return np.array([chain.MASS * d_x.sum(), chain.MASS * d_y.sum(), 0.0, 0.0, 0.0,
                         (chain.MASS * (x * d_y - y * d_x) + chain.ACROSS * omega).sum()])
    J = np.array([chain.MASS * chain.WIDTH**2 / 6.0, chain.ACROSS, chain.ACROSS])
    turning = [chain.MASS * np.cross(a[:3], b[:3]) + rotations.to_matrix(a[3:]) @ (J * b[3:])
               for a, b in zip(q.reshape(-1, 7), v.reshape(-1, 6))]
    return np.concatenate([chain.MASS * v.reshape(-1, 6)[:, :3].sum(axis=0), np.sum(turning, axis=0)])


@pytest.mark.parametrize("name", ["tree", "ring"])
def test_spins_stay_what_they_are(name):
    s = system(name)
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 1.0), t_eval=[1.0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x.v[0][3::6], [(6.0, -4.0, 8.0, -2.0)[k % 4] for k in range(s.nv // 6)], atol=1e-9)


# --- the motion by two routes --------------------------------------------------------------------------------------------


FREE = {mbdae.Spherical: 3, mbdae.Universal: 2, mbdae.Revolute: 1, mbdae.PlanarRevolute: 1, mbdae.Cylindrical: 2, mbdae.Translational: 1}


class Route:
    """A mechanism by the coordinates `u` of its joints, displacements from where the bodies are; loops are cut.

    `u` are rotation vectors, angles, shifts; `place(u)` has a row for each row of `u`: six points of each body, then the gaps of the loops.
    """

    def __init__(self, m):
        self.m, first = m, {}
        for j in m.joints:
            if j.i != GROUND:
                first.setdefault(j.i, None)
            first.setdefault(j.j, j)
        self.carrying = [first[b.name] for b in m.bodies]  # the joint that carries a body; None if it floats
        self.closing = [j for j in m.joints if j not in self.carrying]
        self.index = {GROUND: 0} | {b.name: k for k, b in enumerate(m.bodies, 1)}
        poses = [pose(b) for b in m.bodies]
        self.A = [np.eye(3), *(A for _, A, _, _ in poses)]
        self.r = [np.zeros(3), *(r for r, _, _, _ in poses)]
        self.arms = [arms(b) for b in m.bodies]
        self.rates = np.concatenate([(d[:, None] + A @ np.cross(omega, c.T).T).ravel() for (_, A, d, omega), c in zip(poses, self.arms)])
        self.weights = np.repeat([b.mass / 6.0 for b in m.bodies], 18)
        self.slid = [self.slide(j) if isinstance(j, (mbdae.Cylindrical, mbdae.Translational)) else 0.0 for j in self.carrying]
        self.turns = [3 if j is None else FREE[type(j)] for j in self.carrying]
        if isinstance(m.bodies[0], mbdae.PlanarBody):
            self.turns = [1] * len(m.bodies)
        self.n = sum(self.turns) + sum(2 if n == 1 else 3 for j, n in zip(self.carrying, self.turns) if j is None)

    def slide(self, j):
        """How far body j of a sliding joint is along its axis."""
        i, k = self.index[j.i], self.index[j.j]
        return (self.A[i].T @ (self.r[k] + self.A[k] @ j.s_j - self.r[i]) - j.s_i) @ j.a_i

    def place(self, u):
        r, A, at = [np.zeros((len(u), 3))], [np.broadcast_to(np.eye(3), (len(u), 3, 3))], 0
        for k, (j, n, slid) in enumerate(zip(self.carrying, self.turns, self.slid), 1):
            x, at = u[:, at:at + n], at + n
            if j is None:
                shift = u[:, at:at + (2 if n == 1 else 3)]
                at += shift.shape[1]
                A.append(self.A[k] @ exponential(x if n == 3 else x * np.eye(3)[2]))
                r.append(self.r[k] + np.pad(shift, ((0, 0), (0, 3 - shift.shape[1]))))
                continue
            i, slide = self.index[j.i], np.zeros((len(u), 1))
            C, axis = self.A[i].T @ self.A[k], getattr(j, "a_i", np.zeros(3))
            if isinstance(j, (mbdae.Spherical, mbdae.PlanarRevolute)):
                A.append(self.A[k] @ exponential(x if n == 3 else x * np.eye(3)[2]))
            elif isinstance(j, mbdae.Translational):
                A.append(A[i] @ C)
                slide = x
            else:
                B = A[i] @ exponential(x[:, :1] * axis) @ C
                A.append(B @ exponential(x[:, 1:] * j.a_j) if isinstance(j, mbdae.Universal) else B)
                slide = x[:, 1:] if isinstance(j, mbdae.Cylindrical) else slide
            r.append(r[i] + A[i] @ solid(j.s_i) + (slid + slide) * (A[i] @ axis) - A[k] @ solid(j.s_j))
        ends = [(self.index[j.i], self.index[j.j], solid(j.s_i), solid(j.s_j)) for j in self.closing]
        gaps = [(r[k] + A[k] @ s_j - r[i] - A[i] @ s_i)[:, :2 if self.turns[0] == 1 else 3] for i, k, s_i, s_j in ends]
        return np.concatenate([(x[:, :, None] + B @ c).reshape(len(u), 18) for x, B, c in zip(r[1:], A[1:], self.arms)] + gaps, axis=1)

    def potential(self, X):
        total = -X @ (self.weights * np.tile(np.repeat(self.m.gravity, 6), len(self.arms)))
        for f in self.m.forces:
            d = self.point(X, f.j, f.s_j) - self.point(X, f.i, f.s_i)
            total = total + 0.5 * f.k * (np.sqrt((d * d).sum(axis=1)) - f.l0) ** 2
        return total

    def point(self, X, name, s):
        """Where a point of a body is, by its six points."""
        if name == GROUND:
            return np.array(s)
        k = self.index[name] - 1
        x = X.reshape(len(X), -1, 3, 6)[:, k]
        return x.mean(axis=2) + 0.5 * (x[:, :, :3] - x[:, :, 3:]) @ np.linalg.solve(self.arms[k][:, :3], s)

    def tangent(self, u):
        return self.place(u + 1e-30j * np.eye(self.n)).imag.T / 1e-30

    def accelerations(self, u, w):
        """Of `u`, by Lagrange's equations of the points, the gaps held by multipliers; and of the points."""
        n, m, radius, roots = self.n, len(self.weights), 0.1 / (1.0 + np.abs(w).max()), np.exp(2j * np.pi * np.arange(16) / 16)
        X = self.place(np.concatenate([u + 1e-30j * np.eye(n), u + radius * roots[:, None] * w]))
        J, G = np.split(X[:n].imag.T / 1e-30, [m])
        bend = 2.0 * (X[n:] / roots[:, None] ** 2).mean(axis=0).real / radius**2
        force = -self.potential(X[:n, :m]).imag / 1e-30 - J.T @ (self.weights * bend[:m])
        K = np.block([[J.T @ (self.weights[:, None] * J), G.T], [G, np.zeros((len(G), len(G)))]])
        a = np.linalg.solve(K, np.concatenate([force, -bend[m:]]))[:n]
        return a, J @ a + bend[:m]

    def start(self):
        return np.linalg.lstsq(self.tangent(np.zeros(self.n))[:len(self.weights)], self.rates, rcond=None)[0]

    def after(self, t):
        """The mechanism as it is after a time, and its `q`, `v`."""
        n, m = self.n, len(self.weights)
        x = solve_ivp(lambda _, y: np.concatenate([y[n:], self.accelerations(y[:n], y[n:])[0]]), (0.0, t),
                      np.concatenate([np.zeros(n), self.start()]), "DOP853", rtol=1e-13, atol=1e-13)
        u, w = np.split(x.y[:, -1], 2)
        X, V, bodies, q, v = self.place(u[None, :])[0, :m], self.tangent(u)[:m] @ w, [], [], []
        for b, c, x, y in zip(self.m.bodies, self.arms, X.reshape(-1, 3, 6), V.reshape(-1, 3, 6)):
            A, rate = (0.5 * (z[:, :3] - z[:, 3:]) @ np.linalg.inv(c[:, :3]) for z in (x, y))
            W, (r, d) = A.T @ rate, (z.mean(axis=1) for z in (x, y))
            if isinstance(b, mbdae.PlanarBody):
                bodies.append(replace(b, position=r[:2], angle=np.arctan2(A[1, 0], A[0, 0]), velocity=d[:2], omega=W[1, 0]))
                q += [*r[:2], bodies[-1].angle]
                v += [*d[:2], W[1, 0]]
            else:
                bodies.append(replace(b, position=r, orientation=A, velocity=d, omega=(W[2, 1], W[0, 2], W[1, 0])))
                q += [*r, *bodies[-1].orientation]
                v += [*d, *bodies[-1].omega]
        return replace(self.m, bodies=bodies), np.array(q), np.array(v)


def solid(s):
    """A vector of the plane as one of space."""
    return np.pad(s, (0, 3 - len(s)))


def pose(body):
    """Position, rotation matrix, velocity, angular velocity."""
    if isinstance(body, mbdae.PlanarBody):
        A = exponential(np.array([[0.0, 0.0, body.angle]]))[0]
        return solid(body.position), A, solid(body.velocity), np.array([0.0, 0.0, body.omega])
    return np.array(body.position), rotations.to_matrix(body.orientation), np.array(body.velocity), np.array(body.omega)


def arms(body):
    """Six points, on the principal axes, that have the inertia of a body with a sixth of its mass each: as many columns."""
    J = np.diag([0.6, 0.6, 1.0]) * body.inertia if isinstance(body, mbdae.PlanarBody) else np.reshape(body.inertia, (3, 3))
    moments, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    half = axes * np.sqrt(3.0 * moments / body.mass)
    return np.concatenate([half, -half], axis=1)


def exponential(x):
    """Rotation matrices of rotation vectors; analytic, as even functions of the angle are."""
    angle = np.sqrt((x * x).sum(axis=1) + 1e-40)[:, None, None]
    X = np.cross(x[:, None, :], np.eye(3)).transpose(0, 2, 1)
    return np.eye(3) + np.sinc(angle / np.pi) * X + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * X @ X


REFERENCES = [(n, dict(p)) for n, m in FAMILIES.items() for p in dict.fromkeys(tuple(r.parameters.items()) for r in m.ENTRY.references)]


def largest_error(entry, reference, found):
    """Relative to one at least; turns of angles do not count."""
    errors = []
    for key, expected in reference.values.items():
        error = found[key] - expected
        if key.startswith(("angle", "rail")):
            error = (error + np.pi) % (2.0 * np.pi) - np.pi
        errors.append(abs(error) / max(1.0, abs(expected)))
    return max(errors)


@pytest.mark.thorough
@pytest.mark.parametrize("case", [c for c in REFERENCES if c not in (("random-tree", {}), ("random-tree", {"seed": 1}))], ids=label)
def test_coordinates_of_the_joints_reach_the_references(case):
    """Found: 6e-12. With more patience up to 2 s: 1e-10 at worst for the tree, 7e-11 for the others; twenty bodies 1e-10 at 1 s."""
    entry, s = FAMILIES[case[0]].ENTRY, system(case[0], **case[1])
    t, m = 0.0, s.mechanism
    for r in [r for r in entry.references if r.parameters == case[1] and r.t <= 0.5]:
        m, q, v = Route(m).after(r.t - t)
        t = r.t
        assert largest_error(entry, r, entry.observe(s, t, q, v, None, None)) < 1e-10


@pytest.mark.parametrize("case", [*(("random-tree", {"seed": k}) for k in range(6)), ("tree", {}), ("ring", {})], ids=label)
def test_accelerations_at_random_velocities(case, rng):
    s = system(case[0], **case[1])
    x = mbdae.assemble(s, v=rng.normal(size=s.nv))
    rates, rises = np.reshape(x.v, (-1, 6)), np.reshape(x.a, (-1, 6))
    route = Route(replace(s.mechanism, bodies=[replace(b, velocity=w[:3], omega=w[3:]) for b, w in zip(s.mechanism.bodies, rates)]))
    expected = [a[:3, None] + A @ (np.cross(a[3:], c.T) + np.cross(w[3:], np.cross(w[3:], c.T))).T
                for a, w, A, c in zip(rises, rates, route.A[1:], route.arms)]
    _, found = route.accelerations(np.zeros(route.n), route.start())
    np.testing.assert_allclose(found, np.ravel(expected), atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("case", REFERENCES, ids=label)
def test_the_underlying_ode_reaches_the_references(case):
    """Found: 5e-11 at worst. IDA on the Gear form at rtol 1e-12 reaches the references of trees and rings in space to 1e-10."""
    entry, s = FAMILIES[case[0]].ENTRY, system(case[0], **case[1])
    for r in [r for r in entry.references if r.parameters == case[1]]:
        x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, r.t), t_eval=[r.t], rtol=1e-12, atol=1e-12)
        assert largest_error(entry, r, entry.observe(s, r.t, x.q[0], x.v[0], x.a[0], x.lam[0])) < 2e-10


@pytest.mark.thorough
@pytest.mark.parametrize("method", [mbdae.HalfImplicit(h=1e-4), mbdae.FullyImplicit(h=1e-4), mbdae.HHT(h=1e-3)],
                         ids=lambda m: type(m).__name__)
def test_newtons_method_knows_the_rounding_of_long_mechanisms_in_joint_coordinates(method):
    """`Phi` of a ladder 170 m high has rounding errors of 170 m, although its joint coordinates are small angles."""
    mechanism = mbdae.library.mechanism("ladder", loops=85)
    joint, cartesian = mbdae.System(mechanism, coordinates="joint"), mbdae.System(mechanism)
    a, b = (mbdae.solve(s, method, (0.0, 10.0 * method.h)) for s in (joint, cartesian))
    assert a.success and b.success, (a.message, b.message)
    assert a.statistics.newton_iterations <= 1.2 * b.statistics.newton_iterations, (a.statistics, b.statistics)
    assert np.abs(joint.to_cartesian(a.q[-1])[0] - b.q[-1]).max() < 2e-4 * np.abs(b.q[-1] - b.q[0]).max()
