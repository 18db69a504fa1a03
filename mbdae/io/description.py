"""Schema of mechanism files: types, fields and kinds of values, derived from the dataclasses of the model."""

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from ..model import base, bodies, drivers, forces, joints, motions, primitives
from ..model.mechanism import Mechanism

FORMAT = "mbdae-mechanism"
VERSION = 1
SECTIONS = {"bodies": (bodies,), "joints": (joints, primitives), "drivers": (drivers, primitives), "forces": (forces,)}

# kinds of values
NUMBER, TEXT, SWITCH, MOTION = "number", "text", "true or false", "motion"
VECTOR, MATRIX, TEXTS, MOTIONS = "list of numbers", "list of numbers or of rows", "list of texts", "list of motions"
RATES = "list of numbers or null"
FUNCTION = "function"  # a Python function, which a file cannot contain

_KINDS = {float: NUMBER, str: TEXT, bool: SWITCH, motions.Motion: MOTION}
_LISTS = {"inertia": MATRIX, "orientation": MATRIX, "normal": TEXTS, "force": MOTIONS, "torque": MOTIONS, "velocity": RATES,
          "omega": RATES}  # tuples of something else
_SIZES = {"inertia": "3 numbers or 3 rows of 3", "orientation": "4 numbers or 3 rows of 3",
          "coefficients": f"1 to {motions.MAX_COEFFICIENTS} numbers", "normal": "texts", "force": "3 motions", "torque": "3 motions"}


class DescriptionError(ValueError):
    """A description that cannot be read or written.

    Attributes
    ----------
    reason : str
        What is wrong and what would be right.
    place : str
        Path inside the file such as `bodies[2].mass`, or line and column; empty for the file as a whole.
    file : str

    Examples
    --------
    >>> import mbdae
    >>> error = mbdae.DescriptionError("must be a number", "bodies[2].mass", "four-bar.yaml")
    >>> error.place
    'bodies[2].mass'
    """

    def __init__(self, reason: str, place: str = "", file: str = "") -> None:
        super().__init__(reason, place, file)
        self.reason, self.place, self.file = reason, place, file

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.place, self.reason) if part)


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a type in a file; `default` is `dataclasses.MISSING` for a required field."""

    name: str
    kind: str
    default: object

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING


@cache
def types_of(section: str) -> dict[str, type]:
    """Types allowed in a section, by name."""
    return {name: cls for module in SECTIONS[section] for name, cls in _elements(module) if not _needs_function(cls)}


@cache
def motion_types() -> dict[str, type]:
    """Types of motions, by name."""
    return {cls.__name__: cls for cls in typing.get_args(motions.Motion) if not _needs_function(cls)}


def _elements(module: ModuleType) -> list[tuple[str, type]]:
    return [(name, cls) for name, cls in vars(module).items()
            if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == module.__name__ and not name.startswith("_")]


@cache
def undescribable() -> dict[str, str]:
    """Types that a file cannot contain, by name, each with the required field that is a function."""
    found = [cls for modules in SECTIONS.values() for module in modules for _, cls in _elements(module)]
    return {cls.__name__: field for cls in (*found, *typing.get_args(motions.Motion)) if (field := _needs_function(cls))}


def _needs_function(cls: type) -> str | None:
    return next((f.name for f in fields_of(cls).values() if f.kind == FUNCTION and f.required), None)


@cache
def fields_of(cls: type) -> dict[str, Field]:
    """Fields of a type, by name, in the order of the dataclass."""
    return {f.name: Field(f.name, _kind(f), f.default) for f in dataclasses.fields(cls) if f.init}


def _kind(field: dataclasses.Field[Any]) -> str:
    kind = field.type
    if isinstance(kind, types.UnionType) and kind != motions.Motion:  # something or None
        kind = typing.get_args(kind)[0]
    origin = typing.get_origin(kind)
    if origin is Callable:
        return FUNCTION
    return _LISTS.get(field.name, VECTOR) if origin is tuple else _KINDS[kind]


@cache
def top_fields() -> dict[str, Field]:
    """Fields at the top level of a file besides `format` and `version`: those of a mechanism."""
    given = {f.name: f.default for f in dataclasses.fields(Mechanism) if f.init}
    kinds = {"name": TEXT, "gravity": VECTOR}
    return {name: Field(name, kinds.get(name, "section"), given[name]) for name in sorted(given, key=lambda name: name in SECTIONS)}


# --- the tables of docs/file-format.md --------------------------------------------------------------------------------------------------


_HEADINGS = {"Bodies, in `bodies`": bodies, "Joints, in `joints`": joints, "Primitive constraints, in `joints` or `drivers`": primitives,
             "Drivers, in `drivers`": drivers, "Forces, in `forces`": forces, "Motions, as values": motions}


def tables() -> str:
    """All types and fields as Markdown."""
    return "\n".join(f"### {heading}\n\n{_table(module)}" for heading, module in _HEADINGS.items())


def _table(module: ModuleType) -> str:
    head = "| type | fields that must be given | fields with defaults | what it is |\n| --- | --- | --- | --- |\n"
    return head + "".join(_row(name, cls) for name, cls in _elements(module) if not _needs_function(cls))


def _row(name: str, cls: type) -> str:
    fields = [f for f in fields_of(cls).values() if f.kind != FUNCTION and f.name != "name"]
    required = ", ".join(f"`{f.name}` {size(cls, f)}" for f in fields if f.required)
    optional = ", ".join(f"`{f.name}` {size(cls, f)}{_default(f)}" for f in fields if not f.required)
    return f"| `{name}` | {required or '-'} | {optional or '-'} | {(cls.__doc__ or '').splitlines()[0].rstrip('.:')} |\n"


def size(cls: type, field: Field) -> str:
    """The kind of value of a field, with the number of entries."""
    planar = issubclass(cls, bodies.PlanarBody | base.PlanarJoint)
    return _SIZES.get(field.name, f"{2 if planar else 3} numbers") if field.kind in (VECTOR, MATRIX, TEXTS, MOTIONS, RATES) else field.kind


def _default(field: Field) -> str:
    value = getattr(field.default, "value", field.default)
    if value is None:
        return ""
    return f" `{json.dumps(value)}`".replace(".0", "")
