"""Column grouping: patterns with known answers, exhaustive search, the mechanisms of the library, and what may come in."""

import re
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize._numdiff import group_columns

import mbdae
from mbdae import library
from mbdae.jacobians.colouring import fewest_groups
from mbdae.jacobians.colouring.orderings import ORDERS
from mbdae.jacobians.grouping import check_groups, column_groups
from mbdae.problems import FORMULATIONS

from .grouping_patterns import (
    cycle,
    fewest,
    from_rows,
    largest_clique,
    mass_chain,
    meetings,
    multipliers,
    mycielski,
    random_pattern,
    stencil,
)

ALL_ORDERS = ("best", *ORDERS)
ARNOLD = ((1, 4), (1, 2, 3), (1, 3, 6), (4, 5), (2, 3, 5), (1, 2))  # columns of each row, Arnold, Fuchs, Fuehrer, eq. (19)


# --- patterns with known answers -----------------------------------------------------------------------------------------


def test_the_published_example_takes_three_groups():
    pattern = from_rows(ARNOLD, 6, first=1)
    check_groups(pattern, [0, 1, 2, 1, 0, 1])  # {1, 5}, {2, 4, 6}, {3}
    grouping = column_groups(pattern)
    check_groups(pattern, grouping.groups)
    assert (grouping.count, grouping.lower_bound, grouping.largest_row, grouping.clique) == (3, 3, 3, 3)
    assert grouping.optimal
    assert sorted(map(len, grouping.members)) in ([1, 2, 3], [2, 2, 2])


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_alone_takes_three_or_four_groups_for_the_published_example(order):
    grouping = column_groups(from_rows(ARNOLD, 6, first=1), order)
    assert grouping.count <= 4
    assert grouping.order == order
    assert grouping.lower_bound == 3


@pytest.mark.parametrize(("pattern", "count", "clique"), [
    (cycle(8), 2, 2), (cycle(9), 3, 2), (mycielski(cycle(5)), 4, 2), (mycielski(mycielski(cycle(5))), 5, 2),
    (stencil(9, False), 5, 5), (stencil(9, True), 9, 9), (sparse.eye_array(7), 1, 1), (np.ones((3, 70)), 70, 70),
    (from_rows(list(combinations(range(70), 2)), 70), 70, 70), (np.tri(12), 12, 12),
], ids=["even cycle", "odd cycle", "Groetzsch", "Mycielski", "five points", "nine points", "diagonal", "full row", "complete", "triangle"])
def test_patterns_with_known_answers(pattern, count, clique):
    grouping = column_groups(pattern)
    check_groups(pattern, grouping.groups)
    assert (grouping.count, grouping.lower_bound, grouping.clique) == (count, count, clique)


def test_a_bound_beyond_cliques_is_proved():
    grouping = column_groups(cycle(7))
    assert grouping.optimal
    assert grouping.lower_bound == 3 > grouping.clique == grouping.largest_row == 2


def test_easy_patterns_stop_at_the_first_order(monkeypatch):
    monkeypatch.setattr(fewest_groups, "degrees", None)  # all that follows the natural order would need them
    band = sparse.diags_array([np.ones(n) for n in (998, 999, 1000, 999, 998)], offsets=[-2, -1, 0, 1, 2])
    assert column_groups(band).count == 5
    assert column_groups(np.ones((4, 30))).order == "natural"


# --- against exhaustive search ---------------------------------------------------------------------------------------------


def test_small_patterns_get_the_fewest_groups(rng):
    for _ in range(400):
        pattern = random_pattern(rng)
        grouping, met = column_groups(pattern), meetings(pattern)
        check_groups(pattern, grouping.groups)
        assert grouping.count == fewest(met) == grouping.lower_bound
        assert grouping.largest_row <= grouping.clique <= largest_clique(met)


@pytest.mark.parametrize("order", ALL_ORDERS)
def test_all_orders_give_consistent_groups(order, rng):
    for _ in range(150):
        pattern = random_pattern(rng, 40)
        known = rng.random(pattern.shape[1]) < rng.choice([0.0, 0.3, 1.0])
        grouping = column_groups(pattern, order, known)
        check_groups(pattern, grouping.groups, known)
        assert set(grouping.groups[~known]) == set(range(grouping.count))
        assert grouping.largest_row == pattern[:, ~known].sum(axis=1).max(initial=0)
        assert grouping.largest_row <= grouping.clique <= grouping.lower_bound <= grouping.count
        if order != "best":
            assert column_groups(pattern, "best", known).count <= grouping.count


# --- mechanisms --------------------------------------------------------------------------------------------------------------

# the fewest there are, says integer programming, but the search does not prove it
HARD = {("closed-loop-bars", form): 20 for form in ("ggl", "gear", "index2", "index1", "overdetermined", "mass")}
NAMES = ("single-pendulum", "double-pendulum", "double-spherical-pendulum", "stiff-double-pendulum", "slider-crank", "slider-crank-free",
         "four-link", "n-four-bar", "spatial-four-bar", "bricard", "andrews", "flyball-governor", "heavy-top", "four-particles",
         "closed-loop-bars", "car-axis", "truck", "stewart-platform", "chain", "tree", "ring", "ladder")


@pytest.mark.parametrize("name", NAMES)
def test_mechanisms_meet_the_bound_in_every_formulation(name):
    system = library.system(name)
    for form, make in FORMULATIONS.items():
        if system.freedom == 0 and form in ("partition", "tangent"):
            continue  # nothing is left to be integrated there
        problem = make(system)
        for known in (None, multipliers(problem)) if form in ("index3", "ggl") else (None,):
            grouping = column_groups(problem.pattern, known_columns=known)
            check_groups(problem.pattern, grouping.groups, known)
            columns = problem.pattern if known is None else problem.pattern[:, ~known]
            assert grouping.count <= min(group_columns(columns, seed).max() + 1 for seed in range(5))
            assert grouping.optimal or (known is None and grouping.count == HARD[name, form])


def test_free_rings_of_planar_joints_take_more_groups_than_their_largest_clique():
    grouping = column_groups(FORMULATIONS["ggl"](library.system("ring", joints="planar", support="free")).pattern)
    assert grouping.count == grouping.lower_bound == 8 > grouping.clique == 7


def test_a_free_ring_of_spherical_joints_is_not_far_from_the_fewest_groups():
    grouping = column_groups(FORMULATIONS["index2"](library.system("ring", support="free")).pattern)
    assert grouping.clique == 17 <= grouping.lower_bound <= 18 <= grouping.count <= 19  # there is a grouping into 18


@pytest.mark.parametrize("masses", [16, 64])
def test_chains_of_point_masses(masses):
    pattern = mass_chain(masses)
    known = np.arange(4 * masses, 6 * masses)
    full, part = column_groups(pattern), column_groups(pattern, known_columns=known)
    check_groups(pattern, full.groups)
    check_groups(pattern, part.groups, known)
    assert (full.largest_row, full.count, full.lower_bound) == (8, 9, 9)
    assert (part.count, part.lower_bound) == (8, 8)
    assert group_columns(pattern).max() + 1 >= 13


@pytest.mark.parametrize(("joints", "count", "known"), [("planar", 7, 6), ("spherical", 18, 16), ("revolute", 25, 16)])
@pytest.mark.parametrize("links", [8, 40])
def test_groups_of_chains_do_not_depend_on_their_length(joints, links, count, known):
    problem = mbdae.GGL(library.system("chain", links=links, joints=joints))
    full, part = column_groups(problem.pattern), column_groups(problem.pattern, known_columns=multipliers(problem))
    check_groups(problem.pattern, full.groups)
    assert full.count == full.lower_bound == count
    assert part.count == part.lower_bound == known


@pytest.mark.parametrize(("name", "form", "count"), [
    ("four-link", "index1", 19), ("closed-loop-bars", "index3", 14), ("chain", "ggl", 18), ("chain", "index1", 19), ("tree", "index2", 19),
    ("tree", "index1", 19), ("ring", "overdetermined", 18),
])
def test_mechanisms_whose_fewest_groups_are_more_than_their_largest_clique(name, form, count):
    """The counts are those of integer programming."""
    grouping = column_groups(FORMULATIONS[form](library.system(name)).pattern)
    assert grouping.count == grouping.lower_bound == count > grouping.clique


def test_problems_use_these_groups():
    problem = mbdae.GGL(library.system("slider-crank"))
    check_groups(problem.pattern, problem.groups)
    np.testing.assert_array_equal(problem.groups, column_groups(problem.pattern).groups)


# --- what comes in and goes out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_any_storage_of_a_pattern_will_do(form, rng):
    dense = rng.random((20, 15)) < 0.2
    expected = column_groups(dense)
    for A in (sparse.coo_array(dense).asformat(form), sparse.coo_matrix(dense.astype(float)).asformat(form)):
        np.testing.assert_array_equal(column_groups(A).groups, expected.groups)
    np.testing.assert_array_equal(column_groups((-3.0 * dense).tolist()).groups, expected.groups)


def test_stored_zeros_are_entries_and_repeated_entries_count_once():
    A = sparse.coo_array((np.array([0.0, 1.0, 1.0, 1.0]), ([0, 0, 1, 1], [0, 1, 1, 1])), shape=(2, 2))
    before = A.nnz
    grouping = column_groups(A)
    assert (grouping.count, grouping.largest_row) == (2, 2)
    assert A.nnz == before
    assert column_groups(A.toarray()).count == 1


def test_the_same_pattern_always_gives_the_same_groups(rng):
    orders = set()
    for _ in range(8):
        pattern = sparse.csr_array(from_rows([rng.choice(60, 7, replace=False) for _ in range(60)], 60))
        first, second = column_groups(pattern), column_groups(pattern.tocoo())
        np.testing.assert_array_equal(first.groups, second.groups)
        orders.add(first.order)
    assert orders & {"complete search", "tabu search"}  # and not only the first that meets the bound


@pytest.mark.parametrize("order", ALL_ORDERS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_patterns_without_rows_or_columns_need_no_groups(shape, order):
    grouping = column_groups(np.zeros(shape), order)
    assert grouping.count == grouping.lower_bound == len(grouping.members) == 0
    assert grouping.groups.shape == (shape[1],)
    check_groups(np.zeros(shape), grouping.groups)


def test_columns_without_entries_are_in_the_first_group():
    grouping = column_groups(np.zeros((3, 4)))
    assert grouping.groups.tolist() == [0, 0, 0, 0]
    assert (grouping.count, grouping.lower_bound, grouping.largest_row) == (1, 1, 0)


def test_known_columns_are_left_out(rng):
    pattern = rng.random((30, 20)) < 0.2
    known = np.array([3, 0, 7, 19])
    mask = np.isin(np.arange(20), known)
    by_index, by_mask = column_groups(pattern, known_columns=known), column_groups(sparse.csr_array(pattern), known_columns=mask.tolist())
    np.testing.assert_array_equal(by_index.groups, by_mask.groups)
    np.testing.assert_array_equal(by_index.groups[~mask], column_groups(pattern[:, ~mask]).groups)
    assert (by_index.groups[mask] == -1).all()
    nothing = column_groups(pattern, known_columns=np.arange(20))
    assert (nothing.count, nothing.lower_bound, nothing.members) == (0, 0, [])
    np.testing.assert_array_equal(column_groups(pattern, known_columns=[]).groups, column_groups(pattern).groups)


def test_members_and_text():
    grouping = column_groups(from_rows(ARNOLD, 6, first=1), known_columns=[5])
    assert len(grouping.members) == grouping.count == 3
    np.testing.assert_array_equal(np.sort(np.concatenate(grouping.members)), np.arange(5))
    for number, columns in enumerate(grouping.members):
        assert (grouping.groups[columns] == number).all()
    assert repr(grouping) == f"<Grouping: 5 columns in 3 groups, the fewest possible; 1 known columns; {grouping.order}>"
    assert grouping.groups.dtype == np.int64
    with pytest.raises(AttributeError):
        grouping.count = 2


def test_text_says_what_is_not_certain():
    hard = FORMULATIONS["index2"](library.system("closed-loop-bars")).pattern
    assert re.search("in 20 groups, at least 1[789] are needed", repr(column_groups(hard)))


# --- bad input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "message"), [
    ((np.ones(3),), "pattern must have two dimensions.*got shape"),
    ((np.ones((2, 2, 2)),), "pattern must have two dimensions.*got shape"),
    ((np.eye(3), "random"), "order must be one of best, natural, .*got 'random'"),
    ((np.eye(3), None), "order must be one of .*got None"),
    ((np.eye(3), "best", [0, 3]), "known_columns: there is no column 3, they are numbered from 0 to 2"),
    ((np.eye(3), "best", [-1]), "known_columns: there is no column -1"),
    ((np.eye(3), "best", [True, False]), r"known_columns: a mask must have shape \(3,\).*got \(2,\)"),
    ((np.eye(3), "best", [0.0, 1.0]), "known_columns must be a mask or a vector of column numbers, got float64"),
    ((np.eye(3), "best", [[0]]), "known_columns must be a mask or a vector"),
    ((np.eye(3), "best", 1), "known_columns must be a mask or a vector"),
])
def test_bad_calls_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        column_groups(*arguments)


@pytest.mark.parametrize(("groups", "known", "message"), [
    ([0, 1, 2, 0, 1, 1], None, "columns 0 and 3 are both in group 0 and both have an entry in row 0; put one of them"),
    ([0, 1, 2, 1, 0, 1, 0], None, r"groups must have shape \(6,\).*got \(7,\)"),
    ([[0, 1, 2, 1, 0, 1]], None, r"groups must have shape \(6,\).*got \(1, 6\)"),
    ([0.0, 1.0, 2.0, 1.0, 0.0, 1.0], None, "groups must be integers, got float64"),
    ([True] * 6, None, "groups must be integers, got bool"),
    ([0, 1, 2, -1, 0, 1], None, "groups: column 3 has -1, but it is not known and must be in a group"),
    ([0, 1, 2, -1, 0, 1], [4], "groups: column 4 has 0, but it is known and must have -1"),
    ([0, 1, 2, 6, 0, 1], None, "groups: column 3 has 6, but groups are numbered from 0 to 5"),
    ([0, -2, 2, 1, 0, 1], None, "groups: column 1 has -2, but groups are numbered from 0"),
    ([0, 1, 2, 1, 0, 1], [6], "known_columns: there is no column 6"),
])
def test_groups_that_do_not_serve_are_refused(groups, known, message):
    with pytest.raises(ValueError, match=message):
        check_groups(from_rows(ARNOLD, 6, first=1), groups, known)


def test_conflicts_are_found_wherever_they_are(rng):
    found = 0
    for _ in range(200):
        pattern = random_pattern(rng, 12)
        groups = rng.integers(0, pattern.shape[1], pattern.shape[1])
        good = not any(groups[a] == groups[b] and meetings(pattern)[a, b] for a, b in combinations(range(len(groups)), 2))
        if good:
            check_groups(pattern, groups)
        else:
            with pytest.raises(ValueError, match="both have an entry in row"):
                check_groups(pattern, groups)
        found += not good
    assert 20 < found < 180
