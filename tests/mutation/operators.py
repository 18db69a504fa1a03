"""Changes of one node of the syntax tree, as replacements in the text: all other lines stay as they are.

    sign         `a + b` <-> `a - b`, also `+=`; `-x` -> `x`; `a * b` -> `-a * b`
    product      `a * b` <-> `a / b`, also `*=`
    factor       `a * b` -> `a` or `b`, `a / b` -> `a`
    coefficient  `c` -> `c (1 + 1e-3)`, `-c`, `0.0` -> `1e-3`; numbers in the text of a tableau; exponents
    index        `x[2]` -> `x[3]`, `x[k + 1]` -> `x[k - 1]`, limits of loops, other integers, `e["s_i"]` <-> `e["s_j"]`
    comparison   `<` <-> `>=`, `>` <-> `<=`, `==` <-> `!=`

Left out by rule, because any value nearby would do or nothing is computed: messages, docstrings, annotations and assertions; constants in
capitals at the head of a file that tune an iteration; sides of comparisons with such a constant, and by how much a factor in a
comparison, `min` or `max` differs from another; `0.0 * x`, which carries a type.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

OPPOSITE = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
SYMBOL = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
REVERSED = {ast.Lt: ("<", ">="), ast.GtE: (">=", "<"), ast.Gt: (">", "<="), ast.LtE: ("<=", ">"), ast.Eq: ("==", "!="),
            ast.NotEq: ("!=", "==")}
SCALE = 1.001
CONSTANT = re.compile(r"[A-Z][A-Z_0-9]+$")
TUNING = re.compile(r"[A-Z_]*(TOL|MAX|MIN|RATE|ROUNDING|EPS|STRETCH|SAME|SMALLEST|CLOSE|LEAST|INCREMENT|NOISY|STEP|SPAN|LIMIT|FACTOR|"
                    r"CONDITION)[A-Z_]*$")
FRACTION = re.compile(r"-?\d+(/\d+)?( -?\d+(/\d+)?)*$")
ENDS = {"i": "j", "j": "i"}


@dataclass(frozen=True)
class Mutation:
    """Bytes `start` to `end` of a source are replaced.

    Attributes
    ----------
    kind : str
    line : int
    start, end : int
    text : str
        What stands there afterwards.
    change : str
        The changed expression, before and after.
    """

    kind: str
    line: int
    start: int
    end: int
    text: str
    change: str

    def apply(self, source: str) -> str:
        """The changed source."""
        data = source.encode()
        return (data[:self.start] + self.text.encode() + data[self.end:]).decode()


def mutations(source: str) -> list[Mutation]:
    """All changes of a source, in the order of the text; each one still parses, and differs in the syntax tree."""
    code = _Code(source)
    found = dict.fromkeys(m for node, place in _walk(code.tree, _Place()) for m in _of(node, place, code))
    return sorted((m for m in found if _is_change(m, code)), key=lambda m: (m.start, m.end, m.text))


def _is_change(m: Mutation, code: "_Code") -> bool:
    """Whether the statement of the module that contains the change still parses, and differs."""
    first, last, dump = next(x for x in code.statements if x[0] <= m.start <= x[1])
    try:
        return ast.dump(ast.parse(code.text(first, m.start) + m.text + code.text(m.end, last))) != dump
    except SyntaxError:
        return False


class _Code:
    """A source with its syntax tree, and where the lines begin."""

    def __init__(self, source: str) -> None:
        self.source, self.data, self.tree = source, source.encode(), ast.parse(source)
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        spans = [self.span(statement) for statement in self.tree.body]
        self.statements = [(*span, ast.dump(ast.parse(self.text(*span)))) for span in spans]  # without decorators

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node."""
        assert isinstance(node, (ast.expr, ast.stmt)) and node.end_lineno is not None and node.end_col_offset is not None
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def replaced(self, kind: str, node: ast.AST, start: int, end: int, text: str) -> Mutation:
        """The change of some bytes of a node."""
        first, last = self.span(node)
        before, after = self.text(first, last), self.text(first, start) + text + self.text(end, last)
        return Mutation(kind, self.data[:start].count(b"\n") + 1, start, end, text, f"{_short(before)} -> {_short(after)}")


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@dataclass(frozen=True)
class _Place:
    """Where a node stands.

    Attributes
    ----------
    index : bool
        Within an index or the limits of a loop.
    threshold : bool
        In a comparison, `min` or `max`.
    parent : node or None
    """

    index: bool = False
    threshold: bool = False
    parent: ast.AST | None = None


def _walk(node: ast.AST, place: _Place) -> Iterator[tuple[ast.AST, _Place]]:
    """The nodes that may be changed."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)) or _tunes(node, place):
        return
    yield node, place
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, _below(node, name, place))


def _below(node: ast.AST, name: str, place: _Place) -> _Place:
    """The place of the children in a field of a node."""
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    index = place.index or (isinstance(node, ast.Subscript) and name == "slice") or called in ("range", "window", "records", "part")
    threshold = isinstance(node, ast.Compare) or called in ("min", "max") or (place.threshold and not isinstance(node, ast.stmt))
    return _Place(index, threshold, node)


def _tunes(node: ast.AST, place: _Place) -> bool:
    """Whether this is a number in capitals or a signature at the head of a file, or the side of a comparison with a tuning constant."""
    if isinstance(node, ast.Assign) and isinstance(place.parent, ast.Module):
        parts = list(ast.walk(node.value))
        if any(isinstance(n, ast.Name) and n.id in ("types", "range") for n in parts):
            return True
        return isinstance(node.targets[0], ast.Name) and bool(CONSTANT.match(node.targets[0].id)) and all(
            isinstance(n, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)) for n in parts)
    if isinstance(place.parent, ast.Compare) and isinstance(node, ast.expr):
        return any(isinstance(n, ast.Name) and TUNING.match(n.id) for n in ast.walk(node))
    return False


def _of(node: ast.AST, place: _Place, code: _Code) -> Iterator[Mutation]:
    if isinstance(node, ast.BinOp):
        yield from _operation(node, place, code)
    elif isinstance(node, ast.AugAssign) and type(node.op) in SYMBOL:
        yield from _in_place(node, code)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not place.index:
        start, _ = code.span(node)
        yield code.replaced("sign", node, start, code.span(node.operand)[0], code.text(start + 1, code.span(node.operand)[0]))
    elif isinstance(node, ast.Compare):
        yield from _comparison(node, code)
    elif isinstance(node, ast.Constant):
        yield from _constant(node, place, code)


def _operation(node: ast.BinOp, place: _Place, code: _Code) -> Iterator[Mutation]:
    if type(node.op) not in SYMBOL or any(_is_sequence(x) for x in (node.left, node.right)):
        return
    (start, middle), (after, end) = code.span(node.left), code.span(node.right)
    at = middle + code.text(middle, after).index(SYMBOL[type(node.op)])
    swap = code.replaced("index" if place.index else "sign" if isinstance(node.op, (ast.Add, ast.Sub)) else "product", node, at, at + 1,
                         OPPOSITE[type(node.op)])
    if place.index or isinstance(node.op, (ast.Add, ast.Sub)):
        if not (place.index and isinstance(node.op, (ast.Mult, ast.Div))):
            yield swap
        return
    whole, last = code.span(node)
    zero = isinstance(node.left, ast.Constant) and node.left.value == 0
    if not zero:
        yield swap
        yield code.replaced("factor", node, whole, last, f"({code.text(start, middle)})")
        if _is_first(node, place) and not code.text(whole, last).startswith("-"):
            yield code.replaced("sign", node, whole, whole, "-")
    if isinstance(node.op, ast.Mult) and not (isinstance(node.left, ast.UnaryOp) and isinstance(node.left.operand, ast.Constant)):
        yield code.replaced("factor", node, whole, last, f"({code.text(after, end)})")


def _is_first(node: ast.BinOp, place: _Place) -> bool:
    """Whether a product is a term without an operation before it."""
    above = place.parent
    if isinstance(above, ast.BinOp):
        return isinstance(above.op, (ast.Add, ast.Sub)) and above.left is node
    return not isinstance(above, (ast.UnaryOp, ast.AugAssign))


def _is_sequence(node: ast.expr) -> bool:
    """Whether a sum or product of this joins texts or lists."""
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str))


def _in_place(node: ast.AugAssign, code: _Code) -> Iterator[Mutation]:
    middle, after = code.span(node.target)[1], code.span(node.value)[0]
    at = middle + code.text(middle, after).index(SYMBOL[type(node.op)])
    kind = "index" if _is_count(node) else "sign" if isinstance(node.op, (ast.Add, ast.Sub)) else "product"
    yield code.replaced(kind, node, at, at + 1, OPPOSITE[type(node.op)])


def _is_count(node: ast.AugAssign) -> bool:
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)


def _comparison(node: ast.Compare, code: _Code) -> Iterator[Mutation]:
    sides = [node.left, *node.comparators]
    for op, left, right in zip(node.ops, sides, sides[1:]):
        if type(op) in REVERSED:
            symbol, other = REVERSED[type(op)]
            middle, after = code.span(left)[1], code.span(right)[0]
            at = middle + code.text(middle, after).index(symbol)
            yield code.replaced("comparison", node, at, at + len(symbol), other)


def _constant(node: ast.Constant, place: _Place, code: _Code) -> Iterator[Mutation]:
    value, (start, end), parent = node.value, code.span(node), place.parent
    shown = parent if isinstance(parent, ast.expr) else node
    if isinstance(value, bool):
        return
    if isinstance(value, int) and not isinstance(parent, ast.Compare) and not _is_plain(node, parent):
        yield code.replaced("index", shown, start, end, str(value + 1))
    elif isinstance(value, float) and value == 0.0:
        if not place.threshold:
            yield code.replaced("coefficient", shown, start, end, "1e-3")
    elif isinstance(value, float):
        if not place.threshold:
            yield code.replaced("coefficient", shown, start, end, repr(value * SCALE))
        if not isinstance(parent, ast.UnaryOp) and not (isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div))):
            yield code.replaced("coefficient", shown, start, end, f"(-{code.text(start, end)})")
    elif isinstance(value, str) and isinstance(parent, ast.Subscript) and (value[-2:-1] in ("", "_")) and value[-1:] in ENDS:
        yield code.replaced("index", shown, start, end, f'"{value[:-1]}{ENDS[value[-1]]}"')
    elif isinstance(value, str) and FRACTION.match(value):
        yield from _fractions(value, start, node, code)


def _is_plain(node: ast.Constant, parent: ast.AST | None) -> bool:
    """Whether an integer is an axis of a shape, which exists or not, or repeats a tuple."""
    if isinstance(parent, ast.BinOp):
        return _is_sequence(parent.left)
    return isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape"


def _fractions(value: str, start: int, node: ast.Constant, code: _Code) -> Iterator[Mutation]:
    """Changes of the numbers in a text; the quotation mark comes first."""
    for match in re.finditer(r"(-?)(\d+)(/\d+)?", value):
        sign, numerator, denominator = match[1], match[2], match[3] or "/1"
        first, last = start + 1 + match.start(), start + 1 + match.end()
        scaled = f"{sign}{int(numerator) * 1001}/{int(denominator[1:]) * 1000}"
        yield code.replaced("coefficient", node, first, last, scaled)
        yield code.replaced("coefficient", node, first, last, ("" if sign else "-") + numerator + (match[3] or ""))
