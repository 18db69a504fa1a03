"""Foreign solvers: what `make setup-all` promises is there and runs, or else skips; with `MBDAE_REQUIRE_SOLVERS=all`, as in `make test`,
or `=wheels` for those that need no compiler, or else fails. And the scripts that install them."""

import hashlib
import importlib
import os
import shutil
import sys
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from mbdae.adapters import pyradau13 as recipe

ROOT = Path(__file__).parent.parent
SOLVERS = ROOT / "solvers"
REQUIRED = os.environ.get("MBDAE_REQUIRE_SOLVERS")

# modules of every promised package whose import proves that its compiled parts are there
WHEELS = {
    "scikit-sundae": ("sksundae.ida", "sksundae.cvode"),
    "solve-dae": ("solve_dae.integrate",),
    "assimulo-testing": ("assimulo.solvers.sundials", "assimulo.solvers.kinsol", *(f"assimulo.lib.{name}" for name in
                         ("dasp3dp", "dopri5", "glimda", "odassl", "odepack", "radau5", "rodas"))),
}
BUILT = {
    "scikits-odes": ("scikits.odes",),
    "scikits-odes-core": ("scikits_odes_core",),
    "scikits-odes-sundials": ("scikits_odes_sundials.ida", "scikits_odes_sundials.cvode"),
    "scikits-odes-daepack": ("scikits_odes_daepack.ddaspkint", "scikits_odes_daepack.lsodiint"),
    "pyradau13": ("pyradau13",),
}
PROMISED = WHEELS | BUILT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def setup_all(monkeypatch):
    monkeypatch.syspath_prepend(SOLVERS)
    return importlib.import_module("setup_all")


@pytest.fixture
def need(setup_all):
    """Function that skips, or fails if it is required, where a package cannot be imported."""
    def check(name):
        if "scikits" in name and setup_all.odes_release() is None:
            pytest.skip("scikits.odes cannot be built with this Python and this SUNDIALS")
        required = REQUIRED == "all" or (REQUIRED == "wheels" and name in WHEELS)
        if find_spec(PROMISED[name][0].partition(".")[0]) is None:
            pytest.fail(f"{name} is missing: make setup-all") if required else pytest.skip(f"{name} is missing")
    return check


def load(module):
    """Import with the warnings of foreign packages ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)


@pytest.mark.parametrize("name", PROMISED)
def test_promised_package_is_installed(need, name):
    need(name)
    for module in PROMISED[name]:
        load(module)


def van_der_pol(t, y):
    return np.array([y[1], 10 * (1 - y[0] ** 2) * y[1] - 10 * y[0]])


@pytest.mark.parametrize("name", ["CVode", "Dopri5", "LSODAR", "Radau5ODE", "RodasODE", "RungeKutta34"])
def test_assimulo_integrates_an_ode(need, name):
    need("assimulo-testing")
    solver = getattr(load("assimulo.solvers"), name)(load("assimulo.problem").Explicit_Problem(van_der_pol, [2.0, 0.0], 0.0))
    solver.verbosity, solver.rtol, solver.atol = 50, 1e-7, 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, y = solver.simulate(2.0)
    assert y[-1] == pytest.approx([-1.58184082, 0.97844892], abs=1e-5)


GRAVITY = 9.81
PENDULUM = [0.793566195, -0.608483930]  # position of a pendulum of length 1 two seconds after it fell from the horizontal


def pendulum(y):
    """Right-hand sides of the equations of motion with constraint on position, and the constraints on velocity and acceleration."""
    x, z, u, w, lam = y[:5]
    equations = [u, w, -2 * x * lam, -GRAVITY - 2 * z * lam, x * x + z * z - 1]
    return equations, 2 * (x * u + z * w), 2 * (u * u + w * w - GRAVITY * z) - 4 * lam * (x * x + z * z)


def residual_index_1(t, y, yd):
    (*rates, _), _, acceleration = pendulum(y)
    return np.append(yd[:4] - rates, acceleration)


def residual_overdetermined(t, y, yd):
    (*_, position), velocity, _ = pendulum(y)
    return np.append(residual_index_1(t, y, yd), [velocity, position])


@pytest.mark.parametrize("name, form", [("IDA", "index_1"), ("Radau5DAE", "index_1"), ("GLIMDA", "index_1"), ("ODASSL", "overdetermined")])
def test_assimulo_integrates_a_dae(need, name, form):
    need("assimulo-testing")
    problems = load("assimulo.problem")
    kind = problems.Overdetermined_Problem if form == "overdetermined" else problems.Implicit_Problem
    problem = kind(globals()[f"residual_{form}"], np.array([1.0, 0, 0, 0, 0]), np.array([0, 0, 0, -GRAVITY, 0]), 0.0)
    problem.algvar = [1, 1, 1, 1, 0]
    solver = getattr(load("assimulo.solvers"), name)(problem)
    solver.verbosity, solver.rtol, solver.atol = 40, 1e-7, 1e-7  # GLIMDA is loud on 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, y, _ = solver.simulate(2.0)
    assert y[-1, :2] == pytest.approx(PENDULUM, abs=1e-4)


def test_assimulo_solves_equations(need):
    need("assimulo-testing")
    problem = load("assimulo.problem").Algebraic_Problem(lambda y: np.array([y @ y - 1, y[0] - y[1]]), [1.0, 0.5])
    solver = load("assimulo.solvers").KINSOL(problem)
    solver.verbosity = 50
    assert solver.solve() == pytest.approx([0.5 ** 0.5] * 2, abs=1e-5)


@pytest.mark.parametrize("order", [5, 9, 13])
def test_pyradau13_integrates_index_3(need, order):
    need("pyradau13")
    index = dict(dae_index_1_count=2, dae_index_2_count=2, dae_index_3_count=1)
    y = load("pyradau13").radau13(lambda t, y: np.array(pendulum(y)[0]), [1.0, 0, 0, 0, 0], 2.0, mass_matrix=np.diag([1.0, 1, 1, 1, 0]),
                                  initial_order=order, min_order=order, max_order=order, reltol=1e-8, abstol=1e-8, **index)
    assert y[:2] == pytest.approx(PENDULUM, abs=1e-5)


def requirements(extra):
    """What an extra brings, with the extras that it takes in."""
    own = [Requirement(line) for line in PROJECT["optional-dependencies"][extra]]
    return [x for r in own for x in ([x for e in r.extras for x in requirements(e)] if r.name == "mbdae" else [r])]


def test_extras_and_scripts_agree(setup_all):
    everything = {r.name for r in [*requirements("all"), *map(Requirement, PROJECT["dependencies"])]}
    assert set(WHEELS) < everything
    assert not everything & set(BUILT)
    for extra, sundials in (("odes", 6), ("odes7", 7)):
        release = setup_all.ODES[sundials]
        assert {r.name: str(r.specifier) for r in requirements(extra)} == {
            name: "==3.0.0" if "daepack" in name else f"=={release}" for name in BUILT if "scikits" in name}


def test_only_packages_that_exist_as_source_are_pinned():
    """What has wheels comes in the newest version that fits."""
    found = [Requirement(line) for line in PROJECT["dependencies"]] + requirements("all") + requirements("dev")
    assert all(s.operator == ">=" for r in found for s in r.specifier)


@pytest.mark.parametrize(("python", "sundials", "release"), [((3, 11), 6, "3.0.0"), ((3, 12), 6, "3.0.0"), ((3, 13), 6, None),
                                                             ((3, 11), 7, "3.1.1"), ((3, 13), 7, "3.1.1"), ((3, 11), None, None)])
def test_scikits_odes_is_chosen_by_python_and_sundials(setup_all, monkeypatch, capsys, python, sundials, release):
    monkeypatch.setattr(sys, "version_info", (*python, 0))
    monkeypatch.setattr(setup_all, "sundials", lambda: sundials)
    built = setup_all.sources()
    assert built.get("scikits_odes") == (release and f"scikits_odes=={release}")
    assert ("Left out: scikits.odes" in capsys.readouterr().out) == (release is None)
    assert Path(built["pyradau13"], "backend.py").exists()


def test_the_version_of_sundials_is_read(setup_all, tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIALS_INST", str(tmp_path))
    assert setup_all.sundials() is None
    header = tmp_path / "include" / "sundials" / "sundials_config.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define SUNDIALS_VERSION_MAJOR 7\n")
    assert setup_all.sundials() == 7


def test_bad_arguments_are_refused(setup_all):
    with pytest.raises(SystemExit, match=r"usage: setup_all.py \[all\|wheels\]"):
        setup_all.main(["none"])


def test_wheels_alone_need_no_compiler(setup_all, tmp_path, monkeypatch):
    called = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(setup_all, "run", lambda command, log, **_: called.append(command))
    monkeypatch.setattr(setup_all, "SYSTEM", {"gcc": lambda: None})
    setup_all.main(["wheels"])
    assert [command[-1] for command in called] == [f"{ROOT}[all,dev]"]


@pytest.mark.parametrize("file, changes", [("solvers/setup_all.py", True), ("adapters/pyradau13/backend.py", True),
                                           ("adapters/pyradau13/tree/meson.build", True), ("solvers/README.md", False)])
def test_cache_key_changes_with_the_recipes(setup_all, tmp_path, file, changes):
    for folder in ("solvers", "adapters/pyradau13"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    key = setup_all.cache_key(tmp_path)
    assert key == setup_all.cache_key(ROOT)
    with open(tmp_path / file, "a") as stream:
        stream.write("\n")
    assert (setup_all.cache_key(tmp_path) != key) == changes


def test_cache_key_changes_with_python_and_system(setup_all, monkeypatch):
    key = setup_all.cache_key(ROOT)
    monkeypatch.setattr(setup_all, "system", lambda: "another")
    assert setup_all.cache_key(ROOT) != key


def test_cache_is_where_the_environment_says(setup_all, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = setup_all.cache_folder()
    assert folder.parent == tmp_path / "mbdae" / "wheels"
    assert setup_all.wheel(folder, "scikits_odes") is None
    for name in ("scikits_odes_core-3.0.0-py3-none-any.whl", "scikits_odes-3.0.0-py3-none-any.whl"):
        (folder / name).touch()
    assert setup_all.wheel(folder, "scikits_odes").name == "scikits_odes-3.0.0-py3-none-any.whl"


def test_without_root_one_line_says_what_to_install(setup_all, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup_all, "run", lambda *_, **__: pytest.fail("installs without being root"))
    monkeypatch.setattr(setup_all, "SYSTEM", {"gfortran": lambda: None, "pkg-config": lambda: "/usr/bin/pkg-config"})
    with pytest.raises(SystemExit) as end:
        setup_all.provide_system_packages(tmp_path)
    assert str(end.value) == ("Missing on this system: gfortran. On Debian: sudo apt-get install -y --no-install-recommends gfortran. "
                              "Without them: make setup-all SOLVERS=wheels")


def test_nothing_is_installed_where_nothing_is_missing(setup_all, tmp_path, monkeypatch):
    monkeypatch.setattr(setup_all, "run", lambda *_, **__: pytest.fail("installs what is there"))
    monkeypatch.setattr(setup_all, "SYSTEM", {"gfortran": lambda: "/usr/bin/gfortran"})
    setup_all.provide_system_packages(tmp_path)


def test_a_failure_shows_the_reason_and_the_log(setup_all, tmp_path):
    log = tmp_path / "build.log"
    code = "print('gfortran is broken'); print('error: subprocess-exited-with-error'); print('of pip itself'); raise SystemExit(3)"
    with pytest.raises(SystemExit) as end:
        setup_all.run([sys.executable, "-c", code], log)
    assert str(end.value) == f"gfortran is broken\nThis failed; the whole output is in {log}"


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.syspath_prepend(recipe.FOLDER)
    yield importlib.import_module("backend")
    sys.modules.pop("backend")


def test_the_recipe_comes_with_the_package():
    assert {"backend.py", "pyproject.toml", "tree"} <= {path.name for path in recipe.FOLDER.iterdir()}
    assert {path.name for path in (recipe.FOLDER / "tree").iterdir()} == {"meson.build", "pyproject.toml"}
    assert tomllib.loads((recipe.FOLDER / "pyproject.toml").read_text())["build-system"]["build-backend"] == "backend"


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A folder in place of the registry, with one release whose setup.py does not run; sha256 of its archive."""
    tree = tmp_path / "broken-1.0"
    tree.mkdir()
    (tree / "setup.py").write_text("raise SystemExit('broken')")
    archive = shutil.make_archive(tree, "gztar", tmp_path, tree.name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return hashlib.sha256(Path(archive).read_bytes()).hexdigest()


@pytest.mark.thorough
def test_archives_are_unpacked_though_their_setup_is_broken(backend, registry, tmp_path):
    tree = backend.unpack("broken", "1.0", registry, tmp_path / "new")
    assert (tree / "setup.py").read_text() == "raise SystemExit('broken')"


@pytest.mark.thorough
@pytest.mark.parametrize("version, sha256, reason", [("1.0", "0" * 64, "DO NOT MATCH THE HASHES"), ("2.0", "0" * 64, "No matching")])
def test_other_archives_than_the_known_are_refused(backend, registry, tmp_path, version, sha256, reason):
    with pytest.raises(SystemExit, match=f"(?s)broken {version} could not be fetched:.*{reason}"):
        backend.unpack("broken", version, sha256, tmp_path / "new")


def test_a_repair_that_does_not_fit_is_refused(backend, tmp_path):
    path = tmp_path / "table.py"
    path.write_bytes(b"rows = [1]  # \xe9\n")
    backend.replace(path, ("[1]", "[1, 0]"))
    assert path.read_bytes() == b"rows = [1, 0]  # \xe9\n"
    with pytest.raises(SystemExit, match=r"table.py does not contain what the recipe replaces: '\[2\]'"):
        backend.replace(path, ("[2]", "[3]"))
