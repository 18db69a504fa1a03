"""The descriptor form with its own sparse matrix: the factorisation, the matrix, and runs beside those with the reduced one."""

import re

import numpy as np
import pytest
from scipy.sparse import csc_array, random_array
from scipy.sparse.linalg import splu

import mbdae
from mbdae import library
from mbdae.integrators.control.driver import Driver
from mbdae.integrators.state_space import augmented
from mbdae.integrators.state_space.stepper import ChartedStepper
from mbdae.system import sparse_lu
from mbdae.system.codes import GOOD, NEEDS_MATRIX, SINGULAR_MATRIX

from .chart_cases import ROUGH
from .helpers import relative
from .state_space_cases import exact, order, orders, run, system

pytestmark = pytest.mark.thorough

METHODS = {c.__name__: c for c in (mbdae.TrapezoidalDescriptor, mbdae.SdirkDescriptor)}
every_method = pytest.mark.parametrize("method", METHODS)
both_forms = pytest.mark.parametrize("form", ["partition", "tangent"])


# --- the factorisation -------------------------------------------------------------------------------------------------------


def columns(A):
    """A SciPy matrix for compiled code."""
    return sparse_lu.Columns(start=A.indptr.astype(np.int64), rows=A.indices.astype(np.int64), values=A.data.astype(float))


def regular(rng, n, density):
    """A sparse matrix that is regular and not symmetric, without large diagonal entries."""
    A = random_array((n, n), density=density, rng=rng, data_sampler=lambda size: rng.normal(size=size)).tolil()
    for i, j in enumerate(rng.permutation(n)):
        A[i, j] += 1.0 + rng.random()
    return csc_array(A)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("density", [0.02, 0.1, 1.0])
def test_sparse_factors_solve(rng, n, density):
    A, b = regular(rng, n, density), rng.normal(size=n)
    found = sparse_lu.ordering(A)
    assert sorted(found.order) == list(range(n))
    lu, x = sparse_lu.new_factors(found.order, 2 * found.entries), b.copy()
    for scale in (1.0, 3.0):  # twice with the same storage
        A.data *= scale
        assert sparse_lu.factorise(columns(A), lu) == GOOD
        x[:] = b
        sparse_lu.solve(lu, x)
        assert relative(A @ x, b) < 1e-10


def test_the_fill_in_is_that_of_superlu(rng):
    A = regular(rng, 60, 0.03)
    found = sparse_lu.ordering(A)
    lu = sparse_lu.new_factors(found.order, 60 * 60)
    assert sparse_lu.factorise(columns(A), lu) == GOOD
    theirs = splu(csc_array(A[:, found.order]), permc_spec="NATURAL")
    expected = np.count_nonzero(theirs.L.toarray()) + np.count_nonzero(theirs.U.toarray())
    assert int(lu.L.start[-1] + lu.U.start[-1]) + 2 * 60 == expected <= found.entries
    assert relative(np.sort(np.abs(lu.diagonal)), np.sort(np.abs(theirs.U.diagonal()))) < 1e-10


@pytest.mark.parametrize("entry", [0.0, np.nan, np.inf])
def test_matrices_that_have_no_factors(rng, entry):
    A = regular(rng, 12, 0.2)
    lu = sparse_lu.new_factors(np.arange(12), 144)
    A.data[A.indptr[4]:A.indptr[5]] = entry
    assert sparse_lu.factorise(columns(A), lu) == SINGULAR_MATRIX


def test_little_room_is_reported(rng):
    A = regular(rng, 30, 0.3)
    lu = sparse_lu.new_factors(np.arange(30), 60)
    assert sparse_lu.factorise(columns(A), lu) == NEEDS_MATRIX


# --- the matrix --------------------------------------------------------------------------------------------------------------


def after_a_step(s, method, form="partition", h=1e-3):
    """The arrays of a run after its first step, whose matrix belongs to the initial state."""
    stepper = ChartedStepper(method(fixed_step=h, matrix="sparse"), mbdae.StateSpace(s, form), s.start, h, 1e-6, 1e-6)
    assert Driver(stepper, t_eval=None, every=1, progress=None, until=None).to_end().status == mbdae.Status.SUCCESS
    return stepper


def dense(A):
    """`Columns` as a square array."""
    n = len(A.start) - 1
    return csc_array((A.values[:A.start[-1]], A.rows[:A.start[-1]], A.start), shape=(n, n)).toarray()


def second_rates(s, chart, t, q, v, a, shift=1e-5):
    """`z'' = P (T a + T' v)`."""
    ahead, behind = (s.qdot(s.retract(q, e * shift * v), v, t) for e in (1.0, -1.0))
    return chart.P @ (s.qdot(q, a, t) + (ahead - behind) / (2.0 * shift))


def equations(stepper, base, based, gh, a, lam):
    """Residuals of the discretised equations (3.76) at the given accelerations and multipliers."""
    s, chart, t = stepper.system, stepper.chart, stepper.begins.t
    x, before = np.zeros(chart.n), np.inf
    while True:  # x = z'', which depends on positions and velocities where T is not the identity
        state = chart.state(t, base + gh * gh * x, based + gh * x, stepper.begins.q, stepper.begins.lam)
        new = second_rates(s, chart, t, state.q, state.v, a)
        size, x = np.abs(new - x).max(), new
        if size == 0.0 or size >= before:
            break
        before = size
    q, v = state.q, state.v
    G = s.phi_q(t, q).toarray()
    return np.concatenate([s.mass(t, q) @ a + G.T @ lam - s.force(t, q, v, lam), G @ a - s.gamma(t, q, v)])


@both_forms
@pytest.mark.parametrize("name", ["stiff-double-pendulum", "double-pendulum", "andrews", "bricard", "flexible-slider-crank"])
def test_the_matrix_is_the_derivative_of_the_equations(name, form, rng):
    """Along random directions of accelerations and multipliers, by central differences; where constraints are redundant, of multipliers
    that are unique."""
    s = library.system(name)
    gh = 1e-5 if name == "flexible-slider-crank" else 1e-3
    stepper = after_a_step(s, mbdae.TrapezoidalDescriptor, form, 2.0 * gh)
    stepper.chart.centre(stepper.begins.t, stepper.begins.q)
    x, A = stepper.begins, dense(stepper.run.augmented.A)
    G = s.phi_q(x.t, x.q).toarray()
    z, zd = stepper.chart.coordinates(x.t, x.q, x.v)
    zdd = second_rates(s, stepper.chart, x.t, x.q, x.v, x.a)
    for _ in range(3):
        da = rng.normal(size=s.nv) * (1.0 + np.abs(x.a).max())
        dlam = G @ rng.normal(size=s.nv) * (1.0 + np.abs(x.lam).max())
        ends = [equations(stepper, z - gh * gh * zdd, zd - gh * zdd, gh, x.a + e * da, x.lam + e * dlam) for e in (1e-4, -1e-4)]
        slope = (ends[0] - ends[1]) / 2e-4
        assert relative(A @ np.concatenate([da, dlam]), slope) < (1e-4 if name in ROUGH else 1e-6)


def test_the_matrix_of_the_vehicle_is_sparse():
    """84 accelerations and 66 multipliers of 14 bodies, whose quaternions' norms need none; the thesis has 178, and less than 15 %."""
    g = after_a_step(library.system("hmmwv", model="stiff"), mbdae.TrapezoidalDescriptor, h=1e-4).run.augmented
    assert len(g.b) == 150
    assert np.count_nonzero(dense(g.A)) < 0.17 * 150**2
    assert g.lu.L.start[-1] + g.lu.U.start[-1] < 0.5 * 150**2


# --- runs --------------------------------------------------------------------------------------------------------------------

RUNS = {"andrews": 0.02, "stiff-double-pendulum": 0.5, "double-pendulum": 0.5, "n-four-bar": 0.4, "bricard": 1.0, "tree": 0.2, "ring": 0.1,
        "flexible-slider-crank": 0.01, "driven pendulum": 0.5}


@both_forms
@every_method
@pytest.mark.parametrize("name", RUNS)
def test_both_matrices_give_the_same_motion(name, method, form):
    """Trees, closed loops, redundant constraints (`bricard`), equations that depend on time. Steps differ where the iteration with the
    matrix at their start converges slowly."""
    found = exact(name, RUNS[name])
    runs = {m: run(name, METHODS[method](matrix=m), RUNS[name], form, rtol=1e-5, t_eval=found.t) for m in ("reduced", "sparse")}
    steps = [s.statistics.steps for s in runs.values()]
    assert abs(steps[1] - steps[0]) <= 2 + 0.4 * steps[0]
    off = [np.abs(s.q - found.q).max() for s in runs.values()]
    # the iteration with the matrix of the start leaves more: up to thirty tolerances on the driven pendulum
    assert off[1] < 2.0 * off[0] + 40e-5 * (1.0 + np.abs(found.q).max())
    for s in runs.values():
        assert s.constraint_residuals.max() < 1e-6 * (1.0 + np.abs(found.v).max() ** 2)


@every_method
@pytest.mark.parametrize("name", ["andrews", "double-pendulum", "bricard"])
def test_converged_iterations_give_the_same_steps(name, method):
    """With fixed steps and a small `kappa` both solve the same equations, so the states agree to what the iteration leaves."""
    t_end, h = (0.005, 1e-4) if name == "andrews" else (0.1, 2e-3)
    parameters = {"fixed_step": h, "newton_tol": 1e-4, "max_iter": 30}
    runs = [run(name, METHODS[method](matrix=m, **parameters), t_end, rtol=1e-8) for m in ("reduced", "sparse")]
    assert (runs[0].t == runs[1].t).all()
    for x in ("q", "v"):
        a, b = (getattr(s, x) for s in runs)
        assert relative(a, b) < 1e-8
    force = [np.array([s.phi_q(t, q).T @ lam for t, q, lam in zip(r.t, r.q, r.lam)]) for r in runs for s in [system(name)]]
    assert relative(*force) < 1e-5


@every_method
def test_the_order_with_the_sparse_matrix(method):
    steps = [0.02 / 2**k for k in range(4)]
    found, rows = orders("double-pendulum", method, steps, 0.4, matrix="sparse")
    assert min(found[:2]) > order(method) - 0.3, rows


@every_method
def test_joint_coordinates(method):
    """The mass matrix of a tree of joints is one block; it changes with the positions and is ill-conditioned, so the iteration with that
    of the start contracts in short steps only: `K(q0)^-1 (K(q1) - K(q0))` has the spectral radius 0.16 after 1e-4 s, 3 after 1e-3 s."""
    s = mbdae.System(library.mechanism("ring"), coordinates="joint")
    runs = [mbdae.solve(s, METHODS[method](matrix=m, fixed_step=1e-5), (0.0, 1e-4), formulation="partition", rtol=1e-9, atol=1e-9)
            for m in ("reduced", "sparse")]
    assert all(r.success for r in runs)
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    np.testing.assert_allclose(runs[1].v, runs[0].v, atol=1e-8)


@every_method
def test_both_matrices_are_counted(method):
    """An attempt factorises the matrix of the error estimate, too."""
    s = mbdae.System(library.mechanism("double-pendulum"))
    for matrix, number in (("reduced", 1), ("sparse", 2)):
        c = mbdae.solve(s, METHODS[method](matrix=matrix), (0.0, 0.05), rtol=1e-5, atol=1e-5).statistics
        assert c.factorisations == number * (c.steps + c.rejected_error + c.rejected_newton) > 0


def test_without_constraints():
    bodies = [mbdae.PlanarBody("a", 1.0, 1.0), mbdae.PlanarBody("b", 2.0, 1.0, (1.5, 0.0))]
    spring = mbdae.TSDA("spring", "a", "b", k=1e4, c=10.0, l0=1.0)
    s = mbdae.System(mbdae.Mechanism("free", bodies, forces=[spring]))
    runs = [mbdae.solve(s, mbdae.SdirkDescriptor(matrix=m), (0.0, 0.2), rtol=1e-6, atol=1e-6) for m in ("reduced", "sparse")]
    assert all(r.success for r in runs)
    np.testing.assert_allclose(runs[1].q[-1], runs[0].q[-1], atol=1e-5)


@every_method
def test_the_matrix_follows_the_chart(method):
    """Other coordinates fill other columns."""
    found = exact("double-spherical-pendulum", 2.0)
    s = run("double-spherical-pendulum", METHODS[method](matrix="sparse"), 2.0, rtol=1e-6, t_eval=found.t)
    assert s.statistics.restarts > 0
    assert np.abs(s.q - found.q).max() < 1e-4


def test_factors_get_more_room(monkeypatch):
    """A step whose factors do not fit is repeated with more room, and nothing else changes."""
    plain = run("andrews", mbdae.SdirkDescriptor(matrix="sparse"), 0.005, rtol=1e-5)
    kept = augmented.ordering
    monkeypatch.setattr(augmented, "ordering", lambda A: kept(A)._replace(entries=1))
    small = run("andrews", mbdae.SdirkDescriptor(matrix="sparse"), 0.005, rtol=1e-5)
    assert (plain.t == small.t).all() and (plain.q == small.q).all()


def test_states_within_steps():
    """Dense output of both methods, one of which takes a shorter step for it."""
    for method in METHODS.values():
        s = run("andrews", method(matrix="sparse"), 0.01, rtol=1e-6, dense_output=True)
        found = exact("andrews", 0.01, 5)
        assert np.abs(np.array([s.sol(t)[0] for t in found.t]) - found.q).max() < 1e-3


# --- validation --------------------------------------------------------------------------------------------------------------


@every_method
def test_bad_matrices_are_refused(method):
    for value in ("dense", "", None, 1, ["sparse"]):
        with pytest.raises(ValueError, match=f"{method}: matrix must be one of reduced, sparse, got {re.escape(repr(value))}"):
            METHODS[method](matrix=value)
    assert METHODS[method]() == METHODS[method](matrix="reduced")
    assert METHODS[method](matrix="sparse").label == f"{method}(matrix='sparse')"


def test_friction_is_refused():
    with pytest.raises(ValueError, match=r"SdirkDescriptor: the sparse matrix has no derivatives by the multipliers.*use matrix='reduced'"):
        mbdae.solve(library.system("wheelset"), mbdae.SdirkDescriptor(matrix="sparse"), (0.0, 0.1))
