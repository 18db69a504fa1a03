"""Difference quotients along groups of columns: what the first evaluation finds missing, odd functions, and refusals."""


import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.jacobians.differences import FoldedDifference, GroupedDifference
from mbdae.jacobians.missing import one_of

from .difference_cases import SCHEMES, Mixed, banded, by_formula, entries_where, example_pattern


@pytest.fixture
def mixed():
    return Mixed(example_pattern())


# --- what the pattern lacks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_missing_entry_is_named(mixed, scheme):
    for row, column in np.argwhere(mixed.pattern):
        lacking = mixed.pattern.copy()
        lacking[row, column] = False
        with pytest.raises(ValueError, match=rf"f depends on x\[{column}\] in row {row}, which the pattern lacks; add the entry"):
            GroupedDifference(mixed, lacking, scheme)(mixed.x)
        GroupedDifference(mixed, lacking, scheme, check=False)(mixed.x)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_missing_entry_is_found_among_many(scheme, rng):
    f = Mixed(banded(200, 2))
    rows, columns = rng.integers(0, 200, (2, 10))
    for row, column in zip(rows, columns):
        if not f.pattern[row, column]:
            g = GroupedDifference(lambda x, i=row, j=column: f(x) + 0.1 * np.sin(x[j]) * (np.arange(200) == i), f.pattern, scheme)
            with pytest.raises(ValueError, match=rf"x\[{column}\] in row {row},"):
                g(f.x)
            assert g.calls < 60


def test_a_missing_entry_of_a_mechanism_is_named():
    p = mbdae.GGL(library.system("double-pendulum"))
    entry = np.flatnonzero(np.abs(p.jacobian_values(0.0, p.y0, p.yd0, 100.0)) > 0.1)[40]
    row, column = p.pattern.indices[entry], np.searchsorted(p.pattern.indptr, entry, side="right") - 1
    lacking = p.pattern.toarray()
    lacking[row, column] = False
    with pytest.raises(ValueError, match=rf"F depends on y\[{column}\] in row {row}, which the pattern lacks"):
        FoldedDifference(p.residual, lacking)(0.0, p.y0, p.yd0, 100.0)


def test_what_lacks_in_the_rates_is_found_as_soon_as_they_count():
    def F(t, y, yd, out):
        out[:] = y + yd
        out[2] += 0.5 * yd[0]

    grouped = FoldedDifference(F, np.eye(3))
    y = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(grouped(0.0, y, y, 0.0).toarray(), np.eye(3), atol=1e-7)
    grouped(0.0, y, y, 0.0)
    assert grouped.calls == 2 + 1 + 2
    with pytest.raises(ValueError, match=r"F depends on y\[0\] in row 2"):
        grouped(0.0, y, y, 10.0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_wrong_known_values_are_named(mixed, scheme):
    known = np.zeros_like(mixed.pattern)
    known[2, 5] = known[1, 1] = True
    values = mixed.derivative(mixed.x).T[known.T]
    mask = entries_where(mixed.pattern, known)
    GroupedDifference(mixed, mixed.pattern, scheme, known=mask)(mixed.x, known_values=values)
    values[1] *= 1.001
    with pytest.raises(ValueError, match=r"the known value of the entry \(2, 5\) is .*, but the derivative of f by x\[5\] in this row"):
        GroupedDifference(mixed, mixed.pattern, scheme, known=mask)(mixed.x, known_values=values)


CURVED = {"steep": lambda u: np.exp(20.0 * u), "waves": lambda u: np.sin(1e4 * u), "flat": lambda u: np.tanh(300.0 * u),
          "linear": lambda u: u, "noisy": lambda u: (1e7 + u) - 1e7, "singular": lambda u: 1.0 / (u - 0.4999999)}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", CURVED)
def test_no_alarm_is_false(kind, scheme, rng):
    """Truncation and rounding are not taken for missing entries, in rows of very different sizes."""
    f = Mixed(banded(40, 2))
    scale = 10.0 ** rng.uniform(-8, 8, 40)
    g = GroupedDifference(lambda x: scale * (f.A @ CURVED[kind](x)), f.pattern, scheme)
    for x in (f.x, 1e-3 * f.x, np.zeros(40)):
        GroupedDifference(lambda x: scale * (f.A @ CURVED[kind](x)), f.pattern, scheme)(x)
    g(f.x)
    assert g.calls < 300


@pytest.mark.parametrize("size", [1e4, 1e6])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_cancels_up_to_rounding_is_not_missed(scheme, size):
    """Two neighbours enter every row and leave it again."""
    def f(x):
        a, b = size * np.sin(np.roll(x, 1)), size * np.cos(np.roll(x, 2))
        return ((x + a) + b) - (a + b)

    if scheme != "complex":
        assert np.ptp(f(np.linspace(0.3, 0.7, 100)) - np.linspace(0.3, 0.7, 100)) > 0.0
    GroupedDifference(f, np.eye(100), scheme)(np.linspace(0.3, 0.7, 100))


def test_one_column_of_many_is_found_or_none():
    asked = []

    def depends(columns):
        asked.append(len(columns))
        return 37 in columns

    assert one_of(depends, np.arange(64)) == 37
    assert len(asked) <= 8
    assert one_of(depends, np.arange(30)) is None
    assert one_of(depends, np.arange(0)) is None
    assert one_of(lambda columns: {3, 60} <= set(columns), np.arange(64)) is None  # neither of them alone


def test_complex_steps_find_weak_missing_entries_of_strong_variables(rng):
    """Columns of very different sizes, variables of the inverse sizes."""
    size = 10.0 ** rng.uniform(-8, 8, 40)
    f = Mixed(banded(40))
    for column in range(40):
        lacking = f.pattern.copy()
        lacking[max(column - 1, 0), column] = False
        with pytest.raises(ValueError, match=rf"x\[{column}\] in row {max(column - 1, 0)},"):
            GroupedDifference(lambda x: f.A @ np.sin(size * x), lacking, "complex", floor=1e-9)(f.x / size)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", CURVED)
def test_right_known_values_are_not_blamed(kind, scheme):
    f, g, h = Mixed(banded(40, 2)), CURVED[kind], 1e-30
    slopes = {"noisy": np.ones(40)}.get(kind, g(f.x + 1j * h).imag / h)
    exact, known = f.A * slopes, np.triu(f.pattern)
    grouped = GroupedDifference(lambda x: f.A @ g(x), f.pattern, scheme, known=entries_where(f.pattern, known))
    grouped(f.x, known_values=exact.T[known.T])


def test_curvature_is_not_looked_into_row_by_row():
    f = Mixed(banded(400))
    grouped = GroupedDifference(lambda x: f.A @ np.sin(1e4 * x), f.pattern)
    grouped(f.x)
    assert grouped.calls < 100


# --- whatever functions do -----------------------------------------------------------------------------------------------


def test_functions_may_return_one_and_the_same_array(mixed):
    kept = np.empty(6)

    def f(x):
        kept[:] = mixed(x)
        return kept

    for scheme in ("forward", "central"):
        expected = GroupedDifference(mixed, mixed.pattern, scheme)(mixed.x).toarray()
        np.testing.assert_array_equal(GroupedDifference(f, mixed.pattern, scheme)(mixed.x).toarray(), expected)
        np.testing.assert_allclose(GroupedDifference(lambda x: x, np.eye(6), scheme)(mixed.x).toarray(), np.eye(6), atol=1e-15)


def test_functions_may_spoil_their_argument(mixed):
    def f(x):
        value = mixed(x)
        x[:] = np.nan
        return value

    x = mixed.x.copy()
    np.testing.assert_array_equal(GroupedDifference(f, mixed.pattern)(x).toarray(), by_formula(mixed, mixed.x))
    np.testing.assert_array_equal(x, mixed.x)


def test_the_states_of_the_caller_are_never_touched(rng):
    p = mbdae.GGL(library.system("double-pendulum"))
    y, yd = p.y0, p.yd0
    y.flags.writeable = yd.flags.writeable = False

    def F(t, y, yd, out):
        p.residual(t, y, yd, out)
        y[:], yd[:] = 7.0, 8.0

    J = FoldedDifference(F, p.pattern)(0.0, y, yd, 10.0)
    np.testing.assert_array_equal(J.toarray(), FoldedDifference(p.residual, p.pattern)(0.0, y, yd, 10.0).toarray())


def test_lists_and_integers_are_numbers_too():
    J = GroupedDifference(lambda x: [2.0 * x[0], 3], np.array([[1, 0], [0, 1]]))([1, 2])
    np.testing.assert_allclose(J.toarray(), [[2.0, 0.0], [0.0, 0.0]], atol=1e-7)


def test_values_are_written_where_the_caller_says(mixed):
    grouped = GroupedDifference(mixed, mixed.pattern)
    J = grouped(mixed.x)
    J.data[:] = np.nan
    assert grouped.values(mixed.x, out=J.data) is J.data
    np.testing.assert_array_equal(J.toarray(), by_formula(mixed, mixed.x))
    J.eliminate_zeros()
    J.indices[:] = 0  # the caller's own
    np.testing.assert_array_equal(grouped(mixed.x).toarray(), by_formula(mixed, mixed.x))


class Trouble(Exception):
    pass


def test_exceptions_pass_and_leave_no_trace(mixed):
    fuse = [3]

    def f(x):
        fuse[0] -= 1
        if fuse[0] == 0:
            raise Trouble("here")
        return mixed(x)

    grouped = GroupedDifference(f, mixed.pattern)
    with pytest.raises(Trouble, match="here"):
        grouped(mixed.x)
    np.testing.assert_array_equal(grouped(mixed.x).toarray(), by_formula(mixed, mixed.x))


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (3, 4)])
def test_patterns_without_entries_need_no_evaluation(shape):
    grouped = GroupedDifference(lambda x: np.zeros(shape[0]), np.zeros(shape), check=False)
    J = grouped(np.ones(shape[1]))
    assert (J.shape, J.nnz, grouped.calls) == (shape, 0, 0)
    assert "0 groups, 0 evaluations" in repr(grouped)


# --- errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "words"), [
    ({"pattern": np.ones(3)}, r"pattern must have two dimensions, rows and columns, got shape \(3,\)"),
    ({"pattern": np.ones((2, 2, 2))}, "two dimensions"),
    ({"scheme": "backward"}, "scheme must be one of forward, central, complex, got 'backward'"),
    ({"known": np.ones(3, dtype=bool)}, r"known must be a mask of shape \(15,\), one truth value .* got shape \(3,\) of bool"),
    ({"known": np.ones(15)}, r"known must be a mask .* of float64"),
    ({"floor": 0.0}, "floor must be positive and finite"),
    ({"floor": [1.0, 2.0]}, r"floor must be a number or have shape \(6,\), got \(2,\)"),
    ({"groups": np.arange(5)}, "groups"),
    ({"groups": -np.ones(6, dtype=int)}, "group")])
def test_what_cannot_be_used_is_refused_at_once(mixed, given, words):
    with pytest.raises(ValueError, match=words):
        GroupedDifference(mixed, **{"pattern": mixed.pattern, **given})


@pytest.mark.parametrize(("f", "words"), [
    (lambda x: x[:5], r"f must return an array of shape \(6,\), one value for each row of the pattern, got \(5,\)"),
    (lambda x: 1.0, r"f must return .* got \(\)"),
    (lambda x: None, r"f must return .* got \(\)"),
    (lambda x: x * 1j, "f returned complex values for a real argument"),
    (lambda x: np.where(np.arange(6) == 4, np.inf, x), r"f\(x\) is not finite in row 4: there are no differences at this point"),
    (lambda x: np.where((np.arange(6) == 2) & (x[3] != 1.0), np.nan, x),
     r"f is not finite in row 2 when the columns of group 0 are perturbed \(x\[0\], x\[1\].*\), but it is at the point itself")])
def test_what_functions_must_not_return(f, words):
    with pytest.raises(ValueError, match=words):
        GroupedDifference(f, np.eye(6))(np.ones(6))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_point_itself_may_not_be_finite(scheme):
    with pytest.raises(ValueError, match=r"f\(x\) is not finite in row 1"):
        GroupedDifference(lambda x: np.array([0.0, np.nan]) * x, np.eye(2), scheme)(np.ones(2))


def test_the_imaginary_part_must_not_be_lost():
    with pytest.raises(ValueError, match="f returned real values for a complex argument: it has lost the imaginary part"):
        GroupedDifference(lambda x: x.real**2, np.eye(3), "complex")(np.ones(3))

    def F(t, y, yd, out):
        out[:] = y.real**2

    with pytest.raises(ValueError, match="F discards the imaginary part, which is the derivative: all complex steps give zero, but it"):
        FoldedDifference(F, np.eye(3), "complex")(0.0, np.ones(3), np.ones(3), 1.0)


def test_a_derivative_of_zero_is_no_lost_imaginary_part():
    J = GroupedDifference(lambda x: x**2 * 0.0, np.eye(3), "complex")(np.zeros(3))
    np.testing.assert_array_equal(J.toarray(), np.zeros((3, 3)))


def test_rows_that_are_not_filled_are_noticed():
    def F(t, y, yd, out):
        out[:2] = y[:2]

    with pytest.raises(ValueError, match=r"F\(y\) is not finite in row 2"):
        FoldedDifference(F, np.eye(3))(0.0, np.ones(3), np.ones(3), 1.0)


@pytest.mark.parametrize(("given", "words"), [
    ({"x": np.ones(5)}, r"x must have shape \(6,\), one value for each column of the pattern, got \(5,\)"),
    ({"x": np.array([1, 2, np.nan, 4, 5, 6])}, r"x\[2\] is not finite"),
    ({"f0": np.ones(5)}, r"f0 must have shape \(6,\), one value for each row of the pattern, got \(5,\)"),
    ({"f0": np.full(6, np.nan)}, "not finite in row 0"),
    ({"out": np.empty(6)}, r"out must be an array of float64 of shape \(15,\)"),
    ({"out": np.empty(15, dtype=np.float32)}, "out must be an array of float64"),
    ({"known_values": np.ones(3)}, r"known_values must have shape \(0,\), one for each known entry by columns, got \(3,\)")])
def test_arguments_of_the_wrong_shape_are_refused(mixed, given, words):
    with pytest.raises(ValueError, match=words):
        GroupedDifference(mixed, mixed.pattern).values(**{"x": mixed.x, **given})


def test_known_values_must_be_given(mixed):
    known = np.arange(15) < 2
    grouped = GroupedDifference(mixed, mixed.pattern, known=known)
    with pytest.raises(ValueError, match="known_values: 2 entries of the pattern were declared as known, but their values are not given"):
        grouped(mixed.x)
    with pytest.raises(ValueError, match=r"known_values\[1\] is not finite"):
        grouped(mixed.x, known_values=[1.0, np.inf])


def test_folded_arguments_are_checked():
    grouped = FoldedDifference(lambda t, y, yd, out: None, np.eye(3))
    ones = np.ones(3)
    for y, yd, c, words in ((np.ones(2), ones, 1.0, r"y must have shape \(3,\)"), (ones, np.ones(4), 1.0, r"yd must have shape \(3,\)"),
                            (ones, ones, np.inf, "c must be finite, got inf")):
        with pytest.raises(ValueError, match=words):
            grouped(0.0, y, yd, c)
