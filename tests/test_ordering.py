"""Renumbering of joints: Gibbs-King against reverse Cuthill-McKee and against the optimum, numberings that the user imposes."""

import pickle
from itertools import pairwise, permutations

import numpy as np
import pytest
from linear_solvers.topology import interleaved

import mbdae
from mbdae import library
from mbdae.system import layout as lay
from mbdae.system.gibbs_king import gibbs_king
from mbdae.system.layout import SEGMENT_T
from mbdae.system.ordering import NUMBERINGS, candidates, cheapest, factorisation_work, first_columns, order_rows, widths
from mbdae.system.reduced import PIECE_T, meetings, runs

from .helpers import case, double_pendulum, relative
from .test_kkt import four_bar


def neighbours(n, edges):
    found = [set() for _ in range(n)]
    for a, b in edges:
        found[a].add(b)
        found[b].add(a)
    return [sorted(f) for f in found]


def simple(edges):
    """Every edge once, none from a node to itself, as an array."""
    edges = np.sort(np.array(edges, dtype=np.int64).reshape(-1, 2), axis=1)
    return np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)


def random_graph(rng, n, degree):
    return simple(rng.integers(0, n, (int(0.5 * degree * n), 2)))


def random_tree(rng, n):
    return simple([(k, rng.integers(0, k)) for k in range(1, n)])


def grid(names):
    """A square grid of nodes with these names."""
    return simple([*zip(names[1:].ravel(), names[:-1].ravel()), *zip(names[:, 1:].ravel(), names[:, :-1].ravel())])


def envelope(order, edges):
    return int(widths(np.asarray(order), edges).sum())


def by(kind, n, edges):
    """The better of the two directions of a numbering."""
    return cheapest(candidates(n, edges, kind), edges, np.ones(n, dtype=np.int64))


# --- Gibbs-King ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 40])
@pytest.mark.parametrize("degree", [0.5, 1.5, 3.0])
def test_every_node_gets_one_number(n, degree, rng):
    for _ in range(10):
        edges = random_graph(rng, n, degree) if n else simple([])
        assert sorted(gibbs_king(neighbours(n, edges))) == list(range(n))


def test_components_stay_together(rng):
    edges = np.concatenate([random_tree(rng, 7) + shift for shift in (0, 7, 14)])
    names = rng.permutation(25)  # four nodes have no edges
    order = gibbs_king(neighbours(25, names[edges]))
    component = np.argsort(names)[order] // 7
    assert (np.diff(component) != 0).sum() <= 3 + 4


def test_a_shuffled_path_is_numbered_from_end_to_end(rng):
    names = rng.permutation(60)
    edges = simple(list(pairwise(names)))
    assert gibbs_king(neighbours(60, edges)) in (names.tolist(), names[::-1].tolist())


@pytest.mark.parametrize("n", [3, 5, 8])
def test_a_shuffled_grid_has_the_envelope_of_its_diagonals(n, rng):
    names = rng.permutation(n * n).reshape(n, n)
    edges, along = grid(names), np.argsort(np.add.outer(np.arange(n), np.arange(n)).ravel(), kind="stable")
    assert envelope(gibbs_king(neighbours(n * n, edges)), edges) <= envelope(names.ravel()[along], edges)


@pytest.mark.thorough
def test_small_graphs_are_numbered_nearly_as_well_as_can_be(rng):
    ratios = []
    for _ in range(60):
        n = int(rng.integers(4, 8))
        edges = random_graph(rng, n, rng.uniform(1.5, 3.5))
        if len(edges):
            least = min(factorisation_work(np.array(p), edges) for p in permutations(range(n)))
            ratios.append(factorisation_work(by("gibbs-king", n, edges), edges) / least)
    assert min(ratios) >= 1.0
    assert np.mean(np.array(ratios) == 1.0) > 0.85
    assert max(ratios) < 1.6


def test_the_best_of_all_is_the_optimum_for_eight_joints(rng):
    """All 40320 numberings of one graph: two loops that share a joint, with a tail."""
    edges = simple([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 3), (6, 7)])
    sizes = np.ones(8, dtype=np.int64)
    least = min(factorisation_work(np.array(p), edges) for p in permutations(range(8)))
    assert factorisation_work(cheapest(candidates(8, edges), edges, sizes), edges) == least


@pytest.mark.parametrize(("make", "share"), [(random_tree, 0.75), (lambda rng, n: random_graph(rng, n, 3.0), 0.95)])
def test_envelopes_are_smaller_than_those_of_reverse_cuthill_mckee(make, share, rng):
    graphs = [(n, make(rng, n)) for n in (20, 60, 150) for _ in range(10)]
    sums = {kind: sum(envelope(by(kind, n, edges), edges) for n, edges in graphs) for kind in ("natural", "rcm", "gibbs-king")}
    assert sums["gibbs-king"] < share * sums["rcm"] < sums["natural"]


class Counted(list):
    """Neighbours that count how many of them are looked at."""

    looked_at = 0

    def __getitem__(self, k):
        found = super().__getitem__(k)
        Counted.looked_at += len(found)
        return found


LARGE = {"chain": lambda rng, n: simple([(k, k + 1) for k in range(n - 1)]), "tree": random_tree,
         "binary tree": lambda rng, n: simple([(k, (k - 1) // 2) for k in range(1, n)]), "any": lambda rng, n: random_graph(rng, n, 3.0)}


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_the_effort_grows_with_the_number_of_edges(make, rng):
    for n in (500, 4000):
        edges, Counted.looked_at = make(rng, n), 0
        gibbs_king(Counted(neighbours(n, edges)))
        assert Counted.looked_at < 60 * len(edges)


# --- the choice ----------------------------------------------------------------------------------------------------------


def test_the_best_numbering_is_the_cheapest_of_all(rng):
    for _ in range(20):
        edges, sizes = random_graph(rng, 30, 2.5), rng.integers(1, 6, 30)
        group, shared = np.repeat(np.arange(30), sizes), (np.cumsum(sizes) - sizes)[edges]
        work = {kind: factorisation_work(_joints(order_rows(group, shared, kind), group), edges, sizes) for kind in NUMBERINGS}
        assert work["best"] == min(work.values())
        assert np.array_equal(order_rows(group, shared, "natural"), np.arange(len(group)))


def _joints(rows, group):
    return group[rows][np.flatnonzero(np.diff(group[rows], prepend=-1))]


def test_widths_of_rows_follow_from_those_of_joints():
    edges, sizes = simple([(0, 1), (1, 2), (0, 2), (2, 3)]), np.array([2, 1, 3, 2])
    order = np.array([3, 2, 0, 1])
    assert first_columns(order, edges).tolist() == [0, 0, 1, 1]
    assert first_columns(order, edges, sizes).tolist() == [0, 0, 0, 0, 0, 2, 2, 2]
    assert widths(order, edges, sizes).tolist() == [0, 1, 2, 3, 4, 3, 4, 5]
    assert factorisation_work(order, edges) == 0.5 * (1 * 4 + 1 * 4 + 2 * 5)


# --- numberings of a system ------------------------------------------------------------------------------------------------


def names(mechanism):
    return [c.name for c in mechanism.constraints]


@pytest.mark.parametrize("name", [case(name) for name in ("andrews", "slider-crank", "iltis", "stewart-platform", "random-tree", "ring")])
def test_accelerations_and_multipliers_do_not_depend_on_the_numbering(name, rng):
    mechanism = library.mechanism(name)
    shuffled = [names(mechanism)[k] for k in rng.permutation(len(mechanism.constraints))]
    systems = [mbdae.System(mechanism, numbering) for numbering in (*NUMBERINGS, interleaved(names(mechanism)), shuffled)]
    b, c = rng.normal(size=systems[0].nv), rng.normal(size=systems[0].nc)
    q = systems[0].start.q
    x, lam, _ = systems[0].solve_kkt(0.0, q, b, c)
    assert len({s.row_order.tobytes() for s in systems}) > 2
    for s in systems[1:]:
        found = s.solve_kkt(0.0, q, b, c)
        assert relative(found[0], x) < 1e-9
        assert relative(found[1], lam) < 1e-9
        np.testing.assert_allclose(s.start.a, systems[0].start.a, rtol=1e-8, atol=1e-7 * np.abs(s.start.a).max())


def test_rows_stand_in_the_order_imposed():
    s = mbdae.System(library.mechanism("andrews"), ["E6", "O", "F", "B", "A5", "G", "A7", "H", "E3", "E4"])
    assert [s.labels[k].split(".")[0] for k in s.row_order[::2]] == list(s.numbering)


def test_redundant_equations_are_left_out_in_any_order():
    mechanism = four_bar()
    systems = [mbdae.System(mechanism, numbering) for numbering in ("best", ["C", "A", "D", "B"], ["D", "C", "B", "A"])]
    for s in systems:
        assert len(s.start.redundant) == 3
        assert list(s.dependent) == list(systems[0].dependent)
        assert relative(s.start.a, systems[0].start.a) < 1e-9
        assert relative(s.start.lam, systems[0].start.lam) < 1e-8  # of minimal norm


@pytest.mark.parametrize("numbering", ["natural", ["knee", "top"], np.array(["knee", "top"])])
def test_a_pickled_system_keeps_its_numbering(numbering):
    s = mbdae.System(double_pendulum(), numbering)
    again = pickle.loads(pickle.dumps(s))
    assert again.numbering == s.numbering
    assert np.array_equal(again.row_order, s.row_order)
    assert np.array_equal(again.model, s.model)


@pytest.mark.parametrize(("numbering", "message"), [
    ("worst", "'best', 'natural', 'rcm', 'gibbs-king'.*'worst'"),
    (None, "numbering must be one of"),
    (["top"], "missing: 'knee'"),
    (["top", "knee", "elbow"], "unknown: 'elbow'"),
    (["top", "knee", "top"], "named twice: 'top'"),
])
def test_numberings_that_do_not_fit_are_refused(numbering, message):
    with pytest.raises(ValueError, match=message):
        mbdae.System(double_pendulum(), numbering)


@pytest.mark.parametrize("name", [case(name) for name in library.names()])
def test_segments_cover_all_entries_that_can_differ_from_zero(name):
    s = library.system(name)
    covered = np.zeros(s.nnz, dtype=bool)
    for segment in lay.records_of(s.model, lay.SEGMENT, SEGMENT_T):
        covered[segment["at"]:segment["at"] + segment["n"]] = True
        assert s.pattern.col[segment["at"]] == segment["v"]
    assert not s.pattern.nonzero[~covered].any()


def test_segments_leave_out_the_translations_of_directions():
    lengths = lay.records_of(library.system("chain", links=2, joints="revolute").model, lay.SEGMENT, SEGMENT_T)["n"]
    assert sorted(lengths) == [3] * 6 + [6] * 9  # three ends on bodies: two directions and three points


# --- products along the paths of a tree ---------------------------------------------------------------------------------


def _paths(rng, joints, rows):
    """Pieces of rows along the paths from two joints each to the root, in a random tree of joints of one to three values."""
    above = [int(rng.integers(-1, k)) if k else -1 for k in range(joints)]
    sizes, made, at = rng.integers(1, 4, joints), [], 0
    for r in range(rows):
        path = set()
        for n in rng.integers(0, joints, 2).tolist():
            while n >= 0:
                path.add(n)
                n = above[n]
        for n in sorted(path):
            made.append((r, n, at, 0, sizes[n], (1 << int(sizes[n])) - 1))
            at += sizes[n]
    return np.array(made, PIECE_T)


@pytest.mark.parametrize("seed", range(20))
def test_runs_along_paths_have_the_same_products_as_pairs_of_pieces(seed):
    rng = np.random.default_rng(seed)
    pieces = _paths(rng, int(rng.integers(1, 30)), int(rng.integers(1, 15)))

    def products(pairs, lengths):
        a, b = pieces["at"][pairs].T
        return sorted((max(x + k, y + k), min(x + k, y + k)) for x, y, n in zip(a, b, lengths) for k in range(n))

    pairs = meetings(pieces["body"])
    found = runs(pieces)
    assert products(*found) == products(pairs, pieces["n"][pairs[:, 0]])
    assert len(found.pairs) <= len(pairs)


def test_a_ladder_has_one_run_for_two_rows():
    """The number of pairs of pieces is cubic in the number of loops, that of runs quadratic."""
    loops = 40
    system = mbdae.System(mbdae.library.mechanism("ladder", loops=loops), coordinates="joint")
    rows = 2 * loops
    assert len(system._model) < 50 * rows**2  # bytes
