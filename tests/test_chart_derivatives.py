"""Derivatives of the motion by independent coordinates and velocities, and by time: four ways to the same matrices."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.charts.chart import Chart
from mbdae.charts.derivative import (
    INCREMENT,
    MotionDerivatives,
    State,
    by_complex_step,
    by_time,
    differences,
    exact,
    linearise,
    throughout,
)
from mbdae.charts.motion import evaluate
from mbdae.charts.store import Factors, new_displaced, new_store
from mbdae.jacobians.complex_step import COMPLEX_STEP
from mbdae.system.codes import GOOD

from .chart_cases import PARAMETRISATIONS, ROUGH, beside, centred, every_case, fourth_order, values_at
from .helpers import GROUND, relative

pytestmark = pytest.mark.thorough

NAMES = MotionDerivatives._fields
both = pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)


def empty(chart):
    s, n = chart.system, chart.n
    return MotionDerivatives(*(np.full((n, k), np.nan) for k in (s.nv, s.nv, s.nc, n, s.nv, s.nc, n)))


def at_point(name, parametrisation):
    """A chart prepared beside its centre, and `(t, z, zd, q, v, a, lam)` there."""
    chart, x = centred(name, parametrisation)
    z, zd = beside(chart, x)
    code, q, v, a, lam, _ = values_at(chart, x.t, z, zd, x.q, x.lam)
    assert code == GOOD
    return chart, (x.t, z, zd, q, v, a, lam)


def linearised(chart, point, step=COMPLEX_STEP * 1j):
    t, _, _, q, v, a, lam = point
    other, out = chart.system.workspace(complex if np.iscomplexobj(step) else float), empty(chart)
    assert linearise(State(t, q, v, a, lam), chart.factors, other, step, 0, chart.n, out)
    return out._asdict()


def by_steps(chart, point):
    t, _, zd, q, v, a, lam = point
    s, out = chart.system, empty(chart)
    displaced = Factors(chart.n, new_store(s, chart.P, complex), s.model, s.workspace(complex))
    assert by_complex_step(State(t, q, v, a, lam), zd, chart.factors, displaced, COMPLEX_STEP * 1j, 0, chart.n, out)
    return out._asdict()


def by_differences(chart, point):
    """Of `evaluate`; it prepares the chart elsewhere."""
    t, z, zd, q, _, _, lam = point
    out = dict.fromkeys(NAMES, ())
    for e in np.eye(chart.n):
        h, k = 1e-4 * min(1.0, np.abs(q).max()), 1e-3 * (1.0 + np.abs(zd).max())
        first = differenced(lambda s, e=e: values_at(chart, t, z + s * e, zd, q, lam), h)
        second = differenced(lambda s, e=e: values_at(chart, t, z, zd + s * e, q, lam), k)
        for name, value in zip(NAMES, (*first[1:], *second[2:])):
            out[name] = (*out[name], value)
    return {name: np.array(rows) for name, rows in out.items()}


def differenced(f, h):
    """`(q, v, a, lam, zdd)` by the parameter of `f`."""
    points = {s: f(s * h) for s in (-2, -1, 1, 2)}
    assert all(p[0] == GOOD for p in points.values())
    return [fourth_order(lambda s, k=k: points[round(s)][k], 1.0) / h for k in range(1, 6)]


def accuracy(name, exact, rough=1e-5):
    return rough if name in ROUGH else exact


def compare(found, expected, tolerance):
    for name in NAMES:
        assert relative(found[name], expected[name]) < tolerance, name


@both
@every_case
def test_implicit_differentiation_agrees_with_the_complex_step(name, parametrisation):
    chart, point = at_point(name, parametrisation)
    compare(linearised(chart, point), by_steps(chart, point), accuracy(name, 1e-10))


@both
@pytest.mark.parametrize("name", ["double pendulum", "top", "rheonomic"])
def test_all_ways_that_methods_may_take_agree(name, parametrisation):
    chart, point = at_point(name, parametrisation)
    t, _, zd, q, v, a, lam = point
    expected, scratch = linearised(chart, point), new_displaced(chart.system, chart.P)
    for way, tolerance in ((exact, 1e-12), (throughout, 1e-10), (differences, 1e-4)):
        out = empty(chart)
        assert way(zd, State(t, q, v, a, lam), chart.factors, scratch, 0, chart.n, out)
        compare(out._asdict(), expected, tolerance)


@both
@every_case
def test_implicit_differentiation_agrees_with_differences(name, parametrisation):
    chart, point = at_point(name, parametrisation)
    compare(linearised(chart, point), by_differences(chart, point), accuracy(name, 1e-7))


@pytest.mark.rounding
@both
@every_case
def test_real_steps_give_derivatives_to_half_the_digits(name, parametrisation):
    chart, point = at_point(name, parametrisation)
    compare(linearised(chart, point, INCREMENT), linearised(chart, point), accuracy(name, 5e-5, 5e-4))


@both
@pytest.mark.parametrize("name", ["double pendulum", "chain", "rheonomic", "functions"])
def test_linearising_leaves_the_chart_as_it_was(name, parametrisation):
    """The factors that Newton's method goes on with are those of the point; scratch may change."""
    chart, point = at_point(name, parametrisation)
    first, again = linearised(chart, point), linearised(chart, point)
    for key in NAMES:
        np.testing.assert_array_equal(first[key], again[key])


def test_derivatives_that_are_not_finite_are_told():
    chart, (t, _, _, q, v, a, lam) = at_point("double pendulum", "partition")
    out, other = empty(chart), chart.system.workspace(complex)
    a[0] = np.nan
    assert not linearise(State(t, q, v, a, lam), chart.factors, other, COMPLEX_STEP * 1j, 0, chart.n, out)


# --- closed forms --------------------------------------------------------------------------------------------------------


def test_a_pendulum_by_its_angle():
    """`phi'' = -(m g l / J) sin(phi)`: with a bar of 1 m at the angle `phi` from below, `J = m l^2 + J_c`."""
    s = mbdae.System(mbdae.Mechanism("p", [mbdae.PlanarBody("b", 2.0, 0.5, (0.0, -1.0), -np.pi / 2)],
                                     [mbdae.PlanarRevolute("pin", GROUND, "b", s_j=(-1.0, 0.0))], gravity=(0.0, -9.81, 0.0)))
    p = mbdae.StateSpace(s)
    angle = 0.3
    y = np.array([angle - np.pi / 2, 2.0])
    assert p.rhs(0.0, y) == pytest.approx([2.0, -2.0 * 9.81 / 2.5 * np.sin(angle)], rel=1e-13)
    np.testing.assert_allclose(p.rhs_jacobian(0.0, y), [[0.0, 1.0], [-2.0 * 9.81 / 2.5 * np.cos(angle), 0.0]], atol=1e-12)


def test_a_bead_on_a_circle_by_its_abscissa():
    """`x'' = -x (v^2 + ...)`: without forces the speed is constant and `x'' = -x v^2 / l^2` with `v^2 = l^2 x'^2 / (l^2 - x^2)`."""
    s = mbdae.System(mbdae.Mechanism("p", [mbdae.Particle("b", 2.0, (0.3, -0.9, 0.0))],
                                     [mbdae.Rod("rod", GROUND, "b"), mbdae.CD("plane", GROUND, "b", (0, 0, 1))]))
    p = mbdae.StateSpace(s)
    l2 = s.start.q @ s.start.q
    x, u = s.start.q[0] + 0.05, 0.7
    y, d = np.array([x, u]), l2 - x * x
    np.testing.assert_array_equal(p.chart.P, [[1.0, 0.0, 0.0]])
    assert p.rhs(0.0, y)[1] == pytest.approx(-x * u * u / d, rel=1e-12)
    np.testing.assert_allclose(p.rhs_jacobian(0.0, y)[1], [-u * u * (d + 2.0 * x * x) / d**2, -2.0 * x * u / d], rtol=1e-11)


# --- time ----------------------------------------------------------------------------------------------------------------


def rate_by_time(chart, t, z, zd, x):
    out, zdd = np.empty(chart.n), values_at(chart, t, z, zd, x.q, x.lam)[5]
    assert by_time(evaluate, 1.0, z, zd, zdd, State(t, x.q, x.v, x.a, x.lam), chart.factors, out) == 0
    return out


@both
@pytest.mark.parametrize("name", ["rheonomic", "all elements", "functions, kinematics"])
def test_the_derivative_by_time_agrees_with_differences(name, parametrisation):
    chart, x = centred(name, parametrisation)
    z, zd = chart.coordinates(x.t, x.q, x.v)
    found = rate_by_time(chart, x.t, z, zd, x)
    expected = fourth_order(lambda h: values_at(chart, x.t + h, z, zd, x.q, x.lam)[5], 1e-3)
    assert np.abs(expected).max() > 1e-3
    assert relative(found, expected) < 1e-5


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_motions_without_time_have_no_derivative_by_it(parametrisation):
    chart, x = centred("andrews", parametrisation)
    assert not chart.system.rheonomic and library.system("car-axis").rheonomic
    z, zd = chart.coordinates(x.t, x.q, x.v)
    zdd = values_at(chart, x.t, z, zd, x.q, x.lam)[5]
    assert np.abs(rate_by_time(chart, x.t, z, zd, x)).max() < 1e-9 * np.abs(zdd).max()


def test_the_derivative_by_time_of_a_bead_on_a_driven_line():
    """`x = sin t` is driven and a spring of force `k (l - l0)` draws to the origin: `y'' = -k (1 - l0 / l) y`."""
    k, l0, t, y = 3.0, 0.4, 0.6, 0.8
    spring = mbdae.TSDA("spring", GROUND, "b", k=k, l0=l0)
    s = mbdae.System(mbdae.Mechanism("bead", [mbdae.Particle("b", 1.0, (0.0, y, 0.0))], [mbdae.CD("plane", GROUND, "b", (0, 0, 1))],
                                     [mbdae.CoordinateDriver("pull", GROUND, "b", mbdae.Harmonic(1.0, 1.0), (1, 0, 0))], forces=[spring]))
    chart, x = Chart(s, "partition"), mbdae.assemble(s, t)
    chart.centre(t, x.q)
    length = np.hypot(np.sin(t), y)
    np.testing.assert_array_equal(chart.P, [[0.0, 1.0, 0.0]])
    assert chart.state(t, np.array([y]), np.zeros(1), x.q, x.lam).a[1] == pytest.approx(-k * (1.0 - l0 / length) * y, rel=1e-12)
    exact = -k * l0 * y * np.sin(t) * np.cos(t) / length**3
    assert rate_by_time(chart, t, np.array([y]), np.zeros(1), x)[0] == pytest.approx(exact, rel=1e-7)
