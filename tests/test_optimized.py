"""Code of functions together with all that they call, without counts of references where there are none, see `compilation.optimized`."""

import sys

import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from mbdae.compilation.compiled import compiled_from
from mbdae.compilation.structure import Structure
from mbdae.typing import Matrix, Vector


class Pair(Structure):
    """Two arrays."""

    x: Vector
    A: Matrix


def _sum(x, row):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * row[k]
    return total


def _largest(pair, depth):
    best = 0.0
    for k in range(pair.A.shape[0]):
        row, part = pair.A[k], pair.x[k:]
        if row[0] > 0.5:
            row = pair.A[depth % pair.A.shape[0]]
        best = max(best, row[0] * part[0])
    return best


def _tail(x):
    return x[1:]


def _made(x, n):
    """Arrays that are made, sliced, passed on, returned and let go."""
    y, kept = x, np.zeros(1)
    for k in range(n):
        y = _tail(np.append(y, 1.0 * k))
        kept = np.sqrt(y[::2].copy())
    return y, kept[1:], x


def machine_code(function):
    (made,) = function.overloads.values()
    return made.library.get_asm_str()


def test_arrays_of_structures_are_not_counted():
    largest, pair = compiled_from(_largest, None), Pair(x=np.arange(3.0), A=np.arange(9.0).reshape(3, 3))
    assert largest(pair, 2) == 12.0
    code = machine_code(largest)
    assert "NRT_" not in code and "lock" not in code


def test_functions_within_have_names_of_their_own():
    """Numba's linker takes a function of another module for one of the same name here, which may be called in another way."""
    names = {"sin": np.sin}
    long = "".join(f"    x[{k}] = sin(x[{k}] + {k}.0 * y) + sin(x[{k + 1}] - y)\n" for k in range(60))
    exec(f"def long(x, unused, y):\n{long}    return x[0]\n", names)  # too long to be put in the place of three calls
    names["long"] = compiled_from(names["long"], None)
    exec("def thrice(x, y):\n    return long(x, y, 1.0) + long(x, y, 2.0) + long(x, y, 3.0)\n", names)
    function, x = compiled_from(names["thrice"], None), np.linspace(0.0, 1.0, 61)
    found, plain = function(x.copy(), 2.0), njit(names["thrice"])(x.copy(), 2.0)
    assert found == pytest.approx(plain, rel=1e-13)
    (made,) = function.overloads.values()
    linkage = {f.name: f.linkage for f in made.library._final_module.functions if not f.is_declaration}
    closed = [name for name in linkage if name.endswith(".within")]
    assert any("long" in name for name in closed) and {linkage[name] for name in closed} == {Linkage.internal}
    assert {linkage[name] for name in linkage if name not in closed and "NRT" not in name} == {Linkage.external}


def test_memory_of_arrays_is_kept_as_long_as_it_is_used(monkeypatch):
    monkeypatch.setitem(globals(), "_tail", compiled_from(_tail, None))
    made = compiled_from(_made, None)
    x = np.arange(4.0)
    made(x, 3)
    _nrt_python.memsys_enable_stats()
    before, references = rtsys.get_allocation_stats(), sys.getrefcount(x)
    for _ in range(5):
        y, kept, same = made(x, 20)
        np.testing.assert_array_equal(y, [16.0, 17.0, 18.0, 19.0])
        np.testing.assert_allclose(kept, np.sqrt([18.0]))
        assert same is x or np.shares_memory(same, x)
    del y, kept, same
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 100
    assert sys.getrefcount(x) == references


@pytest.mark.parametrize("name", ["_sum", "_tail"])
def test_arrays_from_python_are_let_go(name):
    function = compiled_from(globals()[name], None)
    x = np.arange(5.0)
    arguments = (x, x) if name == "_sum" else (x,)
    function(*arguments)
    references = sys.getrefcount(x)
    for _ in range(10):
        function(*arguments)
    assert sys.getrefcount(x) == references
