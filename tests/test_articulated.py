"""Accelerations of trees without constraints by the articulated-body algorithm: the same as from the factors of the mass matrix."""

import numpy as np
import pytest

import mbdae
from mbdae import System, library
from mbdae.system import evaluate as ev
from mbdae.system import layout, motion, sparse
from mbdae.system.codes import GOOD, NOT_FINITE
from tests.test_rheonomic import DRIVEN, machine
from tests.test_tree import one_of_each

T0 = 0.3


def free_bodies():
    """A body of each kind that nothing holds, joined by springs."""
    bodies = [mbdae.RigidBody("rigid", 2.0, (0.1, 0.2, 0.25), (0.0, 0.0, 1.0), velocity=(1.0, 0.0, 0.0)),
              mbdae.Particle("particle", 0.5, (1.0, 0.0, 0.0)), mbdae.PlanarBody("planar", 1.5, 0.2, (0.0, 2.0), 0.4)]
    springs = [mbdae.TSDA(f"to {name}", "rigid", name, s_i=(0.1, 0.2, 0.0), k=50.0, c=0.3, l0=0.5) for name in ("particle", "planar")]
    return mbdae.Mechanism("free", bodies, forces=springs, gravity=(0.0, -9.81, 0.0))


TREES = {"all joints": lambda: (one_of_each(1, False), ()), "all joints reversed": lambda: (one_of_each(2, True), ()),
         "branches": lambda: (library.mechanism("random-tree"), ()), "free bodies": lambda: (free_bodies(), ()),
         "prescribed": lambda: (machine(loop=False), DRIVEN)}


def system_and_state(name):
    """A tree without constraints, and a random state."""
    mechanism, prescribed = TREES[name]()
    system, rng = System(mechanism, coordinates="joint", prescribed=prescribed), np.random.default_rng(7)
    assert motion.is_free_tree(system.model)
    q = system.retract(system.start.q, 0.3 * rng.normal(size=system.nv))
    return system, q, rng.normal(size=system.nv), rng


def accelerations(system, q, v, work):
    """Accelerations and the code; `work` has the factors afterwards."""
    a, _, code, _ = ev.accelerations(T0, q, v, np.zeros(0, work.dtype), system.model, work)
    return a, code


@pytest.mark.parametrize("name", TREES)
def test_accelerations_solve_the_equations_of_motion(name):
    system, q, v, _ = system_and_state(name)
    none = np.zeros(0)
    a, code = accelerations(system, q, v, system.workspace())
    force = ev.force(T0, q, v, none, system.model, system.workspace())
    expected, _, _ = ev.solve_kkt(T0, q, force, none, system.model, system.workspace())
    assert code == GOOD
    assert np.abs(a - expected).max() <= 1e-11 * np.abs(expected).max()
    M = system.mass(T0, q)
    assert np.abs(M @ a - force).max() <= 1e-11 * (np.abs(M) @ np.abs(a)).max()


@pytest.mark.parametrize("name", TREES)
def test_the_mass_matrix_and_its_factors_are_there_afterwards(name):
    """Which refinement, projections and impacts take from there."""
    system, q, v, rng = system_and_state(name)
    work, x = system.workspace(), rng.normal(size=system.nv)
    accelerations(system, q, v, work)
    product, solution, M = np.empty_like(x), np.empty_like(x), system.mass(T0, q)
    sparse.mass_times(layout.part(system.model, work, layout.W_MASS), x, system.model, product)
    sparse.mass_solve(layout.part(system.model, work, layout.W_MINV), product, system.model, solution)
    assert np.abs(product - M @ x).max() <= 1e-12 * np.abs(product).max()
    assert np.abs(solution - x).max() <= 1e-10 * np.abs(x).max()


@pytest.mark.parametrize("name", TREES)
def test_complex_numbers_have_the_derivative(name):
    system, q, v, rng = system_and_state(name)
    dq, dv, h = rng.normal(size=system.nq), rng.normal(size=system.nv), 1e-30
    a, _ = accelerations(system, q + 1j * h * dq, v + 1j * h * dv, system.workspace(complex))

    def moved(s):
        return accelerations(system, q + s * dq, v + s * dv, system.workspace())[0]

    e = 1e-4
    expected = (8.0 * (moved(e) - moved(-e)) - (moved(2 * e) - moved(-2 * e))) / (12.0 * e)
    assert np.abs(a.imag / h - expected).max() <= 1e-7 * np.abs(expected).max()
    assert np.abs(a.real - moved(0.0)).max() <= 1e-12 * np.abs(a.real).max()


def test_values_that_are_not_finite_have_a_code():
    system, q, v, _ = system_and_state("branches")
    v[0] = np.inf
    with np.errstate(invalid="ignore"):
        assert accelerations(system, q, v, system.workspace())[1] == NOT_FINITE


def test_systems_with_constraints_are_no_free_trees():
    for system in (library.system("double-pendulum"), System(library.mechanism("double-pendulum"), coordinates="joint"),
                   System(library.mechanism("four-link"), coordinates="joint")):
        assert system.nc > 0 and not motion.is_free_tree(system.model)
