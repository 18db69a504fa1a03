"""Fixed steps of explicit methods beyond their limit of stability: the run does not end with success."""

import numpy as np
import pytest

import mbdae
from mbdae import GROUND, Status
from mbdae.integrators.linearised import ALL_EIGENVALUES, LinearisedMotion
from mbdae.integrators.rattle.composition import STABILITY, weights

H, M = 1e-2, 2.0
METHODS = {"HalfImplicit": mbdae.HalfImplicit(h=H)} | {f"Rattle:{order}": mbdae.Rattle(h=H, order=order) for order in STABILITY}
STABLE = {"HalfImplicit": 1.9, "Rattle:2": 1.9, "Rattle:4": 2.6, "Rattle:6": 2.4, "Rattle:8": 3.0}
UNSTABLE = {"HalfImplicit": 2.2, "Rattle:2": 2.2, "Rattle:4": 2.85, "Rattle:6": 2.7, "Rattle:8": 6.0}  # 8: hardly at 3.1


def block(ratio, guided=True, x0=0.1, extra=()):
    """A mass on a spring with `h omega = ratio`."""
    body = mbdae.PlanarBody("block", M, 1.0, (x0, 0.0))
    joints = [mbdae.PlanarTranslational("guide", GROUND, "block")] if guided else []
    spring = mbdae.TSDA("spring", GROUND, "block", (-2.0, 0.0, 0.0), (0.0, 0.0, 0.0), k=M * (ratio / H) ** 2, l0=2.0)
    return mbdae.System(mbdae.Mechanism("block", [body], joints, forces=[spring, *extra]))


def oscillator(order, x):
    """One composed step on `q'' = -q`, of length `x`."""
    R = np.eye(2)
    for w in weights(order) * x:
        kick, drift = np.array([[1.0, 0.0], [-0.5 * w, 1.0]]), np.array([[1.0, w], [0.0, 1.0]])
        R = kick @ drift @ kick @ R
    return np.abs(np.linalg.eigvals(R)).max()


def driving(t, r, A, v, omega, F, T):
    """Negative damping."""
    F[0, 0] = 50.0 * v[0, 0]


@pytest.mark.parametrize("order", STABILITY)
def test_limits_of_compositions(order):
    limit = STABILITY[order]
    assert max(oscillator(order, x) for x in np.linspace(0.01, limit - 0.05, 500)) < 1.0 + 1e-6
    assert max(oscillator(order, x) for x in np.linspace(limit - 0.05, limit + 0.05, 500)) > 1.01


@pytest.mark.parametrize("guided", (True, False))
@pytest.mark.parametrize("name", METHODS)
def test_beyond_the_limit(name, guided):
    ratio = UNSTABLE[name]
    run = mbdae.solve(block(ratio, guided), METHODS[name], (3.0, 4.0))
    assert run.status is Status.UNSTABLE and not run.success
    for words in ("unstable with steps of 0.01 s", f"{ratio / H:.3g}/s", "take a step below"):
        assert words in run.message
    assert len(run.t) > 50 and np.isfinite(run.q).all()


@pytest.mark.parametrize("name", METHODS)
def test_below_the_limit(name):
    run = mbdae.solve(block(STABLE[name]), METHODS[name], (0.0, 20.0))
    assert run.success and np.abs(run.q[:, 0]).max() < 0.5


def test_overflow_is_told_to_be_instability():
    run = mbdae.solve(block(3.0), mbdae.HalfImplicit(h=H), (0.0, 20.0))
    assert run.status is Status.UNSTABLE and "not finite" in run.message and run.t[-1] < 20.0 and np.isfinite(run.q).all()


def test_growth_by_the_equations_is_success():
    """An unstable equilibrium and negative damping: the velocities grow by eight orders of magnitude, and this is right."""
    pendulum = mbdae.PlanarBody("rod", 1.0, 1e-3, (0.0, 1.0))
    upright = mbdae.Mechanism("upright", [pendulum], [mbdae.PlanarRevolute("pin", GROUND, "rod", (0.0, 0.0), (0.0, -1.0))])
    run = mbdae.solve(mbdae.System(upright), mbdae.HalfImplicit(h=1e-3), (0.0, 5.0))
    assert run.success
    driven = mbdae.UserForce("drive", ["block"], driving)
    run = mbdae.solve(block(0.1, x0=1e-9, extra=[driven]), mbdae.HalfImplicit(h=1e-3), (0.0, 2.0))
    assert run.success and np.abs(run.v).max() > 1e8


def test_backwards_and_in_joint_coordinates():
    system = mbdae.System(block(2.2).mechanism, coordinates="joint")
    for span in ((0.0, 1.0), (0.0, -1.0)):
        assert mbdae.solve(system, mbdae.HalfImplicit(h=H), span).status is Status.UNSTABLE


def functions():
    """A spring in Python on a plane."""
    return mbdae.System.from_functions(nq=3, nc=1, phi=lambda t, q: q[2:] - 0.0, mass=lambda t, q: M * np.eye(3), q0=[0.1, 0.0, 0.0],
                                       force=lambda t, q, v: np.array([-M * (2.2 / H) ** 2 * q[0], -1.0, 0.0]))


def doubled():
    """The guide twice."""
    again = block(2.2).mechanism
    return mbdae.System(mbdae.Mechanism("twice", again.bodies, [*again.joints, mbdae.PlanarTranslational("again", GROUND, "block")],
                                        forces=again.forces))


@pytest.mark.parametrize("make", (functions, doubled, lambda: block(2.2, extra=[mbdae.Friction("dry", "guide", mu=1e-9)])),
                         ids=("functions", "doubled", "friction"))
def test_systems_of_all_kinds(make):
    run = mbdae.solve(make(), mbdae.HalfImplicit(h=H), (0.0, 1.0))
    assert run.status is Status.UNSTABLE and "220/s" in run.message


def test_events_and_output_at_given_times():
    """The run of the last part between events counts."""
    found = mbdae.solve(block(2.2), mbdae.HalfImplicit(h=H), (0.0, 1.0), t_eval=[0.1, 0.2], events=lambda t, q, v: t - 0.5)
    assert found.status is Status.UNSTABLE and len(found.t) == 2 and len(found.t_events[0]) == 1


def test_rates_of_large_systems():
    """More eigenvalues than are computed all at once: the largest modulus by Arnoldi's method."""
    names, left = [f"block{i}" for i in range(260)], (-2.0, 0.0, 0.0)
    springs = [mbdae.TSDA(f"spring of {x}", GROUND, x, left, (0.0, 0.0, 0.0), k=100.0 * (i + 1), l0=2.0) for i, x in enumerate(names)]
    bodies = [mbdae.PlanarBody(x, M, 1.0, (0.1, 0.0)) for x in names]
    joints = [mbdae.PlanarTranslational(f"guide of {x}", GROUND, x) for x in names]
    many = mbdae.System(mbdae.Mechanism("blocks", bodies, joints, forces=springs))
    rates = LinearisedMotion(many).rates(many.start)
    assert 2 * many.freedom > ALL_EIGENVALUES and rates.fastest == pytest.approx(np.sqrt(100.0 * 260 / M), rel=1e-9)
