"""The paper on projected Runge-Kutta methods: what it states of its three examples, and all scripts in small."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import Status

from .helpers import assert_picture, scripts_in

pytestmark = pytest.mark.thorough

PAPER = Path(__file__).parents[1] / "examples" / "papers" / "projected_rk"
PROJECTED = ("R-K-PV", "R-K-PVAE-n", "R-K-PVAE-0")
ALL = ("R-K-PVAE-n", "R-K-PVAE-0")
script = scripts_in(PAPER, "module")


@pytest.fixture(scope="module")
def common(script):
    return script("common")


# --- definitions -------------------------------------------------------------------------------------------------------------------


def test_errors_are_what_they_are_said_to_be(common):
    """Against the residuals of the library and its energy."""
    for example, t_end in ((common.PENDULUM, 2.0), (common.SPHERICAL, 2.0), (common.SATELLITES, 1000.0)):
        s = common.run(example, "", None, t_end)
        length = next(iter(common.rods(example).values())).length
        found = common.largest(example, s)
        assert found["position"] > 1e-11
        for k, name in enumerate(common.QUANTITIES[:3]):
            assert found[name] == pytest.approx(s.constraint_residuals[:, k].max() / length**2, rel=1e-4)
        if example is not common.SATELLITES:
            np.testing.assert_allclose(common.energy(example, s.q, s.v), s.energy, rtol=1e-14, atol=1e-13)


def test_the_energy_of_the_satellites_is_conserved_and_that_of_the_library(common):
    s = common.SATELLITES.system
    start, step = s.start, 1e-4 * np.random.default_rng(3).normal(size=9)
    work = [common.energy(common.SATELLITES, start.q + x * 1e4 * step, start.v) for x in (1.0, -1.0)]
    assert work[0] - work[1] == pytest.approx(-2e4 * s.force(0.0, start.q, start.v) @ step, rel=1e-2)
    entry = mbdae.library.entry("tethered-satellites")
    found = entry.observe(s, 0.0, start.q, start.v, start.a, start.lam)["energy"]
    assert common.energy(common.SATELLITES, start.q, start.v) == pytest.approx(found, rel=1e-15)


def test_envelopes_hold_the_largest_values(common):
    t, x = np.linspace(0.0, 1.0, 1001), np.abs(np.random.default_rng(1).normal(size=1001))
    times, upper = common.envelope(t, x, 1.0, 50)
    assert len(times) == 50 and upper.max() == x.max() and abs(times[upper.argmax()] - t[x.argmax()]) <= 0.01 + 1e-12
    times, upper = common.envelope(t[:300], x[:300], 1.0, 50)
    assert times[-1] < 0.31 and np.isfinite(upper).all()


# --- example 1 ---------------------------------------------------------------------------------------------------------------------


def test_without_projections_the_rod_is_lost_after_a_few_seconds(common):
    """Figures 2 to 5: the paper sees it after 6 s. The run ends where Newton's method finds no stages any more, and says when."""
    s = common.run(common.PENDULUM, "")
    x = common.errors(common.PENDULUM, s)
    assert s.status == Status.NEWTON_FAILED and 5.0 < s.t[-1] < 12.0 and f"t = {s.t[-1]:.9g}" in s.message
    assert x["position"][s.t < 0.5].max() < 1e-11 and x["position"][-1] > 1e-7
    assert x["velocity"][-1] > 1.0 and x["acceleration"][-1] > 1e6 and x["energy"][-1] > 1.0


def test_positions_and_velocities_projected_lose_energy_linearly(script, common):
    """Figure 5; 5e-8 J after 30 s, where the paper has 1e-6 J."""
    s = common.run(common.PENDULUM, "PV")
    rate, bend = script("figures2_to_5").rate(s)
    assert 1e-9 < rate < 3e-9 and bend < 0.1
    x = common.largest(common.PENDULUM, s)
    assert x["position"] < 1e-15 and x["velocity"] < 1e-14 and x["acceleration"] > 1e-5


def test_one_iteration_per_step_explains_the_drift_of_the_paper(common):
    """Figure 5: 1e-6 J."""
    s = mbdae.solve(common.PENDULUM.system, mbdae.ProjectedGauss(h=1e-3, project="PV", tol=1e-7, stages_hold="position"), (0.0, 30.0))
    assert s.success and s.statistics.iterations_per_step < 1.1
    assert 5e-7 < common.energy_error(common.PENDULUM, s).max() < 5e-6


@pytest.mark.parametrize("name", ALL)
def test_all_projections_keep_the_pendulum_to_rounding(common, name):
    """Figures 2 to 4: 1e-16 and 1e-14."""
    s = common.run(common.PENDULUM, common.METHODS[name])
    assert s.success and s.t[-1] == pytest.approx(30.0) and len(s.t) == 30001
    x = common.largest(common.PENDULUM, s)
    assert x["position"] < 1e-15 and x["velocity"] < 1e-13 and x["acceleration"] < 1e-13
    assert common.deviation(common.PENDULUM, s) < 1e-9


def test_the_energy_of_the_start_is_kept_better_than_that_of_the_step_before(common):
    """Figure 5."""
    first, before = (common.energy_error(common.PENDULUM, common.run(common.PENDULUM, p)) for p in ("PVAE-0", "PVAE-n"))
    assert first.max() < 6.0 * 1e-14 and 10.0 * first.max() < before.max() < 1e-10
    assert before[-1000:].mean() > 3.0 * before[1000:2000].mean()


# --- example 2 ---------------------------------------------------------------------------------------------------------------------


def test_double_spherical_pendulum(script, common):
    """Figures 7 to 11: the magnitudes are small at all levels, and the energy error is smallest with PVAE-0."""
    example, runs = common.SPHERICAL, common.runs(common.SPHERICAL)
    assert runs["R-K"].status == Status.NEWTON_FAILED and 2.0 < runs["R-K"].t[-1] < 8.0
    x = {name: common.largest(example, s) for name, s in runs.items()}
    assert x["R-K"]["position"] > 1e-8 and x["R-K"]["velocity"] > 1.0 and x["R-K"]["energy"] > 1e-2
    for name in PROJECTED:
        assert x[name]["position"] < 2e-15 and x[name]["velocity"] < 2e-14
    assert x["R-K-PV"]["acceleration"] > 1e-4 and all(x[name]["acceleration"] < 3e-13 for name in ALL)
    assert x["R-K-PVAE-0"]["energy"] < 2e-14 < x["R-K-PVAE-n"]["energy"] < 1e-11 < 1e-7 < x["R-K-PV"]["energy"]
    radius = np.linalg.norm(script("figures7_to_11").path_around(runs["R-K-PVAE-0"]), axis=1)
    assert np.abs(radius - 1.0).max() < 1e-15


# --- example 3 ---------------------------------------------------------------------------------------------------------------------


def test_tethered_satellites(script, common):
    """Figures 13 to 17: 1e-15, 1e-11, 1e-13 in the paper. Rounding of coordinates of 7e6 m alone leaves 2e-12 of the first."""
    example, figures = common.SATELLITES, script("figures13_to_17")
    s = common.run(example, "PVAE-0")
    x, rounding = common.largest(example, s), 2.0 * np.sqrt(3.0) * np.spacing(7e6) / 1000.0
    assert 0.1 * rounding < x["position"] < rounding < 4e-12
    assert x["velocity"] < 1e-13 and x["acceleration"] < 1e-16 and x["energy"] < 2e-15
    assert figures.turns(s) > 1.5 and common.deviation(example, s) < 0.02
    radius, height = figures.orbital(s)
    assert 0.01 < np.abs(radius).max() < 0.2 and np.abs(height).max() < 0.02
    half = len(radius) // 2
    assert np.abs(radius[half:]).max() < 1.05 * np.abs(radius[:half]).max()


def test_satellites_without_all_projections(common):
    runs = common.runs(common.SATELLITES)
    assert runs["R-K"].status == Status.NEWTON_FAILED and 500.0 < runs["R-K"].t[-1] < 5000.0
    x = {name: common.largest(common.SATELLITES, s) for name, s in runs.items()}
    assert x["R-K"]["position"] > 1e-6 and x["R-K-PV"]["acceleration"] > 1e-9
    assert 1e-14 < x["R-K-PV"]["energy"] < 1e-11


# --- orders, other methods -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_orders(script, common, stages):
    """One for each stage in positions, velocities and multipliers; twice as many, at most, in positions without projections."""
    orders = script("orders")
    found, sizes = orders.errors(common.SPHERICAL, 0.5, stages, "PVA")
    for name, least in (("q", stages), ("v", stages), ("lam", stages), ("a", (1, 1, 3, 3)[stages - 1])):
        assert orders.slope(orders.STEPS, found[name], sizes[name]) == pytest.approx(least, abs=0.35)
    plain, sizes = orders.errors(common.SPHERICAL, 0.5, stages, "")
    assert orders.slope(orders.STEPS, plain["q"], sizes["q"]) == pytest.approx((2, 2, 4, 4)[stages - 1], abs=0.35)
    assert orders.slope(orders.STEPS, plain["v"], sizes["v"]) < 2.35


def test_the_exact_accelerations_belong_to_the_exact_multipliers(script, common):
    orders = script("orders")
    for example, t in orders.CASES.items():
        listed = [x for name, x in common.known(example, t).items() if name.startswith("lambda")]
        np.testing.assert_allclose(2.0 * orders.exact(example, t)["lam"][:len(listed)], listed, rtol=1e-12)


def test_slopes_leave_out_rounding_and_failures(script):
    slope, steps = script("orders").slope, (0.4, 0.2, 0.1, 0.05)
    assert slope(steps, np.array([np.nan, 8e-6, 1e-6, 1e-15]), 1.0) == pytest.approx(3.0)
    assert np.isnan(slope(steps, np.array([np.nan, np.nan, 1e-6, 1e-15]), 1.0))


def test_projections_around_others(script, common):
    others = script("around_others")
    rows = others.rows(others.study(t_end=10.0))
    by = {(r["method"], r["project"]): r for r in rows}
    for name in others.METHODS:
        assert by[name, "PVAE-0"]["energy"] < 1e-14 < 1e-7 < by[name, "PV"]["energy"]
        assert by[name, "PVAE-0"]["position"] < 1e-15 and by[name, "PVAE-0"]["acceleration"] < 1e-13
        assert by[name, "PVAE-0"]["steps"] < 1.5 * by[name, ""]["steps"]
    assert by["HalfImplicit", ""]["velocity"] > 1e-3 and by["HalfImplicit", "PV"]["velocity"] < 1e-14


# --- the scripts -------------------------------------------------------------------------------------------------------------------


def test_paper_in_small(script, common, tmp_path, capsys):
    """All scripts, over a short time."""
    every, short = script("all"), {"t_end": 0.2}
    settings = {"figures2_to_5": short, "figures7_to_11": short, "figures13_to_17": {"t_end": 100.0}, "around_others": short,
                "errors": {"t_end": {common.PENDULUM.name: 1.0, common.SPHERICAL.name: 0.5, common.SATELLITES.name: 100.0}},
                "orders": {"cases": {common.PENDULUM: 1.0}, "steps": (0.02, 0.01), "projections": ("PVA",)}}
    assert set(settings) == set(every.SCRIPTS)
    every.main(tmp_path, settings)
    told = capsys.readouterr().out
    assert "Simple pendulum: orders observed" in told and "R-K-PVAE-0" in told and "(1e-16)" in told
    pictures = {"figures2_to_5", "figure7", "figures8_to_11", "figure13", "figures14_to_17", "orders", "around_others"}
    assert {p.stem for p in tmp_path.glob("*.png")} == pictures
    assert {p.stem for p in tmp_path.glob("*.csv")} == pictures - {"figure7", "figure13"} | {f"{x}.curves" for x in pictures} | {"errors"}
    for path in tmp_path.glob("*.png"):
        assert_picture(path)
    with open(tmp_path / "errors.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13 and float(rows[0]["published_energy"]) == 1e15 and all(float(r["coordinates"]) < 1e-2 for r in rows[1:4])


def test_a_projected_run_that_fails_is_no_result(common):
    with pytest.raises(RuntimeError, match=r"particle-pendulum, ProjectedGauss\(3, h=1\.5, PV, position stages\): "):
        common.run(common.PENDULUM, "PV", 1.5, 30.0)


def test_script_from_the_command_line(tmp_path):
    run = subprocess.run([sys.executable, str(PAPER / "figures13_to_17.py"), "--help"], cwd=tmp_path, timeout=120, capture_output=True,
                         text=True)
    assert run.returncode == 0 and "--output DIR" in run.stdout and "circular orbit" in run.stdout
