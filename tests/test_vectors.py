"""Loops over vectors: values that are not finite are found in compiled code, where sums may be reassociated."""

import ast
from pathlib import Path

import numba
import numpy as np
import pytest

import mbdae
from mbdae.compilation.dispatcher import FAST
from mbdae.system.vectors import dot, is_finite, largest

VALUES = (1.0, -2.5, 1e308, np.nan, np.inf, -np.inf)


def of_sum(x, y):
    return is_finite(x + y)


def of_difference(x, y):
    return is_finite(x - y)


def of_products(x, y):
    s = 0.0
    for _ in range(3):
        s += x * y
    return is_finite(s)


@pytest.mark.parametrize("function", [of_sum, of_difference, of_products])
def test_results_of_compiled_arithmetic_are_finite_or_not(function):
    """`np.isfinite` says of each of these that it is finite."""
    fast = numba.njit(error_model="numpy", fastmath=FAST)(function)
    with np.errstate(all="ignore"):
        for x in map(np.float64, VALUES):
            for y in map(np.float64, VALUES):
                assert fast(x, y) == function(x, y) == bool(np.isfinite({"of_sum": x + y, "of_difference": x - y}.get(
                    function.__name__, x * y + x * y + x * y)))


def test_no_compiled_function_asks_numpy():
    """Whether a value is finite: of sums the answer would always be yes."""
    package = Path(mbdae.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any("compiled" in ast.unparse(d) for d in node.decorator_list):
                called = {ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
                assert "np.isfinite" not in called, f"{path.name}: {node.name} has np.isfinite in place of is_finite"


@pytest.mark.parametrize("place", range(4))
def test_the_largest_of_values_is_nan_where_one_is(place):
    x = np.array([1.0, -7.0, 3.0, 0.5])
    assert largest(x) == 7.0 and largest(x * (1.0 - 2.0j)) == pytest.approx(7.0 * 5.0**0.5) and largest(x[:0]) == 0.0
    x[place] = np.nan
    assert np.isnan(largest(x))


def test_products_are_without_conjugation(rng):
    x, y = rng.normal(size=(2, 5)) + 1j * rng.normal(size=(2, 5))
    assert dot(x, y) == pytest.approx(np.sum(x * y))
