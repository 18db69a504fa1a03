"""Derivatives of the equations, code for them, and the compiled functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.errors import NumbaError

from ..typing import Numbers
from .functions import HELPERS

if TYPE_CHECKING:
    pass

Row: TypeAlias = tuple[Any, ...]  # of SymPy expressions
Function: TypeAlias = Callable[..., Numbers]

_ARGUMENTS = {"mass": "t, q", "force": "t, q, v", "phi": "t, q", "phi_q": "t, q", "nu": "t, q", "gamma": "t, q, v",
              "kinematics": "t, q, v", "energy": "t, q, v"}
_CACHE_SIZE = 64  # systems, and sets of values
_MAX_POWER = 64  # computed by multiplications
_KNOWN = {f: f"numpy.{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "exp", "log")}
_KNOWN |= {f"a{f}": f"numpy.arc{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_KNOWN |= {"Abs": "_abs", "tanh": "_tanh", "atan2": "_atan2", "sign": "_sign"}


class Code(NamedTuple):
    """One function of a system: its symbols `t, q[, v]`, its expressions, and its source code, or the reason why there is none."""

    name: str
    arguments: tuple[Any, ...]
    shape: tuple[int, ...]
    expressions: Row
    source: str
    why: str = ""


@lru_cache(_CACHE_SIZE)
def code_of(nq: int, nv: int, mass: Row, force: Row, phi: Row, rates: Row | None, energy: Any) -> tuple[Code, ...]:
    """Code of all functions; the expressions are in the symbols of `names.Names`, matrices row by row."""
    import sympy as sp

    q, v = (tuple(sp.Symbol(f"{name}[{k}]", real=True) for k in range(n)) for name, n in (("q", nq), ("v", nv)))
    t = sp.Symbol("t", real=True)
    qdot, nc = rates or v, len(phi)

    def along(e: Any, rates: Sequence[Any]) -> Any:
        """The derivative of `e` along rates of `q`."""
        return sum((e.diff(x) * r for x, r in zip(q, rates) if r != 0 and x in e.free_symbols), sp.S.Zero)

    directions = [[r.diff(x) for r in qdot] for x in v]  # columns of T(q)
    phi_q = tuple(along(e, d) for e in phi for d in directions)
    nu = tuple(-e.diff(t) for e in phi)
    speeds = [sum((g * x for g, x in zip(phi_q[k * nv:], v)), -nu[k]) for k in range(nc)]
    gamma = tuple(-along(e, qdot) - e.diff(t) for e in speeds)
    table = {"mass": ((nv, nv), mass), "force": ((nv,), force), "phi": ((nc,), phi), "phi_q": ((nc, nv), phi_q), "nu": ((nc,), nu),
             "gamma": ((nc,), gamma), "kinematics": ((nq,), rates), "energy": ((), energy if energy is None else (energy,))}
    return tuple(_code(name, (t, q, v)[:_ARGUMENTS[name].count(",") + 1], shape, e) for name, (shape, e) in table.items() if e is not None)


def _code(name: str, arguments: tuple[Any, ...], shape: tuple[int, ...], expressions: Row) -> Code:
    import sympy as sp

    columns = shape[-1] if shape else 1
    cells = {(k // columns, k % columns): e for k, e in enumerate(expressions) if e != 0}
    if name == "mass":
        cells = {(i, j): e for (i, j), e in cells.items() if i >= j}
    branches: dict[Any, Any] = {}

    def without_branches(e: Any) -> Any:
        """Symbols for all `Piecewise`: they are evaluated as a whole, since often only one branch is defined."""
        if isinstance(e, sp.Piecewise):
            return branches.setdefault(e, sp.Symbol(f"w{len(branches)}", real=True))
        return e.func(*map(without_branches, e.args)) if e.has(sp.Piecewise) else e

    shared, results = sp.cse([without_branches(e) for e in cells.values()], sp.numbered_symbols("x", real=True), order="none")
    try:
        text = _printer().doprint
        lines = [f"{x} = {text(e)}" for e, x in [*branches.items(), *((e, x) for x, e in shared)]]
        results = [text(e) for e in results]
    except (TypeError, KeyError) as error:
        return Code(name, arguments, shape, expressions, "", f"there is no code for {error.args[0]}")
    if shape:
        lines.append(f"out = numpy.zeros({shape}, dtype=q.dtype)")
        for (i, j), result in zip(cells, results):
            left = [f"out[{j}]"] if len(shape) == 1 else [f"out[{i}, {j}]"] + [f"out[{j}, {i}]"] * (name == "mass" and i != j)
            lines.append(" = ".join([*left, result]))
    lines.append("return out" if shape else f"return {results[0] if results else 0.0}")
    return Code(name, arguments, shape, expressions, "\n    ".join([f"def {name}({_ARGUMENTS[name]}):", *lines]) + "\n")


@lru_cache(1)
def _printer() -> Any:
    """Prints scalar expressions in Python for numba; a `TypeError` or `KeyError` names what it does not know."""
    from sympy.printing.codeprinter import CodePrinter
    from sympy.printing.pycode import PythonCodePrinter

    class Printer(PythonCodePrinter):  # type: ignore[misc]  # SymPy has no types
        def __init__(self) -> None:
            super().__init__()
            self.known_functions = dict(_KNOWN)

        def _print_not_supported(self, e: Any) -> str:
            raise TypeError(type(e).__name__)

        _print_Derivative = _print_Sum = _print_Mod = emptyPrinter = _print_not_supported

        def _print_Float(self, e: Any) -> str:
            return repr(float(e))

        _print_Integer = _print_Float

        def _print_Pow(self, e: Any) -> str:
            base, exponent, size = self._print(e.base), e.exp, abs(e.exp)
            if not (2 * exponent).is_Integer or size > _MAX_POWER:
                return f"_pow({base}, {self._print(exponent)})"
            if not exponent.is_Integer:
                base, size = f"numpy.sqrt({base})", 2 * size
            power = f"({base})" if size == 1 else f"_power({base}, {size})"
            return power if exponent > 0 else f"(1.0/{power})"

        def _print_Relational(self, e: Any) -> str:
            return f"(({self._print(e.lhs)}).real {e.rel_op} ({self._print(e.rhs)}).real)"

        def _print_Piecewise(self, e: Any) -> str:
            text = "numpy.nan"
            for value, condition in reversed(e.args):
                text = f"(({self._print(value)}) if {self._print(condition)} else {text})"
            return text

        def _print_Heaviside(self, e: Any) -> str:
            return f"_heaviside({', '.join(map(self._print, e.args))})"

        def _print_DiracDelta(self, e: Any) -> str:
            return "0.0"

        def _print_sign(self, e: Any) -> str:
            return f"_sign({self._print(e.args[0])})"

        def _print_Max(self, e: Any, name: str = "_max") -> str:
            first, *rest = map(self._print, e.args)
            for x in rest:
                first = f"{name}({first}, {x})"
            return str(first)

        def _print_Min(self, e: Any) -> str:
            return self._print_Max(e, "_min")

    for method in dir(Printer):
        if getattr(Printer, method) is CodePrinter._print_not_supported:
            setattr(Printer, method, Printer._print_not_supported)
    return Printer()


@lru_cache(_CACHE_SIZE)
def functions_of(code: tuple[Code, ...], values: tuple[float, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    """The functions for these parameter values, and by name the reasons why some of them could not be compiled."""
    space = {"numpy": np, "math": math, **HELPERS, **{f"p{k}": x for k, x in enumerate(values)}}
    functions, left_out = {}, {}
    for c in code:
        function, why = _compiled(c, dict(space)) if c.source else (None, c.why)
        if function is None:
            left_out[c.name] = why
        functions[c.name] = function or _by_scipy(c, values)
    return functions, left_out


def _compiled(c: Code, space: dict[str, Any]) -> tuple[Function | None, str]:
    """The function, or `None` and the reason; energy and kinematics are called from Python only."""
    exec(c.source, space)
    function = space[c.name]
    if c.name in ("energy", "kinematics") or config.DISABLE_JIT:
        return function, ""
    function = njit(error_model="numpy", no_cfunc_wrapper=True)(function)
    try:
        for x in (types.float64, types.complex128):
            function.compile((types.float64, *[x[::1]] * _ARGUMENTS[c.name].count(",")))
    except NumbaError:
        return None, "numba does not take the code for it"
    return function, ""


def _by_scipy(c: Code, values: tuple[float, ...]) -> Function:
    """The function by SymPy's own `lambdify`."""
    import sympy as sp

    known = {c.arguments[0], *(x for group in c.arguments[1:] for x in group)}
    given = {p: values[int(p.name[1:])] for e in c.expressions for p in e.free_symbols - known}
    try:
        function = sp.lambdify(c.arguments, [e.subs(given) for e in c.expressions], ["scipy", "numpy"], cse=True)
    except NotImplementedError as error:
        raise _no_value(c, " ".join(str(error).splitlines()[:2])) from None

    def evaluate(*args: Any) -> Numbers:
        try:
            return np.array(function(*args)).reshape(c.shape)
        except NameError as error:  # SymPy has printed a function that SciPy does not have
            raise _no_value(c, error) from None

    return evaluate


def _no_value(c: Code, why: object) -> ValueError:
    return ValueError(f"from_sympy: {c.name} cannot be evaluated: {why}")
