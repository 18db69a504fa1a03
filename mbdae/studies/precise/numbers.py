"""Kernels in extended precision: with `NUMBA_DISABLE_JIT=1` they are plain Python, and `numpy.longdouble` passes through them.

Three things would round to double precision: the functions of `math`, user functions that are called by address, and functions of a
library mechanism that make arrays of their own without a type. `enable` replaces the first two in this process; `lost_precision` looks
for all of them. A fourth one is replaced, too: entries of `Phi_q` in joint coordinates that double precision cannot tell from zero are set
to zero by the kernel.
"""

import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numba.core import config

from ...system import c_functions, callbacks, user
from ...system import layout as lay
from ...system.callbacks import Callbacks
from ...system.elements import common
from ...system.layout import FRAME, header
from ...system.loads import user_force
from ...system.loads.common import wrench
from ...system.tree import equations as tree_equations
from ...typing import Numbers

Extended: Any = np.longdouble
EPSILON = float(np.finfo(Extended).eps)
CANCELLED = tree_equations.ROUNDING * EPSILON / float(np.finfo(float).eps)  # the same for extended numbers
MIN_DIGITS = 18  # of `numpy.longdouble`; where it is double precision there is nothing to gain

_FUNCTIONS = {"sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "tanh": np.tanh, "cosh": np.cosh,
              "sinh": np.sinh, "atan": np.arctan, "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos, "hypot": np.hypot,
              "fabs": np.fabs, "copysign": np.copysign, "floor": np.floor, "pow": np.power, "isfinite": np.isfinite}


class NotExtended(RuntimeError):
    """The process cannot evaluate kernels in extended precision."""


def _chosen(name: str) -> Callable[..., Any]:
    """The function of `math`, or that of NumPy for extended numbers."""
    double, extended = getattr(math, name), _FUNCTIONS[name]

    def function(*x: Any) -> Any:
        return extended(*x) if any(isinstance(y, (Extended, np.ndarray)) for y in x) else double(*x)

    return function


_math = ModuleType("math")
_math.__dict__.update(vars(math))
_math.__dict__.update({name: _chosen(name) for name in _FUNCTIONS})


class _Direct:
    """A user function under a number in the place of its address: arguments are passed as they are."""

    made: dict[int, Any] = {}

    def __init__(self, function: Callable[..., Any]) -> None:
        self.number = len(_Direct.made) + 1
        _Direct.made[self.number] = function


def _call(address: Any, *arguments: Any) -> Any:
    return _Direct.made[int(address)](*arguments)


def enable() -> None:
    """Let extended numbers pass through the kernels of this process. Systems made before keep calling user functions in double precision.

    Raises
    ------
    NotExtended
        If kernels are compiled, or if `numpy.longdouble` has too few digits here.
    """
    if not config.DISABLE_JIT:
        raise NotExtended("kernels are compiled in this process; start it with NUMBA_DISABLE_JIT=1")
    if np.finfo(Extended).precision < MIN_DIGITS:
        raise NotExtended(f"numpy.longdouble has {np.finfo(Extended).precision} digits on this machine, {MIN_DIGITS} are needed")
    for name, module in list(sys.modules.items()):
        if name.startswith("mbdae.") and module.__dict__.get("math") is math:
            module.__dict__["math"] = _math
    _replace_calls()


def _replace_calls() -> None:
    vars(callbacks).update(dict.fromkeys(("_MOTION", "_LAW"), _Direct), call_law=_call, call_motion=_call)
    methods: Any = Callbacks
    methods._export = lambda self, direct: self._alive.append(direct) or direct.number
    methods._number = lambda self, label, t, function, *arguments: function(*arguments)
    methods.force = lambda self, function, states, label="": self._export(_Direct(_plain(function)))
    methods.system = lambda self, functions: self._export(_Direct(functions.call))
    vars(common)["call_motion"] = _call
    vars(user)["evaluate"] = _evaluate
    vars(user_force)["force"] = _force
    vars(tree_equations)["ROUNDING"] = CANCELLED


def _plain(function: Any) -> Any:
    return getattr(function, "py_func", function)


def _evaluate(what: int, t: Any, q: Numbers, v: Numbers, lam: Numbers, model: Any, out: Numbers) -> None:
    """The same as `user.evaluate`, without addresses."""
    out[:] = _call(header(model)[lay.ADDRESS], what, t, q.copy(), v.copy(), lam.copy())


def _force(e: Any, members: Any, bodies: Any, t: Any, X: Numbers, Q: Numbers) -> None:
    """The same as `user_force.force`, without addresses."""
    numbers = members[e["start"]:e["start"] + e["count"]]
    x = np.array([X[m, :FRAME] for m in numbers])
    f = c_functions.wrench(_Direct.made[int(e["address"])], t, x)
    for row, m in zip(f, numbers):
        wrench(Q, bodies, m, tuple(row[:3]), tuple(row[3:]))


def lost_precision(f: Callable[[Any, Numbers], Numbers], t: float, y: Numbers, seed: int = 0) -> float:
    """Digits that `f(t, y)` loses where something inside is rounded to double precision: about zero, or three.

    The change of `f` over a tiny increment, 2e-16 times the size of `y`, is compared with the derivative from an increment of 1e-9: their
    difference in units of the rounding errors of extended precision is a small number unless `f` is rounded. This is done near `y`, where
    no entry of a matrix vanishes by symmetry.
    """
    rng = np.random.default_rng(seed)
    y = y.astype(Extended) + 1e-3 * rng.normal(size=len(y))
    d = rng.uniform(0.5, 1.0, len(y)) * (1.0 + np.abs(y)) * rng.choice([-1.0, 1.0], len(y))
    base = f(Extended(t), y).copy()
    slope = (f(Extended(t), y + Extended(1e-9) * d) - f(Extended(t), y - Extended(1e-9) * d)) / Extended(2e-9)
    h = Extended(2.0**-52)
    off = np.abs(f(Extended(t), y + h * d) - base - h * slope).max()
    scale = EPSILON * max(float(np.abs(base).max()), float(np.abs(slope).max()))
    return float(np.log10(max(1.0, float(off) / scale))) if scale > 0.0 else 0.0
