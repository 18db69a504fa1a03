"""Projections around the steps of other methods, in-house and foreign."""

from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import HalfImplicit, Projected, ProjectedGauss, Status, library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.dae import SolveDae
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida

from .helpers import need, thorough_but

# method, form, largest error in positions after 2 s at the default tolerances
ONE_STEP = {
    "half-implicit": (HalfImplicit(h=1e-3), None, 1e-2), "fully implicit": (mbdae.FullyImplicit(h=1e-3), None, 3e-2),
    "DOP853": (SolveIvp("DOP853"), None, 1e-4), "RK45": (SolveIvp("RK45"), None, 1e-4), "SciPy Radau": (SolveIvp("Radau"), None, 1e-4),
    "RK45, tangent": (SolveIvp("RK45"), "tangent", 1e-4), "Rosenbrock": (mbdae.RosenbrockNystrom(), None, 1e-4),
    "SDIRK": (mbdae.SdirkDescriptor(), None, 1e-4), "odes": (Odes("dop853"), None, 1e-4),
    "Radau5DAE": (Assimulo("Radau5DAE"), "ggl", 1e-4), "Dopri5": (Assimulo("Dopri5"), None, 1e-4),
    "Radau3": (SolveDae("Radau3"), "ggl", 1e-4), "Radau13": (Radau13(), None, 1e-4),
}
MULTISTEP = {
    "IDA": (Ida(), "ggl", 1e-4), "CVODE": (Cvode(), None, 1e-4), "LSODA": (SolveIvp("LSODA"), None, 1e-4),
    "Bdf": (mbdae.Bdf(), "ggl", 1e-4), "DASPK": (Odes("ddaspk"), None, 1e-4), "solve-dae BDF": (SolveDae("BDF"), "ggl", 1e-4),
}
ALL = ONE_STEP | MULTISTEP
SPAN = (0.0, 2.0)


@pytest.fixture(scope="module")
def system():
    return library.system("double-spherical-pendulum")


@pytest.fixture(scope="module")
def exact(system):
    return mbdae.solve(system, ProjectedGauss(h=1e-3, stages=4, project="PVAE-0"), SPAN, t_eval=np.linspace(*SPAN, 41))


def available(name):
    method, form, bound = ALL[name]
    need(method)
    return method, form, bound


@pytest.mark.parametrize("name", thorough_but(("half-implicit", "DOP853", "IDA"), ALL))
def test_every_method_can_be_projected(name, system, exact):
    method, form, bound = available(name)
    outer = Projected(method, "PVAE-0")
    assert outer.one_step == (name in ONE_STEP)
    assert outer.label == f"{method.label}, projected (PVAE-0)" and outer.formulations == method.formulations
    x = mbdae.solve(system, outer, SPAN, formulation=form)
    assert x.success and x.t[-1] == SPAN[1] and x.method == outer.label
    np.testing.assert_array_less(x.constraint_residuals.max(axis=0), (3e-15, 1e-14, 1e-12))
    assert np.ptp(x.energy) < 1e-13
    assert np.abs(x.q[-1] - exact.q[-1]).max() < bound


@pytest.mark.parametrize("name", thorough_but(("DOP853", "IDA"), ["half-implicit", "DOP853", "Rosenbrock", "RK45, tangent", "Radau5DAE",
                                                                  "IDA"]))
def test_output_at_given_times_is_projected(name, system, exact):
    method, form, bound = available(name)
    x = mbdae.solve(system, Projected(method, "PVA"), SPAN, formulation=form, t_eval=exact.t)
    assert x.success
    np.testing.assert_allclose(x.t, exact.t, rtol=0.0, atol=1e-12)
    assert x.constraint_residuals.max() < 1e-12
    assert np.abs(x.q - exact.q).max() < 10.0 * bound
    few = mbdae.solve(system, Projected(method, "PVA"), (0.0, 0.1), formulation=form, t_eval=[])
    assert few.success and len(few.t) == 0


@pytest.mark.thorough
def test_the_step_size_is_kept_from_step_to_step(system):
    """A new start in every step costs a few steps more, not many."""
    for method in (SolveIvp("DOP853"), SolveIvp("RK45"), mbdae.RosenbrockNystrom(), mbdae.SdirkFirstOrder()):
        plain, outer = (mbdae.solve(system, m, (0.0, 5.0), rtol=1e-8, atol=1e-10) for m in (method, Projected(method, "PV")))
        assert plain.success and outer.success
        assert outer.statistics.steps < 1.7 * plain.statistics.steps
        assert outer.statistics.residuals < 3.0 * plain.statistics.residuals


def test_multistep_methods_go_on_from_their_own_states(system):
    """So their steps are the same with and without projections."""
    plain, outer = (mbdae.solve(system, m, SPAN, formulation="ggl") for m in (Ida(), Projected(Ida(), "PV")))
    np.testing.assert_array_equal(plain.t, outer.t)
    assert np.abs(plain.q - outer.q).max() < 1e-4
    assert plain.constraint_residuals[:, 0].max() > 1e-9 and outer.constraint_residuals[:, :2].max() < 1e-14
    assert outer.statistics.residuals == plain.statistics.residuals and outer.statistics.steps == plain.statistics.steps


@pytest.mark.thorough
def test_projected_positions_do_not_drift():
    """The underlying ODE drifts by itself; where its states are projected after every step it goes on from them."""
    s = library.system("particle-pendulum")
    energies = []
    for method in (SolveIvp("RK23"), Projected(SolveIvp("RK23"), "PVAE-0")):
        x = mbdae.solve(s, method, (0.0, 20.0), rtol=1e-4, atol=1e-6)
        energies.append(np.ptp(x.energy))
    assert energies[1] < 1e-13 < 1e-4 < energies[0]


def test_energy_of_the_step_before(system):
    x = mbdae.solve(system, Projected(HalfImplicit(h=1e-2), "PVAE-n"), SPAN)
    assert x.success and 0.0 < np.ptp(x.energy) < 1e-11


def test_gauss_without_projections_inside_and_with_them_outside(system):
    inner, outer = ProjectedGauss(h=1e-2, project="PVA"), Projected(ProjectedGauss(h=1e-2, project=""), "PVA")
    x, y = (mbdae.solve(system, m, (0.0, 0.5)) for m in (inner, outer))
    np.testing.assert_array_equal(x.t, y.t)
    for name in ("q", "v", "lam"):
        np.testing.assert_allclose(getattr(x, name), getattr(y, name), rtol=0.0, atol=1e-9)
    assert y.statistics.steps == x.statistics.steps == 50


@pytest.mark.thorough
def test_output_within_steps_costs_no_further_run_of_a_method_that_interpolates(system):
    """Neither do steps that the method cuts: they are counted as rejected once, by the method."""
    method = Projected(mbdae.RosenbrockNystrom(), "PV")
    x, y = (mbdae.solve(system, method, SPAN, **more).statistics for more in ({}, {"t_eval": np.linspace(*SPAN, 201)}))
    assert x.steps == y.steps == x.jacobians and x.rejected_error == y.rejected_error > 0
    assert x.restarts == y.restarts == x.steps - 1


def test_the_options_of_solve(system):
    seen = []
    x = mbdae.solve(system, Projected(HalfImplicit(h=1e-2), "PV"), (0.0, 0.505), every=10, progress=seen.append)
    np.testing.assert_allclose(x.t, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.505], atol=1e-14)
    assert len(seen) == 51 and x.statistics.steps == 51

    def fallen(t, q, v):
        return q[2] + 0.5

    fallen.terminal = True
    for method in (HalfImplicit(h=1e-3), SolveIvp("DOP853"), Ida()):
        x = mbdae.solve(system, Projected(method, "PV"), SPAN, events=fallen)
        assert x.success and x.t[-1] < 1.0 and x.q[-1, 2] == pytest.approx(-0.5, abs=1e-3)


@pytest.mark.thorough
def test_redundant_constraints_and_long_runs():
    x = mbdae.solve(library.system("bricard"), Projected(HalfImplicit(h=1e-3), "PVAE-0"), (0.0, 1.0))
    assert x.success and x.constraint_residuals.max() < 1e-13 and np.ptp(x.energy) < 1e-13


def test_failures_of_the_method_and_of_the_projection(system):
    x = mbdae.solve(system, Projected(replace(SolveIvp("RK45"), max_steps=5), "PV"), SPAN)
    assert x.status == Status.TOO_MANY_STEPS and len(x.t) == 6 and "5 steps were not enough" in x.message
    x = mbdae.solve(library.system("slider-crank"), Projected(HalfImplicit(h=1e-2, max_iter=1), "PV"), (0.0, 1.0))
    assert x.status == Status.NEWTON_FAILED and len(x.t) >= 1

    def rising(t, q, v):
        return system.energy(t, q, v) if t < 1.0 else -1e3

    for method in (SolveIvp("RK45"), HalfImplicit(h=1e-2), Ida()):
        x = mbdae.solve(system, Projected(method, "PVAE-0", energy=rising), SPAN)
        assert x.status == Status.PROJECTION_FAILED and 0.5 < x.t[-1] < 1.0
        assert "the energy projection has no solution" in x.message and "is kept" in x.message


@pytest.mark.parametrize("inner", [HalfImplicit(h=1e-2), mbdae.RosenbrockNystrom(max_steps=7), SolveIvp("BDF"), Ida(max_steps=5)],
                         ids=lambda x: x.label)
def test_attributes_are_those_of_the_inner_method(inner):
    outer = Projected(inner)
    for name in ("support", "formulations", "package", "keeps_charts", "one_step", "step_size", "max_steps"):
        assert getattr(outer, name) == getattr(inner, name)
    assert outer.availability() == inner.availability()


def test_bad_calls():
    with pytest.raises(ValueError, match="Projected: method must be a method object"):
        Projected(HalfImplicit)
    with pytest.raises(ValueError, match=r"Projected: project must be one of"):
        Projected(HalfImplicit(), "VA")
    with pytest.raises(ValueError, match="first_step must be finite and not negative"):
        SolveIvp(first_step=-1.0)
    for no_method in (object(), "HalfImplicit", None):
        with pytest.raises(ValueError, match="Projected: method must be a method object"):
            Projected(no_method)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        Projected(HalfImplicit()).colour  # noqa: B018


def test_projected_methods_are_not_projected_again():
    with pytest.raises(ValueError, match=r"method is projected already; give the method inside it, Projected\(HalfImplicit\(h=0.5"):
        Projected(Projected(HalfImplicit(h=0.5), "P"), "PVA")


@pytest.mark.parametrize("make", [lambda n: mbdae.NullSpaceNewmark(1e-2, max_steps=n), lambda n: mbdae.RosenbrockNystrom(max_steps=n)],
                         ids=["fixed", "adaptive"])
def test_the_last_state_of_a_failed_run_is_kept(system, make):
    """Whatever `every` says."""
    x, y = (mbdae.solve(system, Projected(make(10), "PVA"), SPAN, every=k) for k in (7, 1))
    assert x.status == Status.TOO_MANY_STEPS and len(x.t) == 3 and len(y.t) == 11
    for name in ("t", "q", "v", "a", "lam"):
        np.testing.assert_array_equal(getattr(x, name), getattr(y, name)[[0, 7, 10]])
    at_wanted = mbdae.solve(system, Projected(make(10), "PVA"), SPAN, every=7, t_eval=[0.0, 1.0])
    np.testing.assert_array_equal(at_wanted.t, [0.0])


def straightened():
    """Two rods of sqrt(1/2) m whose end is pulled away: straight at t = 0.828."""
    bodies = [mbdae.Particle("a", 1.0, (0.5, 0.5, 0.0)), mbdae.Particle("b", 1.0, (1.0, 0.0, 0.0))]
    rods = [mbdae.Rod("r1", "ground", "a", length=0.5**0.5), mbdae.Rod("r2", "a", "b", length=0.5**0.5)]
    drivers = [mbdae.CoordinateDriver("x", "ground", "b", mbdae.Polynomial((1.0, 0.5)), (1.0, 0.0, 0.0)),
               mbdae.CoordinateDriver("y", "ground", "b", 0.0, (0.0, 1.0, 0.0)),
               mbdae.CoordinateDriver("z", "ground", "b", 0.0, (0.0, 0.0, 1.0)),
               mbdae.CoordinateDriver("za", "ground", "a", 0.0, (0.0, 0.0, 1.0))]
    return mbdae.Mechanism("straightened", bodies, rods, drivers, gravity=(0.0, -9.81, 0.0))


def test_singular_positions_are_named():
    x = mbdae.solve(straightened(), Projected(HalfImplicit(7e-3), "PVA"), (0.0, 2.0))
    assert x.status == Status.SINGULAR and 0.8 < x.t[-1] < 0.83
    assert "lose rank near t = 0.83" in x.message and "r1, r2" in x.message and f"(last step ended at t = {x.t[-1]:.9g})" in x.message


@pytest.mark.thorough
def test_projections_and_new_starts_are_counted(system):
    inner, bare, outer = (mbdae.solve(system, m, (0.0, 0.1)).statistics
                          for m in (HalfImplicit(1e-3), Projected(HalfImplicit(1e-3), ""), Projected(HalfImplicit(1e-3), "PVAE-0")))
    assert (bare.steps, bare.restarts, bare.solves) == (100, 99, bare.newton_iterations)
    assert inner.factorisations == 101 and bare.factorisations == 200  # one more for the accelerations at the end of every run
    assert outer.restarts == 99 and outer.factorisations >= 300 and outer.solves >= outer.newton_iterations + 500
    adaptive = mbdae.solve(system, Projected(mbdae.RosenbrockNystrom(), "PV"), (0.0, 0.5)).statistics
    assert adaptive.restarts >= adaptive.steps - 1
    other, alone = (mbdae.solve(system, m, (0.0, 0.1), formulation="ggl").statistics for m in (Projected(mbdae.Bdf(), "PV"), mbdae.Bdf()))
    assert other.restarts == alone.restarts and other.factorisations >= alone.factorisations + other.steps + 1
    assert other.solves > alone.solves + other.steps
    explicit = mbdae.solve(system, Projected(SolveIvp("RK45"), "PV"), (0.0, 0.1)).statistics
    assert explicit.factorisations is None or explicit.factorisations > 0
