"""Charts of the constraint manifold: the motion in independent coordinates, the bases of a chart, its choice and its wear."""

import re

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.charts import choice
from mbdae.charts.chart import Chart
from mbdae.charts.condition import MAX_GROWTH, condition
from mbdae.charts.configuration import prepare
from mbdae.results.diagnosis import ChartError
from mbdae.system.assembly import accelerations
from mbdae.system.codes import CHART_LOST, GOOD, NO_POSITION, NOT_FINITE, RANK_LOST

from .chart_cases import (
    CASES,
    PARAMETRISATIONS,
    beside,
    case,
    centred,
    every_case,
    exact_condition,
    fourth_order,
    independent_rows,
    kept,
    kinematic_map,
    values_at,
)
from .forms import displaced, open_levels
from .helpers import GROUND, double_pendulum, relative, with_law

both = pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)


# --- the motion ----------------------------------------------------------------------------------------------------------


@both
@every_case
def test_states_lie_on_the_constraints_and_in_the_chart(name, parametrisation):
    chart, x = centred(name, parametrisation)
    z, zd = beside(chart, x)
    found, s = chart.state(x.t, z, zd, x.q, x.lam), chart.system
    assert np.abs(found.q - x.q).max() > 0.002 * min(1.0, np.abs(x.q).max())
    assert max(open_levels(s, found).values()) < 1e-12
    assert relative(chart.P @ found.q, z) < 1e-13
    assert relative(chart.P @ s.qdot(found.q, found.v, x.t), zd) < 1e-13


@both
@every_case
def test_a_state_returns_from_its_coordinates(name, parametrisation):
    chart, x = centred(name, parametrisation)
    found = chart.state(x.t, *chart.coordinates(x.t, x.q, x.v), displaced(chart.system, x.q, np.random.default_rng(1), 1e-3), x.lam)
    assert relative(found.q, x.q) < 1e-12
    assert relative(found.v, x.v) < 1e-11
    assert relative(found.a, x.a) < 1e-9


@both
@every_case
def test_accelerations_are_those_of_the_whole_system(name, parametrisation):
    chart, x = centred(name, parametrisation)
    s = chart.system
    code, q, v, a, lam, _ = values_at(chart, x.t, *beside(chart, x), x.q, x.lam)
    expected, multipliers, _ = accelerations(s, x.t, q, v)
    G = s.phi_q(x.t, q)
    assert code == GOOD
    assert relative(a, expected) < 1e-11
    assert relative(G.T @ lam, G.T @ multipliers) < 1e-11


@both
@every_case
def test_second_derivatives_are_rates_of_the_first_ones(name, parametrisation):
    chart, x = centred(name, parametrisation)
    s = chart.system
    _, q, v, a, _, zdd = values_at(chart, x.t, *beside(chart, x), x.q, x.lam)

    def rate(step):
        return chart.P @ s.qdot(s.retract(q, step * v), v + step * a, x.t + step)

    assert relative(zdd, fourth_order(rate, 1e-3 / (1.0 + np.abs(v).max()))) < 1e-8


@both
@every_case
def test_positions_do_not_depend_on_the_guess(name, parametrisation, rng):
    chart, x = centred(name, parametrisation)
    z, zd = beside(chart, x)
    near = values_at(chart, x.t, z, zd, x.q, x.lam)
    for _ in range(3):
        far = values_at(chart, x.t, z, zd, displaced(chart.system, x.q, rng), x.lam)
        assert far[0] == GOOD
        assert relative(far[1], near[1]) < 1e-12


@pytest.mark.parametrize("y", [1.0, 2.0, -2.0])
def test_positions_far_from_the_guess_are_reached_in_steps(y):
    """On `x = 2 y + y^3` from the origin, where Newton's method does not contract; in some hundred evaluations."""
    calls = []

    def phi(t, q):
        calls.append(t)
        if len(calls) > 2000:
            raise RuntimeError("too many evaluations")
        return np.array([2.0 * q[1] + q[1] ** 3 - q[0]])

    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: -v, phi=phi, q0=[0.0, 0.0])
    chart, x = Chart(s, "partition"), 2.0 * y + y**3
    chart.centre(0.0, s.start.q)
    np.testing.assert_array_equal(chart.P, [[1.0, 0.0]])
    calls.clear()
    code, q, *_ = values_at(chart, 0.0, np.array([x]), np.zeros(1), s.start.q, np.zeros(1))
    assert code == GOOD
    np.testing.assert_allclose(q, [x, y], rtol=1e-12)


def test_equations_without_derivatives_hold_to_rounding():
    """In joint coordinates nothing moves a planar loop out of its plane, where the heights of joints add up to rounding, not to zero."""
    axis, places = (0.0, 0.0, 1.0), {"a": (0.0, 0.5, 0.1), "b": (0.5, 1.0, 0.3), "c": (1.0, 0.5, 0.0)}
    bodies = [mbdae.RigidBody(name, 1.0, (0.1, 0.1, 0.1), place) for name, place in places.items()]
    joints = [mbdae.Revolute(f"{i} {j}", i, j, s_i, s_j, axis, axis) for i, j, s_i, s_j in (
        (GROUND, "a", (0.0, 0.0, 0.0), (0.0, -0.5, -0.1)), ("a", "b", (0.0, 0.5, 0.1), (-0.5, 0.0, -0.1)),
        ("b", "c", (0.5, 0.0, -0.3), (0.0, 0.5, 0.0)), ("c", GROUND, (0.0, -0.5, 0.0), (1.0, 0.0, 0.0)))]
    s = mbdae.System(mbdae.Mechanism("loop", bodies, joints), coordinates="joint")
    chart, x = Chart(s, "partition"), s.start
    chart.centre(0.0, x.q)
    z, zd = chart.coordinates(0.0, x.q, x.v)
    found = chart.state(0.0, z + 0.1, zd + 1.0, x.q, x.lam)
    still = np.abs(s.phi_q(0.0, found.q).toarray()).max(axis=1) == 0.0
    assert still.sum() == 3 and np.abs(s.phi(0.0, found.q)[still]).max() < 1e-15
    np.testing.assert_allclose(np.abs(found.q), 0.1, rtol=1e-12)  # a parallelogram


@both
@pytest.mark.parametrize(("name", "many"), [("double pendulum", False), ("rheonomic", False), ("all elements", True)])
def test_the_basis_of_an_earlier_configuration_serves_where_there_are_many_coordinates(name, many, parametrisation):
    """It takes a solve for each: for two of them it is computed anew. The velocities are as accurate."""
    chart, x = centred(name, parametrisation)
    before, (z, zd) = kept(chart)[1], chart.coordinates(x.t, x.q, x.v)
    code, q, v, *_ = values_at(chart, x.t, z + 1e-6 * np.abs(x.q).max(), zd, x.q, x.lam)
    assert code == GOOD and np.array_equal(kept(chart)[1], before) == many
    s = chart.system
    assert relative(chart.P @ s.qdot(q, v, x.t), zd) < 1e-13
    assert relative(s.phi_q(x.t, q) @ v, s.nu(x.t, q)) < 1e-12 * (1.0 + np.abs(v).max())


@both
@every_case
def test_evaluations_are_reproducible_to_the_last_bit(name, parametrisation):
    runs = []
    for _ in range(2):
        chart, x = centred(name, parametrisation)
        z, zd = beside(chart, x)
        values_at(chart, x.t, z, 2.0 * zd, x.q, x.lam)
        runs.append(values_at(chart, x.t, z, zd, x.q, x.lam))
    for first, again in zip(*runs):
        np.testing.assert_array_equal(first, again)


# --- the bases -----------------------------------------------------------------------------------------------------------


@both
@every_case
def test_the_bases_of_a_chart(name, parametrisation):
    """`Phi_q N = 0`, `PT N = I`, and `S` is the inverse of the reduced mass matrix."""
    chart, x = centred(name, parametrisation)
    s = chart.system
    PT, N, L = kept(chart)
    G, M, S = s.phi_q(x.t, x.q).toarray(), s.mass(x.t, x.q), np.tril(L) @ np.tril(L).T
    assert relative(PT, chart.P @ kinematic_map(s, x.t, x.q)) < 1e-14
    assert relative(G @ N.T, np.zeros((s.nc, chart.n))) < 1e-12 * (1.0 + np.abs(N).max() * np.abs(G).max(initial=0.0))
    assert relative(PT @ N.T, np.eye(chart.n)) < 1e-12
    assert relative(S @ (N @ M @ N.T), np.eye(chart.n)) < 1e-11


# --- the choice ----------------------------------------------------------------------------------------------------------


@every_case
def test_partitions_select_coordinates(name):
    s, x = case(name)
    P = choice.partition(s, x.t, x.q)
    assert P.shape == (s.freedom, s.nq)
    assert set(P.ravel()) <= {0.0, 1.0}
    np.testing.assert_array_equal(P @ P.T, np.eye(s.freedom))
    assert (np.diff(np.argmax(P, axis=1)) > 0).all()


@every_case
def test_tangent_planes_are_orthonormal_and_orthogonal_to_the_constraints(name):
    s, x = case(name)
    P = choice.tangent(s, x.t, x.q)
    assert P.shape == (s.freedom, s.nq)
    assert relative(P @ P.T, np.eye(s.freedom)) < 1e-13
    J = choice.position_jacobian(s, x.t, x.q)
    assert np.abs(J @ P.T).max(initial=0.0) < 1e-12 * (1.0 + np.abs(J).max())


@both
@every_case
def test_what_is_chosen_determines_the_rest(name, parametrisation):
    chart, x = centred(name, parametrisation)
    s = chart.system
    K = np.vstack([s.phi_q(x.t, x.q).toarray()[independent_rows(s)], chart.P @ kinematic_map(s, x.t, x.q)])
    assert K.shape == (s.nv, s.nv)
    assert np.linalg.matrix_rank(K) == s.nv


@every_case
def test_the_position_jacobian_is_the_derivative_by_the_coordinates(name, rng):
    """Along the manifold of the coordinates; across it the norms of quaternions change, and nothing else."""
    s, x = case(name)
    J, d = choice.position_jacobian(s, x.t, x.q), rng.normal(size=s.nv)
    assert J.shape == (s.nc + s.nq - s.nv, s.nq)
    along = s.qdot(x.q, d, x.t)
    step = 1e-3 / np.abs(d).max()
    assert relative(J[:s.nc] @ along, fourth_order(lambda h: s.phi(x.t, s.retract(x.q, h * d)), step)) < 1e-7
    assert np.abs(J[s.nc:] @ along).max(initial=0.0) < 1e-13 * (1.0 + np.abs(along).max())


def chosen(system, x=None):
    """Numbers of the independent coordinates."""
    x = system.start if x is None else x
    return list(np.argmax(choice.partition(system, x.t, x.q), axis=1))


def test_angles_of_planar_bodies_are_preferred():
    assert chosen(mbdae.System(double_pendulum())) == [2, 5]
    assert chosen(library.system("stiff-double-pendulum")) == [2, 5]
    assert all(k % 3 == 2 for k in chosen(library.system("andrews")))


@every_case
def test_unscaled_pivots_are_the_largest_entries(name):
    """In the columns that become dependent each pivot is as large as the largest entry of what the ones before it have left."""
    s, x = case(name)
    J, rank = choice.position_jacobian(s, x.t, x.q), s.nq - s.freedom
    dependent = np.flatnonzero(~choice.partition(s, x.t, x.q, "unscaled").any(axis=0))
    assert len(dependent) == rank
    scale = np.abs(J).max(initial=0.0)
    for _ in range(rank):
        i, k = np.unravel_index(np.argmax(np.abs(J[:, dependent])), (len(J), len(dependent)))
        j = dependent[k]
        assert abs(J[i, j]) > (1.0 - 1e-9) * np.abs(J).max()
        J, dependent = J - np.outer(J[:, j], J[i]) / J[i, j], np.delete(dependent, k)
    assert np.abs(J).max(initial=0.0) < 1e-9 * scale


def test_unscaled_pivots_take_what_is_left():
    """Of the stiff double pendulum Cartesian coordinates too, and a chart keeps its rule when it is compared with others."""
    s = library.system("stiff-double-pendulum")
    assert chosen(s) == [2, 5]
    chart = Chart(s, "partition", "unscaled")
    chart.centre(0.0, s.start.q)
    assert list(np.argmax(chart.P, axis=1)) != [2, 5]
    np.testing.assert_array_equal(chart.P, chart.choose(0.0, s.start.q))
    assert not chart.outdone(0.0, s.start.q, chart.first)


def test_angles_that_are_held_are_not_chosen():
    slider = mbdae.Mechanism("slider", [mbdae.PlanarBody("b", 1.0, 1.0)], [mbdae.PlanarTranslational("guide", GROUND, "b")])
    assert chosen(mbdae.System(slider)) == [0]


def test_without_constraints_all_coordinates_are_independent():
    s = mbdae.System(mbdae.Mechanism("free", [mbdae.Particle("p", 1.0), mbdae.PlanarBody("b", 1.0, 1.0)]))
    for choose in (choice.partition, choice.tangent):
        np.testing.assert_array_equal(np.abs(choose(s, 0.0, s.start.q)).sum(axis=0), np.ones(6))
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    assert not chart.ill_conditioned(0.0, s.start.q + 10.0)


# --- the condition -------------------------------------------------------------------------------------------------------


@both
@every_case
def test_the_condition_is_an_estimate_from_below(name, parametrisation):
    chart, x = centred(name, parametrisation)
    exact = exact_condition(chart, x.t, x.q)
    assert chart.first == condition(x.t, x.q, chart.n, chart.store, chart.system.model, chart.work)
    assert 0.5 * exact < chart.first < exact * (1.0 + 1e-10)


@pytest.mark.thorough
def test_the_condition_is_exact_as_a_rule():
    exact = 0
    for name in CASES:
        for parametrisation in PARAMETRISATIONS:
            chart, x = centred(name, parametrisation)
            exact += abs(chart.first / exact_condition(chart, x.t, x.q) - 1.0) < 1e-9
    assert exact > 0.7 * len(CASES) * len(PARAMETRISATIONS)


# --- the wear ------------------------------------------------------------------------------------------------------------


def particle_pendulum():
    return mbdae.System(mbdae.Mechanism("particle", [mbdae.Particle("p", 1.0, (0.0, -1.0, 0.0))],
                                        [mbdae.Rod("rod", GROUND, "p"), mbdae.CD("plane", GROUND, "p", (0, 0, 1))]))


def planar_pendulum():
    return mbdae.System(mbdae.Mechanism("planar", [mbdae.PlanarBody("b", 1.0, 1.0, (0.0, -1.0), -np.pi / 2)],
                                        [mbdae.PlanarRevolute("pin", GROUND, "b", s_j=(-1.0, 0.0))]))


def swung(system, angle):
    """Positions of one of the pendulums, turned from below."""
    q = np.array([np.sin(angle), -np.cos(angle), 0.0])
    if system.name == "planar":
        q[2] = angle - np.pi / 2
    return q


@both
def test_a_quarter_of_a_turn_wears_out_coordinates_of_a_particle(parametrisation):
    s = particle_pendulum()
    chart = Chart(s, parametrisation)
    chart.centre(0.0, s.start.q)
    assert not chart.ill_conditioned(0.0, swung(s, 0.2))
    first = chart.first
    assert chart.ill_conditioned(0.0, swung(s, 1.4)) and chart.first == first
    assert chart.outdone(0.0, swung(s, 1.4), 10.0 * first)
    chart.centre(0.0, swung(s, 1.4))
    assert chart.first == pytest.approx(first, rel=0.2) and not chart.ill_conditioned(0.0, swung(s, 1.4))


def test_a_turn_wears_out_the_coordinate_of_a_wheel_beside_other_constraints():
    """Whose part of the condition is larger: the wheel's coordinate turns back after half a turn."""
    wheel = mbdae.RigidBody("wheel", 28.0, (0.6, 0.9, 0.6))
    hub = mbdae.RigidBody("hub", 28.0, (0.6, 0.1, 0.6))
    y, z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    joints = [mbdae.Translational("guide", GROUND, "hub", a_i=z, a_j=z), mbdae.Revolute("axle", "hub", "wheel", a_i=y, a_j=y)]
    s = mbdae.System(mbdae.Mechanism("hub and wheel", [wheel, hub], joints))
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)

    def turned(angle):
        return s.retract(s.start.q, angle * np.eye(s.nv)[4])

    assert not chart.ill_conditioned(0.0, turned(0.6))
    assert all(chart.ill_conditioned(0.0, turned(angle)) for angle in (-2.0, 2.0, 2.8))


def test_an_angle_serves_for_a_whole_turn():
    s = planar_pendulum()
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    np.testing.assert_array_equal(chart.P, [[0.0, 0.0, 1.0]])
    assert not any(chart.ill_conditioned(0.0, swung(s, angle)) for angle in np.linspace(0.0, 2 * np.pi, 17))


def test_a_chart_that_is_still_the_best_counts_as_new():
    """Otherwise another one would be looked for after every step."""
    s = planar_pendulum()
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    chart.first = chart.first / (2.0 * MAX_GROWTH)
    assert not chart.ill_conditioned(0.0, s.start.q)
    assert chart.first == pytest.approx(exact_condition(chart, 0.0, s.start.q))


def test_a_chart_is_renewed_in_the_same_arrays():
    s = particle_pendulum()
    chart = Chart(s, "partition")
    arrays = chart.P, chart.store, chart.work
    chart.centre(0.0, s.start.q)
    before = chart.P.copy()
    chart.centre(0.0, swung(s, 1.4))
    assert (before != chart.P).any()
    assert all(x is y for x, y in zip(arrays, (chart.P, chart.store, chart.work)))
    np.testing.assert_array_equal(chart.store[:chart.P.size], chart.P.ravel())


# --- what goes wrong -----------------------------------------------------------------------------------------------------


def test_charts_refuse_what_they_cannot_do():
    with pytest.raises(ValueError, match="parametrisation must be one of partition, tangent, got 'angles'"):
        Chart(planar_pendulum(), "angles")
    for value in ("full", "", None, 1, ["angles"]):
        with pytest.raises(ValueError, match=r"pivots must be one of angles, unscaled, got " + re.escape(repr(value))):
            Chart(planar_pendulum(), "partition", value)
    with pytest.raises(ValueError, match="pivots='unscaled' selects coordinates and has no meaning for 'tangent'; use the parametrisation"):
        Chart(planar_pendulum(), "tangent", "unscaled")
    with pytest.raises(ValueError, match=r"slider-crank has no degree of freedom: its motion is prescribed.* use an index form"):
        Chart(library.system("slider-crank"), "partition")


def code_at(chart, t, q):
    return prepare(t, q, chart.n, chart.store, chart.system.model, chart.work)


def test_what_kernels_return_where_a_chart_ends():
    s = particle_pendulum()
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    lam = np.zeros(s.nc)
    assert code_at(chart, 0.0, swung(s, 0.5)) == GOOD
    assert code_at(chart, 0.0, swung(s, np.pi / 2)) == CHART_LOST  # z = x has an extremum
    assert code_at(chart, 0.0, np.zeros(3)) == RANK_LOST
    assert code_at(chart, 0.0, np.array([np.nan, 0.0, 0.0])) in (NOT_FINITE, RANK_LOST)
    chart.centre(0.0, s.start.q)
    assert values_at(chart, 0.0, np.array([1.2]), np.zeros(1), s.start.q, lam)[0] in (NO_POSITION, CHART_LOST)
    chart.centre(0.0, s.start.q)
    with pytest.raises(ChartError, match=r"particle at t = 0: no positions satisfy .* the largest residuals are those of rod \(") as met:
        chart.state(0.0, np.array([1.2]), np.zeros(1), s.start.q, lam)
    assert met.value.status == Status.SINGULAR


def test_singular_positions_are_refused_and_named():
    s = particle_pendulum()
    with pytest.raises(ChartError, match=r"particle at t = 0\.5: the constraints lose rank, rod follows from the others") as met:
        Chart(s, "partition").centre(0.5, np.zeros(3))
    assert met.value.status == Status.SINGULAR


@both
def test_a_parallelogram_that_lies_down_is_named(parametrisation):
    """All bars and couplers on one line: it could go on as an antiparallelogram."""
    s = library.system("n-four-bar", windows=1)
    q = np.array([0.5, 0.0, 0.0, 1.5, 0.0, 0.0, 1.5, 0.0, 0.0])
    assert np.abs(s.phi(0.0, q)).max() < 1e-15
    with pytest.raises(ChartError, match=r"n-four-bar at t = 0\.7: the constraints lose rank, \w+ [01]\.x follows from the others"):
        Chart(s, parametrisation).centre(0.7, q)


def test_forces_that_are_not_finite_are_told():
    s = with_law(lambda length, rate, t: np.nan if t > 0.5 else 0.0)
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    z, zd = chart.coordinates(0.0, s.start.q, s.start.v)
    with pytest.raises(ChartError, match=r"at t = 1: the equations are not finite") as met:
        chart.state(1.0, z, zd, s.start.q, s.start.lam)
    assert met.value.status == Status.NOT_FINITE


def test_what_a_user_raises_arrives_unchanged():
    def law(length, rate, t):
        if t > 0.5:
            raise RuntimeError("the spring is gone")
        return 0.0

    s = with_law(law)
    chart = Chart(s, "partition")
    chart.centre(0.0, s.start.q)
    z, zd = chart.coordinates(0.0, s.start.q, s.start.v)
    with pytest.raises(RuntimeError, match="the spring is gone"):
        chart.state(1.0, z, zd, s.start.q, s.start.lam)
