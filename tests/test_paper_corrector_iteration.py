"""Tables 1 to 3 and figures 3 to 5 and 7 of the paper on corrector iteration: the scripts in small, and in full behind `slow`."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from mbdae import library
from mbdae.adapters.sundae import Ida
from mbdae.jacobians.strategy import as_strategy
from mbdae.registry import find

from .helpers import assert_picture, scripts_in

pytestmark = pytest.mark.thorough

PAPER = Path(__file__).parents[1] / "examples" / "papers" / "corrector_iteration"
SPAN = (0.0, 20.0)
script = scripts_in(PAPER)
RTOL, ATOL = 1e-4, 1e-6


def test_extended_updates_save_most_of_the_jacobians_of_the_chain(script):
    table2 = script("table2")
    table = table2.run(((12, "0.05 rad/s"),), nearby=(0.96, 0.98, 1.0, 1.02, 1.04), repeats=0, solvers=[find("Ida:ggl")])
    (lines,) = table.values()
    assert max(table2.ratios(lines, "jacobians")) < 1.0 / 3.0 and max(table2.ratios(lines, "error_late")) < 2.0
    assert [line.published.jacobians for line in lines] == [59, 72, 9, 10]


def test_paper_in_small(script, tmp_path, capsys):
    """All scripts, over a short time and with few repeats."""
    ida = find("Ida:ggl")
    cases = ((12, "0.05 Hz"), (16, "0.05 rad/s"))
    settings = {"figure7": {"links": 4, "t_end": 20.0, "spec": ida},
                "table2": {"cases": cases, "t_end": 10.0, "repeats": 1, "nearby": (1.0, 1.02), "solvers": [ida]},
                "table1": {"t_end": 0.5, "repeats": 1, "nearby": (1.0,), "solvers": [ida]},
                "figures3_5": {"t_end": 0.5, "points": 3, "spec": ida},
                "table3": {"t_end": 0.2, "repeats": 1, "nearby": (1.0,), "solvers": [ida]}}
    every = script("all")
    every.main(tmp_path, settings)
    told = capsys.readouterr().out
    assert "N = 12, 0.05 Hz, Ida:ggl" in told and "published 43 -> 6" in told
    pictures = {"figure3_explicit", "figure3_residual", "figure7_0.05_Hz", "figure7_0.05_rad_s", "figures4_5_explicit",
                "figures4_5_residual"}
    tables = {f"{name}.csv" for name in ("figure7", "figures3_5", "table1", "table2", "table3")}
    assert {p.name for p in tmp_path.iterdir()} == tables | {f"{name}{end}" for name in pictures for end in (".png", ".curves.csv")}
    assert "published 44 and 48" in told and "published at most 1620 in at most 46" in told and "published 86" in told
    assert_picture(tmp_path / "figure7_0.05_Hz.png")
    with open(tmp_path / "table2.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and (rows[0]["published_cpu"], rows[5]["published_jacobians"]) == ("5.69", "")
    assert set(every.SCRIPTS) == {f.stem for f in PAPER.glob("*.py")} - {"all", "book", "common"}


def test_published_lines_fit_together(script):
    common = script("common")
    """Percentages are those of times; in table 3 they are those of the Jacobians, while the times are 104, 48, 49, 27 and 20 %."""
    for lines in (*common.TABLE_1.values(), common.TABLE_2[12], common.TABLE_2[14], common.TABLE_3):
        field, bound = ("jacobians", 0.06) if lines is common.TABLE_3 else ("cpu", 0.4)
        assert all(p.percent == pytest.approx(100.0 * getattr(p, field) / getattr(lines[0], field), abs=bound) for p in lines)
        for p in lines:
            as_strategy(p.strategy)
    for line in (*common.TABLE_1["explicit"], *common.TABLE_1["residual"]):
        assert line.evaluations_corrector < line.evaluations


def test_tables_for_other_systems(script, capsys):
    common, few = script("common"), {"repeats": 0, "nearby": (1.0,)}
    first = common.table1(library.system("andrews"), Ida(), t_end=2e-3, **few)
    assert set(first) == {"explicit", "residual"} and all(line.row.success for lines in first.values() for line in lines)
    assert [line.row.strategy for line in first["residual"]] == ["dense", "estimated", "dense:partitioned", "estimated:partitioned"]
    third = common.table3(library.system("slider-crank"), Ida(), t_end=0.2, **few)
    assert len(third) == 6 and third[0].published.jacobians == 2229 and third[3].row.mixed > 0
    assert third[0].middle("jacobians") == third[0].row.jacobians and third[0].middle("cpu") is None
    common.show(third)
    assert "296.86" in capsys.readouterr().out
    common.show([replace(third[0], row=replace(third[0].row, status="NEWTON_FAILED"))])
    assert "NEWTON_FAILED" in capsys.readouterr().out


@pytest.mark.slow
def test_paper_in_full(script):
    """At every number of rods, with both readings of the frequency and all solvers."""
    table2 = script("table2")
    for case, lines in table2.run(repeats=0).items():
        assert max(table2.ratios(lines, "jacobians")) < 1.0 / 3.0, case
        assert max(table2.ratios(lines, "error_late")) < 2.0, case
