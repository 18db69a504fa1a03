"""Common parts of the commands: validated options, mechanisms with parameters, output files."""

from __future__ import annotations

import argparse
import ast
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .refusal import Refusal as Refusal

if TYPE_CHECKING:  # numerical code is imported where it is used: the help of a command does not wait for it
    from ..library.base import Entry, Observables, Parameter, Parameters
    from ..registry import MethodSpec
    from ..system.system import System
    from ..typing import Vector

Commands: TypeAlias = "argparse._SubParsersAction[Any]"  # what `add_subparsers` returns

MAX_BYTES = 4e9
ENDINGS_OF_FILES = (".json", ".yaml", ".yml")


def positive(text: str) -> float:
    """A positive finite number."""
    try:
        x = float(text)
    except ValueError:
        x = math.nan
    if not (math.isfinite(x) and x > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return x


def natural(text: str) -> int:
    """A positive integer."""
    try:
        n = int(text)
    except ValueError:
        n = 0
    if n < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return n


def positives(text: str) -> tuple[float, ...]:
    """Positive numbers separated by commas, largest first, none twice."""
    return tuple(sorted({positive(part) for part in _parts(text)}, reverse=True))


def methods(text: str) -> tuple[MethodSpec, ...]:
    """Methods separated by commas, none twice."""
    return tuple(dict.fromkeys(method(part) for part in _parts(text)))


def method(text: str) -> MethodSpec:
    """A method by name."""
    from ..registry import find

    try:
        return find(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def assignment(text: str) -> tuple[str, str]:
    """`name=value` as a pair of strings."""
    name, sign, value = text.partition("=")
    if not (sign and name.strip() and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name.strip(), value.strip()


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] or [text]


def parser_of_mechanism(optional: bool = False) -> argparse.ArgumentParser:
    """Options that select a mechanism, a parent of the parsers of commands."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("mechanism", metavar="MECHANISM", nargs="?" if optional else None,
                        help="name of a mechanism, see 'mbdae list', or a file, see docs/file-format.md")
    common.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], dest="parameters",
                        help="parameter of the mechanism, e.g. --set mu=0.2; may be repeated")
    common.add_argument("--t-end", metavar="T", type=positive, help="end of the time span, which begins at 0 [s]")
    return common


def build(name: str, assignments: Sequence[tuple[str, str]]) -> tuple[Entry, Parameters, System]:
    """Entry, parameters and system of a mechanism of the library or of a file."""
    from .. import library
    from ..system.system import System

    if is_file(name):
        if assignments:
            raise Refusal(f"a file has no parameters: --set {assignments[0][0]} is for mechanisms of the library")
        entry = entry_of_file(name)
        mechanism = entry.build()
        return entry, {}, mechanism if isinstance(mechanism, System) else System(mechanism)
    entry = entry_called(name)
    parameters = parameters_of(entry, assignments)
    return entry, parameters, library.system(name, **parameters)


def is_file(name: str) -> bool:
    """Whether a mechanism is meant to be in a file."""
    return Path(name).suffix.lower() in ENDINGS_OF_FILES


def entry_called(name: str) -> Entry:
    """An entry of the library, or that of a mechanism in a file."""
    from .. import library

    if is_file(name):
        return entry_of_file(name)
    path = Path(name)
    if path.suffix or len(path.parts) > 1:
        raise Refusal(f"there is no mechanism {name!r} in the library, and the name of a file ends in {' or '.join(ENDINGS_OF_FILES)}")
    return library.entry(name)


def parameters_of(entry: Entry, assignments: Sequence[tuple[str, str]]) -> dict[str, Parameter]:
    """Parameters of an entry from pairs of strings."""
    parameters = {}
    for key, text in assignments:
        if key not in entry.parameters:
            raise Refusal(f"{entry.name!r} has no parameter {key!r}; it has {', '.join(entry.parameters) or 'none'}")
        parameters[key] = _value(text, entry.parameters[key], key)
    return parameters


def entry_of_file(path: str) -> Entry:
    """An entry for a mechanism in a file.

    Raises
    ------
    Refusal, DescriptionError
    """
    from .. import library
    from ..io import load
    from ..model.bodies import RigidBody

    try:
        mechanism = load(path)
    except OSError as e:
        raise Refusal(f"cannot read {path}: {e.strerror or e}") from None
    planar = not any(isinstance(b, RigidBody) for b in mechanism.bodies) and all(_in_plane(b) for b in mechanism.bodies)
    return library.Entry(name=Path(path).stem, title=mechanism.name, summary="", source=str(path), build=lambda: mechanism, parameters={},
                         t_end=1.0, step=1e-3, observe=_centres, view="xy" if planar else "3d")


def _in_plane(body: Any) -> bool:
    from ..model.bodies import PlanarBody

    return isinstance(body, PlanarBody) or (body.position[2] == 0.0 and not (body.velocity or (0.0, 0.0, 0.0))[2])


def _centres(system: System, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Observables:
    """Positions of the bodies and the energy."""
    from ..model.bodies import PlanarBody

    found: Observables = {}
    for body in system.mechanism.bodies if system.mechanism is not None else ():
        place = q[system.coordinates(body.name)[0]][:2 if isinstance(body, PlanarBody) else 3]
        found |= {f"{body.name}.{axis}": float(x) for axis, x in zip("xyz", place)}
    return found | {"energy": system.energy(t, q, v)}


def _value(text: str, default: Parameter, key: str) -> Parameter:
    """The text as a value of the type of the default."""
    if isinstance(default, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if isinstance(default, (int, float)) and (isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, (int, float))):
        raise Refusal(f"--set {key}={text}: {text!r} is not a {'truth value' if isinstance(default, bool) else 'number'}")
    return value


def output_folder(path: str | Path) -> Path:
    """A folder that exists and can be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise Refusal(f"cannot make the folder {path}: {e.strerror}") from None
    if not os.access(path, os.W_OK):
        raise Refusal(f"cannot write to the folder {path}: Permission denied")
    return path


def output_file(path: str | Path, endings: Sequence[str]) -> Path:
    """A path with one of the endings, in a folder that can be written to."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise Refusal(f"{str(path)!r}: the file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise Refusal(f"cannot write {path}: it is a folder")
    output_folder(path.parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise Refusal(f"cannot write {path}: Permission denied")
    return path


def check_steps(system: System, t_end: float, steps: Iterable[float]) -> None:
    """Raise `Refusal` for steps so small that the states would not fit into memory."""
    for h in steps:
        n, size = t_end / h, 8.0 * (system.nq + 2 * system.nv + system.nc + 1)
        if n * size > MAX_BYTES:
            raise Refusal(f"h = {h:g} makes {n:.3g} steps, whose states need {n * size / 1e9:.3g} GB; take larger steps or a shorter time")
