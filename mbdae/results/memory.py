"""What a run of an integrator needs in order to go on from an accepted step, and what it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..system.assembly import State
from ..typing import Vector


@dataclass(frozen=True)
class Memory:
    """The memory of an integrator after an accepted step.

    Attributes
    ----------
    t : float
        The end of the step.
    rows : int
        Number of rows of output up to there.
    seconds : float
        Wall time up to there.
    contents : dict of str to ndarray
        All arrays and numbers of the integrator by name, see `mbdae.system.contents`.
    """

    t: float
    rows: int
    seconds: float
    contents: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Request:
    """What was asked of a run, as far as its steps and its output depend on it.

    Attributes
    ----------
    options : dict of str to str
        The method with its parameters, the form, the tolerances, ... in words.
    start : State
        The initial state.
    """

    options: Mapping[str, str]
    start: State

    def difference(self, other: "Request") -> tuple[str, Any, Any] | None:
        """The first option that differs, with its two values."""
        names = (*self.options, *(name for name in other.options if name not in self.options))
        values = ((name, self.options.get(name), other.options.get(name)) for name in names)
        return next((found for found in values if found[1] != found[2]), None)


def with_motion(q: Vector, v: Vector, contents: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The contents with the positions and velocities reached, for events."""
    return {**contents, "state.q": q, "state.v": v}
