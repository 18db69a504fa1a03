"""The arrays and numbers of a run by name, for checkpoints; and how they are put into the arrays of another run.

Names are paths such as `run.start.q`; `run.clock` is an array of the numbers of this structure. An array that is reached in two ways is
stored once. Some memory belongs to the process and is not restored: the addresses of functions in the tables of a system and in its
workspaces.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..compilation.structure import Structure, address_of
from . import layout as lay
from .system import System

WORKSPACES = ("work", "real", "other", "metric")  # names of workspaces of a system
TABLES = "model"  # name of its tables

Leaves: TypeAlias = dict[str, np.ndarray | Structure]  # by name; a structure stands for its numbers


def contents(system: System, parts: Mapping[str, Any], omitted: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Copies of all arrays in structures, tuples and arrays, and of the numbers of each structure, as one array.

    Parameters
    ----------
    system : System
        Whose tables and workspaces are among them.
    parts : dict
        Structures, tuples and arrays by name.
    omitted : collection of str
        Names of arrays that are left out.
    """
    return copied(leaves(parts, omitted))


def leaves(parts: Mapping[str, Any], omitted: Collection[str] = ()) -> Leaves:
    """What is copied of the parts, by name, for `copied`: arrays, of tables only what changes during a run, and structures."""
    found = _leaves(parts)
    for name in omitted:
        found.pop(name, None)
    return {name: leaf if isinstance(leaf, Structure) else _array(name, leaf) for name, leaf in found.items()}


def copied(found: Leaves) -> dict[str, np.ndarray]:
    """Copies of `leaves`."""
    return {name: leaf.copy() if isinstance(leaf, np.ndarray) else leaf.numbers() for name, leaf in found.items()}


def restore(system: System, parts: Mapping[str, Any], saved: Mapping[str, np.ndarray], omitted: Collection[str] = ()) -> None:
    """Put `contents` into the arrays and structures of `parts`, which have been made for the same system and method.

    Raises
    ------
    ValueError
        If something is missing, or has another shape or type.
    """
    for name, leaf in _leaves(parts).items():
        if name not in omitted:
            _put(system, name, leaf, saved_array(saved, name))


def saved_array(saved: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """An array among the contents of a run."""
    if name not in saved:
        raise ValueError(f"the memory of the integrator lacks {name!r}; the file is damaged, or was written by another version")
    return saved[name]


def _leaves(parts: Mapping[str, Any]) -> Leaves:
    found: Leaves = {}
    seen: set[tuple[Any, ...]] = set()
    for name, value in parts.items():
        _collect(name, value, seen, found)
    return found


def _collect(name: str, value: Any, seen: set[tuple[Any, ...]], found: Leaves) -> None:
    """Add the arrays and structures in a value, those that have not been seen."""
    if isinstance(value, np.ndarray):
        if not value.size:
            return
        key = address_of(value), value.shape, value.dtype
        if key not in seen:
            seen.add(key)
            found[name] = value
    elif isinstance(value, Structure):
        if value.has_numbers:
            found[name] = value
        for field, part in value.parts():
            _collect(f"{name}.{field}", part, seen, found)
    elif isinstance(value, tuple):
        for field, part in zip(getattr(value, "_fields", range(len(value))), value):
            _collect(f"{name}.{field}", part, seen, found)


def _array(name: str, leaf: np.ndarray) -> np.ndarray:
    """What is stored of an array: of tables only those that change during a run."""
    return _tables(leaf) if _last(name) == TABLES else leaf


def _put(system: System, name: str, leaf: np.ndarray | Structure, saved: np.ndarray) -> None:
    target = leaf.numbers() if isinstance(leaf, Structure) else _array(name, leaf)
    if target.shape != saved.shape or target.dtype != saved.dtype:
        raise ValueError(f"the memory of the integrator has {name} of shape {saved.shape} and type {saved.dtype}, this run needs "
                         f"{target.shape} and {target.dtype}; it belongs to another system or version")
    if isinstance(leaf, Structure):
        leaf.put_numbers(saved)
        return
    kept = system.addresses if _last(name) in WORKSPACES else None
    own = None if kept is None else target[kept].copy()
    target[...] = saved
    if kept is not None:
        target[kept] = own


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _tables(model: np.ndarray) -> np.ndarray:
    """The tables that change during a run, a view: those of redundant constraints, at the end of the buffer."""
    start, count = model[:lay.HEADER_BYTES].view(np.int64)[lay.DEPENDENT:lay.DEPENDENT + 2]
    return model[start:] if count else model[:0]
