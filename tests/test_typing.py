"""Types that users see: scripts with the main uses of the README pass `mypy --strict`, and mistakes in them are found."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import mbdae
import mbdae.adapters

ROOT = Path(__file__).parent.parent
needs_mypy = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")

RUN = """
import mbdae
from mbdae.adapters.sundae import Ida
from mbdae.typing import Vector


class Bottom:
    terminal = 2
    direction = 1

    def __call__(self, t: float, q: Vector, v: Vector) -> float:
        return float(q[0])


def upright(t: float, q: Vector, v: Vector) -> float:
    return float(q[2]) - 0.5


rod = mbdae.RigidBody("rod", mass=1.0, inertia=(1e-4, 0.083, 0.083), position=(0.5, 0, 0))
pin = mbdae.Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
spring = mbdae.TSDA("spring", "ground", "rod", k=10.0, c=1.0, l0=1.0)
pendulum = mbdae.Mechanism("pendulum", bodies=[rod], joints=[pin], forces=[spring], gravity=(0, 0, -9.81))

quick = mbdae.solve(pendulum, mbdae.HalfImplicit(h=1e-3), (0, 10))
sharp = mbdae.solve(pendulum, Ida(), (0.0, 10.0), formulation="ggl", rtol=1e-8, events=[upright, Bottom()], dense_output=True)
once = mbdae.solve(mbdae.GGL(mbdae.System(pendulum)), Ida(jacobian="grouped:partitioned"), (0.0, 0.3), t_eval=[0.1, 0.2], events=upright)
state: mbdae.State = mbdae.assemble(pendulum, 0.5)
again: mbdae.Solution = mbdae.solve(pendulum, mbdae.RosenbrockNystrom(), (0.5, 1.0), state=state)
sundials: list[mbdae.Method] = [mbdae.Ida(), mbdae.Cvode(), mbdae.Odes()]
others: list[mbdae.Method] = [mbdae.SolveIvp(), mbdae.Assimulo(), mbdae.SolveDae(), mbdae.Radau13()]

first: mbdae.Solution = mbdae.solve(pendulum, (0, 10))
same: mbdae.Solution = mbdae.solve(pendulum, mbdae.Automatic(), (0.0, 10.0))
stiff: mbdae.Solution = mbdae.solve(pendulum, mbdae.RadauIIA(order=9), (0, 1), rtol=1e-10)
smooth: mbdae.Solution = mbdae.solve(pendulum, mbdae.DormandPrince(order=5), (0, 1), dense_output=True)
half: mbdae.Solution = mbdae.solve(pendulum, mbdae.HalfExplicit(), (0, 1), formulation="index2")
symplectic: mbdae.Solution = mbdae.solve(pendulum, mbdae.Rattle(h=1e-3, order=4), (0, 1))
linear: list[mbdae.Method] = [mbdae.Ida(linsolver="kkt"), mbdae.Cvode(linsolver="kkt")]
explicit: list[mbdae.Method] = [mbdae.DormandPrince(), mbdae.HalfExplicit(), mbdae.Adams(), mbdae.Rattle(h=1e-3), mbdae.Spark(h=1e-2)]
"""

STUDY = """
from pathlib import Path

import mbdae
from mbdae import studies

mechanism: mbdae.Mechanism = mbdae.load("four-bar.yaml")
series = [studies.Series("half-implicit", mbdae.HalfImplicit, (4e-3, 2e-3)),
          studies.Series("RATTLE of order 4", lambda h: mbdae.Rattle(h=h, order=4), (4e-3, 2e-3)),
          studies.Series("IDA, GGL", mbdae.Ida(), (1e-4, (1e-6, 1e-8)), "ggl")]
rows: list[studies.WorkPrecisionRow] = studies.work_precision(mechanism, series, (0, 2))
studies.plot_work_precision(rows, "four-bar").savefig("work-precision.png")
error: float | None = rows[0].error_q
run: mbdae.Solution = mbdae.solve(mechanism, (0, 2))
run.plot().savefig("motion.png")
run.plot("reactions", names=["A"]).savefig("reactions.png")
page: object = run.view("run.html")
film: object = run.animate("run.gif", fps=10)
orders = studies.fitted_orders(studies.order_study(mechanism, mbdae.HalfImplicit, (2e-3, 1e-3), (0, 1)))
"""

READ = """
import mbdae
from mbdae.typing import FullState, Matrix, Vector


def read(solution: mbdae.Solution) -> float:
    last: Vector = solution.q[-1]
    residuals: Matrix = solution.constraint_residuals
    steps: int | None = solution.statistics.steps
    if not solution.success or solution.status is not mbdae.Status.SUCCESS:
        raise RuntimeError(solution.message)
    if solution.sol is not None:
        between: FullState = solution.sol(0.5)
        print(between[0])
    for times in solution.t_events or []:
        print(times.max())
    positions, velocities = solution.body("rod")
    print(last, residuals, steps, positions[:, 0], velocities, solution.multipliers("pin").shape)
    return float(solution.energy[-1] - solution.energy[0])


problem: mbdae.problems.base.Problem = mbdae.problem("andrews", "index3", coordinates="classical")
mechanism: mbdae.Mechanism = mbdae.load("four-bar.yaml")
mbdae.save(mechanism, "four-bar.json")
"""

MISTAKES = """
import mbdae
from mbdae import library


def wrong(solution: mbdae.Solution) -> None:
    solution.lamda
    solution.statistics.steps + 1
    solution.body(3)
    library.mechanism(name=1.0)
    mbdae.problem("andrews", formulation=3)
    mbdae.save("four-bar", "four-bar.json")
    mbdae.Idaa()
"""
FOUND = {7: "attr-defined", 8: "operator", 9: "arg-type", 10: "arg-type", 11: "arg-type", 12: "arg-type", 13: "attr-defined"}


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """What `mypy --strict` says to a script, with the package as a wheel lays it out."""
    folder = tmp_path_factory.mktemp("typing")
    for package, name in ((mbdae, "mbdae"), (mbdae.adapters, "mbdae/adapters")):
        shutil.copytree(Path(package.__file__).parent, folder / "site" / name, ignore=shutil.ignore_patterns("__pycache__"))

    def run(code):
        (folder / "script.py").write_text(code)
        command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "--cache-dir=cache", "script.py"]
        environment = os.environ | {"MYPYPATH": str(folder / "site")}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600).stdout

    return run


@pytest.mark.thorough
@needs_mypy
def test_a_script_that_reads_results_is_typed(check):
    said = check(READ)
    assert said.startswith("Success"), said


@pytest.mark.thorough
@needs_mypy
def test_a_script_that_makes_a_mechanism_and_moves_it_is_typed(check):
    said = check(RUN)
    assert said.startswith("Success"), said


@pytest.mark.thorough
@needs_mypy
def test_a_script_that_measures_and_draws_is_typed(check):
    said = check(STUDY)
    assert said.startswith("Success"), said


@pytest.mark.thorough
@needs_mypy
def test_mistakes_are_found(check):
    found = [line.split(":") for line in check(MISTAKES).splitlines() if ": error: " in line]
    assert {int(line[1]): line[-1].rpartition("[")[2].rstrip("]") for line in found} == FOUND


def test_the_package_says_that_it_is_typed():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in data["mbdae"]
    assert (Path(mbdae.__file__).parent / "py.typed").exists()


def exempt():
    """Modules that mypy does not check in full, by the flag that is off."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    return [module for o in overrides for module in ([o["module"]] if isinstance(o["module"], str) else o["module"])]


def test_exempt_modules_exist():
    for module in exempt():
        if module.startswith("mbdae."):
            path = module.removesuffix(".*").replace(".", "/")
            path = path.replace("mbdae/adapters", "adapters")
            assert (ROOT / path).is_dir() if module.endswith(".*") else (ROOT / f"{path}.py").exists(), module


def test_modules_of_kernels_have_kernels():
    kernels = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"][0]["module"]
    for module in kernels:
        text = (ROOT / (module.replace(".", "/").replace("mbdae/adapters", "adapters") + ".py")).read_text()
        assert any(mark in text for mark in ("@compiled", "@generic", "njit(", "@njit", "@numba.njit")), module
