"""The check of Jacobians: it finds one wrong entry among thousands, and never blames a right one."""

import numpy as np
import pytest
from scipy.sparse import csc_array, diags_array

import mbdae
from mbdae import library
from mbdae.jacobians.check import check_folded, check_jacobian, check_problem
from mbdae.jacobians.report import HEADINGS

from .forms import random_point, random_state
from .helpers import case, thorough_but

N = 500
FEW = ("single-pendulum", "double-pendulum", "pendulum-chain", "slider-crank", "four-link", "andrews", "truck", "iltis", "bricard",
       "wheelset")


class Sparse:
    """`f = R A g(C x)` with a sparse random `A`, 2494 entries, at `x`, and its Jacobian."""

    def __init__(self, kind, seed=0):
        rng = np.random.default_rng(seed)
        rows, columns = (np.concatenate([rng.integers(0, N, 4 * N), np.arange(N)]) for _ in range(2))
        self.A = csc_array((rng.uniform(0.3, 2.0, len(rows)), (rows, columns)), shape=(N, N))
        self.A.sum_duplicates()
        self.R = 10.0 ** rng.uniform(-8, 8, N) if kind in ("rows", "both") else np.ones(N)
        self.C = 10.0 ** rng.uniform(-8, 8, N) if kind in ("columns", "both") else np.ones(N)
        self.g, self.dg, size = CURVES.get(kind, CURVES["sine"])
        self.x = size * rng.uniform(0.5, 1.5, N) * rng.choice([-1.0, 1.0], N) / self.C
        if kind == "zeros":
            self.x[::3] = 0.0
        self.J = csc_array(diags_array(self.R) @ self.A @ diags_array(self.C * self.dg(self.C * self.x)))
        self.J.sort_indices()

    def __call__(self, x):
        return self.R * (self.A @ self.g(self.C * x))

    def place(self, entry):
        return self.J.indices[entry], np.searchsorted(self.J.indptr, entry, side="right") - 1


CURVES = {  # function, derivative, size of the variables
    "sine": (np.sin, np.cos, 1.0),
    "linear": (lambda u: u, np.ones_like, 1.0),
    "nearly linear": (lambda u: u + 1e-9 * np.sin(u), lambda u: 1.0 + 1e-9 * np.cos(u), 1.0),
    "steep": (lambda u: np.exp(8.0 * u), lambda u: 8.0 * np.exp(8.0 * u), 0.5),
    "step": (lambda u: np.tanh(1e3 * u), lambda u: 1e3 / np.cosh(1e3 * u) ** 2, 1e-3),
    "waves": (lambda u: np.sin(1e4 * u), lambda u: 1e4 * np.cos(1e4 * u), 1.0),
    "pole": (lambda u: 1.0 / (u - 3.0001), lambda u: -1.0 / (u - 3.0001) ** 2, 2.0),
    "cubic": (lambda u: u**3, lambda u: 3.0 * u**2, 1e-2),
    "offset": (lambda u: (1e5 + np.sin(u)) - 1e5, np.cos, 1.0),
}
KINDS = (*CURVES, "rows", "columns", "both", "zeros")


@pytest.mark.parametrize("kind", KINDS)
def test_right_jacobians_are_accepted(kind):
    f = Sparse(kind)
    report = check_jacobian(f, f.x, f.J)
    assert report.ok, str(report)
    assert report.entries == []
    assert report.blocks[0].entries == f.J.nnz
    assert report.blocks[0].undecided == 0
    assert report.calls < 1000


def spoiled(J, entry, how):
    wrong = J.copy()
    if how == "missing":
        kept = np.arange(J.nnz) != entry
        columns = np.repeat(np.arange(N), np.diff(J.indptr))
        return csc_array((J.data[kept], (J.indices[kept], columns[kept])), shape=J.shape)
    wrong.data[entry] *= {"sign": -1.0, "off by 1e-4": 1.0 + 1e-4, "factor": 1e6}[how]
    return wrong


@pytest.mark.parametrize("how", ["off by 1e-4", "sign", "missing", "factor"])
@pytest.mark.parametrize("kind", thorough_but(("sine", "both"), KINDS))
def test_one_wrong_entry_is_found_and_no_other_is_blamed(kind, how, rng):
    f = Sparse(kind)
    strong = np.flatnonzero(np.abs(f.J.data) > 1e-5 * abs(f.J).max(axis=1).toarray().ravel()[f.J.indices])
    for entry in rng.choice(strong if kind in ("steep", "step", "pole") else f.J.nnz, 3, replace=False):
        row, column = f.place(entry)
        report = check_jacobian(f, f.x, spoiled(f.J, entry, how))
        assert not report.ok
        assert [(e.row, e.column) for e in report.entries] == [(row, column)], f"{row}, {column}\n{report}"
        found = report.entries[0]
        assert found.outside == (how == "missing")
        assert found.doubt < 0.5 * abs(found.value - found.difference)
        assert found.difference == pytest.approx(f.J.data[entry], rel=1e-5)
        assert f"({row}, {column}) is " in str(report)


def test_several_wrong_entries_are_all_found_the_worst_first(rng):
    f = Sparse("sine")
    wrong, chosen = f.J.copy(), np.sort(rng.choice(f.J.nnz, 12, replace=False))
    wrong.data[chosen] += np.geomspace(1e-3, 1.0, 12)
    report = check_jacobian(f, f.x, wrong)
    assert {(e.row, e.column) for e in report.entries} == {f.place(k) for k in chosen}
    off = [abs(e.value - e.difference) / e.doubt for e in report.entries]
    assert off == sorted(off, reverse=True)
    assert report.blocks[0].wrong == 12
    assert "... and 2 more" in str(report)
    assert "12 wrong entries" in str(report)


def test_dense_jacobians_and_functions_are_taken():
    f = Sparse("sine")
    few = slice(0, 30)
    x0 = f.x.copy()

    def small(x):
        y = x0.copy()
        y[few] = x
        return f(y)[few]

    J = f.J[few, few].toarray()
    report = check_jacobian(small, x0[few], lambda x: J)
    assert report.ok
    assert report.calls == 9 + 30 * 28  # every column is a group
    J[3, 5] += 1e-3
    assert [(e.row, e.column, e.outside) for e in check_jacobian(small, x0[few], J).entries] == [(3, 5, False)]
    grouped = check_jacobian(small, x0[few], f.J[few, few].toarray(), pattern=f.J[few, few])
    assert grouped.ok and grouped.calls < report.calls


def test_what_lies_outside_of_the_pattern_is_told_whoever_has_it():
    """A difference that is not zero there, and an element of `J` that is not."""
    A = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.5, 0.0, 4.0]])
    pattern = A != 0.0
    x = np.array([0.3, 0.5, 0.7])
    pattern[2, 0] = False
    report = check_jacobian(lambda x: A @ x, x, np.where(pattern, A, 0.0), pattern)
    assert [(e.row, e.column, e.value, e.outside) for e in report.entries] == [(2, 0, 0.0, True)]
    assert report.entries[0].difference == pytest.approx(0.5)
    assert "outside of the pattern" in str(report)
    report = check_jacobian(lambda x: A @ x, x, A, pattern)
    assert [(e.row, e.column, e.value, e.outside) for e in report.entries] == [(2, 0, 0.5, True)]


def test_values_that_are_not_finite_are_wrong():
    for bad in (np.nan, np.inf):
        report = check_jacobian(lambda x: x**2, np.array([0.5, 1.0]), np.diag([1.0, bad]))
        assert [(e.row, e.column) for e in report.entries] == [(1, 1)]
        assert "1 wrong entry" in str(report)


def test_rows_that_never_change_are_no_trouble():
    report = check_jacobian(lambda x: np.array([0.0, x[1]]), np.ones(2), np.array([[3.0, 0.0], [0.0, 1.0]]))
    assert [(e.row, e.column, e.difference) for e in report.entries] == [(0, 0, 0.0)]


# --- what differences cannot see -----------------------------------------------------------------------------------------


def test_entries_that_drown_are_counted_and_not_blamed():
    f = Sparse("sine")
    A = np.array([[1e12, 1e-8], [1.0, 1.0]])
    x = np.array([0.3, 0.7])
    for wrong in (0.0, 3e-8):
        J = A * np.cos(x)
        J[0, 1] += wrong
        report = check_jacobian(lambda x: A @ np.sin(x), x, J)
        assert report.ok
        assert report.blocks[0].undecided == 1
    assert check_jacobian(f, f.x, f.J).blocks[0].undecided == 0


def test_rounding_errors_of_the_jacobian_can_be_allowed():
    J = np.array([[1e3, 1e-6], [0.0, 1.0]])
    off = J + np.array([[0.0, 1e-8], [0.0, 0.0]])
    assert not check_jacobian(lambda x: J @ x, np.ones(2), off).ok
    assert check_jacobian(lambda x: J @ x, np.ones(2), off, atol=2e-8).ok
    assert check_jacobian(lambda x: J @ x, np.ones(2), off, atol=[2e-8, 0.0]).ok
    assert not check_jacobian(lambda x: J @ x, np.ones(2), off, atol=[5e-9, 1.0]).ok


def test_functions_that_exist_nowhere_else_are_undecided():
    def f(x):
        return x if (x == 1.0).all() else np.full(2, np.nan)

    report = check_jacobian(f, np.ones(2), np.eye(2))
    assert report.ok and report.blocks[0].undecided == 2


def test_domains_that_end_nearby_are_no_trouble():
    x = np.array([1e-5, 2.0])
    report = check_jacobian(np.sqrt, x, np.diag(0.5 / np.sqrt(x)), floor=1.0)
    assert report.ok and report.blocks[0].undecided == 0
    assert not check_jacobian(np.sqrt, x, np.diag([0.5001, 0.5] / np.sqrt(x)), floor=1.0).ok


SMALL = 1e-6
LOCAL = {  # functions that look different from far, and derivatives at 0.3
    "bump": (lambda u: np.exp(-(((u - 0.3) / SMALL - 0.5) ** 2)), np.exp(-0.25) / SMALL),
    "dead zone": (lambda u: np.maximum(np.abs(u - 0.3) - 1.234e-4, 0.0) * np.sign(u - 0.3), 0.0),
    "quantised": (lambda u: 0.3 * ((1e6 + 1e-3 * u) - 1e6), 3e-4),
    "step": (lambda u: np.tanh((u - 0.3) / SMALL), 1.0 / SMALL),
}


@pytest.mark.parametrize("kind", LOCAL)
def test_functions_that_look_different_from_far(kind):
    f, slope = LOCAL[kind]
    assert check_jacobian(f, np.array([0.3]), np.array([[slope]])).ok
    for wrong in (1.01 * slope, -slope) if slope else (1e-2, -1e-2):
        assert not check_jacobian(f, np.array([0.3]), np.array([[wrong]])).ok


ROUNDED = {  # values near zero that are differences of large ones: rounding at small variables, which their own rounding errors do not show
    "one": (lambda u: (0.7311 + 0.1464 * u) - 0.7311 - 2.6e-17, 0.1464),
    "two": (lambda u: ((0.7311 + 0.1464 * u) - 0.7311) + 0.0137 * ((3.1 + u) - 3.1) + 1.3e-17, 0.1601),
    "three": (lambda u: 1e-3 * ((1e3 + np.sin(u)) - 1e3) + ((0.011 + u**2) - 0.011) - ((0.3 - u) - 0.3), 1.001),
}


@pytest.mark.parametrize("x", (2.6459e-4, -3.1e-6, 1.1e-8))
@pytest.mark.parametrize("kind", ROUNDED)
def test_small_differences_of_large_numbers(kind, x):
    f, slope = ROUNDED[kind]
    slope = slope + 2.0 * x if kind == "three" else slope
    found = check_jacobian(f, np.array([x]), np.array([[slope]]), floor=1e-12)
    assert found.ok, found
    if abs(x) > 1e-5:
        assert not check_jacobian(f, np.array([x]), np.array([[0.99 * slope]]), floor=1e-12).ok


# --- the report ----------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_central_differences():
    """Truncation `h^2 |f'''| / 6` meets rounding `eps / h`, in increments relative to the variables."""
    x = np.array([1.0, 1.2, 0.8])
    report = check_jacobian(np.sin, x, np.diag(np.cos(x)))
    block = report.blocks[0]
    assert block.increment in (1e-4, 1e-5)
    assert block.largest == pytest.approx(np.cos(x).max())
    assert block.disagreement < 1e-9
    expected = (block.increment * x) ** 2 * np.cos(x) / 6.0
    assert 0.3 * expected.max() < block.truncation * block.largest < 3.0 * expected.max()
    assert 1e-17 < block.rounding * block.increment < 1e-14


def test_linear_functions_have_no_truncation():
    A = np.random.default_rng(0).normal(size=(5, 5))
    block = check_jacobian(lambda x: A @ x, np.ones(5), A).blocks[0]
    assert block.increment > 1e-3
    assert block.truncation < 1e-14 and block.disagreement < 1e-12


def test_blocks_are_reported_by_name():
    f = Sparse("sine")
    blocks = {"top": (slice(0, 200), slice(None)), "bottom, right": (slice(200, N), slice(250, N)), "empty": (slice(0, 0), slice(None))}
    wrong = f.J.copy()
    entry = next(k for k in range(f.J.nnz) if f.place(k)[0] >= 200 and f.place(k)[1] >= 250)
    wrong.data[entry] += 1.0
    report = check_jacobian(f, f.x, wrong, blocks=blocks)
    assert [b.name for b in report.blocks] == ["top", "bottom, right"]
    assert [b.wrong for b in report.blocks] == [0, 1]
    assert report.entries[0].block == "bottom, right"
    counted = [np.count_nonzero([f.place(k)[0] < 200 for k in range(f.J.nnz)]),
               np.count_nonzero([f.place(k)[0] >= 200 and f.place(k)[1] >= 250 for k in range(f.J.nnz)])]
    assert [b.entries for b in report.blocks] == counted
    lines = str(report).splitlines()
    assert len({len(line) for line in lines[:3]}) == 1  # columns are aligned
    assert lines[0].split() == list(HEADINGS)
    assert lines[1].startswith("top ") and lines[2].startswith("bottom, right ")
    assert lines[4].startswith(f"  bottom, right: ({f.place(entry)[0]}, ")


# --- implicit equations and problems -------------------------------------------------------------------------------------


def test_both_parts_of_implicit_equations_are_checked():
    A, B = np.random.default_rng(3).normal(size=(2, 4, 4))

    def F(t, y, yd, out):
        out[:] = A @ np.sin(y) + B @ yd**3 - t

    y, yd = np.linspace(0.2, 0.8, 4), np.linspace(-1.0, 2.0, 4)

    def J(t, y, yd, c):
        return A * np.cos(y) + c * B * 3.0 * yd**2

    for c in (0.0, 1.0, -1e3):
        assert check_folded(F, 0.7, y, yd, c, J).ok
        wrong = J(0.7, y, yd, c)
        wrong[2, 1] *= 1.0 + 1e-4
        assert [(e.row, e.column) for e in check_folded(F, 0.7, y, yd, c, wrong).entries] == [(2, 1)]


def points(name, form, seed=5):
    s = library.system(name)
    p, rng = form(s), np.random.default_rng(seed)
    yield p, p.y0, p.yd0
    yield p, *random_point(p, random_state(s, rng), rng)


def assert_exact(name, form, seed=5, coefficients=(0.0, 300.0)):
    for p, y, yd in points(name, form, seed):
        for c in coefficients:
            report = check_problem(p, 0.3, y, yd, c)
            assert report.ok, str(report)
            assert sum(b.entries for b in report.blocks) == p.pattern.nnz


def test_a_problem_is_checked_in_one_line():
    assert_exact("double-pendulum", mbdae.GGL)
    assert_exact("andrews", mbdae.Index3)
    assert_exact("double-pendulum", mbdae.Index1, 102, (1e6,))
    assert_exact("wheelset", mbdae.Index3)


@pytest.mark.parametrize("name", [case(name) for name in ("double-pendulum", "flexible-slider-crank", "flyball-governor")])
def test_rounding_errors_of_solutions_are_no_wrong_entries(name):
    assert_exact(name, mbdae.UnderlyingODE, coefficients=(0.0, 1e4))


@pytest.mark.thorough
@pytest.mark.parametrize("form", [mbdae.GGL, mbdae.Index3])
@pytest.mark.parametrize("name", [case(name) for name in FEW])
def test_jacobians_of_mechanisms_are_exact(name, form):
    assert_exact(name, form)


def test_a_wrong_entry_of_a_problem_is_found_in_its_block(rng):
    for p, y, yd in points("slider-crank", mbdae.GGL):
        J = p.jacobian(0.3, y, yd, 100.0)
        rows, columns = p.equations["dynamics"], p.blocks["q"]
        places = np.repeat(np.arange(p.n), np.diff(J.indptr))
        inside = (J.indices >= rows.start) & (J.indices < rows.stop) & (places >= columns.start) & (places < columns.stop)
        entry = rng.choice(np.flatnonzero(inside & (np.abs(J.data) > 1e-2)))
        J.data[entry] *= 1.0 + 1e-3
        report = check_problem(p, 0.3, y, yd, 100.0, J)
        assert [(e.block, e.row, e.column) for e in report.entries] == [("dynamics, q", J.indices[entry], places[entry])]
        assert {b.name: b.wrong for b in report.blocks if b.wrong} == {"dynamics, q": 1}


# --- errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "words"), [
    ({"x": np.ones((3, 1))}, r"x must be a vector, got shape \(3, 1\)"),
    ({"x": [1.0, np.nan, 1.0]}, r"x\[1\] is not finite"),
    ({"J": np.eye(4)}, r"J must be a matrix with 3 columns, one for each variable, got shape \(4, 4\)"),
    ({"J": np.ones(3)}, r"J must be a matrix .* got shape \(3,\)"),
    ({"J": np.ones((4, 3))}, r"f must return an array of shape \(4,\)"),
    ({"floor": np.ones(2)}, r"floor must be a number or have shape \(3,\), got \(2,\)"),
    ({"floor": -1.0}, "floor must be positive and finite"),
    ({"atol": np.ones(2)}, r"atol must be a number or have shape \(3,\), got \(2,\)"),
    ({"pattern": np.eye(2)}, r"pattern must have the shape of J, \(3, 3\), got \(2, 2\)"),
    ({"f": lambda x: x / 0.0 if x[0] < 0 else np.array([0.0, np.inf, 0.0])}, "f is not finite in row 1 at this point")])
def test_what_cannot_be_checked_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        check_jacobian(**{"f": lambda x: x, "x": np.ones(3), "J": np.eye(3), **given})


def test_folded_shapes_must_agree():
    with pytest.raises(ValueError, match=r"yd must have the shape of y, \(3,\), got \(2,\)"):
        check_folded(lambda t, y, yd, out: None, 0.0, np.ones(3), np.ones(2), 1.0, np.eye(3))
    with pytest.raises(ValueError, match="F is not finite in row 0 at this point"):
        check_folded(lambda t, y, yd, out: None, 0.0, np.ones(3), np.ones(3), 1.0, np.eye(3))


def test_exceptions_pass():
    def f(x):
        if x[0] > 1.05:
            raise ArithmeticError("too far")
        return x

    with pytest.raises(ArithmeticError, match="too far"):
        check_jacobian(f, np.ones(2), np.eye(2))
