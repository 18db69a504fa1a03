"""`solve`: what is stored, dense output, events, failures that keep what was computed, and how work is counted."""

import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit, Status
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida

from .helpers import angle, double_pendulum, event

METHODS = {
    "half-implicit": HalfImplicit(h=1e-3), "fully implicit": FullyImplicit(h=1e-3), "IDA": Ida(),
    "IDA differences": Ida(jacobian="difference"),
    "IDA sparse": Ida(linsolver="sparse"), "CVODE BDF": Cvode(), "CVODE Adams": Cvode(multistep="Adams"),
    "DOP853": SolveIvp("DOP853"), "RK45": SolveIvp("RK45"), "Radau": SolveIvp("Radau"), "BDF": SolveIvp("BDF"), "LSODA": SolveIvp("LSODA"),
}
ONE_STEP = ("half-implicit", "fully implicit")
FEW = ("half-implicit", "fully implicit", "IDA", "CVODE BDF", "DOP853")


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


def accuracy(method):
    return 2e-2 if isinstance(method, (HalfImplicit, FullyImplicit)) else 2e-5


# --- what is stored ------------------------------------------------------------------------------------------------------


def test_without_output_times_the_steps_are_stored(system, method, reference):
    s = mbdae.solve(system, method, (0.0, 0.3))
    assert s.success
    assert s.status == Status.SUCCESS
    assert s.message == "the end of the time span was reached"
    assert len(s.t) == s.statistics.steps + 1
    assert s.t[0] == 0.0
    assert s.t[-1] == pytest.approx(0.3, abs=1e-13)
    assert (np.diff(s.t) > 0).all()
    assert s.q.shape == s.v.shape == s.a.shape == (len(s.t), 6)
    assert s.lam.shape == (len(s.t), 4)
    np.testing.assert_allclose(s.q[-1], reference(0.3)[0], atol=accuracy(method))
    np.testing.assert_allclose(s.v[-1], reference(0.3)[1], atol=30 * accuracy(method))


def test_output_times_are_met(system, method, reference):
    times = np.array([0.0, 0.05, 0.1234, 0.3])
    s = mbdae.solve(system, method, (0.0, 0.3), t_eval=times)
    np.testing.assert_allclose(s.t, times, atol=1e-14)
    np.testing.assert_allclose(s.q, reference(times)[0], atol=accuracy(method))
    np.testing.assert_allclose(s.lam, reference(times)[3], atol=2e3 * accuracy(method))


def test_output_times_do_not_change_the_run(system, method):
    runs = [mbdae.solve(system, method, (0.0, 0.3), t_eval=t) for t in (None, [0.1, 0.3], [0.3])]
    assert runs[0].statistics.steps == runs[1].statistics.steps == runs[2].statistics.steps
    np.testing.assert_allclose(runs[1].q[-1], runs[2].q[-1], atol=1e-12)


def test_single_and_no_output_times(system, method):
    assert mbdae.solve(system, method, (0.0, 0.1), t_eval=0.1).q.shape == (1, 6)
    empty = mbdae.solve(system, method, (0.0, 0.1), t_eval=[])
    assert empty.success
    assert empty.q.shape == (0, 6)
    assert empty.lam.shape == (0, 4)


@pytest.mark.parametrize("every", [2, 7, 10**6])
def test_every_so_manieth_step_and_the_last_are_stored(system, method, every):
    full, thin = (mbdae.solve(system, method, (0.0, 0.1), every=n) for n in (1, every))
    n = full.statistics.steps
    keep = sorted({*range(0, n + 1, every), n})
    np.testing.assert_array_equal(thin.t, full.t[keep])
    np.testing.assert_array_equal(thin.q, full.q[keep])
    np.testing.assert_array_equal(thin.lam, full.lam[keep])


def test_the_start_is_stored_as_it_was_given(system, method):
    start = mbdae.assemble(system, 0.2, v=np.arange(6.0))
    s = mbdae.solve(system, method, (0.2, 0.21), state=start)
    assert s.t[0] == 0.2
    for name in ("q", "v"):
        np.testing.assert_allclose(getattr(s, name)[0], getattr(start, name), atol=1e-12)
    for name in ("a", "lam"):
        np.testing.assert_allclose(getattr(s, name)[0], getattr(start, name), rtol=1e-8, atol=1e-8)


def test_runs_go_backward_in_time(system, method, reference):
    q, v, _, _ = reference(0.3)
    s = mbdae.solve(system, method, (0.3, 0.0), q0=q, v0=v, t_eval=[0.3, 0.2, 0.0])
    np.testing.assert_allclose(s.t, [0.3, 0.2, 0.0], atol=1e-14)
    np.testing.assert_allclose(s.q, reference(np.array([0.3, 0.2, 0.0]))[0], atol=2 * accuracy(method))
    assert (np.diff(mbdae.solve(system, method, (0.3, 0.2), q0=q, v0=v).t) < 0).all()


@pytest.mark.parametrize("h", [0.007, 0.3, 1.0])
def test_the_last_step_meets_the_end(system, h):
    s = mbdae.solve(system, HalfImplicit(h=h, max_iter=500), (0.0, 0.3))
    assert s.t[-1] == pytest.approx(0.3, abs=1e-15)
    assert s.statistics.steps == int(np.ceil(0.3 / h))


def test_targets_may_be_mechanisms_systems_or_problems(system):
    expected = mbdae.solve(system, Ida(), (0.0, 0.1), formulation="ggl")
    for target, form in ((double_pendulum(), "ggl"), (mbdae.GGL(system), None), (mbdae.GGL(system), "ggl")):
        s = mbdae.solve(target, Ida(), (0.0, 0.1), formulation=form)
        np.testing.assert_array_equal(s.q, expected.q)
        assert s.formulation == "ggl"
    assert mbdae.solve(system, Ida(), (0.0, 0.01)).formulation == "gear"
    assert mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.01)).formulation == "index3"
    assert mbdae.solve(mbdae.Index3(system), HalfImplicit(h=1e-3), (0.0, 0.01)).formulation == "index3"


@pytest.mark.parametrize("formulation", Ida.formulations)
def test_every_formulation_gives_the_same_motion(system, reference, formulation):
    s = mbdae.solve(system, Ida(), (0.0, 0.3), formulation=formulation, rtol=1e-8, atol=1e-9, t_eval=[0.1, 0.3])
    assert s.success
    np.testing.assert_allclose(s.q, reference(np.array([0.1, 0.3]))[0], atol=1e-6 if formulation != "index3" else 1e-4)
    np.testing.assert_allclose(s.lam, reference(np.array([0.1, 0.3]))[3], rtol=1e-2, atol=1e-2)


# --- solutions -----------------------------------------------------------------------------------------------------------


def test_solutions_know_energies_and_residuals(system):
    s = mbdae.solve(system, SolveIvp(), (0.0, 0.3), rtol=1e-10, atol=1e-10)
    assert np.ptp(s.energy) < 1e-7 * np.abs(s.energy).max()
    np.testing.assert_allclose(s.energy[0], system.energy(0.0, s.q[0], s.v[0]))
    assert s.constraint_residuals.shape == (len(s.t), 3)
    assert s.constraint_residuals.max() < 1e-10
    drift = mbdae.solve(mbdae.UnderlyingODE(system, project=False), SolveIvp("RK45"), (0.0, 0.3), rtol=1e-4, atol=1e-4)
    assert drift.constraint_residuals[:, 0].max() > 1e-7


@pytest.mark.parametrize("name", ["spatial-four-bar", "slider-crank", "bricard", "car-axis", "heavy-top"])
@pytest.mark.parametrize("kind", [mbdae.System, mbdae.TreeSystem])
def test_constraint_violations_are_those_of_single_evaluations(name, kind):
    """Off the constraints, and at other times than zero."""
    system = kind(mbdae.library.mechanism(name))
    s = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 0.02), rtol=1e-4, atol=1e-6)
    rng = np.random.default_rng(3)
    s.t = s.t + 0.3
    s.q, s.v, s.a = (x + 1e-3 * rng.normal(size=x.shape) for x in (s.q, s.v, s.a))
    for k, found in enumerate(s.constraint_residuals):
        t, q, v, a = s.t[k], s.q[k], s.v[k], s.a[k]
        G = system.phi_q(t, q).toarray()
        levels = system.phi(t, q), G @ v - system.nu(t, q), G @ a - system.gamma(t, q, v)
        np.testing.assert_allclose(found, [np.abs(x).max(initial=0.0) for x in levels], rtol=1e-12, atol=1e-12)


def test_constraint_violations_of_functions_that_fail():
    """The exception of a user function arrives, and what is not finite is named."""
    failing = [False]

    def phi(t, q):
        if failing[0]:
            raise LookupError("no such place")
        return np.array([q @ q - 1.0])

    system = mbdae.System.from_functions(
        nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([0.0, -9.81]), phi=phi,
        phi_q=lambda t, q: 2.0 * q[np.newaxis], gamma=lambda t, q, v: np.array([-2.0 * (v @ v)]), q0=[1.0, 0.0], v0=[0.0, 0.0])
    s = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 0.1))
    failing[0] = True
    with pytest.raises(LookupError, match="no such place"):
        _ = s.constraint_residuals
    failing[0] = False
    s.v[-1, 0] = np.nan
    with pytest.raises(FloatingPointError, match=r"gamma|velocities"):
        _ = s.constraint_residuals
    s.v[-1, 0] = 0.0
    assert s.constraint_residuals[:-1].max() < 1e-12


def test_solutions_are_read_by_name(system):
    s = mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.05))
    q, v = s.body("lower")
    np.testing.assert_array_equal(q, s.q[:, 3:])
    np.testing.assert_array_equal(v, s.v[:, 3:])
    np.testing.assert_array_equal(s.multipliers("knee"), s.lam[:, 2:])
    np.testing.assert_array_equal(s.multipliers("knee.y")[:, 0], s.lam[:, 3])
    for wrong in (lambda: s.body("middle"), lambda: s.multipliers("hip")):
        with pytest.raises(ValueError, match=r"'(middle|hip)'"):
            wrong()


def test_solutions_print_how_they_ended(system):
    text = repr(mbdae.solve(system, Ida(), (0.0, 0.1), t_eval=[0.0, 0.1]))
    lines = text.splitlines()
    assert lines[0] == "Solution of 'double pendulum' by Ida, gear: SUCCESS"
    assert " ".join(lines[1].split()) == "time t = 0 ... 0.1 s, 2 points"
    assert "no output" in repr(mbdae.solve(system, Ida(), (0.0, 0.1), t_eval=[]))


# --- dense output --------------------------------------------------------------------------------------------------------


def test_dense_output_passes_through_the_steps_and_is_accurate_between(system, reference):
    s = mbdae.solve(system, Ida(), (0.0, 0.3), rtol=1e-8, atol=1e-9, dense_output=True)
    for part, stored in zip(s.sol(s.t), (s.q, s.v, s.a, s.lam)):
        np.testing.assert_allclose(part, stored, rtol=1e-10, atol=1e-10)
    between = 0.5 * (s.t[1:] + s.t[:-1])
    np.testing.assert_allclose(s.sol(between)[0], reference(between)[0], atol=1e-6)
    q, v, a, lam = s.sol(0.1)
    assert (q.shape, v.shape, a.shape, lam.shape) == ((6,), (6,), (6,), (4,))
    h = 1e-5
    np.testing.assert_allclose((s.sol(0.1 + h)[1] - s.sol(0.1 - h)[1]) / (2 * h), a, rtol=1e-4, atol=1e-3)


def test_dense_output_runs_backward_too(system, reference):
    q, v, _, _ = reference(0.3)
    s = mbdae.solve(system, SolveIvp(), (0.3, 0.0), q0=q, v0=v, rtol=1e-8, dense_output=True)
    np.testing.assert_allclose(s.sol(0.123)[0], reference(0.123)[0], atol=1e-3)


@pytest.mark.parametrize("t", [-0.1, 0.31])
def test_dense_output_refuses_to_extrapolate(system, t):
    s = mbdae.solve(system, Ida(), (0.0, 0.3), dense_output=True)
    with pytest.raises(ValueError, match=r"dense output: t must lie in \[0, 0\.3\]"):
        s.sol(t)


@pytest.mark.parametrize("name", FEW)
def test_dense_output_and_output_times_together(system, name):
    """Times of steps suffer from rounding; no output time is lost to it."""
    for n in (3, 6, 7, 57, 58, 111, 113):
        end = n * 0.001 if n % 2 else float(f"{n / 1000}")
        times = [0.0, end / 2, np.nextafter(end, 1.0) if n == 3 else end]
        s = mbdae.solve(system, METHODS[name], (0.0, times[-1]), t_eval=times, dense_output=True)
        np.testing.assert_allclose(s.t, times, atol=1e-15)
        np.testing.assert_allclose(s.sol(times[1])[0], s.q[1], atol=1e-12)


# --- events --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW)
def test_events_are_found_with_their_direction(swing, name):
    events = [event(angle), event(angle, direction=1), event(angle, direction=-1), event(lambda t, q, v: t - 0.77),
              event(lambda t, q, v: 1.0)]
    s = mbdae.solve(swing, METHODS[name], (0.0, 4.0), events=events, t_eval=[1.0, 2.0])
    zeros = [0.5, 1.5, 2.5, 3.5]
    for found, expected in zip(s.t_events, (zeros, zeros[1::2], zeros[::2], [0.77], [])):
        np.testing.assert_allclose(found, expected, atol=5e-3)
    np.testing.assert_allclose(s.t_events[3], [0.77], atol=1e-12)
    np.testing.assert_array_equal(s.t, [1.0, 2.0])
    assert s.message == "the end of the time span was reached"


@pytest.mark.parametrize("name", FEW)
def test_terminal_events_end_the_solution(swing, name):
    s = mbdae.solve(swing, METHODS[name], (0.0, 4.0), events=[event(angle, terminal=True, direction=1), event(angle)], dense_output=True)
    end = s.t_events[0][0]
    assert end == pytest.approx(1.5, abs=5e-3)
    assert s.success
    assert s.message == f"a terminal event ended the run at t = {end:.9g}"
    assert s.t[-1] == end
    assert (np.diff(s.t) > 0).all()
    assert abs(angle(0, s.q[-1], None)) < 1e-9
    assert [len(times) for times in s.t_events] == [1, 2]
    assert s.q.shape[0] == s.lam.shape[0] == len(s.t)
    with pytest.raises(ValueError, match="dense output"):
        s.sol(end + 0.1)


def test_events_of_backward_runs_follow_the_direction_of_the_run(swing):
    start = mbdae.solve(swing, SolveIvp(), (0.0, 2.0), t_eval=[2.0])
    events = [event(angle, direction=1), event(angle, terminal=True)]
    s = mbdae.solve(swing, SolveIvp(), (2.0, 0.0), q0=start.q[0], v0=start.v[0], events=events[0])
    np.testing.assert_allclose(s.t_events[0], [0.5], atol=5e-3)
    s = mbdae.solve(swing, SolveIvp(), (2.0, 0.0), q0=start.q[0], v0=start.v[0], events=events)
    np.testing.assert_allclose(s.t_events[1], [1.5], atol=5e-3)
    assert len(s.t_events[0]) == 0
    assert s.t[-1] == s.t_events[1][0]


def test_events_at_a_step_count_once(system):
    s = mbdae.solve(system, HalfImplicit(h=0.125), (0.0, 0.5), events=event(lambda t, q, v: t - 0.25))
    np.testing.assert_array_equal(s.t_events[0], [0.25])


# --- progress ------------------------------------------------------------------------------------------------------------


def test_progress_is_reported_up_to_the_end(system, method):
    seen = []
    mbdae.solve(system, method, (0.0, 0.3), progress=seen.append)
    assert len(seen) >= 1
    assert (np.diff(seen) >= 0).all()
    assert seen[-1] == pytest.approx(0.3)


def test_interrupts_from_the_progress_function_arrive(system, method):
    def stop(t):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(system, method, (0.0, 0.3), progress=stop)
