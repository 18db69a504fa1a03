"""Fortran codes called in the libraries of their packages, for the tests of their runs: the codes with forms, and comparison of runs."""

import numpy as np
import pytest

import mbdae
from mbdae import MassMatrix
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.fortran import library as lib
from mbdae.adapters.fortran.assimulo_run import DIRECT_ASSIMULO
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13

FORMS = ("ggl", "gear", "index2", "index1", "index3")
SMALL = ("double-pendulum", "slider-crank")


def _installed(package, module, name):
    try:
        return bool(lib.routine(package, module, name))
    except ImportError:
        return False


DAEPACK = _installed("scikits-odes-daepack", "scikits_odes_daepack.ddaspk", "ddaspk_")
NO_DAEPACK = pytest.mark.skipif(not DAEPACK, reason="scikits-odes-daepack 3.0.0 is not installed: make setup-all")
NO_RADAU = pytest.mark.skipif(not _installed("pyradau13", "pyradau13", "radau_"), reason="pyradau13 0.5 is not installed")
NO_ASSIMULO = pytest.mark.skipif(not all(_installed(*names[:3]) for names in DIRECT_ASSIMULO.values()),
                                 reason="assimulo-testing 3.9.0b2 is not installed")
OF_ASSIMULO = (("RodasODE", "ode"), ("RodasODE", "partition"), ("Radau5DAE", "ggl"), ("Radau5DAE", "index3"), ("Dopri5", "ode"),
               ("Dopri5", "tangent"), ("ODASSL", "ggl"), ("ODASSL", "index3"), ("LSODAR", "ode"), ("LSODAR", "partition"),
               ("GLIMDA", "ggl"), ("GLIMDA", "index2"))
RUNS = [*(pytest.param(code, form, marks=NO_DAEPACK) for code, form in (("ddaspk", "ggl"), ("lsodi", "index1"))),
        *(pytest.param("radau", level, marks=NO_RADAU) for level in (2, 3)),
        *(pytest.param(code, form, marks=NO_ASSIMULO) for code, form in OF_ASSIMULO)]
KINDS = pytest.mark.parametrize(("code", "form"), RUNS)


def method(code, **options):
    return Radau13(**options) if code == "radau" else (Assimulo if code in DIRECT_ASSIMULO else Odes)(code, **options)


def posed(target, form):
    """A problem in a form, or the one with a mass matrix whose constraints are on a level."""
    system = target if isinstance(target, mbdae.System) else mbdae.problem(target).system
    return MassMatrix(system, form) if isinstance(form, int) else mbdae.problem(system, formulation=form)


def both(target, form, code, span, options=None, **more):
    """The solutions in the library and through the package, each of a new problem: joint friction starts from the last multipliers."""
    return [mbdae.solve(posed(target, form), method(code, backend=b, **options or {}), span, **more) for b in ("library", "wrapper")]


def same(a, b):
    """The same steps but for rounding."""
    assert a.status == b.status, (a.message, b.message)
    assert a.message == b.message
    for name in ("steps", "residuals", "residuals_jacobian", "jacobians", "rejected_error", "rejected_newton", "newton_iterations",
                 "factorisations"):
        x, y = getattr(a.statistics, name), getattr(b.statistics, name)
        counts_number = name == "residuals" and b.method == "Assimulo ODASSL"
        assert y is None or x == y - counts_number, (name, x, y)  # Assimulo evaluates once to count the equations
    np.testing.assert_allclose(a.t, b.t, rtol=1e-9)
    for name in ("q", "v", "lam"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, atol=1e-8 * (1.0 + np.abs(y).max(initial=0.0)), rtol=0.0)
