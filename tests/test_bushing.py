"""Bushings of the passenger car: kernels, energy, stiffness; forces of least energy at rest."""

import numpy as np
import pytest

import mbdae
from mbdae import System, extend
from mbdae.library.bushing import Bushing
from mbdae.library.passenger_car_statics import loads_at_rest
from mbdae.library.rigid import place, rates
from mbdae.system.assembly import completed

from .helpers import rigid


def bushings(rng, damped=True):
    """Two bodies, one bushing between them and one on the ground."""
    some = {"k": rng.uniform(1.0, 3.0, 3), "k_r": rng.uniform(1.0, 3.0, 3), "load": rng.normal(size=3)}
    if damped:
        some |= {"c": rng.uniform(0.1, 0.3, 3), "c_r": rng.uniform(0.1, 0.3, 3)}
    forces = [Bushing("one", "a", "b", rng.normal(size=3), rng.normal(size=3), **some),
              Bushing("two", "ground", "b", rng.normal(size=3), rng.normal(size=3), **some)]
    return mbdae.Mechanism("bushings", [rigid(rng, "a"), rigid(rng, "b")], forces=forces)


def test_kernels_of_bushings_are_consistent(rng):
    extend.check(bushings(rng))


def test_bushings_without_damping_keep_the_energy_and_have_no_net_force(rng):
    s = System(bushings(rng, damped=False))
    x = completed(s, 0.0, s.start.q, rng.normal(size=s.nv))

    def energy(h):
        return s.energy(0.0, s.retract(x.q, h * x.v + 0.5 * h * h * x.a), x.v + h * x.a)

    assert (energy(1e-5) - energy(-1e-5)) / 2e-5 == pytest.approx(0.0, abs=1e-8)
    free = System(mbdae.Mechanism("pair", s.mechanism.bodies, forces=s.mechanism.forces[:1]))
    Q = free.force(0.0, x.q, x.v)
    moments = sum(np.cross(r, Q[6 * k:6 * k + 3]) + A @ (Q[6 * k + 3:6 * k + 6] - np.cross(*_spin(free, k, x.v)))
                  for k, (r, A) in enumerate(place(x.q, k) for k in range(2)))
    assert np.abs(Q[:3] + Q[6:9]).max() <= 1e-12 * np.abs(Q).max() and np.abs(moments).max() <= 1e-11 * np.abs(Q).max()


def _spin(s, k, v):
    """`J omega` and `omega`, whose product is the gyroscopic torque."""
    omega = rates(v, k)[1]
    return np.array(s.mechanism.bodies[k].inertia).reshape(3, 3) @ omega, omega


def test_a_bushing_has_the_stiffness_that_is_given():
    """Small displacements and turns of body j about one axis of body i after the other, which is turned itself."""
    k, k_r, c, c_r = (1.0, 2.0, 3.0), (4.0, 7.0, 5.0), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    A = mbdae.model.rotations.to_matrix([0.6, 0.8, 0.0, 0.0])
    bodies = [mbdae.RigidBody(name, 1.0, (1.0, 1.0, 1.0), orientation=A) for name in "ij"]
    s = System(mbdae.Mechanism("m", bodies, forces=[Bushing("b", "i", "j", k=k, c=c, k_r=k_r, c_r=c_r)]))
    q0, h = s.initial_guess()[0], 1e-6
    for axis in range(3):
        along, about = np.zeros(12), np.zeros(12)
        along[6:9], about[9 + axis] = A[:, axis], 1.0
        for move, rows, stiffness, damping, turn in ((along, slice(6, 9), k, c, A), (about, slice(9, 12), k_r, c_r, np.eye(3))):
            expected = -turn[:, axis]
            np.testing.assert_allclose(s.force(0.0, s.retract(q0, h * move), np.zeros(12))[rows] / h, stiffness[axis] * expected, atol=1e-5)
            np.testing.assert_allclose(s.force(0.0, q0, h * move)[rows] / h, damping[axis] * expected, atol=1e-5)


@pytest.mark.parametrize(("field", "value"), [("k", (1.0, -1.0, 1.0)), ("c_r", (1.0, 1.0)), ("load", (np.nan, 0.0, 0.0))])
def test_bad_bushings_are_refused(field, value):
    with pytest.raises(ValueError, match=field):
        Bushing("b", "i", "j", **{field: value})


def test_bushings_on_particles_are_refused():
    bodies = [mbdae.Particle("p", 1.0), mbdae.RigidBody("b", 1.0, (1.0, 1.0, 1.0))]
    with pytest.raises(ValueError, match="'p' must be a rigid body or the ground"):
        mbdae.Mechanism("m", bodies, forces=[Bushing("bush", "p", "b")])


def test_bodies_that_nothing_holds_have_no_forces_at_rest():
    with pytest.raises(ValueError, match="cannot hold the bodies"):
        loads_at_rest([mbdae.RigidBody("b", 1.0, (1.0, 1.0, 1.0))], (), (), {})


def test_forces_at_rest_have_the_least_energy():
    """A beam on two springs beside each other and a third one: by hand."""
    beam = mbdae.RigidBody("b", 2.0, (1.0, 1.0, 1.0))
    k = {"left": (1.0, -1.0), "near": (3.0, -1.0), "right": (1.0, 1.0)}
    springs = [Bushing(n, "ground", "b", (x, 0, 0), (x, 0, 0), k=(1e6 * c,) * 3) for n, (c, x) in k.items()]
    found = loads_at_rest([beam], (), springs, {})
    assert {n: round(float(f[2]), 9) for n, f in found.items()} == {"left": 0.25 * 9.81, "near": 0.75 * 9.81, "right": 9.81}
