"""What identifies a system and a method in a file: their data in words and as hashes, without addresses of the process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..system.system import System

SECTIONS = {"bodies": "body", "joints": "joint", "drivers": "driver", "forces": "force"}
MAX_DIFFERENCE = 1e-6  # relative, of the values of a user's functions
MAX_DEPTH = 8  # of what functions refer to
_PLAIN = (bool, int, float)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def canonical(value: Any, depth: int = 0) -> str:
    """A value in words, the same in every process: numbers in full, long arrays by their hash, functions by name and what they refer to."""
    if value is None or type(value) in _PLAIN:  # most values
        return repr(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return f"array({value.dtype.str}, {value.shape}, {_hash(np.ascontiguousarray(value).tobytes())})"
    if is_dataclass(value) and not isinstance(value, type):
        given = (f"{name}={canonical(getattr(value, name), depth + 1)}" for name in _shown_fields(type(value)))
        return f"{type(value).__qualname__}({', '.join(given)})"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(canonical(x, depth + 1) for x in value)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {canonical(x, depth + 1)}' for key, x in value.items())}}}"
    return _function(value, depth) if callable(value) else _ADDRESS.sub("", repr(value))


@cache
def _shown_fields(owner: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(owner) if f.repr)


def _function(value: Callable[..., Any], depth: int) -> str:
    """A function by its name, its constants, and the values that it has from where it was defined; its code is not compared."""
    plain = getattr(value, "py_func", value)
    name = f"{getattr(plain, '__module__', '')}.{getattr(plain, '__qualname__', type(plain).__qualname__)}"
    code = getattr(plain, "__code__", None)
    if code is None or depth > MAX_DEPTH:
        return name
    constants = [x for x in code.co_consts if isinstance(x, (int, float, complex))]
    held = [_held(cell, depth) for cell in plain.__closure__ or ()]
    return f"{name}<{canonical((constants, held, plain.__defaults__ or ()), depth + 1)}>"


def _held(cell: Any, depth: int) -> str:
    try:
        return canonical(cell.cell_contents, depth + 1)
    except ValueError:  # empty
        return ""


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


class Identity:
    """What a file says of a system.

    Parameters
    ----------
    system : System
    """

    def __init__(self, system: System) -> None:
        self._system = system

    @cached_property
    def data(self) -> dict[str, Any]:
        """As JSON: name, sizes, coordinates; hashes of the elements of a mechanism, or values of a user's functions."""
        s = self._system
        found: dict[str, Any] = {"name": s.name, "nq": s.nq, "nv": s.nv, "nc": s.nc, "coordinates": type(s).__name__}
        if s.mechanism is None:
            return found | {"labels": list(s.labels), "values": self._values()}
        made = s.__reduce__()[1]
        settings = canonical([x for x in made if x is not s.mechanism])
        elements = {section: {e.name: _hash(canonical(e).encode()) for e in getattr(s.mechanism, section)} for section in SECTIONS}
        return found | {"settings": settings, "gravity": canonical(s.mechanism.gravity)} | elements

    def _values(self) -> dict[str, list[float]]:
        """Mass times a vector, forces, constraints and their Jacobian times a vector, at a state off the start."""
        s, start = self._system, self._system.start
        x = np.cos(np.arange(s.nv))
        v = start.v + x
        found = {"mass": s.mass_times(start.t, start.q, x), "force": s.force(start.t, start.q, v, start.lam),
                 "phi": s.phi(start.t, s.retract(start.q, 1e-2 * x)), "phi_q": s.phi_q(start.t, start.q) @ x}
        return {name: [float(y) for y in value] for name, value in found.items()}

    def difference(self, saved: Mapping[str, Any]) -> str:
        """What distinguishes the system from the one of a file, in words; empty if they are the same."""
        own = self.data
        if own["name"] != saved.get("name"):
            return f"it belongs to the system {saved.get('name')!r}, not to {own['name']!r}"
        for name in ("coordinates", "nq", "nv", "nc"):
            if own[name] != saved.get(name):
                return f"its {name} is {saved.get(name)}, that of {own['name']!r} is {own[name]}"
        for section, word in SECTIONS.items():
            other, here = saved.get(section, {}), own.get(section, {})
            culprit = next((x for x in (*here, *other) if here.get(x) != other.get(x)), None)
            if culprit is not None:
                how = "is another one" if culprit in here and culprit in other else "is missing in one of them"
                return f"the {word} {culprit!r} of {own['name']!r} {how}"
            if list(here) != list(other):
                return f"the {section} of {own['name']!r} are in another order"
        for name in ("gravity", "settings", "labels"):
            if own.get(name) != saved.get(name):
                return f"the {name} of {own['name']!r} differ, {saved.get(name)} in the file and {own.get(name)} now"
        return self._other_values(saved)

    def _other_values(self, saved: Mapping[str, Any]) -> str:
        for name, values in self.data.get("values", {}).items():
            here, other = np.array(values), np.array(saved.get("values", {}).get(name, []), dtype=float)
            size = np.abs(here).max(initial=1e-300)
            if here.shape != other.shape or not np.abs(here - other).max(initial=0.0) <= MAX_DIFFERENCE * size:
                return f"the function {name} of {self.data['name']!r} gives other values"
        return ""
