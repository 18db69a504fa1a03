"""Entries of Jacobians that are assembled instead of differenced, against the complex step."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import null_space

import mbdae
from mbdae import library
from mbdae.problems.regularisation import regularisation_weight

from .forms import FORMS, random_point, random_state

pytestmark = pytest.mark.thorough

NAMES = [(name, tuple(given.items())) for name in library.names() for given in ({}, *library.entry(name).variants)]
OTHERS = {"ggl, explicit": lambda s: mbdae.GGL(s, "explicit"), "mass": lambda s: mbdae.MassMatrix(s, 3),
          "mass, level 2": lambda s: mbdae.MassMatrix(s, 2), "mass, level 1": lambda s: mbdae.MassMatrix(s, 1)}


@cache
def state(key):
    s = library.system(key[0], **dict(key[1]))
    return s, random_state(s, np.random.default_rng(3))


def compare(problem, x):
    y, yd = random_point(problem, x, np.random.default_rng(4))
    f_y, f_yd = problem.known.evaluate(0.1, y, yd)
    mask = problem.known.mask
    exact_y, exact_yd = problem.jacobian_values(0.1, y, yd, 0.0), problem.jacobian_values(0.1, y, yd, 1.0, 0.0)
    assert np.abs(f_y - exact_y)[mask].max(initial=0.0) <= 1e-14 * (1.0 + np.abs(exact_y).max())
    assert np.abs(f_yd - exact_yd).max() <= 1e-14 * (1.0 + np.abs(exact_yd).max())
    assert not f_y[~mask].any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", NAMES, ids=lambda key: " ".join([key[0], *(f"{k}={v}" for k, v in key[1])]))
def test_known_entries_are_right(key, form):
    s, x = state(key)
    compare(FORMS[form](s), x)


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("name", ["double-pendulum", "heavy-top", "car-axis", "bricard", "wheelset"])
def test_known_entries_of_other_forms_are_right(name, form):
    s, x = state((name, ()))
    compare(OTHERS[form](s), x)


def test_the_underlying_ode_knows_the_identity_only():
    s, x = state(("double-pendulum", ()))
    p = mbdae.UnderlyingODE(s)
    f_y, f_yd = p.known.evaluate(0.0, *p.pack(x))
    assert not p.known.mask.any() and not f_y.any()
    np.testing.assert_array_equal(f_yd.reshape(p.n, p.n), np.eye(p.n))


def columns(problem, block):
    return problem.known.columns[problem.blocks[block]]


def test_multipliers_are_known_columns():
    """lam enters through `Phi_q^T`, mu through `T Phi_q^T` [Arnold, section 4.1]; what depends on `q` is not known."""
    s = library.system("andrews")
    ggl, index3, gear = mbdae.GGL(s), mbdae.Index3(s), mbdae.Gear(s)
    assert columns(ggl, "lam").all() and columns(ggl, "mu").all() and columns(index3, "lam").all()
    assert columns(gear, "w").all() and columns(gear, "z").all()
    assert not columns(ggl, "q").any()


def test_friction_makes_the_multipliers_unknown():
    s = library.system("slider-crank", mu=0.2)
    p = mbdae.GGL(s)
    assert s.has_friction and not columns(p, "lam").any() and columns(p, "mu").all()
    compare(p, random_state(s, np.random.default_rng(5)))
    compare(mbdae.Gear(s), random_state(s, np.random.default_rng(5)))


def test_the_explicit_form_knows_less():
    s = library.system("andrews")
    assert not columns(mbdae.GGL(s, "explicit"), "lam").any()


@pytest.mark.parametrize("form", [mbdae.GGL, mbdae.Gear])
def test_the_null_space_of_redundant_equations_is_known(form):
    """The block `-w N N^T` of the position equations and their multipliers, in `F_y` or (Gear) `F_yd`."""
    s = library.system("bricard")
    p = form(s)
    y, yd = p.pack(s.start)
    N = null_space(s.phi_q(0.0, s.start.q).toarray().T)
    unknown = p.blocks["mu" if form is mbdae.GGL else "z"]
    known = [p._csc(values).toarray()[p.equations["position"], unknown] for values in p.known.evaluate(0.0, y, yd)]
    if form is mbdae.Gear:
        known.reverse()
    w = regularisation_weight(s, "velocity")  # for the multipliers of velocities and positions
    np.testing.assert_allclose(known[0], -w * N @ N.T, atol=1e-9 * w)
    assert not known[1].any()
    mask = p._csc(p.known.mask.astype(float)).toarray()[p.equations["position"], unknown]
    assert mask.sum() == len(s.redundancy.candidates) ** 2


def test_user_functions_that_raise_are_heard():
    calls = []

    def mass(t, q):
        if calls:
            raise RuntimeError("no mass")
        return np.eye(2)

    s = mbdae.System.from_functions(nq=2, nc=0, mass=mass, force=lambda t, q, v: -q, phi=lambda t, q: np.zeros(0, q.dtype))
    p = mbdae.Index3(s)
    p.known.evaluate(0.0, p.y0, p.yd0)
    calls.append(1)
    with pytest.raises(RuntimeError, match="no mass"):
        p.known.evaluate(0.0, p.y0, p.yd0)
