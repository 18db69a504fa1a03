"""The arrays and numbers of a run by name, for checkpoints; and how they are put into the arrays of another run.

Names are paths such as `run.start.q`. An array that is reached in two ways is stored once. Some memory belongs to the process and is not
restored: the addresses of functions in the tables of a system and in its workspaces.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..compilation.structure import Structure, address_of
from . import layout as lay
from .system import System

WORKSPACES = ("work", "real", "other", "metric")  # names of workspaces of a system
TABLES = "model"  # name of its tables
_PLAIN = (bool, int, float, np.number, np.bool_)


class _Leaf(NamedTuple):
    """An array, or a number in a structure."""

    name: str
    value: Any
    owner: Structure | None  # of a number


def contents(system: System, parts: Mapping[str, Any], omitted: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Copies of all arrays and numbers in structures, tuples and arrays.

    Parameters
    ----------
    system : System
        Whose tables and workspaces are among them.
    parts : dict
        Structures, tuples, arrays and numbers by name.
    omitted : collection of str
        Names of arrays that are left out.
    """
    return {leaf.name: np.array(_stored(system, leaf)) for leaf in _leaves(parts) if leaf.name not in omitted}


def restore(system: System, parts: Mapping[str, Any], saved: Mapping[str, np.ndarray], omitted: Collection[str] = ()) -> None:
    """Put `contents` into the arrays and structures of `parts`, which have been made for the same system and method.

    Raises
    ------
    ValueError
        If something is missing, or has another shape or type.
    """
    for leaf in _leaves(parts):
        if leaf.name not in omitted:
            _put(system, leaf, saved_array(saved, leaf.name))


def saved_array(saved: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """An array among the contents of a run."""
    if name not in saved:
        raise ValueError(f"the memory of the integrator lacks {name!r}; the file is damaged, or was written by another version")
    return saved[name]


def _leaves(parts: Mapping[str, Any]) -> list[_Leaf]:
    found: list[_Leaf] = []
    seen: set[tuple[Any, ...]] = set()
    for name, value in parts.items():
        _collect(name, value, None, seen, found)
    return found


def _collect(name: str, value: Any, owner: Structure | None, seen: set[tuple[Any, ...]], found: list[_Leaf]) -> None:
    """Append the arrays and numbers in a value, those that have not been seen."""
    if isinstance(value, np.ndarray):
        if not value.size:
            return
        key = address_of(value), value.shape, value.dtype
        if key not in seen:
            seen.add(key)
            found.append(_Leaf(name, value, None))
    elif isinstance(value, Structure):
        for field, part in value.fields().items():
            _collect(f"{name}.{field}", part, value, seen, found)
    elif isinstance(value, tuple):
        for field, part in zip(getattr(value, "_fields", range(len(value))), value):
            _collect(f"{name}.{field}", part, None, seen, found)
    elif owner is not None and isinstance(value, _PLAIN):
        found.append(_Leaf(name, value, owner))


def _stored(system: System, leaf: _Leaf) -> Any:
    """What is stored of a leaf: of tables only those that change during a run."""
    return _tables(leaf.value) if _is_model(leaf) else leaf.value


def _put(system: System, leaf: _Leaf, saved: np.ndarray) -> None:
    if leaf.owner is not None:
        setattr(leaf.owner, leaf.name.rpartition(".")[2], type(leaf.value)(saved.item()))
        return
    target = _tables(leaf.value) if _is_model(leaf) else leaf.value
    if target.shape != saved.shape or target.dtype != saved.dtype:
        raise ValueError(f"the memory of the integrator has {leaf.name} of shape {saved.shape} and type {saved.dtype}, this run needs "
                         f"{target.shape} and {target.dtype}; it belongs to another system or version")
    kept = system.addresses if leaf.name.rpartition(".")[2] in WORKSPACES else None
    own = None if kept is None else target[kept].copy()
    target[...] = saved
    if kept is not None:
        target[kept] = own


def _is_model(leaf: _Leaf) -> bool:
    return leaf.name.rpartition(".")[2] == TABLES


def _tables(model: np.ndarray) -> np.ndarray:
    """The tables that change during a run, a view: those of redundant constraints, at the end of the buffer."""
    start, count = model[:lay.HEADER_BYTES].view(np.int64)[lay.DEPENDENT:lay.DEPENDENT + 2]
    return model[start:] if count else model[:0]
