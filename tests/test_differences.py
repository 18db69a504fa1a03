"""Difference quotients along groups of columns: equal to those of single columns, as accurate as they should be, with known entries."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

import mbdae
from mbdae import library
from mbdae.jacobians.differences import FoldedDifference, GroupedDifference
from mbdae.jacobians.quotients import FLOOR, increments
from mbdae.jacobians.residuals import residual_of

from .difference_cases import (
    EPS,
    FEW,
    PER_GROUP,
    SCHEMES,
    Mixed,
    banded,
    by_formula,
    complex_residual,
    entries_where,
    example_pattern,
    folded_formula,
)
from .forms import random_point, random_state


@pytest.fixture
def mixed():
    return Mixed(example_pattern())


# --- equal to single columns ---------------------------------------------------------------------------------------------


def test_the_example_of_the_paper_needs_four_evaluations(mixed):
    grouped = GroupedDifference(mixed, mixed.pattern, check=False)
    full = GroupedDifference(mixed, np.ones((6, 6)))
    J = grouped(mixed.x)
    assert (grouped.grouping.count, grouped.calls) == (3, 4)
    np.testing.assert_array_equal(J.toarray(), full(mixed.x).toarray())
    assert full.calls == 7
    np.testing.assert_array_equal(J.toarray(), by_formula(mixed, mixed.x))


def test_the_check_costs_one_evaluation_once(mixed):
    for scheme in SCHEMES:
        grouped = GroupedDifference(mixed, mixed.pattern, scheme)
        per_jacobian = 3 * PER_GROUP[scheme] + (scheme == "forward")
        counts = [0]
        for _ in range(3):
            grouped(mixed.x)
            counts.append(grouped.calls)
        assert [b - a for a, b in pairwise(counts)] == [per_jacobian + PER_GROUP[scheme], per_jacobian, per_jacobian]


def test_the_value_at_the_point_is_taken_if_it_is_at_hand(mixed):
    grouped = GroupedDifference(mixed, mixed.pattern, check=False)
    np.testing.assert_array_equal(grouped.values(mixed.x, f0=mixed(mixed.x)), by_formula(mixed, mixed.x).T[mixed.pattern.T])
    assert grouped.calls == 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 3), (4, 4)])
def test_full_patterns_are_differenced_column_by_column(shape):
    f = Mixed(np.ones(shape, dtype=bool))
    grouped = GroupedDifference(f, np.ones(shape))
    np.testing.assert_array_equal(grouped(f.x).toarray(), by_formula(f, f.x))
    assert grouped.calls == shape[1] + 1


def assert_bitwise(name, form):
    s = library.system(name)
    p, rng = form(s), np.random.default_rng(5)
    for y, yd in ((p.y0, p.yd0), random_point(p, random_state(s, rng), rng)):
        for c in (0.0, 300.0):
            p.residual(0.3, y, yd)
            grouped = FoldedDifference(residual_of(p), p.pattern)
            full = folded_formula(residual_of(p), p.m, 0.3, y, yd, c)
            J = grouped(0.3, y, yd, c)
            np.testing.assert_array_equal(J.toarray(), np.where(p.pattern.toarray(), full, 0.0))
            np.testing.assert_array_equal(full[~p.pattern.toarray()], 0.0)


@pytest.mark.parametrize("name", FEW)
def test_grouped_differences_of_mechanisms_are_those_of_single_columns_to_the_last_bit(name):
    assert_bitwise(name, mbdae.GGL)


@pytest.mark.thorough
@pytest.mark.parametrize("form", [mbdae.GGL, mbdae.Index3])
@pytest.mark.parametrize("name", library.names())
def test_every_mechanism_to_the_last_bit(name, form):
    assert_bitwise(name, form)


def test_groups_of_the_user_are_taken(mixed):
    own = np.arange(6)
    grouped = GroupedDifference(mixed, mixed.pattern, groups=own, check=False)
    np.testing.assert_array_equal(grouped(mixed.x).toarray(), by_formula(mixed, mixed.x))
    assert grouped.calls == 7
    np.testing.assert_array_equal(grouped.groups, own)
    found = GroupedDifference(mixed, mixed.pattern).grouping
    again = GroupedDifference(mixed, mixed.pattern, groups=found)
    assert again.grouping is found
    with pytest.raises(ValueError, match=r"columns .* row"):
        GroupedDifference(mixed, mixed.pattern, groups=np.zeros(6, dtype=int))


@pytest.mark.parametrize("make", [np.array, csr_array, coo_array, lambda p: 2.5 * p, lambda p: csc_array(p.astype(float))],
                         ids=["dense", "csr", "coo", "numbers", "csc"])
def test_patterns_come_in_any_form(mixed, make):
    grouped = GroupedDifference(mixed, make(mixed.pattern))
    np.testing.assert_array_equal(grouped(mixed.x).toarray(), by_formula(mixed, mixed.x))
    assert grouped.pattern.dtype == bool and grouped.pattern.indices.dtype == grouped.pattern.indptr.dtype == np.int32
    assert grouped.pattern.has_canonical_format


def test_unsorted_patterns_with_duplicates_and_zeros_are_put_in_order(mixed):
    rows, columns = np.nonzero(mixed.pattern)
    rows, columns = np.append(rows[::-1], rows[:3]), np.append(columns[::-1], columns[:3])
    order = np.argsort(columns, kind="stable")
    indptr = np.searchsorted(columns[order], np.arange(7))
    given = csc_array((np.zeros(len(rows)), rows[order], indptr), shape=(6, 6))  # stored zeros are entries
    kept = given.indices.copy()
    grouped = GroupedDifference(mixed, given)
    np.testing.assert_array_equal(grouped(mixed.x).toarray(), by_formula(mixed, mixed.x))
    np.testing.assert_array_equal(given.indices, kept)


# --- accuracy ------------------------------------------------------------------------------------------------------------


def test_schemes_are_as_accurate_as_they_should_be(mixed):
    exact = mixed.derivative(mixed.x)
    errors = [np.abs(GroupedDifference(mixed, mixed.pattern, s)(mixed.x).toarray() - exact).max() for s in SCHEMES]
    assert 1e-9 < errors[0] < 3e-7
    assert 1e-13 < errors[1] < 3e-10
    assert errors[2] < 4 * EPS


def test_errors_fall_with_the_increment_and_with_its_square(mixed):
    """Increments that are too large, by way of a floor above all variables."""
    exact = mixed.derivative(mixed.x)
    for scheme, power in (("forward", 1), ("central", 2)):
        errors = [np.abs(GroupedDifference(mixed, mixed.pattern, scheme, floor=s)(mixed.x).toarray() - exact).max() for s in (1e3, 1e2)]
        assert np.log10(errors[0] / errors[1]) == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize("scheme", ["forward", "central"])
def test_increments_are_exact(scheme, rng):
    x = rng.normal(size=20000) * 10.0 ** rng.uniform(-20, 20, 20000) * rng.choice([0.0, 1.0, 1.0], 20000)
    d = increments(x, scheme, FLOOR)
    np.testing.assert_array_equal((x + d) - x, d)
    share = {"forward": EPS**0.5, "central": EPS ** (1 / 3)}[scheme]
    np.testing.assert_allclose(np.abs(d), np.maximum(np.abs(x), EPS**0.25) * share, rtol=3e-8)
    if scheme == "forward":
        assert (d > 0.0).all()
    else:
        np.testing.assert_array_equal(x - (x - d), d)


def test_the_floor_can_differ_from_variable_to_variable():
    """Variables of very different sizes that are zero."""
    size = np.array([1e-6, 1.0, 1e6])
    pattern = np.eye(3)
    exact = 1.0 / size
    J = GroupedDifference(lambda x: np.exp(x / size), pattern, floor=size)(np.zeros(3))
    np.testing.assert_allclose(J.diagonal(), exact, rtol=1e-7)
    J = GroupedDifference(lambda x: np.exp(x / size), pattern)(np.zeros(3))
    assert np.abs(J.diagonal() / exact - 1.0).max() > 1e-7


@pytest.mark.parametrize("form", [mbdae.GGL, mbdae.Index3, mbdae.Gear, mbdae.Overdetermined])
@pytest.mark.parametrize("name", FEW)
def test_complex_steps_give_the_jacobian_of_the_problem(name, form, rng):
    s = library.system(name)
    p = form(s)
    y, yd = random_point(p, random_state(s, rng), rng)
    grouped = FoldedDifference(complex_residual(p), p.pattern, "complex", groups=p.groups)
    expected = p.jacobian_values(0.3, y, yd, 50.0)
    np.testing.assert_allclose(grouped.values(0.3, y, yd, 50.0), expected, rtol=1e-14, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("scheme", ["forward", "central"])
def test_both_parts_of_the_jacobian_are_found(scheme, rng):
    s = library.system("double-pendulum")
    p = mbdae.GGL(s)
    y, yd = random_point(p, random_state(s, rng), rng)
    F_y, F_yd = p.jacobian_parts(0.3, y, yd)
    grouped = FoldedDifference(p.residual, p.pattern, scheme)
    for c in (0.0, 1.0, -40.0):
        exact = (F_y + c * F_yd).toarray()
        assert np.abs(grouped(0.3, y, yd, c).toarray() - exact).max() < {"forward": 3e-6, "central": 3e-8}[scheme] * np.abs(exact).max()


# --- known entries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_known_entries_save_evaluations(scheme):
    """A band and a full row that is known: the row would need as many groups as there are columns."""
    pattern = banded(30)
    pattern[7] = True
    f = Mixed(pattern)
    known = np.zeros_like(pattern)
    known[7] = True
    exact = f.derivative(f.x)
    mask = entries_where(pattern, known)
    grouped = GroupedDifference(f, pattern, scheme, known=mask)
    J = grouped(f.x, known_values=exact[7]).toarray()
    assert grouped.grouping.count <= 4
    assert grouped.calls <= 5 * PER_GROUP[scheme] + 3
    np.testing.assert_array_equal(J[7], exact[7])
    assert np.abs(J - exact).max() < {"forward": 1e-6, "central": 1e-8, "complex": 1e-13}[scheme]


def test_what_known_entries_contribute_is_subtracted():
    """Linear known entries in the rows of unknown ones: exact but for rounding."""
    f = Mixed(banded(20))
    known = np.triu(f.pattern, 1)
    exact = f.A.copy()
    grouped = GroupedDifference(lambda x: f.A @ x, f.pattern, known=entries_where(f.pattern, known))
    J = grouped(f.x, known_values=exact.T[known.T])
    assert grouped.grouping.count == 2
    np.testing.assert_allclose(J.toarray(), exact, atol=1e-6)
    np.testing.assert_array_equal(J.toarray()[known], exact[known])


def test_columns_that_are_known_are_not_displaced(mixed):
    known = np.zeros_like(mixed.pattern)
    known[:, [0, 4]] = mixed.pattern[:, [0, 4]]
    seen = []

    def f(x):
        seen.append(x.copy())
        return mixed(x)

    grouped = GroupedDifference(f, mixed.pattern, known=entries_where(mixed.pattern, known), check=False)
    J = grouped(mixed.x, known_values=mixed.derivative(mixed.x).T[known.T])
    assert (np.array(seen)[:, [0, 4]] == mixed.x[[0, 4]]).all()
    assert grouped.groups[0] == grouped.groups[4] == -1
    assert np.abs(J.toarray() - mixed.derivative(mixed.x)).max() < 1e-6


def test_nothing_is_evaluated_if_all_is_known(mixed):
    values = mixed.derivative(mixed.x).T[mixed.pattern.T]
    grouped = GroupedDifference(mixed, mixed.pattern, known=np.ones(len(values), dtype=bool), check=False)
    np.testing.assert_array_equal(grouped.values(mixed.x, known_values=values), values)
    assert grouped.calls == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_known_values_are_checked_even_if_there_are_no_others(mixed, scheme):
    values = mixed.derivative(mixed.x).T[mixed.pattern.T]
    known = np.ones(len(values), dtype=bool)
    GroupedDifference(mixed, mixed.pattern, scheme, known=known)(mixed.x, known_values=values)
    with pytest.raises(ValueError, match="the known value of the entry"):
        GroupedDifference(mixed, mixed.pattern, scheme, known=known)(mixed.x, known_values=1.01 * values)
    with pytest.raises(ValueError, match="f depends on"):
        GroupedDifference(mixed, np.zeros((6, 6)), scheme)(mixed.x)


def test_known_multipliers_of_a_mechanism_save_evaluations(rng):
    """The columns of the multipliers are constraint gradients, known without differences [Arnold, section 4.1]."""
    s = library.system("andrews")
    p = mbdae.GGL(s)
    y, yd = random_point(p, random_state(s, rng), rng)
    column = np.repeat(np.arange(p.n), np.diff(p.pattern.indptr))
    known = column >= p.blocks["lam"].start
    exact = p.jacobian_values(0.3, y, yd, 50.0)
    grouped = FoldedDifference(p.residual, p.pattern, known=known)
    values = grouped.values(0.3, y, yd, 50.0, known_values=exact[known])
    assert grouped.grouping.count < FoldedDifference(p.residual, p.pattern).grouping.count
    assert np.abs(values - exact).max() < 1e-5 * np.abs(exact).max()
