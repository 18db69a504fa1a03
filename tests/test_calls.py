"""Tolerances without a meaning are warned of; the order of arguments is in `test_bad_calls`."""

import warnings

import pytest

import mbdae

from .helpers import double_pendulum


@pytest.mark.parametrize(("rtol", "message"), [
    (1e-16, r"rtol = 1e-16 is below the rounding of double precision \(2\.2e-16\): only atol counts"),
    (1e-200, "rtol = 1e-200 is below"), (2, r"rtol = 2 allows errors as large as the solution"), (1.0, "rtol = 1 allows"),
])
def test_tolerances_without_a_meaning_are_warned_of(rtol, message):
    with pytest.warns(UserWarning, match=message) as seen:
        s = mbdae.solve(double_pendulum(), mbdae.HalfImplicit(h=1e-2), (0.0, 0.05), rtol=rtol)
    assert s.success
    assert len(seen) == 1
    assert seen[0].filename == __file__


@pytest.mark.parametrize("rtol", [1e-15, 1e-6, 0.5])
def test_others_are_not(rtol):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mbdae.solve(double_pendulum(), mbdae.HalfImplicit(h=1e-2), (0.0, 0.05), rtol=rtol).success
