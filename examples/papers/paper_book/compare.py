"""Printed numbers beside ours, their ratios, and whether the verdict of the manifest agrees with them."""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from .capture import Capture
from .records import Item, Values, Verdict


@dataclass(frozen=True)
class Line:
    """A printed number or word beside ours; `agrees` is `None` if it is not judged."""

    keys: tuple[str, ...]
    printed: str
    ours: str
    ratio: float | None
    agrees: bool | None


def lines(values: Values, item: Item, captures: dict[str, Capture]) -> list[Line]:
    """All lines for which there is a printed value; none if `missing` says why."""
    return [] if missing(values, item, captures) else [_line(values, row) for row in _rows(values, item, captures)]


def missing(values: Values, item: Item, captures: dict[str, Capture]) -> str | None:
    """Why there is nothing to compare; `None` if there is something."""
    script = values.script or item.script or ""
    if script not in captures:
        return f"{script}.py has not been run"
    if captures[script].error:
        return f"{script}.py failed: {str(captures[script].error).splitlines()[-1]}"
    table = _table(values, captures[script])
    if table is None:
        return f"the kept output of {script}.py has no {values.csv}"
    for title in (values.ours, values.printed, *values.keys, *(values.span or ()), *(title for title, _ in values.where)):
        if title not in table[0]:
            return f"{values.csv} has no column {title!r}, but {', '.join(table[0])}"
    return None if _rows(values, item, captures) else f"{values.csv}: no line with a value of {values.printed!r} where {values.where}"


def _table(values: Values, capture: Capture) -> list[dict[str, str]] | None:
    return list(csv.DictReader(io.StringIO(capture.csv[values.csv]))) if values.csv in capture.csv else None


def _rows(values: Values, item: Item, captures: dict[str, Capture]) -> list[dict[str, str]]:
    table = _table(values, captures[values.script or item.script or ""]) or []
    return [row for row in table if row[values.printed] != "" and all(_among(row[t], some) for t, some in values.where)]


def _among(cell: str, some: tuple[object, ...]) -> bool:
    x = number(cell)
    return any(cell == str(value) or (x is not None and isinstance(value, (int, float)) and x == value) for value in some)


def _line(values: Values, row: dict[str, str]) -> Line:
    keys, ours, printed = tuple(short(row[k]) for k in values.keys), row[values.ours], row[values.printed]
    a, b = number(ours), number(printed)
    if b is None:
        return Line(keys, printed, ours, None, ours == printed)
    if a is None:
        return Line(keys, short(printed), short(ours) or "-", None, None if values.band is None else False)
    ratio = a / (b * values.printed_unit) if b else 1.0 if a == 0.0 else math.inf
    mine = short(str(a / values.printed_unit))
    if values.span:
        least, largest = (float(row[title]) for title in values.span)
        return Line(keys, short(printed), f"{mine} ({short(str(least))} to {short(str(largest))})", ratio, least <= b <= largest)
    agrees = None if values.band is None else values.band[0] <= ratio <= values.band[1]
    return Line(keys, short(printed), mine, ratio, agrees)


def number(text: str) -> float | None:
    """A cell as a number; `None` if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def short(text: str) -> str:
    """A number with four digits, whole ones and those above 1000 with more; other text as it is."""
    x = number(text)
    if x is None or not math.isfinite(x):
        return text
    return f"{x:.7g}" if 1e3 <= abs(x) < 1e6 or (x == round(x) and abs(x) < 1e3) else f"{x:.4g}"


def judged(item: Item, captures: dict[str, Capture]) -> list[bool]:
    """Whether each of the judged numbers agrees."""
    return [x.agrees for v in item.values for x in lines(v, item, captures) if x.agrees is not None]


def disagreement(item: Item, captures: dict[str, Capture]) -> str | None:
    """What is wrong with the verdict of an item, judged by its numbers; `None` if nothing is."""
    if item.script and item.script not in captures:
        return f"{item.script}.py has not been run"
    if item.script and captures[item.script].error:
        return f"{item.script}.py failed: {str(captures[item.script].error).splitlines()[-1]}"
    for values in item.values:
        if reason := missing(values, item, captures):
            return reason
    found = judged(item, captures)
    if item.verdict is Verdict.REPRODUCED and not all(found):
        return f"the verdict is {item.verdict.value!r}, but {found.count(False)} of {len(found)} numbers are outside of their bands"
    if item.verdict is Verdict.DIFFERS and found and all(found):
        return f"the verdict is {item.verdict.value!r}, but all {len(found)} numbers are within their bands"
    return None


def problems(items: tuple[Item, ...], captures: dict[str, Capture]) -> Iterator[str]:
    """What is wrong with the verdicts, as lines."""
    for item in items:
        wrong = disagreement(item, captures)
        if wrong:
            yield f"{item.label}: {wrong}"
