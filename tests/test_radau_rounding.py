"""RadauIIA at tolerances near rounding: small unknowns beside large ones."""

from functools import cache

import numpy as np
import pytest

import mbdae

SATELLITE_ROWS = np.linspace(0.0, 1000.0, 101)


@cache
def _satellites():
    """Satellites at 7e6 m with tethers of 1 km, and their motion."""
    system = mbdae.library.system("tethered-satellites")
    exact = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 1000.0), rtol=1e-12, atol=1e-14, t_eval=SATELLITE_ROWS)
    assert exact.success, exact.message
    return system, exact


@pytest.mark.parametrize("rtol", [3e-9, 1e-9, 1e-10])
def test_small_unknowns_beside_large_ones_at_a_tight_tolerance(rtol):
    """The rounding of velocities in reactions, and of positions and velocities in those next to zero."""
    system, exact = _satellites()
    found = mbdae.solve(system, mbdae.RadauIIA(), (0.0, 1000.0), rtol=rtol, atol=1e-2 * rtol, t_eval=SATELLITE_ROWS)
    assert found.success, found.message
    for x, known in ((found.q, exact.q), (found.v, exact.v)):
        assert np.abs(x - known).max() < 100.0 * rtol * (np.abs(known).max() + 0.01)


@pytest.mark.parametrize("order", ["variable", 5, 9, 13])
def test_newtons_method_ends_at_rounding_whatever_the_tolerance(order):
    """Of 20 tolerances from 1e-8 to 1e-11 a third of the runs ended with NEWTON_FAILED where rounding was taken for divergence."""
    system, exact = _satellites()
    for rtol in np.logspace(-8, -11, 20):
        found = mbdae.solve(system, mbdae.RadauIIA(order), (0.0, 1000.0), rtol=rtol, atol=1e-2 * rtol, t_eval=SATELLITE_ROWS)
        assert found.success, (rtol, found.message)
        assert found.statistics.steps < 2000
        for x, known in ((found.q, exact.q), (found.v, exact.v)):
            assert np.abs(x - known).max() < 100.0 * rtol * (np.abs(known).max() + 0.01), rtol
