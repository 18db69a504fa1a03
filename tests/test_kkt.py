"""The KKT matrix through the reduced matrix in its envelope: against dense algebra, its numbering, redundant constraints."""

import numpy as np
import pytest

import mbdae
from mbdae.system import layout as lay
from mbdae.system.ordering import factorisation_work, first_columns, order_rows

from .helpers import GROUND, chain, dense_kkt, relative, rigid

X, Y, Z = np.eye(3)


def linked(seed, n, edges):
    """Rigid bodies with full tensors of inertia, joined by random primitives along the edges of a graph; node -1 is the ground."""
    rng = np.random.default_rng(seed)

    def r():
        return rng.normal(size=3)

    kinds = [lambda *e: mbdae.Coincident(*e, r(), r()), lambda *e: mbdae.DP1(*e, r(), r(), 0.1), lambda *e: mbdae.DP2(*e, r(), r(), r()),
             lambda *e: mbdae.D(*e, r(), r(), 1.0), lambda *e: mbdae.CD(*e, r(), r(), r())]

    def name(k):
        return GROUND if k < 0 else str(k)

    joints = [kinds[rng.integers(len(kinds))](f"joint {k}", name(i), name(j)) for k, (i, j) in enumerate(edges)]
    return mbdae.System(mbdae.Mechanism("linked", [rigid(rng, str(k)) for k in range(n)], joints))


def tree(rng, n):
    return [(int(rng.integers(-1, k)), k) for k in range(n)]


GRAPHS = {
    "chain": lambda rng: (8, [(k - 1, k) for k in range(8)]),
    "tree": lambda rng: (12, tree(rng, 12)),
    "star": lambda rng: (9, [(0, k) for k in range(1, 9)]),
    "loop": lambda rng: (7, [(k - 1, k) for k in range(7)] + [(6, -1)]),
    "grid": lambda rng: (9, [(k, k + 1) for k in range(9) if k % 3 < 2] + [(k, k + 3) for k in range(6)]),
    "random": lambda rng: (10, [tuple(int(x) for x in rng.choice(10, 2, replace=False)) for _ in range(14)]),
    "separate": lambda rng: (6, [(0, 1), (2, 3), (4, -1)]),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_solutions_agree_with_dense_algebra(graph, seed, rng):
    s = linked(seed, *GRAPHS[graph](np.random.default_rng(seed)))
    b, c, q = rng.normal(size=s.nv), rng.normal(size=s.nc), s.initial_guess()[0]
    x, lam, dependent = s.solve_kkt(0.0, q, b, c)
    assert dependent == 0
    expected = dense_kkt(s, 0.0, q, b, c)
    assert relative(x, expected[0]) < 1e-9
    assert relative(lam, expected[1]) < 1e-9
    G = s.phi_q(0.0, q)
    assert relative(s.mass(0.0, q) @ x + G.T @ lam, b) < 1e-10
    assert relative(G @ x, c) < 1e-10


def test_diagonal_tensors_take_the_same_way(rng):
    s = mbdae.System(chain(6))
    b, c, q = rng.normal(size=s.nv), rng.normal(size=s.nc), s.initial_guess()[0]
    q = s.retract(q, 0.3 * rng.normal(size=s.nv))
    for found, expected in zip(s.solve_kkt(0.0, q, b, c), dense_kkt(s, 0.0, q, b, c)):
        assert relative(found, expected) < 1e-10


def test_without_constraints_the_mass_matrix_is_inverted(rng):
    s = mbdae.System(mbdae.Mechanism("free", [rigid(rng, "a"), mbdae.Particle("p", 2.0), mbdae.PlanarBody("c", 3.0, 0.5)]))
    b, q = rng.normal(size=s.nv), s.initial_guess()[0]
    x, lam, dependent = s.solve_kkt(0.0, q, b, np.zeros(0))
    np.testing.assert_allclose(x, np.linalg.solve(s.mass(0.0, q), b), rtol=1e-12)
    assert lam.shape == (0,)
    assert dependent == 0


# --- numbering -----------------------------------------------------------------------------------------------------------


def envelope_size(system):
    return int(system.model[:lay.HEADER_BYTES].view(np.int64)[lay.NENV])


@pytest.mark.parametrize("seed", range(5))
def test_a_shuffled_chain_has_the_envelope_of_the_ordered_one(seed, rng):
    order = np.random.default_rng(seed).permutation(40)
    ordered, shuffled = mbdae.System(chain(40)), mbdae.System(chain(40, order))
    assert envelope_size(shuffled) == envelope_size(ordered)
    naive = np.arange(shuffled.nc) - first_columns(np.arange(shuffled.nc), np.argwhere(np.tril(reduced_matrix_pattern(shuffled), -1)))
    assert naive.sum() + shuffled.nc > 4 * envelope_size(shuffled)  # what it would be without renumbering


def reduced_matrix_pattern(s):
    G = s.phi_q(0.0, s.initial_guess()[0])
    G.data[:] = 1.0
    return (G @ G.T).toarray() > 0


def test_shuffling_the_joints_does_not_change_the_motion(rng):
    order = rng.permutation(6)
    ordered, shuffled = (mbdae.assemble(mbdae.System(chain(6, o))) for o in (range(6), order))
    np.testing.assert_allclose(shuffled.a, ordered.a, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(shuffled.lam.reshape(6, 3), ordered.lam.reshape(6, 3)[order], rtol=1e-9, atol=1e-9)


def test_the_envelope_of_a_chain_grows_linearly():
    sizes = [envelope_size(mbdae.System(chain(n))) for n in (40, 80, 120, 160)]
    steps = np.diff(sizes)
    assert steps[0] == steps[1] == steps[2]
    assert steps[0] == 40 * (3 * (3 + 1) // 2 + 9)  # the triangle of a joint and its coupling to the one before


def test_the_rows_of_a_joint_stay_together(rng):
    s = mbdae.System(chain(20, rng.permutation(20)))
    joints = s.row_order // 3
    assert (joints.reshape(20, 3) == joints[::3, None]).all()
    assert sorted(s.row_order) == list(range(60))


def test_the_natural_order_is_kept_where_it_is_the_cheapest():
    """A star with its centre last: no numbering is cheaper, reverse Cuthill-McKee only ties."""
    group, shared = np.arange(5), np.array([[4, k] for k in range(4)])
    rows = order_rows(group, shared)
    assert factorisation_work(rows, shared) <= factorisation_work(np.arange(5), shared)


def test_work_bound_of_a_full_and_of_a_diagonal_matrix():
    every = np.array([[a, b] for a in range(5) for b in range(a)])
    assert factorisation_work(np.arange(5), every) == sum(k * (k + 3) / 2 for k in range(5))
    assert factorisation_work(np.arange(5), np.zeros((0, 2), dtype=int)) == 0.0


# --- redundant constraints -----------------------------------------------------------------------------------------------


def four_bar():
    """A planar four-bar linkage of spatial bodies and four spatial revolute joints: three of its twenty equations are redundant."""
    corners = {"A": (0, 0, 0), "B": (0, 0, 1.0), "C": (2.0, 0, 2.0), "D": (3.0, 0, 0)}
    links = {"crank": "AB", "coupler": "BC", "rocker": "CD"}
    bodies, ends = [], {GROUND: {"A": corners["A"], "D": corners["D"]}}
    for k, (name, (a, b)) in enumerate(links.items()):
        P, Q = np.array(corners[a]), np.array(corners[b])
        bodies.append(mbdae.RigidBody(name, 1.0 + k, ((0.2, 0.01, 0.02), (0.01, 0.3, 0.03), (0.02, 0.03, 0.4)), (P + Q) / 2))
        ends[name] = {a: (P - Q) / 2, b: (Q - P) / 2}
    pairs = (("A", GROUND, "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker"), ("D", "rocker", GROUND))
    joints = [mbdae.Revolute(n, i, j, ends[i][n], ends[j][n], Y, Y) for n, i, j in pairs]
    return mbdae.Mechanism("four-bar", bodies, joints, gravity=(0, 0, -9.81))


@pytest.fixture(scope="module")
def bar():
    s = mbdae.System(four_bar())
    q, _ = s.initial_guess()
    motion = np.linalg.svd(s.phi_q(0.0, q).toarray())[2][17]  # the one velocity that the constraints allow
    return s, mbdae.assemble(s, v=5.0 * motion)


def test_redundant_equations_are_counted_and_named(bar):
    s, x = bar
    G = s.phi_q(0.0, x.q).toarray()
    assert (s.nc, np.linalg.matrix_rank(G, tol=1e-9)) == (20, 17)
    assert len(x.redundant) == 3
    kept = [k for k, label in enumerate(s.labels) if label not in x.redundant]
    assert len(kept) == 17
    assert np.linalg.matrix_rank(G[kept], tol=1e-9) == 17


def test_accelerations_with_redundant_equations_are_those_of_the_pseudo_inverse(bar):
    s, x = bar
    a, lam = dense_kkt(s, 0.0, x.q, s.force(0.0, x.q, x.v), s.gamma(0.0, x.q, x.v))
    assert np.abs(x.v).max() > 1.0
    assert relative(x.a, a) < 1e-10
    assert relative(x.lam, lam) < 1e-9  # of minimal norm


def test_a_linkage_with_redundant_equations_moves_like_the_planar_one(bar):
    s, x = bar
    planar = mbdae.System(four_bar().without(*x.redundant))
    assert planar.nc == 17
    start = mbdae.assemble(planar, q=x.q, v=x.v)
    assert start.redundant == ()
    np.testing.assert_allclose(start.a, x.a, atol=1e-10)
    ends = [mbdae.solve(system, mbdae.HalfImplicit(h=2e-3), (0.0, 0.5), state=state).q[-1] for system, state in ((s, x), (planar, start))]
    assert np.abs(ends[0] - x.q).max() > 0.1
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


def test_nearly_dependent_equations_are_kept():
    """Two directions that differ by 1e-4 rad are two equations."""
    tilted = np.array([np.cos(1e-4), np.sin(1e-4), 0.0])
    joints = [mbdae.DP1("one", GROUND, "b", X, Y), mbdae.DP1("two", GROUND, "b", tilted, Z)]
    joints += [mbdae.CD("three", GROUND, "b", X), mbdae.CD("four", GROUND, "b", tilted)]
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.RigidBody("b", 1.0, (1, 2, 3))], joints))
    q, c = s.initial_guess()[0], np.array([1.0, 2.0, 3.0, 4.0])
    x, _, dependent = s.solve_kkt(0.0, q, np.zeros(6), c)
    assert dependent == 0
    np.testing.assert_allclose(s.phi_q(0.0, q) @ x, c, rtol=1e-7)


def test_an_equation_given_twice_is_dependent(rng):
    joints = [mbdae.CD("one", GROUND, "b", X), mbdae.CD("again", GROUND, "b", 2 * X)]
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.RigidBody("b", 1.0, (1, 2, 3))], joints, gravity=(1, 2, 3)))
    x = mbdae.assemble(s)
    assert len(x.redundant) == 1
    np.testing.assert_allclose(x.a, [0, 2, 3, 0, 0, 0], atol=1e-14)
    np.testing.assert_allclose(x.lam, [0.2, 0.4], rtol=1e-12)  # minimal norm: along (1, 2)
