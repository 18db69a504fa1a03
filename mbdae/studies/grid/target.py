"""What a cell of a study integrates: a mechanism of the library or of a file, in Cartesian or joint coordinates, over a time span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from ... import library
from ...assemble import assemble
from ...io import from_text
from ...library.base import NON_STIFF as USUAL
from ...library.base import Comparison, Parameter
from ...model.mechanism import Mechanism
from ...system.assembly import State
from ...system.system import System
from ...typing import Vector

Coordinates = Literal["cartesian", "joint"]
ENDINGS = (".json", ".yaml", ".yml")
MAX_SECONDS = 2.0  # of motion, or of its animation, if that is shorter, by default
STEP = 1e-3  # [s] of methods with fixed step for mechanisms of files


@dataclass(frozen=True)
class Target:
    """One mechanism and its time span; plain data that can be sent to another process or machine.

    Attributes
    ----------
    mechanism : str
        Name in the library, or of the file.
    parameters : tuple of (str, value)
        Those that differ from the defaults.
    coordinates : {"cartesian", "joint"}
    t_end : float
        The time span begins at 0 [s].
    text, ending : str
        Content of the file and its ending.
    """

    mechanism: str
    parameters: tuple[tuple[str, Parameter], ...] = ()
    coordinates: Coordinates = "cartesian"
    t_end: float = 1.0
    text: str = ""
    ending: str = ""

    @classmethod
    def of(cls, mechanism: str | Path, parameters: Mapping[str, Parameter] | None = None, coordinates: Coordinates = "cartesian",
           t_end: float | None = None) -> Target:
        """The target for a name of the library or the path of a file; by default over at most two seconds of motion or animation.

        Raises
        ------
        ValueError
            If there is no such mechanism or parameter, or the file is not valid.
        OSError
            If the file cannot be read.
        """
        if coordinates not in ("cartesian", "joint"):
            raise ValueError(f"coordinates must be 'cartesian' or 'joint', got {coordinates!r}")
        path, given = Path(mechanism), dict(parameters or {})
        if path.suffix.lower() in ENDINGS:
            if given:
                raise ValueError(f"a file has no parameters, got {next(iter(given))!r}")
            text, ending = path.read_text(encoding="utf-8-sig"), path.suffix.lower()
            from_text(text, ending)  # raises
            return cls(path.stem, (), coordinates, 1.0 if t_end is None else float(t_end), text, ending)
        entry = library.entry(str(mechanism))
        entry.checked(given)
        usual = min(entry.t_end, MAX_SECONDS * max(1.0, entry.film))
        return cls(entry.name, tuple(sorted(given.items())), coordinates, usual if t_end is None else float(t_end))

    @property
    def label(self) -> str:
        """Name with parameters and coordinates."""
        given = ", ".join(f"{name}={value}" for name, value in self.parameters)
        joint = ", joint coordinates" if self.coordinates == "joint" else ""
        return f"{self.mechanism}({given})" + joint if given else self.mechanism + joint

    @property
    def comparison(self) -> Comparison:
        """Usual methods, steps and tolerances."""
        return Comparison(USUAL.methods, (4 * STEP, 2 * STEP, STEP)) if self.text else library.entry(self.mechanism).usual_comparison

    def times(self, points: int) -> Vector:
        """Equidistant times of the span."""
        return np.linspace(0.0, self.t_end, points)


@lru_cache(maxsize=4)
def system_of(target: Target) -> System:
    """The system; the last ones are kept."""
    if target.text:
        built: Mechanism | System = from_text(target.text, target.ending)
    elif target.coordinates == "joint":
        built = library.mechanism(target.mechanism, **dict(target.parameters))
    else:
        built = library.system(target.mechanism, **dict(target.parameters))
    return built if isinstance(built, System) else System(built, coordinates=target.coordinates)


@lru_cache(maxsize=4)
def start_of(target: Target) -> State:
    """Its consistent initial values."""
    return assemble(system_of(target))


def targets_of(mechanisms: Iterable[str | Path | Target], t_end: float | None = None, coordinates: Coordinates = "cartesian",
               parameters: Mapping[str, Parameter] | None = None) -> list[Target]:
    """Targets of names, paths and targets."""
    return [x if isinstance(x, Target) else Target.of(x, parameters, coordinates, t_end) for x in mechanisms]
