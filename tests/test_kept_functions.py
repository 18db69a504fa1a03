"""Compiled functions of users that are kept on disk: no second process compiles them, and no other content gets their code."""

import ctypes
import enum
import os
import subprocess
import sys
import types
from pathlib import Path

import numba
import numpy as np
import pytest

from mbdae.compilation import kept
from mbdae.compilation.fresh import fresh
from mbdae.compilation.ingredients import stamp_of
from mbdae.system import c_functions

LAW = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
SCRIPT = """
import sys
import numba
import numpy as np
from numba.core import event
import mbdae

K = float(sys.argv[1])  # so that nothing has been kept before
table = K + np.arange(4.0)

@numba.njit
def helper(x):
    return K * x

@numba.njit
def law(x, rate, t):
    return helper(x) + 0.1 * rate

def comparing(c):
    @numba.njit
    def law(x, rate, t):  # complex numbers cannot be compared
        return c * x if x > 1.0 else K * x**2
    return law

@numba.njit
def force(t, r, A, v, omega, F, T):
    for k in range(2):
        F[k] = -K * v[k] * table[k]

@numba.njit
def u(t):
    return K * np.sin(t)

class Counter(event.Listener):
    n = 0
    def on_start(self, event):
        Counter.n += 1
    def on_end(self, event):
        pass

bodies = [mbdae.Particle("a", 1.0, (1, 2, 3)), mbdae.Particle("b", 2.0, (1, 2, 4.5))]
def build():
    springs = [mbdae.TSDA("s", "a", "b", law=law), mbdae.TSDA("c", "a", "b", law=comparing(2.0 * K))]
    m = mbdae.Mechanism("m", bodies, [], forces=[*springs, mbdae.UserForce("u", ["a", "b"], force)])
    return mbdae.System(m)
with event.install_listener("numba:compile", Counter()):
    s = build()
    q, v = s.initial_guess()
    again = build()  # with other functions of the same content
    print(Counter.n, *s.force(0.1, q, v + 0.3).tolist(), *again.force(0.1, q, v + 0.3).tolist())
"""


def counted(number):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(number)], capture_output=True, text=True, check=True, timeout=300,
                          cwd=Path(__file__).parent.parent)
    n, *values = done.stdout.split()
    return int(n), [float(x) for x in values]


def test_a_second_process_compiles_no_user_function():
    number = np.random.default_rng().uniform(1.0, 2.0)
    first, values = counted(number)
    second, same = counted(number)
    _, others = counted(number + 0.5)
    assert first > 10 and second == 0
    assert values == same and values[:6] == values[6:] and not np.allclose(values, others)
    a, b = np.array([1, 2, 3.0]), np.array([1, 2, 4.5])
    x = np.linalg.norm(b - a)
    pull = (number * x + 2.0 * number * x) * (b - a) / x  # equal velocities: nothing from the rates
    friction = [-number * 0.3 * (number + k) for k in range(2)]
    np.testing.assert_allclose(values[:6], [*(pull + friction[0]), *(-pull + friction[1])], rtol=1e-13)


def made(text, owner="__main__", **names):
    """A function of a text, as in a notebook: there is no file."""
    scope = {"__name__": owner, "np": np, "numba": numba, **names}
    exec(text, scope)
    return scope["f"]


PLAIN = "@numba.njit\ndef f(x, rate, t):\n    return {}"


@pytest.mark.parametrize(("first", "second"), [
    (made(PLAIN.format("np.sin(x)")), made(PLAIN.format("np.cos(x)"))),
    (made(PLAIN.format("2.0 * x")), made(PLAIN.format("3.0 * x"))),
    (made(PLAIN.format("k * x"), k=2.0), made(PLAIN.format("k * x"), k=2)),
    (made(PLAIN.format("k[0] * x"), k=np.array([2.0])), made(PLAIN.format("k[0] * x"), k=np.array([2.5]))),
    (made(PLAIN.format("k.c * x"), k=types.SimpleNamespace), made(PLAIN.format("k.c * x"), k=types.ModuleType("k"))),
    (made("@numba.njit\ndef f(x, rate, t, k=2.0):\n    return k * x"), made("@numba.njit\ndef f(x, rate, t, k=3.0):\n    return k * x")),
    (made("@numba.njit(fastmath=True)\ndef f(x, rate, t):\n    return x"), made("@numba.njit\ndef f(x, rate, t):\n    return x")),
    (made(PLAIN.format("g(x)"), g=made(PLAIN.format("x"))), made(PLAIN.format("g(x)"), g=made(PLAIN.format("2.0 * x"))))])
def test_other_content_has_another_stamp(first, second):
    assert stamp_of([first]) != stamp_of([second])
    assert stamp_of([first]) == stamp_of([fresh(first)])


def test_constants_of_modules_within_modules_count():
    outer, inner = types.ModuleType("outer"), types.ModuleType("inner")
    outer.__file__ = inner.__file__ = __file__
    outer.inner, inner.K = inner, 2.0
    f = made(PLAIN.format("outer.inner.K * x"), outer=outer)
    before = stamp_of([f])
    inner.K = 3.0
    assert before is not None and stamp_of([f]) != before


def test_all_parts_of_a_module_count_whoever_names_them():
    module = types.ModuleType("module")
    module.__file__, module.A, module.B = __file__, 2.0, 3.0
    g = made(PLAIN.format("module.B * x"), module=module)
    f = made(PLAIN.format("module.A * g(x, rate, t)"), module=module, g=g)
    before = stamp_of([f])
    module.B = 4.0
    assert before is not None and stamp_of([f]) != before


def enumeration(red):
    return enum.Enum("Colour", {"RED": red}, module="notebook")


def test_classes_are_known_by_their_values_or_not_at_all():
    one, other = (stamp_of([made(PLAIN.format("C.RED.value * x"), C=enumeration(red))]) for red in (1, 2))
    assert one is not None and other is not None and one != other
    assert stamp_of([made(PLAIN.format("C.k * x"), C=type("C", (), {"k": 1.0, "__module__": "notebook"}))]) is None


def test_numbas_error_arrives_unchanged_again_and_again():
    text = PLAIN.format("x + 'metres'")
    for _ in range(2):
        with pytest.raises(numba.core.errors.TypingError, match="No implementation"):
            c_functions.law(made(text))


def test_content_that_is_not_known_is_not_kept():
    assert stamp_of([made(PLAIN.format("k.c * x"), k=object())]) is None
    assert stamp_of([made(PLAIN.format("k(x)"), k=ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x))]) is None
    assert stamp_of([made(PLAIN.format("k[0]"), k=np.array([None]))]) is None
    assert stamp_of([made(PLAIN.format("k(x)"), k=made("def f(x):\n    return x"))]) is None  # it needs an overload


@pytest.mark.parametrize("owner", ["a name that is no module", None])
def test_functions_of_no_module_are_not_kept(owner):
    """Another process could not load them: numba imports the module."""
    inner = made(PLAIN.format("2.0 * x"), owner)
    assert stamp_of([inner]) is None and stamp_of([made(PLAIN.format("g(x, rate, t)"), g=inner)]) is None


def test_names_mean_what_they_mean_when_the_mechanism_is_built():
    scope = {"np": np, "numba": numba, "K": 5.0}
    exec("@numba.njit\ndef g(x):\n    return K * x\n@numba.njit\ndef f(x, rate, t):\n    return g(x) + 0.0 * rate", scope)
    assert scope["f"](1.0, 0.0, 0.0) == 5.0
    scope["K"] = 7.0
    assert scope["f"](1.0, 0.0, 0.0) == 5.0  # numba's constant
    call = LAW(c_functions.law(scope["f"]).address)
    assert [call(1.0, 0.0, 0.0, k) for k in (0, 1)] == [7.0, 7.0]


@pytest.mark.parametrize("text", ["x if x > 1.0 else 2.0 * x", "max(x, 0.0)", "np.maximum(x, 0.0)", "np.floor(x)"])
def test_what_complex_numbers_do_not_have_is_differenced(text):
    for _ in range(2):  # the second one knows it from the disk
        call = LAW(c_functions.law(made(PLAIN.format(text))).address)
        assert [call(1.5, 0.0, 0.0, k) for k in (0, 1)] == pytest.approx([1.5, 1.0] if "floor" not in text else [1.0, 0.0], rel=1e-9)


def test_a_recursive_function_is_copied():
    f = made("@numba.njit\ndef f(x, rate, t):\n    return x if x.real <= 1.0 else x * f(x - 1.0, rate, t)")
    assert LAW(c_functions.law(f).address)(4.0, 0.0, 0.0, 0) == 24.0


def test_exceptions_of_functions_of_the_same_content_arrive():
    text = "@numba.njit\ndef f(x, rate, t):\n    if x > 2.0:\n        raise ValueError('too long')\n    return x"
    one, other = c_functions.law(made(text)), c_functions.law(made(text))
    assert one.address == other.address
    assert np.isnan(LAW(one.address)(3.0, 0.5, 0.1, 0))
    assert other.place(["spring"]) == ("spring", 0.1)
    with pytest.raises(ValueError, match="too long"):
        other.replay()
    one.replay()  # it is raised once


def test_the_oldest_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MOST", 3)
    made = {k: f"c_functions._law-98.py311-c-{k}.{'nbi' if k % 2 else 'refused'}" for k in range(6)}
    for k, name in made.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 + k, 1e9 + k))
        (tmp_path / f"c_functions._law-98.py311-c-{k}.1.nbc").touch()
    other = tmp_path / "c_functions._force-98.py311-c-1.nbi"
    other.touch()
    kept._forget_old(tmp_path, "c_functions._law")
    code = {f"c_functions._law-98.py311-c-{k}.1.nbc" for k in (3, 4, 5)}
    assert {f.name for f in tmp_path.iterdir()} == {made[3], made[4], made[5], other.name} | code
