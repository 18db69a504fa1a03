"""Input of `from_sympy`: validation, and translation into the symbols of the generated code."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..spelling import closest


def require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(f"from_sympy: {message}")


def entries_of(value: Any, what: str, rows: int | None = None, columns: int = 1) -> list[Any]:
    """The expressions in a matrix, an array or a sequence, row by row; a vector may be a row or a column."""
    require(_is_sequence(value), f"{what} must be a matrix or a sequence, got {value!r}")
    table = value.tolist() if hasattr(value, "tolist") else list(value)
    table = [list(row) if _is_sequence(row) else [row] for row in table]
    if columns == 1:
        table = [[e] for e in table[0]] if len(table) == 1 else table
        lengths = {len(row) for row in table}
        require(lengths <= {1} and rows in (None, len(table)), f"{what} must be a vector{f' of length {rows}' if rows else ''}, "
                f"got shape ({len(table)}, {max(lengths, default=1)})")
        return [expression_of(row[0], f"{what}[{k}]") for k, row in enumerate(table)]
    found = f"rows of lengths {', '.join(str(len(row)) for row in table)}"
    require([len(row) for row in table] == [columns] * (rows or 0), f"{what} must have shape ({rows}, {columns}), got {found}")
    return [expression_of(e, f"{what}[{i}, {j}]") for i, row in enumerate(table) for j, e in enumerate(row)]


def expression_of(value: object, what: str) -> Any:
    """A finite and real SymPy expression; strings are not parsed."""
    import sympy as sp

    try:
        e = sp.sympify(value, strict=True)
    except sp.SympifyError:
        e = None
    require(isinstance(e, sp.Expr), f"{what} must be an expression, got {value!r}")
    require(not e.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I), f"{what} must be finite and real, got {short(e)}")
    return e


def _is_sequence(x: object) -> bool:
    from sympy.utilities.iterables import iterable

    return bool(iterable(x))  # a Matrix, too; no string, no dict


def short(e: object) -> str:
    """An expression in an error message."""
    text = str(e)
    return text if len(text) <= 80 else text[:77] + "..."


class Names:
    """Symbols of the user and of the generated code: `q[0]`, `v[0]`, `t`, and `p0`, `p1`, ... for the parameters.

    Attributes
    ----------
    q, v, time
        Coordinates, velocities and time of the user.
    Q, V, t
        Those of the code.
    values : tuple of float
        Values of the parameters.
    """

    def __init__(self, q: Any, v: Any, time: Any, parameters: Mapping[Any, float] | None) -> None:
        import sympy as sp
        from sympy.core.function import AppliedUndef

        self._sp, self._undefined = sp, AppliedUndef
        for what, symbols in (("q", q), ("v", () if v is None else v)):
            require(_is_sequence(symbols), f"{what} must be a sequence of symbols, got {symbols!r}")
        self.q = list(q)
        functions = [x for x in self.q if isinstance(x, AppliedUndef)]
        require(self.q, "q is empty")
        self.time = time if time is not None else functions[0].args[0] if functions else sp.Symbol("t")
        require(isinstance(self.time, sp.Symbol), f"time must be a Symbol, got {self.time!r}")
        derivatives = [sp.Derivative(x, self.time) for x in functions]
        self.v = derivatives if v is None else list(v)
        for what, symbols, more in (("q", self.q, ()), ("v", self.v, derivatives)):
            for x in symbols:
                require(self._is_symbol(x) or x in more, f"{what} must consist of symbols or functions of {self.time}, got {x!r}")
        require(v is not None or len(functions) == len(self.q), "coordinates that are plain symbols need velocities v of other names")
        require(parameters is None or isinstance(parameters, dict), f"parameters must be a dict, got {parameters!r}")
        self._parameters = list(parameters or ())
        self.values = tuple(self._value(*item) for item in (parameters or {}).items())
        everything = [self.time, *self.q, *self.v, *self._parameters]
        for k, x in enumerate(everything):
            require(x not in everything[:k], f"{x} stands for two things among time, q, v and parameters")

        self.t = sp.Symbol("t", real=True)
        self.Q, self.V = ([sp.Symbol(f"{s}[{k}]", real=True) for k in range(len(x))] for s, x in (("q", self.q), ("v", self.v)))
        self.P = [sp.Symbol(f"p{k}", **{**x.assumptions0, "real": True}) for k, x in enumerate(self._parameters)]
        self._rules = dict(zip([self.time, *self.q, *self.v, *self._parameters], [self.t, *self.Q, *self.V, *self.P]))
        self._rules |= {sp.Derivative(x, self.time): sp.S.Zero for x in self._parameters}
        self._occurring: set[Any] = set()

    def _is_symbol(self, x: object) -> bool:
        return isinstance(x, self._sp.Symbol) or (isinstance(x, self._undefined) and x.args == (self.time,))

    def _value(self, symbol: Any, value: Any) -> float:
        require(self._is_symbol(symbol), f"parameters must have symbols for keys, got {symbol!r}")
        try:
            number = not isinstance(value, str)
            x = float(value) if number else math.nan
        except (TypeError, ValueError):
            number = False
        require(number, f"the value of {symbol} must be a number, got {value!r}")
        require(math.isfinite(x), f"the value of {symbol} must be finite, got {x}")
        for fact in ("real", "positive", "negative", "zero"):
            declared, actual = (getattr(s, f"is_{fact}") for s in (symbol, self._sp.Float(x)))
            require(declared in (None, actual), f"{symbol} was declared {'' if declared else 'not '}{fact}, but its value is {x:g}")
        return x

    def rates(self, kinematics: Sequence[Any] | None) -> tuple[Any, ...] | None:
        """`T(q) v` in symbols of the code, `None` if it is `v`; also registers the derivatives of the coordinates."""
        rates = self.V if kinematics is None else self.translated("kinematics", kinematics, "qv")
        for k, r in enumerate(rates):
            linear = r.xreplace(dict.fromkeys(self.V, self._sp.S.Zero)) == 0 and not any(r.diff(x).has(*self.V) for x in self.V)
            require(linear, f"kinematics[{k}] must be linear in v, got {short(kinematics and kinematics[k])}")
        self._rules |= {self._sp.Derivative(x, self.time): r for x, r in zip(self.q, rates) if isinstance(x, self._undefined)}
        return None if rates == self.V else tuple(rates)

    def translated(self, what: str, entries: Sequence[Any], allowed: str) -> list[Any]:
        """Expressions in symbols of the code, which may depend on the `allowed` ones of t, q, v only."""
        sp, known, found = self._sp, set(self._rules), []
        forbidden = {"t": ("the time", [self.t]), "v": ("velocities", self.V)}
        for original in entries:
            e = original if original.atoms(sp.Derivative) <= known else original.doit()
            for d in e.atoms(sp.Derivative) - known:
                require(d.expr not in (*self.q, *self.v), f"{what} must not contain {d}: {short(original)}")
            self._occurring |= e.atoms(self._undefined) - known
            e = e.xreplace(self._rules)
            self._occurring |= e.free_symbols
            for kind, (meaning, symbols) in forbidden.items():
                require(kind in allowed or not e.free_symbols & {*symbols}, f"{what} must not depend on {meaning}: {short(original)}")
            found.append(e)
        return found

    def check_values(self, unused: bool) -> None:
        """Every symbol must have a value and, if `unused`, every value a symbol."""
        missing = sorted(self._occurring - {self.t, *self.Q, *self.V, *self.P}, key=str)
        idle = [x for x, p in zip(self._parameters, self.P) if p not in self._occurring]
        listed = ", ".join(f"{x}{_hint(x, idle)}" for x in missing)
        require(not missing, f"parameters must have a value for {listed}")
        others = [x for x in (self.time, *self.q, *self.v, *self._parameters) if x not in idle]
        for x in idle if unused else ():
            raise ValueError(f"from_sympy: parameters has a value for {x}, which does not occur{_hint(x, others)}")


def _hint(x: object, others: Sequence[object]) -> str:
    """Suffix of an error message: the symbol that was probably meant."""
    if str(x) in map(str, others):
        return f" (there is one, for another symbol {x}: its assumptions differ)"
    close = closest(str(x), map(str, others))
    return f" (did you mean {close}?)" if close else ""


def check_symmetry(M: Sequence[Any], names: Names, written: Sequence[Any]) -> None:
    """Symbolically different entries of the mass matrix are compared at three points; `written` are the expressions of the user."""
    n = len(names.V)
    doubtful = [(i, j) for i in range(n) for j in range(i) if M[i * n + j] != M[j * n + i]]
    rng = np.random.default_rng(0)
    for _ in range(3 if doubtful else 0):
        point = dict(zip([names.t, *names.Q], map(names._sp.Float, rng.uniform(-1.0, 1.0, 1 + len(names.Q)))))
        point |= dict(zip(names.P, map(names._sp.Float, names.values)))
        for i, j in doubtful:
            a, b, *scale = (complex(M[k].xreplace(point).evalf()) for k in (i * n + j, j * n + i, i * n + i, j * n + j))
            require(not abs(a - b) > 1e-9 * sum(map(abs, scale)), f"mass must be symmetric, but entry [{i}, {j}] is "
                    f"{short(written[i * n + j])}, and [{j}, {i}] is {short(written[j * n + i])}")
