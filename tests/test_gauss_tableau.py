"""Gauss formulas: the conditions that make them what they are."""

import numpy as np
import pytest
from scipy.special import eval_sh_legendre

from mbdae.integrators.gauss.tableau import LEVELS, STAGES, gauss

EACH = pytest.mark.parametrize("stages", STAGES)
EPS = 1e-15


@EACH
def test_the_weights_integrate_polynomials_of_degree_2s_minus_1(stages):
    """B(2s), and no more."""
    g = gauss(stages)
    powers = np.arange(1, 2 * stages + 1)
    np.testing.assert_allclose([g.b @ g.c ** (k - 1) for k in powers], 1.0 / powers, rtol=0.0, atol=EPS)
    assert abs(g.b @ g.c ** (2 * stages) - 1.0 / (2 * stages + 1)) > 1e-5


@EACH
def test_the_stages_are_collocation(stages):
    """C(s) and D(s)."""
    g = gauss(stages)
    for k in range(1, stages + 1):
        np.testing.assert_allclose(g.A @ g.c ** (k - 1), g.c**k / k, rtol=0.0, atol=EPS)
        np.testing.assert_allclose((g.b * g.c ** (k - 1)) @ g.A, g.b / k * (1.0 - g.c**k), rtol=0.0, atol=EPS)


@EACH
def test_the_formula_is_symplectic_and_symmetric(stages):
    g = gauss(stages)
    np.testing.assert_allclose(g.b[:, None] * g.A + (g.b[:, None] * g.A).T, np.outer(g.b, g.b), rtol=0.0, atol=EPS)
    np.testing.assert_allclose(g.A + g.A[::-1, ::-1], np.broadcast_to(g.b, g.A.shape), rtol=0.0, atol=EPS)
    np.testing.assert_allclose(g.c + g.c[::-1], 1.0, rtol=0.0, atol=EPS)


@EACH
def test_what_follows_from_the_matrix(stages):
    g = gauss(stages)
    assert g.order == 2 * stages
    np.testing.assert_allclose(g.A.T @ g.d, g.b, rtol=0.0, atol=1e-14)
    assert 1.0 - g.d.sum() == pytest.approx(g.r, abs=1e-14) and g.r == (-1) ** stages
    np.testing.assert_allclose(g.A @ g.A, g.AA, rtol=0.0, atol=EPS)


@pytest.mark.parametrize("level", LEVELS)
@EACH
def test_the_combinations_that_decouple_the_stages(stages, level):
    """For velocities the constraints of the stages are orthogonal to the polynomials of degree below `s - 1`; the last row is the end."""
    g, one = gauss(stages, level), np.eye(stages)
    np.testing.assert_allclose(g.mix_inverse @ g.mix, one, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(g.speeds @ g.mix, g.A, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(g.shifts @ g.mix, g.AA, rtol=0.0, atol=1e-13)
    if level == "position":
        np.testing.assert_array_equal(g.moments, one)
        np.testing.assert_array_equal(g.shifts, one)
        np.testing.assert_allclose(g.mix, g.A @ g.A, rtol=0.0, atol=EPS)
        return
    if level == "ggl":
        for found, expected in ((g.moments, one), (g.speeds, one), (g.mix, g.A), (g.shifts, g.A)):
            np.testing.assert_array_equal(found, expected)
        return
    powers = g.c[:, None] ** np.arange(stages)
    np.testing.assert_array_equal(g.moments[-1], 0.0)
    legendre = [eval_sh_legendre(k, g.c) for k in range(stages - 1)]
    np.testing.assert_allclose(g.moments[:-1], g.b * np.reshape(legendre, (stages - 1, stages)), rtol=0.0, atol=EPS)
    # rows k < s - 1 vanish for polynomials of degree below k, and on top of one another they are symmetric or antisymmetric
    np.testing.assert_allclose(np.tril(g.moments[:-1] @ powers, -1), 0.0, rtol=0.0, atol=EPS)
    np.testing.assert_allclose(g.moments[:-1, ::-1], g.moments[:-1] * (-1.0) ** np.arange(stages - 1)[:, None], rtol=0.0, atol=EPS)
    np.testing.assert_allclose(g.mix[:-1], (g.moments @ g.A)[:-1], rtol=0.0, atol=EPS)
    np.testing.assert_array_equal(g.mix[-1], g.b)


def test_published_coefficients():
    """[Wei, section 3.1]: the formula with three stages; the implicit midpoint rule; Hammer and Hollingsworth's."""
    w = np.sqrt(15.0)
    published = [[5 / 36, 2 / 9 - w / 15, 5 / 36 - w / 30], [5 / 36 + w / 24, 2 / 9, 5 / 36 - w / 24],
                 [5 / 36 + w / 30, 2 / 9 + w / 15, 5 / 36]]
    np.testing.assert_allclose(gauss(3).A, published, rtol=0.0, atol=EPS)
    assert gauss(1).A == 0.5 == gauss(1).c and gauss(1).b == 1.0
    r = np.sqrt(3.0) / 6.0
    np.testing.assert_allclose(gauss(2).A, [[0.25, 0.25 - r], [0.25 + r, 0.25]], rtol=0.0, atol=EPS)


@pytest.mark.parametrize("stages", [0, 5, 2.5, "3"])
def test_other_numbers_of_stages_are_refused(stages):
    with pytest.raises(ValueError, match="1 to 4 stages"):
        gauss(stages)


def test_other_levels_are_refused():
    with pytest.raises(ValueError, match="stages_hold must be one of 'velocity', 'position', 'ggl', got 'acceleration'"):
        gauss(2, "acceleration")
