"""Newton's matrices of Radau IIA by blocks: against dense solutions, and where they are not enough."""

from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import RadauIIA, library
from mbdae.integrators.radau import block_arrays, blocks, matrices
from mbdae.integrators.radau.block_pattern import elimination
from mbdae.integrators.radau.stepper import RadauStepper
from mbdae.system.codes import GOOD, SINGULAR_MATRIX
from mbdae.system.sparse_lu import new_factors

MADE = {name: (lambda name=name: library.system(name)) for name in ("andrews", "slider-crank-free", "stewart-platform", "iltis", "ladder",
                                                                    "random-tree", "hmmwv", "flyball-governor", "tree")}
MADE |= {"long chain": lambda: library.system("chain", links=40)}


def stepper_of(system, monkeypatch, t=0.02, rtol=1e-5, **options):
    """The integration that has ended, and its solution."""
    made, usual = [], RadauStepper.__init__

    def init(self, *arguments):
        usual(self, *arguments)
        made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(RadauStepper, "__init__", init)
        x = mbdae.solve(system, RadauIIA(**options), (0.0, t), rtol=rtol, atol=1e-2 * rtol)
    return made[0], x


def whole(run, c):
    """`F_y + c F_yd` as a dense matrix."""
    d, n = run.derivatives, len(run.y)
    A = np.zeros((n, n), type(c))
    A[d.rows, d.columns] = d.state + c * d.rates
    return A


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_solutions_are_those_of_the_whole_matrix(name, pair, monkeypatch):
    """Of residuals in all equations: positions, velocities, and reactions as accelerations of free bodies."""
    s = MADE[name]()
    stepper, x = stepper_of(s, monkeypatch)
    run, nq, nv = stepper.run, s.nq, s.nv
    assert x.success and run.sparse.blocks.pattern.nq == nq
    formula, h = run.formulas[run.memory.level], run.memory.last_step
    run.memory.whole = 0
    assert matrices.factorise_all(h, run) == GOOD and run.sparse.blocks.state.used == 1
    c = complex(formula.pairs[0]) / h if pair else float(formula.real) / h
    A, by_blocks = whole(run, c), run.sparse_pairs[0].blocks if pair else run.sparse.blocks
    rng = np.random.default_rng(1)
    for at, scale in ((slice(0, nq), 1.0), (slice(nq, nq + nv), 100.0), (slice(nq + nv, None), 1.0)):
        r = np.zeros(len(A), type(c))
        r[at] = scale * rng.normal(size=len(r[at]))
        found, weight = np.zeros_like(r), run.weights[0]
        blocks.solve_blocks(r, found, weight, by_blocks)
        exact = np.linalg.solve(A, r)
        error, size = np.abs(found - exact)[:nq + nv], np.abs(exact)[:nq + nv]
        assert by_blocks.state.slow == 0
        assert np.linalg.norm(weight[:nq + nv] * error) < 2e-2 * np.linalg.norm(weight[:nq + nv] * size)


@pytest.mark.parametrize("name", ["andrews", "slider-crank-free", "ladder", "stewart-platform"])
def test_solutions_by_blocks_and_by_the_whole_matrix_agree(name):
    s = library.system(name)
    t = {"andrews": 0.03, "slider-crank-free": 1.0, "ladder": 0.5, "stewart-platform": 0.5}[name]
    times = np.linspace(0.0, t, 5)
    x, y = (mbdae.solve(s, RadauIIA(linsolver=solver), (0.0, t), rtol=1e-7, atol=1e-9, t_eval=times) for solver in ("auto", "sparse"))
    z = mbdae.solve(s, mbdae.DormandPrince(), (0.0, t), rtol=1e-12, atol=1e-13, t_eval=times)
    assert x.success and y.success and x.statistics.steps < 1.6 * y.statistics.steps
    for found in (x, y):
        assert np.abs(found.q - z.q).max() < 5e-6 * np.abs(z.q).max() and np.abs(found.v - z.v).max() < 5e-5 * np.abs(z.v).max()
        assert found.constraint_residuals.max() < 1e-9


def test_where_it_is_not_by_blocks(monkeypatch):
    """Few unknowns, redundant constraints, kinematics of a user, a linear solver of the user's choice, dense equations of motion."""
    for name in ("double-spherical-pendulum", "bricard", "fekete"):
        assert elimination(mbdae.GGL(library.system(name))) is None
    s = library.system("andrews")
    assert elimination(mbdae.GGL(s)) is not None
    for solver in ("dense", "sparse"):
        stepper, x = stepper_of(s, monkeypatch, linsolver=solver)
        assert x.success and stepper.run.sparse.blocks.pattern.nq == 0 and stepper.run.sparse.blocks.state.used == 0
    turned = mbdae.System.from_functions(nq=40, nv=40, nc=30, mass=lambda t, q: np.eye(40), force=lambda t, q, v: -q,
                                         phi=lambda t, q: q[:30] - 0.1, kinematics=lambda t, q, v: (1.0 + q[0] ** 2) * v,
                                         q0=np.full(40, 0.1), v0=np.zeros(40))
    assert elimination(mbdae.GGL(turned)) is None


def test_bodies_that_turn_far_in_a_step_need_the_whole_matrix(monkeypatch):
    """Several steps; then blocks are tried again."""
    s = library.system("flyball-governor")
    run = stepper_of(s, monkeypatch, t=0.5, rtol=1e-3)[0].run
    formula = run.formulas[run.memory.level]
    r = np.random.default_rng(0).normal(size=len(run.y))
    run.memory.whole = 0
    h = 50.0  # in which bodies turn many times
    assert matrices.factorise_all(h, run) == GOOD and run.sparse.blocks.state.used == 1
    matrices.solve_with(r, run.real, run.sparse, run.weights[0])
    assert run.sparse.blocks.state.slow == 1
    assert matrices.factorise_all(h, run) == GOOD
    assert run.sparse.blocks.state.used == 0 and run.sparse.blocks.state.slow == 0 and run.memory.whole == run.memory.patience // 2 - 1
    matrices.solve_with(r, run.real, run.sparse, run.weights[0])
    exact = np.linalg.solve(whole(run, float(formula.real) / h), r)
    np.testing.assert_allclose(run.real.column * run.real.x, exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())


def scarce(less, order, entries, dtype):
    """Factors with so many times less room."""
    return new_factors(order, entries // less, dtype)


def test_a_run_goes_on_with_the_same_bits(tmp_path, monkeypatch):
    """With factors by blocks, and with more room for them."""
    s, make_room, doubled = library.system("chain", links=20), RadauStepper._make_room, []
    for less in (1, 20):
        monkeypatch.setattr(block_arrays, "new_factors", partial(scarce, less))
        monkeypatch.setattr(RadauStepper, "_make_room", lambda stepper: (doubled.append(1), make_room(stepper)))
        end, part = (mbdae.solve(s, RadauIIA(), (0.0, t)) for t in (0.2, 0.1))
        part.save(tmp_path / "part.npz")
        on = mbdae.solve(s, RadauIIA(), (0.0, 0.2), resume=tmp_path / "part.npz")
        assert (on.t == end.t).all() and (on.q == end.q).all() and (on.lam == end.lam).all()
        assert bool(doubled) == (less == 20)


def test_a_singular_block_is_followed_by_the_whole_matrix(monkeypatch):
    """Here that is singular, too."""
    run = stepper_of(library.system("andrews"), monkeypatch)[0].run
    run.memory.whole = 0
    run.derivatives.state[run.sparse.blocks.pattern.shift.at] = 0.0
    assert matrices.factorise_all(run.memory.last_step, run) == SINGULAR_MATRIX
    assert run.sparse.blocks.state.used == 0 and run.memory.whole == run.memory.patience // 2 - 1


def test_a_solution_of_zeros_tells_nothing(monkeypatch):
    """A step at rest may begin with a residual of zeros: whether later solutions need corrections is not known from it."""
    run = stepper_of(library.system("andrews"), monkeypatch)[0].run
    run.memory.whole, by_blocks = 0, run.sparse.blocks
    assert matrices.factorise_all(1e-3 * run.memory.last_step, run) == GOOD
    r, x = np.zeros(len(run.y)), np.ones(len(run.y))
    blocks.solve_blocks(r, x, run.weights[0], by_blocks)
    assert not x.any() and by_blocks.exact[0] == 0 and by_blocks.state.slow == 0
    r[:] = np.random.default_rng(0).normal(size=len(r))
    blocks.solve_blocks(r, x, run.weights[0], by_blocks)
    assert by_blocks.exact[0] == 1
