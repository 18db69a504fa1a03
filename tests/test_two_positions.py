"""Solutions with the unsymmetric matrix of two positions against dense ones, and runs that would take hours with dense matrices."""

from time import process_time

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

import mbdae
from mbdae import library
from mbdae.results.diagnosis import _by_iteration, near_singular
from mbdae.system import kernels, kkt
from mbdae.system import layout as lay
from mbdae.system.layout import part
from mbdae.system.two_positions import solve_two_positions

from .helpers import relative


@numba.njit(error_model="numpy")
def solved(q, q1, model, work, r):
    """Whether `r` has been replaced by the solution."""
    kernels.place(0.0, q, model, work)
    kernels.mass(0.0, q, model, work)
    G = part(model, work, lay.W_G)
    kernels.phi_q(0.0, q, model, work, G)
    kkt.factor(model, work, True)
    kernels.place(0.0, q1, model, work)
    G1 = np.empty_like(G)
    kernels.phi_q(0.0, q1, model, work, G1)
    return solve_two_positions(G1, model, work, r)


def system(name, coordinates="cartesian", **parameters):
    return mbdae.System(library.mechanism(name, **parameters), coordinates=coordinates)


def gradients(s, q):
    return s.phi_q(0.0, q).toarray()


CASES = [("chain", {"links": 9}), ("ring", {}), ("ladder", {}), ("n-four-bar", {"windows": 5, "coordinates": "joint"}),
         ("bricard", {}), ("spatial-four-bar", {})]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[c[0] for c in CASES])
def test_agrees_with_the_dense_solution(name, options, rng):
    """In the rows that are kept; where equations are redundant, with minimum norm."""
    options = dict(options)
    windows = {"windows": options.pop("windows")} if "windows" in options else {}
    s = system(name, **windows, **options)
    q = mbdae.assemble(s).q
    q1 = s.retract(q, 0.05 * rng.standard_normal(s.nv))
    right = rng.standard_normal(s.nc)
    x = right.copy()
    model = s.model.copy()  # a better choice of rows is written to it
    assert solved(q, q1, model, s.workspace(), x)
    G, M = gradients(s, q), s.mass(0.0, q)
    C = gradients(s, q1) @ np.linalg.solve(M if isinstance(M, np.ndarray) else M.toarray(), G.T)
    kept = np.delete(np.arange(s.nc), lay.records_of(model, lay.DEPENDENT, lay.DEPENDENT_T)["row"])
    assert relative((C @ x)[kept], right[kept]) < 1e-11 * np.linalg.cond(C[np.ix_(kept, kept)])
    N = np.linalg.svd(G)[0][:, len(kept):]
    assert np.abs(N.T @ x).max(initial=0.0) < 1e-11 * np.abs(x).max()


def test_a_singular_matrix_is_refused():
    """The windows lie flat at `q1`, where the constraints lose rank."""
    s = system("n-four-bar", windows=2)
    q = mbdae.assemble(s).q
    bars, couplers = [[k + 0.5, 0.0, 0.0] for k in range(3)], [[k + 1.5, 0.0, 0.0] for k in range(2)]
    flat = np.array(bars + couplers).ravel()
    assert flat.shape == q.shape and np.abs(s.phi(0.0, flat)).max() < 1e-15
    assert np.linalg.matrix_rank(gradients(s, flat)) < s.nc
    x = np.arange(1.0, s.nc + 1.0)
    assert not solved(flat, flat, s.model, s.workspace(), x)
    assert (x == np.arange(1.0, s.nc + 1.0)).all()


@pytest.mark.thorough
def test_a_whip_of_400_links_ends_in_time():
    """The end of a chain turns by half a radian per step: Newton's method needs exact matrices, a thousand of 1200 rows until it fails.

    With dense ones that takes 20 minutes.
    """
    begin = process_time()
    s = library.system("chain", links=400)
    r = mbdae.solve(s, mbdae.HalfImplicit(h=1e-2), (0.0, 20.0), every=10**9)
    assert r.status == mbdae.Status.NEWTON_FAILED and r.statistics.factorisations > r.statistics.steps + 500
    assert np.abs(s.phi(r.t[-1], r.q[-1])).max() < 1e-9
    assert process_time() - begin < 60.0  # 1 s, and the compilation


@pytest.mark.parametrize("n", [3, 40])
def test_smallest_singular_value_by_iteration(n, rng):
    A = rng.standard_normal((n, 2 * n)) * (rng.random((n, 2 * n)) < 10.0 / n)
    A += np.eye(n, 2 * n)
    U, values, _ = np.linalg.svd(A)
    value, vector = _by_iteration(csr_array(A))
    assert value == pytest.approx(values[-1], rel=1e-6)
    assert abs(U[:, -1] @ vector) == pytest.approx(1.0, abs=1e-4)
    A[0] = A[1]
    assert _by_iteration(csr_array(A))[0] < 1e-6


@pytest.mark.thorough
def test_large_systems_are_diagnosed_without_dense_matrices():
    """A failure of a chain needs no diagnosis, one of a ladder of 1600 equations takes less than a second."""
    chain = library.system("chain", links=1024)
    start = mbdae.assemble(chain)
    begin = process_time()
    assert near_singular(chain, start, 0.0, start.q) is None
    assert process_time() - begin < 0.1
    ladder = library.system("ladder", loops=200)
    start = mbdae.assemble(ladder)
    begin = process_time()
    assert near_singular(ladder, start, 0.0, start.q) is None
    assert process_time() - begin < 5.0  # 0.1 s; 6 s and more with dense ones
