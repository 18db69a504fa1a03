"""The package as a package: complete list of packages, imports in one direction, a light import, examples, interpreter mode."""

import ast
import doctest
import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mbdae

from .helpers import T0, all_elements

ROOT = Path(__file__).parent.parent
# each layer may import from itself and from those before it
LAYERS = ("typing", "compilation", "interrupts", "room", "stopwatch", "spelling", "summary", "model", "io", "system", "symbolic", "results",
          "contacts", "jacobians", "charts", "problems", "driver", "integrators", "adapters", "solve", "", "library", "registry",
          "pictures", "studies", "pages", "cli", "__main__")


def packages_on_disk():
    found = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "mbdae").rglob("__init__.py")}
    return found | {"mbdae.adapters", *(f"mbdae.adapters.{p.parent.name}" for p in (ROOT / "adapters").glob("*/__init__.py"))}


def test_the_list_of_packages_is_complete():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["setuptools"]["packages"]) == packages_on_disk()


def test_every_folder_with_code_is_a_package():
    assert all((path.parent / "__init__.py").exists() for path, _ in modules())


def test_versions_agree():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == mbdae.__version__


def test_public_names_exist_once():
    assert all(hasattr(mbdae, name) for name in mbdae.__all__)
    assert len(set(mbdae.__all__)) == len(mbdae.__all__)


def modules():
    for folder, name in ((ROOT / "mbdae", "mbdae"), (ROOT / "adapters", "mbdae.adapters")):
        for path in sorted(folder.rglob("*.py")):
            parts = [name, *path.relative_to(folder).with_suffix("").parts]
            yield path, parts[:-1] if parts[-1] == "__init__" else parts


def imported(path, parts):
    """Modules of mbdae that a file imports, as lists of names."""
    package = parts if path.name == "__init__.py" else parts[:-1]
    package = ".".join(package).split(".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name.split(".") for a in node.names if a.name.split(".")[0] == "mbdae")
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            target = base + (node.module.split(".") if node.module else [])
            if target[:1] == ["mbdae"]:
                yield from ([*target, a.name] for a in node.names)


def layer(names):
    """Position of a module among the layers."""
    top = ".".join(names).split(".")[1:2]
    return LAYERS.index(top[0]) if top and top[0] in LAYERS else LAYERS.index("")


@pytest.mark.parametrize("path, parts", [pytest.param(*m, id="/".join(m[1])) for m in modules() if m[1] != ["mbdae"]])
def test_imports_run_one_way(path, parts):
    for target in imported(path, parts):
        if layer(parts) == LAYERS.index("adapters") and layer(target) == LAYERS.index(""):
            continue
        if parts == ["mbdae", "results", "shown"] and layer(target) == LAYERS.index("pictures"):
            continue  # by the methods of a solution that draw, when they are called
        assert layer(target) <= layer(parts), f"{'.'.join(parts)} imports {'.'.join(target)}"


def test_the_directory_has_the_public_names():
    """And no internal module, before and after these have been imported."""
    import mbdae.cli.main
    public = {*mbdae.__all__, "__version__", "adapters", "extend", "jacobians", "library", "studies", "typing"}
    assert set(dir(mbdae)) == public
    assert all(hasattr(mbdae, name) for name in public)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'mbdae' has no attribute 'sovle'"):
        _ = mbdae.sovle


NAMES = """
import sys, mbdae
print([m for m in ("numpy", "numba", "scipy") if m in sys.modules])
import mbdae.solve, mbdae.assemble
print(mbdae.solve is sys.modules["mbdae.solve"].solve, callable(mbdae.assemble))
print([name for name in mbdae.__all__ if getattr(mbdae, name) is None], mbdae.Ida.__name__, mbdae.library.names()[0])
"""


def test_names_are_imported_when_they_are_used():
    """Modules with the name of a function do not take its place."""
    assert run(NAMES).splitlines() == ["[]", "True True", "[] Ida single-pendulum"]


def test_the_list_of_names_agrees_with_the_imports_for_type_checkers():
    tree = ast.parse((ROOT / "mbdae" / "__init__.py").read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING")
    imported = {a.name: "." * n.level + n.module for n in block.body for a in n.names}
    assert imported == mbdae._HOME
    assert set(mbdae.__all__) == set(imported)


def test_help_is_quick():
    """The list of commands imports none of them."""
    code = "import sys; from mbdae.cli.main import main; main(['--help']); print({'numpy', 'numba', 'rich'} & set(sys.modules))"
    assert run(code, COLUMNS="60").splitlines()[-1] == "set()"


def test_help_of_a_command_is_quick():
    """Without numerical code, as are refusals of options."""
    from mbdae.cli.parsers import PARSERS
    code = f"""import sys; from mbdae.cli.main import main
for name in {sorted(PARSERS)}:
    main([name, '--help'])
main(['solve', 'andrews', '--rtol', '-1'])
print({{'numpy', 'numba', 'rich'}} & set(sys.modules))"""
    assert run(code, COLUMNS="60").splitlines()[-1] == "set()"


def test_help_is_that_of_the_commands():
    from mbdae.cli.main import COMMANDS, parser
    whole, names = parser(), parser([])
    assert whole.format_help() == names.format_help()
    assert all(name in whole.format_help() for name in COMMANDS)


def test_a_source_distribution_has_everything():
    """What git knows stands in MANIFEST.in, or is part of the package by itself."""
    grafted = {line.split()[1] for line in (ROOT / "MANIFEST.in").read_text().splitlines() if line.startswith("graft")}
    named = {word for line in (ROOT / "MANIFEST.in").read_text().splitlines() if line.startswith("include") for word in line.split()[1:]}
    known = {"pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "setup.cfg"}
    here = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")} - {"build", "dist", "results", "site"}
    assert here - {p for p in here if p.endswith((".egg-info", ".whl", "__pycache__"))} <= grafted | named | known


def run(code, **environment):
    """What code prints, in a folder without the sources: there `import mbdae` would find them, without the adapters."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, cwd=ROOT / "tests", check=True).stdout


@pytest.mark.thorough
def test_the_library_imports_neither_plots_nor_terminals():
    others = ("matplotlib", "rich", "sksundae", "pandas", "xarray", "plotly")
    assert run(f"import mbdae, mbdae.library, sys; print([m for m in {others} if m in sys.modules])") == "[]\n"


@pytest.mark.thorough
def test_no_module_loads_a_foreign_solver_or_a_terminal_before_it_is_needed():
    names = [".".join(parts) for _, parts in modules() if parts[1:2] != ["cli"]]
    loaded = run(f"import importlib, sys; [importlib.import_module(m) for m in {names}]; print(*sys.modules)").split()
    assert set(names) <= set(loaded)
    assert not {"matplotlib", "rich", "sksundae", "assimulo", "scikits.odes", "pandas", "xarray", "plotly"} & set(loaded)


def test_only_the_command_line_prints():
    for path, parts in modules():
        if parts[1:2] != ["cli"]:
            calls = (n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
            assert not any(getattr(f, "id", "") == "print" for f in calls), path


@pytest.mark.thorough
def test_examples_in_docstrings_are_right():
    attempted = 0
    for _, parts in modules():
        if parts[1:2] not in (["cli"], ["studies"]):  # these draw and print
            result = doctest.testmod(importlib.import_module(".".join(parts)))
            assert result.failed == 0, parts
            attempted += result.attempted
    assert attempted >= 4


PENDULUM = """
import mbdae, numpy as np
from mbdae import library
s = mbdae.System(library.mechanism("chain", links=2))
x = mbdae.HalfImplicit(h=1e-3).integrate(mbdae.Index3(s), mbdae.assemble(s), 5e-3, rtol=1e-6, atol=1e-8)
p = mbdae.GGL(s)
y, yd = p.pack(mbdae.assemble(s))
y = y + 0.01 * np.cos(np.arange(p.n))
print(repr(np.concatenate([x.q[-1], x.lam[-1], p.residual(0.0, y, yd), p.jacobian(0.0, y, yd, 2.0).data]).tolist()))
"""


@pytest.mark.thorough
def test_interpreter_mode_gives_the_same_numbers():
    """With NUMBA_DISABLE_JIT=1 the kernels are plain Python, to be stepped through."""
    plain, fast = (ast.literal_eval(run(PENDULUM, NUMBA_DISABLE_JIT=flag)) for flag in ("1", "0"))
    assert len(plain) > 200
    assert plain == pytest.approx(fast, rel=1e-8, abs=1e-8)  # the multipliers are rounding errors of positions over h^2


ELEMENTS = """
import sys, importlib.util
spec = importlib.util.spec_from_file_location("tests", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
sys.modules["tests"] = importlib.util.module_from_spec(spec)
from tests.test_packaging import numbers
print(repr(numbers()))
"""


def numbers():
    """Residual and Jacobian of a system with every element and user functions in plain Python."""
    s = mbdae.System(all_elements(3))
    p, x = mbdae.GGL(s), np.cos(np.arange(300.0))
    y, yd = x[:p.n].copy(), x[p.n:2 * p.n].copy()
    y[p.blocks["q"]] = s.initial_guess()[0]
    return np.concatenate([p.residual(T0, y, yd), p.jacobian_values(T0, y, yd, 3.0)]).tolist()


@pytest.mark.thorough
def test_interpreter_mode_knows_every_element():
    """Also without a warning."""
    command = [sys.executable, "-W", "error", "-c", ELEMENTS, str(ROOT / "tests")]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    output = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    assert ast.literal_eval(output) == pytest.approx(numbers(), rel=1e-9, abs=1e-9)
