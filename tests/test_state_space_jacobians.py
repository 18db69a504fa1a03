"""The matrix of the implicit steps against the thesis' own formulas, differentiated numerically, and the three ways to obtain it."""

from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae.charts.motion import evaluate
from mbdae.system.codes import GOOD

from .forms import random_state
from .helpers import case, relative
from .state_space_cases import FORMS, METHODS, TRAPEZOIDAL, problem, run

GAMMA, BETA = 0.5, 0.25
PLANAR = ("andrews", "stiff-double-pendulum", "stiff wheel", "truck")
SPATIAL = ("double-pendulum", "spatial-four-bar", "heavy-top", "driven pendulum", "closed-loop-bars")


def fourth_order(f, x, direction, h=1e-3):
    """The derivative of `f` along a direction, by central differences of fourth order."""
    h = h / (1e-3 + np.abs(direction).max())
    a, b, c, d = (np.asarray(f(x + s * h * direction)) for s in (-2, -1, 1, 2))
    return (8.0 * (c - b) - (d - a)) / (12.0 * h)


class Dense:
    """Motion in a chart by NumPy alone: Newton's method for positions, dense linear equations for everything else."""

    def __init__(self, form, t, q):
        self.s, self.t, self.q, self.P, self.n = form.system, t, q, form.chart.P.copy(), form.dof

    def matrix(self, q):
        """`K = [Phi_q; P T]`."""
        T = np.array([self.s.qdot(q, e, self.t) for e in np.eye(self.s.nv)]).T
        return np.vstack([self.s.phi_q(self.t, q).toarray(), self.P @ T])

    def solve(self, q, upper, lower):
        return np.linalg.lstsq(self.matrix(q), np.concatenate([upper, lower]), rcond=1e-11)[0]

    def positions(self, z):
        q = self.q.copy()
        for _ in range(12):
            q = self.s.retract(q, self.solve(q, -self.s.phi(self.t, q), z - self.P @ q))
        return q

    def velocities(self, q, zd):
        return self.solve(q, self.s.nu(self.t, q), zd)

    def turn(self, q, v):
        """`P T' v`; `T` is linear in `q`, so that one difference is exact."""
        rate = self.s.qdot(q, v, self.t)
        return self.P @ (self.s.qdot(q + rate, v, self.t) - self.s.qdot(q, v, self.t))

    def accelerations(self, q, v, x):
        """`a` that belongs to independent accelerations `x`, whatever the forces are."""
        return self.solve(q, self.s.gamma(self.t, q, v), x - self.turn(q, v))

    def null_space(self, q):
        """`N` with `Phi_q N = 0` and `P T N = I`."""
        return np.linalg.lstsq(self.matrix(q), np.vstack([np.zeros((self.s.nc, self.n)), np.eye(self.n)]), rcond=1e-11)[0]

    def equations(self, z, zd, x):
        """`Psi = N^T (M a - Q)`, the independent equations of motion."""
        q = self.positions(z)
        v = self.velocities(q, zd)
        a = self.accelerations(q, v, x)
        return self.null_space(q).T @ (self.s.mass(self.t, q) @ a - self.s.force(self.t, q, v))


def at_random(name, form, rng):
    """The problem, a state of it and `(z, z', z'')` there."""
    p = problem(name, form)
    state = random_state(p.system, rng)
    y, yd = p.pack(state)
    return p, state, y[:p.dof].copy(), y[p.dof:].copy(), yd[p.dof:].copy()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [case(name) for name in PLANAR + SPATIAL])
def test_one_matrix_serves_the_state_space_and_the_first_order_method(name, form, rng):
    """Proposition 1 [Negrut, section 3.4.1.3]: `Psi_x = M^ (I - gamma h J2 - beta h^2 J1)`."""
    p, state, z, zd, x = at_random(name, form, rng)
    dense, n = Dense(p, state.t, state.q), p.dof
    G = p.rhs_jacobian(state.t, np.concatenate([z, zd]))
    assert np.abs(dense.equations(z, zd, x)).max() < 1e-8 * (1.0 + np.abs(p.system.force(state.t, state.q, state.v)).max())
    N = dense.null_space(state.q)
    reduced_mass = N.T @ p.system.mass(state.t, state.q) @ N
    J1, J2 = G[n:, :n], G[n:, n:]
    for h in (1.0, 0.05):
        bh, gh = BETA * h * h, GAMMA * h
        scale = 1e-4 / (1.0 + np.abs(zd).max()) / max(bh, gh)
        columns = [fourth_order(
            lambda d, bh=bh, gh=gh: dense.equations(z + bh * d, zd + gh * d, x + d), np.zeros(n), e, scale)
            for e in np.eye(n)]
        expected = reduced_mass @ (np.eye(n) - gh * J2 - bh * J1)
        assert np.abs(np.array(columns).T - expected).max() < 2e-6 * np.abs(expected).max()


# --- the thesis' blocks -------------------------------------------------------------------------------------------------------


class Blocks:
    """The formulas of [Negrut, eqs. (3.12), (3.38)-(3.45)] for coordinates that are their own velocities.

    `u` are the dependent coordinates, `v` the independent ones. Of (3.39) the sign is that of (3.36): as printed it is the opposite.
    """

    def __init__(self, system, state, P):
        self.s, self.x = system, state
        self.v = np.flatnonzero(P.any(axis=0))
        self.u = np.setdiff1d(np.arange(system.nq), self.v)

    def by_q(self, f):
        """Derivative of `f(q)` by all coordinates."""
        return np.array([fourth_order(f, self.x.q, e, 1e-3) for e in np.eye(self.s.nq)]).T

    def by_v(self, f):
        return np.array([fourth_order(f, self.x.v, e, 1e-3 * (1.0 + np.abs(self.x.v).max())) for e in np.eye(self.s.nv)]).T

    def matrices(self):
        """`(M^, M^_1, M^_2)`."""
        s, t, u, v, x = self.s, self.x.t, self.u, self.v, self.x
        M, G = s.mass(t, x.q), s.phi_q(t, x.q).toarray()
        inverse = np.linalg.inv(G[:, u])
        H = -inverse @ G[:, v]
        tau_q, tau_qd = self.by_q(lambda q: s.gamma(t, q, x.v)), self.by_v(lambda w: s.gamma(t, x.q, w))
        rate_q, bend_q = (self.by_q(lambda q, w=w: s.phi_q(t, q).toarray() @ w) for w in (x.v, x.a))
        inertia_q, reaction_q = self.by_q(lambda q: s.mass(t, q) @ x.a), self.by_q(lambda q: s.phi_q(t, q).toarray().T @ x.lam)
        Q_q, Q_qd = self.by_q(lambda q: s.force(t, q, x.v)), self.by_v(lambda w: s.force(t, x.q, w))

        def along(D):
            """`D_u H + D_v`."""
            return D[:, u] @ H + D[:, v]

        J = -inverse @ along(rate_q)
        L = inverse @ (along(tau_q) + tau_qd[:, u] @ J - along(bend_q))
        N = inverse @ along(tau_qd)
        open_q = along(Q_q) + Q_qd[:, u] @ J - along(reaction_q) - along(inertia_q)
        Muu, Mvu = M[np.ix_(u, u)], M[np.ix_(v, u)]
        R = -(open_q[u] - Muu @ L)
        S = -(along(Q_qd)[u] - Muu @ N)
        reduced = M[np.ix_(v, v)] + Mvu @ H + H.T @ (Mvu.T + Muu @ H)
        return reduced, Mvu @ N + H.T @ S - along(Q_qd)[v], Mvu @ L + H.T @ R - open_q[v]


@pytest.mark.parametrize("name", [case(name) for name in PLANAR])
def test_the_matrices_of_the_thesis_are_those_of_the_charts(name, rng):
    p, state, z, zd, _ = at_random(name, "partition", rng)
    G, n = p.rhs_jacobian(state.t, np.concatenate([z, zd])), p.dof
    reduced, first, second = Blocks(p.system, state, p.chart.P).matrices()
    assert np.abs(first + reduced @ G[n:, n:]).max() < 1e-8 * (1.0 + np.abs(first).max())
    assert np.abs(second + reduced @ G[n:, :n]).max() < 1e-8 * (1.0 + np.abs(second).max())


# --- how derivatives are obtained ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*map(case, PLANAR + SPATIAL), pytest.param("iltis", marks=pytest.mark.slow)])
def test_derivatives_of_the_motion_are_its_slopes(name, form, rng):
    """`J1`, `J2` against differences of the whole evaluation."""
    p, state, z, zd, _ = at_random(name, form, rng)
    G, n = p.rhs_jacobian(state.t, np.concatenate([z, zd])), p.dof

    def motion(y):
        q, v, a, lam, out = state.q.copy(), state.v.copy(), state.a.copy(), state.lam.copy(), np.empty(n)
        assert evaluate(state.t, y[:n].copy(), y[n:].copy(), q, v, a, lam, out, p.chart.factors) == GOOD
        return out

    y = np.concatenate([z, zd])
    size = np.repeat([1.0 + np.abs(z).max(), 1.0 + np.abs(zd).max()], n)
    columns = np.array([fourth_order(motion, y, e, 2e-4 * c) for e, c in zip(np.eye(2 * n), size)]).T
    for block in (slice(0, n), slice(n, 2 * n)):
        assert np.abs(columns[:, block] - G[n:, block]).max() < 1e-5 * (1.0 + np.abs(G[n:, block]).max())


SPANS = {"double-pendulum": 1.0, "andrews": 0.01, "spatial-four-bar": 0.1, "stiff-double-pendulum": 0.5, "driven pendulum": 1.0}


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SPANS)
def test_all_ways_to_differentiate_take_the_same_steps(method, name):
    """The complex step agrees with the exact derivatives to rounding, forward differences to eight digits."""
    make = partial(METHODS[method], local_error=0.5 if method in TRAPEZOIDAL else 0.12)
    by = {j: run(name, make(jacobian=j), SPANS[name], rtol=1e-6) for j in ("exact", "complex", "difference")}
    exact = by["exact"].statistics
    for j, allowed in (("complex", 2), ("difference", 2 + exact.steps // 50)):
        found = by[j].statistics
        assert abs(found.steps - exact.steps) <= allowed and abs(found.jacobians - exact.jacobians) <= 2 * allowed
        assert relative(by[j].v[-1], by["exact"].v[-1]) < 1e-5
    assert by["exact"].statistics.residuals_jacobian == 0 or by["exact"].system.rheonomic
    spent = by["difference"].statistics
    assert spent.residuals_jacobian >= spent.jacobians * (2 * by["difference"].system.freedom + 1)


def test_an_unknown_way_to_differentiate_is_refused():
    with pytest.raises(ValueError, match="jacobian must be one of exact, complex, difference, got 'analytic'"):
        mbdae.SdirkFirstOrder(jacobian="analytic")
