"""From a `Mechanism` to a file: fields with default values are omitted, numbers are written with full precision."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..model.mechanism import Mechanism
from ..model.motions import Constant
from . import syntax
from .description import (
    FORMAT,
    FUNCTION,
    MATRIX,
    MOTION,
    MOTIONS,
    NUMBER,
    RATES,
    SECTIONS,
    SWITCH,
    TEXT,
    TEXTS,
    VERSION,
    DescriptionError,
    fields_of,
    motion_types,
    top_fields,
    types_of,
    undescribable,
)

WIDTH = 140  # longer objects are spread over several lines


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Write a mechanism to a file, JSON (`.json`) or YAML (`.yaml`, `.yml`); `load` gives the same mechanism back, to the last bit.

    Parameters
    ----------
    mechanism : Mechanism
    path : str or path
        A file that exists is overwritten.

    Raises
    ------
    DescriptionError
        A `ValueError` that names the element and field that a file cannot hold, such as a Python function. Nothing is written then.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import mbdae, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "four-link.yaml"
    >>> mbdae.save(mbdae.library.mechanism("four-link"), path)
    >>> mbdae.load(path).name
    'four-link'
    """
    path = syntax.as_path("save", path)
    try:
        ending = syntax.check_ending(path)
        if not isinstance(mechanism, Mechanism):
            raise DescriptionError(f"only a Mechanism can be saved, got {type(mechanism).__name__}")
        text = (_json if ending == ".json" else _yaml)(describe(mechanism))
    except DescriptionError as error:
        error.file = str(path)
        raise
    path.write_text(text, encoding="utf-8", newline="\n")


def describe(mechanism: Mechanism) -> dict[str, Any]:
    """The plain data of a mechanism."""
    out = {"format": FORMAT, "version": VERSION}
    for name, field in top_fields().items():
        value = getattr(mechanism, name)
        if name in SECTIONS and value:
            out[name] = [_typed(e, types_of(name), f"{name}[{k}]", f"{type(e).__name__} {e.name!r}") for k, e in enumerate(value)]
        elif name not in SECTIONS and not _is(value, field.default):
            out[name] = _value(value, field.kind, name, "Mechanism")
    return out


def _typed(element: Any, known: Mapping[str, type], place: str, owner: str) -> dict[str, Any]:
    """The plain data of an element, or of a motion of one."""
    cls: type = type(element)
    name = cls.__name__
    if name in undescribable():
        raise _function(owner, f"{place}.{undescribable()[name]}")
    if known.get(name) is not cls:
        raise DescriptionError(f"{owner} has the type {name}, which files do not know: save without it and add it after "
                               f"loading; known types are {', '.join(known)}", place)
    out = {"type": name}
    for field in fields_of(cls).values():
        value = getattr(element, field.name)
        if field.required or not _is(value, field.default):
            out[field.name] = _value(value, field.kind, f"{place}.{field.name}", owner)
    return out


def _is(value: object, default: object) -> bool:
    """Whether a value equals its default, bit by bit: 0.0 is not -0.0."""
    return repr(value) == repr(default)


def _function(owner: str, place: str) -> DescriptionError:
    return DescriptionError(f"{owner} has a Python function, which a file cannot hold; save without it and add it after loading", place)


def _value(value: Any, kind: str, place: str, owner: str) -> Any:
    if kind == FUNCTION:
        raise _function(owner, place)
    if kind == NUMBER:
        return _number(value, place, owner)
    if kind == TEXT:
        return _text(value, place, owner)
    if kind == SWITCH:
        return bool(value)
    if kind == MOTION:
        return _motion(value, place, owner)
    if kind == MATRIX and len(value) == 9:
        return _tensor([_number(x, place, owner) for x in value])
    one: Callable[[Any, str, str], Any] = {TEXTS: _text, MOTIONS: _motion, RATES: _rate}.get(kind, _number)
    return [one(x, f"{place}[{k}]", owner) for k, x in enumerate(value)]


def _tensor(entries: list[float]) -> list[float] | list[list[float]]:
    """Three principal moments for a diagonal tensor, otherwise three rows."""
    rows = [entries[0:3], entries[3:6], entries[6:9]]
    diagonal = [rows[k][k] for k in range(3)]
    return diagonal if _is(rows, np.diag(diagonal).tolist()) else rows


def _motion(value: Any, place: str, owner: str) -> float | dict[str, Any]:
    if type(value) is Constant:
        return _number(value.value, place, owner)
    if type(value).__name__ in undescribable():
        raise _function(owner, place)
    return _typed(value, motion_types(), place, owner)


def _number(value: Any, place: str, owner: str) -> float:
    x = float(value)
    if not np.isfinite(x):
        raise DescriptionError(f"{owner} has a number that is not finite: {x}", place)
    return x


def _rate(value: Any, place: str, owner: str) -> float | None:
    return None if value is None else _number(value, place, owner)


def _text(value: object, place: str, owner: str) -> str:
    text = str(value)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise DescriptionError(f"{owner} has a text with half a surrogate pair, which stands for no character", place)
    return text


# --- JSON -------------------------------------------------------------------------------------------------------------------------------


def _json(tree: Mapping[str, Any]) -> str:
    """One element per line; what is too long for a line is spread over several."""
    parts = [f'"{key}": {_json_spread(x, "  ") if key in SECTIONS else _json_text(x, "  ")}' for key, x in tree.items()]
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


_compact = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def _json_text(value: Any, pad: str, used: int = 0) -> str:
    """A value on one line if it fits behind `pad` and `used` characters more."""
    flat = _compact(value)
    return _json_spread(value, pad) if isinstance(value, list | dict) and len(pad) + used + len(flat) > WIDTH else flat


def _json_spread(value: Any, pad: str) -> str:
    inner = pad + "  "
    if isinstance(value, dict):
        items, (left, right) = [f'"{key}": {_json_text(x, inner, len(key) + 4)}' for key, x in value.items()], "{}"
    else:
        items, (left, right) = [_json_text(x, inner) for x in value], "[]"
    return left + ",".join(f"\n{inner}{item}" for item in items) + f"\n{pad}{right}"


# --- YAML -------------------------------------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^\W\d](?:[\w .+/-]*[\w.+/-])?")  # strings that need no quotes,
_TAKEN = re.compile(r"y|n|yes|no|on|off|true|false|null", re.IGNORECASE)  # except those that some YAML reader takes for another type


def _yaml(tree: Mapping[str, Any]) -> str:
    """One element per line; what is too long for a line is spread over several."""
    lines: list[str] = []
    for key, value in tree.items():
        lines += [f"{key}:", *_yaml_lines(value, "  ")] if key in SECTIONS else _yaml_lines({key: value}, "")
    return "\n".join(lines) + "\n"


def _yaml_lines(value: Any, pad: str) -> Iterator[str]:
    """Lines of an object or list."""
    items = value.items() if isinstance(value, dict) else ((None, x) for x in value)
    for key, item in items:
        head = f"{pad}{key}:" if key else f"{pad}-"
        flat = f"{head} {_flow(item)}"
        if not isinstance(item, list | dict) or len(flat) <= WIDTH:
            yield flat
        elif key:
            yield head
            yield from _yaml_lines(item, pad + "  ")
        else:
            first, *others = _yaml_lines(item, pad + "  ")
            yield f"{head} {first.strip()}"
            yield from others


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(x)}" for key, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(x) for x in value) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.isprintable() and not _TAKEN.fullmatch(value) else _quoted(value)
    return re.sub(r"^(-?\d+)e", r"\1.0e", _compact(value))  # 1e-05 is no number to readers of YAML 1.1


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable():
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}"
