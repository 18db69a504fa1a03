"""From text to plain objects, lists, numbers, strings, booleans and null; JSON by the standard library, YAML by the parser of PyYAML.

YAML follows the core schema of YAML 1.2, without tags, anchors and aliases. Only plain data are constructed.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from .description import DescriptionError

Data: TypeAlias = "Object | list[Data] | str | float | bool | None"
Events: TypeAlias = Iterator[Any]  # of PyYAML

ENDINGS = (".json", ".yaml", ".yml")
MAX_DEPTH = 32
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Object(dict[str, Data]):
    """An object of the file; `duplicate` is a key that appears more than once."""

    def __init__(self, pairs: list[tuple[str, Data]]) -> None:
        super().__init__(pairs)
        self.duplicate: str | None = None
        if len(self) < len(pairs):
            self.duplicate = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)


def as_path(caller: str, path: object) -> Path:
    """The name of a file as a `Path`."""
    if not isinstance(path, (str, Path)):
        raise DescriptionError(f"{caller}: the name of a file must be a str or a Path, got {path!r}")
    return Path(path)


def check_ending(path: Path) -> str:
    """The ending of a path in small letters."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise DescriptionError(f"the name of the file must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    return ending


def decode(content: bytes) -> str:
    """Text of a file in UTF-8, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DescriptionError(f"the file is not text in UTF-8 (byte {content[error.start]:#04x} at position {error.start}); "
                               "save it in this encoding") from None
    if not text.strip():
        raise DescriptionError("the file is empty")
    return text


def parse(text: str, ending: str) -> Data:
    """The plain data in a text."""
    return _json(text) if ending == ".json" else _yaml(text)


def _json(text: str) -> Data:
    try:
        data: Data = json.loads(text, parse_int=float, object_pairs_hook=Object)
        return data
    except json.JSONDecodeError as error:
        raise _at(error.lineno, error.colno, f"no valid JSON: {error.msg}") from None
    except RecursionError:
        raise DescriptionError("the file is nested too deeply") from None


def _at(line: int, column: int, reason: str) -> DescriptionError:
    return DescriptionError(reason, f"line {line}, column {column}")


# --- YAML -------------------------------------------------------------------------------------------------------------------------------

_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_SPECIAL = re.compile(r"([-+]?\.(inf|Inf|INF))|\.(nan|NaN|NAN)")
_WORDS = {word: value for name, value in (("null", None), ("true", True), ("false", False))
          for word in (name, name.capitalize(), name.upper())} | {"": None, "~": None}


_REMEDIES = {
    "',' or '}'": "fields are separated by commas, and a text that contains ': ' or ', ' needs quotes",
    "mapping values are not allowed": "a dash and a colon are followed by a space, and a text that contains ': ' needs quotes",
    "tab character": "indent by spaces",
}


def _remedy(reason: str) -> str:
    """What is usually wrong."""
    return next((f"; {remedy}" for sign, remedy in _REMEDIES.items() if sign in reason), "")


def _yaml(text: str) -> Data:
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        column = control.start() - text.rfind("\n", 0, control.start())
        raise _at(line, column, f"no valid YAML: the character U+{ord(control[0]):04X} is not allowed")
    events = yaml.parse(text, Loader=LOADER)
    try:
        return _document(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ": ".join(part for part in (error.context, error.problem) if part)
        raise _at(mark.line + 1, mark.column + 1, f"no valid YAML: {reason}{_remedy(reason)}") from None
    except DescriptionError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # such as an escape that names no character
        raise DescriptionError(f"no valid YAML: {error}") from None
    finally:
        events.close()


def _document(events: Events) -> Data:
    next(events)  # start of the stream
    if isinstance(next(events), yaml.StreamEndEvent):
        raise DescriptionError("the file is empty")
    data = _compose(events, next(events), 1)
    next(events)  # end of the document
    event = next(events)
    if not isinstance(event, yaml.StreamEndEvent):
        raise _refused(event, "a second document begins here; a file holds one mechanism")
    return data


def _compose(events: Events, event: Any, depth: int) -> Data:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _refused(event, "anchors (&) and aliases (*) are not allowed; write the value out, and names with these signs in quotes")
    if event.tag is not None:
        raise _refused(event, f"tags are not allowed; leave out {event.tag}, and write texts that begin with ! in quotes")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else plain(event.value)
    if depth > MAX_DEPTH:
        raise _refused(event, "nested too deeply")
    if isinstance(event, yaml.SequenceStartEvent):
        return [_compose(events, item, depth + 1) for item in _until(events, yaml.SequenceEndEvent)]
    return Object([(_key(key), _compose(events, next(events), depth + 1)) for key in _until(events, yaml.MappingEndEvent)])


def _until(events: Events, end: type[Any]) -> Iterator[Any]:
    while not isinstance(event := next(events), end):
        yield event


def _key(event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent) or event.tag is not None or event.anchor is not None:
        raise _refused(event, "a key must be the plain name of a field")
    key: str = event.value
    return key


def _refused(event: Any, reason: str) -> DescriptionError:
    return _at(event.start_mark.line + 1, event.start_mark.column + 1, reason)


def plain(text: str) -> bool | float | str | None:
    """The value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    if _INTEGER.fullmatch(text):
        try:
            return float(int(text[2:], 8 if text[1] == "o" else 16))
        except OverflowError:
            return math.inf
    return text
