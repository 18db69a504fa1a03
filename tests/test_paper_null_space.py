"""What the paper on null-space coordinates states about its figures and tables, and its scripts in small."""

import csv
import importlib
from pathlib import Path

import numpy as np
import pytest

from mbdae import library
from mbdae.integrators.structural.formula import newmark

from .helpers import assert_picture, scripts_in

pytestmark = pytest.mark.thorough

PAPER = Path(__file__).parents[1] / "examples" / "papers" / "null_space"
script = scripts_in(PAPER, "module")


# --- stiff pendulum ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["figures3_5", "figures6_7", "figures12_13"])
def test_stiff_pendulum_is_stable_where_the_paper_says(script, name):
    """Stable, unstable or failed at every step of the paper."""
    pendulum = script("common_pendulum")
    for figure in script(name).FIGURES:
        for row in pendulum.rows(figure, pendulum.study(figure)):
            assert row.here == row.published, row
            assert row.here != "stable" or row.error < 5e-3


def test_what_counts_as_stable_can_fail(script):
    common = script("common")
    exact = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    verdicts = [common.Motion("", exact[0], np.array(values), exact, success, "").verdict
                for values, success in (([1.0, 1.1], True), ([1.0, -2.1], True), ([1.0, 1.1], False), ([1.0, 9.0], False))]
    assert verdicts == ["stable", "unstable", "fails", "unstable"]


def test_exact_motion_of_the_pendulum(script):
    t, angle = script("common_pendulum").exact()
    for entry in library.entry("stiff-pendulum").references:
        assert np.interp(entry.t, t, angle) == pytest.approx(entry.values["theta"], abs=2e-8)


def test_null_space_has_the_limit_of_minimal_coordinates(script):
    """Within a thousandth on both sides of eq. (11)."""
    pendulum, common = script("common_pendulum"), script("common")
    for rule, t_end in ((common.FOX_GOODWIN, 300.0), (common.CENTRAL, 300.0)):
        limit = newmark(*rule).limit() / np.sqrt(9.8)
        for way in ("minimal", "null space"):
            below, above = (pendulum.motion(way, factor * limit, rule, t_end) for factor in (0.999, 1.004))
            assert below.verdict == "stable" and above.verdict == "unstable", (rule, way)


def test_force_of_the_pin_grows_in_the_classical_method(script):
    """Figures 8 to 10: 9 N m fails and less does not, forces swing the more the larger the torque, and not in null-space coordinates."""
    figures = script("figures8_10")
    by = {(r.way, r.torque): r for r in figures.rows(figures.study((5.0, 9.0)))}
    assert [key for key, r in by.items() if not r.success] == [("classical", 9.0)]
    assert "does not converge" in by["classical", 9.0].message
    between = [figures.solution("classical", torque) for torque in (6.0, 7.0, 8.0)]
    assert all(s.success for s in between)
    swings = [by["classical", 5.0].swing, *(figures.swing(figures.pin(s)[1]) for s in between), by["classical", 9.0].swing]
    assert swings == sorted(swings) and swings[0] > 5.0 * by["null space", 5.0].swing and swings[-1] > 50.0
    for torque in (5.0, 9.0):
        minimal, null = by["minimal", torque], by["null space", torque]
        assert null.largest == pytest.approx(minimal.largest, rel=1e-4) and null.swing < 0.01 and null.error < 0.08


# --- double pendulum ---------------------------------------------------------------------------------------------------------------------


def test_double_pendulum_classical(script):
    """Figures 15 and 16: angles are right, forces are not; the trapezoidal rule fails, and stronger damping helps."""
    figures, common = script("figures15_16"), script("common")
    runs = figures.study()
    rows = {rule: figures.row(rule, s, script("common_double").exact(figures.T_END)) for rule, s in runs.items()}
    assert [rule for rule, r in rows.items() if not r.success] == [common.TRAPEZOIDAL]
    bad, good = rows[figures.BARELY], rows[None]
    assert bad.largest > 1e6 and bad.swing > 1e6 and bad.error < 0.05
    assert good.largest < 500.0 and good.swing < 0.05
    assert rows[0.2507, 0.5001].swing < 1e-2 * bad.swing and rows[0.390625, 0.75].swing < 1.0
    late = runs[figures.BARELY].t > 9.0  # without end
    assert np.abs(script("common_double").support(runs[figures.BARELY])[late]).max() > 1e6


def test_double_pendulum_in_null_space_coordinates(script):
    """Figures 17 to 20: the published bounds of the constraints on all levels; what the start leaves of an error."""
    figures, double = script("figures17_20"), script("common_double")
    s = double.fox_goodwin(figures.T_END)
    for row in figures.rows(s.t, double.norms(s)):
        assert max(row.start, row.later) < row.published
    assert figures.rows(s.t, double.norms(s))[-1].later < 1e-12  # only the start has large accelerations
    assert 1e-3 < figures.error(s) < 0.05


def test_exact_motion_of_the_double_pendulum(script):
    s = script("common_double").exact(10.0)
    for entry in library.entry("stiff-double-pendulum").references:
        if entry.kind == "recomputed":
            assert np.interp(entry.t, s.t, s.q[:, 2]) == pytest.approx(entry.values["theta1"], abs=5e-6)


def test_double_pendulum_on_both_sides_of_its_limit(script):
    """Figure 22, and eq. (25) with the damping of the stiff spring."""
    figures = script("figures21_22")
    rows = {h: figures.row(h, s) for h, s in figures.study().items()}
    assert {h: r.here for h, r in rows.items()} == figures.STEPS
    radius = newmark(1.0 / 12.0, 0.5).spectral_radius(782.6 * np.array(list(figures.STEPS)), 64.0)
    assert radius[0] < 1.0 < radius[1] < radius[2]
    grown = np.log(rows[3.3e-3].growth) * 3.3e-3 / 5.0  # per step, over half the run
    assert grown == pytest.approx(np.log(radius[1]), rel=0.2)


# --- Andrews' mechanism ------------------------------------------------------------------------------------------------------------------


def test_andrews_is_as_accurate_as_published(script):
    """Figures 24, 26 and 27: within 2.28e-6 with 2e-6 s, stable with 5e-4, 6e-4 and 1e-3 s; classical forces grow with (0.5, 0.25) only."""
    figures = script("figures24_27")
    fine, *large, trapezoidal, damped = figures.study()
    assert fine.success and fine.error_crank < figures.PUBLISHED["error"] and fine.error_pin < 1e-7
    assert [r.h for r in large] == [5e-4, 6e-4, 1e-3] and all(r.success and r.multiplier < 1000.0 for r in large)
    assert trapezoidal.multiplier > 50.0 * fine.multiplier and damped.multiplier == pytest.approx(fine.multiplier, rel=1e-2)


def test_andrews_frequencies(script):
    """Figure 25: the published 4503.477 rad/s is that of the bodies without constraints; the reduced system has 1147 rad/s."""
    figures, common = script("figures24_27"), script("common")
    stability = importlib.import_module("mbdae.studies.stability")
    near = np.linspace(0.04425, 0.0444, 31)
    s = common.finished(figures.target(), common.null_space(figures.SMALL), (0.0, near[-1]), t_eval=near)
    free, (_, reduced) = figures.free_frequencies(figures.target(), s), stability.largest_frequencies(figures.target(), s)
    assert free.max() == pytest.approx(figures.PUBLISHED["frequency"], rel=1e-4) and 0 < free.argmax() < len(near) - 1
    assert np.sqrt(6.0) / free.max() == pytest.approx(figures.PUBLISHED["step"], rel=1e-3)
    assert reduced.max() == pytest.approx(1147.55, rel=1e-4)


# --- benchmarks --------------------------------------------------------------------------------------------------------------------------


def test_drift_of_energy_at_the_steps_of_others(script):
    """Tables 3 and 4: within the limits, and less than the published codes at their steps; drifts grow like the step squared or faster."""
    tables = script("tables3_4")
    for benchmark in tables.BENCHMARKS:
        theirs = min(p.drift for p in benchmark.published if p.step == benchmark.step and p.comparable)
        for form in benchmark.forms:
            at, half = (tables.drift(tables.solution(form, "trapezoidal", h)) for h in (benchmark.step, 0.5 * benchmark.step))
            assert at < min(benchmark.limit, theirs) and 3.5 < at / half < 8.0


def test_the_largest_step_is_found(script):
    """By bisection; a limit that is never passed is refused."""
    tables = script("tables3_4")
    form, rule = tables.BENCHMARKS[1].forms[0], "trapezoidal"
    h = tables.largest_step(form, rule, 1e-4, t_end=2.0)
    assert tables.drift(tables.solution(form, rule, h, 2.0)) <= 1e-4 < tables.drift(tables.solution(form, rule, 1.01 * h, 2.0))
    with pytest.raises(RuntimeError, match="does not pass 100 J"):
        tables.largest_step(form, rule, 100.0, t_end=0.5)


def test_rows_of_the_paper(script):
    """What the text repeats of its tables: the comparable times, and goals of this implementation among them."""
    tables = script("tables3_4")
    assert [p.seconds for p in tables.TABLE_3 if p.comparable] == [0.145, 0.325, 0.455, 0.0325]
    assert [p.seconds for p in tables.TABLE_4 if p.comparable] == [0.125, 0.258, 0.0777]
    assert all(p.drift <= b.limit for b in tables.BENCHMARKS for p in b.published)


# --- the scripts -------------------------------------------------------------------------------------------------------------------------

SETTINGS = {
    "figures3_5": {"t_end": 20.0}, "figures6_7": {"t_end": 20.0}, "figures12_13": {"t_end": 20.0},
    "figures8_10": {"torques": (5.0, 9.0), "t_end": 20.0, "steps": (0.2,), "long": 20.0},
    "figures15_16": {"t_end": 0.5}, "figures17_20": {"t_end": 0.5}, "figures21_22": {"t_end": 1.0},
    "figures24_27": {"t_end": 0.012, "small": 1e-5},
    "tables1_2": {},
    "tables3_4": {"t_end": 1.0, "repeats": 1, "rules": ("trapezoidal",), "bracket": (1e-3, 0.1), "steps": np.array([1e-2, 2e-2])},
}


def test_null_space_paper_in_small(script, tmp_path, capsys):
    """All scripts, over short times."""
    every = script("all")
    assert sorted(SETTINGS) == list(every.SCRIPTS)
    every.main(tmp_path, SETTINGS)
    told = capsys.readouterr().out
    assert "DIMCD *" in told and "published (alpha" not in told and all(f"\n  {name}" in told for name in SETTINGS)
    pictures = {f"figure{n}.png" for n in (*range(3, 11), 12, 13, *range(15, 23), *range(24, 28))} | {"table3.png", "table4.png"}
    tables = {f"{name}.csv" for name in SETTINGS if name != "tables3_4"} | {"figure21.csv", "figure25.csv"}
    tables |= {name.replace(".png", ".curves.csv") for name in pictures}
    tables |= {"figures8_10_failures.csv", "table3.csv", "table4.csv", "table3_published.csv", "table4_published.csv"}
    assert {p.name for p in tmp_path.iterdir()} == pictures | tables
    for name in sorted(pictures):
        assert_picture(tmp_path / name)
    with open(tmp_path / "table3.csv", encoding="utf-8", newline="") as file:
        assert [r["coordinates"] for r in csv.DictReader(file)] == ["Cartesian 3D"] * 2 + ["Cartesian 2D"] * 2
