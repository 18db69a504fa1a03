"""The same problem through every IDA, and Andrews' mechanism to the digits that are known."""

import contextlib
import io

import numpy as np
import pytest

import mbdae
import mbdae.library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

from .helpers import need

pytestmark = pytest.mark.thorough
IDAS = {"scikit-sundae": Ida(), "scikits.odes": Odes("ida"), "Assimulo": Assimulo("IDA")}


@pytest.fixture(scope="module")
def andrews():
    return mbdae.System(mbdae.library.mechanism("andrews"))


@pytest.fixture(scope="module")
def angles():
    """The seven angles at 0.03 s, to the digits of the library's reference."""
    references = [r for r in mbdae.library.entry("andrews").references if r.t == 0.03 and r.kind == "recomputed" and not r.parameters]
    names = ("beta", "theta", "gamma", "phi", "delta", "Omega", "epsilon")
    return {name: value for r in references for name, value in r.values.items() if name in names}


def worst(system, solution, angles):
    """Largest error of an angle, relative to its size."""
    end = (x[-1] for x in (solution.q, solution.v, solution.a, solution.lam))
    found = mbdae.library.entry("andrews").observe(system, solution.t[-1], *end)
    assert len(angles) == 7
    return max(abs(found[name] - value) / abs(value) for name, value in angles.items())


@pytest.mark.parametrize("form", ["ggl", "gear"])
@pytest.mark.parametrize("name", IDAS)
def test_andrews_to_eight_digits_through_each_ida(andrews, angles, name, form):
    s = mbdae.solve(andrews, need(IDAS[name]), (0.0, 0.03), formulation=form, rtol=1e-11, atol=1e-11, t_eval=[0.03])
    assert s.success, s.message
    assert worst(andrews, s, angles) < 1e-8


@pytest.mark.rounding
def test_andrews_to_eight_digits_with_radau(andrews, angles):
    """At a tolerance of 1e-12 rounding may end the run: its step becomes too small on some processors."""
    s = mbdae.solve(andrews, need(Radau13(order=5)), (0.0, 0.03), rtol=1e-11, atol=1e-13, t_eval=[0.03])
    assert s.success, s.message
    assert s.formulation == "mass"
    assert worst(andrews, s, angles) < 1e-8


@pytest.mark.parametrize("mechanism", ["double-pendulum", "slider-crank-free", "andrews"])
@pytest.mark.parametrize("make", [mbdae.GGL, mbdae.Gear, mbdae.Index1], ids=lambda c: c.__name__)
def test_one_problem_gives_one_trajectory_in_every_ida(mechanism, make):
    """Same problem object, same tolerances: the same motion to the tolerance, and steps of comparable number."""
    problem, span = make(mbdae.System(mbdae.library.mechanism(mechanism))), 0.03 if mechanism == "andrews" else 0.5
    times = np.linspace(0.0, span, 6)
    options = [{"rtol": f * 1e-7, "atol": f * 1e-9, "t_eval": times} for f in (0.7, 0.8, 0.9, 1.0)]
    runs = {name: [mbdae.solve(problem, need(method), (0.0, span), **o) for o in options] for name, method in IDAS.items()}
    exact = mbdae.solve(problem.system, SolveIvp(), (0.0, span), rtol=1e-12, atol=1e-13, t_eval=times)
    scale = max(1.0, np.abs(exact.q).max())
    for name, s in ((name, s) for name, several in runs.items() for s in several):
        assert s.success, (name, s.message)
        assert np.abs(s.q - exact.q).max() / scale < 100 * 1e-7, name
    steps = [np.median([s.statistics.steps for s in several]) for several in runs.values()]  # single runs scatter
    assert max(steps) < 2.0 * min(steps), dict(zip(runs, steps))


@pytest.mark.parametrize("form", ["index3", "ggl"])
def test_ida_at_its_defaults_fails_on_andrews(form):
    """What comes with a problem is needed: the bare residual gets a solver nowhere, not even with a consistent start."""
    from sksundae.ida import IDA

    p = mbdae.problem("andrews", form)

    def residual(t, y, yd, out):
        p.residual(t, y, yd, out)

    with contextlib.redirect_stdout(io.StringIO()):  # the package prints
        s = IDA(residual).solve(np.linspace(0.0, 0.03, 4), p.y0, p.yd0)
    assert not s.success and s.t[-1] == 0.0


def test_ida_with_the_settings_of_the_problem_reaches_nine_digits(andrews, angles):
    """At one of several tolerances near to each other: so close to rounding the errors scatter by a factor of fifty between them."""
    def error(factor):
        s = mbdae.solve(andrews, Ida(), (0.0, 0.03), formulation="ggl", rtol=factor * 1e-11, atol=factor * 1e-12, t_eval=[0.03])
        assert s.success, s.message
        return worst(andrews, s, angles)

    errors = [error(factor) for factor in (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)]
    assert min(errors) < 1e-9 and max(errors) < 1e-8
