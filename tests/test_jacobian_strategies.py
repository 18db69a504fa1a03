"""Strategies for Jacobians: what they evaluate, when, and that every solver takes them."""


import numba
import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.sundae import Ida
from mbdae.jacobians.estimated import EstimatedPattern
from mbdae.jacobians.extended import MixedDerivatives
from mbdae.jacobians.strategy import JacobianStrategy, as_strategy

from .forms import random_point

NAMES = ["exact", "dense", "grouped", "estimated"]
UPDATES = ["partitioned", "extended"]


class Recorded:
    """A strategy that keeps what it has bound, for a look at it afterwards."""

    label = "recorded"

    def __init__(self, name):
        self.strategy = as_strategy(name)

    def bind(self, problem):
        self.bound = self.strategy.bind(problem)
        return self.bound


def point(problem, seed=0):
    """A state off the start, where the mechanism need not fit together."""
    rng = np.random.default_rng(seed)
    y, yd = random_point(problem, problem.start, rng)
    for name in "qv":
        y[problem.blocks[name]] += 0.1 * rng.normal(size=problem.blocks[name].stop - problem.blocks[name].start)
    return y, yd


def exact(problem, t, y, yd, c):
    return problem.jacobian_values(t, y, yd, c)


# values ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ggl", "gear", "index3", "index2", "index1"])
@pytest.mark.parametrize("scheme", ["forward", "central"])
@pytest.mark.parametrize("source", NAMES)
def test_an_evaluation_is_the_jacobian(source, scheme, form):
    p = mbdae.problem("slider-crank-free", form)
    y, yd = point(p)
    bound = JacobianStrategy(source, scheme=scheme).bind(p)
    values, J = bound.evaluate(0.1, y, yd, 7.0), exact(p, 0.1, y, yd, 7.0)
    assert np.abs(values - J).max() <= (3e-6 if scheme == "forward" else 1e-8) * (1.0 + np.abs(J).max())
    assert bound.jacobians == 1 and bound.log == [(0.1, "jacobian")]


@pytest.mark.parametrize("source", ["dense", "grouped", "estimated"])
def test_the_residual_that_is_handed_over_saves_a_call(source):
    p = mbdae.problem("andrews", "ggl")
    y, yd = point(p)
    with_it, without = JacobianStrategy(source).bind(p), JacobianStrategy(source).bind(p)
    a, b = with_it.evaluate(0.0, y, yd, 2.0, p.residual(0.0, y, yd)), without.evaluate(0.0, y, yd, 2.0)
    np.testing.assert_array_equal(a, b)
    assert without.calls == with_it.calls + 1


def test_the_calls_of_the_sources():
    """n for one column at a time, as many as groups along groups, fewer where entries are known."""
    p = mbdae.problem("andrews", "ggl")
    y, yd = point(p)
    r, calls = p.residual(0.0, y, yd), {}
    for name, strategy in {"dense": JacobianStrategy("dense"), "grouped": JacobianStrategy("grouped", known=False),
                           "known": JacobianStrategy("grouped"), "exact": JacobianStrategy("exact")}.items():
        bound = strategy.bind(p)
        bound.evaluate(0.0, y, yd, 2.0, r)
        calls[name] = bound.calls
    assert calls["dense"] == p.n and calls["grouped"] == p.groups.max() + 1 and calls["exact"] == 0
    assert 0 < calls["known"] < calls["grouped"]


def linear_system():
    """Springs and dampers between four masses: `F` is linear, so that an update is the Jacobian itself."""
    rng = np.random.default_rng(5)
    K, D = (a @ a.T for a in rng.normal(size=(2, 4, 4)))
    M = np.diag(rng.uniform(1.0, 2.0, 4))
    return mbdae.System.from_functions(nq=4, nc=1, mass=lambda t, q: M + 0.0 * q[0], force=lambda t, q, v: -K @ q - D @ v,
                                       phi=lambda t, q: q[:1] + q[1:2], q0=[1.0, -1.0, 0.5, 0.2])


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("form", ["ggl", "gear", "index2"])
def test_updates_of_linear_equations_are_exact(source, form):
    p = mbdae.problems.FORMULATIONS[form](linear_system())
    bound = JacobianStrategy(source, "partitioned").bind(p)
    y, yd = point(p, 1)
    bound.evaluate(0.0, y, yd, 1.0)
    z, zd = point(p, 2)
    calls = bound.calls
    values, J = bound.update(0.3, z, zd, 1e4), exact(p, 0.3, z, zd, 1e4)
    assert np.abs(values - J).max() <= 1e-6 * np.abs(exact(p, 0.3, z, zd, 0.0)).max()
    assert bound.calls == calls and bound.updates == 1 and bound.log[-1] == (0.3, "update")


@pytest.mark.thorough
def test_an_update_follows_the_moving_mass_matrix():
    """Eq. (25): the part with `c` is that of the new positions, in a system whose mass matrix turns with them."""
    p = mbdae.GGL(library.system("pendulum-chain", links=3, coordinates="classical"))
    bound = JacobianStrategy("exact", "partitioned").bind(p)
    (y, yd), (z, zd) = point(p, 1), point(p, 2)
    bound.evaluate(0.0, y, yd, 1.0)
    values = bound.update(0.3, z, zd, 1e8)
    assert np.abs(values - exact(p, 0.3, z, zd, 1e8)).max() <= 1e-6 * np.abs(values).max()
    assert np.abs(values - exact(p, 0.3, y, yd, 1e8)).max() > 1e-4 * np.abs(values).max()


def test_an_update_keeps_what_is_not_known_and_renews_what_is():
    p = mbdae.problem("andrews", "ggl")
    (y, yd), (z, zd) = point(p, 1), point(p, 2)
    old, new = exact(p, 0.0, y, yd, 0.0), exact(p, 0.0, z, zd, 0.0)
    rate = p.jacobian_values(0.0, z, zd, 1.0, 0.0)
    for renew, expected in ((True, np.where(p.known.mask, new, old)), (False, old)):
        bound = JacobianStrategy("exact", "partitioned", known=renew).bind(p)
        bound.evaluate(0.0, y, yd, 3.0)
        np.testing.assert_allclose(bound.update(0.0, z, zd, 5.0), expected + 5.0 * rate, rtol=1e-12, atol=1e-9)


def test_plain_strategies_have_no_updates():
    p = mbdae.problem("andrews", "ggl")
    bound = JacobianStrategy("grouped").bind(p)
    y, yd = point(p)
    bound.evaluate(0.0, y, yd, 1.0)
    assert bound.update(0.0, y, yd, 2.0) is None and bound.updates == 0


# when what is done -------------------------------------------------------------------------------------------------------


def requests(update, *times_and_c, source="exact", problem=None):
    """Kinds of what is done for a sequence of requests by a solver."""
    p = mbdae.GGL(linear_system()) if problem is None else problem
    bound = JacobianStrategy(source, update).bind(p)
    y, yd = point(p, 1)
    for t, c in times_and_c:
        bound.values(t, y, yd, c)
    return [kind for _, kind in bound.log]


def test_a_new_coefficient_calls_for_an_update_only():
    assert requests("partitioned", (0.0, 100.0), (0.1, 50.0), (0.2, 200.0)) == ["jacobian", "update", "update"]
    assert requests("plain", (0.0, 100.0), (0.1, 50.0), (0.2, 200.0)) == ["jacobian"] * 3


def test_an_old_coefficient_means_that_the_state_calls():
    """A solver of the DASSL kind asks because of `c` only if it has changed by a factor below 0.6 or above 1/0.6."""
    assert requests("partitioned", (0.0, 100.0), (0.1, 100.0), (0.2, 61.0), (0.3, 100.0)) == ["jacobian"] * 4
    assert requests("partitioned", (0.0, 100.0), (0.1, 59.0), (0.2, 100.0)) == ["jacobian", "update", "update"]


def test_an_update_that_did_not_help_is_followed_by_an_evaluation():
    assert requests("partitioned", (0.0, 100.0), (0.1, 50.0), (0.05, 200.0)) == ["jacobian", "update", "jacobian"]
    # and an evaluation that did not by an update for the shorter step
    assert requests("partitioned", (0.0, 100.0), (0.1, 99.0), (0.05, 400.0)) == ["jacobian", "jacobian", "update"]


def test_backward_in_time_progress_goes_the_other_way():
    assert requests("partitioned", (0.0, -100.0), (-0.1, -50.0), (-0.2, -200.0)) == ["jacobian", "update", "update"]
    assert requests("partitioned", (0.0, -100.0), (-0.1, -50.0), (-0.05, -200.0)) == ["jacobian", "update", "jacobian"]


def test_an_update_that_does_not_fit_is_not_used():
    """`F_y` of one configuration is no good in another one; the probe sees it before Newton's method does."""
    p = mbdae.problem("slider-crank-free", "ggl")
    bound = JacobianStrategy("exact", "partitioned").bind(p)
    (y, yd), (z, zd) = point(p, 1), point(p, 2)
    z[p.blocks["v"]] *= 100.0
    bound.values(0.0, y, yd, 10.0)
    bound.values(0.1, z, zd, 5.0)
    assert [kind for _, kind in bound.log] == ["jacobian", "jacobian"]
    bound.values(0.2, z, zd, 1e9)  # where `c F_yd` outweighs all else the same `F_y` would do
    assert bound.log[-1][1] == "update"


# the estimated pattern ---------------------------------------------------------------------------------------------------


def test_the_pattern_is_a_union():
    omega = EstimatedPattern((2, 2))
    assert omega.add(np.diag([1.0, 0.0])) and omega.updates == 0
    assert not omega.add(np.diag([5.0, 0.0])) and omega.updates == 0
    assert omega.add([[0.0, 1.0], [0.0, 0.0]]) and omega.updates == 1
    np.testing.assert_array_equal(omega.pattern.toarray(), [[True, True], [False, False]])
    assert omega.grouping.count == 2
    with pytest.raises(ValueError, match=r"shape \(2, 2\), got \(1, 2\)"):
        omega.add([[1.0, 2.0]])


def test_a_first_look_at_nothing_is_a_look():
    omega = EstimatedPattern((2, 2))
    assert omega.add(np.zeros((2, 2))) and omega.updates == 0 and omega.grouping.count <= 1


def falling_mass(stiffness=1e6, damping=1e3):
    """Two masses that fall onto stiff stops; the second one is reached late, and then pushes a third mass."""

    @numba.njit
    def mass(t, q):
        return np.eye(3) + 0.0 * q[0]

    @numba.njit
    def contact(gap, rate):
        return -stiffness * gap - damping * rate if gap.real < 0.0 else 0.0 * gap

    @numba.njit
    def force(t, q, v):
        Q = np.empty_like(q)
        stop, push = contact(q[0], v[0]), contact(q[1] - q[2], v[1] - v[2])
        Q[0], Q[1], Q[2] = -9.81 + stop, -9.81 + push, -push - 100.0 * q[2] - v[2]
        return Q

    return mbdae.System.from_functions(nq=3, nc=0, mass=mass, force=force, phi=lambda t, q: np.zeros(0, q.dtype), q0=[0.1, 0.5, 0.0])


@pytest.mark.thorough
@pytest.mark.parametrize("update", ["plain", "partitioned"])
def test_forces_that_switch_on_late_are_caught(update):
    """At the start no stop is touched: the entries of both contacts are missing from the first estimate."""
    p = mbdae.Index1(falling_mass())
    strategy = Recorded(f"estimated:{update}".removesuffix(":plain"))
    s = mbdae.solve(p, Ida(jacobian=strategy), (0.0, 0.6), rtol=1e-6, atol=1e-8)
    reference = mbdae.solve(p, Ida(), (0.0, 0.6), rtol=1e-9, atol=1e-11)
    assert s.success and np.abs(s.q[-1] - reference.q[-1]).max() < 1e-4
    bound = strategy.bound
    assert bound.growths >= 1 and sum(kind == "growth" for _, kind in bound.log) >= bound.growths
    assert bound.source.omega.pattern.nnz > 6


def test_an_estimate_that_lacks_entries_is_seen_at_once():
    """By the difference along all unknowns: solvers that ask because of the state may never ask twice."""
    p = mbdae.Index1(falling_mass())
    y, yd = p.y0, p.yd0
    touching = y.copy()
    touching[0] = -1e-3
    bound, parts = JacobianStrategy("estimated").bind(p), JacobianStrategy("estimated").bind(p)
    bound.values(0.0, y, yd, 10.0)
    parts.parts(0.0, y, yd)
    before = bound.source.omega.pattern.nnz
    values = bound.values(0.1, touching, yd, 10.0)
    assert bound.source.omega.pattern.nnz > before and bound.growths == 1
    assert [kind for _, kind in bound.log] == ["jacobian", "jacobian", "growth"]
    np.testing.assert_allclose(values, exact(p, 0.1, touching, yd, 10.0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(parts.parts(0.1, touching, yd)[0], exact(p, 0.1, touching, yd, 0.0), rtol=1e-5, atol=1e-5)


def test_growth_is_asked_for_where_newton_fails_with_a_fresh_matrix():
    """Two requests in one step, the first answered by an evaluation [Arnold, section 3.1]."""
    p = mbdae.Index1(falling_mass())
    bound = JacobianStrategy("estimated").bind(p)
    y, yd = p.y0, p.yd0
    bound.values(0.0, y, yd, 10.0)
    touching = y.copy()
    touching[0] = -1e-3
    values = bound.values(0.0, touching, yd, 40.0)
    assert bound.log[-1] == (0.0, "growth") and bound.growths == 1
    np.testing.assert_allclose(values, exact(p, 0.0, touching, yd, 40.0), rtol=1e-5, atol=1e-5)
    assert bound.suspect() and not bound.suspect()


def test_the_structural_pattern_is_never_in_doubt():
    bound = JacobianStrategy("grouped").bind(mbdae.problem("andrews", "ggl"))
    assert not bound.suspect()


# excitations -------------------------------------------------------------------------------------------------------------


def mathieu(omega=2.0, amplitude=5.0):
    """`q_i" + (9 + 5 u(t)) q_i + (q_1 - q_2) = 0` with `u = sin(omega t)`: the derivatives swing with the excitation."""
    return mbdae.System.from_functions(
        nq=2, nc=0, mass=lambda t, q: np.eye(2) + 0.0 * q[0], phi=lambda t, q: np.zeros(0, q.dtype),
        force=lambda t, q, v: -(9.0 + amplitude * np.sin(omega * t)) * q - np.array([q[0] - q[1], q[1] - q[0]]),
        q0=[0.1, 0.2], excitation=lambda t: np.array([np.sin(omega * t)]))


@pytest.mark.parametrize("source", ["exact", "dense", "grouped"])
def test_extended_updates_follow_the_excitation(source):
    p = mbdae.Index1(mathieu())
    y, yd = point(p, 3)
    bound, without = (JacobianStrategy(source, update).bind(p) for update in ("extended", "partitioned"))
    for b in (bound, without):
        b.evaluate(0.0, y, yd, 3.0)
    for t in (0.1, 0.5, 0.7, 2.0):
        J = exact(p, t, y, yd, 5.0)
        assert np.abs(bound.update(t, y, yd, 5.0) - J).max() < 1e-5
        assert np.abs(without.update(t, y, yd, 5.0) - J).max() > 0.5
    assert bound.mixed <= 2 and without.mixed == 0  # one direction, found anew once it is followed further


@pytest.mark.parametrize("form", ["ggl", "index2"])
@pytest.mark.parametrize("name", ["four-link", "slider-crank"])
def test_excitations_count_once_in_entries_that_are_known(name, form):
    """A driven angle is in `Phi_q`, which updates renew: what the excitation does to it must not be added a second time."""
    p = mbdae.problem(name, form)
    y, yd = p.y0, p.yd0
    bound = JacobianStrategy("exact", "extended").bind(p)
    bound.evaluate(0.0, y, yd, 3.0)
    for t in (0.05, 0.1):
        values, J, old = bound.update(t, y, yd, 5.0), exact(p, t, y, yd, 5.0), exact(p, 0.0, y, yd, 5.0)
        assert np.abs(old - J).max() > 0.04 and np.abs(values - J).max() < 1e-9 * np.abs(J).max()


def test_mixed_derivatives_of_several_excitations():
    """`F_y = A + B u_1 + C u_2` is reproduced, with as many derivatives as directions in which `u` moves."""
    rng = np.random.default_rng(1)
    A, B, C = rng.normal(size=(3, 7))

    def u(t):
        return np.array([np.sin(t), np.cos(2.0 * t), 4.0])

    evaluations = []

    def f_y(t):
        evaluations.append(t)
        return A + B * u(t)[0] + C * u(t)[1]

    mixed = MixedDerivatives(u, f_y)
    for t_old, t in ((0.0, 0.3), (0.0, 0.6), (0.6, 1.5), (1.5, 2.8), (0.2, 0.4)):
        np.testing.assert_allclose(mixed.change(t_old, t), f_y(t) - f_y(t_old), atol=1e-12)
    assert mixed.found <= 4
    assert not np.any(mixed.change(1.0, 1.0))


@pytest.mark.thorough
def test_mechanisms_know_their_excitations():
    assert library.system("four-link").excitation(0.0).shape == (4,)  # cos f, sin f, f', f'' of the driven angle
    assert library.system("chain").excitation is None
    u = library.system("pendulum-chain", coordinates="classical").excitation
    assert u(5.0).shape == (1,) and u(5.0)[0] == pytest.approx(1.0)
    force = mbdae.PointForce("push", "b", (0.0, lambda t: t**2, 3.0))
    body = mbdae.Particle("b", 1.0)
    np.testing.assert_allclose(mbdae.System(mbdae.Mechanism("m", [body], [], [], [force])).excitation(3.0), [9.0])


@pytest.mark.parametrize("bad, message", [(3.0, "function of time"), (lambda t: t, r"shape \(n_u,\)"), (lambda t: [np.nan], "finite")])
def test_an_excitation_must_be_one(bad, message):
    with pytest.raises(ValueError, match=message):
        mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -q,
                                    phi=lambda t, q: np.zeros(0, q.dtype), excitation=bad)
