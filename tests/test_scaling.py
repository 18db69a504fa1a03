"""The study of cost over the number of links, and what must grow in proportion to it."""

import sys

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.charts.chart import Chart
from mbdae.cli.main import main
from mbdae.studies.scaling import CASES, FAMILIES, ScalingRow, growth, plot_scaling, scaling_study

pytestmark = pytest.mark.thorough


def test_rows_of_a_chain(tmp_path):
    rows = scaling_study(["chain"], (2, 4), ["half-implicit", "explicit-joint"], repeats=1)
    assert [(r.case, r.links, r.nv, r.nc, r.freedom) for r in rows] == [
        ("half-implicit", 2, 12, 6, 6), ("half-implicit", 4, 24, 12, 12), ("explicit-joint", 2, 6, 0, 6), ("explicit-joint", 4, 12, 0, 12)]
    assert all(r.status == "SUCCESS" and min(r.build, r.start, r.memory, r.steps) > 0 and r.per_link == r.step / r.links for r in rows)
    assert all((r.evaluation == r.step / 4) == (r.case == "explicit-joint") for r in rows)
    figure = plot_scaling(rows, "chains")
    figure.savefig(tmp_path / "scaling.png")
    assert [axis.get_title() for axis in figure.axes if axis.get_visible()] == ["chain"]


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_about_as_many_links_as_asked_for(family):
    f = FAMILIES[family]
    for n in (16, 64, 256):
        links = len(library.mechanism(f.mechanism, **f.parameters(n)).bodies)
        assert 0.7 * n <= links <= 1.1 * n


def test_growth_is_the_exponent():
    rows = [ScalingRow("chain", "explicit", n, step=1e-3 + 2e-6 * n**2, build=3e-5 * n) for n in (4, 64, 256, 1024, 4096)]
    assert growth(rows, "build") == pytest.approx(1.0)
    assert growth(rows[2:], "step", smallest=1000) == pytest.approx(2.0, abs=1e-3)
    assert growth(rows, "memory") is None and growth(rows[:1]) is None


def test_sizes_that_take_too_long_are_left_out():
    rows = scaling_study(["chain"], (1, 2, 4, 8), ["explicit-joint"], repeats=1, limit=1e-6)
    assert [r.status for r in rows] == ["SUCCESS", "SUCCESS", "LEFT_OUT", "LEFT_OUT"]
    assert rows[2].message == "takes longer than 1e-06 s" and rows[2].step is None


def test_unknown_names_are_refused(capsys):
    with pytest.raises(ValueError, match="there is no family 'chains'; there are chain, tree"):
        scaling_study(["chains"])
    with pytest.raises(ValueError, match="there is no case 'implicit'; there are half-implicit"):
        scaling_study(cases=["implicit"])
    assert main(["scaling", "chain", "--sizes", "5000"]) == 2 and "at most 4096" in capsys.readouterr().err
    assert main(["scaling", "chains"]) == 2 and "there is no family 'chains'" in capsys.readouterr().err


def test_the_command(tmp_path, capsys):
    assert main(["scaling", "chain", "--sizes", "1,3", "--cases", "explicit", "--repeat", "1", "--output", str(tmp_path)]) == 0
    assert "explicit, Cartesian; exponents: build" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scaling.csv", "scaling.json", "scaling.png"]


# --- proportional to the number of links -----------------------------------------------------------------------------------------


def lines(function):
    """Number of lines of this package that a function executes, repeats in comprehensions counted."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if "mbdae" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("coordinates", ["cartesian", "joint"])
@pytest.mark.parametrize("family", ["chain", "tree", "random-tree", "ring", "n-four-bar"])
def test_set_up_is_linear(family, coordinates):
    """The lines that set-up executes; it was quadratic in joint coordinates: 2.9 times the lines for twice as many links of a chain."""
    f = FAMILIES[family]

    def count(n):
        mechanism = library.mechanism(f.mechanism, **f.parameters(n))
        return len(mechanism.bodies), lines(lambda: mbdae.System(mechanism, coordinates=coordinates).start)

    count(16)  # what is imported and compiled once
    (n, few), (m, many) = count(127), count(255)
    assert many / few <= 1.15 * m / n


def test_pictures_of_large_mechanisms_are_linear():
    small, large = (library.system("n-four-bar", windows=n) for n in (50, 100))
    assert lines(lambda: large.geometry) <= 2.2 * lines(lambda: small.geometry)


# --- charts without constraints -------------------------------------------------------------------------------------------------------


def prepared(chart, system):
    state = system.start
    rng = np.random.default_rng(0)
    chart.centre(0.0, state.q)
    q = system.retract(state.q, 0.2 * rng.normal(size=system.nv))
    chart._prepared(0.0, q)
    return q


@pytest.mark.parametrize("parametrisation", ["partition", "tangent"])
@pytest.mark.parametrize(("name", "parameters", "coordinates"), [
    ("chain", {"links": 5}, "joint"), ("random-tree", {"bodies": 12}, "joint"), ("chain", {"links": 3, "joints": "revolute"}, "joint"),
    ("iltis", {}, "joint"), ("iltis", {}, "cartesian"), ("random-tree", {"bodies": 12}, "cartesian"), ("andrews", {}, "cartesian"),
    ("heavy-top", {}, "cartesian"), ("ring", {}, "joint")])
def test_bases_of_the_null_space(name, parameters, coordinates, parametrisation):
    """`PT = P T(q)`, `Phi_q N = 0`, `PT N = I` by matrices, with and without constraints."""
    system = mbdae.System(library.mechanism(name, **parameters), coordinates=coordinates)
    chart = Chart(system, parametrisation)
    q = prepared(chart, system)
    T = np.array([system.qdot(q, e) for e in np.eye(system.nv)]).T
    basis, G = chart.bases, system.phi_q(0.0, q).toarray()
    assert np.abs(basis.PT - chart.P @ T).max() <= 1e-14
    assert np.abs(basis.PT @ basis.N.T - np.eye(chart.n)).max() <= 1e-9
    assert np.abs(G @ basis.N.T).max(initial=0.0) <= 1e-9 * np.abs(G).max(initial=1.0)


def test_a_chart_that_is_chosen_anew_has_no_old_entries():
    system = mbdae.System(library.mechanism("chain", links=3), coordinates="joint")
    chart, rng = Chart(system, "partition"), np.random.default_rng(1)
    chart.centre(0.0, system.start.q)
    first = chart.P.copy()
    for _ in range(20):
        q = system.retract(system.start.q, 2.0 * rng.normal(size=system.nv))
        chart.centre(0.0, q)
        T = np.array([system.qdot(q, e) for e in np.eye(system.nv)]).T
        assert np.abs(chart.bases.PT - chart.P @ T).max() <= 1e-14
    assert not np.array_equal(first, chart.P)


def test_every_case_has_a_title_of_its_own():
    assert len({c.title for c in CASES.values()}) == len(CASES)


@pytest.mark.parametrize("parametrisation", ["partition", "tangent"])
@pytest.mark.parametrize("nc", [0, 1])
def test_bases_with_a_kinematic_map_of_a_user(nc, parametrisation):
    """As many rates as velocities, but not equal to them: rows of `PT` are full where those of `P` have one entry."""
    T = np.array([[1.0, 0.5, -0.3], [0.2, 2.0, 0.7], [-0.6, 0.1, 1.5]])
    system = mbdae.System.from_functions(
        nq=3, nc=nc, mass=lambda t, q: np.diag([1.0, 2.0, 3.0]), force=lambda t, q, v: -(T.T @ q), kinematics=lambda t, q, v: T @ v,
        phi=lambda t, q: np.array([q @ q - 1.0])[:nc], q0=[0.6, 0.0, 0.8], v0=[0.0, 0.0, 0.0])
    chart = Chart(system, parametrisation)
    chart.centre(0.0, system.start.q)
    basis = chart.bases
    assert np.abs(basis.PT - chart.P @ T).max() <= 1e-15
    assert np.abs(basis.PT @ basis.N.T - np.eye(3 - nc)).max() <= 1e-13
