"""RATTLE: orders, energy, momenta, symmetry, output within steps, refusals, failures."""

import math
from functools import cache, partial

import numba
import numpy as np
import pytest

import mbdae
from mbdae import ProjectedGauss, Rattle, Status, library
from mbdae.integrators.rattle import stepper
from mbdae.model import rotations
from tests.test_dynamics import slider_and_pendulum
from tests.test_projected_gauss import driven, user_body
from tests.test_projected_gauss import free_body as tumbling

from .helpers import GROUND, inertia, thorough_but

# --- order -----------------------------------------------------------------------------------------------------------------------


@cache
def crank():
    """A planar crank with a slider on a spring with a damper, pushed by a force in Python that depends on the velocity."""
    bodies = [mbdae.PlanarBody("crank", 1.0, 0.1, (0.25, 0.0), 0.0), mbdae.PlanarBody("slider", 2.0, 0.1, (1.2, 0.0), 0.0)]
    joints = [mbdae.PlanarRevolute("pin", GROUND, "crank", (0.0, 0.0), (-0.25, 0.0)), mbdae.PlanarTranslational("guide", GROUND, "slider"),
              mbdae.Rod("rod", "crank", "slider", s_i=(0.25, 0.0, 0.0), length=0.7)]
    spring = mbdae.TSDA("spring", GROUND, "slider", s_i=(3.0, 0.0, 0.0), k=50.0, c=4.0, l0=1.5)

    def wind(t, r, A, v, omega, F, T):
        F[0] = -0.5 * np.abs(v[0]).max() * v[0] + np.sin(4.0 * t)

    return mbdae.System(mbdae.Mechanism("crank", bodies, joints, forces=[spring, mbdae.UserForce("wind", "slider", wind)],
                                        gravity=(0.0, -9.81, 0.0)))


@cache
def tilted():
    """A body with products of inertia on a spherical joint."""
    J = inertia(np.random.default_rng(5))
    body = mbdae.RigidBody("body", 2.0, tuple(map(tuple, J)), (0.4, -0.3, 0.2), omega=(2.0, -1.0, 3.0), any_inertia=True)
    joint = mbdae.Spherical("joint", GROUND, "body", s_j=(-0.4, 0.3, -0.2))
    spring = mbdae.TSDA("spring", GROUND, "body", s_i=(1.0, 1.0, 1.0), k=20.0, c=1.0, l0=0.5)
    return mbdae.System(mbdae.Mechanism("tilted", [body], [joint], forces=[spring], gravity=(0.0, 0.0, -9.81)))


SYSTEMS = {"spatial": partial(library.system, "heavy-top"), "asymmetric": tumbling, "tilted": tilted, "rheonomic": driven,
           "redundant": partial(library.system, "bricard"), "stiff": partial(library.system, "stewart-platform", stiffness=2e4),
           "damped": partial(library.system, "stewart-platform", stiffness=2e4, damping=500.0), "friction": slider_and_pendulum,
           "functions": partial(library.system, "car-axis"), "planar": crank}
# time, and numbers of steps for each order, fine enough for the order and coarse enough for rounding
RUNS = {"spatial": (0.1, 160, 80, 40), "asymmetric": (2.0, 40, 40, 40), "tilted": (0.3, 20, 20, 10),
        "rheonomic": (0.5, 40, 20, 16), "redundant": (0.5, 20, 20, 10),
        "stiff": (0.5, 40, 40, 20), "damped": (0.5, 40, 40, 20), "friction": (0.1, 10, 10, 3), "functions": (0.5, 160, 80, 40),
        "planar": (0.3, 40, 20, 10)}


@cache
def system_of(key):
    return SYSTEMS[key]()


@cache
def exact(key):
    t, *numbers = RUNS[key]
    return mbdae.solve(system_of(key), ProjectedGauss(h=t / (4 * max(numbers)), stages=4), (0.0, t), t_eval=[t])


def errors(key, order, n):
    """Errors of positions, velocities and multipliers at the end of `n` steps."""
    t = RUNS[key][0]
    x = mbdae.solve(system_of(key), Rattle(h=t / n, order=order), (0.0, t))
    assert x.success and x.statistics.steps == n, x.message
    blocks = ("q", "v", "lam") if system_of(key).nc else ("q", "v")
    return np.array([np.abs(getattr(x, name)[-1] - getattr(exact(key), name)[-1]).max() for name in blocks])


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("key", RUNS)
def test_the_order_is_that_of_the_composition(key, order):
    """In `q`, `v` and `lam`; in space, rheonomic, redundant, stiff, damped, with friction, for functions and forces in Python."""
    n = RUNS[key][order // 2]
    coarse, fine = errors(key, order, n), errors(key, order, 2 * n)
    assert exact(key).success
    np.testing.assert_allclose(np.log2(coarse / fine), order, atol=0.1)


def test_order_eight():
    system, t = library.system("double-spherical-pendulum"), 0.5
    best = mbdae.solve(system, ProjectedGauss(h=0.005, stages=4), (0.0, t)).q[-1]
    coarse, fine = (np.abs(mbdae.solve(system, Rattle(h=t / n, order=8), (0.0, t)).q[-1] - best).max() for n in (6, 10))
    assert math.log(coarse / fine) / math.log(10 / 6) == pytest.approx(8.0, abs=0.3)


def test_accelerations_and_multipliers_satisfy_the_equations_of_motion():
    """Also with redundant constraints, whose multipliers have minimum norm, and after a last step of another length."""
    for name in ("heavy-top", "spatial-four-bar"):
        system = library.system(name)
        x = mbdae.solve(system, Rattle(h=2e-3, order=4), (0.0, 0.101))
        t, q, v, a, lam = x.t[-1], x.q[-1], x.v[-1], x.a[-1], x.lam[-1]
        G, Q = system.phi_q(t, q), system.force(t, q, v, lam)
        np.testing.assert_allclose(system.mass_times(t, q, a) + G.T @ lam, Q, rtol=0, atol=1e-12 * np.abs(G.T @ lam).max())
        np.testing.assert_allclose(G @ a, system.gamma(t, q, v), rtol=0, atol=1e-11 * np.abs(a).max())
        np.testing.assert_allclose(lam, np.linalg.pinv(G.toarray().T, rcond=1e-9) @ (G.T @ lam), rtol=0, atol=1e-10 * np.abs(lam).max())
        assert np.abs(system.phi(t, q)).max() < 1e-14 and np.abs(G @ v - system.nu(t, q)).max() < 1e-12 * np.abs(v).max()


@pytest.mark.parametrize(("key", "order", "parts"), [("spatial", 2, 1), ("spatial", 6, 1), ("planar", 2, 1), ("planar", 4, 5)])
def test_work(key, order, parts):
    """One factorisation a step, or a part of it where velocities matter."""
    x = mbdae.solve(system_of(key), Rattle(h=1e-3, order=order), (0.0, 0.01)).statistics
    assert (x.steps, x.factorisations, x.jacobians) == (10, 10 * parts + 1, 10 * parts + 1)
    inner = {2: 1, 4: 5, 6: 9}[order]
    if key == "spatial":
        assert (x.residuals, x.solves) == (x.newton_iterations + 10, x.newton_iterations + 20) and x.newton_iterations >= 20 * inner
    else:
        assert x.residuals == x.newton_iterations >= 40 * inner and 20 * parts <= x.solves - x.newton_iterations < x.newton_iterations


# --- structure -------------------------------------------------------------------------------------------------------------------

LONG = {"heavy-top": 1e-3, "double-spherical-pendulum": 1e-2, "spatial-four-bar": 2e-3}


def energy_errors(name, order, steps):
    """Largest errors of the energy, relative to the kinetic energy, in the first and in the last fifth of a run."""
    system = library.system(name)
    x = mbdae.solve(system, Rattle(h=LONG[name], order=order), (0.0, steps * LONG[name]), every=max(1, steps // 2000))
    assert x.success, x.message
    away = np.abs(x.energy - x.energy[0]) / max(0.5 * v @ system.mass_times(t, q, v) for t, q, v in zip(x.t[:200], x.q, x.v))
    fifth = len(away) // 5
    return away[:fifth].max(), away[-fifth:].max()


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("name", LONG)
def test_the_error_of_the_energy_stays_bounded(name, order):
    first, last = energy_errors(name, order, 20000)
    assert last < 3.0 * first < 0.1
    damped = mbdae.solve(library.system(name), mbdae.FullyImplicit(h=LONG[name]), (0.0, 2000 * LONG[name]))  # a method that drains it
    assert np.abs(damped.energy[-1] - damped.energy[0]) > 10.0 * first * np.abs(damped.energy[0])


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("name", ["heavy-top", "double-spherical-pendulum"])
def test_the_error_of_the_energy_stays_bounded_over_a_million_steps(name, order):
    first, last = energy_errors(name, order, 10**6)
    assert last < max(8.0 * first, 1e-11) and last < 0.1


def about_the_vertical(system, q, v):
    """The angular momentum about the vertical axis through the origin."""
    total = 0.0
    for k in range(system.nv // 6):
        r, p = q[7 * k:7 * k + 3], system.mass_times(0.0, q, v)[6 * k:6 * k + 6]
        total += (np.cross(r, p[:3]) + rotations.to_matrix(q[7 * k + 3:7 * k + 7]) @ p[3:])[2]
    return total


@pytest.mark.parametrize("order", [2, 4, 6])
def test_momenta_are_conserved(order):
    system = library.system("heavy-top")
    x = mbdae.solve(system, Rattle(h=1e-3, order=order), (0.0, 5.0), every=50)
    vertical = [about_the_vertical(system, q, v) for q, v in zip(x.q, x.v)]
    np.testing.assert_allclose(vertical, vertical[0], rtol=1e-13)
    np.testing.assert_allclose(x.v[:, 4], x.v[0, 4], rtol=1e-13)  # about the axis of the top


@pytest.mark.parametrize("order", thorough_but((2,), (2, 4, 6)))
def test_rounding_errors_of_momenta_do_not_add_up(order):
    system = library.system("heavy-top")
    x = mbdae.solve(system, Rattle(h=1e-3, order=order), (0.0, 100.0), every=1000)
    vertical = [about_the_vertical(system, q, v) for q, v in zip(x.q, x.v)]
    np.testing.assert_allclose(vertical, vertical[0], rtol=2e-14)
    np.testing.assert_allclose(x.v[:, 4], x.v[0, 4], rtol=1e-15)


@pytest.mark.parametrize("key", thorough_but(("spatial", "friction", "redundant"), RUNS))
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_the_way_back_leads_to_the_start(key, order):
    """Also with damping and friction, backward in time."""
    system, t = system_of(key), 0.2 * RUNS[key][0]
    method = Rattle(h=t / 20, order=order)
    there = mbdae.solve(system, method, (0.0, t))
    end = mbdae.State(there.t[-1], there.q[-1], there.v[-1], there.a[-1], there.lam[-1])
    back = mbdae.solve(system, method, (t, 0.0), state=end)
    assert there.success and back.success and back.t[-1] == 0.0
    np.testing.assert_allclose(back.q[-1], there.q[0], rtol=0, atol=1e-11 * np.abs(there.q).max())
    np.testing.assert_allclose(back.v[-1], there.v[0], rtol=0, atol=1e-11 * np.abs(there.v).max())


@pytest.mark.parametrize("key", ["spatial", "planar"])
def test_kicks_of_two_parts_are_one_kick_where_velocities_do_not_matter(key, monkeypatch):
    """A damper of coefficient zero that stands for one which is not leads to the same motion by the other route."""
    system, t = system_of(key), RUNS[key][0]
    assert stepper.sees_velocities(system) == (key == "planar")
    if key == "planar":
        return
    x = mbdae.solve(system, Rattle(h=t / 40, order=6), (0.0, t))
    monkeypatch.setattr(stepper, "sees_velocities", lambda system: True)
    y = mbdae.solve(system, Rattle(h=t / 40, order=6), (0.0, t))
    assert y.statistics.factorisations > 8 * x.statistics.factorisations
    for name in ("q", "v", "lam"):
        a, b = getattr(x, name), getattr(y, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(a).max())


def two_form(system, state, first, second):
    """The symplectic form of two pairs of changes `(dq, dv)`, rotations in body axes: `dp1 . dq2 - dp2 . dq1 - m . (dq1 x dq2)`."""
    (x, du), (y, dw) = first, second
    p, du, dw = (system.mass_times(0.0, state[0], z) for z in (state[1], du, dw))
    total = du @ y - dw @ x
    for at in system.quaternions["v"]:
        turn = slice(at, at + 3)
        total -= p[turn] @ np.cross(x[turn], y[turn])
    return total


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("key", ["asymmetric", "spatial", "redundant"])
def test_steps_are_symplectic(key, order):
    """Central differences of the motion after some long steps, by the initial state on the constraints."""
    system, eps, span = system_of(key), 1e-5, RUNS[key][0] / 2
    method = Rattle(h=span / 15, order=order)

    def run(method, q0, v0):
        x = mbdae.solve(system, method, (0.0, span), q0=q0, v0=v0)
        return (x.q[0], x.v[0]), (x.q[-1], x.v[-1])

    def forms(method):
        rng = np.random.default_rng(0)
        start, end = run(method, system.start.q, system.start.v)
        changes = []
        for _ in range(2):
            d, w = rng.standard_normal((2, system.nv))
            pair = [run(method, system.retract(start[0], s * eps * d), start[1] + s * eps * w) for s in (1.0, -1.0)]
            changes.append([(system.difference(a[0], b[0]) / (2 * eps), (a[1] - b[1]) / (2 * eps)) for a, b in zip(*pair)])
        return two_form(system, start, *(c[0] for c in changes)), two_form(system, end, *(c[1] for c in changes))

    before, after = forms(method)
    assert after == pytest.approx(before, rel=1e-5)
    if order == 2:
        before, after = forms(mbdae.FullyImplicit(h=span / 15, tol=1e-9))
        assert abs(after - before) > 1e-2 * abs(before)


# --- density of the steps --------------------------------------------------------------------------------------------------------

SUN = np.array([0.0, 0.0, 1.0])


@numba.njit
def pull(length, rate, t):
    return 1.0 / length**2


@cache
def comet():
    """A particle on a sphere that passes a point of it, which attracts it, at a tenth of the radius."""
    angle, speed = 2.0 * np.arcsin(0.05), np.sqrt(1.9 * (10.0 - 0.5))
    body = mbdae.Particle("comet", 1.0, (np.sin(angle), 0.0, np.cos(angle)), velocity=(0.0, speed, 0.0))
    return mbdae.System(mbdae.Mechanism("comet", [body], [mbdae.Rod("sphere", GROUND, "comet", length=1.0)],
                                        forces=[mbdae.TSDA("sun", GROUND, "comet", s_i=tuple(SUN), law=pull)]))


def close(t, q, v):
    """Steps proportional to the 3/2-th power of the distance."""
    return np.linalg.norm(q - SUN) ** -1.5


def energies(x):
    return 0.5 * (x.v**2).sum(axis=1) - 1.0 / np.linalg.norm(x.q - SUN, axis=1)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_order_with_a_density(order):
    exact = mbdae.solve(comet(), ProjectedGauss(h=1e-3, stages=4), (0.0, 2.0))
    runs = [mbdae.solve(comet(), Rattle(h=h, order=order, density=close), (0.0, 2.0)) for h in (0.06, 0.03)]
    coarse, fine = (np.abs(x.q[-1] - exact.q[-1]).max() for x in runs)
    assert all(x.success and x.t[-1] == 2.0 for x in runs)
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.3)


def test_a_density_saves_steps_and_the_energy_stays_bounded():
    equal, paced = (mbdae.solve(comet(), method, (0.0, 100.0))
                    for method in (Rattle(h=0.004, order=4), Rattle(h=0.05, order=4, density=close)))
    errors = [np.abs(energies(x) - energies(x)[0]) for x in (equal, paced)]
    assert paced.statistics.steps < 0.3 * equal.statistics.steps and errors[1].max() < 0.2 * errors[0].max()
    tenth = len(errors[1]) // 10
    assert errors[1][-tenth:].max() < 1.1 * errors[1][:tenth].max()
    lengths = np.diff(paced.t)
    assert lengths[:-1].max() > 20.0 * lengths[:-1].min()
    # each length and the next one are tied by the state between them
    between = [close(*x) for x in zip(paced.t[1:-2], paced.q[1:-2], paced.v[1:-2])]
    np.testing.assert_allclose(lengths[:-2] * lengths[1:-1], (0.05 / np.array(between)) ** 2, rtol=1e-9)


def test_runs_with_a_density_go_on_and_back():
    method = Rattle(h=0.05, order=4, density=close)
    whole, part = (mbdae.solve(comet(), method, (0.0, t)) for t in (3.0, 1.3))
    rest = mbdae.solve(comet(), method, (0.0, 3.0), resume=part)
    np.testing.assert_array_equal(rest.t, whole.t)
    np.testing.assert_array_equal(rest.q, whole.q)
    back = mbdae.solve(comet(), method, (0.0, -3.0), v0=-whole.v[0])
    np.testing.assert_allclose(back.q[-1], whole.q[-1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_densities_must_be_positive(value):
    x = mbdae.solve(comet(), Rattle(h=0.05, density=lambda t, q, v: 1.0 if t < 0.3 else value), (0.0, 1.0))
    assert x.status == Status.NOT_FINITE and f"the density of the steps is {value}" in x.message and 0.2 < x.t[-1] < 0.5
    with pytest.raises(ValueError, match="density must be callable or None"):
        Rattle(density=2.0)


def test_a_density_that_is_too_small_ends_the_run():
    x = mbdae.solve(comet(), Rattle(h=0.05, density=lambda t, q, v: 1.0 if t < 0.3 else 1e-3), (0.0, 100.0))
    assert x.status == Status.NEWTON_FAILED and "cut" not in x.message and x.t[-1] < 0.5


# --- output, refusals, failures --------------------------------------------------------------------------------------------------


def test_output_within_a_step_has_the_accuracy_of_a_step():
    system, times = library.system("heavy-top"), np.array([0.0, 0.0123, 0.02, 0.0777, 0.1])
    coarse, fine = (mbdae.solve(system, Rattle(h=h, order=6), (0.0, 0.1), t_eval=times) for h in (2e-3, 5e-4))
    np.testing.assert_array_equal(coarse.t, times)
    np.testing.assert_allclose(coarse.q, fine.q, rtol=0, atol=3e-9)
    alone = mbdae.solve(system, Rattle(h=2e-3, order=6), (0.0, 0.1))
    np.testing.assert_array_equal(coarse.q[-1], alone.q[-1])  # output does not disturb the steps
    dense = mbdae.solve(system, Rattle(h=2e-3, order=6), (0.0, 0.1), dense_output=True)
    np.testing.assert_allclose(dense.sol(times)[0], fine.q, rtol=0, atol=1e-7)


def test_events_are_found_within_a_step():
    """A pendulum that passes the vertical, with steps a tenth of the way."""
    system = library.system("particle-pendulum")

    def lowest(t, q, v):
        return v[1]

    lowest.terminal = True
    tight = mbdae.solve(system, mbdae.SolveIvp("DOP853"), (0.0, 5.0), rtol=1e-11, atol=1e-12, events=lowest)
    x = mbdae.solve(system, Rattle(h=2e-2, order=6), (0.0, 5.0), events=lowest)
    assert x.success and abs(x.t[-1] - tight.t[-1]) < 1e-8


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["flexible-slider-crank", "wheelset", "rail-carriage"])
def test_mass_matrices_that_are_not_constant_are_refused(name):
    with pytest.raises(ValueError, match=f"Rattle: the mass matrix of {name} is not constant"):
        mbdae.solve(library.system(name), Rattle(), (0.0, 0.1))


def test_a_kinematic_map_is_refused():
    with pytest.raises(ValueError, match="Rattle: user system must be in Cartesian coordinates"):
        mbdae.solve(user_body(), Rattle(), (0.0, 0.1))


def test_joint_coordinates_are_refused():
    tree = mbdae.System(library.mechanism("double-pendulum"), coordinates="joint")
    with pytest.raises(ValueError, match="Rattle: double-pendulum must be in Cartesian coordinates"):
        mbdae.solve(tree, Rattle(), (0.0, 0.1))


def test_a_mass_that_changes_later_is_not_overlooked():
    system = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.array([[1.0 + max(t.real - 0.5, 0.0)]]), check=False,
                                         force=lambda t, q, v: -q, phi=lambda t, q: q[:0], q0=[1.0], name="leaking")
    assert mbdae.solve(system, Rattle(h=1e-2), (0.0, 0.4)).success
    with pytest.raises(ValueError, match="the mass matrix of leaking is not constant"):
        mbdae.solve(system, Rattle(h=1e-2), (0.0, 1.0))


def test_a_step_that_is_too_long_fails():
    x = mbdae.solve(library.system("double-pendulum"), Rattle(h=1.0, max_iter=8), (0.0, 5.0))
    assert x.status == Status.NEWTON_FAILED and "Newton's method did not converge in 8 iterations" in x.message


def test_accelerations_of_a_given_state_do_not_matter():
    """The first step is made of them."""
    system = library.system("heavy-top")
    x, method = system.start, Rattle(h=1e-3, order=4)
    given = mbdae.State(x.t, x.q, x.v, 0.0 * x.a, 0.0 * x.lam)
    a, b = (mbdae.solve(system, method, (0.0, 0.1), state=state) for state in (x, given))
    np.testing.assert_allclose(a.v[-1], b.v[-1], rtol=0, atol=1e-10)


def test_the_exact_matrix_begins_with_the_velocities_before():
    """Steps whose iteration with the matrix of the start fails: momenta are those of the other impulses."""
    system = mbdae.System(mbdae.Mechanism("pendulum", [mbdae.Particle("bead", 2.0, (1.0, 0.0, 0.0), velocity=(0.0, 2.9, 0.4))],
                                          [mbdae.Rod("rod", GROUND, "bead", length=1.0)]))
    few = mbdae.solve(system, Rattle(h=0.2, max_iter=8), (0.0, 5.0))  # four iterations with the matrix of the start
    many = mbdae.solve(system, Rattle(h=0.2), (0.0, 5.0))
    assert few.success and few.statistics.factorisations > many.statistics.factorisations
    np.testing.assert_allclose(few.q, many.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.cross(few.q, few.v), np.cross(few.q[0], few.v[0])[None].repeat(len(few.t), 0), rtol=0, atol=1e-12)


def test_friction_that_jumps_where_sliding_ends():
    mechanism = slider_and_pendulum().mechanism
    sharp = mbdae.Mechanism("sharp", mechanism.bodies, mechanism.joints, forces=[mbdae.Friction("rub", "guide", 0.3, v_s=1e-5)],
                            gravity=mechanism.gravity)
    x = mbdae.solve(mbdae.System(sharp), Rattle(h=1e-3), (0.0, 1.0))
    assert x.status == Status.NEWTON_FAILED and 0.5 < x.t[-1] < 0.6 and np.isfinite(x.q).all()
