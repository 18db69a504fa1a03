"""The steps of a grouping: reduced rows, orders against their definitions, cliques, easy columns, complete search, tabu search."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize._numdiff import group_columns

from mbdae.jacobians.colouring.backtracking import FOUND, GAVE_UP, NONE, fewer_groups
from mbdae.jacobians.colouring.cliques import large_clique
from mbdae.jacobians.colouring.core import completed, core_of
from mbdae.jacobians.colouring.graph import graph_of, part_of
from mbdae.jacobians.colouring.incidence import as_pattern, incidence_of
from mbdae.jacobians.colouring.orderings import ORDERS
from mbdae.jacobians.colouring.sequential import group_in_order
from mbdae.jacobians.colouring.tabu import repaired
from mbdae.jacobians.grouping import check_groups, column_groups

from .grouping_patterns import cycle, fewest, from_rows, graph, largest_clique, meetings, mycielski, random_pattern

# --- orders -----------------------------------------------------------------------------------------------------------------


def test_degrees_agree_with_brute_force(rng):
    for _ in range(50):
        pattern = random_pattern(rng, 20)
        np.testing.assert_array_equal(graph(pattern)[1], meetings(pattern).sum(axis=0))


def test_rows_that_tell_nothing_are_left_out_without_harm(rng):
    for _ in range(50):
        pattern = random_pattern(rng, 20)
        incidence = incidence_of(as_pattern(pattern))
        rows = [set(columns) for columns in np.split(incidence.columns, incidence.row_ptr[1:-1])] if len(incidence.row_ptr) > 1 else []
        assert not any(a <= b for k, a in enumerate(rows) for j, b in enumerate(rows) if j != k)
        assert all(len(row) > 1 for row in rows)
        np.testing.assert_array_equal(meetings(from_rows([list(row) for row in rows], pattern.shape[1])), meetings(pattern))


def first_fit(order, met):
    """Groups by the plainest algorithm."""
    groups = np.full(len(order), -1)
    for j in order:
        groups[j] = min(set(range(len(order))) - set(groups[met[j]]))
    return groups


def natural_by_definition(order, met):
    return list(order) == list(range(len(met)))


def largest_first_by_definition(order, met):
    degree = met.sum(axis=0)
    return list(order) == sorted(range(len(met)), key=lambda j: (-degree[j], j))


def smallest_last_by_definition(order, met):
    """Each column has the smallest degree in the graph of itself and those before it."""
    left = [met[np.ix_(order[:k], order[:k])].sum(axis=0) for k in range(1, len(order) + 1)]
    return all(degree[-1] == degree.min() for degree in left)


def incidence_degree_by_definition(order, met):
    """Each column has the most neighbours among those before it, the first one has the largest degree."""
    degree = met.sum(axis=0)
    return degree[order[0]] == degree.max() and all(
        met[order[k], order[:k]].sum() == met[np.ix_(order[k:], order[:k])].sum(axis=1).max() for k in range(1, len(order)))


DEFINITIONS = {"natural": natural_by_definition, "largest-first": largest_first_by_definition,
               "smallest-last": smallest_last_by_definition, "incidence-degree": incidence_degree_by_definition}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_agree_with_their_definitions(name, rng):
    for _ in range(150):
        pattern = random_pattern(rng, 30)
        met = meetings(pattern)
        order = ORDERS[name](*graph(pattern))
        assert sorted(order) == list(range(len(met)))
        assert DEFINITIONS[name](order, met)


@pytest.mark.parametrize("name", ["largest-first", "smallest-last", "incidence-degree"])
def test_the_definitions_tell_orders_apart(name, rng):
    wrong = 0
    for _ in range(50):
        met = meetings(random_pattern(rng, 30))
        wrong += not DEFINITIONS[name](rng.permutation(len(met)), met)
    assert wrong > 25


@pytest.mark.parametrize("name", ORDERS)
def test_each_column_joins_the_first_group_that_takes_it(name, rng):
    for _ in range(50):
        pattern = random_pattern(rng, 30)
        incidence, degree = graph(pattern)
        order = ORDERS[name](incidence, degree)
        count, groups = group_in_order(order, incidence, 1)
        np.testing.assert_array_equal(groups, first_fit(order, meetings(pattern)))
        assert count == groups.max() + 1
        np.testing.assert_array_equal(column_groups(pattern, name).groups, groups)


def test_more_groups_than_bits_of_a_word():
    pairs = from_rows(list(combinations(range(130), 2)), 130)
    incidence = graph(pairs)[0]
    for at_least in (1, 62, 130):
        count, groups = group_in_order(np.arange(130), incidence, at_least)
        assert count == 130
        np.testing.assert_array_equal(groups, np.arange(130))


def test_smallest_last_is_exact_where_the_natural_order_fails():
    crown = from_rows([(2 * i, 2 * j + 1) for i in range(8) for j in range(8) if i != j], 16)
    assert column_groups(crown, "natural").count == 8
    tree = from_rows([(k, (k - 1) // 2) for k in range(1, 63)], 63)
    shuffled = tree[:, np.random.default_rng(5).permutation(63)]
    assert column_groups(shuffled, "smallest-last").count == column_groups(shuffled, "incidence-degree").count == 2
    assert column_groups(shuffled, "natural").count > 2


# --- what saves a group --------------------------------------------------------------------------------------------------


def clique_of(pattern):
    incidence, degree = graph(pattern)
    return large_clique(ORDERS["smallest-last"](incidence, degree), incidence, degree, 1, 99, 10**6)


def test_cliques_are_cliques(rng):
    for k in range(150):
        pairs = [pair for pair in combinations(range(30), 2) if rng.random() < 0.6]
        pattern = from_rows(pairs, 30) if k % 2 else random_pattern(rng, 40)
        found, met = clique_of(pattern), meetings(pattern)
        assert len(set(found)) == len(found) != 1
        assert all(met[a, b] for a, b in combinations(found, 2))


def test_cliques_are_mostly_the_largest(rng):
    hits = trials = 0
    for _ in range(200):
        pattern = random_pattern(rng)
        largest = largest_clique(meetings(pattern))
        trials += largest > 1
        hits += largest > 1 and len(clique_of(pattern)) == largest
    assert trials > 100
    assert hits >= 0.95 * trials


def test_the_search_for_cliques_keeps_to_what_it_may_visit():
    incidence, degree = graph(from_rows(list(combinations(range(10), 2)), 10))
    order = np.arange(10)
    assert len(large_clique(order, incidence, degree, 2, 99, 10**6)) == 10
    assert len(large_clique(order, incidence, degree, 2, 5, 10**6)) == 5
    assert len(large_clique(order, incidence, degree, 2, 99, 0)) == 0
    assert len(large_clique(order, incidence, degree, 10, 99, 10**6)) == 0


def whole(pattern):
    return graph_of(*graph(pattern))


def matrix(part):
    """Which columns of a `Graph` are neighbours."""
    met = np.zeros((len(part.ptr) - 1,) * 2, dtype=bool)
    met[np.repeat(np.arange(len(met)), np.diff(part.ptr)), part.near] = True
    return met


def test_the_graph_and_its_parts_agree_with_brute_force(rng):
    for _ in range(50):
        pattern = random_pattern(rng, 20)
        met, columns = meetings(pattern), rng.permutation(pattern.shape[1])[:rng.integers(0, pattern.shape[1] + 1)]
        np.testing.assert_array_equal(matrix(whole(pattern)), met)
        np.testing.assert_array_equal(matrix(part_of(whole(pattern), columns)), met[np.ix_(columns, columns)])


def test_easy_columns_follow_from_the_hard_ones(rng):
    easy = alike = 0
    for _ in range(200):
        pattern = random_pattern(rng)
        every, met = whole(pattern), meetings(pattern)
        number = fewest(met)
        for count in range(1, number + 2):
            core = core_of(count, every)
            hard = np.flatnonzero(core.hard)
            part = met[np.ix_(hard, hard)]
            assert (fewest(part) <= count) == (number <= count)
            assert (part.sum(axis=1) >= count).all()
            easy, alike = easy + len(core.easy), alike + np.count_nonzero(core.like >= 0)
            if count >= number:
                groups = completed(hard, fewer_groups(count, part_of(every, hard), 10**5)[1], core, every)
                check_groups(pattern, groups)
                assert groups.max() < count
    assert easy > 4 * alike > 400


def test_the_core_of_an_easy_pattern_is_empty():
    tree = from_rows([(k, (k - 1) // 2) for k in range(1, 63)], 63)
    both_sides = from_rows([(i, j) for i in range(6) for j in range(6, 12)], 12)  # all columns of a side are alike
    for pattern, count in ((tree, 2), (both_sides, 2), (cycle(9), 3)):
        assert not core_of(count, whole(pattern)).hard.any()
    for pattern, count in ((cycle(9), 2), (cycle(8), 2), (mycielski(cycle(5)), 3)):
        assert core_of(count, whole(pattern)).hard.all()


@pytest.mark.thorough
def test_the_complete_search_finds_what_there_is_and_nothing_else(rng):
    for _ in range(200):
        pattern = random_pattern(rng)
        part, number = part_of(whole(pattern), rng.permutation(pattern.shape[1])), fewest(meetings(pattern))
        for count in range(1, pattern.shape[1] + 1):
            outcome, groups = fewer_groups(count, part, 10**6)
            assert outcome == (FOUND if count >= number else NONE)
            if outcome == FOUND:
                met = matrix(part)
                assert not any(met[a, b] and groups[a] == groups[b] for a, b in combinations(range(len(groups)), 2))
                assert groups.max() < count


def test_the_complete_search_gives_up_when_it_is_told():
    part = whole(mycielski(mycielski(cycle(5))))
    assert fewer_groups(4, part, 50)[0] == GAVE_UP
    assert fewer_groups(4, part, 10**6)[0] == NONE
    assert fewer_groups(5, part, 10**6)[0] == FOUND


def test_states_that_have_failed_are_not_entered_again():
    path, dead_end = [(k, k + 1) for k in range(60)], [(60, 61, 62), (60, 61, 63), (62, 63)]  # one group is left for both 62 and 63
    part = whole(from_rows(path + dead_end, 64))
    assert fewer_groups(3, part, 1500)[0] == NONE  # though the path has 3 * 2^60 groupings
    assert fewer_groups(4, part, 1500)[0] == FOUND


def test_tabu_search_repairs_bad_groupings():
    crown = from_rows([(2 * i, 2 * j + 1) for i in range(12) for j in range(12) if i != j], 24)
    count, groups = group_in_order(np.arange(24), graph(crown)[0], 2)
    assert count == 12
    two, _ = repaired(groups, 2, whole(crown), 2000, 1)
    check_groups(crown, two)
    assert two.max() == 1
    assert groups.max() == 11


def test_tabu_search_does_not_do_the_impossible(rng):
    for _ in range(30):
        pattern = random_pattern(rng)
        number, every = fewest(meetings(pattern)), whole(pattern)
        for count in range(1, pattern.shape[1] + 1):
            groups, state = repaired(np.arange(pattern.shape[1]), count, every, 500, 7)
            assert (groups is not None) == (count >= number)
            assert 0 <= state < 2**31
            if groups is not None:
                check_groups(pattern, groups)
                assert groups.max() < count


@pytest.mark.thorough
def test_improvements_save_groups_on_scattered_patterns():
    """Counts may fall, but not rise: 30 random patterns of 80 columns with 8 entries in a row."""
    rng, sums = np.random.default_rng(11), np.zeros(3, dtype=int)
    for _ in range(30):
        pattern = from_rows([rng.choice(80, 8, replace=False) for _ in range(80)], 80)
        grouping = column_groups(pattern)
        check_groups(pattern, grouping.groups)
        sums += grouping.count, min(column_groups(pattern, order).count for order in ORDERS), group_columns(pattern).max() + 1
    assert sums[0] <= 480
    assert sums[0] < sums[1] - 30
    assert sums[1] < sums[2] - 30
