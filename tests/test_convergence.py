"""The one-step integrators converge to the reference values of the library, with order one."""

import numpy as np
import pytest

import mbdae
from mbdae import library

# time of the comparison and the larger of two steps; the stiff pendulum needs steps below twice the reciprocal of its fast eigenvalue
SETTINGS = {
    "single-pendulum": (0.5, 1e-3),
    "double-pendulum": (1.0, 1e-3),
    "slider-crank": (0.25, 1e-3),
    "slider-crank-free": (0.25, 2.5e-4),
    "four-link": (0.25, 1e-3),
    "chain": (0.5, 5e-4),
    "stiff-double-pendulum": (0.1, 4e-6),
    "andrews": (0.01, 1e-5),
}


def errors(name, method, t):
    """Errors of all outputs listed for the time `t`."""
    entry = library.entry(name)
    system = mbdae.System(library.mechanism(name))
    solution = mbdae.solve(system, method, (0.0, t), t_eval=[t])
    assert solution.success, solution.message
    found = entry.observe(system, t, solution.q[0], solution.v[0], solution.a[0], solution.lam[0])
    listed = {k: v for r in entry.references if r.t == t and not r.parameters and r.kind != "published" for k, v in r.values.items()}
    assert listed
    return {k: abs(found[k] - v) for k, v in listed.items()}


@pytest.mark.parametrize("make", [mbdae.HalfImplicit, mbdae.FullyImplicit], ids=lambda m: m.__name__)
@pytest.mark.parametrize("name", SETTINGS)
def test_errors_halve_with_the_step(name, make):
    t, h = SETTINGS[name]
    tolerance = {mbdae.HalfImplicit: lambda step: 1e-13, mbdae.FullyImplicit: lambda step: 1e-9 / step}[make]
    coarse, fine = (errors(name, make(h=step, tol=tolerance(step)), t) for step in (h, h / 2))
    scale = max(coarse.values())
    ratios = np.array([coarse[k] / fine[k] for k in coarse if coarse[k] > 1e-3 * scale])
    assert np.all((ratios > 1.7) & (ratios < 4.6)), dict(zip(coarse, ratios))  # some converge with order two, none slower than one
    assert np.median(ratios) == pytest.approx(2.0, abs=0.25) or np.median(ratios) == pytest.approx(4.0, abs=0.5)
