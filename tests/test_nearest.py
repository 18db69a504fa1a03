"""The nearest states on the constraints by rows, compiled, are those of the general routine."""

import numpy as np
import pytest

import mbdae
from mbdae.system.assembly import on_constraints, on_constraints_of_rows, positions, velocities
from mbdae.system.nearest import states_on_constraints, transported

from .helpers import double_pendulum


def scattered(system, size, n=6):
    """Times, and states next to the start."""
    rng, start = np.random.default_rng(3), mbdae.assemble(system)
    q = np.array([system.retract(start.q, size * rng.normal(size=system.nv)) for _ in range(n)])
    return np.full(n, start.t), q, start.v + size * rng.normal(size=(n, system.nv))


@pytest.mark.parametrize("size", [1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("name", ["andrews", "bricard", "heavy-top", "four-link", "spatial-four-bar", "random-tree", "wheelset"])
def test_rows_are_those_of_the_general_routine(name, size):
    system = mbdae.library.system(name)
    t, q, v = scattered(system, size)
    given = q.copy(), v.copy()
    rows = on_constraints_of_rows(system, t, q, v)
    np.testing.assert_array_equal(q, given[0])
    np.testing.assert_array_equal(v, given[1])
    for k, (q_k, v_k) in enumerate(zip(*rows)):
        want_q = positions(system, t[k], q[k])
        want_v = velocities(system, t[k], want_q, v[k])
        np.testing.assert_allclose(system.difference(q_k, want_q), 0.0, rtol=0, atol=1e-10 * (1.0 + size / 1e-2))
        np.testing.assert_allclose(v_k, want_v, rtol=0, atol=1e-10 * (1.0 + np.abs(want_v).max()))


def test_one_state_is_a_row():
    system = mbdae.library.system("four-link")
    t, q, v = scattered(system, 1e-3)
    rows = on_constraints_of_rows(system, t, q, v)
    np.testing.assert_array_equal(rows[0][2], on_constraints(system, t[2], q[2], v[2])[0])
    np.testing.assert_array_equal(rows[1][2], on_constraints(system, t[2], q[2], v[2])[1])
    with pytest.raises(mbdae.AssemblyError, match="cannot be assembled"):
        on_constraints(mbdae.System(two_rods()), 0.0, np.array([3.0, 0.5, 0.0]), np.zeros(3))


def two_rods():
    """Two rods of unit length between points that are five apart and a bead: no position satisfies both."""
    bead = mbdae.Particle("bead", 1.0, (1, 0, 0))
    return mbdae.Mechanism("two rods", [bead], [mbdae.Rod("one", "ground", "bead", length=1.0),
                                                mbdae.Rod("two", "ground", "bead", s_i=(5, 0, 0), length=1.0)])


def test_most_rows_need_no_more():
    system = mbdae.System(double_pendulum())
    t, q, v = scattered(system, 1e-3)
    assert states_on_constraints(0, t, q, v, system.model, system.workspace()) == len(t)
    np.testing.assert_allclose([system.phi(s, x) for s, x in zip(t, q)], 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose([system.phi_q(s, x) @ y - system.nu(s, x) for s, x, y in zip(t, q, v)], 0.0, rtol=0, atol=1e-12)


def test_rows_that_need_more_are_left_as_they_are():
    system = mbdae.System(double_pendulum())
    t, q, v = scattered(system, 1e-3, 3)
    q[1] += 5.0  # too far away for steps of full length, or not
    v[2] = np.nan
    far, before = q[1].copy(), v[2].copy()
    done = states_on_constraints(0, t, q, v, system.model, system.workspace())
    assert done in (1, 2)
    if done == 1:
        np.testing.assert_array_equal(q[1], far)
    assert states_on_constraints(2, t, q, v, system.model, system.workspace()) == 2
    np.testing.assert_array_equal(v[2], before)


def test_output_off_the_constraints_is_projected():
    """Output of the underlying ODE at a loose tolerance lies on the constraints."""
    system = mbdae.System(double_pendulum())
    r = mbdae.solve(system, mbdae.SolveIvp("RK45"), (0.0, 1.0), formulation="ode", rtol=1e-3, atol=1e-3)
    assert max(np.abs(system.phi(t, q)).max() for t, q in zip(r.t, r.q)) < 1e-12
    assert max(np.abs(system.phi_q(t, q) @ v).max() for t, q, v in zip(r.t, r.q, r.v)) < 1e-11


@pytest.mark.parametrize("angle", [0.0, 1e-4, 0.7, 2.5])
def test_covectors_are_transported_by_the_logarithm(angle):
    """Against difference quotients of `d -> log(exp(theta) exp(d))`."""
    system = mbdae.library.system("heavy-top")
    q, rng = system.start.q, np.random.default_rng(1)
    x = np.zeros(system.nv)
    x[-3:] = angle * np.array([2.0, -1.0, 2.0]) / 3.0
    y, there, e = rng.normal(size=system.nv), system.retract(q, x), 1e-6
    moved = [[system.difference(system.retract(there, sign * e * d), q) for sign in (1, -1)] for d in np.eye(system.nv)]
    jacobian = np.array([(ahead - behind) / (2 * e) for ahead, behind in moved]).T
    np.testing.assert_allclose(transported(y, x, system.model, np.empty(system.nv)), jacobian.T @ y, rtol=0, atol=1e-8)
