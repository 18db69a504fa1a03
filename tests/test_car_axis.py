"""The car axis as bodies and in the coordinates of the test set: its equations, and routes to the same motion."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import car_axis
from mbdae.library import car_axis_classical as classical

pytestmark = pytest.mark.thorough

ENTRY = car_axis.ENTRY
POSITIONS, RATES, MULTIPLIERS = ("xl", "yl", "xr", "yr"), ("d_xl", "d_yl", "d_xr", "d_yr"), ("l1", "l2")
EXACT = {r.t: np.array(list(r.values.values())) for r in ENTRY.references if r.kind == "recomputed"}
BOTH = ("cartesian", "classical")


def system(coordinates):
    built = ENTRY.build(coordinates)
    return built if isinstance(built, mbdae.System) else mbdae.System(built)


def outputs(s, *state):
    """Positions, rates, multipliers in the order of the test set."""
    out = ENTRY.observe(s, *state)
    return np.array([out[name] for name in POSITIONS + RATES + MULTIPLIERS])


def along(f, x, d):
    """Derivative of `f` at `x` along `d`, by the complex step."""
    return np.asarray(f(x + 1e-30j * d)).imag / 1e-30


def slope(f, t, h=1e-3):
    """Derivative by time, differences of sixth order."""
    d = [np.asarray(f(t + k * h)) - np.asarray(f(t - k * h)) for k in (1, 2, 3)]
    return (45 * d[0] - 9 * d[1] + d[2]) / (60 * h)


def random_state(rng):
    return rng.uniform(0, 3), np.array([0.0, 0.5, 1.0, 0.5]) + 0.2 * rng.normal(size=4), rng.normal(size=4)


# --- the equations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", BOTH)
def test_the_start_is_that_of_the_test_set(coordinates):
    s = system(coordinates)
    q, v = s.initial_guess()
    x = mbdae.assemble(s)
    assert not s.phi(0.0, q).any() and not (s.phi_q(0.0, q) @ v - s.nu(0.0, q)).any()
    np.testing.assert_array_equal(outputs(s, 0.0, x.q, x.v, x.a, x.lam), [0, 0.5, 1, 0.5, -0.5, 0, -0.5, 0, 0, 0])
    assert s.dof == 2 and x.redundant == ()


def test_derivatives_of_the_constraints(rng):
    t, q, v = random_state(rng)
    columns = [along(lambda x: classical.phi(t, x), q, d) for d in np.eye(4)]
    np.testing.assert_allclose(classical.phi_q(t, q), np.array(columns).T, atol=1e-15)
    np.testing.assert_allclose(classical.nu(t, q), -slope(lambda s: classical.phi(s, q), t), atol=1e-11)

    def rate(s):
        return classical.phi_q(s, q + (s - t) * v) @ v - classical.nu(s, q + (s - t) * v)

    np.testing.assert_allclose(classical.gamma(t, q, v), -slope(rate, t), atol=1e-9)


def test_forces_are_the_slope_of_the_potential(rng):
    t, q, v = random_state(rng)
    slopes = [along(lambda x: classical.energy(t, x, 0 * v), q, d) for d in np.eye(4)]
    np.testing.assert_allclose(classical.force(t, q, v), np.negative(slopes), atol=1e-15)


def test_the_wheel_and_its_derivatives():
    for t in (0.0, 0.3, 1.7):
        x, y, *more = classical.wheel(t)
        height = 0.1 * np.sin(10.0 * t)
        np.testing.assert_allclose([x, y], [np.sqrt(1.0 - height**2), height], rtol=1e-15)
        np.testing.assert_allclose(more[:2], slope(lambda s: classical.wheel(s)[:2], t), atol=1e-11)
        np.testing.assert_allclose(more[2:], slope(lambda s: classical.wheel(s)[2:4], t), atol=1e-10)


@pytest.mark.parametrize("t", [0.1, 1.4])
def test_both_coordinates_describe_the_same_mechanism(t, rng):
    """Accelerations and multipliers agree at a random consistent state."""
    first, second = system("classical"), system("cartesian")
    _, q, v = random_state(rng)
    x = mbdae.assemble(first, t, q, v)
    angle, omega = classical.angle(t), classical.d_angle(t)
    y = mbdae.assemble(second, t, [0, 0, angle, *x.q[:2], 0, *x.q[2:], 0], [0, 0, omega, *x.v[:2], 0, *x.v[2:], 0])
    np.testing.assert_allclose(outputs(second, t, y.q, y.v, y.a, y.lam), outputs(first, t, x.q, x.v, x.a, x.lam), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(y.a[[3, 4, 6, 7]], x.a, rtol=1e-11, atol=1e-11 * np.abs(x.a).max())
    assert y.a[2] == pytest.approx(classical.dd_angle(t), rel=1e-13)


def test_other_coordinates_are_refused():
    with pytest.raises(ValueError, match="car-axis: coordinates must be 'cartesian' or 'classical', got 'polar'"):
        ENTRY.build("polar")


# --- the motion ----------------------------------------------------------------------------------------------------------

# method, form, rtol, atol; bounds of the absolute errors of positions, rates, multipliers at t = 1, 2, 3. Found at worst: DOP853 1e-13,
# 5e-12, 3e-15 in both coordinates; IDA 4e-10, 1e-8, 1.3e-11.
ROUTES = {
    "DOP853": (SolveIvp("DOP853"), "ode", 1e-13, 1e-14, (1e-12, 5e-11, 3e-14)),
    "IDA, GGL": (Ida(), "ggl", 1e-11, 1e-13, (3e-9, 1e-7, 1e-10)),
    "IDA, Gear": (Ida(), "gear", 1e-11, 1e-13, (3e-9, 1e-7, 1e-10)),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("coordinates", BOTH)
def test_every_route_leads_to_the_reference(coordinates, route):
    method, form, rtol, atol, bounds = ROUTES[route]
    s = system(coordinates)
    x = mbdae.solve(s, method, (0.0, 3.0), formulation=form, t_eval=list(EXACT), rtol=rtol, atol=atol)
    assert x.success, x.message
    for t, *state in zip(x.t, x.q, x.v, x.a, x.lam):
        error = np.abs(outputs(s, t, *state) - EXACT[t])
        for part, bound in zip(np.split(error, [4, 8]), bounds):
            assert part.max() < bound


def test_the_published_solutions_have_the_digits_that_are_stated():
    """To one digit more they would be wrong."""
    exact = dict(zip(POSITIONS + RATES + MULTIPLIERS, EXACT[3.0]))
    published = [r for r in ENTRY.references if r.kind == "published"]
    assert len(published) == 6
    for r in published:
        worst = max(abs(x / exact[name] - 1.0) for name, x in r.values.items())
        assert 10.0 ** -(r.digits + 1.0) < worst < 10.0**-r.digits


def test_the_road_pays_for_the_energy():
    """`E' = lam . Phi_t + V_t`: power of the wheel on the guide and on the spring."""
    s = system("classical")
    x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 3.0), t_eval=np.linspace(0.9, 1.1, 201), rtol=1e-12, atol=1e-14)
    k = 100
    t, q, v, lam = x.t[k], x.q[k], x.v[k], x.lam[k]
    power = -lam @ s.nu(t, q) + slope(lambda u: classical.energy(u, q, v), t)
    h = x.t[1] - x.t[0]
    d = [x.energy[k + n] - x.energy[k - n] for n in (1, 2, 3)]
    assert (45 * d[0] - 9 * d[1] + d[2]) / (60 * h) == pytest.approx(power, rel=1e-8)
    assert abs(power) > 1e-3
