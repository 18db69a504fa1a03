"""From a file to a `Mechanism`: the kind of every value is validated here, the rest by the dataclasses."""

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..model.bodies import GROUND
from ..model.mechanism import Mechanism
from ..spelling import guess
from . import syntax
from .description import (
    FORMAT,
    MATRIX,
    MOTION,
    MOTIONS,
    NUMBER,
    RATES,
    SECTIONS,
    SWITCH,
    TEXT,
    TEXTS,
    VECTOR,
    VERSION,
    DescriptionError,
    Field,
    fields_of,
    motion_types,
    size,
    top_fields,
    types_of,
    undescribable,
)
from .syntax import Data

E = TypeVar("E")

MAX_BYTES = 16 * 2**20
MAX_NAMES = 12  # listed in a message
_HEAD = ("format", "version")
_MOTION_EXAMPLE = "a number or a motion such as {type: Polynomial, coefficients: [0, 1]}"


def load(path: str | Path, max_bytes: int = MAX_BYTES) -> Mechanism:
    """The mechanism described by a file, JSON (`.json`) or YAML (`.yaml`, `.yml`); docs/file-format.md has the format.

    Nothing in a file is ever executed.

    Parameters
    ----------
    path : str or path
    max_bytes : int
        Larger files are refused.

    Returns
    -------
    Mechanism

    Raises
    ------
    DescriptionError
        A `ValueError` that names the file, the place in it, what is wrong and what would be right.
    OSError
        There is no such file, or it cannot be opened.

    Examples
    --------
    >>> import mbdae
    >>> mechanism = mbdae.load("four-bar.yaml")  # doctest: +SKIP
    """
    path = syntax.as_path("load", path)
    try:
        ending = syntax.check_ending(path)
        return from_text(syntax.decode(_content(path, max_bytes)), ending)
    except DescriptionError as error:
        error.file = str(path)
        raise


def from_text(text: str, ending: str) -> Mechanism:
    """The mechanism described by the text of a file with this ending, `".json"`, `".yaml"` or `".yml"`; see `load`."""
    return _mechanism(syntax.parse(text, ending))


def _content(path: Path, max_bytes: int) -> bytes:
    try:
        most = operator.index(max_bytes)
    except TypeError:
        most = 0
    if most < 1:
        raise DescriptionError(f"max_bytes must be a positive integer, got {max_bytes!r}")
    if path.is_dir():
        raise DescriptionError("this is a folder; name a file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise DescriptionError(f"the file has more than {most} bytes; if it is meant to be so large, raise max_bytes")
    return content


def _mechanism(tree: Data) -> Mechanism:
    fields = top_fields()
    if not isinstance(tree, syntax.Object):
        raise DescriptionError(f"the file must hold an object with the keys {', '.join([*_HEAD, *fields])}, got {_described(tree)}")
    _check_head(tree)
    given = _given(tree, fields, "", _HEAD, "a mechanism")
    parts = {key: _section(value, key) if key in SECTIONS else _value(value, fields[key].kind, key, "3 numbers")
             for key, value in given.items()}
    _check_names(parts)
    if parts["bodies"]:
        _check_references(parts)
    return _made(Mechanism, parts, lambda message: _place_of(message, parts))


def _check_head(tree: syntax.Object) -> None:
    if tree.get("format") != FORMAT:
        got = _described(tree["format"]) if "format" in tree else "nothing"
        raise DescriptionError(f"must be {FORMAT}, got {got}; this key marks a file as the description of a mechanism", "format")
    version = tree.get("version")
    if isinstance(version, bool) or version != VERSION:
        got = _described(version) if "version" in tree else "nothing"
        raise DescriptionError(f"must be {VERSION}, the version that this release reads, got {got}", "version")


def _section(value: Data, section: str) -> list[Any]:
    if not isinstance(value, list):
        raise DescriptionError(f"must be a list of objects, got {_described(value)}", section)
    return [_typed(item, types_of(section), f"{section}[{k}]", _elsewhere) for k, item in enumerate(value)]


def _elsewhere(name: str) -> str:
    """Suffix of the message about an unknown type."""
    home = next((section for section in SECTIONS if name in types_of(section)), None)
    if home:
        return f"; it belongs to the {home}"
    return "; it is made of a Python function, which a file cannot hold: add it after loading" if name in undescribable() else ""


# --- objects with a type ----------------------------------------------------------------------------------------------------------------


def _typed(value: Data, known: Mapping[str, type], place: str, hint: Callable[[str], str]) -> Any:
    """A dataclass from an object with a `type` and the fields of it."""
    if not isinstance(value, syntax.Object):
        raise DescriptionError(f"must be an object with a type and its fields, got {_described(value)}", place)
    if "type" not in value:
        raise DescriptionError(f"field 'type' is missing; known types are {', '.join(known)}", place)
    name = _value(value["type"], TEXT, f"{place}.type")
    if name not in known:
        raise DescriptionError(f"unknown type {_short(name)}{hint(name) or guess(name, known)}; known types are {', '.join(known)}",
                               f"{place}.type")
    cls = known[name]
    fields = fields_of(cls)
    given = {key: _value(item, fields[key].kind, f"{place}.{key}", size(cls, fields[key]))
             for key, item in _given(value, fields, place, ("type",), f"a {name}").items()}
    element: Any = _made(cls, given, lambda message: _field_of(message, given, place))
    for key in given:
        if fields[key].kind in (VECTOR, MATRIX):
            _check_finite(getattr(element, key), f"{place}.{key}")
    return element


def _given(value: syntax.Object, fields: Mapping[str, Field], place: str, others: Sequence[str], owner: str) -> dict[str, Data]:
    """The given fields of an object; optional fields without a default, and sections, may be null."""
    if value.duplicate is not None:
        raise DescriptionError(f"{_short(value.duplicate)} appears twice; keep one of them", place)
    for key in value:
        if key not in fields and key not in others:
            raise DescriptionError(f"unknown field {_short(key)}{guess(key, fields)}; {owner} has {', '.join([*others, *fields])}", place)
    for field in fields.values():
        if field.required and field.name not in value:
            needed = ", ".join([*others, *(f.name for f in fields.values() if f.required)])
            raise DescriptionError(f"field {field.name!r} is missing; {owner} needs {needed}", place)
    return {key: item for key, item in value.items() if key in fields and not (item is None and fields[key].default in (None, ()))}


def _made(cls: type[E], given: Mapping[str, Any], place: Callable[[str], str]) -> E:
    """A dataclass; its `ValueError` becomes a `DescriptionError` with the place in the file."""
    try:
        with np.errstate(all="ignore"):
            return cls(**given)
    except ValueError as error:
        raise DescriptionError(str(error), place(str(error))) from error
    except ArithmeticError as error:
        raise DescriptionError(f"{cls.__name__}: some numbers are too large or too small to compute with ({error})", place("")) from error


def _check_finite(made: Sequence[float], place: str) -> None:
    """Normalisation of finite numbers in a dataclass may overflow."""
    if not all(map(math.isfinite, made)):
        raise DescriptionError("some numbers are too large to compute with", place)


def _field_of(message: str, given: Mapping[str, object], place: str) -> str:
    """Place of the field named in a message of a dataclass such as `particle 'ball': mass must be positive`."""
    about = message.partition(f"{given['name']!r}: " if "name" in given else ": ")[2]
    found = re.match(r"(\w+)(\[\d\])?\b", about)
    return f"{place}.{found[0]}".lstrip(".") if found and found[1] in given else place


def _place_of(message: str, parts: Mapping[str, Any]) -> str:
    """Place of the element or field named in a message of the mechanism such as `Rod 'strut': both ends are on 'a'`."""
    elements = [(f"{section}[{k}]", e) for section in SECTIONS for k, e in enumerate(parts.get(section, ()))]
    exact = next(((place, e) for place, e in elements if message.startswith(f"{type(e).__name__} {e.name!r}: ")), None)
    if exact:
        return _field_of(message, vars(exact[1]), exact[0])
    return next((place for place, e in elements if _names_a_part(message, e.name)), _field_of(message, parts, ""))


def _names_a_part(message: str, name: str) -> bool:
    """Whether a message is about a primitive constraint of the joint, called `joint` or `joint.part`."""
    quoted = re.escape(repr(name)[:-1])
    return re.match(rf"\w+ {quoted}(\.\w+)?['\"]: ", message) is not None


# --- values -----------------------------------------------------------------------------------------------------------------------------


def _value(value: Data, kind: str, place: str, wanted: str = "") -> Any:
    """A value of a kind."""
    if kind == NUMBER:
        return _number(value, place)
    if kind == TEXT:
        return _text(value, place)
    if kind == MOTION:
        return _motion(value, place)
    if kind == SWITCH:
        if not isinstance(value, bool):
            raise DescriptionError(f"must be true or false, got {_described(value)}", place)
        return value
    if kind not in (VECTOR, MATRIX, TEXTS, MOTIONS, RATES):
        raise DescriptionError("is a Python function, which a file cannot hold; add it after loading", place)
    if not isinstance(value, list):
        raise DescriptionError(f"must be a list of {wanted}, got {_described(value)}", place)
    one = {TEXTS: _text, MOTIONS: _motion, RATES: _rate}.get(kind, _number)
    if kind == MATRIX:
        if len(value) not in (3, 4):
            raise DescriptionError(f"must be a list of {wanted}, got {_described(value)}", place)
        one = _row if any(isinstance(row, list) for row in value) else _number
    return tuple(one(item, f"{place}[{k}]") for k, item in enumerate(value))


def _row(value: Data, place: str) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != 3:
        raise DescriptionError(f"must be a row of 3 numbers, got {_described(value)}", place)
    return tuple(_number(x, f"{place}[{k}]") for k, x in enumerate(value))


def _number(value: Data, place: str) -> float:
    if not isinstance(value, float):
        hint = "; write it without quotes" if isinstance(value, str) and isinstance(syntax.plain(value), float) else ""
        raise DescriptionError(f"must be a number, got {_described(value)}{hint}", place)
    if not math.isfinite(value):
        raise DescriptionError(f"must be a finite number, got {value}", place)
    return value


def _rate(value: Data, place: str) -> float | None:
    return None if value is None else _number(value, place)


def _text(value: Data, place: str) -> str:
    if not isinstance(value, str):
        hint = "" if isinstance(value, list | dict) else "; put it in quotes"
        raise DescriptionError(f"must be a text, got {_described(value)}{hint}", place)
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise DescriptionError("must be a text, but half a surrogate pair stands for no character; write the character itself", place)
    return value


def _motion(value: Data, place: str) -> Any:
    if isinstance(value, syntax.Object):
        return _typed(value, motion_types(), place, _elsewhere)
    if not isinstance(value, float):
        raise DescriptionError(f"must be {_MOTION_EXAMPLE}, got {_described(value)}", place)
    return _number(value, place)


# --- names ------------------------------------------------------------------------------------------------------------------------------


def _check_names(parts: Mapping[str, Any]) -> None:
    for section in SECTIONS:
        first: dict[str, int] = {}
        for k, element in enumerate(parts.get(section, ())):
            if first.setdefault(element.name, k) != k:
                raise DescriptionError(f"the name {_short(element.name)} appears twice, first in {section}[{first[element.name]}]; "
                                       "choose another", f"{section}[{k}].name")


def _check_references(parts: Mapping[str, Any]) -> None:
    bodies = {GROUND: None} | {b.name: b for b in parts["bodies"]}
    joints = {e.name: e for e in parts.get("joints", ())}
    for section in ("joints", "drivers", "forces"):
        for k, element in enumerate(parts.get(section, ())):
            for field, what, known in (("i", "body", bodies), ("j", "body", bodies), ("body", "body", bodies), ("joint", "joint", joints)):
                name = getattr(element, field, None)
                if name is not None and name not in known:
                    reason = f"there is no {what} {_short(name)}{guess(name, known) or _list(known)}"
                    raise DescriptionError(reason, f"{section}[{k}].{field}")


# --- messages ---------------------------------------------------------------------------------------------------------------------------


def _described(value: Data) -> str:
    """A value in a message."""
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return f"the text {_short(value)}"
    if isinstance(value, float):
        return f"the number {value:.15g}"
    return {None: "nothing (null)", True: "true", False: "false"}[value]


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _list(names: Collection[str]) -> str:
    more = ", ..." if len(names) > MAX_NAMES else ""
    return f"; there are {', '.join(list(names)[:MAX_NAMES])}{more}" if names else "; there is none"
