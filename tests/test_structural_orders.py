"""Observed orders of the structural integrators: positions, velocities and multipliers, with constraints of every kind."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import Status

from .helpers import relative
from .state_space_cases import system
from .structural_cases import CLASSICAL, METHODS, NULL_SPACE, OSCILLATING, UNSTABLE, linear, linear_motion, orders, run

pytestmark = pytest.mark.thorough

# planar, stiff, redundant, rotations, explicit time, redundant
CASES = {"double-pendulum": 0.5, "andrews": 0.01, "spatial-four-bar": 0.25, "heavy-top": 0.05, "driven pendulum": 0.25, "bricard": 0.5}
NUMBERS, FEW = (100, 200, 400), (50, 100, 200)
FOX_GOODWIN = [name for name in METHODS if "Fox-Goodwin" in name and name not in UNSTABLE]


@pytest.mark.parametrize("method", [name for name in METHODS if name not in (OSCILLATING, *UNSTABLE)])
@pytest.mark.parametrize("name", CASES)
def test_order_two(name, method):
    """Of `q`, `v` and `lam`; of null-space methods, and on every level of the classical ones."""
    slopes, rows = orders(name, method, CASES[name], NUMBERS)
    assert slopes[:2] == pytest.approx([2.0, 2.0], abs=0.15), rows
    assert slopes[2] == pytest.approx(2.0, abs=0.3), rows


SHORTENED = {"double-pendulum": 0.4, "bricard": 0.5, "driven pendulum": 0.25}


@cache
def ends(name):
    """The motion at its begin and its end: `q`, `v`, `a`, `lam`."""
    s = run(system(name), mbdae.ProjectedGauss(SHORTENED[name] / 1000, stages=4), SHORTENED[name])
    return [[x[k] for x in (s.q, s.v, s.a, s.lam)] for k in (0, -1)]


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("share", [0.5, 0.013])
@pytest.mark.parametrize("method", [name for name in CLASSICAL if "HHT" in name or "alpha" in name])
@pytest.mark.parametrize("name", SHORTENED)
def test_order_two_behind_a_shortened_last_step(name, method, share, backward):
    """Of `q`, `v`, `a` and `lam`; bricard's redundant multipliers cannot be compared where positions drift."""
    begin, end = ends(name)[::-1] if backward else ends(name)
    span, errors, start = (SHORTENED[name], 0.0) if backward else (0.0, SHORTENED[name]), [], {"q0": begin[0], "v0": begin[1]}
    for n in NUMBERS:
        s = mbdae.solve(system(name), METHODS[method](SHORTENED[name] / (n + share)), span, **start)
        assert s.success and s.statistics.steps == n + 1
        errors.append([np.abs(x[-1] - y).max() for x, y in zip((s.q, s.v, s.a, s.lam), end)])
    slopes = np.polyfit(np.log(NUMBERS), -np.log(errors), 1)[0]
    seen = 3 if name == "bricard" and ("velocity" in method or "acceleration" in method) else 4
    assert slopes[:seen] == pytest.approx([2.0] * seen, abs=0.1), errors


@pytest.mark.parametrize("name", ["heavy-top", "driven pendulum"])
def test_multipliers_of_the_trapezoidal_rule_on_positions_do_not_converge(name):
    """Their error changes its sign with every step and keeps its size [Bustos, section 2]; that of positions does not see it."""
    slopes, rows = orders(name, OSCILLATING, CASES[name], NUMBERS)
    assert slopes[0] == pytest.approx(2.0, abs=0.15)
    assert abs(slopes[2]) < 0.2, rows


@pytest.mark.parametrize("method", UNSTABLE)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("h", [1 / 100, 1 / 400])
def test_position_constraints_with_small_beta_fail_at_every_step(name, method, h):
    """Multipliers grow like `((1/2 - beta)/beta)^n`, whatever the step [Bustos, section 4]."""
    s = mbdae.solve(system(name), METHODS[method](h * CASES[name]), (0.0, CASES[name]))
    assert s.status in (Status.NEWTON_FAILED, Status.NOT_FINITE, Status.SINGULAR), s.message
    assert 0.0 < s.t[-1] < CASES[name]
    sizes = np.abs(s.lam).max(axis=1)
    assert sizes[-1] > 10.0 * sizes[0]


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("method", FOX_GOODWIN)
def test_fox_goodwin_on_linear_problems(method, constrained):
    """Frequencies are right to order 4, velocities to order 2: `q` is of order 4 from rest, and of order 2 with initial velocities."""
    from_rest, moving = (_linear_slopes(method, constrained, v0) for v0 in ((0.0, 0.0, 0.0), (1.0, 2.0, -1.0)))
    assert from_rest == pytest.approx([4.0, 2.0], abs=0.15)
    assert moving == pytest.approx([2.0, 2.0], abs=0.15)


def _linear_slopes(method, constrained, v0):
    q, v = linear_motion(constrained, 2.0, v0=v0)
    s, rows = linear(constrained, v0=v0), []
    for n in FEW:
        end = run(s, METHODS[method](2.0 / n), 2.0)
        rows.append((np.abs(end.q[-1] - q).max(), np.abs(end.v[-1] - v).max()))
    return np.polyfit(np.log(FEW), -np.log(rows), 1)[0]


# --- no degree of freedom: nothing is integrated --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", NULL_SPACE)
def test_prescribed_motions_are_exact_in_null_space_coordinates(method):
    """Constraints say everything, so neither method nor step matters."""
    s, exact = (run(system("slider-crank"), METHODS[m](h), 0.5) for m, h in ((method, 0.01), ("null-space Fox-Goodwin", 0.001)))
    for found, expected in zip((s.q[-1], s.v[-1], s.a[-1], s.lam[-1]), (exact.q[-1], exact.v[-1], exact.a[-1], exact.lam[-1])):
        assert relative(found, expected) < 1e-9


@pytest.mark.parametrize("method", [name for name in CLASSICAL if "HHT" in name or "alpha" in name])
def test_prescribed_motions_by_the_classical_methods(method):
    """Constraints of one level hold; the others follow with order 2, multipliers too."""
    exact = run(system("slider-crank"), METHODS["null-space Fox-Goodwin"](0.001), 0.5)
    errors = []
    for n in NUMBERS:
        s = run(system("slider-crank"), METHODS[method](0.5 / n), 0.5)
        errors.append([relative(x[-1], y[-1]) for x, y in ((s.q, exact.q), (s.v, exact.v), (s.lam, exact.lam))])
    errors = np.array(errors)
    slopes = np.polyfit(np.log(NUMBERS), -np.log(errors + 1e-300), 1)[0]
    inexact = errors[-1] > 1e-10
    assert inexact[2] and slopes[inexact] == pytest.approx(2.0, abs=0.3), errors
