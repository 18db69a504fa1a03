"""Performance profiles: the cost of an accuracy, shares, the study of the fastest methods, its page and figure."""

import json
from dataclasses import replace
from math import inf

import pytest

from mbdae import library
from mbdae.cli.main import main
from mbdae.registry import find
from mbdae.studies import grid
from mbdae.studies.grid.curves import CurveRow, CurveTask
from mbdae.studies.grid.fastest import ACCURACIES, RESOLUTION, costs_of, fastest, profile_of, shares
from mbdae.studies.grid.profile_page import profile_page
from mbdae.studies.grid.studies import COMPARED, LADDER, STUDIES
from mbdae.studies.performance import cost_of_accuracy, performance_profile

PENDULUM = grid.Target.of("double-pendulum", t_end=0.2)
METHODS = ("Automatic", "DormandPrince:8", "Bdf:ggl", "SolveIvp:DOP853", "Ida:ggl")


def row(method="m", setting=1e-4, error=1e-4, cpu=1.0, mechanism="a", package="mbdae", **more):
    return CurveRow(mechanism=mechanism, t_end=1.0, cells_at_once=1, method=method, formulation="ode", control="rtol", setting=setting,
                    atol=setting / 100.0, package=package, tolerances_q=error / setting, tolerances_v=0.0, cpu=cpu, cpu_solve=2.0 * cpu,
                    **more)


# --- the cost of an accuracy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("errors, costs, accuracy, expected", [
    ([1e-2, 1e-4, 1e-6], [1.0, 4.0, 9.0], 1e-4, 4.0),          # a run has just this error
    ([1e-2, 1e-4], [1.0, 4.0], 1e-3, 2.0),                     # half-way between the logarithms
    ([1e-5, 1e-6], [1.0, 2.0], 1e-3, 1.0),                     # accurate enough at the loosest tolerance: no extrapolation
    ([1e-2, 1e-3], [1.0, 2.0], 1e-9, inf),                     # never accurate enough
    ([1e-2, None, 1e-6], [1.0, None, 9.0], 1e-4, 9.0),         # no interpolation across a run that failed
    ([1e-2, 1e-5, 1e-4, 1e-6], [1.0, 8.0, 2.0, 9.0], 2e-4, 2.0),   # errors need not be monotone: the cheapest counts
    ([1e-2, 0.0], [1.0, 4.0], 1e-3, 4.0),                      # an error of zero has no logarithm
    ([], [], 1e-3, inf),
])
def test_cost_of_an_accuracy(errors, costs, accuracy, expected):
    assert cost_of_accuracy(errors, costs, accuracy) == pytest.approx(expected, rel=1e-14)


def test_shares_of_problems_within_a_factor():
    profile = performance_profile({1: {"a": 1.0, "b": 2.0}, 2: {"a": 6.0, "b": 2.0}, 3: {"a": inf, "b": inf}, 4: {"a": 5.0}})
    assert profile.ratios == {"a": (1.0, 1.0, 3.0), "b": (1.0, 2.0, inf)}  # a problem that none solves is left out
    assert [profile.share("a", x) for x in (0.5, 1.0, 2.9, 3.0)] == [0.0, 2 / 3, 2 / 3, 1.0]
    assert profile.share("b", 1e9) == 2 / 3  # a method that is missing does not solve it
    assert profile.steps("a", 100.0) == ([1.0, 1.0, 1.0, 3.0, 100.0], [2 / 3, 2 / 3, 2 / 3, 1.0, 1.0])
    assert performance_profile({}).ratios == {}


# --- the fastest methods ---------------------------------------------------------------------------------------------------------


def test_the_fastest_of_both_sides():
    rows = [row("own", 1e-4, 1e-5, 1.0), row("slow", 1e-4, 1e-5, 3.0), row("Automatic", 1e-4, 1e-5, 0.5),
            row("theirs", 1e-4, 1e-6, 2.0, package="scipy"), row("theirs", 1e-2, 1e-2, 0.1, package="scipy", status="TOO_MANY_STEPS")]
    first, *_, last = fastest(rows, "integration", (1e-3, 1e-9))
    assert (first.in_house, first.in_house_cost, first.established, first.established_cost) == ("own", 1.0, "theirs", 2.0)
    assert (first.advantage, first.advantage_automatic, first.loss_automatic) == (2.0, 4.0, 1.0)  # a choice is not among the methods
    assert not last.solved and last.in_house is last.established is last.automatic_cost is None
    assert fastest(rows, "call", (1e-3,))[0].in_house_cost == 2.0


def test_a_side_that_does_not_reach_the_accuracy():
    own, theirs = row("own", 1e-6, 1e-8, 1.0), row("theirs", 1e-6, 1e-4, 2.0, package="scipy")
    (found,) = fastest([own, theirs], "integration", (1e-7,))
    assert (found.advantage, found.advantage_automatic, found.loss_automatic) == (inf, 0.0, inf) and found.established is None
    (other,) = fastest([replace(own, package="scipy"), replace(theirs, package="mbdae")], "integration", (1e-7,))
    assert other.advantage == 0.0 and other.in_house is None
    assert shares([found, other]).as_fast == shares([found, other]).half_as_fast == 0.5


def test_shares_count_solved_problems_only():
    rows = [row("own", 1e-4, 1e-5, cost, name) for name, cost in (("a", 1.0), ("b", 2.0), ("c", 5.0))]
    rows += [row("theirs", 1e-4, 1e-5, 2.0, name, package="scipy") for name in "abc"] + [row("Automatic", 1e-4, 1e-5, 4.0, "a")]
    found = shares(fastest(rows, "integration", (1e-4, 1e-9)))
    assert found.problems == 3
    assert (found.as_fast, found.half_as_fast, found.automatic_as_fast, found.automatic_within_three) == (2 / 3, 2 / 3, 0.0, 0.0)


def test_errors_of_rows_are_relative_to_the_largest_value_and_not_to_the_tolerance():
    found = row(setting=1e-3, error=5e-6)
    assert found.error == pytest.approx(5e-6) and replace(found, tolerances_v=1.0).error == pytest.approx(1e-3)
    assert replace(found, status="TOO_MANY_STEPS").error is None
    assert costs_of([replace(found, status="TOO_MANY_STEPS")], "integration") == {("a", x): {"m": inf} for x in ACCURACIES}


def test_a_clock_that_shows_zero_is_as_coarse_as_it_says():
    rows = [row("own", 1e-2, 1e-2, 0.0), row("own", 1e-4, 1e-4, 0.0), row("theirs", 1e-4, 1e-4, 1.0, package="scipy")]
    (found,) = fastest(rows, "integration", (1e-3,))
    assert found.in_house_cost == pytest.approx(RESOLUTION) and 0.0 < RESOLUTION < 0.1
    assert profile_of(rows, "integration", (1e-3,)).share("theirs", inf) == 1.0


# --- the study -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return grid.study("profile", [PENDULUM], methods=METHODS, repeats=1)


def test_a_curve_ends_where_it_is_accurate_enough(table):
    curves = {}
    for r in table.rows:
        curves.setdefault(r.method, []).append(r)
    assert len(curves) == len(METHODS) and {r.package for r in table.rows} == {"mbdae", "scipy", "scikit-sundae"}
    for rows in curves.values():
        assert [r.setting for r in rows] == list(LADDER[:len(rows)]) and rows[-1].error <= ACCURACIES[-1]
        assert all(r.error > ACCURACIES[-1] for r in rows[:-1])
    found = fastest(table.rows, "integration")
    assert [r.accuracy for r in found] == list(ACCURACIES) and all(r.in_house and r.established and r.automatic_cost for r in found)
    costs = [r.in_house_cost for r in found]
    assert profile_of(table.rows, "integration").share("Automatic", 1e9) == 1.0 and min(costs) > 0.0


def test_a_curve_ends_at_the_time_limit_and_at_refusals():
    late = grid.study("profile", [PENDULUM], methods=["SolveIvp:Radau"], limit=1e-9)
    assert [r.status for r in late.rows] == ["TIME_LIMIT"] and CurveTask.lasting(late.rows)  # it need not be run again
    refused = grid.study("profile", [grid.Target.of("slider-crank", t_end=0.1)], methods=["RosenbrockNystrom"])
    assert [r.status for r in refused.rows] == ["REFUSED"]


def test_a_curve_goes_on_after_a_run_that_fails(monkeypatch):
    cells = grid.run_cells([PENDULUM], ["DormandPrince:8"], rtol=(1e-3, 1e-4), repeats=1)
    failed = iter(["TOO_MANY_STEPS", "SUCCESS"])
    monkeypatch.setattr("mbdae.studies.grid.curves.RunTask.carry_out", lambda task: [
        grid.RunRow(**task.cell.place(1), status=next(failed), tolerances_q=1.0, tolerances_v=1.0, cpu=1.0, cpu_solve=1.0)])
    assert [r.status for r in CurveTask(tuple(cells), 1e-9, "").carry_out()] == ["TOO_MANY_STEPS", "SUCCESS"]


def test_methods_that_are_compared_have_error_control():
    specs = [find(name) for name in COMPARED]
    assert all(spec.control == "rtol" for spec in specs) and len({spec.label for spec in specs}) == len(COMPARED)


def test_page_and_figure(table, tmp_path):
    page = profile_page(table)
    assert page.count("[double-pendulum](mechanisms/double-pendulum.md)") == 1
    assert "1 mechanism, 5 methods" in page and "`mbdae study profile MECHANISM,...` on" in page and "(profile.png)" in page
    lines = [line for line in page.splitlines() if "1e-" in line and line.startswith("|")]
    assert len(lines) == len(ACCURACIES) and all(line.count("|") == 10 for line in lines)
    STUDIES["profile"].figure(table.rows, "a title").savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_the_command_writes_runs_page_and_figure_and_goes_on(capsys, tmp_path):
    argv = ["study", "profile", "double-pendulum", "--methods", "DormandPrince:8,SolveIvp:DOP853", "--t-end", "0.1", "--repeats", "1",
            "--rtol", "1e-3,1e-6", "--output", str(tmp_path)]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "Dormand-Prince order 8" in out and "SciPy DOP853" in out and "integration alone: of " in out
    assert {"profile.png", "profile.csv", "profile.json", "profile.md", "fastest.csv", "cells"} <= {f.name for f in tmp_path.iterdir()}
    before = json.loads((tmp_path / "profile.json").read_text())["rows"]
    assert main(argv) == 0 and json.loads((tmp_path / "profile.json").read_text())["rows"] == before


def test_the_whole_library_by_compare(monkeypatch, tmp_path):
    called = {}
    monkeypatch.setattr("mbdae.cli.compare.carry_out", lambda *args, **options: called.update(options, args=args) or 0)
    assert main(["compare", "--all", "--methods", "Bdf:ggl", "--output", str(tmp_path)]) == 0
    name, targets, folder = called["args"]
    assert name == "profile" and len(targets) == len(library.names()) and folder == tmp_path
    assert called["methods"] == ["Bdf:ggl"] and called["limit"] == 5.0
