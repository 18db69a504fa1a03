"""Runs that go on from an earlier one: the bits of an uninterrupted run, files that are refused, checkpoints of a run that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import Solution, Status, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.results.rows import COLUMNS
from mbdae.system.contents import contents, restore

from .helpers import thorough_but

METHODS = {
    "HalfImplicit": mbdae.HalfImplicit(h=1e-3), "FullyImplicit": mbdae.FullyImplicit(h=1e-3), "HHT": mbdae.HHT(),
    "NullSpaceNewmark": mbdae.NullSpaceNewmark(h=1e-3), "GeneralizedAlpha": mbdae.GeneralizedAlpha(h=1e-3),
    "ProjectedGauss": mbdae.ProjectedGauss(h=4e-3), "Rattle": mbdae.Rattle(h=2e-3, order=4),
    "Spark": mbdae.Spark(h=4e-3), "Lobatto": mbdae.Spark(h=4e-3, order=4, pair="lobatto"),
    "RosenbrockNystrom": mbdae.RosenbrockNystrom(), "Bdf": mbdae.Bdf(), "DormandPrince": mbdae.DormandPrince(),
    "RadauIIA": mbdae.RadauIIA(),
    "Projected": mbdae.Projected(mbdae.HalfImplicit(h=2e-3), "PVAE-n"), "Projected adaptive": mbdae.Projected(SolveIvp("DOP853"), "PV")}
EVERY_KIND = {
    "Sdirk": mbdae.SdirkDescriptor(), "sparse": mbdae.SdirkDescriptor(matrix="sparse"), "first order": mbdae.SdirkFirstOrder(),
    "trapezoidal": mbdae.TrapezoidalDescriptor(), "threads": mbdae.TrapezoidalDescriptor(threads=2), "PI": mbdae.HHT(controller=mbdae.PI),
    "DOPRI5": mbdae.DormandPrince(5, controller=mbdae.PI), "HalfExplicit": mbdae.HalfExplicit(), "HEM5": mbdae.HalfExplicit("HEM5"),
    "Adams": mbdae.Adams(),
    "SPARK with control": mbdae.Spark(h=None), "Gauss with control": mbdae.ProjectedGauss(h=None, stages=2),
    "fixed": mbdae.RosenbrockNystrom(fixed_step=2e-3), "filtered": mbdae.RosenbrockNystrom(filter=True),
    "null-space HHT": mbdae.NullSpaceHHT(), "null-space alpha": mbdae.NullSpaceGeneralizedAlpha(h=2e-3),
    "velocity": mbdae.GeneralizedAlpha(h=1e-3, level="velocity"), "energy": mbdae.ProjectedGauss(h=5e-3, project="PVAE-n", stages=2),
    "sparse Bdf": mbdae.Bdf(linsolver="sparse"), "grouped Bdf": mbdae.Bdf("grouped:partitioned"),
    "Radau IIA of order 9": mbdae.RadauIIA(9, linsolver="sparse"), "grouped Radau IIA": mbdae.RadauIIA(jacobian="grouped"),
    "Projected Rosenbrock": mbdae.Projected(mbdae.RosenbrockNystrom(), "PVA")}
T_END, T_PART = 0.2, 0.0931


def through_zero(t, q, v):
    return v[2]


def assert_same(a, b):
    """All numbers of two solutions are the same but for the seconds."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    assert (a.status, a.message, a.method, a.formulation) == (b.status, b.message, b.method, b.formulation)
    assert replace(a.statistics, seconds=0.0) == replace(b.statistics, seconds=0.0)
    assert (a.t_events is None) == (b.t_events is None)
    for x, y in zip(a.t_events or (), b.t_events or ()):
        np.testing.assert_array_equal(x, y)


def check(make, method, folder, t_end=T_END, part=T_PART, **options):
    """Runs to `part`, saved, loaded for another system, and continued, with output at steps and at given times."""
    times = np.linspace(0.0, t_end, 41)
    for more in ({}, {"t_eval": times, "events": through_zero}, {"every": 3}):
        whole = mbdae.solve(make(), method, (0.0, t_end), **more, **options)
        first = {**more, "t_eval": times[times <= part]} if "t_eval" in more else more
        begun = mbdae.solve(make(), method, (0.0, part), **first, **options)
        assert begun.memory is not None and 0.0 < begun.memory.t < part
        begun.save(folder / "begun.npz")
        assert_same(whole, mbdae.solve(make(), method, (0.0, t_end), resume=folder / "begun.npz", **more, **options))


def pendulum():
    return library.mechanism("double-pendulum")


@pytest.mark.parametrize("name", thorough_but(("HalfImplicit", "HHT", "RosenbrockNystrom", "Bdf", "DormandPrince", "RadauIIA"), METHODS))
def test_a_continued_run_has_the_bits_of_an_uninterrupted_one(name, tmp_path):
    check(pendulum, METHODS[name], tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVERY_KIND)
def test_so_it_is_with_every_kind_of_step(name, tmp_path):
    check(pendulum, EVERY_KIND[name], tmp_path, t_end=0.2, part=0.0931)


HARD = {"bricard": (0.5, "HalfImplicit HHT ProjectedGauss RosenbrockNystrom Bdf DormandPrince RadauIIA"),
        "flyball-governor": (0.05, "RosenbrockNystrom HHT Bdf"),
        "andrews": (0.01, "RosenbrockNystrom NullSpaceHHT Bdf")}


@pytest.mark.thorough
@pytest.mark.parametrize(("mechanism", "name"), [(m, n) for m, (_, names) in HARD.items() for n in names.split()])
def test_so_it_is_with_redundant_constraints_stiff_forces_and_charts_that_are_left(mechanism, name, tmp_path):
    t_end = HARD[mechanism][0]
    method = METHODS.get(name) or mbdae.NullSpaceHHT()
    method = replace(method, first_step=1e-6) if name == "HHT" else method  # which is a share of the span otherwise
    check(lambda: library.mechanism(mechanism), method, tmp_path, t_end=t_end, part=0.4131 * t_end)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["HalfImplicit", "RosenbrockNystrom", "Bdf", "DormandPrince", "RadauIIA"])
def test_so_it_is_in_joint_coordinates(name, tmp_path):
    mechanism = library.mechanism("hmmwv") if name == "RosenbrockNystrom" else pendulum()
    check(lambda: mbdae.System(mechanism, coordinates="joint"), METHODS[name], tmp_path, t_end=0.1, part=0.0431)


@pytest.mark.parametrize("name", ["Bdf", "RadauIIA"])
def test_equations_in_python_are_those_of_the_new_run(name, tmp_path):
    """They are called by an address, which is not that of the earlier run."""

    def make():
        problem = mbdae.problem(pendulum(), "ggl")
        kernel = problem.kernel
        problem.kernel = lambda *arguments: kernel(*arguments)
        return problem

    assert "run.parameters" not in mbdae.solve(make(), METHODS[name], (0.0, 0.01)).memory.contents
    check(make, METHODS[name], tmp_path)


# what is refused ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A saved run."""
    path = tmp_path_factory.mktemp("begun") / "begun.npz"
    mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.0, 0.05)).save(path)
    return path


def go_on(path, method=None, t_span=(0.0, 0.1), target=None, **options):
    return mbdae.solve(target or pendulum(), method or mbdae.HalfImplicit(h=1e-3), t_span, resume=path, **options)


def test_a_saved_solution_is_loaded_with_all_that_belongs_to_it(tmp_path):
    solution = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.1), events=[through_zero, lambda t, q, v: t - 0.05])
    solution.save(tmp_path / "run.npz")
    loaded = Solution.load(tmp_path / "run.npz", pendulum())
    assert_same(solution, loaded)
    assert len(loaded.t_events[1]) == 1 and loaded.package == mbdae.__version__ and loaded.statistics == solution.statistics
    np.testing.assert_array_equal(loaded.energy, solution.energy)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["q"], solution.q)
        assert json.loads(str(file["metadata"]))["format"] == "mbdae-solution"


def test_the_last_state_starts_another_run():
    first = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.1))
    other = mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.1, 0.2), state=first.state())
    assert other.success and other.t[0] == 0.1


@pytest.mark.parametrize(("options", "what"), [
    ({"method": mbdae.HalfImplicit(h=2e-3)}, "method.h of the saved run is 0.001, that of this call is 0.002"),
    ({"method": mbdae.FullyImplicit(h=1e-3)}, "method of the saved run is HalfImplicit"),
    ({"rtol": 1e-5}, "rtol of the saved run is 1e-06, that of this call is 1e-05"),
    ({"atol": 1e-5}, "atol of the saved run"),
    ({"every": 2}, "output times of the saved run is every 1 steps"),
    ({"events": through_zero}, "events of the saved run is none, that of this call is 1"),
    ({"t_span": (0.0, 0.04)}, "t_span must end after that"),
    ({"t_span": (0.05, 0.1)}, "must begin where the saved run begins, at t = 0"),
    ({"v0": np.ones(12)}, "another initial state"),
    ({"dense_output": True}, "no dense output of the steps before"),
    ({"target": library.mechanism("heavy-top")}, "belongs to the system 'double-pendulum'"),
])
def test_a_call_that_does_not_continue_the_run_is_refused(begun, options, what):
    with pytest.raises(ValueError, match=r"resume|belongs") as error:
        go_on(begun, **options)
    assert what in str(error.value)


def test_an_element_that_has_changed_is_named(begun):
    mechanism = pendulum()
    body = mechanism.bodies[0]
    other = replace(mechanism, bodies=(replace(body, mass=1.001 * body.mass), *mechanism.bodies[1:]))
    with pytest.raises(ValueError, match=f"the body {body.name!r} of 'double-pendulum' is another one"):
        go_on(begun, target=other)
    with pytest.raises(ValueError, match="the gravity of 'double-pendulum'"):
        Solution.load(begun, replace(mechanism, gravity=(0, 0, -9.8)))


def bead(stiffness=3.0):
    return mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -stiffness * q,
                                       phi=lambda t, q: np.zeros(0), q0=[1.0], name="bead")


def test_the_functions_of_a_user_are_compared_by_their_values(tmp_path):
    mbdae.solve(bead(), mbdae.HHT(), (0.0, 0.1)).save(tmp_path / "bead.npz")
    assert Solution.load(tmp_path / "bead.npz", bead()).success
    with pytest.raises(ValueError, match="the function force of 'bead' gives other values"):
        Solution.load(tmp_path / "bead.npz", bead(3.01))


@pytest.mark.parametrize("cut", [0, 10, 0.3, 0.9, -1])
def test_a_truncated_file_is_refused(begun, tmp_path, cut):
    data = begun.read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[:cut if isinstance(cut, int) else int(cut * len(data))])
    with pytest.raises(ValueError, match=r"cut\.npz.*damaged or incomplete"):
        go_on(tmp_path / "cut.npz")


def test_a_file_with_a_changed_byte_is_refused_or_the_same(begun, tmp_path):
    """The checksums of the archive."""
    data, rng = begun.read_bytes(), np.random.default_rng(3)
    whole, seen = go_on(begun), 0
    for at in rng.integers(0, len(data), 40):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.integers(8)
        (tmp_path / "changed.npz").write_bytes(changed)
        try:
            assert_same(whole, go_on(tmp_path / "changed.npz"))
        except ValueError as error:
            assert "changed.npz" in str(error) or "memory" in str(error), error
            seen += 1
    assert seen > 30


def rewritten(path, target, change):
    """The file with other metadata."""
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["metadata"]))
    change(about, arrays)
    np.savez(target, **{**arrays, "metadata": np.array(json.dumps(about))})
    return target


@pytest.mark.parametrize(("change", "what"), [
    (lambda about, arrays: about.update(version=2, package="7.0"), "version 2 of the format, written by mbdae 7.0"),
    (lambda about, arrays: about.update(format="other"), "its format is 'other'"),
    (lambda about, arrays: about.update(package="0.0.1"), "saved by mbdae 0.0.1, this is"),
    (lambda about, arrays: about.update(status="FINE"), "damaged"),
    (lambda about, arrays: about.pop("system"), "damaged"),
    (lambda about, arrays: arrays.pop("memory/run.start.q"), "lacks 'run.start.q'"),
    (lambda about, arrays: arrays.update({"memory/run.start.q": np.zeros(3)}), "run.start.q of shape (3,)"),
    (lambda about, arrays: arrays.update(q=arrays["q"][:-1]), "different lengths"),
])
def test_a_file_of_another_version_or_with_parts_missing_is_refused(begun, tmp_path, change, what):
    with pytest.raises(ValueError, match=r"\S") as error:
        go_on(rewritten(begun, tmp_path / "other.npz", change))
    assert what in str(error.value)


def test_what_is_no_solution_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    np.savez(tmp_path / "a.npz", t=np.zeros(3))
    (tmp_path / "text.npz").write_text("text")
    for name in ("a.npy", "a.npz", "text.npz"):
        with pytest.raises(ValueError, match=name):
            Solution.load(tmp_path / name, pendulum())
    with pytest.raises(FileNotFoundError):
        Solution.load(tmp_path / "none.npz", pendulum())
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        go_on(mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.0, 0.01))).save(tmp_path / "run.dat")
    for options, what in (({"resume": 3}, "resume must be a Solution"), ({"checkpoint": 3}, "checkpoint must be the path"),
                          ({"checkpoint_every": -1.0}, "checkpoint_every"), ({"output": 3}, "the folder must be a path")):
        with pytest.raises(ValueError, match=what):
            mbdae.solve(pendulum(), mbdae.HalfImplicit(h=1e-3), (0.0, 0.01), **options)


def test_a_run_that_has_ended_is_not_continued():
    falls = lambda t, q, v: t - 0.05  # noqa: E731
    falls.terminal = True
    ended = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.1), events=falls)
    with pytest.raises(ValueError, match="a terminal event ended the run"):
        mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.2), events=falls, resume=ended)


@pytest.mark.parametrize("method", [mbdae.HHT, mbdae.Bdf, mbdae.RosenbrockNystrom], ids=str)
def test_a_run_without_enough_steps_goes_on_with_more(method):
    short = mbdae.solve(pendulum(), method(max_steps=20), (0.0, 0.5))
    assert short.status == Status.TOO_MANY_STEPS
    assert_same(mbdae.solve(pendulum(), method(), (0.0, 0.5)), mbdae.solve(pendulum(), method(), (0.0, 0.5), resume=short))


def test_a_terminal_event_counts_those_before():
    third = lambda t, q, v: np.sin(40.0 * t)  # noqa: E731
    third.terminal = 4
    whole = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.5), events=third)
    begun = mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.2), events=third)
    assert len(begun.t_events[0]) == 2 and len(whole.t_events[0]) == 4
    assert_same(whole, mbdae.solve(pendulum(), mbdae.HHT(), (0.0, 0.5), events=third, resume=begun))


# external solvers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "form"), [(Ida(), "ggl"), (SolveIvp("DOP853"), "ode"), (SolveIvp("DOP853"), "partition")])
def test_an_external_solver_goes_on_from_the_last_state_and_says_so(method, form):
    options = {"formulation": form, "rtol": 1e-9, "atol": 1e-11}
    whole = mbdae.solve(pendulum(), method, (0.0, 0.5), **options)
    begun = mbdae.solve(pendulum(), method, (0.0, 0.2), **options)
    found = mbdae.solve(pendulum(), method, (0.0, 0.5), resume=begun, **options)
    assert f"from t = 0.2 the run went on from the state alone, since {method.label} does not let its memory be kept" in found.message
    assert begun.memory is None and found.success and (np.diff(found.t) > 0.0).all() and found.t[-1] == 0.5
    np.testing.assert_array_equal(found.q[:len(begun.t)], begun.q)
    np.testing.assert_allclose(found.q[-1], whole.q[-1], atol=1e-6)


@pytest.mark.parametrize("method", (SolveIvp("DOP853"), mbdae.DormandPrince()), ids=("external", "own"))
def test_a_problem_serves_both_runs(method):
    """A run changes the multipliers in the problem, which are no parameter of it."""
    system = mbdae.System(pendulum())
    problem = mbdae.UnderlyingODE(system, alpha=1.0 if isinstance(method, SolveIvp) else 0.0)
    begun = mbdae.solve(problem, method, (0.0, 0.1))
    assert mbdae.solve(problem, method, (0.0, 0.2), resume=begun).success
    other = mbdae.UnderlyingODE(system, project=False)
    with pytest.raises(ValueError, match=r"formulation.parameters of the saved run is \(\(.*\), True\), that of this call is .*False"):
        mbdae.solve(other, method, (0.0, 0.2), resume=begun)


def test_jacobians_that_are_not_kept_are_named():
    method = mbdae.Bdf("estimated")
    begun = mbdae.solve(pendulum(), method, (0.0, 0.1))
    found = mbdae.solve(pendulum(), method, (0.0, 0.2), resume=begun)
    assert "the Jacobian 'estimated', whose patterns and mixed derivatives are not kept" in found.message and found.success


# checkpoints -------------------------------------------------------------------------------------------------------------------

SCRIPT = """
import signal
import sys
import numpy as np
import mbdae
from mbdae import library

signal.signal(signal.SIGINT, signal.default_int_handler)  # which processes in the background ignore
method, t_end, path = eval(sys.argv[1], {n: getattr(mbdae, n) for n in mbdae.__all__}), float(sys.argv[2]), sys.argv[3]
resume = path if "resume" in sys.argv else None
output = path + ".rows" if "output" in sys.argv else None
kept = {} if "whole" in sys.argv else {"checkpoint": path, "checkpoint_every": 0.05, "resume": resume}
print("begins", flush=True)
s = mbdae.solve(library.mechanism("double-pendulum"), method, (0.0, t_end), rtol=1e-8, atol=1e-10, output=output, **kept)
np.savez(path + ".end.npz", t=s.t, q=s.q, v=s.v, a=s.a, lam=s.lam, steps=s.statistics.steps)
"""


def in_a_process(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, text=True, env=environment,
                            cwd=Path(__file__).parent.parent)


def finished(process):
    process.communicate(timeout=300)
    assert process.returncode == 0


def stopped(method, t_end, path, sent, *more):
    """A run that gets a signal some time after its first checkpoint beyond the start, which is written before functions are compiled."""
    process = in_a_process(method, t_end, str(path), *more)
    assert process.stdout.readline() == "begins\n"
    deadline = time.monotonic() + 300.0
    while not (path.exists() and Solution.load(path, pendulum()).memory.t > 0.0) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode not in (0, None)


KILLED = [("HalfImplicit(h=1e-4)", "100", signal.SIGKILL, ("output",)), ("RosenbrockNystrom()", "120", signal.SIGKILL, ()),
          ("Bdf()", "400", signal.SIGKILL, ()), ("HalfImplicit(h=1e-4)", "100", signal.SIGINT, ())]
ALSO_KILLED = [("HalfImplicit(h=1e-4)", "100", signal.SIGKILL, ()), ("HHT()", "25", signal.SIGKILL, ()),
               ("Projected(RosenbrockNystrom(), 'PVA')", "8", signal.SIGKILL, ())]


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "t_end", "sent", "more"), KILLED + [pytest.param(*x, marks=pytest.mark.slow) for x in ALSO_KILLED])
def test_a_run_that_is_killed_goes_on_with_the_same_bits(method, t_end, sent, more, tmp_path):
    finished(in_a_process(method, t_end, str(tmp_path / "whole"), "whole"))
    path = tmp_path / "checkpoint.npz"
    stopped(method, t_end, path, sent, *more)
    kept = Solution.load(path, pendulum())
    assert kept.status == Status.UNFINISHED and "the run had reached t = " in kept.message and 0.0 < kept.memory.t < float(t_end)
    finished(in_a_process(method, t_end, str(path), "resume", *more))
    with np.load(tmp_path / "whole.end.npz") as whole, np.load(f"{path}.end.npz") as found:
        for name in whole:
            np.testing.assert_array_equal(whole[name], found[name], name)


def crosses_often(t, q, v):
    return np.sin(900.0 * t + 0.3)


STOPPED = {"HalfImplicit": (T_END, {"events": through_zero}), "HHT": (T_END, {"events": crosses_often}),
           "RosenbrockNystrom": (4.0, {"events": through_zero}),
           "Bdf": (T_END, {"events": crosses_often, "t_eval": np.linspace(0.0, T_END, 31)}),
           "DormandPrince": (4.0, {"events": through_zero}), "Projected": (T_END, {"events": through_zero})}


@pytest.mark.parametrize("name", thorough_but(("HHT", "RosenbrockNystrom"), STOPPED))
def test_a_run_that_is_stopped_goes_on_with_the_same_bits(name, tmp_path):
    # RosenbrockNystrom changes its chart on the way, and some steps end with a request for that
    (t_end, options), path = STOPPED[name], tmp_path / "checkpoint.npz"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        whole, met = mbdae.solve(pendulum(), METHODS[name], (0.0, t_end), **options), 0
        for k in range(0, whole.statistics.steps - 1, 1 + whole.statistics.steps // 12):
            calls = iter(range(-k, 1))

            def stop(t, calls=calls):
                if next(calls, 1) == 0:
                    os.kill(os.getpid(), signal.SIGINT)

            path.unlink(missing_ok=True)
            try:
                mbdae.solve(pendulum(), METHODS[name], (0.0, t_end), progress=stop, checkpoint=path, **options)
            except KeyboardInterrupt:
                met += 1
                assert_same(whole, mbdae.solve(pendulum(), METHODS[name], (0.0, t_end), resume=path, **options))
        assert met >= 8
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_event_at_the_start_of_a_step_is_found_once():
    """It belongs to that step, and is not among those found before, although its time is that of the memory."""
    method = METHODS["HHT"]
    t = mbdae.solve(pendulum(), method, (0.0, T_END)).t
    middle = len(t) // 2
    end = float(t[middle])

    def passes(t, q, v):
        return 1e-30 if t <= end else end - t

    whole = mbdae.solve(pendulum(), method, (0.0, T_END), events=passes)
    begun = [mbdae.solve(pendulum(), method, (0.0, float(part)), events=passes) for part in t[middle + 1:middle + 4] + 1e-7]
    assert whole.t_events[0].tolist() == [end] and end in [run.memory.t for run in begun]
    for run in begun:
        assert_same(whole, mbdae.solve(pendulum(), method, (0.0, T_END), events=passes, resume=run))


def test_a_checkpoint_of_an_external_solver_holds_its_rows(tmp_path):
    path = tmp_path / "ida.npz"
    whole = mbdae.solve(pendulum(), Ida(), (0.0, 0.3), formulation="ggl", checkpoint=path, checkpoint_every=0.0)
    kept = Solution.load(path, pendulum())
    assert kept.status == Status.UNFINISHED and kept.memory is None and 1 < len(kept.t) <= len(whole.t)
    np.testing.assert_array_equal(kept.q, whole.q[:len(kept.t)])
    found = mbdae.solve(pendulum(), Ida(), (0.0, 0.3), formulation="ggl", resume=path)
    assert found.success and "from the state alone" in found.message


def test_addresses_of_a_process_are_not_restored():
    s = mbdae.System(pendulum())
    own = {"work": s.workspace()}
    saved = contents(s, own)
    assert (s.addresses < len(own["work"])).all() and saved["work"][s.addresses].any()
    saved["work"] = np.full_like(saved["work"], 7.0)
    before = own["work"].copy()
    restore(s, own, saved)
    np.testing.assert_array_equal(own["work"][s.addresses], before[s.addresses])
    assert (np.delete(own["work"], s.addresses) == 7.0).all()
