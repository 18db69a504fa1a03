"""Changes of the state by events as arrays and JSON data, for files of solutions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..system.assembly import State
from .jumps import Jump

PREFIX = "jumps_"
STATE = ("q", "v", "a", "lam")


def arrays_of(jumps: Sequence[Jump]) -> dict[str, np.ndarray]:
    """The states before and after, and the impulses of the constraints: one row for each change."""
    if not jumps:
        return {}
    sides = {f"{PREFIX}{side}_{name}": np.array([getattr(getattr(jump, side), name) for jump in jumps])
             for side in ("before", "after") for name in STATE}
    return sides | {f"{PREFIX}reactions": np.array([jump.reactions for jump in jumps])}


def described(jumps: Sequence[Jump]) -> list[dict[str, Any]]:
    """All that is not an array."""
    return [{"t": jump.t, "events": list(jump.events), "impulses": dict(jump.impulses),
             "redundant": [list(jump.before.redundant), list(jump.after.redundant)]} for jump in jumps]


def jumps_from(arrays: Mapping[str, Any], about: Sequence[Mapping[str, Any]]) -> list[Jump]:
    """The changes, from what the two functions above have made of them."""
    return [_jump(arrays, k, data) for k, data in enumerate(about)]


def _jump(arrays: Mapping[str, Any], k: int, data: Mapping[str, Any]) -> Jump:
    t = float(data["t"])
    before, after = (_state(arrays, side, k, t, names) for side, names in zip(("before", "after"), data["redundant"]))
    return Jump(t, tuple(data["events"]), before, after, dict(data["impulses"]), np.array(arrays[f"{PREFIX}reactions"][k]))


def _state(arrays: Mapping[str, Any], side: str, k: int, t: float, redundant: Sequence[str]) -> State:
    q, v, a, lam = (np.array(arrays[f"{PREFIX}{side}_{name}"][k], dtype=float) for name in STATE)
    return State(t, q, v, a, lam, tuple(redundant))
