"""Tables 24 to 30 and figures 17 to 25: the scripts in small, and what the thesis concludes from them, in counts of work."""

import csv
from pathlib import Path

import numpy as np
import pytest

from .helpers import assert_picture, scripts_in

pytestmark = pytest.mark.thorough

PAPER = Path(__file__).parents[1] / "examples" / "papers" / "thesis"
script = scripts_in(PAPER)
WINDOW = 0.002  # s


def test_published_tables_fit_the_text(script):
    """Times grow with the length, the implicit ones also with accuracy; DEABM takes 276 times as long as the Rosenbrock method."""
    common = script("common_vehicle")
    assert [number for number, _ in common.TABLES.values()] == list(range(24, 30))
    for name, (_, lines) in common.TABLES.items():
        values = np.array([lines[n] for n in common.LENGTHS], dtype=float)
        assert values.shape == (4, 4) and (np.diff(values, axis=0) > 0.0).all(), name
        assert name == common.EXPLICIT or (np.diff(values, axis=1) > 0.0).all(), name
    assert common.published(common.EXPLICIT, -3, 1) / common.published("ForRosen", -3, 1) == pytest.approx(276, abs=0.5)
    assert common.TABLE_30["analytic"] == tuple(common.published("ForSDIRK", -3, n) for n in common.LENGTHS)
    assert common.published("ForRosen", -6, 1) is None and common.published("ForRosen, filtered", -3, 1) is None


@pytest.mark.parametrize("k", [-2, -5])
def test_stability_bounds_the_step_of_the_explicit_code(script, k):
    """Between 1e-6 and 1e-5 s, as the thesis says, in motion and at rest."""
    common = script("common_vehicle")
    for second in (1, 4):
        found = common.sample(k, second, WINDOW)
        assert 1e-6 < 1.0 / found.steps < 1e-5
        assert 1.0 < found.evaluations / found.steps < 4.0


def test_the_explicit_code_is_sampled_only_where_stability_bounds_it(script):
    """At rest the steps after a smooth start are long for a while; they do not count."""
    found = script("common_vehicle").sample(-2, 4, WINDOW)
    assert found.lead >= 2 * WINDOW


def test_implicit_methods_need_hundreds_of_times_fewer_evaluations(script):
    """Than the explicit code, and no more than the thesis' steps at 1e-5; their errors are below the tolerance."""
    common, tables = script("common_vehicle"), script("tables24_29")
    table = tables.study(tolerances=(-3,), lengths=(1,), window=WINDOW, repeats=1)
    for name, (_, _, evaluations, with_jacobians) in tables.gains(table, -3, 1).items():
        assert evaluations > (1500 if "Rosen" in name else 600) and with_jacobians > 150, name
        assert table[name, -3, 1].error < 1e-3
    for name, steps in common.STEPS.items():
        assert common.cost(name, -5, 1, 1).steps < steps


def test_costs_over_length_flatten(script):
    """After the bump steps grow: the fourth second costs a tenth of the first at most, but for the trapezoidal rule."""
    common = script("common_vehicle")
    for name, share in (("ForSDIRK", 0.1), ("ForRosen", 0.1), ("SspTrap", 0.3)):
        steps = [common.cost(name, -3, n, 1).steps for n in (1, 3, 4)]
        assert steps[2] - steps[1] < share * steps[0], name


def test_numeric_derivatives_give_the_same_steps(script):
    rows = script("table30").study(lengths=(1,), repeats=1)
    assert [r.method for r in rows] == ["analytic", "numeric", "numeric, forces"]
    assert len({(r.steps, r.jacobians) for r in rows}) == 1
    assert [r.published for r in rows] == [21, 104, None]


def test_the_wheels_hit_the_bump_when_published(script):
    figure = script("figure17")
    found = figure.arrivals(figure.study(t_end=2.0, points=401))
    for name, t in figure.PUBLISHED.items():
        assert found[name] == pytest.approx(t, abs=0.07)


def test_iterations_are_those_of_the_statistics(script):
    common, figures = script("common_vehicle"), script("figures23_25")
    ends, counts = figures.iterations("SspTrap", 0.6)
    known = common.motion(common.METHODS["SspTrap"], -3, 0.6)
    np.testing.assert_array_equal(ends, known.t[1:])
    assert counts.sum() == known.statistics.newton_iterations and counts.min() >= 1


def test_the_sparse_matrix_of_the_descriptor_form(script, tmp_path, capsys):
    """It is as sparse as the thesis says, and gives the same steps but for what Newton's method leaves; in small."""
    study = script("descriptor")
    matrices, runs = study.study({"hmmwv": 0.2, "andrews": 0.005}, repeats=1)
    vehicle = matrices[0]
    assert (vehicle.size, vehicle.freedom) == (150, 18) and 0.05 < vehicle.entries < 0.2 and vehicle.entries < vehicle.filled < 0.5
    assert vehicle.sparse_factors > 5.0 * vehicle.reduced_factors
    by = {(r.mechanism, r.method, r.matrix): r for r in runs}
    for (name, method, kind), r in by.items():
        plain = by[name, method, "reduced"]
        assert abs(r.steps - plain.steps) <= 2 + 0.4 * plain.steps
        assert kind == "reduced" or r.factorisations > plain.factorisations
    study.main(tmp_path, spans={"andrews": 0.005}, repeats=1)
    assert "the matrix, times in microseconds" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["descriptor_matrices.csv", "descriptor_runs.csv"]


def test_thesis_vehicle_in_small(script, tmp_path, capsys):
    every, mine = script("all"), {"tables24_29", "table30", "figure17", "figures23_25"}
    assert mine <= set(every.SCRIPTS)
    every.SCRIPTS = tuple(n for n in every.SCRIPTS if n in mine)
    settings = {"tables24_29": {"tolerances": (-2, -3), "lengths": (1, 2), "window": WINDOW, "repeats": 1},
                "table30": {"lengths": (1,), "repeats": 1}, "figure17": {"t_end": 0.8, "points": 81},
                "figures23_25": {"lengths": {"figure23": 0.6, "figure24": 3.0}, "iterations_to": 0.6}}
    every.main(tmp_path, settings)
    told = capsys.readouterr().out
    assert "table 24, DEABM" in told and "of Project Chrono" in told and "the sparse matrix of the thesis, 178 x 178, is" in told
    figures = {f"figure{n}.png" for n in range(17, 26)}
    tables = {"tables24_29.csv", "table30.csv", "figure17.csv", "figures23_24.csv", "figure25.csv", "gains.csv", "table30_ratios.csv",
              "figure17_numbers.csv", "figures23_24_runs.csv"} | {name.replace(".png", ".curves.csv") for name in figures}
    assert {p.name for p in tmp_path.iterdir()} == figures | tables
    for name in figures:
        assert_picture(tmp_path / name)
    with open(tmp_path / "tables24_29.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7 * 2 * 2 and rows[0]["method"] == "DEABM" and float(rows[0]["published"]) == 3618.0
