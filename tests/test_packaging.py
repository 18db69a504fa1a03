"""The package as a package: complete list of packages, imports in one direction, a light import, interpreter mode."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# each layer may import from itself and from those before it
LAYERS = ("compiled", "status", "model", "system", "trajectory", "jacobians", "problems", "method", "integrators", "adapters", "solution",
          "events", "solve", "", "library", "methods", "studies", "cli")


def packages_on_disk():
    found = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "mbdae").rglob("__init__.py")}
    return found | {"mbdae.adapters"}


def test_the_list_of_packages_is_complete():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["setuptools"]["packages"]) == packages_on_disk()


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
        assert layer(target) <= layer(parts), f"{'.'.join(parts)} imports {'.'.join(target)}"


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=True).stdout


def test_the_library_imports_neither_plots_nor_terminals():
    assert run("import mbdae, mbdae.library, sys; print([m for m in ('matplotlib', 'rich', 'sksundae') if m in sys.modules])") == "[]\n"


PENDULUM = """
import mbdae, numpy as np
from mbdae import library
s = mbdae.System(library.mechanism("chain", links=2))
x = mbdae.HalfImplicit(h=1e-3).integrate(s, mbdae.assemble(s), 5e-3)
p = mbdae.GGL(s)
y, yd = p.pack(mbdae.assemble(s))
y = y + 0.01 * np.cos(np.arange(p.n))
print(repr(np.concatenate([x.q[-1], x.lam[-1], p.residual(0.0, y, yd), p.jacobian(0.0, y, yd, 2.0).data]).tolist()))
"""


def test_interpreter_mode_gives_the_same_numbers():
    """With NUMBA_DISABLE_JIT=1 the kernels are plain Python, to be stepped through."""
    plain, fast = (ast.literal_eval(run(PENDULUM, NUMBA_DISABLE_JIT=flag)) for flag in ("1", "0"))
    assert len(plain) > 200
    assert plain == pytest.approx(fast, rel=1e-8, abs=1e-8)  # the multipliers are rounding errors of positions over h^2
