"""The basis of an earlier configuration gives the same motion, and is renewed where that is less work."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.charts.configuration import complete, prepare
from mbdae.charts.motion import FEW, evaluate
from mbdae.charts.store import is_complete
from mbdae.system.codes import GOOD

NEAR, FAR = (1e-9, 1e-6), (1e-3, 1e-2)


@pytest.fixture(scope="module", params=["iltis", "stewart-platform", "random-tree", "spatial-four-bar"])
def centred(request):
    """A problem in independent coordinates at the start of its mechanism, and consistent `(z, z')` with velocities."""
    system = mbdae.System(library.mechanism(request.param))
    problem = mbdae.StateSpace(system)
    y, _ = problem.pack(system.start)
    zd = y[problem.dof:] + np.cos(np.arange(problem.dof))
    return problem, y[:problem.dof].copy(), zd


def motion(problem, z, zd, basis_at):
    """`(q, v, a, lam, z'')` from the positions of the start, with the basis of the `"start"` or its `"own"`."""
    chart, start = problem.chart, problem.system.start
    q, v, a, lam, zdd = (np.array(x) for x in (start.q, start.v, start.a, start.lam, zd))
    assert prepare(0.0, start.q, chart.n, chart.store, chart.model, chart.work) == GOOD
    assert evaluate(0.0, z, zd, q, v, a, lam, zdd, chart.factors) == GOOD
    if basis_at == "own":
        assert prepare(0.0, q, chart.n, chart.store, chart.model, chart.work) == GOOD
        assert evaluate(0.0, z, zd, q, v, a, lam, zdd, chart.factors) == GOOD
    return q, v, a, lam, zdd


@pytest.mark.parametrize("distance", [*NEAR, *FAR])
def test_the_motion_does_not_depend_on_the_basis(centred, distance):
    problem, z, zd = centred
    moved = z + distance * np.sin(1.0 + np.arange(len(z)))
    for found, expected in zip(motion(problem, moved, zd, "start"), motion(problem, moved, zd, "own")):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * (1.0 + np.abs(expected).max(initial=0.0)))


def test_a_basis_nearby_is_kept_and_one_far_away_renewed(centred):
    problem, z, zd = centred
    for distance in (*NEAR, *FAR):
        motion(problem, z + distance * np.ones(len(z)), zd, "start")
        kept = not is_complete(problem.chart.store)
        if distance == NEAR[0]:
            assert kept == (problem.dof >= FEW)
        elif distance == FAR[-1]:
            assert not kept


def test_the_basis_can_be_completed(centred):
    problem, z, zd = centred
    q, v, *_ = motion(problem, z + NEAR[0], zd, "start")
    chart = problem.chart
    assert complete(chart.n, chart.store, chart.model, chart.work) == GOOD
    basis, s = chart.bases, problem.system
    assert np.abs(s.phi_q(0.0, q) @ basis.N.T).max() <= 1e-12 * np.abs(basis.N).max() * (1.0 + np.abs(s.phi_q(0.0, q)).max())
    np.testing.assert_allclose(basis.PT @ basis.N.T, np.eye(chart.n), atol=1e-11)
    np.testing.assert_allclose(basis.PT @ v, zd, atol=1e-12 * (1.0 + np.abs(zd).max()))
