"""Derivatives whose columns several threads evaluate: the same numbers, and failures that are reported as without threads."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import System, library
from tests import linkages
from tests.helpers import thorough_but
from tests.test_rheonomic import machine

METHODS = (mbdae.RosenbrockNystrom, mbdae.SdirkFirstOrder, mbdae.SdirkDescriptor, mbdae.TrapezoidalStateSpace,
           partial(mbdae.SdirkDescriptor, matrix="sparse"), partial(mbdae.TrapezoidalDescriptor, matrix="sparse"))
SYSTEMS = {"linkage": lambda: System(linkages.bennett()), "rheonomic": lambda: System(machine()),
           "prescribed": lambda: System(machine(), coordinates="joint", prescribed=("spin", "hinge"))}


def solved(system, method, t_end=0.2, **more):
    return mbdae.solve(system, method, (0.0, t_end), rtol=1e-5, atol=1e-5, **more)


@pytest.mark.parametrize("jacobian", thorough_but(["exact"], ["exact", "complex", "difference"]))
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_numbers_are_the_same(name, jacobian):
    system = SYSTEMS[name]()
    expected = solved(system, mbdae.RosenbrockNystrom(jacobian=jacobian))
    for threads in (2, 3, 100):
        found = solved(system, mbdae.RosenbrockNystrom(jacobian=jacobian, threads=threads))
        assert found.success, found.message
        assert np.array_equal(found.t, expected.t)
        assert np.abs(found.q - expected.q).max() <= 1e-12
        for count in ("steps", "rejected_error", "jacobians", "residuals_jacobian"):
            assert getattr(found.statistics, count) == getattr(expected.statistics, count), count


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
def test_all_methods(method):
    system = System(library.mechanism("closed-loop-bars"))
    expected, found = solved(system, method()), solved(system, method(threads=2), t_eval=[0.1, 0.2], dense_output=True)
    assert found.success, found.message
    assert found.statistics.jacobians == expected.statistics.jacobians > 0
    assert np.abs(found.q[-1] - expected.q[-1]).max() <= 1e-12


def pushed(force):
    body = mbdae.RigidBody("body", 1.0, (0.1, 0.2, 0.3), (0.3, 0.0, 0.0))
    joint = mbdae.Spherical("ball", "ground", "body", s_j=(-0.3, 0.0, 0.0))
    return System(mbdae.Mechanism("pushed", [body], [joint], [], [mbdae.UserForce("push", ("body",), force)]))


def test_forces_in_python():
    def spring(t, r, A, v, omega, F, T):
        F[0] = -50.0 * r[0] - v[0]

    expected, found = (solved(pushed(spring), mbdae.RosenbrockNystrom(threads=n)) for n in (1, 2))
    assert np.abs(found.q[-1] - expected.q[-1]).max() <= 1e-12


def test_what_a_force_raises_arrives_unchanged():
    def broken(t, r, A, v, omega, F, T):
        if t > 0.05:
            raise RuntimeError("worn out")

    with pytest.raises(RuntimeError, match="worn out"):
        solved(pushed(broken), mbdae.RosenbrockNystrom(threads=2))


def test_derivatives_that_are_not_finite_are_named():
    """Only the forces at displaced states are not: the run ends as without threads."""
    def rough(t, r, A, v, omega, F, T):
        F[0] = np.nan if abs(r[0, 1]) > 1e-12 and t > 0.05 else -r[0]

    plain, found = (solved(pushed(rough), mbdae.RosenbrockNystrom(threads=n, jacobian="difference", fixed_step=0.01)) for n in (1, 2))
    assert (found.status, found.message) == (plain.status, plain.message)
    assert not found.success
    assert found.t[-1] == plain.t[-1]


def test_runs_side_by_side():
    systems = [System(library.mechanism("closed-loop-bars")) for _ in range(4)]
    expected = solved(systems[0], mbdae.RosenbrockNystrom()).q[-1]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda s: solved(s, mbdae.RosenbrockNystrom(threads=2)), systems):
            assert np.abs(found.q[-1] - expected).max() <= 1e-12


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, None])
def test_bad_numbers_of_threads(threads):
    with pytest.raises(ValueError, match="RosenbrockNystrom: threads must be at least 1 and an integer, got"):
        mbdae.RosenbrockNystrom(threads=threads)
