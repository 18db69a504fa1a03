"""Newmark, HHT and generalised-alpha as one formula: order, amplification, stability, presets, bad parameters."""

import numpy as np
import pytest

from mbdae.integrators.structural.formula import RULES, Formula, generalized_alpha, hht, newmark

HHTS, RADII = (-1.0 / 3.0, -0.2, -0.05, 0.0), (0.0, 0.3, 0.6, 0.9, 1.0)
CASES = {name: newmark(*rule) for name, rule in RULES.items()}
CASES |= {f"hht {a:.2f}": hht(a) for a in HHTS} | {f"alpha {r}": generalized_alpha(r) for r in RADII}
CASES |= {"damped": newmark(0.2, 0.6), "stable, damped": newmark(0.390625, 0.75), "general": Formula(0.2, 0.6, 0.1, 0.2)}
FORMULAS = pytest.mark.parametrize("formula", CASES.values(), ids=CASES)
NEWMARKS = pytest.mark.parametrize(("beta", "alpha"), [*RULES.values(), (0.2, 0.6), (0.390625, 0.75), (0.3, 0.4)])


def printed(alpha, beta, w, xi):
    """The matrix (25), with `2 beta - alpha` where the print has `2 (beta - alpha)`, and the step that it has lost in the corner."""
    rows = [[4 * (alpha - 1) * xi * w + (2 * beta - 1) * w**2, -2 * w**2 - 4 * xi * w, -2 * w**2],
            [2 * (1 - alpha) + (2 * beta - alpha) * w**2, 2 + 2 * (beta - alpha) * w**2, -2 * alpha * w**2],
            [1 - 2 * beta + (alpha - 2 * beta) * 2 * xi * w, 2 + (alpha - beta) * 4 * xi * w, 2 + 4 * alpha * xi * w]]
    return np.array(rows) / (2 + 4 * alpha * xi * w + 2 * beta * w**2)


def brute_step(formula, omega, xi, h, w0, v0, x0, a0):
    """`(w1, v1, x1, a1)` of `x'' + 2 xi omega x' + omega^2 x = 0` by one linear system of the four equations as they are written."""
    b, g, m, f = formula.beta, formula.gamma, formula.alpha_m, formula.alpha_f
    A = np.array([[-h * h * b, 0.0, 1.0, 0.0], [-h * g, 1.0, 0.0, 0.0], [1 - m, 0.0, 0.0, -(1 - f)],
                  [0.0, 2 * xi * omega, omega**2, 1.0]])
    right = [x0 + h * v0 + h * h * (0.5 - b) * w0, v0 + h * (1 - g) * w0, f * a0 - m * w0, 0.0]
    return np.linalg.solve(A, right)


# --- one step ------------------------------------------------------------------------------------------------------------


@NEWMARKS
@pytest.mark.parametrize(("omega_h", "damping"), [(0.1, 0.0), (0.7, 0.3), (2.3, 1.5), (40.0, 0.0)])
def test_amplification_of_newmark_is_the_matrix_of_the_paper(beta, alpha, omega_h, damping):
    A = newmark(beta, alpha).amplification(omega_h, damping)
    assert np.abs(A - printed(alpha, beta, omega_h, damping)).max() < 1e-13


@FORMULAS
def test_amplification_is_one_step_of_the_scalar_oscillator(formula, rng):
    omega, xi, h = 3.0, 0.2, 0.17
    w, v, x = rng.normal(size=3)
    a = -2 * xi * omega * v - omega**2 * x
    w1, v1, x1, _ = brute_step(formula, omega, xi, h, w, v, x, a)
    found = formula.amplification(omega * h, xi) @ [h * h * w, h * v, x]
    assert found == pytest.approx([h * h * w1, h * v1, x1], rel=1e-13, abs=1e-14)


# --- order ---------------------------------------------------------------------------------------------------------------


def end_error(formula, h, xi=0.1):
    """Error of position and velocity at `t = 2` of an oscillator, `w` started with the order that the method needs."""
    omega, t_end = 2.0, 2.0
    shift = formula.alpha_m - formula.alpha_f  # w belongs to the time t - shift h
    wd = omega * np.sqrt(1 - xi**2)

    def motion(t):
        e, s = np.exp(-xi * omega * t), complex(-xi * omega, wd)
        z = [s**k * np.exp(1j * wd * t) * e for k in range(3)]
        return np.array([x.real for x in z])

    y = np.array([h * h * motion(-shift * h)[2], h * motion(0.0)[1], motion(0.0)[0]])
    n = round(t_end / h)
    y = np.linalg.matrix_power(formula.amplification(omega * h, xi), n) @ y
    return np.abs([y[2] - motion(t_end)[0], y[1] / h - motion(t_end)[1]]).max()


@FORMULAS
def test_order_two_where_the_condition_holds_and_one_elsewhere(formula):
    errors = [end_error(formula, h) for h in (0.01, 0.005)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0 if formula.second_order() else 1.0, abs=0.05)


def test_condition_of_order_two():
    assert all(f.second_order() for f in (*map(generalized_alpha, RADII), *map(hht, HHTS), *(newmark(*r) for r in RULES.values())))
    assert not newmark(0.3, 0.6).second_order() and not Formula(0.25, 0.5, 0.1, 0.0).second_order()


def test_fox_goodwin_has_the_frequency_of_a_vibration_to_order_four():
    """The angle by which the eigenvalues turn in a step; all others have it to order two."""
    for name, order in (("fox-goodwin", 4.0), ("trapezoidal", 2.0), ("linear-acceleration", 2.0), ("central-differences", 2.0)):
        pairs = [(x, np.linalg.eigvals(CASES[name].amplification(x))) for x in (0.2, 0.1)]
        turned = [abs(np.angle(z[np.abs(z).argmax()])) / x - 1.0 for x, z in pairs]
        assert np.log2(turned[0] / turned[1]) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize(("start", "order"), [((1.0, 0.0), 4.0), ((1.0, 1.0), 2.0)])
def test_positions_of_fox_goodwin_have_order_four_only_from_rest(start, order):
    """Its velocities are those of the trapezoidal rule, of order two; only where `a' = 0` at the start does nothing of it get into `x`."""
    errors = []
    for h in (0.02, 0.01):
        x, v = start
        y = np.linalg.matrix_power(CASES["fox-goodwin"].amplification(h), round(2.0 / h)) @ [-h * h * x, h * v, x]
        errors.append(abs(y[2] - x * np.cos(2.0) - v * np.sin(2.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


# --- stability -----------------------------------------------------------------------------------------------------------


@FORMULAS
def test_limit_is_where_the_spectral_radius_passes_one(formula):
    limit = formula.limit()
    below = np.geomspace(1e-2, min(limit, 1e3), 400)[:-1]
    assert (formula.spectral_radius(below) < 1.0 + 1e-9).all()
    if np.isfinite(limit):
        assert formula.spectral_radius(limit * 1.001) > 1.0 + 1e-3


def test_limits_of_newmark_are_those_of_the_paper():
    assert [CASES[n].limit() for n in RULES] == pytest.approx([np.inf, np.sqrt(12.0), np.sqrt(6.0), 2.0], rel=1e-15)
    assert newmark(0.2, 0.6).limit() == pytest.approx(1.0 / np.sqrt(0.3 - 0.2), rel=1e-14)
    assert newmark(0.2500006, 0.5000005).limit() == np.inf


@pytest.mark.thorough
def test_limit_is_exact_for_any_coefficients(rng):
    """Against the roots of the spectral radius on random formulas, A-stable or not."""
    finite = 0
    for _ in range(200):
        formula = Formula(rng.uniform(0, 0.6), rng.uniform(0.4, 1.2), rng.uniform(-0.5, 0.4), rng.uniform(0.0, 0.5))
        limit = formula.limit()
        grid = np.geomspace(0.05, 200.0, 300)
        bad = formula.spectral_radius(grid) > 1.0 + 1e-9
        assert not bad[grid < limit * 0.999].any()
        if 0.05 < limit < 190.0:
            assert formula.spectral_radius(limit * 1.001) > 1.0
            finite += 1
        elif limit == 0.0:
            assert bad[0]
    assert finite > 20


def test_no_step_is_stable_with_negative_damping():
    formula = newmark(0.3, 0.45)
    assert formula.limit() == 0.0 and formula.spectral_radius(0.1) > 1.0


@pytest.mark.parametrize("rho", RADII)
def test_generalized_alpha_damps_fast_vibrations_as_asked(rho):
    formula = generalized_alpha(rho)
    assert formula.spectral_radius(1e5) == pytest.approx(rho, abs=2e-3)
    assert formula.spectral_radius(np.geomspace(1e-2, 1e4, 100)).max() < 1.0 + 1e-7


@pytest.mark.parametrize("alpha", HHTS)
def test_hht_damps_fast_vibrations(alpha):
    """The eigenvalues at infinity are `-alpha/(1 + alpha)` and twice `(alpha + 1)/(alpha - 1)`."""
    expected = max(-alpha / (1.0 + alpha), (1.0 + alpha) / (1.0 - alpha))
    assert hht(alpha).spectral_radius(1e6) == pytest.approx(expected, abs=1e-3)


def test_spectral_radius_takes_arrays():
    values = CASES["trapezoidal"].spectral_radius([[0.1, 1.0, 10.0], [0.2, 2.0, 20.0]], 0.1)
    assert values.shape == (2, 3) and (values < 1.0).all()
    assert np.ndim(CASES["trapezoidal"].spectral_radius(0.3)) == 0


# --- presets and refusals ----------------------------------------------------------------------------------------------------


def test_presets():
    assert set(RULES) == {"trapezoidal", "linear-acceleration", "fox-goodwin", "central-differences"}
    assert hht(0.0) == generalized_alpha(1.0).__class__(0.25, 0.5) == newmark(*RULES["trapezoidal"])
    m, f = generalized_alpha(0.5).alpha_m, generalized_alpha(0.5).alpha_f
    assert (m, f) == (0.0, pytest.approx(1.0 / 3.0))


@pytest.mark.parametrize(("make", "arguments", "told"), [
    (newmark, (0.25, -0.1), "gamma must not be negative, got -0.1"),
    (newmark, (-1e-3, 0.5), "beta must not be negative, got -0.001"),
    (newmark, (0.25, np.nan), "gamma must be finite"),
    (newmark, (np.inf, 0.5), "beta must be finite"),
    (newmark, (0.25, "half"), "gamma must be a number"),
    (hht, (0.1,), "alpha must be between -1/3 .* and 0 .*, got 0.1"),
    (hht, (-0.34,), "alpha must be between"),
    (hht, (np.nan,), "alpha must be finite"),
    (generalized_alpha, (1.1,), "rho_inf must be between 0 .* and 1 .*, got 1.1"),
    (generalized_alpha, (-0.1,), "rho_inf must be between"),
    (generalized_alpha, (np.inf,), "rho_inf must be finite"),
])
def test_bad_parameters_are_refused(make, arguments, told):
    with pytest.raises(ValueError, match=told):
        make(*arguments)
