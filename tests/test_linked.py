"""Functions that only compiled code calls become parts of their callers, see `mbdae.compilation.linked`."""

import gc
import subprocess
import sys

import pytest
from numba import types

from mbdae.compilation.compiled import compiled
from mbdae.compilation.linked import LinkedLibrary, _without_collection

SCRIPT = '''
import numpy as np
from mbdae.compilation.compiled import compiled


@compiled
def told(x):
    print("entries", x.sum(), x[:2])
    if x[0] < 0.0:
        raise ValueError("negative", x[0])
    return 2.0 * x[0]


@compiled
def twice_told(x):
    return told(x) + told(x[::-1].copy())


print(twice_told(np.array([1.0, 3.0, 4.0])))
try:
    twice_told(np.array([-1.0, 1.0]))
except ValueError as error:
    print(error)
print(sum(twice_told.stats.cache_hits.values()), sum(told.inner.stats.cache_hits.values()))
'''


LOADED = '''
from numba import njit, types
from mbdae.compilation.compiled import compiled
from mbdae.compilation.linked import LoadedLibrary


@compiled
def third(x):
    return x / 3.0


alone, in_c = third.alone, third.for_c
alone.compile((types.float64,))
(library,) = [made.library for made in alone.overloads.values()]
loaded = isinstance(library, LoadedLibrary)
print(third(6.0), loaded, loaded and library._shared_module is None)


@njit
def ninth(x):
    return alone(alone(x))


print(ninth(18.0), loaded and library._shared_module is not None)
(made,) = third.overloads.values()
print(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))
in_c.compile(made.signature.args)
(made,) = in_c.overloads.values()
print(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name) > 0)
'''


@compiled
def _half(x):
    return 0.5 * x


@compiled
def _quarter(x):
    return _half(_half(x))


def test_machine_code_is_generated_in_the_caller_only():
    assert _quarter(8.0) == 2.0
    _half.inner.compile((types.float64,))  # which is not loaded where `_quarter` is kept on disk
    (entry,), (part,) = _quarter.overloads.values(), _half.inner.overloads.values()
    assert isinstance(part.library, LinkedLibrary) and not isinstance(entry.library, LinkedLibrary)
    assert _half(3.0) == 1.5  # called from Python it gets machine code of its own
    _half.alone.compile((types.float64,))
    (alone,) = _half.alone.overloads.values()
    assert alone.library.get_pointer_to_function(alone.fndesc.llvm_func_name)


@pytest.mark.thorough
def test_linked_functions_print_and_raise_fresh_and_from_disk(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    expected = ["entries 8.0 [1. 3.]", "entries 8.0 [4. 3.]", "10.0", "entries 0.0 [-1.  1.]", "('negative', -1.0)"]
    for hits in ("0 0", "1 0"):
        run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert run.stdout.splitlines() == [*expected, hits]


def test_intermediate_code_from_disk_waits_for_a_caller(tmp_path):
    """A wrapper that there is not has no address, from disk as in the process that compiles."""
    (tmp_path / "script.py").write_text(LOADED)
    for loaded in ("False", "True"):
        run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert run.stdout.splitlines() == [f"2.0 {loaded} {loaded}", f"2.0 {loaded}", "0", "True"]


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_paused(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError), _without_collection():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
