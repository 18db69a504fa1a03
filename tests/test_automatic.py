"""`Automatic`: the choice at the start, the change on the way, and that everything else of `solve` works with it."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.integrators.automatic import implicit
from mbdae.integrators.automatic.implicit import FEW_UNKNOWNS, REVIEWS, SEVERAL_FREEDOMS, for_stiff, own_rtol, unknowns
from mbdae.integrators.automatic.plan import explicit_plan, kinked_plan
from mbdae.integrators.automatic.reviews import CHEAP, EVERY_EXPLICIT, Reviews
from mbdae.results.choice import Choice, distinct, forms, in_words

from .explicit_cases import damped_pendulum, rubbing_slider
from .stiff_cases import T1, T2, clutched, swinging_springs
from .structural_cases import linear, linear_motion

END = 3.0  # of the runs of `clutched`, late enough for reviews of the stiff method


@pytest.fixture(scope="module")
def switching():
    return clutched()


@pytest.fixture(scope="module")
def switched(switching):
    return mbdae.solve(switching, (0.0, END), rtol=1e-6, atol=1e-8, dense_output=True)


# --- the choice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "span"), [("double-pendulum", 1.0), ("slider-crank-free", 0.5), ("bricard", 1.0)])
def test_explicit_where_the_motion_is_not_stiff(name, span):
    system = library.system(name)
    run, same = (mbdae.solve(system, *method, (0.0, span)) for method in ((), (mbdae.DormandPrince(),)))
    assert run.success and run.method == "Automatic: DormandPrince(8) (not stiff)" and run.formulation == "ode"
    for x in ("t", "q", "v", "a", "lam"):
        assert np.array_equal(getattr(run, x), getattr(same, x)), x


def test_order_5_for_crude_tolerances():
    run = mbdae.solve(library.system("double-pendulum"), (0.0, 0.5), rtol=1e-2, atol=1e-4)
    assert run.method == "Automatic: DormandPrince(5) (not stiff)"


def test_the_stiff_method_after_the_first_steps_where_only_the_fast_component_is_fast():
    """A particle that slides down a slope through very viscous oil has forgotten its start."""
    bodies = [mbdae.Particle("drop", 1.0, (0.0, 0.0, 0.0), (0.0, 0.0, -9.81e-5)), mbdae.Particle("swing", 1.0, (1.0, 0.0, 0.0))]
    forces = [mbdae.TSDA("spring", "ground", "swing", k=10.0, l0=0.5),
              mbdae.UserForce("oil", ["drop"], lambda t, r, A, v, omega, F, T: F.__setitem__(0, -1e5 * v[0]))]
    system = mbdae.System(mbdae.Mechanism("oil", bodies, forces=forces, gravity=(0.0, 0.0, -9.81)))
    run = mbdae.solve(system, (0.0, 200.0), rtol=1e-6)
    first, second = run.method.split(", from t = ")
    assert run.success and first == "Automatic: DormandPrince(8) (not stiff)"
    assert "RadauIIA (stiff, 12 unknowns: the fastest component at 1e+05/s, the motion at " in second
    assert run.q[-1][2] == pytest.approx(-9.81e-5 * 200.0, rel=1e-6)
    short = mbdae.solve(system, (0.0, 20.0), rtol=1e-6)
    assert short.method == "Automatic: DormandPrince(8) (not stiff)" and short.statistics.steps < 200  # it does not wake up


def test_stiffness_that_shows_on_the_way():
    system = library.system("stiff-double-pendulum")
    times = np.linspace(0.0, 0.5, 6)
    run = mbdae.solve(system, (0.0, 0.5), rtol=1e-6, atol=1e-8, t_eval=times)
    exact = mbdae.solve(system, mbdae.SdirkFirstOrder(), (0.0, 0.5), rtol=1e-9, atol=1e-11, t_eval=times)
    assert run.method.startswith("Automatic: DormandPrince(8) (not stiff), from t = 0.00")
    assert "RadauIIA (stiff, 20 unknowns: the fastest component at 1e+05/s" in run.method
    assert run.formulation == "ode, ggl" and run.statistics.steps < 100  # the explicit method takes 8000
    assert np.abs(run.q - exact.q).max() < 20 * 1e-6


@pytest.mark.parametrize("name", ["four-link", "slider-crank"])
def test_prescribed_motions(name):
    system = library.system(name)
    assert system.freedom == 0
    run = mbdae.solve(system, (0.0, 1.0))
    exact = mbdae.solve(system, mbdae.HalfImplicit(h=0.1), (0.0, 1.0))
    assert run.success and run.method == "Automatic: DormandPrince(8) (the motion is prescribed)"
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 1e-9


def test_smooth_friction():
    run = mbdae.solve(rubbing_slider(), (0.0, 1.0), rtol=1e-6, t_eval=[1.0])
    exact = mbdae.solve(rubbing_slider(), mbdae.SdirkDescriptor(), (0.0, 1.0), rtol=1e-9, atol=1e-11, t_eval=[1.0])
    assert run.success and run.method == "Automatic: DormandPrince(8) (not stiff)"
    assert np.abs(run.q - exact.q).max() < 2e-5


def test_friction_that_jumps_tells_why_it_chatters():
    bodies = [mbdae.PlanarBody("slider", 2.0, 0.01, (0.0, 0.0), 0.0, (0.05, 0.0), 0.0)]
    friction = mbdae.Friction("rub", "guide", 0.2, v_s=1e-3, smooth=False)
    guide = mbdae.PlanarTranslational("guide", "ground", "slider")
    mechanism = mbdae.Mechanism("sticking", bodies, [guide], forces=[friction], gravity=(1.0, -9.81, 0.0))
    run = mbdae.solve(mechanism, mbdae.Automatic(max_steps=300), (0.0, 1.0))
    assert run.status == mbdae.Status.TOO_MANY_STEPS and "(friction that jumps)" in run.method
    assert "300 steps were not enough" in run.message and "use smooth=True, or HalfImplicit(h)" in run.message


def test_joint_coordinates():
    system = mbdae.System(library.mechanism("random-tree"), coordinates="joint")
    run, same = (mbdae.solve(system, *method, (0.0, 0.05)) for method in ((), (mbdae.DormandPrince(),)))
    assert run.success and run.method == "Automatic: DormandPrince(8) (not stiff)" and np.array_equal(run.q, same.q)


def test_equations_by_functions():
    run = mbdae.solve(linear(True), (0.0, 1.0), rtol=1e-7, atol=1e-9, t_eval=[0.5, 1.0])
    assert run.success and run.method == "Automatic: DormandPrince(8) (not stiff)"
    for k, t in enumerate(run.t):
        q, v = linear_motion(True, t)
        assert np.abs(run.q[k] - q).max() < 1e-5 and np.abs(run.v[k] - v).max() < 1e-4


# --- kinks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", (1e-6, 1e-8))
def test_adams_where_a_third_of_the_steps_are_rejected(rtol):
    system, times = library.system("hmmwv"), np.linspace(0.0, 0.6, 31)
    exact = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 0.6), rtol=1e-11, atol=1e-13, t_eval=times)
    run, single = (mbdae.solve(system, *method, (0.0, 0.6), rtol=rtol, atol=rtol / 100, t_eval=times)
                   for method in ((), (mbdae.DormandPrince(),)))
    assert run.success and run.method.startswith("Automatic: DormandPrince(8) (not stiff), from t = 0.0")
    assert run.method.endswith("Adams (a third of the steps were rejected, as at kinks)")
    for found, known in ((run.q, exact.q), (run.v, exact.v)):
        assert np.abs(found - known).max() < 100.0 * rtol * np.abs(known).max()
    assert run.statistics.residuals < 0.7 * single.statistics.residuals


@pytest.mark.parametrize(("remark", "rejected", "kinked", "stiff"),
                         [("", 8, False, False), ("", 9, True, False), ("stiff", 9, False, True)])
def test_a_review_of_the_explicit_method(remark, rejected, kinked, stiff):
    """A third of 25 steps; stiffness comes first."""
    system = library.system("double-pendulum")
    reviews = Reviews(system, mbdae.assemble(system), 1.0)
    rest = [np.zeros(n) for n in (system.nq, system.nv, system.nv, system.nc)]
    assert reviews.gives_way((0.5, *rest), remark, rejected) == (kinked or stiff)
    assert (reviews.kinked, reviews.stiff) == (kinked, stiff)
    assert reviews.every == EVERY_EXPLICIT * (CHEAP if kinked else 1)
    if kinked:
        assert not reviews.gives_way((0.6, *rest), "", 1000) and reviews.kinked  # Adams does not give way for its rejected steps


def test_after_kinks_the_stiff_method_gives_way_to_adams():
    assert type(explicit_plan(1e-6, True).method) is mbdae.Adams and type(explicit_plan(1e-6, False).method) is mbdae.DormandPrince
    assert kinked_plan().explicit and explicit_plan(1e-2, True).explicit


# --- the stiff method ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rtol", "kind"), [
    ("stiff-double-pendulum", 1e-3, mbdae.RadauIIA), ("stiff-double-pendulum", 1e-9, mbdae.RadauIIA),
    ("flexible-slider-crank", 1e-6, mbdae.RadauIIA), ("car-axis", 1e-6, mbdae.RadauIIA), ("truck", 1e-6, mbdae.RadauIIA),
    ("flyball-governor", 1e-3, mbdae.RosenbrockNystrom), ("flyball-governor", 1e-6, mbdae.RosenbrockNystrom),
    ("flyball-governor", 1e-7, mbdae.Bdf), ("iltis", 1e-4, mbdae.RosenbrockNystrom), ("iltis", 1e-8, mbdae.Bdf),
    ("tree", 1e-4, mbdae.Bdf), ("passenger-car", 1e-4, mbdae.Bdf)])
def test_it_follows_the_size_and_the_tolerance(name, rtol, kind):
    system = library.system(name)
    assert type(for_stiff(system, rtol)) is kind
    assert (unknowns(system) <= FEW_UNKNOWNS) == (kind is mbdae.RadauIIA)
    if kind is mbdae.RosenbrockNystrom:
        assert system.freedom < SEVERAL_FREEDOMS


def test_tolerances_of_the_stiff_methods():
    assert all(own_rtol(m, 1e-6) == 1e-6 for m in (mbdae.RosenbrockNystrom(), mbdae.DormandPrince(), mbdae.Bdf()))
    radau = mbdae.RadauIIA()
    for rtol in (1e-4, 1e-6, 1e-8):
        own = own_rtol(radau, rtol)
        assert own < rtol and radau.share(own) * own == pytest.approx(2.0 * rtol)  # the bound on its error estimates
    assert own_rtol(radau, 1e-2) == 1e-2 and own_rtol(radau, 1e-11) == 1e-12 and own_rtol(radau, 1e-13) == 1e-13


@pytest.mark.parametrize(("name", "span"), [("stiff-double-pendulum", 0.5),
                                            pytest.param("flyball-governor", 2.0, marks=pytest.mark.thorough)])
def test_errors_and_work_at_all_tolerances(name, span):
    """Below 100 tolerances, in no more steps than a tenth of those that the explicit method takes."""
    system, times = library.system(name), np.linspace(0.0, span, 6)
    exact = mbdae.solve(system, mbdae.RadauIIA(), (0.0, span), rtol=1e-12, atol=1e-13, t_eval=times)
    for rtol in (1e-3, 1e-5, 1e-7, 1e-9):
        run = mbdae.solve(system, (0.0, span), rtol=rtol, atol=rtol / 100, t_eval=times)
        assert run.success and "(stiff, " in run.method
        for x, y in ((run.q, exact.q), (run.v, exact.v)):
            assert np.abs(x - y).max() < 100.0 * rtol * (np.abs(y).max() + 0.01), rtol
        if name == "stiff-double-pendulum":
            assert run.statistics.steps < 150  # 8000


def test_without_constraints():
    system, times = swinging_springs(3), np.linspace(0.0, 0.5, 6)
    exact = mbdae.solve(system, mbdae.DormandPrince(), (0.0, 0.5), rtol=1e-11, atol=1e-13, t_eval=times)
    run = mbdae.solve(system, (0.0, 0.5), rtol=1e-6, atol=1e-8, t_eval=times)
    assert run.success and "RadauIIA (stiff, 18 unknowns" in run.method
    assert np.abs(run.q - exact.q).max() < 20e-6 and np.abs(run.v - exact.v).max() < 100e-6


@pytest.mark.thorough
def test_back_to_the_stiff_method_where_explicit_steps_are_shorter_than_stable_ones():
    run = mbdae.solve(library.system("flyball-governor"), (0.0, 1.0), rtol=1e-8, atol=1e-10)
    assert run.success and "(stable steps are long enough)" in run.method
    assert run.method.endswith("Bdf (stiff, 92 unknowns: explicit steps are much shorter)")


# --- the change on the way -----------------------------------------------------------------------------------------------


def test_there_and_back(switched):
    words = switched.method.removeprefix("Automatic: ").split(", from t = ")
    kinds = [w.partition(" ")[2] if k else w for k, w in enumerate(words)]
    kinds[1] = kinds[1].partition(" (stiff, 12 unknowns")[0]
    times = [float(w.split()[0]) for w in words[1:]]
    assert kinds == ["DormandPrince(8) (not stiff)", "RadauIIA", "DormandPrince(8) (stable steps are long enough)"]
    assert T1 - 0.05 < times[0] < T1 + 0.05 and T2 < times[1] < END
    assert switched.success and switched.statistics.restarts == 2 and switched.formulation == "ode, ggl"
    assert np.all(np.diff(switched.t) > 0.0) and len(switched.t) == switched.statistics.steps + 1 and switched.t[-1] == END


def test_its_answer(switching, switched):
    times = np.linspace(0.0, END, 31)
    exact = mbdae.solve(switching, mbdae.SdirkFirstOrder(), (0.0, END), rtol=1e-10, atol=1e-12, t_eval=times)
    q, v, _, _ = switched.sol(times)
    assert exact.success and np.abs(q - exact.q).max() < 50e-6 and np.abs(v - exact.v).max() < 50e-5
    assert np.abs(exact.q[3, 0] - exact.q[7, 0]) < 0.1 * np.abs(exact.q[0, 0] - exact.q[3, 0])  # held by the damper in between


def test_output_at_times_is_that_of_the_same_run(switching, switched):
    times = np.append(np.linspace(0.0, END, 61), switched.t[switched.t.searchsorted(T1)])
    run = mbdae.solve(switching, (0.0, END), rtol=1e-6, atol=1e-8, t_eval=np.unique(times))
    assert run.method == switched.method and run.statistics.steps == switched.statistics.steps
    q, v, _, _ = switched.sol(run.t)
    assert np.array_equal(run.t, np.unique(times)) and np.abs(run.q - q).max() < 1e-12 and np.abs(run.v - v).max() < 1e-10


def test_every(switching, switched):
    run = mbdae.solve(switching, (0.0, END), rtol=1e-6, atol=1e-8, every=7)
    n = len(switched.t)
    keep = np.unique(np.append(np.arange(0, n, 7), n - 1))
    assert np.array_equal(run.t, switched.t[keep]) and np.array_equal(run.q, switched.q[keep])


def test_events_end_and_change_runs_in_both_parts(switching, switched):
    def late(t, q, v):
        return t - 0.5

    late.terminal = True
    run = mbdae.solve(switching, (0.0, 1.5), rtol=1e-6, atol=1e-8, events=late)
    assert run.t[-1] == pytest.approx(0.5, abs=1e-9) and "terminal event" in run.message and len(run.t_events[0]) == 1
    assert "RadauIIA (stiff, 12 unknowns" in run.method

    def kick(t, q, v):
        return t - 0.1

    kick.on_event = lambda t, state: (state.q, 0.5 * state.v)
    run = mbdae.solve(switching, (0.0, 0.5), rtol=1e-6, atol=1e-8, events=kick, dense_output=True)
    assert run.success and len(run.jumps) == 1 and np.allclose(run.jumps[0].after.v, 0.5 * run.jumps[0].before.v)
    assert run.method.count("DormandPrince") == 1 and run.method.count("RadauIIA (stiff, 12 unknowns") == 1
    assert run.sol(0.45)[0].shape == (6,)


def test_backward_and_other_starts():
    system = library.system("double-pendulum")
    there = mbdae.solve(system, (0.0, 0.5), rtol=1e-9, atol=1e-11)
    back = mbdae.solve(system, (0.5, 0.0), state=there.state(), rtol=1e-9, atol=1e-11)
    assert back.success and np.abs(back.q[-1] - there.q[0]).max() < 1e-7


def test_stiff_backward_in_time():
    """A force that drives a particle apart, forward in time, holds it backward."""
    def law(t, r, A, v, omega, F, T):
        F[0] = 1e4 * v[0] - 1e5 * (r[0] - 0.1 * np.cos(t))

    bodies = [mbdae.Particle("held", 1.0, (0.1, 0.0, 0.0)), mbdae.Particle("free", 1.0, (0.0, 1.0, 0.0))]
    forces = [mbdae.UserForce("drive", ["held"], law), mbdae.TSDA("spring", "ground", "free", k=40.0, l0=0.9)]
    system = mbdae.System(mbdae.Mechanism("driven apart", bodies, forces=forces, gravity=(0.0, 0.0, 0.0)))
    times = np.linspace(4.0, 0.0, 9)
    run = mbdae.solve(system, (4.0, 0.0), rtol=1e-6, atol=1e-8, t_eval=times)
    exact = mbdae.solve(system, mbdae.SdirkFirstOrder(), (4.0, 0.0), rtol=1e-9, atol=1e-11, t_eval=times)
    assert run.success and "RadauIIA (stiff, 12 unknowns" in run.method and run.statistics.steps < 400
    assert np.array_equal(run.t, times) and np.abs(run.q - exact.q).max() < 20e-6


def test_progress_and_limits(switching):
    seen = []
    most = 2 * EVERY_EXPLICIT + REVIEWS[mbdae.RadauIIA].every
    run = mbdae.solve(switching, mbdae.Automatic(max_steps=most), (0.0, END), rtol=1e-6, progress=seen.append)
    assert run.status == mbdae.Status.TOO_MANY_STEPS and run.statistics.steps == most and "RadauIIA" in run.method
    assert seen == sorted(seen) and seen[-1] == run.t[-1] and len(run.t) == run.statistics.steps + 1


def test_a_limit_at_a_review():
    system = library.system("stiff-double-pendulum")
    free = mbdae.solve(system, (0.0, 0.05))
    n = np.flatnonzero(np.isclose(free.t, float(free.method.split("from t = ")[1].split()[0]), rtol=1e-5))[0]
    run = mbdae.solve(system, mbdae.Automatic(max_steps=int(n)), (0.0, 0.05))
    assert n % EVERY_EXPLICIT == 0 and run.status == mbdae.Status.TOO_MANY_STEPS and len(run.t) == n + 1
    assert f"{n} steps were not enough (last step ended at t = " in run.message


# --- what is asked of it -------------------------------------------------------------------------------------------------


def test_what_is_refused(tmp_path):
    system = library.system("double-pendulum")
    with pytest.raises(ValueError, match="Automatic cannot take the form 'ggl': it chooses the form together with the method"):
        mbdae.solve(system, (0.0, 1.0), formulation="ggl")
    for option in ({"checkpoint": tmp_path / "run.npz"}, {"output": tmp_path / "rows"}, {"resume": tmp_path / "run.npz"}):
        with pytest.raises(ValueError, match=f"{next(iter(option))}: Automatic changes the method on its way"):
            mbdae.solve(system, (0.0, 1.0), **option)
    with pytest.raises(ValueError, match="Automatic: atol must be positive"):
        mbdae.solve(system, (0.0, 1.0), atol=0.0)
    with pytest.raises(ValueError, match=r"must be UnderlyingODE\(system\), with neither Baumgarte's terms"):
        mbdae.solve(mbdae.UnderlyingODE(system, alpha=5.0, beta=5.0), (0.0, 1.0))
    with pytest.raises(ValueError, match="max_steps"):
        mbdae.Automatic(max_steps=0)


def test_a_span_that_is_missing():
    system = library.system("double-pendulum")
    with pytest.raises(ValueError, match=r"t_span must be two times, got None; write solve\(target, method, \(t0, t_end\)\)"):
        mbdae.solve(system, mbdae.Automatic())
    with pytest.raises(ValueError, match="swapped"):
        mbdae.solve((0.0, 1.0), system)
    with pytest.raises(ValueError, match="method must be an object, not the name 'RK45'"):
        mbdae.solve(system, "RK45")


def test_tolerances_for_each_unknown(switching):
    bounds = np.full(12, 1e-8)
    run = mbdae.solve(switching, (0.0, 0.5), rtol=1e-6, atol=bounds)
    same = mbdae.solve(switching, (0.0, 0.5), rtol=1e-6, atol=1e-8)
    assert run.success and np.array_equal(run.q, same.q)


def test_choices_in_words():
    first, again, other = Choice(0.0, "A", "ode", "calm"), Choice(1.0, "A", "ode", "calm"), Choice(2.0, "B", "ggl", "stiff")
    assert distinct([first, again, other]) == (first, other)
    assert in_words([first, other]) == "A (calm), from t = 2 B (stiff)" and forms([first, other, again]) == "ode, ggl"


def test_many_freedoms_go_to_bdf(monkeypatch):
    monkeypatch.setattr(implicit, "FEW_UNKNOWNS", 0)
    monkeypatch.setattr(implicit, "SEVERAL_FREEDOMS", 2)
    monkeypatch.setattr(implicit, "MANY_FREEDOMS", 2)
    system, times = library.system("stiff-double-pendulum"), np.linspace(0.0, 0.5, 6)
    runs = [mbdae.solve(system, (0.0, 0.5), rtol=1e-6, atol=atol, t_eval=times) for atol in (1e-8, np.full(system.nq + system.nv, 1e-8))]
    exact = mbdae.solve(system, mbdae.SdirkFirstOrder(), (0.0, 0.5), rtol=1e-9, atol=1e-11, t_eval=times)
    for run in runs:
        assert run.success and run.method.endswith("Bdf (stiff, 20 unknowns)") and run.formulation == "ode, ggl"
        assert np.abs(run.q - exact.q).max() < 1e-4
    assert np.array_equal(runs[0].q, runs[1].q)


@pytest.mark.thorough
def test_a_large_mechanism_whose_implicit_steps_are_no_longer():
    run = mbdae.solve(library.system("passenger-car"), (0.0, 0.5), rtol=1e-4, atol=1e-6)
    assert run.success and "Bdf (stiff, 714 unknowns)" in run.method
    assert run.method.endswith("DormandPrince(8) (stable steps are long enough)")


def test_the_damped_pendulum_is_not_stiff():
    run = mbdae.solve(damped_pendulum(), (0.0, 0.5))
    assert run.success and run.method == "Automatic: DormandPrince(8) (not stiff)"
