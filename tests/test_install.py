"""Foreign solvers: what `make setup-all` promises is there and runs, or else skips; with `MBDAE_REQUIRE_SOLVERS=1`, as in `make test`, or
else fails. And the scripts that install them."""

import hashlib
import importlib
import os
import shutil
import sys
import tomllib
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
SOLVERS = ROOT / "solvers"
REQUIRED = os.environ.get("MBDAE_REQUIRE_SOLVERS") == "1"

# modules of every promised package whose import proves that its compiled parts are there; the versions stand in solvers/requirements.txt
PROMISED = {
    "scikit-sundae": ("sksundae.ida", "sksundae.cvode"),
    "solve-dae": ("solve_dae.integrate",),
    "scikits-odes": ("scikits.odes",),
    "scikits-odes-core": ("scikits_odes_core",),
    "scikits-odes-sundials": ("scikits_odes_sundials.ida", "scikits_odes_sundials.cvode"),
    "scikits-odes-daepack": ("scikits_odes_daepack.ddaspkint", "scikits_odes_daepack.lsodiint"),
    "Assimulo": ("assimulo.solvers.sundials", "assimulo.solvers.kinsol", *(f"assimulo.lib.{name}" for name in
                 ("dasp3dp", "dopri5", "glimda", "odassl", "odepack", "radau5", "rodas"))),
    "pyradau13": ("pyradau13",),
}


@pytest.fixture
def setup_all(monkeypatch):
    monkeypatch.syspath_prepend(SOLVERS)
    return importlib.import_module("setup_all")


@pytest.fixture
def need(setup_all):
    """Function that skips, or fails if the solvers are required, where a package does not have the promised version."""
    def check(name):
        if name not in setup_all.pins():
            pytest.skip(f"{name} needs numpy.distutils to build, which Python 3.11 was the last to have")
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "none"
        if found != setup_all.pins()[name]:
            message = f"{name} {setup_all.pins()[name]} is needed, {found} is installed: make setup-all"
            pytest.fail(message) if REQUIRED else pytest.skip(message)
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
    need("Assimulo")
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
    need("Assimulo")
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
    need("Assimulo")
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


def test_list_pins_and_extras_agree(setup_all):
    text = setup_all.PINS.read_text().splitlines()
    pinned = {r.name: str(r.specifier) for r in map(Requirement, (line for line in text if line and line[0] != "#"))}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {r.name for r in map(Requirement, extras["dae"] + extras["odes"])} == {"solve-dae", *(n for n in pinned if "scikits" in n)}
    assert all(pinned[r.name] == str(r.specifier) for r in map(Requirement, extras["dae"] + extras["odes"]))
    assert set(PROMISED) == set(pinned) - {"numpy", "scipy", "numba"}
    assert set(setup_all.SOURCE_ONLY) < set(PROMISED)


def test_pins_depend_on_python(setup_all, tmp_path, monkeypatch):
    file = tmp_path / "pins.txt"
    file.write_text('# a comment\nnumpy==2.2.6\nold-one==3.0 ; python_version < "3.12"\n')
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    assert setup_all.pins(file) == {"numpy": "2.2.6", "old-one": "3.0"}
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    assert setup_all.pins(file) == {"numpy": "2.2.6"}


def test_what_python_is_too_new_for_is_said_in_one_line(setup_all, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    setup_all.say_what_is_left_out()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    setup_all.say_what_is_left_out()
    line = "Left out: Assimulo and pyradau13 need numpy.distutils to build, which Python 3.11 was the last to have.\n"
    assert capsys.readouterr().out == line


@pytest.mark.parametrize("file, changes", [("recipe.py", True), ("requirements.txt", True), ("assimulo/backend.py", True),
                                           ("assimulo/sundials6.h", True), ("pyradau13/pyproject.toml", True), ("README.md", False)])
def test_cache_key_changes_with_the_recipes(setup_all, tmp_path, file, changes):
    folder = shutil.copytree(SOLVERS, tmp_path / "solvers")
    key = setup_all.cache_key(folder)
    assert key == setup_all.cache_key(SOLVERS)
    with open(folder / file, "a") as stream:
        stream.write("\n")
    assert (setup_all.cache_key(folder) != key) == changes


def test_cache_key_changes_with_python_and_system(setup_all, monkeypatch):
    key = setup_all.cache_key(SOLVERS)
    monkeypatch.setattr(setup_all, "system", lambda: "another")
    assert setup_all.cache_key(SOLVERS) != key


def test_cache_is_where_the_environment_says(setup_all, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = setup_all.cache_folder()
    assert folder.parent == tmp_path / "mbdae" / "wheels"
    assert setup_all.wheel(folder, "scikits-odes") is None
    for name in ("scikits_odes_core-3.0.0-py3-none-any.whl", "scikits_odes-3.0.0-py3-none-any.whl"):
        (folder / name).touch()
    assert setup_all.wheel(folder, "scikits-odes").name == "scikits_odes-3.0.0-py3-none-any.whl"


def test_without_root_one_line_says_what_to_install(setup_all, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup_all, "run", lambda *_, **__: pytest.fail("installs without being root"))
    monkeypatch.setattr(setup_all.recipe, "SYSTEM", {"gfortran": lambda: None, "pkg-config": lambda: "/usr/bin/pkg-config"})
    with pytest.raises(SystemExit) as end:
        setup_all.provide_system_packages(tmp_path)
    assert str(end.value) == "Missing on this system: gfortran. Install with: sudo apt-get install -y --no-install-recommends gfortran"


def test_nothing_is_installed_where_nothing_is_missing(setup_all, tmp_path, monkeypatch):
    monkeypatch.setattr(setup_all, "run", lambda *_, **__: pytest.fail("installs what is there"))
    monkeypatch.setattr(setup_all.recipe, "SYSTEM", {"gfortran": lambda: "/usr/bin/gfortran"})
    setup_all.provide_system_packages(tmp_path)


def test_a_failure_shows_the_reason_and_the_log(setup_all, tmp_path):
    log = tmp_path / "build.log"
    code = "print('gfortran is broken'); print('error: subprocess-exited-with-error'); print('of pip itself'); raise SystemExit(3)"
    with pytest.raises(SystemExit) as end:
        setup_all.run([sys.executable, "-c", code], log)
    assert str(end.value) == f"gfortran is broken\nThis failed; the whole output is in {log}"


def backend():
    spec = spec_from_file_location("assimulo_backend", SOLVERS / "assimulo" / "backend.py")
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


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


def test_archives_are_unpacked_though_their_setup_is_broken(setup_all, registry, tmp_path):
    tree = setup_all.recipe.unpack("broken", "1.0", registry, tmp_path / "new")
    assert (tree / "setup.py").read_text() == "raise SystemExit('broken')"


@pytest.mark.parametrize("version, sha256, reason", [("1.0", "0" * 64, "DO NOT MATCH THE HASHES"), ("2.0", "0" * 64, "No matching")])
def test_other_archives_than_the_known_are_refused(setup_all, registry, tmp_path, version, sha256, reason):
    with pytest.raises(SystemExit, match=f"(?s)broken {version} could not be fetched:.*{reason}"):
        setup_all.recipe.unpack("broken", version, sha256, tmp_path / "new")


def test_a_repair_that_does_not_fit_is_refused(setup_all, tmp_path):
    path = tmp_path / "table.py"
    path.write_bytes(b"rows = [1]  # \xe9\n")
    setup_all.recipe.replace(path, ("[1]", "[1, 0]"))
    assert path.read_bytes() == b"rows = [1, 0]  # \xe9\n"
    with pytest.raises(SystemExit, match=r"table.py does not contain what the recipe replaces: '\[2\]'"):
        setup_all.recipe.replace(path, ("[2]", "[3]"))


def test_numpy_names_are_renamed(setup_all, tmp_path):
    path = tmp_path / "ode.pyx"
    path.write_text("N.array(x, dtype=N.float); np.zeros(3, np.int); N.float64(1); cdef N.float_t y; N.bool")
    backend().rename_numpy_types(path)
    assert path.read_text() == "N.array(x, dtype=float); np.zeros(3, int); N.float64(1); cdef N.float_t y; bool"


def test_only_missing_interfaces_are_restored(setup_all, tmp_path):
    for release, names in (("2.9", ("a.pyf", "b.pyf", "b.f")), ("3.0", ("b.pyf",))):
        (tmp_path / release / "assimulo").mkdir(parents=True)
        for name in names:
            (tmp_path / release / "assimulo" / name).write_text(release)
    backend().restore_interfaces(tmp_path / "3.0", tmp_path / "2.9")
    assert {p.name: p.read_text() for p in (tmp_path / "3.0" / "assimulo").iterdir()} == {"a.pyf": "2.9", "b.pyf": "3.0"}
