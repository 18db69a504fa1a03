"""Friction in joints that hold a body twice: reactions of minimum norm, on which the friction depends, are the same with every method."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import GROUND

HEIGHTS = {"low": -0.8, "high": 0.8}
UP, ALONG = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
FEW = {"RadauIIA": (mbdae.RadauIIA(), None), "Ida:gear": (mbdae.Ida(), "gear"), "Bdf:index3": (mbdae.Bdf(), "index3"),
       "RosenbrockNystrom": (mbdae.RosenbrockNystrom(), None)}
MORE = {"SolveIvp:Radau": (mbdae.SolveIvp("Radau"), "ode"), "Cvode:partition": (mbdae.Cvode(), "partition"),
        "SdirkDescriptor": (mbdae.SdirkDescriptor(), None), "Trapezoidal": (mbdae.TrapezoidalStateSpace(), None),
        "HHT": (mbdae.HHT(), None), "NullSpaceHHT": (mbdae.NullSpaceHHT(), None), "Spark": (mbdae.Spark(h=None), None),
        "ProjectedGauss": (mbdae.ProjectedGauss(h=None), None), "Automatic": (mbdae.Automatic(), None),
        **{f"Ida:{form}": (mbdae.Ida(), form) for form in ("ggl", "index2", "index1")},
        **{f"Bdf:{form}": (mbdae.Bdf(), form) for form in ("ggl", "gear", "index2", "index1")}}


@cache
def door(kind):
    """A door on two hinges of one axis, or a block on two guides of one direction: five equations too many."""
    body = mbdae.RigidBody("door", 10.0, (4.0, 3.3, 0.8), position=(0.5, 0.0, 0.0))
    axis = UP if kind is mbdae.Revolute else ALONG
    joints = [kind(name, GROUND, "door", (0.0, 0.0, z), (-0.5, 0.0, z), axis, axis) for name, z in HEIGHTS.items()]
    pin = {"radius": 0.02} if kind is mbdae.Revolute else {}
    friction = [mbdae.Friction(f"rubbing {name}", name, 0.3, v_s=1e-2, smooth=True, **pin) for name in HEIGHTS]
    return mbdae.System(mbdae.Mechanism("door", [body], joints, forces=friction, gravity=(3.0, 2.0, -9.0)))


@cache
def exact(kind):
    return mbdae.solve(door(kind), mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(name, marks=pytest.mark.thorough) for name in MORE)])
@pytest.mark.parametrize("kind", (mbdae.Revolute, mbdae.Translational))
def test_all_methods_agree(kind, name):
    method, form = (FEW | MORE)[name]
    run, known = mbdae.solve(door(kind), method, (0.0, 1.0), rtol=1e-8, atol=1e-10, formulation=form), exact(kind)
    assert run.success, run.message
    for found, right in ((run.q, known.q), (run.v, known.v), (run.lam, known.lam)):
        assert np.abs(found[-1] - right[-1]).max() < 1e-6 * np.abs(right[-1]).max()


def test_one_hinge_with_the_friction_of_both():
    """Where the reactions are those of a symmetric load, each of two hinges has half of them: the motion is that of one hinge."""
    body = mbdae.RigidBody("door", 10.0, (4.0, 3.3, 0.8), position=(0.5, 0.0, 0.0))
    hinge = mbdae.Revolute("middle", GROUND, "door", (0.0, 0.0, 0.0), (-0.5, 0.0, 0.0), UP, UP)
    friction = mbdae.Friction("rubbing", "middle", 0.3, radius=0.02, v_s=1e-2, smooth=True)
    one = mbdae.System(mbdae.Mechanism("door", [body], [hinge], forces=[friction], gravity=(3.0, 2.0, 0.0)))
    two = mbdae.System(mbdae.Mechanism("door", [body], list(door(mbdae.Revolute).mechanism.joints),
                                       forces=list(door(mbdae.Revolute).mechanism.forces), gravity=(3.0, 2.0, 0.0)))
    runs = [mbdae.solve(s, mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-10, atol=1e-12) for s in (one, two)]
    assert all(r.success for r in runs)
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)
    frictionless = mbdae.System(mbdae.Mechanism("door", [body], [hinge], gravity=(3.0, 2.0, 0.0)))
    free = mbdae.solve(frictionless, mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-10, atol=1e-12)
    assert np.abs(free.q[-1] - runs[0].q[-1]).max() > 1e-3
