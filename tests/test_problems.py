"""Formulations: residuals, exact Jacobians, structural patterns, and what a solver must be told."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import mbdae
import mbdae.adapters.sundae
from mbdae.problems import FORMULATIONS
from mbdae.problems.elimination import factors_of

from .helpers import T0, all_elements, central, chain, double_pendulum, relative, slider_crank

FORMS = {
    "index3": mbdae.Index3, "ggl": mbdae.GGL, "ggl explicit": lambda s: mbdae.GGL(s, "explicit"), "gear": mbdae.Gear,
    "index2": mbdae.Index2, "index1": mbdae.Index1, "baumgarte": lambda s: mbdae.Index1(s, 2.0, 3.0),
    "mass": lambda s: mbdae.MassMatrix(s, 3), "mass 3": lambda s: mbdae.MassMatrix(s, 3, accelerations=True),
    "mass 2": lambda s: mbdae.MassMatrix(s, 2, accelerations=True), "mass 1": lambda s: mbdae.MassMatrix(s, 1),
    "overdetermined": mbdae.Overdetermined, "ode": mbdae.UnderlyingODE,
}
IMPLICIT = [name for name in FORMS if name != "ode"]
MECHANISMS = {"all elements": lambda: all_elements(41), "slider-crank": slider_crank, "double pendulum": double_pendulum}


@pytest.fixture(scope="module", params=MECHANISMS)
def case(request):
    """A system and a consistent state with random velocities."""
    s = mbdae.System(MECHANISMS[request.param]())
    return s, mbdae.assemble(s, T0 if request.param == "all elements" else 0.0, v=np.random.default_rng(1).normal(size=s.nv))


@pytest.fixture(params=FORMS)
def problem(request, case):
    return FORMS[request.param](case[0])


@pytest.fixture(params=IMPLICIT)
def implicit(request, case):
    return FORMS[request.param](case[0])


def random_point(problem, rng):
    """Unknowns near a consistent position, everything else random."""
    y, yd = rng.normal(size=problem.n), rng.normal(size=problem.n)
    s = problem.system
    y[problem.blocks["q"]] = s.retract(s.initial_guess()[0], 0.3 * y[problem.blocks["v"]])
    return y, yd


# --- residuals -----------------------------------------------------------------------------------------------------------


def test_the_residual_vanishes_at_a_consistent_start(problem, case):
    s, x = case
    y, yd = problem.pack(x)
    scale = max(np.abs(part).max() for part in (y, yd, s.force(x.t, x.q, x.v, x.lam), s.gamma(x.t, x.q, x.v)))
    assert np.abs(problem.residual(x.t, y, yd)).max() < 1e-12 * scale


def expected_rows(s, t, q, qd, v, a, lam, mu):
    """All equations from the evaluations of the system."""
    G, M = s.phi_q(t, q), s.mass(t, q)
    dynamics = M @ a + G.T @ lam - s.force(t, q, v, lam)
    return {
        "kinematics": qd - s.qdot(q, v - G.T @ mu), "dynamics": dynamics, "explicit": np.linalg.solve(M, dynamics), "position": s.phi(t, q),
        "velocity": G @ v - s.nu(t, q), "acceleration": G @ a - s.gamma(t, q, v),
    }


@pytest.mark.parametrize("name", IMPLICIT)
def test_every_row_is_the_equation_it_is_called(case, name, rng):
    s, t = case[0], 0.6
    p = FORMS[name](s)
    y, yd = random_point(p, rng)
    b = p.blocks
    q, v, a = y[b["q"]], y[b["v"]], yd[b["v"]]
    lam = yd[b["w"]] if name == "gear" else y[b["lam"]]
    mu = yd[b["z"]] if name == "gear" else y[b["mu"]] if "mu" in b else np.zeros(s.nc)
    rows = expected_rows(s, t, q, yd[b["q"]], v, a, lam, mu)
    if name == "ggl explicit":
        rows["dynamics"] = rows["explicit"]
    if "a" in b:  # the accelerations are unknowns
        rows = expected_rows(s, t, q, yd[b["q"]], v, y[b["a"]], lam, mu) | {"rate": a - y[b["a"]]}
    if name == "baumgarte":
        rows["acceleration"] = rows["acceleration"] + 2 * 2.0 * rows["velocity"] + 3.0**2 * rows["position"]
    found = p.residual(t, y, yd)
    assert sum(e.stop - e.start for e in p.equations.values()) == p.m == len(found)
    for equation, where in p.equations.items():
        assert relative(found[where], rows[equation]) < 1e-13


def test_the_residual_is_written_where_the_caller_says(problem, case):
    y, yd = problem.pack(case[1])
    out = np.full(problem.m, 7.0)
    assert problem.residual(0.5, y, yd, out) is out
    np.testing.assert_allclose(out, problem.residual(0.5, y, yd), rtol=1e-10, atol=1e-10)  # friction iterates from the call before


def test_values_that_are_not_finite_are_returned_as_they_are(problem, case):
    y, yd = problem.pack(case[1])
    y[0] = np.nan
    assert np.isnan(problem.residual(0.0, y, yd)).any()


# --- Jacobians -----------------------------------------------------------------------------------------------------------


def test_jacobians_agree_with_differences(problem, rng):
    p, t, c = problem, 0.6, 7.0
    y, yd = random_point(p, rng)
    differences = central(lambda d: p.residual(t, y + d, yd + c * d), p.n)
    assert relative(p.jacobian(t, y, yd, c).toarray(), differences) < 2e-8


def test_jacobians_of_the_rate_part_agree_with_differences(implicit, rng):
    p = implicit
    y, yd = random_point(p, rng)
    rates = (p.jacobian(0.6, y, yd, 3.0) - p.jacobian(0.6, y, yd, 1.0)).toarray() / 2.0
    assert relative(rates, central(lambda d: p.residual(0.6, y, yd + d), p.n)) < 1e-8


def test_jacobian_values_come_in_the_order_of_the_pattern(problem, rng):
    p = problem
    y, yd = random_point(p, rng)
    J = p.jacobian(0.6, y, yd, 2.0)
    np.testing.assert_array_equal(J.indices, p.pattern.indices)
    np.testing.assert_array_equal(J.indptr, p.pattern.indptr)
    np.testing.assert_array_equal(J.data, p.jacobian_values(0.6, y, yd, 2.0))


def single_columns(p, t, y, yd, c, step=1e-100):
    """`F_y + c F_yd` column by column, without groups and without a pattern."""
    out, work = np.zeros(p.m, complex), p.system.workspace(complex)
    J = np.empty((p.m, p.n))
    for k in range(p.n):
        z, zd = y.astype(complex), yd.astype(complex)
        z[k] += 1j * step
        zd[k] += 1j * step * c
        p.kernel(t, z, zd, out, p.model, work, *p.parameters)
        J[:, k] = out.imag / step
    return J


@pytest.mark.thorough
def test_the_pattern_contains_every_nonzero_at_twenty_states(implicit, rng):
    p, possible = implicit, implicit.pattern.toarray()
    found = np.zeros_like(possible)
    for _ in range(20):
        y, yd = random_point(p, rng)
        J = single_columns(p, rng.uniform(0, 2), y, yd, rng.uniform(1, 10))
        outside = np.abs(J[~possible]).max(initial=0.0)
        assert outside == 0.0
        found |= np.abs(J) > 1e-9
    assert found.any(axis=0).all()  # every unknown matters
    assert found.any(axis=1).all()  # every equation depends on something
    assert possible.sum() < 3 * found.sum()  # the pattern does not exaggerate


def test_grouped_columns_give_the_jacobian_of_single_ones(implicit, rng):
    p = implicit
    y, yd = random_point(p, rng)
    np.testing.assert_allclose(p.jacobian(0.6, y, yd, 4.0).toarray(), single_columns(p, 0.6, y, yd, 4.0), rtol=1e-7, atol=1e-7)


def test_groups_are_structurally_orthogonal(implicit):
    p = implicit
    pattern = p.pattern.tocsc()
    assert p.groups.shape == (p.n,)
    assert set(p.groups) == set(range(p.groups.max() + 1))
    for g in range(p.groups.max() + 1):
        rows = np.concatenate([pattern.indices[pattern.indptr[k]:pattern.indptr[k + 1]] for k in np.flatnonzero(p.groups == g)])
        assert len(rows) == len(set(rows))


def test_long_chains_need_no_more_groups_than_short_ones():
    counts = [mbdae.GGL(mbdae.System(chain(n))).groups.max() + 1 for n in (10, 40)]
    fullest = np.diff(mbdae.GGL(mbdae.System(chain(40))).pattern.tocsr().indptr).max()
    assert counts[0] == counts[1]
    assert fullest <= counts[1] <= 1.5 * fullest


def test_what_the_structure_determines_is_found_once_for_a_system_and_form():
    system, other = mbdae.System(slider_crank()), mbdae.System(slider_crank())
    variants = {name: FORMULATIONS[name] for name in FORMULATIONS} | {
        "explicit": lambda s: mbdae.GGL(s, form="explicit"), "level 3": lambda s: mbdae.MassMatrix(s, level=3),
        "level 1": lambda s: mbdae.MassMatrix(s, level=1), "accelerations": lambda s: mbdae.MassMatrix(s, accelerations=True)}
    if system.dof == 0:  # no state-space forms
        variants = {name: make for name, make in variants.items() if name not in ("partition", "tangent")}
    for make in variants.values():  # all of them on one system: none may get what belongs to another
        first, second, alone = make(system), make(system), make(other)
        assert second.pattern is first.pattern and second.groups is first.groups and alone.pattern is not first.pattern
        np.testing.assert_array_equal(first.pattern.toarray(), first._make_pattern().toarray())
        np.testing.assert_array_equal(second.known.mask, alone.known.mask)
        assert second.known._values is not first.known._values  # what changes belongs to a problem


def test_what_is_found_once_goes_with_the_system():
    system = mbdae.System(double_pendulum())
    problems = [make(system) for make in FORMULATIONS.values()]
    for p in problems:
        p.known, p.groups  # noqa: B018
    factors_of(problems[0])
    gone = weakref.ref(system)
    del system, problems, p
    gc.collect()
    assert gone() is None



def test_patterns_are_sorted_and_without_duplicates(problem):
    pattern = problem.pattern
    assert pattern.shape == (problem.m, problem.n)
    assert pattern.dtype == bool
    assert pattern.indices.dtype == pattern.indptr.dtype == np.int32
    assert pattern.has_sorted_indices
    assert pattern.has_canonical_format


# --- what a solver must be told ------------------------------------------------------------------------------------------

INDEX = {
    "index3": {"q": 1, "v": 2, "lam": 3}, "ggl": {"q": 1, "v": 1, "lam": 2, "mu": 2}, "ggl explicit": {"q": 1, "v": 1, "lam": 2, "mu": 2},
    "gear": {"q": 1, "v": 1, "w": 1, "z": 1}, "index2": {"q": 1, "v": 1, "lam": 2}, "index1": {"q": 1, "v": 1, "lam": 1},
    "baumgarte": {"q": 1, "v": 1, "lam": 1}, "overdetermined": {"q": 1, "v": 1, "lam": 1}, "ode": {"q": 1, "v": 1},
    "mass": {"q": 1, "v": 2, "lam": 3}, "mass 3": {"q": 1, "v": 2, "a": 3, "lam": 3}, "mass 2": {"q": 1, "v": 1, "a": 2, "lam": 2},
    "mass 1": {"q": 1, "v": 1, "a": 1, "lam": 1},
}
LOOSE = {"mass": {"lam"}, "mass 3": {"a", "lam"}, "mass 2": {"a", "lam"}, "mass 1": {"a", "lam"},
         "index3": {"v", "lam"}, "ggl": {"lam", "mu"}, "ggl explicit": {"lam", "mu"}, "index2": {"lam"}, "index1": {"lam"},
         "baumgarte": {"lam"}, "overdetermined": {"lam"}, "gear": {"z"}, "ode": set()}


@pytest.mark.parametrize("name", FORMS)
def test_blocks_indices_and_masks(case, name):
    s, p = case[0], FORMS[name](case[0])
    sizes = {"q": s.nq, "v": s.nv, "a": s.nv} | dict.fromkeys(("lam", "mu", "w", "z"), s.nc)
    assert {b: x.stop - x.start for b, x in p.blocks.items()} == {b: sizes[b] for b in INDEX[name]}
    assert p.n == sum(sizes[b] for b in INDEX[name])
    for block, index in INDEX[name].items():
        assert (p.index[p.blocks[block]] == index).all()
        assert (p.algebraic[p.blocks[block]] == (block in ("a", "lam", "mu"))).all()


def test_algebraic_unknowns_are_those_whose_rates_do_not_appear(implicit, rng):
    p = implicit
    y, yd = random_point(p, rng)
    rates = (p.jacobian(0.6, y, yd, 2.0) - p.jacobian(0.6, y, yd, 1.0)).toarray()
    np.testing.assert_array_equal(np.abs(rates).max(axis=0) < 1e-12, p.algebraic)


@pytest.mark.parametrize("name", FORMS)
def test_tolerances_per_block(case, name):
    p = FORMS[name](case[0])
    atol = p.tolerances(1e-6, 1e-8)
    for block, where in p.blocks.items():
        assert (atol[where] == (1e4 if block in LOOSE[name] else 1e-8)).all()


def test_tolerances_of_the_user_are_left_alone(problem):
    own = np.linspace(1e-9, 1e-3, problem.n)
    np.testing.assert_array_equal(problem.tolerances(1e-6, own), own)
    with pytest.raises(ValueError, match=rf"atol must be a number or have shape \({problem.n},\), got \(2,\)"):
        problem.tolerances(1e-6, [1e-8, 1e-8])


@pytest.mark.parametrize("name", IMPLICIT)
def test_output_states_are_those_of_the_unknowns(case, name):
    """Accelerations and multipliers are computed anew, so wrong ones do no harm."""
    s, x = case
    p = FORMS[name](s)
    y, yd = p.pack(x)
    y[s.nq + s.nv:] = 1e6
    yd[:] = 1e6
    for found, expected in zip(p.state(x.t, y, yd), (x.q, x.v, x.a, x.lam)):
        assert found.shape == expected.shape
        assert relative(found, expected) < 1e-10


@pytest.mark.parametrize("name", IMPLICIT)
def test_unpacking_returns_what_was_packed(case, name):
    s, x = case
    p = FORMS[name](s)
    y, yd = p.pack(x)
    for found, expected in zip(p.unpack(y, yd), (x.q, x.v, x.a, x.lam)):
        np.testing.assert_array_equal(found, expected)
    rows = p.unpack(np.array([y, 2 * y, 3 * y]), np.array([yd, yd, yd]))
    assert [r.shape for r in rows] == [(3, s.nq), (3, s.nv), (3, s.nv), (3, s.nc)]


def test_the_underlying_ode_says_where_its_multipliers_are(case):
    s, x = case
    p = mbdae.UnderlyingODE(s)
    with pytest.raises(TypeError, match=r"UnderlyingODE: y has no multipliers; state\(t, y\) computes them"):
        p.unpack(*p.pack(x))


def test_problems_print_what_they_are(problem, case):
    text = repr(problem)
    assert type(problem).__name__ in text
    assert repr(case[0].name) in text
    assert f"{problem.n} unknowns, {problem.m} equations" in text


def test_the_table_of_formulations_is_complete():
    assert {name: c.formulation for name, c in FORMULATIONS.items()} == {name: name for name in FORMULATIONS}
    assert set(FORMULATIONS) == {"index3", "ggl", "gear", "index2", "index1", "mass", "overdetermined", "ode", "partition", "tangent"}
    assert len({c.title for c in FORMULATIONS.values()}) == len(FORMULATIONS)


# --- the mass-matrix form ------------------------------------------------------------------------------------------------

MASS = [name for name in FORMS if name.startswith("mass")]


@pytest.mark.parametrize("name", MASS)
def test_the_residual_is_mass_times_rate_minus_right_hand_side(case, name, rng):
    p = FORMS[name](case[0])
    y, yd = random_point(p, rng)
    assert relative(p.residual(0.6, y, yd), p.mass @ yd - p.rhs(0.6, y)) < 1e-13
    np.testing.assert_array_equal((np.abs(p.mass).sum(axis=0) == 0.0), p.algebraic)


@pytest.mark.parametrize("name", MASS)
def test_the_jacobian_of_the_mass_matrix_form_splits(case, name, rng):
    p = FORMS[name](case[0])
    y, yd = random_point(p, rng)
    assert relative(p.jacobian(0.6, y, yd, 5.0).toarray(), 5.0 * p.mass.toarray() - p.rhs_jacobian(0.6, y).toarray()) < 1e-12


@pytest.mark.parametrize("name", MASS)
def test_unknowns_of_the_mass_matrix_form_stand_in_the_order_of_their_index(case, name):
    s, p = case[0], FORMS[name](case[0])
    assert (np.diff(p.index) >= 0).all()
    expected = {"mass": (s.nq, s.nv, s.nc), "mass 3": (s.nq, s.nv, s.nv + s.nc), "mass 2": (s.nq + s.nv, s.nv + s.nc, 0),
                "mass 1": (s.nq + 2 * s.nv + s.nc, 0, 0)}
    assert p.nind == expected[name]


def test_the_mass_matrix_form_has_the_constraints_on_velocities_and_its_output_on_all_levels(case):
    s, state = case
    p = mbdae.MassMatrix(s)
    assert (p.level, p.nind) == (2, mbdae.MassMatrix(s, 2).nind)
    y = p.pack(state)[0] + 1e-6 * np.random.default_rng(3).normal(size=p.n)
    q, v, a, lam = p.state(state.t, y)
    np.testing.assert_allclose(s.phi(state.t, q), 0.0, atol=1e-11)
    np.testing.assert_allclose(s.phi_q(state.t, q) @ v, s.nu(state.t, q), atol=1e-9)
    balance = s.mass_times(state.t, q, a) + s.phi_q(state.t, q).T @ lam - s.force(state.t, q, v, lam)
    np.testing.assert_allclose(balance, 0.0, atol=1e-9 * (1.0 + np.abs(lam).max()))
    np.testing.assert_array_equal(mbdae.MassMatrix(s, project=False).state(state.t, y)[0], y[p.blocks["q"]])


def test_accelerations_become_unknowns_where_the_mass_matrix_varies():
    angle = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.array([[2.0 + np.cos(q[0])]]), force=lambda t, q, v: -q,
                                        phi=lambda t, q: np.zeros(0), q0=[0.3])
    assert set(mbdae.MassMatrix(angle).blocks) == {"q", "v", "a", "lam"}
    with pytest.raises(ValueError, match="must be unknowns, as the mass matrix is not constant"):
        mbdae.MassMatrix(angle, accelerations=False)
    with pytest.raises(ValueError, match="must be unknowns, as the constraints are on their level"):
        mbdae.MassMatrix(mbdae.System(double_pendulum()), level=1, accelerations=False)
    with pytest.raises(ValueError, match="level must be 3, 2 or 1, got 4"):
        mbdae.MassMatrix(angle, level=4)


def test_both_parts_of_the_jacobian(implicit, rng):
    p = implicit
    y, yd = random_point(p, rng)
    F_y, F_yd = p.jacobian_parts(0.6, y, yd)
    assert relative((F_y + 3.0 * F_yd).toarray(), p.jacobian(0.6, y, yd, 3.0).toarray()) < 1e-13
    assert relative(F_yd.toarray(), central(lambda d: p.residual(0.6, y, yd + d), p.n)) < 1e-8


def test_the_form_of_hiller_and_anantharaman_is_gear_with_other_signs(rng):
    """A particle on a circle [Arevalo]: `x' = u + x Gamma'`, `u' = f + x Lambda'`, `x u = 0`, `|x|^2 = 1`."""
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([2 * q[1], -2 * q[0]]),
                                    phi=lambda t, q: np.array([(q @ q - 1.0) / 2]), phi_q=lambda t, q: q[None, :], q0=[0.0, 1.0])
    p = mbdae.Gear(s)
    y, yd = rng.normal(size=6), rng.normal(size=6)
    (x, u), (xd, ud, Ld, Gd) = (y[:2], y[2:4]), (yd[:2], yd[2:4], -yd[4], -yd[5])
    published = np.concatenate([xd - u - x * Gd, ud - np.array([2 * x[1], -2 * x[0]]) - x * Ld, [x @ u], [(x @ x - 1.0) / 2]])
    assert relative(p.residual(0.0, y, yd), published) < 1e-13
    solution = mbdae.solve(s, mbdae.adapters.sundae.Ida(), (0.0, 0.1), formulation="hiller-anantharaman")
    assert (solution.success, solution.formulation) == (True, "gear")


# --- the underlying ordinary differential equation -----------------------------------------------------------------------


def test_the_right_hand_side_is_rate_and_acceleration(case):
    s, x = case
    p = mbdae.UnderlyingODE(s)
    y, yd = p.pack(x)
    assert relative(p.rhs(x.t, y), yd) < 1e-11
    np.testing.assert_allclose(yd, np.concatenate([s.qdot(x.q, x.v), x.a]))


def test_baumgarte_terms_pull_back_to_the_constraints(case, rng):
    """`Phi'' + 2 alpha Phi' + beta^2 Phi = 0` along the right-hand side."""
    s, t = case[0], 0.6
    p = mbdae.UnderlyingODE(s, alpha=2.0, beta=3.0)
    y, _ = random_point(p, rng)
    q, v, a = y[p.blocks["q"]], y[p.blocks["v"]], p.rhs(t, y)[p.blocks["v"]]
    G = s.phi_q(t, q)
    error = G @ a - s.gamma(t, q, v) + 4.0 * (G @ v - s.nu(t, q)) + 9.0 * s.phi(t, q)
    assert np.abs(s.phi(t, q)).max() > 0.01
    assert np.abs(error).max() < 1e-9 * (1 + np.abs(a).max())


def test_jacobians_of_the_right_hand_side_agree_with_differences(case):
    s, x = case
    for p in (mbdae.UnderlyingODE(s), mbdae.UnderlyingODE(s, 2.0, 3.0)):
        y, _ = p.pack(x)
        assert relative(p.rhs_jacobian(x.t, y), central(lambda d, p=p, y=y: p.rhs(x.t, y + d), p.n)) < 1e-6


def test_states_of_the_output_are_projected(case, rng):
    s, x = case
    y, _ = mbdae.UnderlyingODE(s).pack(x)
    y = y + 1e-4 * rng.normal(size=len(y))
    q, v, a, lam = mbdae.UnderlyingODE(s).state(x.t, y)
    G = s.phi_q(x.t, q)
    assert np.abs(s.phi(x.t, q)).max() < 1e-12
    assert np.abs(G @ v - s.nu(x.t, q)).max() < 1e-11
    assert relative(s.mass(x.t, q) @ a + G.T @ lam, s.force(x.t, q, v, lam)) < 1e-10
    plain = mbdae.UnderlyingODE(s, project=False).state(x.t, y)
    np.testing.assert_array_equal(plain[0], y[:s.nq])
    np.testing.assert_array_equal(plain[1], y[s.nq:])


def test_friction_multipliers_settle_at_every_call():
    """The guess of the multipliers from the call before does not show in the result."""
    s = mbdae.System(slider_crank())
    x = mbdae.assemble(s)
    far = mbdae.assemble(s, v=50 * x.v)
    p = mbdae.UnderlyingODE(s)
    first = p.rhs(0.0, p.pack(x)[0])
    p.rhs(0.0, p.pack(far)[0])
    assert relative(p.rhs(0.0, p.pack(x)[0]), first) < 1e-12
    without = mbdae.UnderlyingODE(mbdae.System(replace(slider_crank(), forces=())))
    assert relative(without.rhs(0.0, p.pack(x)[0]), first) > 1e-3
