"""Studies over grids: cells, kept results, executors, tables, figures, and the command."""

import csv
import json
from dataclasses import asdict, replace
from statistics import median

import numpy as np
import pytest

import mbdae
from mbdae.cli import parsers_of_studies as parsers
from mbdae.cli.main import main
from mbdae.pictures.methods import looks
from mbdae.registry import FAMILIES, MethodSpec, find
from mbdae.studies import grid
from mbdae.studies.grid import runs as grid_runs
from mbdae.studies.grid.curves import CurveRow
from mbdae.studies.grid.passes import least
from mbdae.studies.grid.references import ReferenceTask
from mbdae.studies.grid.studies import STUDIES

from .helpers import thorough_but

PENDULUM = grid.Target.of("double-pendulum", t_end=0.1)
METHODS = ["HalfImplicit", "SolveIvp:DOP853", "Ida:ggl"]
TIMES = ("cpu", "cpu_spread", "cpu_solve", "wall", "repeats", "cells_at_once")


def run(**options):
    given = {"methods": METHODS, "rtol": (1e-4, 1e-6), "steps": (1e-2, 5e-3), "repeats": 1} | options
    return grid.study("work-precision", [PENDULUM], **given)


def without_times(table):
    return [{k: v for k, v in asdict(row).items() if k not in TIMES} for row in table.rows]


@pytest.fixture(scope="module")
def table():
    return run()


# --- cells and rows --------------------------------------------------------------------------------------------------------


def test_rows_are_tidy_and_say_what_ran(table):
    assert [(r.method, r.formulation, r.control, r.setting, r.atol) for r in table.rows] == [
        ("HalfImplicit", "index3", "h", 1e-2, None), ("HalfImplicit", "index3", "h", 5e-3, None),
        ("SciPy DOP853 ODE", "ode", "rtol", 1e-4, 1e-6), ("SciPy DOP853 ODE", "ode", "rtol", 1e-6, 1e-8),
        ("IDA GGL", "ggl", "rtol", 1e-4, 1e-6), ("IDA GGL", "ggl", "rtol", 1e-6, 1e-8)]
    assert all(r.success and r.mechanism == "double-pendulum" and r.t_end == 0.1 and r.cells_at_once == 1 for r in table.rows)
    assert all(0.0 < r.cpu <= r.cpu_solve and r.wall > 0.0 and r.repeats >= 1 for r in table.rows)
    assert table.rows[1].error_q < table.rows[0].error_q and table.rows[5].error_q < table.rows[4].error_q


def test_errors_in_tolerances_are_relative_to_the_largest_value(table):
    target = mbdae.System(mbdae.library.mechanism("double-pendulum"))
    row = table.rows[4]
    times = np.linspace(0, 0.1, 101)
    exact = mbdae.solve(target, mbdae.adapters.scipy.SolveIvp("DOP853"), (0.0, 0.1), rtol=1e-12, atol=1e-13, t_eval=times)
    assert row.tolerances_q == pytest.approx(row.error_q_max / (1e-4 * np.abs(exact.q).max() + 1e-6), rel=1e-3)
    assert row.tolerances_v == pytest.approx(row.error_v_max / (1e-4 * np.abs(exact.v).max() + 1e-6), rel=1e-3)
    assert table.rows[0].tolerances_q is None


def test_all_combinations_with_usual_choices():
    cells = grid.run_cells([PENDULUM], ["Ida", "Cvode", "Bdf:gear", "Newmark"], ["ggl", "ode"], rtol=(1e-3,), steps=(1e-2,))
    assert [(c.method, c.formulation, c.setting) for c in cells] == [
        ("Ida", "ggl", 1e-3), ("Ida", "ode", 1e-3), ("Cvode:BDF", "ggl", 1e-3), ("Cvode:BDF", "ode", 1e-3), ("Bdf", "gear", 1e-3),
        ("Newmark:trapezoidal", None, 1e-2)]
    usual = grid.run_cells([PENDULUM])
    families = [find(name).family for name in PENDULUM.comparison.methods]
    there = {f.name for f in families if (found := f.availability()) is None or found.installed}
    assert {c.spec.family.name for c in usual} == there


def test_cells_that_do_not_apply_are_refused_by_name():
    table = run(methods=["Ida", "Cvode"], formulations=["ggl", "ode"], rtol=(1e-4,))
    assert [r.status for r in table.rows] == ["SUCCESS", "REFUSED", "REFUSED", "SUCCESS"]
    assert "ode" in table.rows[1].message.lower() and "Ida" in table.rows[1].message and table.rows[1].error_q is None


def test_a_cell_that_fails_is_a_row_and_the_others_are_not_lost(monkeypatch, tmp_path):
    measure = grid_runs.measure

    def broken(run, exact, tolerance, *rest):
        if tolerance == (1e-4, 1e-6):
            raise KeyError("broken")
        return measure(run, exact, tolerance, *rest)

    monkeypatch.setattr(grid_runs, "measure", broken)
    table = run(methods=["SolveIvp:DOP853"], folder=tmp_path)
    assert [r.status for r in table.rows] == ["ERROR", "SUCCESS"] and table.rows[0].message == "KeyError: 'broken'"
    monkeypatch.undo()
    assert all(r.success for r in run(methods=["SolveIvp:DOP853"], folder=tmp_path).rows)  # an error is not kept


def test_the_time_limit_is_a_status():
    row, = run(methods=["Ida:ggl"], rtol=(1e-8,), limit=1e-9).rows
    assert row.status == "TIME_LIMIT" and row.error_q is None


def test_a_target_without_a_reference_has_rows_that_say_so(monkeypatch):
    monkeypatch.setattr(ReferenceTask, "carry_out", lambda task: "there is none")
    assert {(r.status, r.message) for r in run().rows} == {("NO_REFERENCE", "there is none")}


def test_files_and_parameters_and_joint_coordinates(tmp_path):
    mbdae.save(mbdae.library.mechanism("single-pendulum"), tmp_path / "mine.yaml")
    targets = [grid.Target.of(tmp_path / "mine.yaml", t_end=0.1), grid.Target.of("chain", {"links": 2}, "joint", 0.1)]
    (tmp_path / "mine.yaml").unlink()  # its content goes with the cells
    rows = grid.study("work-precision", targets, methods=["SolveIvp:DOP853"], rtol=(1e-6,)).rows
    assert [r.mechanism for r in rows] == ["mine", "chain(links=2), joint coordinates"]
    assert all(r.success and r.tolerances_q < 10.0 for r in rows)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: grid.study("tolerances", ["chain"]), "did you mean 'tolerance'"),
    (lambda: grid.study("tolerance"), "needs mechanisms"),
    (lambda: grid.study("tolerance", ["chian"]), "there is no mechanism 'chian'"),
    (lambda: grid.study("tolerance", ["chain"], methods=["Idda"]), "there is no method 'Idda'"),
    (lambda: grid.Target.of("chain", {"limks": 2}), "no parameter 'limks'"),
    (lambda: grid.Target.of("chain", coordinates="natural"), "'cartesian' or 'joint'"),
    (lambda: grid.study("scaling", ["andrews"]), "scaling takes"),
    (lambda: grid.study("tolerance", ["chain"], passes=2), "for the studies work-precision and profile, got 2 for 'tolerance'"),
    (lambda: grid.study("profile", ["chain"], passes=0), "passes must be 1, .* got 0"),
    (lambda: grid.study("profile", ["chain"], passes=1.5), "passes must be 1, .* got 1.5"),
])
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# --- passes ----------------------------------------------------------------------------------------------------------------


def curve(setting, status="SUCCESS", cpu=None, cpu_solve=None, spread=None):
    return CurveRow(mechanism="m", t_end=1.0, cells_at_once=1, method="A", formulation="ode", control="rtol", setting=setting,
                    atol=setting / 100.0, status=status, cpu=cpu, cpu_solve=cpu_solve, cpu_spread=spread, repeats=3)


def test_the_least_times_of_all_passes_count():
    first = [curve(1e-1, "SINGULAR"), curve(1e-2, cpu=2.0, cpu_solve=3.0, spread=0.5), curve(1e-3, "TIME_LIMIT")]
    second = [curve(1e-1, "SINGULAR"), curve(1e-2, cpu=1.0, cpu_solve=4.0, spread=0.5), curve(1e-3, cpu=5.0, cpu_solve=6.0),
              curve(1e-4, "TIME_LIMIT")]
    failed, *rows = least([first, second])
    assert failed == first[0]
    assert [(r.setting, r.status, r.cpu, r.cpu_solve) for r in rows] == [
        (1e-2, "SUCCESS", 1.0, 3.0), (1e-3, "SUCCESS", 5.0, 6.0), (1e-4, "TIME_LIMIT", None, None)]
    assert rows[0].cpu_spread == pytest.approx(median([3.0, 1.5]) / 1.0 - 1.0) and rows[0].repeats == 6 and rows[1].cpu_spread is None
    assert least([first]) == [replace(r, cpu_spread=pytest.approx(r.cpu_spread)) if r.cpu_spread else r for r in first]


def test_passes_keep_targets_of_one_name_apart():
    targets = [grid.Target.of("double-pendulum", t_end=t) for t in (0.05, 0.1)]
    given = {"methods": ["Ida:ggl"], "rtol": (1e-4,), "repeats": 1}
    once, twice = (grid.study("work-precision", targets, **given, passes=n) for n in (1, 2))
    assert [r.t_end for r in twice.rows] == [0.05, 0.1] and without_times(twice) == without_times(once)
    assert all(r.repeats >= 2 for r in twice.rows)


def test_a_study_in_passes_measures_each_run_again(monkeypatch, tmp_path):
    measure, times = grid_runs.measure, iter([4.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr(grid_runs, "measure", lambda *x: measure(*x) | {"cpu": next(times)})
    first = run(methods=["Ida:ggl"], folder=tmp_path)
    assert [r.cpu for r in first.rows] == [4.0, 1.0]
    monkeypatch.setattr(ReferenceTask, "carry_out", None)  # references have no times
    rows = run(methods=["Ida:ggl"], folder=tmp_path, passes=2)  # the first pass is the study before
    assert [r.cpu for r in rows.rows] == [2.0, 1.0] and without_times(rows) == without_times(first)
    assert rows.provenance["parameters"]["passes"] == 2
    assert run(methods=["Ida:ggl"], folder=tmp_path, passes=2).rows == rows.rows  # kept


# --- kept results ----------------------------------------------------------------------------------------------------------


def test_kept_results_are_not_computed_again(table, tmp_path, monkeypatch):
    first = run(folder=tmp_path)
    monkeypatch.setattr(grid.RunTask, "carry_out", None)
    monkeypatch.setattr(ReferenceTask, "carry_out", None)
    again = run(folder=tmp_path)
    assert again.rows == first.rows and without_times(again) == without_times(table)


def test_a_study_goes_on_after_an_interrupt(table, tmp_path):
    def interrupt(done, total, text):
        if total == 6 and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(folder=tmp_path, progress=interrupt)
    kept = len(list(tmp_path.iterdir()))
    told = []
    assert without_times(run(folder=tmp_path, progress=lambda *x: told.append(x))) == without_times(table)
    assert kept == 1 + 3 and told[-1][:2] == (6, 6) and (0, 6) not in [x[:2] for x in told]


def test_results_are_kept_by_content(tmp_path):
    cache, cell = grid.Cache(tmp_path), grid.Cell(PENDULUM, "HalfImplicit", None, 1e-2, None)
    other = grid.Cell(PENDULUM, "HalfImplicit", None, 1.1e-2, None)
    same = grid.Cell(grid.Target.of("double-pendulum", t_end=0.1), "HalfImplicit", None, 1e-2, None)
    paths = [cache.path(grid.RunTask(c, "")) for c in (cell, other, same)]
    assert paths[0] == paths[2] != paths[1] and cache.path(grid.RunTask(cell, "", at_once=2)) != paths[0]
    task = grid.RunTask(cell, "no reference")
    cache.store(task, task.carry_out())
    assert cache.load(task)[0].status == "NO_REFERENCE" and grid.Cache(tmp_path, fresh=True).load(task) is None
    paths[0].write_text("{", encoding="utf-8")
    assert cache.load(task) is None


# --- executors -------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_several_processes_find_the_same(table, tmp_path):
    found = run(executor=grid.Joblib(2), folder=tmp_path)
    assert without_times(found) == without_times(table) and {r.cells_at_once for r in found.rows} == {2}
    assert found.provenance["cells_at_once"] == 2


@pytest.mark.thorough
def test_a_dask_cluster_finds_the_same(table, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = run(executor=grid.Dask(cluster.scheduler_address), folder=tmp_path)
    assert without_times(found) == without_times(table) and {r.cells_at_once for r in found.rows} == {2}


def test_a_cluster_that_is_not_there_is_refused(capsys, tmp_path):
    assert main(["study", "tolerance", "chain", "--executor", "dask", "--output", str(tmp_path)]) == 2
    assert "--scheduler ADDRESS" in capsys.readouterr().err


# --- tables and figures ----------------------------------------------------------------------------------------------------


def test_the_table_as_files_and_as_a_frame(table, tmp_path):
    paths = table.write(tmp_path / "t")
    with open(tmp_path / "t.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6
    about = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert about["study"] == "work-precision" and about["cells_at_once"] == 1 and about["parameters"]["steps"] == [0.01, 0.005]
    assert about["versions"]["mbdae"] and about["machine"]["processor"] and about["date"] and "commit" in about
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame["setting"]) == [r.setting for r in table.rows] and frame.attrs["cells_at_once"] == 1
    if (tmp_path / "t.parquet") in paths:
        assert pandas.read_parquet(tmp_path / "t.parquet").shape == frame.shape


SMALL = {"work-precision": {"methods": METHODS}, "order": {"methods": ["HalfImplicit"], "steps": (1e-2, 5e-3)},
         "drift": {"methods": METHODS[:2], "rtol": (1e-4,), "steps": (1e-2,)}, "tolerance": {"methods": METHODS[1:], "rtol": (1e-4, 1e-6)},
         "solvers": {"methods": ["Ida", "Cvode"], "formulations": ("ggl", "ode")}, "jacobian": {"methods": ["Ida:ggl"], "repeats": 1},
         "profile": {"methods": METHODS[1:], "rtol": (1e-4, 1e-6), "repeats": 1},
         "scaling": {"methods": ["half-implicit"], "sizes": (2, 4), "repeats": 1}}


@pytest.mark.parametrize("name", thorough_but(["work-precision"], STUDIES))
def test_every_study_has_a_table_and_a_figure(name, tmp_path):
    mechanisms = ["chain"] if name == "scaling" else [PENDULUM]
    found = grid.study(name, mechanisms, **SMALL[name])
    assert found.rows and all(r.status in ("SUCCESS", "REFUSED") for r in found.rows)
    figure = STUDIES[name].figure(found.rows, "title")
    figure.savefig(tmp_path / "f.png", dpi=50)
    assert figure.axes and found.write(tmp_path / "t")[0].exists()
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for legend in figure.legends:  # nothing is cut off
        box = legend.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


def test_drift_is_measured_over_time():
    rows = grid.study("drift", [PENDULUM], methods=["HalfImplicit"], steps=(1e-2,)).rows
    assert len(rows) == 401 and rows[0].t == 0.0 and rows[-1].t == pytest.approx(0.1)
    solution = mbdae.solve(mbdae.library.mechanism("double-pendulum"), mbdae.HalfImplicit(1e-2), (0.0, 0.1), t_eval=[r.t for r in rows])
    assert [r.energy_change for r in rows] == pytest.approx(list(solution.energy - solution.energy[0]), abs=1e-12)


def test_the_parser_knows_the_studies():
    """It does not import them, as its help does not wait for numerical code."""
    assert {s.name: s.summary for s in STUDIES.values()} == parsers.STUDIES


def test_points_are_joined_in_the_order_of_their_settings():
    """Also where a tighter tolerance takes less time."""
    known = {"mechanism": "m", "t_end": 1.0, "cells_at_once": 1, "method": "Ida", "formulation": "ggl", "control": "rtol", "atol": 1e-8}
    rows = [grid_runs.RunRow(**known | {"mechanism": m, "setting": rtol}, cpu=cpu, error_q=error, status="SUCCESS")
            for m in "mn" for rtol, cpu, error in ((1e-4, 2e-3, 1e-4), (1e-6, 1e-3, 1e-6), (1e-8, 3e-3, 1e-8))]
    figure = STUDIES["work-precision"].figure(rows, None)
    assert list(figure.axes[0].lines[0].get_ydata()) == [1e-4, 1e-6, 1e-8]


def test_every_method_has_a_look_of_its_own():
    specs = [MethodSpec(f, v) for f in FAMILIES for v in f.variants or (None,)]
    labels = [" ".join(x for x in (s.family.title, s.family.variants.get(s.variant or "", "")) if x) for s in specs]
    seen = looks(labels)
    assert len({(x["color"], x["marker"]) for x in seen.values()}) == len(set(labels))
    gear = looks(["IDA Gear", "mine"])["IDA Gear"]
    assert seen["IDA"]["color"] == gear["color"] and gear["fillstyle"] == "none"
    one, two = looks(["mine", "yours"]).values()
    assert one != two and seen["HalfImplicit"]["linestyle"] == "-" != seen["IDA"]["linestyle"]


# --- the command -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_command_writes_table_and_figure_and_goes_on(capsys, tmp_path):
    arguments = ["study", "tolerance", "double-pendulum", "--methods", "SolveIvp:DOP853", "--rtol", "1e-4,1e-6", "--t-end", "0.1",
                 "--output", str(tmp_path)]
    assert main(arguments) == 0 and "SciPy DOP853 ODE" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".parquet") == ["cells", "tolerance.csv", "tolerance.json",
                                                                                   "tolerance.png"]
    before = (tmp_path / "tolerance.csv").read_text(encoding="utf-8")
    assert main(arguments) == 0 and (tmp_path / "tolerance.csv").read_text(encoding="utf-8") == before  # timings, too: nothing ran again


def test_the_command_fails_if_a_cell_does(capsys, tmp_path):
    assert main(["study", "solvers", "double-pendulum", "--methods", "Ida:ggl", "--limit", "1e-9", "--t-end", "0.1",
                 "--output", str(tmp_path)]) == 1
    assert "1 of 1 cells have failed" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "words"), [
    (["study", "tolerance", "chian"], "there is no mechanism"), (["study", "tolerance"], "needs mechanisms"),
    (["study", "tolerance", "chain", "--set", "x=1"], "no parameter"), (["study", "tolerance", "chain", "--methods", "x"], "no method"),
    (["study", "tolerance", "chain", "--scheduler", "a"], "--executor dask"),
])
def test_the_command_refuses(capsys, tmp_path, argv, words):
    assert main([*argv, "--output", str(tmp_path)]) == 2 and words in capsys.readouterr().err
