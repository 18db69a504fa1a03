"""Every example runs, and the scripts of the paper find what they claim, here in reduced settings; the full ones are marked slow."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdae
from mbdae import library

from .helpers import scripts_in
from .impact_cases import minimal_impacts, violation

pytestmark = pytest.mark.thorough
EXAMPLES = Path(__file__).parents[1] / "examples"
PAPER = EXAMPLES / "papers" / "half_implicit"
STEPS = (1e-3, 2e-3, 4e-3)
script = scripts_in(PAPER)

# Newton iterations per step of this implementation at the published settings, steps 1e-4, 1e-3, 1e-2
ITERATIONS = {("fig4_double_pendulum", "HI"): (1.00, 2.05, 3.68), ("fig4_double_pendulum", "FI"): (2.83, 4.02, 6.48),
              ("fig5_slider_crank", "HI"): (1.06, 3.00, 5.47), ("fig5_slider_crank", "FI"): (2.00, 4.00, 6.42),
              ("fig6_four_link", "HI"): (1.00, 2.93, 6.00), ("fig6_four_link", "FI"): (2.00, 3.81, 7.09)}


def assert_whole_picture(path):
    """The file is a picture of decent size that is neither empty nor cut at its edges."""
    pixels = matplotlib.image.imread(path)[:, :, :3]
    assert min(pixels.shape[:2]) > 400
    assert 0.01 < (pixels.min(axis=2) < 0.8).mean() < 0.5
    assert (pixels[[0, -1]] > 0.99).all() and (pixels[:, [0, -1]] > 0.99).all()


# --- for users ---------------------------------------------------------------------------------------------------------------------------


def check_quickstart(found):
    half_implicit, ida = found["runs"]
    assert np.abs(ida.energy - ida.energy[0]).max() < 1e-4
    assert np.abs(half_implicit.energy - half_implicit.energy[0]).max() < 2e-2
    assert abs(half_implicit.q[-1, 2] - ida.q[-1, 2]) < 2e-3


def check_user_force(found):
    plain, compiled, free = (found["runs"][k] for k in ("plain Python", "compiled", "no drag"))
    np.testing.assert_allclose(plain.q, compiled.q, atol=1e-9)
    assert plain.energy[-1] < plain.energy[0] - 100.0 * abs(free.energy[-1] - free.energy[0])


def check_own_equations(found):
    half_implicit, ida, dop = found["runs"].values()
    np.testing.assert_allclose(ida.q[-1], dop.q[-1], atol=1e-6)
    np.testing.assert_allclose(half_implicit.q[-1], dop.q[-1], atol=1e-3)
    assert abs(found["wire"](2.0, dop.q[-1])).max() < 1e-9


def check_sundae_dropin(found):
    assert found["table"].success
    table, system, problem = found["table"], found["system"], found["problem"]
    energies = [system.energy(t, *problem.unpack(y, yd)[:2]) for t, y, yd in zip(table.t, table.y, table.yp)]
    assert np.ptp(energies) < 1e-6
    np.testing.assert_allclose(found["state"].y[:21], found["table"].y[-1][:21], atol=1e-7)


def check_scipy_dropin(found):
    system, energy = found["system"], found["system"].energy(0.0, found["y0"][:found["system"].nq], found["y0"][found["system"].nq:])
    assert abs(system.energy(2.0, found["q"], found["v"]) - energy) < 1e-3
    assert len(found["result"].t_events[0]) == 1
    assert found["drift"] < 1e-5


def check_odes_dropin(found):
    assert set(found["ends"]) == {"ida", "ddaspk", "cvode", "dop853"}
    assert all(np.abs(q - found["ends"]["dop853"][0]).max() < 1e-6 for q, _ in found["ends"].values())


def check_solve_dae_dropin(found):
    assert found["turns"].mean() == pytest.approx(0.5788974, abs=1e-6)
    assert found["drift"] < 1e-10


def check_radau13_dropin(found):
    assert found["turns"].mean() == pytest.approx(0.5788974, abs=1e-6)
    assert found["drift"] < 1e-8


def check_assimulo_dropin(found):
    natives = {cls.__name__: native for cls, native in found["natives"].items()}
    assert set(natives) == {"IDA", "Radau5DAE", "Dopri5", "ODASSL"}
    np.testing.assert_allclose(natives["IDA"].t_events[0], natives["Dopri5"].t_events[0], atol=2e-5)
    np.testing.assert_allclose(np.diff(natives["IDA"].t_events[0]), 0.5788974, atol=2e-5)
    assert found["drift"] < 1e-6


def check_sympy_dropin(found):
    """Against polar coordinates."""
    for (M, _), end in found["ends"].items():
        def rates(t, y, M=M):
            r, a, dr, da = y
            return dr, da, (r * da**2 + 9.81 * (np.cos(a) - M)) / (1 + M), -(2 * dr * da + 9.81 * np.sin(a)) / r

        r, a = solve_ivp(rates, (0.0, 3.0), (1.0, np.pi / 2, 0.0, 0.0), "DOP853", rtol=1e-11, atol=1e-12).y[:2, -1]
        np.testing.assert_allclose(end, (r * np.sin(a), -r * np.cos(a), r - 2.0), atol=1e-6)  # found: 6e-8


def check_jacobians(found):
    assert found["grouping"].count == found["grouping"].lower_bound == 3 and found["difference"].calls <= 6
    exact = found["my_jacobian"](found["x"]).toarray()
    exact[-1, -1] /= 1.01
    np.testing.assert_allclose(found["J"].toarray(), exact, atol=1e-6)
    assert [(e.row, e.column) for e in found["report"].entries] == [(499, 499)] and not found["report"].ok
    counts = {name: x.statistics for name, x in found["runs"].items()}
    assert counts["dense"].residuals_jacobian > 100 * counts["grouped"].residuals_jacobian
    assert counts["grouped:partitioned"].jacobians < 0.5 * counts["grouped"].jacobians
    assert all(np.abs(x.q[-1] - found["runs"]["exact"].q[-1]).max() < 1e-5 for x in found["runs"].values())


def check_state_space(found):
    problem, runs, exact = (found[name] for name in ("problem", "runs", "exact"))
    entry = library.entry("stiff-double-pendulum")
    assert problem.n == 4 and found["rates"].real.min() < -1e4
    assert set(runs) == {"RosenbrockNystrom", "SdirkFirstOrder", "SciPy Radau", "SciPy LSODA"}
    for run in runs.values():
        assert run.success and run.formulation == "partition" and run.statistics.steps < 500
        assert np.abs(run.constraint_residuals).max() < 1e-9
        np.testing.assert_allclose(run.q, exact.q, atol=1e-4)
    end = entry.observe(problem.system, 2.0, *(x[-1] for x in (exact.q, exact.v, exact.a, exact.lam)))
    known = next(r.values for r in entry.references if r.t == 2.0)
    assert all(end[name] == pytest.approx(value, rel=1e-6, abs=1e-6) for name, value in known.items())


def check_projected_gauss(found):
    runs, lost = found["runs"], {name: np.ptp(run.energy) for name, run in found["runs"].items()}
    assert all(run.success for run in runs.values()) and list(lost)[1::2] == [name for name in lost if name.endswith("PVAE-0")]
    for name, run in runs.items():
        if name.endswith("PVAE-0"):
            assert lost[name] < 1e-12
            np.testing.assert_array_less(run.constraint_residuals.max(axis=0), (1e-14, 1e-13, 1e-11))
        else:
            assert lost[name] < 1e-9 if name == "Gauss, PV" else lost[name] > 1e-6
    assert runs["Gauss, PV"].constraint_residuals[:, 2].max() > 1e-6


def check_null_space(found):
    stable, angles = found["stable"], found["angles"]
    assert stable["Fox-Goodwin"] == pytest.approx(0.78246, abs=1e-5) and stable["trapezoidal"] == np.inf
    for (name, h), angle in angles.items():
        if h < stable[name]:
            assert angle["null space"] < 0.02
        elif h < 1.0:  # a swing of that width is slower by its share 1/16 of the square, and stable again
            assert 0.25 < angle["null space"] < 4.0 * np.sqrt(1.0 - stable[name] / h)
        else:
            assert angle["null space"] == np.inf
        assert angle["multipliers"] < 0.02 if name == "trapezoidal" else angle["multipliers"] == np.inf


def check_impacts(found):
    runs, exact = found["runs"], minimal_impacts(found["E"], 10)
    assert set(runs) >= {"RosenbrockNystrom", "Bdf", "Ida", "Cvode", "HalfImplicit"} and all(run.success for run in runs.values())
    for name, run in runs.items():
        assert len(run.jumps) == 10 and violation(found["system"], run.jumps) < 1e-12
        np.testing.assert_allclose(run.t_events[0], exact, atol=0.8 if name == "HalfImplicit" else 1e-4)


CHECKS = {"quickstart": check_quickstart, "jacobians": check_jacobians, "user_force": check_user_force,
          "own_equations": check_own_equations, "sundae_dropin": check_sundae_dropin, "scipy_dropin": check_scipy_dropin,
          "odes_dropin": check_odes_dropin, "solve_dae_dropin": check_solve_dae_dropin, "radau13_dropin": check_radau13_dropin,
          "assimulo_dropin": check_assimulo_dropin, "sympy_dropin": check_sympy_dropin, "state_space": check_state_space,
          "projected_gauss": check_projected_gauss, "null_space": check_null_space, "impacts": check_impacts}


def test_every_example_is_checked():
    assert {f.stem for f in EXAMPLES.glob("*.py")} == set(CHECKS)
    assert all(len(f.read_text().splitlines()) <= (30 if f.stem.endswith("_dropin") else 40) for f in EXAMPLES.glob("*.py"))


NEEDS = {"odes_dropin": "scikits_odes", "solve_dae_dropin": "solve_dae", "radau13_dropin": "pyradau13", "assimulo_dropin": "assimulo",
         "sympy_dropin": "sympy"}


@pytest.mark.parametrize("name", CHECKS)
def test_example(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip(NEEDS.get(name, "numpy"), reason=f"the package of {name}.py is not installed")
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    CHECKS[name](found)
    assert 1 < len(capsys.readouterr().out.splitlines()) < 10
    assert not list(tmp_path.iterdir())


# --- the exact double pendulum -----------------------------------------------------------------------------------------------------------


def test_equations_of_the_pendulum_are_those_of_the_model(script, rng):
    common = script("common")
    system, rates = common.system("double-pendulum"), common.pendulum_rates()
    for _ in range(20):
        y = rng.normal(size=4) * (3.0, 3.0, 4.0, 4.0)
        q, v = (x[0] for x in common.pendulum_coordinates(y[:, None]))
        assert np.abs(system.phi(0.0, q)).max() < 1e-14 and np.abs(system.phi_q(0.0, q) @ v).max() < 1e-13
        a, _, _ = system.solve_kkt(0.0, q, system.force(0.0, q, v), system.gamma(0.0, q, v))
        np.testing.assert_allclose(a[[5, 11]], rates(0.0, y)[2:], rtol=1e-11, atol=1e-11)


def test_exact_pendulum_meets_the_references_of_the_library(script):
    entry = library.entry("double-pendulum")
    times = np.arange(11.0)
    motion = script("common").pendulum_motion(mbdae.System(entry.build()), times)
    for r in entry.references:
        k = int(r.t)
        found = entry.observe(mbdae.System(entry.build()), r.t, motion.q[k], motion.v[k], motion.a[k], motion.lam[k])
        assert all(abs(found[name] - value) < 1e-9 for name, value in r.values.items())


# --- the figures -------------------------------------------------------------------------------------------------------------------------


def test_order(script, tmp_path):
    fig = script("fig2_order")
    table = fig.run(steps=STEPS, t_span=(0.0, 1.0))
    for (mechanism, method), slope in fig.slopes(table, {}).items():
        assert slope["measure"] == pytest.approx(1.0, abs=0.1)
        if mechanism == "double-pendulum":
            assert slope["q"] == pytest.approx(1.0, abs=0.1)
            assert slope["v"] == pytest.approx(2.0 if method == "HI" else 1.0, abs=0.1)  # two: it starts at rest
        else:
            assert slope["q"] is None and max(r.q for r in table if r.mechanism == mechanism) < 1e-10
            assert slope["v"] == pytest.approx(1.0, abs=0.1)
    fig.draw(table, tmp_path / "order.png")
    assert_whole_picture(tmp_path / "order.png")


def test_order_in_motion(script):
    fig = script("fig2_order")
    for slope in fig.slopes(fig.run(("double-pendulum",), STEPS, (1.0, 2.0)), {}).values():
        assert [slope[k] for k in ("measure", "q", "v")] == pytest.approx([1.0, 1.0, 1.0], abs=0.1)


def test_energy(script, tmp_path):
    fig = script("fig3_energy")
    table = fig.run()
    half, full = table
    assert half.largest < 3.0 and half.t[-1] == pytest.approx(10.0)
    assert full.drift == -full.largest and full.drift < -80.0 * half.largest
    fig.draw(table, tmp_path / "energy.png")
    assert_whole_picture(tmp_path / "energy.png")


@pytest.mark.parametrize("name", ["fig4_double_pendulum", "fig5_slider_crank", "fig6_four_link"])
def test_iterations(script, name, tmp_path, capsys):
    fig = script(name)
    table = fig.run(repeats=1)
    for method in ("HI", "FI"):
        assert [r.iterations for r in table if r.method == method] == pytest.approx(ITERATIONS[name, method], rel=0.02)
    fig.report(table)
    assert "published" in capsys.readouterr().out
    fig.draw(table, tmp_path / "iterations.png")
    assert_whole_picture(tmp_path / "iterations.png")


def test_iterations_of_the_pendulum_are_the_published_ones(script):
    for r in script("fig4_double_pendulum").run(repeats=1):
        assert r.iterations == pytest.approx(r.published_iterations, abs=0.02)


def test_scaling(script, tmp_path):
    fig = script("fig8_scaling")
    table = fig.run(links=(1, 2, 32), t_end=0.3, repeats=1)
    assert all(r.iterations[0] < r.iterations[1] for r in table)
    assert [r.published for r in table] == [None, (3.17, 5.85), (39.71, 88.18)]
    assert table[-1].seconds[0] < 320 * table[0].seconds[0]  # far from quadratic growth
    fig.draw(table, tmp_path / "scaling.png")
    assert_whole_picture(tmp_path / "scaling.png")


def test_friction(script, tmp_path):
    fig = script("fig9_friction")
    table = fig.run(t_end=1.2)
    without, some, more = table
    assert np.diff([r.swing for r in table]).min() > 0.05
    assert [r.error < limit for r, limit in zip(table, (2e-5, 1e-3, 4e-3))] == [True] * 3
    assert without.jump == 0.0 and 10.0 < abs(some.jump) < abs(more.jump)
    for r in (some, more):  # the torque bends where friction jumps: by its power, jump times acceleration over rate of the crank
        assert abs(r.bend) == pytest.approx(abs(r.jump) * 2.69 / (2 * np.pi), rel=0.1)
        assert r.fastest < 0.02 * r.swing
    fig.draw(table, tmp_path / "friction.png")
    assert_whole_picture(tmp_path / "friction.png")


def test_script_from_the_command_line(tmp_path):
    run = subprocess.run([sys.executable, str(PAPER / "fig7_setup.py"), "--output", str(tmp_path / "new")], cwd=tmp_path, timeout=300,
                         env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "4 bars" in run.stdout
    assert sorted(f.name for f in (tmp_path / "new").iterdir()) == ["fig7_setup.csv", "fig7_setup.curves.csv", "fig7_setup.png"]
    assert_whole_picture(tmp_path / "new" / "fig7_setup.png")


def test_all_runs_every_figure(script):
    assert set(script("all").FIGURES) == {f.stem for f in PAPER.glob("fig*.py")}


@pytest.mark.slow
def test_all_in_full(script, tmp_path, capsys):
    script("all").main(tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 8
    for picture in tmp_path.glob("*.png"):
        assert_whole_picture(picture)
    assert "slopes" in capsys.readouterr().out
    fig = script("fig2_order")
    for (mechanism, method), slope in fig.slopes(fig.run()).items():
        assert slope["measure"] == pytest.approx(1.0, abs=0.1)
        assert slope["v"] == pytest.approx(2.0 if (mechanism, method) == ("double-pendulum", "HI") else 1.0, abs=0.1)
