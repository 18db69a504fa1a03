"""What the commands have in common: checked options, mechanisms with parameters, files to write to."""

import argparse
import ast
import math
import os
from pathlib import Path

from .. import library
from ..methods import find

MOST_BYTES = 4e9


class Refusal(ValueError):
    """A request that cannot be met; its message is all the user gets to see."""


def positive(text):
    """A positive finite number."""
    try:
        x = float(text)
    except ValueError:
        x = math.nan
    if not (math.isfinite(x) and x > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return x


def natural(text):
    """A positive integer."""
    try:
        n = int(text)
    except ValueError:
        n = 0
    if n < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return n


def positives(text):
    """Positive numbers separated by commas, largest first, none twice."""
    return tuple(sorted({positive(part) for part in _parts(text)}, reverse=True))


def methods(text):
    """Methods separated by commas, none twice."""
    return tuple(dict.fromkeys(method(part) for part in _parts(text)))


def method(text):
    """A method by name."""
    try:
        return find(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def assignment(text):
    """`name=value` as a pair of strings."""
    name, sign, value = text.partition("=")
    if not (sign and name.strip() and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name.strip(), value.strip()


def _parts(text):
    return [part.strip() for part in text.split(",") if part.strip()] or [text]


def parser_of_mechanism():
    """Options that name a mechanism, to be inherited by the parsers of commands."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("mechanism", metavar="MECHANISM", help="name of a mechanism, see 'mbdae list'")
    common.add_argument("--set", metavar="NAME=VALUE", type=assignment, action="append", default=[], dest="parameters",
                        help="parameter of the mechanism, e.g. --set mu=0.2; may be repeated")
    common.add_argument("--t-end", metavar="T", type=positive, help="end of the time span, which begins at 0 [s]")
    return common


def build(name, assignments):
    """Entry, parameters and mechanism."""
    entry = library.entry(name)
    parameters = {}
    for key, text in assignments:
        if key not in entry.parameters:
            raise Refusal(f"{name!r} has no parameter {key!r}; it has {', '.join(entry.parameters) or 'none'}")
        parameters[key] = _value(text, entry.parameters[key], key)
    return entry, parameters, library.mechanism(name, **parameters)


def _value(text, default, key):
    """The text as a value of the kind of the default."""
    if isinstance(default, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if isinstance(default, (int, float)) and (isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, (int, float))):
        raise Refusal(f"--set {key}={text}: {text!r} is not a {'truth value' if isinstance(default, bool) else 'number'}")
    return value


def output_folder(path):
    """A folder that exists and can be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise Refusal(f"cannot make the folder {path}: {e.strerror}") from None
    if not os.access(path, os.W_OK):
        raise Refusal(f"cannot write to the folder {path}: Permission denied")
    return path


def output_file(path, endings):
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


def check_steps(system, t_end, steps):
    """Refuse steps so small that their states would not fit into memory."""
    for h in steps:
        n, size = t_end / h, 8.0 * (system.nq + 2 * system.nv + system.nc + 1)
        if n * size > MOST_BYTES:
            raise Refusal(f"h = {h:g} makes {n:.3g} steps, whose states need {n * size / 1e9:.3g} GB; take larger steps or a shorter time")
