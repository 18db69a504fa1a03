"""Runs leave no objects behind."""

import gc

import pytest

import mbdae
from mbdae import registry as methods

from .helpers import need

pytestmark = pytest.mark.thorough

METHODS = ("HalfImplicit", "FullyImplicit", "HHT", "RosenbrockNystrom", "ProjectedGauss", "Rattle", "Spark", "Bdf", "DormandPrince",
           "RadauIIA",
           "SolveIvp:DOP853", "Ida", "Cvode", "Assimulo:IDA", "Assimulo:CVode", "Assimulo:GLIMDA")


@pytest.mark.parametrize("name", METHODS)
def test_runs_leave_no_objects(system, name):
    spec = methods.find(name)
    if spec.family.availability() is not None:
        need(spec.family)
    method = spec.make(**({"h": 2e-3} if spec.control == "h" else {}))

    def left_by(runs):
        for _ in range(runs):
            mbdae.solve(system, method, (0.0, 0.01), rtol=1e-4, atol=1e-4)
        gc.collect()
        return len(gc.get_objects())

    before = left_by(3)  # and caches
    assert left_by(20) - before <= 5  # less than one for each run
