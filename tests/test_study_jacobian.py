"""Strategies for Jacobians side by side: counters, errors, refusals, figures, the command, and the scripts of the paper."""

import csv
import json
from collections import Counter
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.cli.main import main
from mbdae.jacobians.strategy import JacobianStrategy, as_strategy
from mbdae.registry import find
from mbdae.studies import reference
from mbdae.studies.jacobian import EndValues, JacobianRow, Motion, jacobian_facts, jacobian_study, output_times, strategies_for
from mbdae.studies.jacobian_figures import excitation_curve, output_curve, plot_groups, plot_pattern, plot_timeline

from .helpers import assert_picture, need

pytestmark = pytest.mark.thorough
PAPER = Path(__file__).parents[1] / "examples" / "papers" / "corrector_iteration"
SPAN = (0.0, 20.0)
RTOL, ATOL = 1e-4, 1e-6


def chain(links=4, **parameters):
    return mbdae.GGL(library.system("pendulum-chain", links=links, coordinates="classical", **parameters), "explicit")


@pytest.fixture(scope="module")
def problem():
    return chain()


@pytest.fixture(scope="module")
def reference_values(problem):
    return Motion(reference(problem.system, problem.system.start, output_times(SPAN)))


@pytest.fixture(scope="module")
def study(problem, reference_values):
    return jacobian_study(problem, Ida(), SPAN, rtol=RTOL, atol=ATOL, reference_values=reference_values, repeats=1)


def by_name(study):
    return {r.strategy: r for r in study.rows}


# --- counters --------------------------------------------------------------------------------------------------------------------------


def test_evaluations_are_those_of_newton_and_those_of_jacobians(study):
    f, rows = study.facts, by_name(study)
    assert [r.strategy for r in study.rows] == list(strategies_for(library.system("pendulum-chain", coordinates="classical")))
    for name, each in (("dense", f.dense), ("dense:partitioned", f.dense), ("dense:extended", f.dense), ("grouped", f.grouped),
                       ("grouped:partitioned", f.grouped), ("exact", 0), ("difference", f.n)):
        r = rows[name]
        # IDA hands over the residual at the state itself; a mixed derivative takes two evaluations without it, and updates are probed
        least = max(each - 1, 0) * r.jacobians + 2 * each * (r.mixed or 0) if name != "difference" else each * r.jacobians
        assert 0 <= r.evaluations - r.evaluations_corrector - least <= (r.updates or 0) + (r.jacobians if ":" in name else 0), name
    for r in study.rows:
        assert r.success and r.evaluations_corrector >= r.steps > 50 and r.jacobians >= 1


def test_rows_are_what_a_run_counts(problem, study):
    class Watched:
        label = "watched"

        def bind(self, problem):
            self.evaluator = as_strategy("estimated:partitioned").bind(problem)
            return self.evaluator

    watched = Watched()
    s = mbdae.solve(problem, Ida(jacobian=watched), SPAN, rtol=RTOL, atol=ATOL).statistics
    r, e = by_name(study)["estimated:partitioned"], watched.evaluator
    assert (r.jacobians, r.updates, r.growths, r.mixed, r.steps) == (e.jacobians, e.updates, e.growths, e.mixed, s.steps)
    assert r.evaluations - r.evaluations_corrector == e.calls and r.evaluations_corrector == s.residuals


def test_logs_are_as_long_as_the_counters_say(study):
    assert set(study.logs) == {r.strategy for r in study.rows} - {"difference"}
    for r in study.rows[:-1]:
        kinds = Counter(what for _, what in study.logs[r.strategy])
        assert kinds["jacobian"] + kinds["growth"] == r.jacobians and kinds["update"] == r.updates and kinds["growth"] >= r.growths
        assert (r.updates > 0) == (":" in r.strategy)
        assert all(0.0 <= t <= SPAN[1] for t, _ in study.logs[r.strategy])


def test_percentages_are_of_the_first_row(study):
    assert study.rows[0].percent == 100.0
    assert all(r.percent == pytest.approx(100.0 * r.cpu / study.rows[0].cpu) and r.cpu > 0.0 for r in study.rows)


def test_facts(problem, study):
    f = study.facts
    assert (f.formulation, f.form, f.n, f.nnz) == ("ggl", "explicit", 8, 52) and f.known == problem.known.mask.sum() == 4
    assert f.dense == 9 and f.grouped == f.groups + 1 and f.groups == JacobianStrategy("grouped").bind(problem).source.grouping.count
    andrews = jacobian_facts(mbdae.problem("andrews", "gear"))
    assert andrews.form is None and andrews.n == 82 and andrews.groups < 20 and andrews.dense == 83


def test_partitioned_updates_replace_evaluations(study):
    rows = by_name(study)
    for source in ("dense", "estimated"):
        assert rows[f"{source}:partitioned"].jacobians < rows[source].jacobians
        assert rows[f"{source}:extended"].mixed > 0 == rows[f"{source}:partitioned"].mixed


# --- errors ----------------------------------------------------------------------------------------------------------------------------


def test_errors_are_some_tolerances(study):
    assert all(0.01 < r.error_end <= r.error_late < 300.0 for r in study.rows)


def test_errors_against_a_motion(problem, reference_values):
    times = output_times(SPAN)
    exact = reference(problem.system, problem.system.start, times)
    solution = SimpleNamespace(system=problem.system, t=times, q=exact.q.copy(), v=exact.v.copy())
    assert reference_values.errors(solution, RTOL, ATOL) == (0.0, 0.0)
    solution.q[350, 2] += 3e-5
    assert reference_values.errors(solution, RTOL, ATOL) == pytest.approx((0.0, 3e-5 / (ATOL + RTOL * np.abs(exact.q).max())))
    solution.v[-1, 1] -= 7e-4
    assert reference_values.errors(solution, RTOL, ATOL) == pytest.approx([7e-4 / (ATOL + RTOL * np.abs(exact.v).max())] * 2)
    with pytest.raises(ValueError, match="401 times, the runs have 2"):
        reference_values.errors(SimpleNamespace(system=problem.system, t=times[:2]), RTOL, ATOL)


def test_errors_against_the_library():
    entry, parameters = library.entry("pendulum-chain"), {"coordinates": "classical"}
    system, times = library.system("pendulum-chain", **parameters), np.array([0.0, 10.0])
    exact = reference(system, system.start, times)
    solution = SimpleNamespace(system=system, t=times, q=exact.q, v=exact.v, a=exact.a, lam=exact.lam)
    values = EndValues(entry, parameters, 10.0)
    end, late = values.errors(solution, RTOL, ATOL)
    assert end < 1e-3 and late is None and "recomputed" in values.source
    solution.q = exact.q + [[0.0], [5e-5]]
    size = min(max(abs(r.values[f"alpha{k}"]) for r in entry.references_for(parameters)) for k in range(1, 13))
    assert values.errors(solution, RTOL, ATOL)[0] == pytest.approx(5e-5 / (ATOL + RTOL * size), rel=1e-3)
    with pytest.raises(LookupError, match="no reference values at t = 11"):
        EndValues(entry, parameters, 11.0)


# --- failures and refusals -------------------------------------------------------------------------------------------------------------


class Wrong:
    """A strategy whose values have the wrong sign."""

    label = "wrong"

    def bind(self, problem):
        evaluator = as_strategy("grouped").bind(problem)
        right = evaluator.values
        evaluator.values = lambda *state: -right(*state)
        return evaluator


def test_a_strategy_that_fails_has_its_status_and_the_others_go_on(problem):
    first, second = jacobian_study(problem, Ida(), SPAN, [Wrong(), "grouped"], rtol=RTOL, atol=ATOL, repeats=1).rows
    assert first.status in ("NEWTON_FAILED", "NOT_FINITE") and "t = " in first.message and not first.success
    assert (first.strategy, first.cpu, first.percent, first.error_end) == ("wrong", None, None, None) and first.jacobians > 0
    assert second.success and second.cpu > 0.0 and second.percent is None


def test_runs_that_take_too_long_are_given_up(problem):
    study = jacobian_study(problem, Ida(), SPAN, ["grouped", "exact"], repeats=1, limit=1e-9)
    assert [r.status for r in study.rows] == ["TIME_LIMIT"] * 2 and study.motion is None


@pytest.mark.parametrize("make, strategies, words", [
    (lambda: mbdae.HalfImplicit(1e-2), ["grouped"], "HalfImplicit has no choice of Jacobians"),
    (Ida, ["foo"], "jacobian must be 'exact'"),
    (Ida, ["grouped:extended"], "'andrews' has no excitations"),
    (lambda: SolveIvp("DOP853"), ["grouped"], "DOP853 needs no Jacobian"),
])
def test_refusals(make, strategies, words):
    method = make()
    form = "ode" if isinstance(method, SolveIvp) else "ggl"
    with pytest.raises(ValueError, match=words):
        jacobian_study(mbdae.problem("andrews", form), method, (0.0, 1e-3), strategies)


def test_extended_is_a_default_for_systems_with_excitations_only(problem):
    assert "dense:extended" in strategies_for(problem.system)
    assert not any("extended" in name for name in strategies_for(library.system("andrews")))
    assert "difference" in strategies_for(problem.system, Ida()) and "difference" not in strategies_for(problem.system, mbdae.Bdf())


@pytest.mark.parametrize("name", ["Bdf:ggl", "Odes:ddaspk:ggl", "Odes:ida:gear", "Assimulo:IDA:ggl", "SolveDae:BDF:ggl", "Radau13", "Cvode",
                                  "SolveIvp:BDF"])
def test_every_method_with_a_jacobian_takes_part(name):
    spec = find(name)
    own = name != "Bdf:ggl"  # it has no difference quotients of its own, and hands over the residual at the state itself
    if own:
        need(spec.family)
    method = spec.make()
    problem = mbdae.problem("andrews", spec.formulation or method.formulations[0])
    strategies = ["dense", "grouped:partitioned", *(["difference"] if own else [])]
    rows = jacobian_study(problem, method, (0.0, 2e-3), strategies, repeats=0).rows
    assert all(r.success and r.steps > 1 for r in rows)
    assert rows[0].jacobians > 0 and rows[0].evaluations - rows[0].evaluations_corrector == (problem.n + own) * rows[0].jacobians


# --- figures ---------------------------------------------------------------------------------------------------------------------------


def squares(axis):
    """Middles of all squares on axes, as (column, row)."""
    return [tuple(p.vertices[:4].mean(axis=0).round(6)) for c in axis.collections for p in c.get_paths()]


def test_pattern_shows_every_entry_once():
    problem = mbdae.problem("andrews", "ggl")
    figure = plot_pattern(problem, "Andrews")
    p = problem.pattern
    columns = np.repeat(np.arange(problem.n), np.diff(p.indptr))
    assert sorted(squares(figure.axes[0])) == sorted(zip(columns.astype(float), p.indices.astype(float)))
    known, differenced = figure.axes[0].collections
    assert len(known.get_paths()) == problem.known.mask.sum() and len(differenced.get_paths()) == (~problem.known.mask).sum()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["kinematics\n1–21", "dynamics\n22–42", "velocity\n43–62",
                                                                        "position\n63–82"]


@pytest.mark.parametrize("name, parameters", [("andrews", {}), ("pendulum-chain", {"coordinates": "classical", "links": 10}),
                                              ("chain", {"links": 10})])
def test_groups_never_meet_in_a_row(name, parameters):
    problem = mbdae.GGL(library.system(name, **parameters))
    grouping = JacobianStrategy("grouped").bind(problem).source.grouping
    place, short, members, _ = plot_groups(problem, title=name).axes
    assert len(squares(place)) == len(squares(short)) == len(set(squares(short))) == (~problem.known.mask).sum()
    dots = [xy for line in members.lines if line.get_marker() == "o" for xy in zip(*line.get_data())]
    assert sorted(dots) == [(k, g) for k, g in enumerate(grouping.groups) if g >= 0]


def test_groups_tell_their_lower_bound():
    problem = mbdae.problem("andrews", "ggl")
    grouping = JacobianStrategy("grouped").bind(problem).source.grouping
    told = SimpleNamespace(groups=grouping.groups, count=grouping.count, lower_bound=3)
    assert any("at least 3 needed" in t.get_text() for t in plot_groups(problem, told).axes[3].texts)


def test_timeline_has_a_line_for_everything_in_the_log(problem, study):
    figure = plot_timeline(study, excitation_curve(problem.system, output_times(SPAN)))
    assert len(figure.axes) == len(study.logs) - 1  # not "exact"
    for axis, (name, log) in zip(figure.axes, study.logs.items()):
        at = sorted(segment[0, 0] for lines in axis.collections for segment in lines.get_segments())
        assert at == sorted(t for t, _ in log) and axis.get_title(loc="left").startswith(f"{name}:")


def test_curves_are_of_what_moves(problem):
    times = output_times(SPAN)
    _, u, label = excitation_curve(problem.system, times)
    np.testing.assert_allclose(u, np.sin(0.1 * np.pi * times), atol=1e-12)
    assert label == "excitation $u$" and excitation_curve(library.system("andrews"), times) is None
    outputs = {"still": 0 * times, "noise": 1e-9 * np.sin(times), "drive": times, "swing": np.sin(times)}
    assert output_curve(times, outputs)[2] == "swing" and output_curve(times, {"drive": times})[2] == "drive"


# --- the command -----------------------------------------------------------------------------------------------------------------------


def test_command(capsys, tmp_path):
    argv = ["jacobian", "pendulum-chain", "--set", "links=4", "--set", "coordinates=classical", "--method", "Ida", "--form", "explicit",
            "--t-end", "10", "--repeat", "1", "--output", str(tmp_path)]
    assert main(argv) == 0
    told = capsys.readouterr().out
    assert "n = 8, nnz = 52 (4 known), 8 groups" in told and "9 dense, 9 grouped" in told and "IDA GGL" in told
    assert all(word in told for word in ("#fc", "#fcw", "#Je", "#updates", "growths", "percent", "late", "DOP853"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["groups.png", "jacobian.csv", "jacobian.json", "pattern.png", "timeline.png"]
    for name in ("groups", "pattern", "timeline"):
        assert_picture(tmp_path / f"{name}.png")
    with open(tmp_path / "jacobian.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [f.name for f in fields(JacobianRow)] and len(rows) == 10 and rows[0]["percent"] == "100.0"
    about = json.loads((tmp_path / "jacobian.json").read_text(encoding="utf-8"))
    assert about["facts"]["dense"] == 9 and about["parameters"]["atol"] == 1e-6 and about["rows"][0]["strategy"] == "dense"
    assert len(about["logs"]["dense"]) == about["rows"][0]["jacobians"]


def test_command_takes_values_of_the_library_and_chosen_strategies(capsys, tmp_path):
    argv = "jacobian andrews --strategies grouped,grouped:partitioned --t-end 0.01 --repeat 1 --no-figure --output"
    assert main([*argv.split(), str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "reference: the library" in told and "late" not in told and "residual form" in told
    assert [line.split()[0] for line in told.splitlines() if line.startswith(" grouped")] == ["grouped", "grouped:partitioned"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["jacobian.csv", "jacobian.json"]


def test_table_fits_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["jacobian", "andrews", "--strategies", "estimated:partitioned", "--t-end", "0.01", "--repeat", "1"]) == 0
    table = capsys.readouterr().out.split("cpu:")[0].splitlines()[2:]
    assert max(len(line.rstrip()) for line in table) <= 80 and not any("…" in line for line in table)


def test_command_fails_if_a_strategy_does(capsys):
    assert main(["jacobian", "andrews", "--strategies", "grouped", "--limit", "1e-9", "--t-end", "0.01"]) == 1
    told = capsys.readouterr()
    assert "TIME_LIMIT" in told.out and told.err == "mbdae: failed: grouped\n"


@pytest.mark.parametrize("argv, words", [
    ("andrews --method HalfImplicit", "HalfImplicit has no choice of Jacobians; methods that have: Bdf, RadauIIA, SdirkSparse, Ida, "),
    ("andrews --strategies grouped,foo", "'foo' is no strategy; there are exact, dense, grouped, estimated"),
    ("andrews --strategies grouped:extended --t-end 0.001", "has no excitations"),
    ("andrews --method Ida:gear --form explicit", "write Ida:ggl"),
    ("andrews --method Ida:ode", "cannot take the form 'ode'"),
    ("andrews --form implicit", "invalid choice: 'implicit'"),
    ("andrews --repeat 0", "'0' is not a positive integer"),
    ("andrews --set links=3", "no parameter 'links'"),
    ("andrews --output {tmp}/file/folder", "cannot make the folder"),
])
def test_command_refuses_in_one_line(capsys, tmp_path, argv, words):
    (tmp_path / "file").write_text("")
    assert main(["jacobian", *argv.format(tmp=tmp_path).split()]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and words in told.err
