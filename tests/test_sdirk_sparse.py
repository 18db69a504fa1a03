"""SDIRK4/16 in independent coordinates with sparse matrices of all unknowns."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csc_array, random_array
from scipy.sparse.linalg import splu

import mbdae
from mbdae import SdirkSparse, library
from mbdae.charts import choice as dense_choice
from mbdae.integrators.sdirk_sparse import choice, elimination
from mbdae.integrators.sdirk_sparse import stepper as steppers
from mbdae.integrators.sdirk_sparse.arrays import Rows, new_elimination
from mbdae.integrators.sdirk_sparse.derivatives import differentiate, matrix_values, take_start
from mbdae.integrators.sdirk_sparse.matrix import assemble, layout
from mbdae.system.codes import GOOD, NEEDS_MATRIX

from .explicit_cases import CASES, damped_pendulum, distances, driven_pendulum, rubbing_slider

FIXED = {"newton_tol": 1e-6, "max_iter": 40}


def rows_of(A):
    """A sparse matrix by rows."""
    csr = csc_array(A).tocsr()
    return Rows(start=csr.indptr.astype(np.int64), columns=csr.indices.astype(np.int64), values=csr.data.copy(),
                places=np.arange(csr.nnz), sizes=np.zeros(csr.shape[0]))


# elimination -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("density", [0.15, 0.5, 1.0])
def test_linear_equations_are_solved_with_the_factors(n, density):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A = np.eye(n)[rng.permutation(n)] + random_array((n, n), density=density, rng=rng).toarray()
        lu = splu(csc_array(A))
        e = new_elimination(np.argsort(lu.perm_r), np.argsort(lu.perm_c), n * n)
        x, found = rng.normal(size=n), np.zeros(n)
        # in the same order for other values of the same pattern
        for B in (A, A * np.where(A != 0.0, 1.0 + 0.01 * rng.random((n, n)), 0.0)):
            status, worst = elimination.eliminate(rows_of(B), e)
            assert status == GOOD and 0.0 < worst <= 1.0
            elimination.solve_rows(e, B @ x, found)
            assert found == pytest.approx(x, rel=1e-9 * np.linalg.cond(B), abs=1e-9)


def test_too_little_room_is_told():
    A, pivots = np.random.default_rng(1).random((9, 9)), np.zeros(9, dtype=np.int64)
    assert elimination.eliminate(rows_of(A), new_elimination(np.arange(9), np.arange(9), 12))[0] == NEEDS_MATRIX
    assert choice.choose_pivots(rows_of(A), np.ones(9), 9, 60, pivots) == NEEDS_MATRIX


def test_small_pivots_are_told():
    A, e = np.array([[1e-3, 1.0], [1.0, 1.0]]), new_elimination(np.arange(2), np.arange(2), 9)
    assert elimination.eliminate(rows_of(A), e) == (GOOD, 1e-3)
    rows = rows_of(np.diag([1.0, 0.1]))
    rows.sizes[1] = 0.5
    assert elimination.eliminate(rows, e) == (GOOD, 0.2)


@pytest.mark.parametrize(("m", "n", "rank"), [(3, 5, 3), (8, 20, 8), (12, 12, 12), (15, 20, 9)])
def test_pivots_of_a_matrix_whose_rows_depend_on_each_other(m, n, rank):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    pivots = np.zeros(m, dtype=np.int64)
    assert choice.choose_pivots(rows_of(A), np.ones(n), min(m, n), 50 * m * n, pivots) == GOOD
    kept = np.flatnonzero(pivots >= 0)
    assert len(kept) == rank and np.linalg.matrix_rank(A[np.ix_(kept, pivots[kept])]) == rank


@pytest.mark.parametrize("name", ["double-pendulum", "andrews", "stewart-platform", "iltis", "bricard", "flyball-governor",
                                  "spatial-four-bar"])
def test_coordinates_are_as_good_as_those_of_the_dense_choice(name):
    """By the condition of the dependent columns; rows may be left out as redundant."""
    s = library.system(name)
    q = mbdae.assemble(s).q
    J = dense_choice.position_jacobian(s, 0.0, q)
    pivots = np.zeros(len(J), dtype=np.int64)
    assert choice.choose_pivots(rows_of(J), dense_choice._column_scales(s), s.nq - s.freedom, 10 * J.size, pivots) == GOOD
    kept = np.flatnonzero(pivots >= 0)
    assert len(kept) == s.nq - s.freedom
    independent = np.flatnonzero(dense_choice.partition(s, 0.0, q).any(axis=0))
    usual = np.linalg.svd(np.delete(J, independent, axis=1), compute_uv=False)
    found = np.linalg.svd(J[:, pivots[kept]], compute_uv=False)
    assert found[-1] > 0.2 * usual[-1]


# the matrix of a stage ---------------------------------------------------------------------------------------------------------


def prepared(system, **state):
    """A stepper after its first step, at the end of which derivatives are evaluated."""
    made = []

    class Kept(steppers.SparseStepper):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    original, methods = steppers.SparseStepper, __import__("mbdae.integrators.sdirk_sparse.methods", fromlist=["x"])
    methods.SparseStepper = Kept
    try:
        mbdae.solve(system, SdirkSparse(linsolver="sparse", local_error=1.0), (0.0, 0.05), **state)  # long steps: the largest fill-in
    finally:
        methods.SparseStepper = original
    stepper = made[0]
    take_start(stepper.run)
    differentiate(stepper.t, stepper.run)
    return stepper


def equations_of_a_stage(stepper, gh):
    """Residuals of a stage as a function of `(q, v, a, lam)`, from `Problem.residual` and differences of the kinematic map."""
    run, s, problem = stepper.run, stepper.system, stepper.problem
    at, p, nq, nv = layout(problem, run.partition), run.partition, s.nq, s.nv

    def residuals(x):
        q, v, a, lam = np.split(x, np.cumsum([nq, nv, nv]))
        F = problem.residual(stepper.t, np.concatenate([q, v, lam]), np.concatenate([np.zeros(nq), a, np.zeros(len(lam))]))
        rate, e = s.qdot(q, v, stepper.t), 1e-3
        turn = sum(c * s.qdot(q + k * e * rate, v, stepper.t) for k, c in ((-2, 1), (-1, -8), (1, 8), (2, -1))) / (12.0 * e)
        second, eq, out = s.qdot(q, a, stepper.t) + turn, problem.equations, np.zeros(at.size)
        out[at.position], out[at.velocity] = F[eq["position"]][p.kept], F[eq["velocity"]][p.kept]
        out[at.dynamics], out[at.acceleration] = F[eq["dynamics"]], F[eq["acceleration"]]
        out[at.independent] = (q - gh * gh * second)[p.independent]
        out[at.rates] = (rate - gh * second)[p.independent]
        out[at.norms] = [q[k:k + 4] @ q[k:k + 4] - 1.0 for k in p.norms]
        return out

    return residuals


MAKERS = {name: lambda name=name: library.system(name) for name in ("double-pendulum", "flyball-governor", "andrews", "precessing-top",
                                                                    "spatial-four-bar")} | {
    "driven": driven_pendulum, "damped": damped_pendulum, "friction": rubbing_slider}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("gh", [1e-3, -0.1])
def test_the_matrix_has_the_derivatives_of_the_equations_of_a_stage(make, gh):
    stepper = prepared(make())
    run, problem = stepper.run, stepper.problem
    run.entries, matrix = assemble(problem, run.partition, "sparse")
    matrix_values(gh, run)
    pattern, size = matrix._kind._pattern, layout(problem, run.partition).size
    found = csc_array((run.entries.values, pattern.indices, pattern.indptr), shape=(size, size)).toarray()
    x = np.concatenate([run.start.q, run.start.v, run.start.a, run.start.lam])
    assert len(x) == size
    residuals, exact = equations_of_a_stage(stepper, gh), np.zeros((size, size))
    for k in range(size):
        e = np.zeros(size)
        e[k] = 1e-4 * max(1.0, abs(x[k]))
        exact[:, k] = (8.0 * (residuals(x + e) - residuals(x - e)) - residuals(x + 2 * e) + residuals(x - 2 * e)) / (12.0 * e[k])
    scale = np.abs(exact).max(axis=1, keepdims=True)
    assert (np.abs(found - exact) / scale).max() < 1e-6


# motions -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_order_four(name):
    # the bodies of bricard are alike: at 0.77 s rounding decides which coordinate is independent, and the error depends on that
    t_end = 0.75 if name == "bricard" else CASES[name].spans[5][0]
    numbers = {"spatial-four-bar": (256, 384, 512), "bricard": (16, 24, 32)}.get(name, (64, 96, 128))
    rows = np.array([(t_end / n, *distances(name, t_end, SdirkSparse(fixed_step=t_end / n, **FIXED), rtol=1e-8)) for n in numbers])
    for errors in rows[:, 1:].T:
        if np.isfinite(errors).all():
            assert np.polyfit(np.log(rows[:, 0]), np.log(errors), 1)[0] > 3.6


@pytest.mark.parametrize(("name", "h", "steps"), [("stiff-double-pendulum", 0.005, 20), ("andrews", 2e-4, 20), ("truck", 0.02, 20)])
def test_steps_are_those_of_the_descriptor_form(name, h, steps):
    s = library.system(name)
    one, two = (mbdae.solve(s, method(fixed_step=h, **FIXED), (0.0, steps * h), rtol=1e-8, atol=1e-10)
                for method in (SdirkSparse, mbdae.SdirkDescriptor))
    assert one.success and two.success and len(one.t) == len(two.t) == steps + 1
    for x, y in ((one.q, two.q), (one.v, two.v)):
        assert np.abs(x - y).max() < 1e-7 * np.abs(y).max() + 1e-9


@cache
def exact(name, t_end):
    s = library.system(name)
    found = mbdae.solve(s, mbdae.RadauIIA(order=13), (0.0, t_end), rtol=1e-11, atol=1e-13, t_eval=np.linspace(0.0, t_end, 21))
    assert found.success
    return s, found


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize(("name", "t_end"), [("double-pendulum", 2.0), ("slider-crank-free", 1.0), ("andrews", 0.03), ("bricard", 1.0),
                                           ("stiff-double-pendulum", 0.5), ("flyball-governor", 1.0), ("precessing-top", 0.3),
                                           ("stewart-platform", 0.5), ("car-axis", 0.5), ("ring", 0.3)])
def test_errors_in_tolerances(name, t_end, rtol):
    """Also where other coordinates are chosen on the way, and between the steps."""
    s, reference = exact(name, t_end)
    found = mbdae.solve(s, SdirkSparse(), (0.0, t_end), rtol=rtol, atol=rtol / 100.0, t_eval=reference.t)
    assert found.success, found.message
    moved = max(np.abs(s.difference(x, y)).max() for x, y in zip(found.q, reference.q))
    assert moved < 100.0 * rtol * np.abs(reference.q).max()
    assert np.abs(found.v - reference.v).max() < 100.0 * rtol * np.abs(reference.v).max()
    assert found.constraint_residuals.max() < 1e-9
    if name == "double-pendulum":
        assert found.statistics.restarts > 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_time_may_begin_elsewhere_and_run_backward(sign):
    s = driven_pendulum()
    go = lambda method, rtol: mbdae.solve(s, method, (0.7, 0.7 + 0.6 * sign), rtol=rtol, atol=rtol / 100.0)  # noqa: E731
    found, reference = go(SdirkSparse(), 1e-7), go(mbdae.DormandPrince(), 1e-11)
    assert found.success and np.abs(found.q[-1] - reference.q[-1]).max() < 1e-6


def test_the_state_within_the_steps():
    s, reference = exact("stiff-double-pendulum", 0.5)
    found = mbdae.solve(s, SdirkSparse(), (0.0, 0.5), rtol=1e-7, atol=1e-9, dense_output=True)
    states = found.sol(reference.t)
    for x, y in zip(states, (reference.q, reference.v, reference.a, reference.lam)):
        assert np.abs(x - y).max() < 1e-4 * np.abs(y).max()
    assert np.abs(states[0] - reference.q).max() < 4e-6


@pytest.mark.parametrize("options", [{"filter": True}, {"controller": mbdae.PI}, {"linsolver": "sparse"}, {"jacobian": "grouped"},
                                     {"max_jacobian_age": 0}, {"reuse_rate": 0.3}, {"max_step": 0.01}, {"first_step": 1e-5}], ids=str)
def test_parameters(options):
    s, reference = exact("stiff-double-pendulum", 0.5)
    found = mbdae.solve(s, SdirkSparse(**options), (0.0, 0.5), rtol=1e-6, atol=1e-8)
    assert found.success and np.abs(found.q[-1] - reference.q[-1]).max() < 1e-5
    assert np.diff(found.t).max() <= options.get("max_step", np.inf) * 1.0101


@pytest.mark.parametrize("name", ["double-pendulum", "bricard", "iltis"])
def test_a_resumed_run_goes_on_bit_for_bit(name, tmp_path):
    s, t_end = library.system(name), 0.1 if name == "iltis" else 1.5
    whole = mbdae.solve(s, SdirkSparse(), (0.0, t_end), rtol=1e-5, atol=1e-7)
    for k in {1, 2, len(whole.t) // 3, 2 * len(whole.t) // 3, len(whole.t) - 2}:
        mbdae.solve(s, SdirkSparse(max_steps=k), (0.0, t_end), rtol=1e-5, atol=1e-7).save(tmp_path / "part.npz")
        found = mbdae.solve(s, SdirkSparse(), (0.0, t_end), rtol=1e-5, atol=1e-7, resume=tmp_path / "part.npz")
        np.testing.assert_array_equal(found.t, whole.t)
        np.testing.assert_array_equal(found.q, whole.q)


@pytest.mark.parametrize(("family", "small", "large"), [("chain", {"links": 40}, {"links": 160}), ("ladder", {"loops": 15}, {"loops": 60}),
                                                       ("n-four-bar", {"windows": 20}, {"windows": 80})])
def test_factors_grow_in_proportion_to_the_bodies(family, small, large):
    entries = []
    for parameters in (small, large):
        stepper = prepared(mbdae.System(library.mechanism(family, **parameters)))
        factors, e = stepper.matrix.factors, stepper.run.basis.elimination
        entries.append(np.array([len(factors.L.values) + len(factors.U.values), (e.end - e.start).sum() + (e.last - e.first).sum()]))
    assert (entries[1] < 4.6 * entries[0]).all()


@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
@pytest.mark.parametrize("name", ["slider-crank", "four-link"])
def test_a_prescribed_motion_is_exact(name, rtol):
    """Without independent coordinates positions, velocities and multipliers follow from the constraints."""
    s, times = library.system(name), np.linspace(0.0, 2.0, 41)
    found = mbdae.solve(s, SdirkSparse(), (0.0, 2.0), rtol=rtol, atol=rtol / 100.0, t_eval=times)
    other = mbdae.solve(s, mbdae.RadauIIA(), (0.0, 2.0), rtol=1e-10, atol=1e-12, t_eval=times)
    assert found.success
    for x, y in ((found.q, other.q), (found.v, other.v), (found.lam, other.lam)):
        assert np.abs(x - y).max() < 1e-12 * np.abs(y).max()


# what it refuses ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "words"), [
    ({"jacobian": "nonsense"}, "jacobian"), ({"linsolver": "best"}, "linsolver"), ({"fixed_step": -1.0}, "fixed_step"),
    ({"max_step": 0.0}, "max_step"), ({"max_iter": 0}, "max_iter"), ({"newton_tol": 0.0}, "newton_tol"),
    ({"reuse_rate": 1.0}, "reuse_rate"), ({"filter": 1}, "filter"), ({"local_error": 1.5}, "local_error"),
    ({"max_jacobian_age": -1}, "max_jacobian_age"), ({"max_steps": 0}, "max_steps")], ids=str)
def test_parameters_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        SdirkSparse(**options)


def test_the_form_is_the_overdetermined_one():
    with pytest.raises(ValueError, match="overdetermined"):
        mbdae.solve(library.system("double-pendulum"), SdirkSparse(), (0.0, 0.1), formulation="ggl")
