"""Stiff pendulum: one angle and a bar with a pin are the same motion and the same force of the pin; stability as published."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import stiff_pendulum

pytestmark = pytest.mark.thorough

ENTRY = stiff_pendulum.ENTRY
FORMS = ("cartesian", "classical")
TIMES = [r.t for r in ENTRY.references]


@pytest.fixture(scope="module")
def systems():
    built = {c: ENTRY.build(coordinates=c) for c in FORMS}
    return {"cartesian": mbdae.System(built["cartesian"]), "classical": built["classical"]}


def outputs(system, x):
    assert x.success, x.message
    return [ENTRY.observe(system, *state) for state in zip(x.t, x.q, x.v, x.a, x.lam)]


def worst(found):
    """Largest error of the angle and of its rate; they are of the size 1e-2 and 2e-3."""
    return [max(abs(out[name] - r.values[name]) for out, r in zip(found, ENTRY.references)) for name in ("theta", "d_theta")]


def rhs(t, y, amplitude=0.1):
    return [y[1], amplitude * np.sin(0.1 * t) - 9.8 * np.sin(y[0])]


def test_scipy_alone_reaches_the_references():
    x = solve_ivp(rhs, (0.0, 100.0), [0.0, 0.0], "DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-15)
    e = worst([dict(zip(("theta", "d_theta"), y)) for y in x.y.T])
    assert e[0] < 1e-13 and e[1] < 1e-12  # 1e-14, 6e-14


@pytest.mark.parametrize("coordinates", FORMS)
@pytest.mark.parametrize(("method", "form", "rtol", "atol", "bound"), [
    (SolveIvp("DOP853"), "ode", 1e-12, 1e-14, 1e-11),  # 1e-13, 8e-13
    (Ida(), "ggl", 1e-10, 1e-12, 2e-8),  # 1e-9, 2e-9
])
def test_both_forms_reach_the_references(systems, coordinates, method, form, rtol, atol, bound):
    s = systems[coordinates]
    x = mbdae.solve(s, method, (0.0, 100.0), formulation=form, t_eval=TIMES, rtol=rtol, atol=atol)
    assert max(worst(outputs(s, x))) < bound


def test_large_torques_move_both_forms_alike():
    given, times = {"torque": 9.0}, np.linspace(0.0, 50.0, 11)
    found = []
    for s in (mbdae.System(ENTRY.build(**given)), ENTRY.build(coordinates="classical", **given)):
        x = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 50.0), t_eval=times, rtol=1e-12, atol=1e-14)
        found.append([list(out.values()) for out in outputs(s, x)])
    y = solve_ivp(rhs, (0.0, 50.0), [0.0, 0.0], "DOP853", t_eval=times, args=(9.0,), rtol=1e-13, atol=1e-15).y.T
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)
    np.testing.assert_allclose(np.array(found[1])[:, :2], y, atol=1e-11)
    assert np.abs(y[:, 0]).max() > 1.0


def test_forms_agree_at_any_state(systems, rng):
    """Accelerations, the force of the pin and the energy; the pin carries what `m a = pin - m g` asks of the point mass."""
    bar, angle = systems["cartesian"], systems["classical"]
    for theta, rate, t in rng.normal(size=(10, 3)):
        u, n = np.array([np.sin(theta), -np.cos(theta)]), np.array([np.cos(theta), np.sin(theta)])
        x = mbdae.assemble(bar, t, [*0.75 * u, theta - 0.5 * np.pi], [*0.75 * rate * n, rate])
        y = mbdae.assemble(angle, t, [theta], [rate])
        one, other = (ENTRY.observe(s, t, z.q, z.v, z.a, z.lam) for s, z in ((bar, x), (angle, y)))
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12)
        assert y.a[0] == pytest.approx(0.1 * np.sin(0.1 * t) - 9.8 * np.sin(theta), rel=1e-14)
        assert [one["pin_x"], one["pin_y"]] == pytest.approx(y.a[0] * n - rate**2 * u + [0.0, 9.8], rel=1e-12, abs=1e-12)


def test_forces_of_the_angle_are_those_of_its_energy(systems, rng):
    s = systems["classical"]
    q, v = rng.normal(size=1), rng.normal(size=1)
    slope = stiff_pendulum._energy.py_func(0.0, q + 1e-30j, v).imag / 1e-30
    assert s.force(0.0, q, v)[0] == pytest.approx(-slope, rel=1e-14)  # no torque at t = 0
    assert s.energy(0.0, q, v) - s.energy(0.0, q, 0 * v) == pytest.approx(0.5 * v[0] ** 2, rel=1e-13)


def test_central_differences_are_unstable_where_published(systems):
    """The natural frequency is 3.1304951 rad/s, so the limit of the step is 0.6388765 s."""
    s, h = systems["classical"], 1e-6
    frequency = np.sqrt((s.force(0.0, [-h], [0.0]) - s.force(0.0, [h], [0.0]))[0] / (2 * h))
    assert frequency == pytest.approx(3.1304951, abs=1e-7)
    assert 2.0 / frequency == pytest.approx(0.6388765, abs=1e-7)
    reached = []
    for step in (0.63, 0.65):
        before, now = 0.0, 0.5 * step**2 * s.force(0.0, [0.0], [0.0])[0]
        for k in range(1, 150):
            before, now = now, 2.0 * now - before + step**2 * s.force(k * step, [now], [0.0])[0]
            reached.append(abs(now))
    assert max(reached[:149]) < 0.05 < 0.5 < max(reached[149:])  # where the swings grow, the sine limits them at last


@pytest.mark.parametrize(("parameters", "message"), [
    ({"torque": -1.0}, "stiff-pendulum: torque must not be negative"),
    ({"torque": "much"}, "stiff-pendulum: torque must be a number"),
    ({"coordinates": "polar"}, "stiff-pendulum: coordinates must be 'cartesian' or 'classical'"),
])
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ENTRY.build(**parameters)
