"""Tables 20 to 23, figures 12 and 13 and the comparison with explicit methods: the scripts in small, and the figures they must reach."""

import csv
from pathlib import Path

import numpy as np
import pytest

from mbdae import library

from .helpers import assert_picture, scripts_in

pytestmark = pytest.mark.thorough

PAPER = Path(__file__).parents[1] / "examples" / "papers" / "thesis"
script = scripts_in(PAPER)


def test_the_reference_is_that_of_the_library(script):
    """Values recomputed with other formulas and in other arithmetic."""
    known = script("common_motion").reference()
    for entry in library.entry("stiff-double-pendulum").references:
        if entry.kind == "recomputed" and "theta1" in entry.values:
            assert known.angle(entry.t) == pytest.approx(entry.values["theta1"], abs=3e-9)
            assert known.rate(entry.t) == pytest.approx(entry.values["d_theta1"], abs=1e-7)


def test_errors_are_measured_as_the_thesis_defines_them(script):
    common = script("common_motion")
    s = common.run(common.METHODS["SDIRK"], 1e-3, t_end=0.5)
    line = common.error_line(s, lambda t: 2.0 + 0.0 * t, 2.0 + np.where(s.t == s.t[4], 0.1, 0.0))
    assert (line.t, line.steps) == (s.t[4], len(s.t) - 1)
    assert [line.largest, line.percent, line.average] == pytest.approx([0.1, 5.0, 0.1 / len(s.t)])


def test_published_errors_fit_their_percentages_and_averages(script):
    """Read off well: the average is below the largest error, and errors fall with the tolerance."""
    for _, lines in script("common_motion").TABLES.values():
        largest = [lines[k].largest for k in (-2, -3, -4, -5)]
        assert largest == sorted(largest, reverse=True) and all(p.average < p.largest for p in lines.values())


def test_tables_20_to_23(script, capsys):
    tables = script("tables20_23")
    rows = tables.rows(tables.study())
    by = {}
    for r in rows:
        by.setdefault((r["coordinates"], r["method"], r["quantity"]), []).append(r)
    for (chosen, method, _), lines in by.items():
        ratios = [r["ratio"] for r in lines]
        # in angles errors are those that are asked for; in other coordinates the stiff direction turns
        low, high = (0.05, 1.0) if method == "SDIRK" else (0.5, 4.0)
        assert chosen != "angles" or (low < min(ratios) and max(ratios) < high)
        largest = [r["largest"] for r in lines]
        assert largest[-1] < 0.25 * largest[0] and (chosen != "angles" or largest == sorted(largest, reverse=True))
    for quantity in ("angle", "rate"):
        theirs = by["pivots", "SDIRK", quantity]
        # at 1e-5 the rate is at 3.1: the second error estimate, which the thesis has not, changes the steps there by a twentieth
        assert all(1 / 3 < r["largest"] / r["published_largest"] < 4.0 for r in theirs)
        assert all(4 * a["steps"] <= 6 * b["steps"] for a, b in zip(by["angles", "SDIRK", quantity], theirs))


def test_the_coordinates_of_the_script(script):
    """The thesis' pivots are not the angles of the two bodies, and planes are those tangent to the constraints."""
    problem = script("common_motion").problem
    assert [problem(name).pivots for name in ("angles", "pivots")] == ["angles", "unscaled"]
    assert (problem("angles").chart.P != problem("pivots").chart.P).any()
    assert problem("tangent").formulation == "tangent"


def test_the_filter_hides_errors_of_stiff_components(script):
    """On smooth motions with stiff forces; elsewhere it changes little. A failed or doubtful reference does not count."""
    study = script("filter")
    assert {"andrews", "hmmwv, stiff", "follower"} < set(study.mechanisms()) and "slider-crank" not in study.mechanisms()
    table = {x.mechanism: x for x in study.study(("truck", "follower", "double-pendulum"), tolerances=(-4,), share=0.2)
             if x.pivots == "angles"}
    assert all(x.counts for x in table.values())
    assert table["follower"].filtered > 2.0 * table["follower"].plain and table["follower"].steps_filtered < table["follower"].steps_plain
    assert 0.5 < table["double-pendulum"].filtered / table["double-pendulum"].plain < 2.0
    (all_of_them,) = study.summaries(list(table.values()))
    assert (all_of_them.mechanisms, all_of_them.doubled) == (3, sum(x.filtered > 2.0 * x.plain for x in table.values()))
    line = table["truck"]
    assert not study.replace(line, plain=np.nan).counts and not study.replace(line, doubt=1.0 + line.filtered + line.plain).counts
    assert study.choices(study.system("truck")) != study.choices(study.system("double-pendulum")) == ("angles",)


def test_explicit_methods_are_bound_by_stability(script):
    """DOP853 takes the same steps whatever the tolerance; ours are hundreds of times fewer."""
    study = script("explicit_implicit")
    rows = study.study(tolerances=(-2, -4), t_end=0.5, limit=0.01, repeats=1)
    explicit = [r for r in rows if r["method"] == "SolveIvp:DOP853"]
    assert all(r["success"] for r in rows)
    assert explicit[0]["steps"] == pytest.approx(explicit[1]["steps"], rel=0.2)
    for r in (r for r in rows if r["method"] in ("SdirkFirstOrder", "RosenbrockNystrom")):
        assert r["steps"] / r["t_end"] < explicit[0]["steps"] / explicit[0]["t_end"] / 50
    assert min(study.speedup(rows).values()) > 1.0


def test_thesis_in_small(script, tmp_path, capsys):
    """All scripts of the motions, over a short time; those of others in the folder have tests of their own."""
    every, mine = script("all"), {"tables20_23", "figures12_13", "explicit_implicit", "filter", "tables13_18_19"}
    assert mine <= set(every.SCRIPTS)
    every.SCRIPTS = tuple(n for n in every.SCRIPTS if n in mine)
    settings = {"tables20_23": {"t_end": 0.4, "tolerances": (-2, -3)}, "figures12_13": {"t_end": 0.4, "reference_tolerance": 1e-5},
                "tables13_18_19": {},
                "explicit_implicit": {"t_end": 0.4, "limit": 0.002, "repeats": 1, "tolerances": (-3,)},
                "filter": {"names": ("stiff-double-pendulum", "andrews"), "tolerances": (-3, -4), "share": 0.2}}
    every.main(tmp_path, settings)
    told = capsys.readouterr().out
    assert "coordinates: pivots; rate of body 1" in told and "published, vehicle" in told
    assert {p.name for p in tmp_path.iterdir()} == {"explicit_implicit.csv", "figure12.png", "figure13.png", "filter.csv",
                                                 "tables20_23.csv",
                                                   "figure12.curves.csv", "figure13.curves.csv", "figures12_13.csv", "tables13_18_19.csv"}
    with open(tmp_path / "tables20_23.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 3 * 3 * 2 * 2
    for name in ("figure12.png", "figure13.png"):
        assert_picture(tmp_path / name)
