"""What RATTLE is made of: the motion of free bodies, the weights of its compositions, Broyden's method."""

import math

import mpmath
import numpy as np
import pytest

import mbdae
from mbdae import ProjectedGauss, Rattle
from mbdae.integrators.rattle import broyden, composition, free_body, sums
from mbdae.integrators.rattle.arrays import new_phase
from mbdae.model import rotations

from .helpers import GROUND, inertia

# --- free bodies ---------------------------------------------------------------------------------------------------------------


def one_body(J):
    """A body without forces."""
    body = mbdae.RigidBody("body", 2.0, tuple(map(tuple, J)), velocity=(1.0, -2.0, 0.5), omega=(0.9, -1.4, 2.0), any_inertia=True)
    return mbdae.System(mbdae.Mechanism("free", [body]))


def moved(system, h, n=1):
    """Positions and velocities after `n` steps of the motion of free bodies."""
    x, axes, model = system.start, free_body.principal_axes(system), system.model
    here, there = new_phase(system), new_phase(system)
    here.q[:], here.v[:] = x.q, x.v
    for _ in range(n):
        free_body.move(here, h, axes, model, there)
        here, there = there, here
    return here.q, here.v


def spin(system, q, v):
    """The angular momentum about the centre of mass, in space."""
    return rotations.to_matrix(q[3:7]) @ (system.mass(0.0, q)[3:, 3:] @ v[3:])


SYMMETRIC = {"sphere": np.diag([2.0, 2.0, 2.0]), "first": np.diag([0.3, 2.0, 2.0]), "second": np.diag([2.0, 3.5, 2.0]),
             "third": np.diag([2.0, 2.0, 0.4])}


@pytest.mark.parametrize("J", SYMMETRIC.values(), ids=SYMMETRIC)
def test_symmetric_bodies_move_exactly(J):
    """However long the step."""
    system = one_body(J)
    expected = mbdae.solve(system, ProjectedGauss(h=0.02, stages=4), (0.0, 3.0))
    q, v = moved(system, 3.0)
    np.testing.assert_allclose(rotations.to_matrix(q[3:]), rotations.to_matrix(expected.q[-1, 3:]), rtol=0, atol=2e-13)
    np.testing.assert_allclose(q[:3], expected.q[-1, :3], rtol=0, atol=1e-13)
    np.testing.assert_allclose(v, expected.v[-1], rtol=0, atol=2e-13)


def test_other_bodies_move_with_order_two_and_keep_their_momentum(rng):
    system = one_body(inertia(rng))
    exact = mbdae.solve(system, ProjectedGauss(h=0.01, stages=4), (0.0, 1.0))
    errors = []
    for n in (20, 40):
        q, v = moved(system, 1.0 / n, n)
        errors.append([np.abs(q - exact.q[-1]).max(), np.abs(v - exact.v[-1]).max()])
        np.testing.assert_allclose(spin(system, q, v), spin(system, exact.q[0], exact.v[0]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.log2(np.divide(*errors)), 2.0, atol=0.05)


def test_momentum_after_many_steps(rng):
    """Rounding errors of steps do not add up."""
    system = one_body(inertia(rng))
    q, v = moved(system, 1e-2, 100_000)
    expected = spin(system, system.start.q, system.start.v)
    np.testing.assert_allclose(spin(system, q, v), expected, rtol=0, atol=1e-14 * np.linalg.norm(expected))
    np.testing.assert_allclose(q[:3], 1000.0 * np.array([1.0, -2.0, 0.5]), rtol=1e-15)
    assert np.linalg.norm(q[3:]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("h", [1e-3, 0.3, -2.0])
def test_positions_without_rests(h, rng):
    system = one_body(inertia(rng))
    q, q1 = moved(system, h)[0], np.zeros(system.nq)
    here = new_phase(system)
    here.q[:], here.v[:] = system.start.q, system.start.v
    free_body.positions_ahead(here, h, free_body.principal_axes(system), system.model, q1)
    np.testing.assert_allclose(q1, q, rtol=0, atol=4e-16 * (1.0 + np.abs(q).max()))


@pytest.mark.parametrize("h", [1e-9, 1e-4, 0.3])
def test_the_changes_in_a_step_are_exact_to_rounding(h, rng):
    """Of the orientation and of the angular velocity, beside those with forty digits."""
    moments, omega = np.array([0.7, 0.4, 0.9]), rng.standard_normal(3)
    r, change = free_body._rotation(*omega, h, np.concatenate([moments, np.eye(3).ravel()]))
    with mpmath.workdps(40):
        exact_r, exact_change = turned(moments, omega, h)
    np.testing.assert_allclose(r, exact_r, rtol=1e-14)
    np.testing.assert_allclose(change, exact_change, rtol=1e-13)


def turned(moments, omega, h):
    """The same by the rotations of the splitting one by one, in the arithmetic of mpmath."""
    I1, I2, I3 = map(mpmath.mpf, moments)
    start = [I * mpmath.mpf(w) for I, w in zip((I1, I2, I3), omega)]
    m, r = start, [mpmath.mpf(1), 0, 0, 0]

    def turn(axis, angle):
        nonlocal m, r
        size = mpmath.sqrt(sum(x * x for x in axis))
        s = [mpmath.cos(angle / 2), *(mpmath.sin(angle / 2) * x / size for x in axis)]
        r, m = times(r, s), times(times([s[0], -s[1], -s[2], -s[3]], [0, *m]), s)[1:]

    turn((1, 0, 0), h / 2 * (1 / I1 - 1 / I2) * m[0])
    turn(m, h * mpmath.sqrt(sum(x * x for x in m)) / I2)
    turn((0, 0, 1), h * (1 / I3 - 1 / I2) * m[2])
    turn((1, 0, 0), h / 2 * (1 / I1 - 1 / I2) * m[0])
    return [float(r[0] - 1), *map(float, r[1:])], [float((x - y) / I) for x, y, I in zip(m, start, (I1, I2, I3))]


def times(p, s):
    """The product of two quaternions."""
    return [p[0] * s[0] - p[1] * s[1] - p[2] * s[2] - p[3] * s[3], p[0] * s[1] + p[1] * s[0] + p[2] * s[3] - p[3] * s[2],
            p[0] * s[2] + p[2] * s[0] + p[3] * s[1] - p[1] * s[3], p[0] * s[3] + p[3] * s[0] + p[1] * s[2] - p[2] * s[1]]


def test_sums_keep_what_rounding_leaves_out(rng):
    x, rest, parts = np.zeros(1), np.zeros(1), rng.standard_normal(1000) * 10.0 ** rng.integers(-9, 9, 1000)
    for d in parts:
        sums.add(x, rest, 0, d)
    assert float(x[0]) == pytest.approx(math.fsum(parts), rel=2e-16) and 0.0 < abs(rest[0]) < 1e-7


def test_principal_axes_pair_the_closest_moments(rng):
    for J in (np.diag([0.3, 2.0, 2.0]), np.diag([2.0, 3.5, 2.0]), inertia(rng)):
        (record,) = free_body.principal_axes(one_body(J))
        moments, axes = record[:3], record[3:].reshape(3, 3)
        np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, J, rtol=0, atol=1e-14)
        assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-14)
        gaps = [abs(1.0 / moments[i] - 1.0 / moments[j]) for i, j in ((0, 1), (1, 2), (2, 0))]
        assert gaps[0] == min(gaps)


# --- compositions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", composition.ORDERS)
def test_order_conditions_of_the_weights(order):
    """On linear equations with two matrices that do not commute, where a composition has to satisfy all of them."""
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((2, 4, 4))
    one, w = np.eye(4, dtype=np.longdouble), composition.weights(order)
    A, B = one @ (A / np.linalg.norm(A, 2)), one @ (B / np.linalg.norm(B, 2))

    def exponential(X):
        term, total = one, one
        for k in range(1, 30):
            term = term @ X / k
            total = total + term
        return total

    def error(h):
        step = one
        for x in w:
            half = exponential(0.5 * x * h * A)
            step = half @ exponential(x * h * B) @ half @ step
        return float(np.abs(step - exponential(h * (A + B))).max())

    h = {2: 0.05, 4: 0.05, 6: 0.1, 8: 0.3}[order]
    assert math.log2(error(h) / error(h / 2)) == pytest.approx(order + 1, abs=0.15)
    np.testing.assert_array_equal(w, w[::-1])
    assert w.sum() == pytest.approx(1.0, abs=1e-15)
    assert all(abs((w**k).sum()) < 1e-14 for k in range(3, order, 2))
    ends = np.cumsum(w)
    assert ends.min() > 0.0 and ends.max() < 1.0 + 1e-15  # within the step


@pytest.mark.parametrize("order", [1, 3, 10, 4.5, True, "4", None])
def test_other_orders_are_refused(order):
    with pytest.raises(ValueError, match="Rattle: order must be one of 2, 4, 6, 8"):
        Rattle(order=order)


def test_broyden_corrects_what_the_matrix_lacks(rng):
    """`F(x) = (I + K) x - b` with `K` of rank two and far from small, with a weighted inner product."""
    n, D = 6, np.diag(rng.uniform(0.5, 2.0, 6))
    U = rng.standard_normal((n, 2))
    K, b, past = 20.0 * U @ U.T, rng.standard_normal(n), broyden.new_corrections(n)
    x, sizes = np.zeros(n), []
    for k in range(12):
        z = b - x - K @ x
        image = D @ z
        sizes.append(np.abs(z).max())
        broyden.accelerated(k, z, image, past)
        np.testing.assert_allclose(image, D @ z, atol=1e-9 * np.abs(z).max())
        x += z
    assert sizes[-1] < 1e-9 * sizes[0]


@pytest.mark.parametrize(("order", "limit"), [(2, 2.0), (4, 2.72), (6, 2.53), (8, 3.09)])
def test_stability_limits(order, limit):
    """Of the step times the frequency: a harmonic oscillator, whose matrix of one step is the product of those of the parts."""
    system = mbdae.System(mbdae.Mechanism("oscillator", [mbdae.Particle("bead", 1.0, (1.5, 0.0, 0.0))],
                                          forces=[mbdae.TSDA("spring", GROUND, "bead", k=1.0)]))
    x = mbdae.solve(system, Rattle(h=0.99 * limit, order=order), (0.0, 300 * limit))
    assert np.abs(x.q).max() < 30.0

    def trace(h):
        step = np.eye(2)
        for w in composition.weights(order):
            half = np.array([[1.0, 0.0], [-0.5 * w * h, 1.0]])
            step = half @ np.array([[1.0, w * h], [0.0, 1.0]]) @ half @ step
        return abs(np.trace(step))

    assert all(trace(h) <= 2.0 + 1e-12 for h in np.linspace(0.01, limit, 500))
    assert any(trace(h) > 2.0 + 1e-6 for h in np.linspace(limit, limit + 0.02, 100))


def test_velocities_that_do_not_change_are_guessed():
    """Of a body that falls as fast as its damper lets it: a correction and one that confirms it, where forces depend on velocities."""
    body = mbdae.Particle("weight", 1.0, (0.0, 0.0, 0.0), (0.0, 0.0, -4.905))
    damper = mbdae.TSDA("damper", GROUND, "weight", (0.0, 0.0, 100.0), k=0.0, c=2.0, l0=0.0)
    x = mbdae.solve(mbdae.Mechanism("fall", [body], forces=[damper], gravity=(0.0, 0.0, -9.81)), Rattle(h=0.01), (0.0, 0.1))
    assert x.success and x.statistics.newton_iterations == 2 * x.statistics.steps == 20
    np.testing.assert_allclose(x.q[:, 2], -4.905 * x.t, rtol=1e-13)
