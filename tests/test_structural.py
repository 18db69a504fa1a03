"""One step of the null-space methods against what it stands for; constraints, output, and what every method must be able to do."""

import pickle
from functools import cache

import numpy as np
import pytest
from numba import njit
from scipy.linalg import null_space, qr

import mbdae
from mbdae import library
from mbdae.integrators.control.records import new_output
from mbdae.integrators.structural.stepper import StructuralStepper

from .forms import open_levels
from .helpers import central, double_pendulum, relative, slider_crank
from .state_space_cases import driven_pendulum, exact, system
from .structural_cases import LEVELS, METHODS, NULL_SPACE, RULES, UNSTABLE, linear, newmark, run

# --- a step against the equations of the docstring ------------------------------------------------------------------------------


def by_brute_force(s, h, beta, alpha):
    """`(q1, v1, a1)` of the equations of `NullSpaceNewmark`, by pseudo-inverses and difference quotients."""
    x, n = s.start, s.nv
    retract, rows = s.retract, np.setdiff1d(np.arange(s.nc), s.dependent)

    def open_equations(z):
        d, v, a = z[:n], z[n:2 * n], z[2 * n:]
        q = retract(x.q, d)
        G = s.phi_q(h, q).toarray()[rows]
        back = np.linalg.pinv(G)
        tangent = np.eye(n) - back @ G
        ideal_d = h * x.v + h * h * ((0.5 - beta) * x.a + beta * a)
        ideal_v = x.v + h * ((1.0 - alpha) * x.a + alpha * a)
        forces = s.mass(h, q) @ a - s.force(h, q, v, x.lam)
        return np.concatenate([tangent @ (d - ideal_d) + back @ s.phi(h, q)[rows],
                               tangent @ (v - ideal_v) + back @ (G @ v - s.nu(h, q)[rows]),
                               tangent @ forces + back @ (G @ a - s.gamma(h, q, v)[rows])])

    z = np.concatenate([h * x.v, x.v + h * x.a, x.a])
    for _ in range(6):
        z = z - np.linalg.solve(central(lambda d: open_equations(z + d), 3 * n), open_equations(z))  # noqa: B023
    assert np.abs(open_equations(z)).max() < 1e-10 * (1.0 + np.abs(x.a).max())
    return retract(x.q, z[:n]), z[n:2 * n], z[2 * n:]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "h"), [("double-pendulum", 0.02), ("spatial-four-bar", 0.01), ("driven pendulum", 0.02),
                                         ("bricard", 0.05), ("heavy-top", 2e-4)])
def test_a_step_solves_the_equations_of_the_docstring(name, h, rule):
    s = system(name)
    end = run(s, mbdae.NullSpaceNewmark(h, beta=RULES[rule][0], gamma=RULES[rule][1], tol=1e-13), h)
    for found, expected in zip((end.q[-1], end.v[-1], end.a[-1]), by_brute_force(s, h, *RULES[rule])):
        assert relative(found, expected) < 1e-9


# --- and against the formulation of the paper -----------------------------------------------------------------------------------


def coleman(H):
    """The fundamental basis `[-A^-1 B; I]`, the columns of `A` chosen by a pivoted factorisation."""
    m, n = H.shape
    order = qr(H, pivoting=True, mode="r")[1]
    N = np.zeros((n, n - m))
    N[order[:m]] = -np.linalg.solve(H[:, order[:m]], H[:, order[m:]])
    N[order[m:]] = np.eye(n - m)
    return N


def as_in_the_paper(s, h, beta, alpha, basis):
    """A step by [Bustos, eqs. (32)-(58)] with `x_p`, `X_p`, `X_p1`, `X_p2` of minimal norm, iterated until nothing changes."""
    start, n = s.start, s.nv
    x, v, a = (y.copy() for y in (start.q, start.v, start.a))
    for _ in range(40):
        H, Q, M = s.phi_q(h, x).toarray(), s.force(h, x, v, start.lam), s.mass(h, x)
        G1, G2 = s.phi(h, x), H @ v - s.nu(h, x)
        G3 = H @ a - s.gamma(h, x, v)
        Hd = central(lambda d: s.phi_q(h, x + d) @ v - s.nu(h, x + d), n)  # noqa: B023
        Hdd = central(lambda d: s.phi_q(h, x + d) @ a - s.gamma(h, x + d, v), n)  # noqa: B023
        K = -central(lambda d: s.force(h, x + d, v, start.lam), n)  # noqa: B023
        C = -central(lambda d: s.force(h, x, v + d, start.lam), n)  # noqa: B023
        N, back = basis(H), np.linalg.pinv(H)
        xp, X = back @ (H @ x - G1), -back @ Hd @ N
        vp = back @ (-G2 + H @ v + Hd @ (x - xp))
        ap = back @ (-G3 + H @ a + Hdd @ (x - xp) + 2.0 * Hd @ (v - vp))
        X1, X2 = -back @ (2.0 * Hd @ X + Hdd @ N), 2.0 * X
        project = np.linalg.pinv(N)
        y = project @ (start.q - xp)
        yd = project @ (start.v - vp - X @ y)
        ydd = project @ (start.a - ap - X1 @ y - X2 @ yd)
        # y1 = y_ + beta h^2 ydd1, yd1 = yd_ + alpha h ydd1 in the equations of motion, linearised at the present estimate
        y_, yd_ = y + h * yd + h * h * (0.5 - beta) * ydd, yd + h * (1.0 - alpha) * ydd
        b, c = beta * h * h, alpha * h
        of_a, of_v, of_x = N + b * X1 + c * X2, c * N + b * X, b * N
        a_, v_, x_ = ap + X1 @ y_ + X2 @ yd_, vp + N @ yd_ + X @ y_, xp + N @ y_
        rest = Q - M @ a_ - C @ (v_ - v) - K @ (x_ - x)
        new = np.linalg.solve(N.T @ (M @ of_a + C @ of_v + K @ of_x), N.T @ rest)
        x, v, a = x_ + of_x @ new, v_ + of_v @ new, a_ + of_a @ new
    return x, v, a


@pytest.mark.parametrize("rule", ["trapezoidal", "Fox-Goodwin"])
@pytest.mark.parametrize("name", ["driven pendulum", "double-spherical-pendulum", "n-four-bar"])
def test_a_step_is_that_of_the_paper_in_any_basis(name, rule):
    s, h = system(name), 0.02
    orthonormal, fundamental = (as_in_the_paper(s, h, *RULES[rule], basis) for basis in (null_space, coleman))
    end = run(s, mbdae.NullSpaceNewmark(h, beta=RULES[rule][0], gamma=RULES[rule][1], tol=1e-13), h)
    for found, one, other in zip((end.q[-1], end.v[-1], end.a[-1]), orthonormal, fundamental):
        assert relative(one, other) < 1e-11
        assert relative(found, one) < 1e-9


# --- constraints, bases, special cases ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["trapezoidal", "Fox-Goodwin"])
@pytest.mark.parametrize("name", library.names())
def test_constraints_hold_on_three_levels_at_every_step(name, rule):
    s, h = library.system(name), library.entry(name).step
    end = run(s, newmark(mbdae.NullSpaceNewmark, rule)(h), 15 * h)
    assert len(end.t) == 16
    for k in range(1, len(end.t)):
        levels = open_levels(s, mbdae.State(end.t[k], end.q[k], end.v[k], end.a[k], end.lam[k]))
        levels["position"] /= max(1.0, np.abs(s.phi_q(end.t[k], end.q[k]).toarray()).max())
        assert max(levels[x] for x in ("position", "velocity", "acceleration")) < 1e-10, (k, levels)


@pytest.mark.parametrize("made", [mbdae.NullSpaceNewmark, mbdae.NullSpaceGeneralizedAlpha])
def test_solutions_do_not_depend_on_the_basis(made):
    """Newton's matrix is used for the stiff springs, in one basis or the other."""
    ends = [run(system("stiff-double-pendulum"), made(1e-3, basis=basis, tol=1e-11), 0.1) for basis in ("orthonormal", "fundamental")]
    assert min(s.statistics.jacobians for s in ends) > 0
    for x, y in zip(*((s.q[-1], s.v[-1], s.a[-1], s.lam[-1]) for s in ends)):
        assert relative(x, y) < 1e-7


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", [linear(False, v0=(1.0, 2.0, -1.0), damping=0.3),
                                    mbdae.Mechanism("free top", [mbdae.RigidBody("top", 1.0, (1.0, 2.0, 2.5), omega=(1.0, 5.0, 0.1))])],
                         ids=["oscillator", "top"])
def test_without_constraints_the_methods_are_one(target, level):
    for null, classical in ((mbdae.NullSpaceNewmark, mbdae.Newmark), (mbdae.NullSpaceGeneralizedAlpha, mbdae.GeneralizedAlpha)):
        x, y = run(target, null(0.01), 0.5), run(target, classical(0.01, level=level), 0.5)
        assert max(relative(x.q, y.q), relative(x.v, y.v), relative(x.a, y.a)) < 1e-12


@pytest.mark.parametrize("method", ["null-space trapezoidal", "null-space Fox-Goodwin", "null-space HHT", "generalised-alpha position"])
def test_steps_of_an_oscillator_multiply_by_the_amplification_matrix(method):
    omega, xi, h = 3.0, 0.1, 0.05
    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -omega**2 * q - 2.0 * xi * omega * v,
                                    phi=lambda t, q: np.zeros(0, q.dtype), q0=[0.4], v0=[0.7])
    made, z = METHODS[method](h), np.array([h * h * s.start.a[0], h * 0.7, 0.4])
    end = run(s, made, 10 * h)
    for k in range(11):
        np.testing.assert_allclose([h * end.v[k, 0], end.q[k, 0]], z[1:], atol=1e-12)
        z = made.formula.amplification(omega * h, xi) @ z


# --- output ---------------------------------------------------------------------------------------------------------------------

SOME = ["null-space trapezoidal", "null-space HHT", "Newmark trapezoidal stabilised", "HHT position", "generalised-alpha velocity"]


@cache
def steps(method):
    return run(system("double-pendulum"), METHODS[method](0.01), 0.255)


@pytest.mark.parametrize("method", SOME)
def test_output(method):
    """The last step is shortened; `every` and `t_eval` show the same steps; backward in time comes back."""
    s, whole = system("double-pendulum"), steps(method)
    np.testing.assert_allclose(whole.t, [*np.arange(26) * 0.01, 0.255], atol=1e-14)
    third = run(s, METHODS[method](0.01), 0.255, every=3)
    np.testing.assert_array_equal(third.q, np.vstack([whole.q[:26:3], whole.q[-1:]]))
    times = np.array([0.0, 0.05, 0.123, 0.255])
    some = run(s, METHODS[method](0.01), 0.255, t_eval=times)
    np.testing.assert_array_equal(some.t, times)
    np.testing.assert_allclose(some.q[[0, 1, 3]], whole.q[[0, 5, -1]], atol=1e-13)
    found = exact("double-pendulum", 0.255, 2)
    back = mbdae.solve(s, METHODS[method](0.001), (0.255, 0.0), q0=found.q[-1], v0=found.v[-1])
    assert back.success and back.t[-1] == 0.0 and (np.diff(back.t) < 0.0).all()
    assert relative(back.q[-1], found.q[0]) < 1e-4 and relative(back.v[-1], found.v[0]) < 1e-4


@pytest.mark.parametrize("method", SOME)
def test_chunks_change_nothing(method):
    """Where somebody looks on after each step the steps are the same."""
    whole, told, never = steps(method), [], lambda t, q, v: t - 7.0
    never.terminal = True
    s = run(system("double-pendulum"), METHODS[method](0.01), 0.255, progress=told.append, events=[lambda t, q, v: t - 0.1234, never])
    np.testing.assert_array_equal(s.q, whole.q)
    assert told[-1] == 0.255 and len(told) == 26
    assert s.t_events[0] == pytest.approx([0.1234], abs=1e-12)


@pytest.mark.parametrize("method", SOME)
def test_events_and_dense_output(method):
    def height(t, q, v):
        return q[1] + 0.05

    height.terminal = True
    s = mbdae.solve(driven_pendulum(), METHODS[method](1e-3), (0.0, 2.0), events=height, dense_output=True)
    assert s.success and s.t[-1] < 1.0
    assert len(s.t_events[0]) == 1 and abs(height(0.0, s.q[-1], s.v[-1])) < 1e-6
    assert np.isfinite(s.sol(0.5 * s.t[-1])[0]).all()


@pytest.mark.parametrize("method", SOME)
def test_dense_output_agrees_with_given_times_in_the_first_step(method):
    """Its initial accelerations are filtered where the step does not resolve a stiff transient."""
    s, times = library.system("stiff-double-pendulum"), np.linspace(0.0, 0.0125, 14)
    given = run(s, METHODS[method](0.0025), 0.0125, t_eval=times)
    for x, y in zip(run(s, METHODS[method](0.0025), 0.0125, dense_output=True).sol(times), (given.q, given.v, given.a, given.lam)):
        assert relative(x, y) < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_labels_statistics_and_pickles(method):
    made = METHODS[method](0.01)
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.label.startswith(f"{type(made).__name__}(h=0.01")
    if method in UNSTABLE:
        return
    c = run(system("double-pendulum"), made, 0.1).statistics
    assert c.steps == 10 and c.rejected_error == c.rejected_newton == c.jacobians == c.residuals_jacobian == 0
    assert c.residuals == c.factorisations == c.solves == c.newton_iterations and 2 <= c.iterations_per_step < 12


@pytest.mark.parametrize("method", SOME)
def test_iterations_of_each_step_add_up_to_those_of_the_statistics(method):
    """They decide whether new derivatives are worth their time, so those of the steps before must not count."""
    s = system("double-pendulum")
    stepper = StructuralStepper(METHODS[method](0.02), mbdae.Index3(s), s.start, 1.0, 1e-6, 1e-6)
    stepper.begin()
    each = []
    for _ in range(4):
        stepper.loops.march(stepper.run, new_output(s.start, 3), 1, np.zeros(1, dtype=np.uint8))
        each.append(stepper.run.memory.iterations)
    assert stepper.run.clock.steps == 4 and min(each) >= 2 and sum(each) == stepper.run.counts.newton_iterations


def test_labels_name_what_is_not_the_default():
    assert mbdae.HHT().label == "HHT(adaptive)"
    assert mbdae.GeneralizedAlpha(0.1, 0.5, level="velocity").label == "GeneralizedAlpha(h=0.1, level=velocity, rho_inf=0.5)"
    assert mbdae.NullSpaceNewmark(0.1, 0.0, basis="fundamental").label == "NullSpaceNewmark(h=0.1, basis=fundamental, beta=0)"


# --- friction and user functions ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("target", "open_motion"), [(slider_crank(), 1e-8), (library.mechanism("slider-crank", mu=0.2), 1e-3)],
                         ids=["smooth", "stiff"])  # the other sticks at 1e-5 m/s, so forces feel every digit of the velocities
def test_friction(target, open_motion):
    """Forces depend on the multipliers, which the iteration settles."""
    s = mbdae.System(target)
    x = run(s, mbdae.NullSpaceNewmark(1e-3), 0.1, every=10)
    y = run(s, mbdae.NullSpaceNewmark(2.5e-4), 0.1, every=40)
    assert relative(x.q, y.q) < 1e-5 and relative(x.v, y.v) < 1e-4
    for k in range(len(x.t)):
        assert open_levels(s, mbdae.State(x.t[k], x.q[k], x.v[k], x.a[k], x.lam[k]))["motion"] < open_motion
    for level in LEVELS[1:]:
        z = run(s, mbdae.GeneralizedAlpha(2.5e-4, level=level), 0.1, every=40)
        assert relative(z.q, y.q) < 1e-5


def plainly(function):
    """As it is."""
    return function


@cache
def pendulum_of_functions(decorate):
    """A particle on a circle, as functions that `decorate` may compile."""
    functions = {"mass": lambda t, q: 2.0 * np.eye(2), "force": lambda t, q, v: np.array([0.0 * q[0], -19.62 + 0.0 * q[0]]) - 0.1 * v,
                 "phi": lambda t, q: np.array([q[0] * q[0] + q[1] * q[1] - 1.0]),
                 "phi_q": lambda t, q: np.array([[2.0 * q[0], 2.0 * q[1]]]), "nu": lambda t, q: 0.0 * q[:1],
                 "gamma": lambda t, q, v: np.array([-2.0 * (v[0] * v[0] + v[1] * v[1])])}
    return mbdae.System.from_functions(nq=2, nc=1, q0=[1.0, 0.0], **{name: decorate(f) for name, f in functions.items()})


@pytest.mark.thorough
@pytest.mark.parametrize("method", [*NULL_SPACE, "generalised-alpha position", "generalised-alpha velocity"])
def test_user_functions(method):
    """Plain and compiled ones lead to the same motion, that of a particle on a rod."""
    plain, fast = (run(pendulum_of_functions(f), METHODS[method](0.01), 0.5) for f in (plainly, njit))
    assert relative(plain.q, fast.q) < 1e-12
    angle = run(pendulum_of_functions(njit), METHODS[method](0.0025), 0.5)
    assert relative(plain.q[-1], angle.q[-1]) < 5e-4 and relative(plain.lam[-1], angle.lam[-1]) < 2e-2


@pytest.mark.parametrize("method", SOME)
def test_exceptions_of_user_functions_arrive_unchanged(method):
    class Torn(Exception):
        pass

    def force(t, q, v):
        if t > 0.1:
            raise Torn("no force")
        return -q

    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=force, phi=lambda t, q: q[:1] - 1.0, q0=[1.0, 0.5])
    with pytest.raises(Torn, match="no force"):
        mbdae.solve(s, METHODS[method](0.01), (0.0, 1.0))


def test_the_helpers_double_pendulum_keeps_its_energy():
    """The trapezoidal rule in null-space coordinates: no drift to speak of."""
    s = run(double_pendulum(), mbdae.NullSpaceNewmark(2e-3), 2.0)
    energy = np.array([s.system.energy(t, q, v) for t, q, v in zip(s.t, s.q, s.v)])
    assert np.ptp(energy) < 1e-3 * np.abs(energy).max()
