"""Compiled code on disk: two processes with an empty cache, and no folder that can be written."""

import os
import subprocess
import sys

import pytest

SOLVED = ("import mbdae; s = mbdae.library.system('particle-pendulum'); r = mbdae.solve(s, mbdae.HalfImplicit(h=1e-3), (0.0, 0.1)); "
          "print(r.status.name, r.q[-1].tobytes().hex(), r.v[-1].tobytes().hex())")
COMPILED = ("from numba import types; from mbdae.system import multibody; x = types.float64[::1]; "
            "kinds = (multibody.phi, multibody.phi.inner); [f.compile((types.float64, x, types.uint8[::1], x, x)) for f in kinds]; "
            "print(sum(sum(f.stats.cache_hits.values()) for f in kinds))")
NOWHERE = ("import numba.core.caching as c, numpy as np; impl = getattr(c, 'CacheImpl', None) or c._CacheImpl; impl._locator_classes = []; "
           "from mbdae.system.vectors import largest; from mbdae.system import sparse; "
           "print(largest(np.array([1.0, -3.0, 2.0])), largest._cache.cache_path, end='')")


def started(code, **environment):
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def together(code, folder):
    """What two processes tell that start at the same time."""
    processes = [started(code, NUMBA_CACHE_DIR=str(folder)) for _ in range(2)]
    found = [p.communicate() for p in processes]
    assert [p.returncode for p in processes] == [0, 0], found
    return [out for out, _ in found]


@pytest.mark.thorough
def test_two_processes_fill_an_empty_cache(tmp_path):
    assert all(0 <= int(hits) <= 2 for hits in together(COMPILED, tmp_path))
    kept = {f.relative_to(tmp_path) for f in tmp_path.rglob("*.nb*")}
    assert any(f.suffix == ".nbi" for f in kept)
    assert [int(hits) for hits in together(COMPILED, tmp_path)] == [2, 2]
    assert {f.relative_to(tmp_path) for f in tmp_path.rglob("*.nb*")} == kept  # nothing was compiled anew


@pytest.mark.slow
def test_two_processes_solve_with_an_empty_cache(tmp_path):
    first, second = together(SOLVED, tmp_path)
    assert first == second and first.startswith("SUCCESS")


@pytest.mark.thorough
def test_where_nothing_can_be_written_code_is_kept_for_the_process():
    """With a read-only installation and no home numba would refuse to compile, and `import mbdae` would fail."""
    process = started(NOWHERE)
    out, err = process.communicate()
    assert process.returncode == 0, err
    largest, folder = out.split(" ", 1)
    assert float(largest) == 3.0 and "mbdae-" in folder and not os.path.exists(folder)
    assert err.count("cannot be kept") == 1 and "NUMBA_CACHE_DIR" in err


@pytest.mark.thorough
def test_files_of_others_get_the_error_of_numba(tmp_path):
    (tmp_path / "other.py").write_text("import numba\n\n@numba.njit(cache=True)\ndef twice(x):\n    return 2.0 * x\n")
    code = NOWHERE.split("from mbdae", maxsplit=1)[0] + f"import sys, mbdae; sys.path.insert(0, {str(tmp_path)!r}); import other"
    process = started(code)
    assert "no locator available" in process.communicate()[1] and process.returncode == 1
