"""Redundant constraints on the level of accelerations: violations do not grow faster than those of independent ones."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

import mbdae
from mbdae.problems.index1 import Index1
from mbdae.problems.mass_matrix import MassMatrix
from mbdae.problems.underlying_ode import UnderlyingODE
from mbdae.registry import find
from mbdae.system import evaluate as ev

from .linkages import LINKAGES, reference

OFF = 1e-5  # distance from the constraints


@cache
def system(name):
    return mbdae.System(LINKAGES[name]())


def off_constraints(s, rng):
    """A state off the constraints, in positions and velocities."""
    return s.retract(s.start.q, OFF * rng.normal(size=s.nv)), s.start.v + OFF * rng.normal(size=s.nv)


def drift_term(s, t, q, v, dtype=float):
    work = s.workspace(dtype)
    ev.factor(t, q.astype(dtype), s.model, work)
    return ev.drift_term(t, q.astype(dtype), v.astype(dtype), s.model, work)


@pytest.mark.parametrize("name", ["door", "bennett", "goldberg", "myard"])
def test_the_term_is_made_of_the_turning_of_the_null_space(name, rng):
    """`(I - P) P' P' Phi` with `P = N N^T`, from singular vectors at neighbours along the velocities."""
    s, h = system(name), 1e-4
    q, v = off_constraints(s, rng)

    def projector(dt):
        N = null_space(s.phi_q(0.0, s.retract(q, dt * v)).toarray().T, rcond=1e-4)
        return N @ N.T

    rate = (projector(h) - projector(-h)) / (2.0 * h)
    P = projector(0.0)
    want = (np.eye(s.nc) - P) @ rate @ rate @ s.phi(0.0, q)
    assert np.abs(want).max() > 0.1 * OFF * np.abs(rate).max() ** 2  # it is not zero
    np.testing.assert_allclose(drift_term(s, 0.0, q, v), want, atol=1e-3 * np.abs(want).max())


def test_its_derivatives_follow_in_complex_arithmetic(rng):
    s, step, h = system("door"), 1e-20, 1e-7
    q, v = off_constraints(s, rng)
    for k in (1, 5, 9):
        z, d = q.astype(complex), np.zeros(s.nq)
        z[k] += 1j * step
        d[k] = h
        difference = (drift_term(s, 0.0, q + d, v) - drift_term(s, 0.0, q - d, v)) / (2.0 * h)
        size = max(np.abs(difference).max(), np.abs(drift_term(s, 0.0, q, v)).max())  # a derivative may be lost in the rounding of values
        np.testing.assert_allclose(drift_term(s, 0.0, z, v, complex).imag / step, difference, atol=1e-5 * size)


def test_at_rest_and_on_the_constraints_it_vanishes(rng):
    s = system("bennett")
    q, v = off_constraints(s, rng)
    assert not drift_term(s, 0.0, q, 0.0 * v).any()
    assert np.abs(drift_term(s, 0.0, s.start.q, s.start.v)).max() < 1e-13


@pytest.mark.parametrize("name", ["door", "bennett"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (3.0, 4.0)])
def test_forms_on_the_level_of_accelerations_agree(name, alpha, beta, rng):
    s = system(name)
    q, v = off_constraints(s, rng)
    yd = UnderlyingODE(s, alpha, beta).rhs(0.0, np.concatenate([q, v]))
    a = yd[s.nq:]
    lam = np.linalg.lstsq(s.phi_q(0.0, q).toarray().T, s.force(0.0, q, v) - s.mass_times(0.0, q, a), rcond=1e-2)[0]  # of minimal norm
    p = Index1(s, alpha, beta)
    F = p.residual(0.0, np.concatenate([q, v, lam]), np.concatenate([yd, 0.0 * lam]))
    scale = np.abs(s.gamma(0.0, q, v)).max()
    assert np.abs(F[p.equations["kinematics"]]).max() < 1e-12
    N = null_space(s.phi_q(0.0, q).toarray().T, rcond=1e-2)
    F = F[p.equations["acceleration"]]
    assert np.abs(F - N @ (N.T @ F)).max() < 1e-8 * scale < 0.1 * np.abs(drift_term(s, 0.0, q, v)).max()
    if alpha == beta == 0.0:
        p = MassMatrix(s, level=1)
        x = p.residual(0.0, np.concatenate([q, v, a, lam]), np.concatenate([yd, 0.0 * a, 0.0 * lam]))[p.equations["acceleration"]]
        np.testing.assert_allclose(x, F, atol=1e-12 * scale)


def violations(s, alpha, beta, times):
    """`|Phi|` at the times given, in multiples of that at the start, of a motion that begins off the constraints."""
    rng = np.random.default_rng(1)
    q, v = off_constraints(s, rng)[0], s.start.v
    p = UnderlyingODE(s, alpha, beta, project=False)
    x = solve_ivp(lambda t, y: p.rhs(t, y).copy(), (0.0, times[-1]), np.concatenate([q, v]), "DOP853", times, rtol=1e-10, atol=1e-12)
    e = [np.abs(s.phi(t, y[:s.nq])).max() for t, y in zip(x.t, x.y.T)]
    return np.array(e) / np.abs(s.phi(0.0, q)).max()


def test_violations_grow_linearly():
    """Without the term they are 8, 300, 1100 and 2400 times as large after these times."""
    assert (violations(system("door"), 0.0, 0.0, [1.0, 2.0, 3.0, 4.0]) < [2.0, 3.0, 4.0, 5.0]).all()


def test_baumgartes_terms_damp_them():
    """`s'' + 2 alpha s' + beta^2 s = 0` with `alpha = beta = 5` and `s' = 0` at first, in coordinates that do not turn."""
    x = 5.0 * np.array([1.0, 2.0])
    assert (violations(system("door"), 5.0, 5.0, [1.0, 2.0]) < 4.0 * (1.0 + x) * np.exp(-x)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("method", [mbdae.Newmark, mbdae.GeneralizedAlpha])
def test_structural_methods_on_accelerations_are_of_order_two(method):
    """Errors after 3 s are 2.2e-3 and 5.5e-4 without the term, 2.2e-5 and 5.5e-6 with a revolute joint."""
    s = system("door")
    want = reference(s, 3.0)
    errors = [np.abs(mbdae.solve(s, method(h=h, level="acceleration"), (0.0, 3.0)).q[-1] - want).max() for h in (1e-3, 5e-4)]
    assert errors[1] < 5e-5 and 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "form"), [("Ida", "index1"), ("Bdf", "index1"), ("Cvode:BDF", "ode")])
def test_errors_after_a_tumble(method, form):
    """Without the term 1e-2, 2e-3 and 2e-3; with a revolute joint 2e-5, 7e-6 and 2e-6."""
    s = system("door")
    x = mbdae.solve(s, find(method).make(), (0.0, 3.0), formulation=form, rtol=1e-7, atol=1e-9)
    assert np.abs(x.q[-1] - reference(s, 3.0)).max() < 3e-4
