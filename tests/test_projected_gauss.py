"""Projected Gauss methods: orders, long runs, reference values, stiff forces, failures."""

import re
from functools import cache, partial

import numpy as np
import pytest
from scipy.linalg import null_space

import mbdae
from mbdae import ProjectedGauss, Status, library
from mbdae.integrators.gauss.arrays import stages_for
from mbdae.integrators.gauss.coupled import form
from mbdae.integrators.gauss.stepper import HELD
from mbdae.integrators.gauss.tableau import LEVELS, gauss

from .helpers import GROUND, slider_crank

STAGES = (1, 2, 3, 4)
PAPER = partial(ProjectedGauss, stages_hold="position")


@cache
def reference(key, t, h):
    return solved(key, ProjectedGauss(h=h, stages=4), t)


def solved(key, method, t):
    start = after_the_transient() if key == "stiff" else {}
    return mbdae.solve(MADE[key](), method, (0.0, t), t_eval=[t], **start)


def errors(key, t, h, stages, project, finest, hold="velocity"):
    """Errors of `q`, `v`, `lam` at the end."""
    x = solved(key, ProjectedGauss(h=h, stages=stages, project=project, stages_hold=hold), t)
    exact = reference(key, t, finest)
    assert x.success and exact.success, x.message
    return [np.abs(getattr(x, name)[-1] - getattr(exact, name)[-1]).max(initial=1e-300) for name in ("q", "v", "lam")]


def slopes(key, t, steps, stages, project, finest, hold="velocity"):
    """Observed orders of `q`, `v`, `lam` between two steps."""
    coarse, fine = (np.log(errors(key, t, h, stages, project, finest, hold)) for h in steps)
    return (coarse - fine) / np.log(steps[0] / steps[1])


# --- order ---------------------------------------------------------------------------------------------------------------------


@cache
def free_body():
    """A rigid body that tumbles on a spring: no constraints, quaternions."""
    body = mbdae.RigidBody("body", 2.0, (1.0, 2.0, 3.5), velocity=(0.1, 0.0, 0.0), omega=(0.5, 2.0, -1.0), any_inertia=True)
    spring = mbdae.TSDA("spring", GROUND, "body", s_i=(0.0, 0.0, 1.0), s_j=(0.3, 0.2, 0.1), k=5.0, l0=0.5)
    return mbdae.System(mbdae.Mechanism("free", [body], forces=[spring], gravity=(0.0, 0.0, -1.0)))


@cache
def user_body():
    """The free body, without its spring, in functions of a user with a kinematic map of their own and a retraction of order two."""
    J = np.array([1.0, 2.0, 3.5])

    def force(t, q, v):
        w = v[:3]
        torque = np.array([q[1] * q[2] - q[0] * q[3], 0.3 * q[0] * q[1], 0.1 + 0.0 * q[0]])
        return torque - np.array([w[1] * J[2] * w[2] - w[2] * J[1] * w[1], w[2] * J[0] * w[0] - w[0] * J[2] * w[2],
                                  w[0] * J[1] * w[1] - w[1] * J[0] * w[0]])

    def kinematics(t, q, v):
        e0, e1, e2, e3 = q
        return 0.5 * np.array([-e1 * v[0] - e2 * v[1] - e3 * v[2], e0 * v[0] - e3 * v[1] + e2 * v[2],
                               e3 * v[0] + e0 * v[1] - e1 * v[2], -e2 * v[0] + e1 * v[1] + e0 * v[2]])

    return mbdae.System.from_functions(nq=4, nv=3, nc=0, mass=lambda t, q: np.diag(J), force=force, phi=lambda t, q: q[:0],
                                       kinematics=kinematics, q0=[1.0, 0.0, 0.0, 0.0], v0=[0.5, 1.0, -0.7])


@cache
def driven():
    """A rheonomic mechanism: a rod on a spherical joint whose end is moved along a circle, and swings about."""
    rod = mbdae.RigidBody("rod", 1.0, (0.1, 0.2, 0.25), (0.6, 0.0, -0.8), (np.cos(0.3), 0.0, np.sin(0.3), 0.0))
    joints = [mbdae.Universal("joint", GROUND, "rod", s_j=(-1.0, 0.0, 0.0), a_i=(0.0, 0.0, 1.0), a_j=(0.0, 1.0, 0.0))]
    push = mbdae.DistanceDriver("push", GROUND, "rod", lambda t: 1.5 + 0.2 * np.sin(3.0 * t), s_i=(1.5, 1.0, 0.5), s_j=(0.3, 0.0, 0.0))
    return mbdae.System(mbdae.Mechanism("driven", [rod], joints, [push], gravity=(0.0, 0.0, -9.81)))


@cache
def after_the_transient():
    """Positions and velocities of the stiff double pendulum, whose fastest eigenvalue is -1e5 1/s, when its spring has come to rest."""
    x = mbdae.solve(library.system("stiff-double-pendulum"), ProjectedGauss(h=1e-5), (0.0, 0.02), t_eval=[0.02])
    return {"q0": x.q[-1], "v0": x.v[-1]}


MADE = {"free": free_body, "user": user_body, "pendulum": lambda: library.system("particle-pendulum"), "driven": driven,
        "four-bar": lambda: library.system("spatial-four-bar"), "bricard": lambda: library.system("bricard"),
        "two bars": lambda: library.system("double-pendulum"), "stiff": lambda: library.system("stiff-double-pendulum"),
        "damped": lambda: library.system("stewart-platform", stiffness=2e4, damping=500.0),
        "friction": lambda: mbdae.System(slider_crank())}


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("key, project", [("free", ""), ("free", "PVA"), ("free", "PVAE-0"), ("user", "")])
def test_the_order_is_2s_without_constraints(key, project, stages):
    """Rotations included, and a user's kinematic map, whose retraction is of order two only."""
    steps = (0.25, 0.125) if stages < 4 else (0.4, 0.2)
    found = slopes(key, 2.0, steps, stages, project, 0.02)
    np.testing.assert_allclose(found[:2], 2.0 * stages, atol=0.2)


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("key, t, steps", [("pendulum", 1.0, (0.0125, 0.00625)), ("four-bar", 0.5, (0.005, 0.0025)),
                                           ("driven", 0.5, (0.0125, 0.00625)), ("bricard", 0.5, (0.04, 0.02))])
def test_the_order_is_s_if_the_stages_hold_positions(key, t, steps, stages):
    """In positions, velocities and multipliers, with all three levels projected."""
    found = slopes(key, t, steps, stages, "PVA", steps[1] / 16, "position")
    assert np.all(found > stages - 0.35) and np.median(found) < stages + 1.2, found


# seven mechanisms: times, and steps for one, two and three stages, fine enough for the order and coarse enough for rounding
SIX = {"two bars": (0.6, (80, 40, 20)), "driven": (0.5, (40, 30, 12)), "bricard": (0.5, (40, 16, 8)), "stiff": (0.2, (40, 24, 12)),
       "damped": (0.5, (20, 20, 10)), "friction": (0.2, (40, 30, 12)), "four-bar": (0.3, (120, 60, 30))}


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("key", SIX)
def test_the_order_is_2s_with_constraints(key, stages):
    """In space, rheonomic, redundant, stiff, damped, with friction: `q`, `v` and `lam`.

    With stiff forces errors of the velocities that are small enter `lam` times the stiffness.
    """
    t, numbers = SIX[key]
    n, seen = numbers[stages - 1], 2 if key == "stiff" else 3
    found = slopes(key, t, (t / n, t / (2 * n)), stages, "PVA", t / (8 * n))
    np.testing.assert_allclose(found[:seen], 2.0 * stages, atol=0.1)


# the same with constraints on both levels in the stages, for which forces must not depend on `lam`
FIVE = {key: SIX[key] for key in ("two bars", "driven", "bricard", "damped")} | {"four-bar": (0.3, (120, 60, 36)), "stiff": SIX["stiff"]}


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("key", FIVE)
def test_the_order_is_2s_with_both_constraints_in_the_stages(key, stages):
    """In `q`, `v` and `lam`; with stiff forces in `q` only."""
    t, numbers = FIVE[key]
    n, seen = numbers[stages - 1], 1 if key == "stiff" else 3
    found = slopes(key, t, (t / n, t / (2 * n)), stages, "PVA", t / (8 * n), "ggl")
    np.testing.assert_allclose(found[:seen], 2.0 * stages, atol=0.1)


@pytest.mark.parametrize("stages", [2, 3])
def test_the_order_is_s_if_forces_depend_on_multipliers_and_both_constraints_are_in_the_stages(stages):
    t, numbers = SIX["friction"]
    n = numbers[stages - 1]
    found = slopes("friction", t, (t / n, t / (2 * n)), stages, "PVA", t / (8 * n), "ggl")
    np.testing.assert_allclose(found, stages, atol=0.1)


@pytest.mark.parametrize("name, rtol", [("double-pendulum", 1e-6), ("bricard", 1e-6), ("spatial-four-bar", 1e-8),
                                        ("slider-crank-free", 1e-6)])
def test_step_control_with_both_constraints_in_the_stages(name, rtol):
    """With redundant constraints and from other times."""
    s, exact = library.system(name), mbdae.solve(library.system(name), mbdae.DormandPrince(), (0.0, 0.5), rtol=1e-12, atol=1e-12)
    for t0 in (0.0, -3.0):
        x = mbdae.solve(s, ProjectedGauss(h=None, stages_hold="ggl"), (t0, t0 + 0.5), rtol=rtol, atol=rtol)
        assert x.success and x.constraint_residuals.max() < 1e-11
        assert np.abs(x.q[-1] - exact.q[-1]).max() < 100.0 * rtol * (1.0 + np.abs(exact.q[-1]).max())


def test_output_between_the_steps_has_the_accuracy_of_the_steps():
    s, times = library.system("particle-pendulum"), np.array([0.0, 0.123, 0.2, 0.777, 1.0])
    coarse, fine = (mbdae.solve(s, ProjectedGauss(h=h, stages=4), (0.0, 1.0), t_eval=times) for h in (0.01, 0.001))
    np.testing.assert_array_equal(coarse.t, times)
    assert np.abs(coarse.q - fine.q).max() < 1e-8 and np.abs(coarse.lam - fine.lam).max() < 1e-6
    assert coarse.constraint_residuals.max() < 1e-13


def test_it_runs_backward_and_meets_the_end():
    s = library.system("double-spherical-pendulum")
    there = mbdae.solve(s, ProjectedGauss(h=3e-3, project="PVAE-0"), (0.0, 1.0))
    end = mbdae.State(1.0, *(getattr(there, name)[-1] for name in ("q", "v", "a", "lam")))
    back = mbdae.solve(s, ProjectedGauss(h=3e-3, project="PVAE-0"), (1.0, 0.0), state=end)
    assert there.t[-1] == 1.0 and back.t[-1] == pytest.approx(0.0, abs=1e-15) and there.statistics.steps == 334
    assert np.abs(back.q[-1] - there.q[0]).max() < 1e-4


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("key, t, steps", [("two bars", 1.0, 20), ("driven", 0.5, 20), ("bricard", 1.0, 20), ("friction", 0.2, 20),
                                           ("damped", 0.5, 10), ("four-bar", 0.3, 30)])
def test_it_is_symmetric(key, t, steps, stages):
    """The same steps backward lead to the start, to rounding; not so with constraints on positions."""
    def gap(hold):
        method = ProjectedGauss(h=t / steps, stages=stages, stages_hold=hold)
        there = mbdae.solve(MADE[key](), method, (0.0, t))
        end = mbdae.State(t, *(getattr(there, name)[-1] for name in ("q", "v", "a", "lam")))
        back = mbdae.solve(MADE[key](), method, (t, 0.0), state=end)
        assert there.success and back.success
        return max(np.abs(back.q[-1] - there.q[0]).max(), np.abs(back.v[-1] - there.v[0]).max() / (1.0 + np.abs(there.v).max()))

    assert gap("velocity") < 2e-12
    assert stages == 4 or gap("position") > 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("name, h, stages, bound, growth", [("double-pendulum", 0.01, 3, 4e-5, 4.0), ("heavy-top", 2e-3, 2, 1e-4, 1.02),
                                                            ("particle-pendulum", 0.05, 3, 1e-8, 1.02), ("bricard", 0.05, 1, 6e-3, 1.02)])
def test_the_energy_stays_bounded(name, h, stages, bound, growth):
    """Over 10 000 steps, without the projection onto the energy: its largest error does not grow, as it does for constraints on positions.

    The motion of the double pendulum is chaotic.
    """
    paper, x = (mbdae.solve(library.system(name), ProjectedGauss(h=h, stages=stages, stages_hold=hold), (0.0, 10000 * h))
                for hold in ("position", "velocity"))
    lost = np.abs(x.energy - x.energy[0])[1:].reshape(4, -1).max(axis=1)
    assert x.success and lost.max() < bound and lost[3] < growth * lost[0], lost
    assert np.abs(paper.energy - paper.energy[0]).max() > 300.0 * lost.max()


# --- long runs of the paper ------------------------------------------------------------------------------------------------------


@cache
def swings(project):
    return mbdae.solve(library.system("particle-pendulum"), PAPER(h=1e-3, stages=3, project=project), (0.0, 30.0))


def lost(x):
    return x.energy / x.energy[0] - 1.0


def test_without_projection_the_constraint_is_lost_after_a_few_seconds():
    """[Wei, figs. 2 to 5]"""
    x = swings("")
    bad = np.flatnonzero(x.constraint_residuals[:, 0] > 1e-8)
    assert 3.0 < x.t[bad[0]] < 15.0
    assert x.status == Status.NEWTON_FAILED and f"t = {x.t[-1]:.9g}" in x.message


@pytest.mark.thorough
def test_positions_and_velocities_projected_lose_energy_linearly():
    x = swings("PV")
    assert x.success and x.constraint_residuals[:, 0].max() < 1e-15 and x.constraint_residuals[:, 1].max() < 1e-14
    assert x.constraint_residuals[:, 2].max() > 1e-6
    drift = [np.abs(lost(x))[np.abs(x.t - t) < 1.0].mean() for t in (7.0, 14.0, 28.0)]
    assert drift[0] > 1e-10
    np.testing.assert_allclose(np.diff(np.log2(drift)), 1.0, atol=0.2)


@pytest.mark.thorough
def test_all_projections_keep_all_to_the_end():
    initial, before = swings("PVAE-0"), swings("PVAE-n")
    for x in (initial, before):
        assert x.success and x.t[-1] == pytest.approx(30.0)
        np.testing.assert_array_less(x.constraint_residuals.max(axis=0), (1e-15, 1e-14, 1e-13))
    assert np.abs(lost(initial)).max() < 1e-15
    assert 1e-15 < np.abs(lost(before)).max() < 1e-11  # rounding of every step remains


def listed(name, t, **given):
    return {k: v for r in library.entry(name).references if r.t == t and dict(r.parameters) == given for k, v in r.values.items()}


def deviations(name, x, k, **given):
    found = library.entry(name).observe(x.system, x.t[k], x.q[k], x.v[k], x.a[k], x.lam[k])
    return {n: abs(found[n] - value) for n, value in listed(name, float(x.t[k]), **given).items()}


def test_the_pendulum_meets_its_reference():
    assert max(deviations("particle-pendulum", swings("PVAE-0"), -1).values()) < 1e-9
    assert max(deviations("particle-pendulum", swings("PVA"), -1).values()) < 1e-6


@pytest.mark.thorough
def test_double_spherical_pendulum():
    """[Wei, figs. 8 to 11]"""
    s = library.system("double-spherical-pendulum", example="projected-rk")
    x = mbdae.solve(s, ProjectedGauss(h=1e-3, project="PVAE-0"), (0.0, 10.0))
    scale = 1.0 + np.array([1.0, np.abs(x.v).max(), np.abs(x.a).max()])
    np.testing.assert_array_less(x.constraint_residuals.max(axis=0) / scale, (1e-15, 1e-15, 1e-14))
    assert np.ptp(x.energy) < 1e-14 * abs(x.energy[0]) + 1e-13
    y = mbdae.solve(s, ProjectedGauss(h=1e-3, stages=4, project="PVAE-0"), (0.0, 5.0), t_eval=[1.0, 5.0])
    assert max(deviations("double-spherical-pendulum", y, 0, example="projected-rk").values()) < 1e-8


def energy_of_satellites(t, q, v):
    r, w = q.reshape(3, 3), v.reshape(3, 3)
    return 50.0 * (w * w).sum() - 3.986e16 * (1.0 / np.sqrt((r * r).sum(axis=1))).sum()


@pytest.mark.thorough
def test_tethered_satellites():
    """Errors relative to squared lengths, [Wei, figs. 14 to 17]: 1e-15, 1e-11, 1e-13."""
    s = library.system("tethered-satellites")
    with pytest.raises(ValueError, match="UserForce 'gravity satellite 1'"):
        mbdae.solve(s, ProjectedGauss(project="PVAE-0"), (0.0, 1.0))
    x = mbdae.solve(s, ProjectedGauss(h=1.0, project="PVAE-0", energy=energy_of_satellites), (0.0, 1000.0))
    assert x.success
    np.testing.assert_array_less(x.constraint_residuals.max(axis=0) / 1e6, (1e-11, 1e-13, 1e-16))
    energy = np.array([energy_of_satellites(0.0, q, v) for q, v in zip(x.q, x.v)])
    assert np.ptp(energy) < 4e-15 * abs(energy[0])
    found = deviations("tethered-satellites", x, -1)
    assert max(v for k, v in found.items() if k[0] in "xyz") < 1e-3 and found["lambda1"] < 1e-8


@pytest.mark.parametrize("stages", [2, 3])
def test_redundant_constraints(stages):
    s = library.system("bricard")
    x = mbdae.solve(s, ProjectedGauss(h=0.01, stages=stages, project="PVAE-0"), (0.0, 10.0))
    assert x.success and len(s.dependent) and np.ptp(x.energy) < 1e-13
    assert x.constraint_residuals.max() < 1e-13
    N = null_space(s.phi_q(0.0, x.q[-1]).toarray().T, rcond=1e-7)
    assert np.abs(N.T @ x.lam[-1]).max() < 1e-10 * np.abs(x.lam[-1]).max()


@pytest.mark.parametrize("stages", STAGES)
def test_andrews(stages):
    s = library.system("andrews")
    x = mbdae.solve(s, ProjectedGauss(h=2e-5, stages=stages), (0.0, 0.03), t_eval=[0.03])
    found = deviations("andrews", x, -1)
    angles = [v for k, v in found.items() if k in ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")] or list(found.values())
    assert max(angles) < {1: 3e1, 2: 1e-2, 3: 1e-3, 4: 1e-4}[stages]


# --- stiff forces and long steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", STAGES)
def test_stiff_forces_bring_in_the_coupled_matrix(stages):
    s = library.system("stiff-double-pendulum")
    x = mbdae.solve(s, ProjectedGauss(h=1e-2, stages=stages), (0.0, 1.0))
    assert x.success and 0 < x.statistics.jacobians < 100
    soft = mbdae.solve(library.system("double-pendulum"), ProjectedGauss(h=1e-3, stages=stages), (0.0, 0.1))
    assert soft.success and soft.statistics.jacobians == 0


@pytest.mark.parametrize("hold", LEVELS)
@pytest.mark.parametrize("make", [lambda: library.system("andrews"), lambda: library.system("double-spherical-pendulum"),
                                  lambda: library.system("stiff-double-pendulum"), lambda: mbdae.System(slider_crank())],
                         ids=["andrews", "particles", "stiff", "friction"])
def test_the_coupled_matrix_is_right(make, hold):
    """Against difference quotients of the equations of all stages, without rotations in space, where it is exact."""
    s, h, g = make(), 1e-2, gauss(2, hold)
    nv, n = s.nv, s.nv + s.nc
    rng, start = np.random.default_rng(2), s.start

    def equations(x):
        W, L = x.reshape(2, n)[:, :nv], x.reshape(2, n)[:, nv:]
        V = start.v + h * g.A @ W
        Q = start.q + h * g.A @ V
        forces = [s.mass(0.0, q) @ w + s.phi_q(0.0, q).T @ lam - s.force(0.0, q, v, lam) for q, v, w, lam in zip(Q, V, W, L)]
        end = start.q + h * g.b @ V, start.v + h * g.b @ W
        if hold == "position":
            held = [s.phi(0.0, q) / h**2 for q in Q]
        elif hold == "ggl":
            held = [s.phi_q(0.0, q) @ v / h for q, v in zip(Q, V)]
        else:
            held = [*(g.moments @ [s.phi_q(0.0, q) @ v / h for q, v in zip(Q, V)])[:-1], s.phi_q(0.0, end[0]) @ end[1] / h]
        return np.concatenate([np.append(f, p) for f, p in zip(forces, held)]), (Q, V, np.array(W), np.array(L)), end

    x = np.tile(np.append(start.a, start.lam), 2)
    x += 0.1 * np.abs(x).max() * rng.normal(size=x.size)
    stages = stages_for(s, 2, 2)
    _, all_rows, end = equations(x)
    for name, rows in zip("QVWL", all_rows):
        getattr(stages, name)[:] = rows
    assert form(0.0, h, stages, g, HELD[hold], *end, s.model, s.workspace(), s.workspace(complex)) == 0
    matrix, pivots = stages.matrix, stages.pivots
    product = (np.tril(matrix, -1) + np.eye(2 * n)) @ np.triu(matrix)
    for k in range(2 * n - 1, -1, -1):
        product[[k, pivots[k]]] = product[[pivots[k], k]]
    step = 1e-5 * (1.0 + np.abs(x).max())
    exact = np.array([(equations(x + step * e)[0] - equations(x - step * e)[0]) / (2.0 * step) for e in np.eye(2 * n)]).T
    np.testing.assert_allclose(product, exact, rtol=0.0, atol=2e-6 * np.abs(exact).max())


def test_friction_and_plain_functions():
    x = mbdae.solve(library.system("slider-crank", mu=0.2), ProjectedGauss(h=1e-3, stages=2), (0.0, 0.1))
    assert x.success and x.constraint_residuals.max() < 1e-12


# --- failures -----------------------------------------------------------------------------------------------------------------------


def test_newton_fails_with_status_and_time():
    x = mbdae.solve(library.system("slider-crank"), ProjectedGauss(h=1e-2, max_iter=2), (0.0, 1.0))
    assert x.status == Status.NEWTON_FAILED and len(x.t) == 1
    assert x.message == "Newton's method did not converge in 2 iterations (last step ended at t = 0); the solution up to there is kept"


def blowing_up(t, q, v):
    return np.array([1.0, 0.0]) if t < 0.5 else np.array([np.nan, 0.0])


def test_values_that_are_not_finite():
    s = mbdae.System.from_functions(nq=2, nc=0, mass=lambda t, q: np.eye(2), force=blowing_up, phi=lambda t, q: q[:0])
    x = mbdae.solve(s, ProjectedGauss(h=0.1), (0.0, 1.0))
    assert x.status == Status.NOT_FINITE and "not finite (last step ended at t = 0.4)" in x.message and x.t[-1] == pytest.approx(0.4)


def test_exceptions_of_user_functions_arrive_unchanged():
    def force(t, q, v):
        if t > 0.3:
            raise KeyError("broken")
        return -q

    s = mbdae.System.from_functions(nq=2, nc=0, mass=lambda t, q: np.eye(2), force=force, phi=lambda t, q: q[:0])
    with pytest.raises(KeyError, match="broken"):
        mbdae.solve(s, ProjectedGauss(h=0.1), (0.0, 1.0))


def folding():
    """Two bars in one line at t = 1: the driver pulls them straight."""
    bars = [mbdae.PlanarBody(f"bar {k}", 1.0, 1.0, position=p, angle=a) for k, p, a in ((1, (0.3, 0.4), 0.9273), (2, (0.9, 0.4), -0.9273))]
    joints = [mbdae.PlanarRevolute("pin", GROUND, "bar 1", s_j=(-0.5, 0.0)),
              mbdae.PlanarRevolute("knee", "bar 1", "bar 2", s_i=(0.5, 0.0), s_j=(-0.5, 0.0))]
    driver = mbdae.DistanceDriver("pull", GROUND, "bar 2", lambda t: 1.2 + 0.8 * t, s_j=(0.5, 0.0, 0.0))
    return mbdae.Mechanism("folding", bars, joints, [driver], gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("method", [ProjectedGauss(h=0.01), ProjectedGauss(h=0.007, stages=2, project="PV"),
                                    ProjectedGauss(h=0.01, project="")])
def test_a_singular_position_names_the_constraints(method):
    """Straight bars at t = 1, and a crank longer than its rod, whose slider cannot follow."""
    for mechanism, at, culprit in ((folding(), 1.0, "knee"), (locked(), np.arcsin(0.7) - 0.2, "S.normal")):
        x = mbdae.solve(mechanism, method, (0.0, 2.0))
        assert x.status == Status.SINGULAR and at - 2.0 * method.h < x.t[-1] <= at
        assert "the constraints lose rank near t = " in x.message and culprit in x.message and f"t = {x.t[-1]:.9g}" in x.message


def test_divergence_is_told_from_slow_convergence():
    """With the iterations that there were."""
    s = library.system("slider-crank-free")
    found = mbdae.solve(s, ProjectedGauss(h=1.0), (0.0, 1.0))
    tried = int(re.search(r"Newton's method diverged after (\d+) iterations \(last step ended at t = 0\);", found.message).group(1))
    assert found.status == Status.NEWTON_FAILED and 0 < tried < 50 and tried <= found.statistics.newton_iterations
    early = mbdae.solve(s, ProjectedGauss(h=1.0, max_iter=tried - 1), (0.0, 1.0))
    assert f"did not converge in {tried - 1} iterations" in early.message


@pytest.mark.parametrize("every, times", [(1, [0.0, 0.1, 0.2, 0.3, 0.4]), (2, [0.0, 0.2, 0.4]), (3, [0.0, 0.3, 0.4]), (100, [0.0, 0.4])])
def test_the_last_state_of_a_failed_run_is_kept(every, times):
    """Whatever `every` says; but times that are wanted are what is stored if there are any."""
    s = mbdae.System.from_functions(nq=2, nc=0, mass=lambda t, q: np.eye(2), force=blowing_up, phi=lambda t, q: q[:0])
    x, y = (mbdae.solve(s, ProjectedGauss(h=0.1), (0.0, 1.0), every=k) for k in (every, 1))
    np.testing.assert_allclose(x.t, times)
    for name in ("t", "q", "v", "a"):
        np.testing.assert_array_equal(getattr(x, name)[-1], getattr(y, name)[-1])
    at_wanted = mbdae.solve(s, ProjectedGauss(h=0.1), (0.0, 1.0), t_eval=[0.0, 0.2, 0.9])
    np.testing.assert_allclose(at_wanted.t, [0.0, 0.2])


def locked():
    """A crank of 1 m that is turned, and a rod of 0.7 m: the slider stops it at sin(angle) = 0.7."""
    crank = mbdae.PlanarBody("crank", 1.0, 0.05, (0.5 * np.cos(0.2), 0.5 * np.sin(0.2)), 0.2)
    bodies = [crank, mbdae.PlanarBody("rod", 1.0, 0.1, (1.3, 0.1), -0.3), mbdae.PlanarBody("slider", 1.0, 0.1, (1.6, 0.0), 0.0)]
    joints = [mbdae.PlanarRevolute("A", GROUND, "crank", (0.0, 0.0), (-0.5, 0.0)),
              mbdae.PlanarRevolute("B", "crank", "rod", (0.5, 0.0), (-0.35, 0.0)),
              mbdae.PlanarRevolute("C", "rod", "slider", (0.35, 0.0), (0.0, 0.0)),
              mbdae.PlanarTranslational("S", GROUND, "slider", (0.0, 0.0), (0.0, 0.0), (1.0, 0.0))]
    driver = mbdae.PlanarAngleDriver("turn", GROUND, "crank", mbdae.Polynomial((0.2, 1.0)))
    return mbdae.Mechanism("locked", bodies, joints, [driver], gravity=(0.0, -9.81, 0.0))


def test_an_energy_out_of_reach():
    """A quantity that is not conserved and at rest cannot be changed: a hanging pendulum, and a clock for its energy."""
    rod = mbdae.Rod("rod", GROUND, "mass", length=1.0)
    m = mbdae.Mechanism("hanging", [mbdae.Particle("mass", 1.0, (0.0, 0.0, -1.0))], [rod], gravity=(0.0, 0.0, -10.0))
    x = mbdae.solve(m, ProjectedGauss(h=0.1, project="PVAE-0", energy=lambda t, q, v: t + 10.0 * q[2] + 0.5 * v @ v), (0.0, 1.0))
    assert x.status == Status.PROJECTION_FAILED and len(x.t) == 1
    assert x.message.startswith("the energy projection has no solution (last step ended at t = 0);")
    still = mbdae.solve(m, ProjectedGauss(h=0.1, project="PVAE-0"), (0.0, 1.0))
    assert still.success and np.abs(still.v).max() < 1e-15


# --- arguments and counters -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, message", [
    ({"h": "1"}, "ProjectedGauss: h must be positive and finite, or None for step-size control, got '1'"),
    ({"h": True}, "h must be positive and finite, .* got True"), ({"h": np.nan}, "h must be positive"),
    ({"tol": "x"}, "tol must be positive and finite, got 'x'"),
    ({"max_iter": "5"}, "max_iter must be at least 1 and an integer, got '5'"),
    ({"max_iter": 2.5}, "max_iter must be .* an integer, got 2.5"),
    ({"max_iter": True}, "max_iter must be .* got True"), ({"project": ["PV"]}, r"project must be one of '', .* got \['PV'\]"),
    ({"norm": ["mass"]}, "norm must be 'mass' or 'identity'"), ({"stages": 2.0}, "1 to 4 stages, got 2.0"),
    ({"stages": True}, "stages, got True"),
    ({"stages": 5}, "1 to 4 stages, got 5"), ({"stages": "2"}, "1 to 4 stages, got '2'"),
    ({"energy": 3.0}, "energy must be a function of")])
def test_arguments_that_make_no_sense(given, message):
    with pytest.raises(ValueError, match=message):
        ProjectedGauss(**given)


def test_numbers_of_numpy_are_numbers():
    method = ProjectedGauss(h=np.float64(0.01), stages=np.int64(2), max_iter=np.int32(9))
    assert mbdae.solve(library.system("particle-pendulum"), method, (0.0, 0.1)).success


def test_projections_are_counted():
    """Without them each step has one factorisation and each iteration a solve for each stage, and one for the end."""
    s = library.system("double-spherical-pendulum")
    bare, pva, exact, identity = (mbdae.solve(s, ProjectedGauss(h=1e-3, project=p, norm=n), (0.0, 0.1)).statistics
                                  for p, n in (("", "mass"), ("PVA", "mass"), ("PVAE-0", "mass"), ("PVA", "identity")))
    assert bare.factorisations == 100 and bare.solves == 4 * bare.newton_iterations
    assert 200 <= pva.factorisations < exact.factorisations < 600 and identity.factorisations >= 300
    # accelerations, multipliers, and velocities where they are not at rounding; and two for the direction of the energy where it is not
    assert 4 * pva.newton_iterations + 200 <= pva.solves <= 4 * pva.newton_iterations + 400 and exact.solves > pva.solves
