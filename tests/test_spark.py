"""SPARK: orders, structure, cost, output, refusals and failures."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import ProjectedGauss, Spark, Status, library
from mbdae.integrators.spark.arrays import stages_for
from mbdae.integrators.spark.coupled import form
from mbdae.integrators.spark.tableau import ORDERS, PAIRS, formula

from .helpers import slider_crank
from .test_projected_gauss import free_body, user_body
from .test_rattle import RUNS, system_of

BOTH = pytest.mark.parametrize("pair", PAIRS)
# numbers of steps for each order, fine enough for the order and coarse enough for rounding
STEPS = {"spatial": (160, 80, 40), "tilted": (20, 20, 10), "rheonomic": (40, 30, 12), "redundant": (40, 16, 8), "stiff": (80, 40, 20),
         "damped": (80, 40, 20), "friction": (20, 10, 6), "functions": (160, 80, 40), "planar": (40, 20, 10), "asymmetric": (40, 40, 20)}
TIMES = {key: RUNS[key][0] for key in STEPS} | {"friction": 0.2}


@cache
def exact(key):
    t = TIMES[key]
    return mbdae.solve(system_of(key), ProjectedGauss(h=t / (4 * max(STEPS[key])), stages=4), (0.0, t), t_eval=[t])


def errors(key, order, pair, n):
    """Errors of positions, velocities and multipliers at the end of `n` steps."""
    t = TIMES[key]
    x = mbdae.solve(system_of(key), Spark(h=t / n, order=order, pair=pair), (0.0, t))
    assert x.success and x.statistics.steps == n, x.message
    blocks = ("q", "v", "lam") if system_of(key).nc else ("q", "v")
    return np.array([np.abs(getattr(x, name)[-1] - getattr(exact(key), name)[-1]).max() for name in blocks])


@BOTH
@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("key", STEPS)
def test_the_order(key, order, pair):
    """In `q`, `v` and `lam`; in space, rheonomic, redundant, stiff, damped, with friction, for functions and forces in Python."""
    n = STEPS[key][order // 2 - 1]
    coarse, fine = errors(key, order, pair, n), errors(key, order, pair, 2 * n)
    assert exact(key).success
    np.testing.assert_allclose(np.log2(coarse / fine), order, atol=0.1)


@BOTH
def test_order_eight(pair):
    system, t = library.system("double-spherical-pendulum"), 0.5
    best = mbdae.solve(system, ProjectedGauss(h=0.005, stages=4), (0.0, t))
    runs = [mbdae.solve(system, Spark(h=t / n, order=8, pair=pair), (0.0, t)) for n in (6, 10)]
    coarse, fine = ([np.abs(getattr(x, name)[-1] - getattr(best, name)[-1]).max() for name in ("q", "v", "lam")] for x in runs)
    np.testing.assert_allclose(np.log(np.array(coarse) / fine) / np.log(10 / 6), 8.0, atol=0.3)


@BOTH
@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize("make", [free_body, user_body])
def test_kinematic_maps_without_constraints(make, order, pair):
    """Also a user's, whose retraction is of order two only."""
    best = mbdae.solve(make(), ProjectedGauss(h=0.02, stages=4), (0.0, 2.0))
    h = 0.2 if order == 8 else 0.1
    runs = [mbdae.solve(make(), Spark(h=x, order=order, pair=pair), (0.0, 2.0)) for x in (h, h / 2)]
    coarse, fine = (max(np.abs(x.q[-1] - best.q[-1]).max(), np.abs(x.v[-1] - best.v[-1]).max()) for x in runs)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.25)


@BOTH
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("key", ["spatial", "rheonomic", "redundant", "friction", "planar"])
def test_constraints_hold_and_the_way_back_leads_to_the_start(key, order, pair):
    """Also with damping and friction, backward in time, to rounding."""
    system, t = system_of(key), TIMES[key]
    method = Spark(h=t / 20, order=order, pair=pair)
    there = mbdae.solve(system, method, (0.0, t))
    end = mbdae.State(there.t[-1], there.q[-1], there.v[-1], there.a[-1], there.lam[-1])
    back = mbdae.solve(system, method, (t, 0.0), state=end)
    assert there.success and back.success and back.t[-1] == 0.0
    size = 1.0 + np.abs(there.v).max()
    assert np.abs(back.q[-1] - there.q[0]).max() < 2e-12 and np.abs(back.v[-1] - there.v[0]).max() < 2e-12 * size
    assert there.constraint_residuals[:, 0].max() < 5e-15 and there.constraint_residuals[:, 1].max() < 5e-15 * size


@BOTH
@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_error_of_the_energy_stays_bounded(order, pair):
    """The double spherical pendulum, whose motion is chaotic."""
    system, h, steps = library.system("double-spherical-pendulum"), 1e-2, 20000
    x = mbdae.solve(system, Spark(h=h, order=order, pair=pair), (0.0, steps * h), every=10)
    away = np.abs(x.energy - x.energy[0])
    fifth = len(away) // 5
    assert x.success and away[-fifth:].max() < 2.0 * away[:fifth].max() < {2: 0.3, 4: 2e-4, 6: 2e-6}[order]


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_error_of_the_energy_stays_bounded_over_1e5_steps(order, pair):
    x = mbdae.solve(library.system("double-spherical-pendulum"), Spark(h=1e-2, order=order, pair=pair), (0.0, 1000.0), every=20)
    away = np.abs(x.energy - x.energy[0])
    fifth = len(away) // 5
    assert x.success and away[-fifth:].max() < 2.0 * away[:fifth].max()


def test_order_two_of_lobatto_is_rattle():
    """For forces of positions and particles."""
    system = library.system("particle-pendulum")
    x, y = (mbdae.solve(system, method, (0.0, 1.0)) for method in (Spark(h=1e-2, order=2, pair="lobatto"), mbdae.Rattle(h=1e-2)))
    np.testing.assert_allclose(x.q, y.q, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(x.v, y.v, rtol=0.0, atol=1e-12)


def two_form(system, first, second):
    """`dp1 . dq2 - dp2 . dq1` of two pairs of changes `(dq, dv)`."""
    (x, du), (y, dw) = first, second
    return system.mass_times(0.0, x, du) @ y - system.mass_times(0.0, x, dw) @ x


@BOTH
@pytest.mark.parametrize("order", [2, 4])
def test_steps_are_symplectic(order, pair):
    """Two particles on rods; central differences of the motion by the initial state on the constraints."""
    bodies = [mbdae.Particle("a", 1.0, (1.0, 0.0, 0.0), velocity=(0.0, 1.0, 0.5)),
              mbdae.Particle("b", 2.0, (1.0, 1.0, 0.0), velocity=(0.5, 1.0, -1.0))]
    joints = [mbdae.Rod("first", mbdae.GROUND, "a", length=1.0), mbdae.Rod("second", "a", "b", length=1.0)]
    system = mbdae.System(mbdae.Mechanism("two", bodies, joints, gravity=(0.0, 0.0, -9.81)))
    method, eps, rng, changes = Spark(h=0.1, order=order, pair=pair), 1e-5, np.random.default_rng(0), []

    def ends(q0, v0):
        x = mbdae.solve(system, method, (0.0, 0.5), q0=q0, v0=v0)
        return x.q[[0, -1]], x.v[[0, -1]]

    for _ in range(2):
        d, w = rng.standard_normal((2, system.nv))
        more, less = (ends(system.start.q + s * d, system.start.v + s * w) for s in (eps, -eps))
        changes.append([((more[0] - less[0])[k] / (2 * eps), (more[1] - less[1])[k] / (2 * eps)) for k in (0, 1)])
    before, after = (two_form(system, changes[0][k], changes[1][k]) for k in (0, 1))
    assert after == pytest.approx(before, rel=1e-6)


# --- matrices and cost -----------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("make", [lambda: library.system("andrews"), lambda: library.system("double-spherical-pendulum"),
                                  lambda: library.system("stiff-double-pendulum"), lambda: mbdae.System(slider_crank())],
                         ids=["andrews", "particles", "stiff", "friction"])
def test_the_coupled_matrix_is_right(make, pair):
    """Against difference quotients of the equations of all stages, without rotations in space, where it is exact."""
    s, h, f = make(), 1e-2, formula(4, pair)
    n, m, nv, nc, start, rng = len(f.c), len(f.e), s.nv, s.nc, s.start, np.random.default_rng(2)
    sizes = np.cumsum([n * nv, m * nv])

    def equations(x):
        W, U, L = (part.reshape(k, -1) for part, k in zip(np.split(x, sizes), (n, m, m)))
        V = start.v + h * (f.U @ W + f.R @ U)
        Q, X, F, v = start.q + h * f.A @ V, start.q + h * f.P @ V, f.E @ L, start.v + h * (f.b @ W + f.d @ U)
        motion = [s.mass(0.0, a) @ w - s.force(0.0, a, b, lam) for a, b, w, lam in zip(Q, V, W, F)]
        reaction = [s.mass(0.0, a) @ u + s.phi_q(0.0, a).T @ lam for a, u, lam in zip(X, U, L)]
        held = [s.phi(0.0, a) / h**2 for a in X[1:]] + [s.phi_q(0.0, X[-1]) @ v / h]
        return np.concatenate(motion + reaction + held), {"Q": Q, "V": V, "W": W, "F": F, "X": X, "U": U, "L": L, "v": v}

    x = np.concatenate([np.tile(start.a, n + m), np.tile(start.lam, m)])
    x += 0.1 * np.abs(x).max() * rng.normal(size=x.size)
    stages = stages_for(s, f)
    for name, rows in equations(x)[1].items():
        getattr(stages, name)[:] = rows
    assert x.size == (n + m) * nv + m * nc and form(0.0, h, stages, f, s.model, s.workspace(), s.workspace(complex)) == 0
    matrix, pivots = stages.matrix, stages.pivots
    product = (np.tril(matrix, -1) + np.eye(x.size)) @ np.triu(matrix)
    for k in range(x.size - 1, -1, -1):
        product[[k, pivots[k]]] = product[[pivots[k], k]]
    step = 1e-5 * (1.0 + np.abs(x).max())
    exact = np.array([(equations(x + step * e)[0] - equations(x - step * e)[0]) / (2.0 * step) for e in np.eye(x.size)]).T
    np.testing.assert_allclose(product, exact, rtol=0.0, atol=2e-6 * np.abs(exact).max())


def test_stiff_forces_need_the_coupled_matrix():
    """A spring and damper with an eigenvalue of -1e5 1/s."""
    system = library.system("stiff-double-pendulum")
    x = mbdae.solve(system, Spark(h=2e-3, order=4), (0.0, 0.2))
    y = mbdae.solve(system, ProjectedGauss(h=2e-3, stages=3), (0.0, 0.2))
    assert x.success and x.statistics.jacobians > 0 and np.abs(x.q[-1] - y.q[-1]).max() < 1e-4


@pytest.mark.parametrize(("pair", "motion"), [("gauss-lobatto", 3), ("lobatto", 4)])
def test_work(pair, motion):
    """One factorisation for the stages and one or two for the projection; no coupled matrix."""
    x = mbdae.solve(library.system("chain", links=8), Spark(h=1e-3, order=6, pair=pair), (0.0, 0.02)).statistics
    assert x.steps == 20 and x.jacobians == 0 and x.factorisations <= 3 * x.steps
    assert x.residuals == motion * x.newton_iterations and x.newton_iterations < 6 * x.steps


def test_accelerations_and_multipliers_satisfy_the_equations_of_motion():
    """Also with redundant constraints, whose multipliers have minimum norm, and after a last step of another length."""
    system = library.system("spatial-four-bar")
    x = mbdae.solve(system, Spark(h=2e-3, order=4), (0.0, 0.101))
    t, q, v, a, lam = x.t[-1], x.q[-1], x.v[-1], x.a[-1], x.lam[-1]
    G, Q = system.phi_q(t, q), system.force(t, q, v, lam)
    np.testing.assert_allclose(system.mass_times(t, q, a) + G.T @ lam, Q, rtol=0, atol=1e-12 * np.abs(G.T @ lam).max())
    np.testing.assert_allclose(G @ a, system.gamma(t, q, v), rtol=0, atol=1e-11 * np.abs(a).max())
    np.testing.assert_allclose(lam, np.linalg.pinv(G.toarray().T, rcond=1e-9) @ (G.T @ lam), rtol=0, atol=1e-10 * np.abs(lam).max())


@BOTH
def test_mass_matrices_that_depend_on_the_position(pair):
    """Joint coordinates, and a flexible body; their motion is that of Cartesian coordinates."""
    mechanism = library.mechanism("spatial-four-bar")
    tree, cartesian = mbdae.System(mechanism, coordinates="joint"), mbdae.System(mechanism)
    x, y = (mbdae.solve(s, Spark(h=2e-3, order=6, pair=pair), (0.0, 0.3)) for s in (tree, cartesian))
    assert x.success and y.success and np.abs(x.energy[-1] - y.energy[-1]) < 1e-7 * (1.0 + np.abs(y.energy).max())


# --- output, failures ------------------------------------------------------------------------------------------------------------


@BOTH
def test_output_between_the_steps_has_the_accuracy_of_the_steps(pair):
    system, times = library.system("heavy-top"), np.array([0.0, 0.0123, 0.02, 0.0777, 0.1])
    coarse, fine = (mbdae.solve(system, Spark(h=h, order=6, pair=pair), (0.0, 0.1), t_eval=times) for h in (2e-3, 5e-4))
    np.testing.assert_array_equal(coarse.t, times)
    np.testing.assert_allclose(coarse.q, fine.q, rtol=0, atol=1e-7)
    alone = mbdae.solve(system, Spark(h=2e-3, order=6, pair=pair), (0.0, 0.1))
    np.testing.assert_array_equal(coarse.q[-1], alone.q[-1])  # output does not disturb the steps


@BOTH
def test_forces_that_are_not_finite(pair):
    def force(t, q, v):
        return np.array([np.nan if t > 0.5 else 0.0, -9.81])

    system = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=force, phi=lambda t, q: np.array([q @ q - 1.0]) / 2,
                                         q0=[1.0, 0.0])
    x = mbdae.solve(system, Spark(h=1e-2, order=4, pair=pair), (0.0, 1.0))
    assert x.status == Status.NOT_FINITE and 0.4 < x.t[-1] <= 0.51 and "force" in x.message and np.isfinite(x.q).all()


@BOTH
def test_exceptions_reach_the_caller(pair):
    def force(t, q, v):
        if t > 0.5:
            raise KeyError("missing")
        return np.array([0.0, -9.81])

    system = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=force, phi=lambda t, q: np.array([q @ q - 1.0]) / 2,
                                         q0=[1.0, 0.0])
    with pytest.raises(KeyError, match="missing"):
        mbdae.solve(system, Spark(h=1e-2, order=4, pair=pair), (0.0, 1.0))


@BOTH
def test_a_step_that_is_too_long_fails(pair):
    x = mbdae.solve(library.system("double-pendulum"), Spark(h=1.0, max_iter=8, pair=pair), (0.0, 5.0))
    assert not x.success and x.status == Status.NEWTON_FAILED and "Newton's method" in x.message


def test_parameters_and_labels():
    assert Spark(h=1e-3).label == "Spark(6, h=0.001)" and Spark(h=0.1, order=4, pair="lobatto").label == "Spark(4, h=0.1, lobatto)"
    for wrong, what in (({"order": 5}, "order must be one of"), ({"pair": "gauss"}, "pair must be one of"),
                        ({"h": -1.0}, "h must be positive"), ({"max_iter": 0}, "max_iter")):
        with pytest.raises(ValueError, match=f"Spark: {what}"):
            Spark(**wrong)
    assert mbdae.registry.find("Spark:4:lobatto").make(h=0.1) == Spark(h=0.1, order=4, pair="lobatto")
