"""Every mechanism of the library in every formulation: consistent starts, exact Jacobians, complete patterns, assembly from afar."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.problems import TangentStateSpace

from .forms import FORMS, by_complex_step, by_differences, displaced, open_levels, random_point, random_state

pytestmark = pytest.mark.thorough

BOUND = 1e-12  # of what is left open, relative to the size of the terms
STATES = 20
VARIANTS = [(name, tuple(given.items())) for name in library.names() for given in ({}, *library.entry(name).variants)]
SMALL = 130  # unknowns up to which Jacobians are compared column by column


def label(key):
    return " ".join([key[0], *(f"{k}={v}" for k, v in key[1])])


SHARP = ("rail-carriage",)  # contacts within micrometres: differences with the steps of this file have no digits, see its own tests


@cache
def system(key):
    return library.system(key[0], **dict(key[1]))


@cache
def states(key):
    """Random consistent states; the seed is that of the name."""
    s, rng = system(key), np.random.default_rng(len(label(key)))
    return [random_state(s, rng) for _ in range(STATES)]


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_the_start_is_consistent_on_all_levels(key):
    s = system(key)
    assert all(x <= BOUND for x in open_levels(s, s.start).values()), open_levels(s, s.start)
    q, _ = s.initial_guess()
    assert np.abs(s.difference(s.start.q, q)).max() < 2e-2 * (1.0 + np.abs(q).max())  # the guess was nearly there


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_assembly_from_afar_ends_on_the_constraints(key):
    for x in states(key):
        assert max(open_levels(system(key), x).values()) <= BOUND
    assert np.ptp([x.q for x in states(key)], axis=0).max() > 0.0


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_every_form_starts_with_a_vanishing_residual(key):
    s = system(key)
    for make in FORMS.values():
        p = make(s)
        y, yd = p.y0, p.yd0
        size = np.abs(s.force(0.0, s.start.q, s.start.v, s.start.lam)).max() + np.abs(y).max() + np.abs(yd).max()
        assert np.abs(p.residual(0.0, y, yd)).max() <= BOUND * (1.0 + size), p


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_jacobians_are_exact_and_patterns_complete(key, form):
    p, rng = FORMS[form](system(key)), np.random.default_rng(1)
    if p.n > SMALL:
        return _check_along_directions(p, states(key)[:4], rng)
    y, yd = random_point(p, states(key)[0], rng)
    J, exact = p.jacobian(0.1, y, yd, 3.0).toarray(), by_complex_step(p, 0.1, y, yd, 3.0)
    assert np.abs(J - exact).max() <= 1e-14 * (1.0 + np.abs(exact).max())
    assert not np.where(p.pattern.toarray(), 0.0, exact).any()
    if key[0] in SHARP:
        return None
    differences, doubt = by_differences(p, 0.1, y, yd, 3.0)
    assert np.all(np.abs(J - differences) <= 1e-7 * (1.0 + np.abs(differences)) + doubt + 1e-9 * np.abs(differences).max())


def _check_along_directions(p, at, rng):
    """Products with random vectors, of systems too large for dense matrices in a test."""
    for x in at:
        y, yd = random_point(p, x, rng)
        J, d, work, out = p.jacobian(0.1, y, yd, 3.0), rng.normal(size=p.n), p.system.workspace(complex), np.empty(p.m, complex)
        p.kernel(0.1, y + 1e-30j * d, yd + 3e-30j * d, out, p.model, work, *p.parameters)
        assert np.abs(J @ d - out.imag / 1e-30).max() <= 1e-13 * (1.0 + np.abs(J).max() * np.sqrt(p.n))


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_the_pattern_holds_every_entry_found_at_many_states(key):
    """One column at a time, or by products with random vectors: an entry outside the pattern would be missing in them."""
    s, rng = system(key), np.random.default_rng(2)
    p = mbdae.GGL(s)
    if p.n > SMALL:
        return _check_along_directions(p, states(key), rng)
    pattern = p.pattern.toarray()
    for x in states(key):
        y, yd = random_point(p, x, rng)
        assert not np.where(pattern, 0.0, by_complex_step(p, 0.1, y, yd, 3.0)).any()


STATE_SPACE = {"partition": mbdae.StateSpace, "tangent": TangentStateSpace}
PRESCRIBED = ("slider-crank", "four-link")  # a motor moves them: no degree of freedom is left


@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_state_space_forms_stay_on_the_constraints(key, form):
    s = system(key)
    if key[0] in PRESCRIBED:
        with pytest.raises(ValueError, match=f"{key[0]}.* has no degree of freedom: its motion is prescribed"):
            STATE_SPACE[form](s)
        return
    p = STATE_SPACE[form](s)
    for x in (s.start, states(key)[0]):
        y, yd = p.pack(x)
        residual = p.residual(x.t, y, yd)
        beside = y + 1e-15 * (1.0 + np.abs(y))  # rounding of the coordinates, which stiff forces amplify
        rounding = np.abs(p.residual(x.t, beside, yd) - residual).max()
        assert np.abs(residual).max() <= 1e-10 * (1.0 + np.abs(yd).max() + np.abs(x.a).max()) + rounding
        found = mbdae.State(x.t, *p.state(x.t, y))
        assert max(open_levels(s, found).values()) <= BOUND
        assert np.abs(found.q - x.q).max() <= BOUND * (1.0 + np.abs(x.q).max())
        moved = np.abs(mbdae.State(x.t, *p.state(x.t, beside)).a - found.a).max()
        assert np.abs(found.a - x.a).max() <= 1e-8 * (1.0 + np.abs(x.a).max()) + moved


@pytest.mark.parametrize("form", STATE_SPACE)
@pytest.mark.parametrize("key", [key for key in VARIANTS if key[0] not in (*PRESCRIBED, *SHARP)], ids=label)
def test_jacobians_of_state_space_forms_are_exact(key, form):
    """Along random directions, against differences of fourth order."""
    p, x, rng = STATE_SPACE[form](system(key)), states(key)[0], np.random.default_rng(3)
    y, _ = p.pack(x)
    G, size = p.rhs_jacobian(x.t, y), np.repeat([min(1.0, np.abs(x.q).max()), 1.0 + np.abs(x.v).max()], p.dof)
    for h in (1e-4, 3e-5):
        d = rng.normal(size=p.n) * size
        f = {k: p.rhs(x.t, y + k * h * d) for k in (-2, -1, 1, 2)}
        near, far = (f[1] - f[-1]) / (2 * h), (f[2] - f[-2]) / (4 * h)
        doubt = np.abs(near - far).max() * 1e-2 + 1e-13 * np.abs(f[1]).max() / h
        assert np.abs(G @ d - (4.0 * near - far) / 3.0).max() <= 1e-7 * np.abs(G @ d).max() + doubt


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_redundant_equations_are_those_expected(key):
    s = system(key)
    expected = {"bricard": 1, "spatial-four-bar": 3, "n-four-bar coordinates=spatial": 6}.get(label(key), 0)
    assert len(s.dependent) == expected
    assert [s.labels[k] for k in s.dependent] == list(s.start.redundant)


@pytest.mark.parametrize("key", VARIANTS, ids=label)
def test_every_mechanism_can_draw_itself(key):
    s = system(key)
    p = s.geometry.at(0.0, s.start.q)
    assert np.isfinite(p.points).all() and len(p.points) > 1
    assert np.ptp(p.points, axis=0).max() > 0.0
    moved = s.geometry.at(0.0, displaced(s, s.start.q, np.random.default_rng(0))).points
    assert np.abs(moved - p.points).max() > 0.0
