"""The stamp of compiled code: it follows a function to all that it is made of, and no further."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

import mbdae
from mbdae.compilation.stamp import HERE, sources, stamp


def names(path):
    return {str(f.relative_to(HERE)) for f in sources(HERE / path)}


def test_a_kernel_is_made_of_what_it_calls():
    found = names("problems/ggl.py")
    assert {"problems/ggl.py", "problems/pieces.py", "jacobians/complex_step.py", "system/kernels.py", "system/sparse.py",
            "system/layout.py", "system/elements/dp1.py", "system/loads/tsda.py"} <= found


def test_what_is_not_compiled_does_not_count():
    assert not names("problems/ggl.py") & {"problems/base.py", "jacobians/grouping.py", "model/joints.py", "system/system.py"}
    own = {f"compilation/{name}.py" for name in ("compiled", "dispatcher", "linked", "optimized", "shipped", "stamp")}
    assert names("jacobians/probe.py") <= {"jacobians/probe.py"} | own


def test_modules_outside_of_the_package_are_left_out():
    assert all(f.is_relative_to(HERE) for f in sources(HERE / "integrators" / "half_implicit.py"))


def compiled_names(path):
    """Names of the functions that a file compiles."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and {getattr(d, "id", None) for d in node.decorator_list} & {"compiled", "generic"}:
            found.add(node.name)
    return found


@pytest.mark.parametrize("path", [p for p in sorted(HERE.rglob("*.py")) if compiled_names(p)], ids=lambda p: p.name)
def test_every_compiled_function_that_is_imported_is_followed(path):
    """An independent look at the imports, by the syntax tree: whatever compiled function a file imports by name is among its sources."""
    found = sources(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = path.parents[node.level - 1].joinpath(*(node.module or "").split(".")).with_suffix(".py")
            if target.exists() and compiled_names(target) & {a.name for a in node.names}:
                assert target in found


def test_a_change_reaches_the_callers_and_no_others(tmp_path):
    """In a copy of the package: the stamp of a caller changes with the callee, that of a stranger does not."""
    shutil.copytree(HERE, tmp_path / "mbdae", ignore=shutil.ignore_patterns("__pycache__", "adapters"))
    code = ("from mbdae.compilation.stamp import stamp, HERE; "
            "print(stamp(HERE / 'problems' / 'ggl.py')[0], stamp(HERE / 'system' / 'sparse.py')[0])")

    def stamps():
        return subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); sys.modules['mbdae'] = type(sys)('mbdae'); "
                               f"sys.modules['mbdae'].__path__ = ['mbdae']; {code}"], cwd=tmp_path, capture_output=True, text=True,
                              check=True).stdout.split()

    before = stamps()
    with open(tmp_path / "mbdae" / "system" / "elements" / "dp1.py", "a") as file:
        file.write("\n# changed\n")
    after = stamps()
    assert before[0] != after[0] and before[1] == after[1]


def test_the_stamp_is_in_the_name_of_the_cache():
    kernel = mbdae.GGL(mbdae.library.system("double-pendulum")).kernel
    assert stamp(kernel.py_func.__code__.co_filename)[0][:12] in kernel._cache._cache_file._index_name


def test_no_folder_is_looked_for_before_a_function_is_called():
    """Most compiled functions of a module are never called from Python."""
    code = ("import mbdae.studies; from mbdae.system import multibody, vectors; import numpy as np; "
            "opened = lambda f: '_impl' in vars(f._cache); before = opened(multibody.phi), opened(vectors.largest); "
            "vectors.largest(np.ones(1)); print(before, opened(multibody.phi), opened(vectors.largest))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(False, False) False True"


@pytest.mark.thorough
def test_code_that_another_process_has_stored_can_be_loaded(tmp_path):
    """Fused kernels, which have no file of their own; for calls from Python and for those from compiled code."""
    code = ("from numba import types; from mbdae.system import multibody; x = types.float64[::1]; "
            "kinds = (multibody.phi, multibody.phi.inner); [f.compile((types.float64, x, types.uint8[::1], x, x)) for f in kinds]; "
            "print(sum(sum(f.stats.cache_hits.values()) for f in kinds))")

    def hits():
        return int(subprocess.run([sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
                                  capture_output=True, text=True, check=True).stdout)

    assert hits() == 0
    assert hits() == 2
