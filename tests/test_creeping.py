"""Where step sizes tend to zero at a singular position the run ends with `SINGULAR`, instead of a million of accepted steps."""

import numpy as np
import pytest

import mbdae
from mbdae.registry import find
from mbdae.results.creeping import WINDOW, CreepWatch

from .properties import linkage
from .random_mechanisms import thrown

SINGULAR_AT = 0.381094


@pytest.fixture(scope="module")
def flat():
    """A linkage of Sarrus whose platform passes between its feet, where six axes lie in one plane; and its start."""
    rng = np.random.default_rng((920009, 16))
    return thrown(linkage(rng), rng)


@pytest.mark.parametrize(("name", "tol"), [("SolveIvp:DOP853:ode", 1e-12), ("Ida:index1", 1e-12), ("Cvode:BDF:ode", 3e-13),
                                           pytest.param("SolveIvp:DOP853:ode", 1e-9, marks=pytest.mark.thorough),
                                           pytest.param("SolveIvp:RK45:ode", 1e-11, marks=pytest.mark.thorough),
                                           ("SolveIvp:DOP853:partition", 1e-12), ("SdirkFirstOrder", 1e-12), ("RosenbrockNystrom", 1e-13)])
def test_runs_that_creep_end(flat, name, tol):
    system, start = flat  # at 1e-12 the steps of CVODE pass over the position on some machines
    spec = find(name)
    r = mbdae.solve(system, spec.make(), (0.0, 0.4), formulation=spec.formulation, state=start, rtol=tol, atol=tol)
    assert r.status == mbdae.Status.SINGULAR, r.message
    assert r.statistics.steps <= 10 * WINDOW
    assert r.t[-1] == pytest.approx(SINGULAR_AT, abs=1e-4)
    assert "about to lose rank" in r.message and "singular position" in r.message


@pytest.mark.parametrize(("name", "tol"), [("DormandPrince", 1e-12), ("DormandPrince:5", 1e-11)])
def test_explicit_methods_with_projections_end_before(flat, name, tol):
    """Where the projection magnifies rounding above the tolerance, a thousandth of a second before."""
    system, start = flat
    r = mbdae.solve(system, find(name).make(), (0.0, 0.4), state=start, rtol=tol, atol=tol)
    assert r.status == mbdae.Status.SINGULAR, r.message
    assert SINGULAR_AT - 2e-3 < r.t[-1] < SINGULAR_AT + 1e-4 and r.statistics.steps <= 10 * WINDOW
    assert "lose rank" in r.message and "singular position" in r.message


def test_it_takes_two_windows_of_short_steps_at_a_singular_position(flat):
    system, start = flat
    near = mbdae.solve(system, find("SolveIvp:DOP853:partition").make(), (0.0, SINGULAR_AT), state=start, rtol=1e-9, atol=1e-9).q[-1]
    watch = CreepWatch(system, start)
    assert watch.active
    assert watch.after(1000, 0.38, near) is None  # nothing to compare with
    assert watch.after(2000, 0.38 + 1e-6, near) is None  # the first window
    assert watch.after(2000, 0.38 + 1e-6, near) is None  # the same one
    assert watch.after(3000, 0.38 + 2e-6, near).status == mbdae.Status.SINGULAR
    elsewhere = CreepWatch(system, start)
    times, places = (0.3, 0.3 + 1e-6, 0.3 + 2e-6, 0.3 + 3e-6, 0.5, 0.7, 0.9), [start.q] * 4 + [near] * 3
    ends = zip(range(1000, 8000, 1000), times, places)
    assert all(elsewhere.after(*end) is None for end in ends)  # short steps at regular positions, and long ones at a singular one


@pytest.mark.parametrize("method", ["RosenbrockNystrom", "SolveIvp:DOP853:partition", "DormandPrince"])
def test_dense_output_ends_with_the_solution(method):
    """A step may lead across a singular position at which the method cannot interpolate."""
    rng = np.random.default_rng((20261125, 59))
    system, start = thrown(linkage(rng), rng)
    spec = find(method)
    r = mbdae.solve(system, spec.make(), (0.0, 0.4), formulation=spec.formulation, state=start, rtol=1e-8, atol=1e-8, dense_output=True)
    q, v, _, _ = r.sol(r.t[-1])
    np.testing.assert_allclose(q, r.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, r.v[-1], rtol=0, atol=1e-11)
    assert r.statistics.steps == len(r.t) - 1
    if not r.success:
        assert r.status == mbdae.Status.SINGULAR, r.message
        with pytest.raises(ValueError, match="dense output"):
            r.sol(r.t[-1] + 0.01)


def test_it_is_compared_with_the_start_of_the_run():
    """Which is given: that of the system cannot be assembled."""
    bead = mbdae.Particle("bead", 1.0, (0, 0, 0))
    rods = [mbdae.Rod(f"rod {k}", "ground", "bead", s_i=(k, 0, 0), length=1.0) for k in (0, 1)]
    system = mbdae.System(mbdae.Mechanism("bead", [bead], rods, gravity=(0, 0, -9.81)))
    with pytest.raises(mbdae.AssemblyError):
        _ = system.start
    start = mbdae.State(0.0, np.array([0.5, 0.0, -0.75**0.5]), *(np.zeros(n) for n in (3, 3, 2)))
    watch = CreepWatch(system, start)
    assert watch.active
    assert [watch.after(n, 0.1 + 1e-9 * n, start.q) for n in (1000, 2000, 3000)] == [None] * 3
    aligned = np.array([0.5, 0.0, 1e-9])
    stuck = CreepWatch(system, start)
    causes = [stuck.after(n, t, aligned) for n, t in ((1000, 0.1), (2000, 0.1 + 1e-8), (3000, 0.1 + 2e-8))]
    assert causes[:2] == [None, None] and causes[2].status == mbdae.Status.SINGULAR
