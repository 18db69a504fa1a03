"""From a `Mechanism` to a file: fields that have their default are left out, numbers are written to the last bit."""

import json
import re
from functools import partial

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


def save(mechanism, path):
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


def describe(mechanism):
    """The plain data of a mechanism."""
    out = {"format": FORMAT, "version": VERSION}
    for name, field in top_fields().items():
        value = getattr(mechanism, name)
        if name in SECTIONS and value:
            out[name] = [_typed(e, types_of(name), f"{name}[{k}]", f"{type(e).__name__} {e.name!r}") for k, e in enumerate(value)]
        elif name not in SECTIONS and not _is(value, field.default):
            out[name] = _value(value, field.kind, name, "Mechanism")
    return out


def _typed(element, known, place, owner):
    """The plain data of an element, or of a motion of one."""
    cls = type(element)
    name = cls.__name__
    if name in undescribable():
        raise _function(owner, f"{place}.{undescribable()[name]}")
    if known.get(name) is not cls:
        raise DescriptionError(f"{owner} has the type {name}, which is not one of mbdae; known types are {', '.join(known)}", place)
    out = {"type": name}
    for field in fields_of(cls).values():
        value = getattr(element, field.name)
        if field.required or not _is(value, field.default):
            out[field.name] = _value(value, field.kind, f"{place}.{field.name}", owner)
    return out


def _is(value, default):
    """Whether a value is its default, to the last bit: 0.0 is not -0.0."""
    return repr(value) == repr(default)


def _function(owner, place):
    return DescriptionError(f"{owner} has a Python function, which a file cannot hold; save without it and add it after loading", place)


def _value(value, kind, place, owner):
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
    one = {TEXTS: _text, MOTIONS: _motion, RATES: _rate}.get(kind, _number)
    return [one(x, f"{place}[{k}]", owner) for k, x in enumerate(value)]


def _tensor(entries):
    """Three principal moments where they say everything, otherwise three rows."""
    rows = [entries[0:3], entries[3:6], entries[6:9]]
    diagonal = [rows[k][k] for k in range(3)]
    return diagonal if _is(rows, np.diag(diagonal).tolist()) else rows


def _motion(value, place, owner):
    if type(value) is Constant:
        return _number(value.value, place, owner)
    if type(value).__name__ in undescribable():
        raise _function(owner, place)
    return _typed(value, motion_types(), place, owner)


def _number(value, place, owner):
    x = float(value)
    if not np.isfinite(x):
        raise DescriptionError(f"{owner} has a number that is not finite: {x}", place)
    return x


def _rate(value, place, owner):
    return None if value is None else _number(value, place, owner)


def _text(value, place, owner):
    text = str(value)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise DescriptionError(f"{owner} has a text with half a surrogate pair, which stands for no character", place)
    return text


# --- JSON -------------------------------------------------------------------------------------------------------------------------------


def _json(tree):
    """One element per line; what is too long for a line is spread over several."""
    parts = [f'"{key}": {_json_spread(x, "  ") if key in SECTIONS else _json_text(x, "  ")}' for key, x in tree.items()]
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


_compact = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def _json_text(value, pad, used=0):
    """A value on one line if it fits behind `pad` and `used` characters more."""
    flat = _compact(value)
    return _json_spread(value, pad) if isinstance(value, list | dict) and len(pad) + used + len(flat) > WIDTH else flat


def _json_spread(value, pad):
    inner = pad + "  "
    if isinstance(value, dict):
        items, (left, right) = [f'"{key}": {_json_text(x, inner, len(key) + 4)}' for key, x in value.items()], "{}"
    else:
        items, (left, right) = [_json_text(x, inner) for x in value], "[]"
    return left + ",".join(f"\n{inner}{item}" for item in items) + f"\n{pad}{right}"


# --- YAML -------------------------------------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^\W\d](?:[\w .+/-]*[\w.+/-])?")  # texts that need no quotes,
_TAKEN = re.compile(r"y|n|yes|no|on|off|true|false|null", re.IGNORECASE)  # unless some reader takes them for something else


def _yaml(tree):
    """One element per line; what is too long for a line is spread over several."""
    lines = []
    for key, value in tree.items():
        lines += [f"{key}:", *_yaml_lines(value, "  ")] if key in SECTIONS else _yaml_lines({key: value}, "")
    return "\n".join(lines) + "\n"


def _yaml_lines(value, pad):
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


def _flow(value):
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(x)}" for key, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(x) for x in value) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.isprintable() and not _TAKEN.fullmatch(value) else _quoted(value)
    return re.sub(r"^(-?\d+)e", r"\1.0e", _compact(value))  # 1e-05 is no number to readers of YAML 1.1


def _quoted(text):
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(c):
    if c in '"\\':
        return "\\" + c
    if c.isprintable():
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}"
