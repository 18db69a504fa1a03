"""Dense output and events: the solution is the same with and without them, and they are those of the method's own interpolant."""

from itertools import pairwise

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.driver.support import index3_support
from mbdae.registry import FAMILIES, find
from mbdae.results.steps import DEGREE, Step, StepwiseOutput
from mbdae.results.watch import Watch

from .helpers import event, thorough_but

TIMES = np.array([0.0, 0.013, 0.1, 0.1251, 0.3, 0.3001, 0.47, 0.5])
COLUMNS = ("t", "q", "v", "a", "lam")
NAMES = [f"{f.name}:{v}" if v else f.name for f in FAMILIES for v in (f.variants or [None]) if v != "DASP3ODE"]
FORMS = ("SolveIvp:DOP853:partition", "SolveIvp:LSODA:tangent", "Cvode:Adams:partition", "Odes:dop853:tangent", "Ida:index3", "Ida:ggl",
         "Bdf:index3", "SolveDae:Radau5:index1", "Assimulo:ODASSL:ggl", "RosenbrockNystrom:tangent")
# their accelerations are not those of the equations, and violations of the constraints over the square of a short step
UNPROJECTED = ("ProjectedGauss:none", "ProjectedGauss:P", "ProjectedGauss:V", "ProjectedGauss:PV")


@pytest.fixture(scope="module")
def spherical():
    return mbdae.System(library.mechanism("double-spherical-pendulum"))


def made(name, **more):
    """The method, its step one that sums without rounding, and the form in its name."""
    spec = find(name)
    available = spec.family.availability()
    if available is not None and not available.installed:
        pytest.skip(f"{available.package} is not installed: {available.remedy}")
    return spec.make(**({"h": 2.0**-7} if spec.control == "h" else {}) | more), {"formulation": spec.formulation}


def same(one, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def height(t, q, v):
    return q[1] - 0.312 + 0.5 * np.sin(20.0 * t)


@pytest.mark.parametrize("name", [*NAMES, *FORMS])
def test_output_times_get_the_same_values_whatever_else_is_asked_for(spherical, name):
    method, form = made(name)
    rtol = 1e-4 if "Trapezoidal" in name else 1e-6  # which takes a thousand steps otherwise
    plain, dense, with_events = (mbdae.solve(spherical, method, (0.0, 0.5), rtol=rtol, atol=rtol, t_eval=TIMES, **form, **more)
                                 for more in ({}, {"dense_output": True}, {"events": [height, event(lambda t, q, v: t - 0.2)]}))
    assert plain.status == dense.status == with_events.status
    same(plain, dense)
    same(plain, with_events)
    if not plain.success:  # explicit formulas without multipliers are refused by the mechanism
        return
    np.testing.assert_allclose(with_events.t_events[1], [0.2], rtol=0.0, atol=1e-13)
    if name not in UNPROJECTED:
        tol = 1e-1 * rtol if "dop" in name.lower() else 1e-2 * rtol  # their interpolants are no polynomials of the degree of `Step`
        for found, stored, bound in zip(dense.sol(TIMES), (plain.q, plain.v, plain.a, plain.lam), (tol, tol, 30 * tol, 30 * tol)):
            np.testing.assert_allclose(found, stored, atol=bound)


@pytest.mark.parametrize("name", ["HalfImplicit", "HHT", "ProjectedGauss", "Bdf", "Ida", "SolveIvp:DOP853", "SolveIvp:DOP853:partition",
                                  "RosenbrockNystrom", "DormandPrince", "RadauIIA"])
@pytest.mark.parametrize("every", [1, 3])
def test_steps_are_the_same_too(spherical, name, every):
    method, form = made(name)
    plain, other = (mbdae.solve(spherical, method, (0.0, 0.3), every=every, **form, **more)
                    for more in ({}, {"dense_output": True, "events": height}))
    same(plain, other)
    for found, stored in zip(other.sol(plain.t)[:2], (plain.q, plain.v)):
        np.testing.assert_allclose(found, stored, atol=1e-12)


@pytest.mark.parametrize("inner", [mbdae.HalfImplicit(h=2.0**-8), Ida(), SolveIvp("RK45"), mbdae.RosenbrockNystrom(),
                                   mbdae.DormandPrince(5)],
                         ids=lambda m: m.label)
@pytest.mark.parametrize("project", thorough_but(["PVA"], ["PV", "PVA", "PVAE-0"]))
def test_projected_methods_too(spherical, inner, project):
    method = mbdae.Projected(inner, project)
    plain, other = (mbdae.solve(spherical, method, (0.0, 0.1), t_eval=[0.0, 0.033, 0.1], **more)
                    for more in ({}, {"dense_output": True, "events": event(lambda t, q, v: t - 0.05)}))
    same(plain, other)
    np.testing.assert_allclose(other.t_events[0], [0.05], atol=1e-13)
    np.testing.assert_allclose(other.sol(0.033)[0], plain.q[1], atol=1e-9)
    np.testing.assert_allclose(spherical.phi(0.033, other.sol(0.033)[0]), 0.0, atol=1e-9)


def test_dense_output_is_as_accurate_as_the_solver(spherical):
    """Cubics through the steps of DOP853 are off by 4e-4 and 0.4 in velocities and multipliers."""
    times = np.linspace(0.0, 2.0, 41)
    exact = mbdae.solve(spherical, SolveIvp(), (0.0, 2.0), rtol=1e-13, atol=1e-13, t_eval=times)
    s = mbdae.solve(spherical, SolveIvp(), (0.0, 2.0), rtol=1e-9, atol=1e-9, dense_output=True)
    for found, expected, bound in zip(s.sol(times), (exact.q, exact.v, exact.a, exact.lam), (1e-8, 1e-8, 1e-7, 1e-7)):
        np.testing.assert_allclose(found, expected, atol=bound)
    for t in times[1:-1:8]:
        q, v, a, lam = s.sol(t)
        np.testing.assert_allclose(spherical.phi(t, q), 0.0, atol=1e-12)
        np.testing.assert_allclose(spherical.phi_q(t, q) @ v, spherical.nu(t, q), atol=1e-12)
        balance = spherical.mass_times(t, q, a) + spherical.phi_q(t, q).T @ lam - spherical.force(t, q, v, lam)
        np.testing.assert_allclose(balance, 0.0, atol=1e-9)


# --- events --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
@pytest.mark.parametrize("name", ["SolveIvp:DOP853", "Ida", "Bdf", "RosenbrockNystrom", "DormandPrince", "RadauIIA"])
def test_times_of_events_are_as_accurate_as_the_solver(spherical, name, tol):
    method, _ = made(name)
    exact, s = (mbdae.solve(spherical, m, (0.0, 1.0), rtol=r, atol=r, events=height) for m, r in ((SolveIvp(), 1e-12), (method, tol)))
    assert len(exact.t_events[0]) >= 3
    np.testing.assert_allclose(s.t_events[0], exact.t_events[0], rtol=0.0, atol=10 * tol)


def test_times_of_events_of_a_fixed_step_are_zeros_of_its_own_output(spherical):
    """The method has an error of its own, of first order; the event adds none to it."""
    found = []
    exact = mbdae.solve(spherical, SolveIvp(), (0.0, 1.0), rtol=1e-12, atol=1e-12, events=height).t_events[0]
    for h in (1e-3, 5e-4):
        method = mbdae.HalfImplicit(h=h)
        times = mbdae.solve(spherical, method, (0.0, 1.0), events=height).t_events[0]
        s = mbdae.solve(spherical, method, (0.0, 1.0), t_eval=times)
        np.testing.assert_allclose([height(*state) for state in zip(s.t, s.q, s.v)], 0.0, atol=1e-12)
        found.append(times)
    errors = [np.abs(times - exact) for times in found]
    assert np.linalg.norm(errors[0]) / np.linalg.norm(errors[1]) == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(2.0 * found[1] - found[0], exact, rtol=0.0, atol=2e-2 * np.abs(errors[1]).max())


@pytest.mark.parametrize("name", ["HalfImplicit", "NullSpaceHHT", "ProjectedGauss", "Bdf", "Ida", "SolveIvp:DOP853",
                                  "SolveIvp:DOP853:tangent", "SdirkDescriptor", "DormandPrince:5", "RadauIIA:9"])
def test_terminal_events_may_count(spherical, name):
    """They end the run, but change nothing before; output times are kept up to there."""
    method, form = made(name)

    def third(t, q, v):
        return height(t, q, v)

    third.terminal = 3
    full = mbdae.solve(spherical, method, (0.0, 1.0), events=height, t_eval=np.linspace(0.0, 1.0, 33), **form)
    end = full.t_events[0][2]
    s = mbdae.solve(spherical, method, (0.0, 1.0), events=third, t_eval=full.t, dense_output=True, **form)
    np.testing.assert_array_equal(s.t_events[0], full.t_events[0][:3])
    kept = full.t <= end
    np.testing.assert_array_equal(s.t, full.t[kept])
    np.testing.assert_array_equal(s.q, full.q[kept])
    assert s.message == f"a terminal event ended the run at t = {end:.9g}"
    assert abs(height(end, *s.sol(end)[:2])) < 1e-11
    with pytest.raises(ValueError, match="dense output: t must lie in"):
        s.sol(end + 1e-3)
    by_steps = mbdae.solve(spherical, method, (0.0, 1.0), events=third, **form)
    assert by_steps.t[-1] == pytest.approx(end, rel=1e-14)
    assert abs(height(by_steps.t[-1], by_steps.q[-1], by_steps.v[-1])) < 1e-11


class Plain(mbdae.Method):
    """A method that passes states instead of steps."""

    label, support = "plain", index3_support()

    def integrate(self, problem, state, t_end, *, until, **options):
        def asked(t, q, v):
            return until(t, q, v)

        return mbdae.HalfImplicit(h=1e-3).integrate(problem, state, t_end, until=asked, **options)


def test_methods_that_show_states_only_have_events_too(spherical):
    s, other = (mbdae.solve(spherical, method, (0.0, 0.5), events=height) for method in (Plain(), mbdae.HalfImplicit(h=1e-3)))
    np.testing.assert_allclose(s.t_events[0], other.t_events[0], atol=1e-7)


def test_failed_runs_keep_what_was_found_so_far(fragile):
    s = mbdae.solve(fragile, SolveIvp(), (0.0, 0.5), events=event(lambda t, q, v: t - 0.01), dense_output=True)
    assert s.status == Status.NOT_FINITE
    np.testing.assert_allclose(s.t_events[0], [0.01], atol=1e-14)
    np.testing.assert_allclose(s.sol(s.t[-1])[0], s.q[-1], atol=1e-12)


# --- the pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t0, t", [(0.5, 2.0), (0.5, -1.0)])
def test_polynomials_are_reproduced(t0, t):
    """Those of the degree of the piece, from the beginning of the step, which is no node, to its end."""
    rng = np.random.default_rng(1)
    p = np.polynomial.Polynomial(rng.normal(size=DEGREE + 1), [-1.0, 2.0])
    step = Step(t0, t, None, p(np.array([t])), lambda times: p(times)[:, None], lambda t, x: x)
    piece = step.piece()
    for s in (*np.linspace(t0, t, 23), np.nextafter(t, t0), t0 + 0.5 * (t - t0)):
        np.testing.assert_allclose(piece(s), p(s), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(piece(t), p(np.array([t])))


def test_dense_output_takes_times_of_any_shape(system):
    zero = np.zeros(1)
    steps = [Step(*span, None, np.array([span[1]]), lambda times: times[:, None], lambda t, x: (x, x, x, x[:0]), 1)
             for span in pairwise([0.0, 1.0, 3.0])]
    sol = StepwiseOutput(system, mbdae.State(0.0, zero, zero, zero, zero[:0]), [step.piece() for step in steps])
    np.testing.assert_allclose(sol([[0.0, 0.5], [1.0, 3.0]])[0], [[[0.0], [0.5]], [[1.0], [3.0]]], atol=1e-15)
    assert [x.shape for x in sol([])] == [(0, 1), (0, 1), (0, 1), (0, 0)]
    assert [x.shape for x in sol(2.0)] == [(1,), (1,), (1,), (0,)]
    with pytest.raises(ValueError, match=r"dense output: t must lie in \[0, 3\]"):
        sol([1.0, np.nan])


def test_a_watch_without_steps_says_so():
    watch = Watch(None, [], mbdae.State(0.0, *np.zeros((4, 1))))
    assert watch.found().times == []
    assert not watch.after(Step(0.0, 1.0, None, None, None, None))
