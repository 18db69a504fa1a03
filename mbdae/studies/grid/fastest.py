"""The fastest methods for an accuracy: in-house against established ones, from the runs of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from time import get_clock_info
from typing import Literal, TypeAlias

from ..performance import PerformanceProfile, cost_of_accuracy, performance_profile
from .curves import CurveRow

ACCURACIES = (1e-3, 1e-5, 1e-7, 1e-9)
Clock: TypeAlias = Literal["integration", "call"]
CLOCKS: dict[Clock, str] = {"integration": "cpu", "call": "cpu_solve"}  # fields of `Measured`
RESOLUTION = get_clock_info("process_time").resolution
AUTOMATIC = "Automatic"  # a choice among other methods of mbdae, which is judged apart

Costs: TypeAlias = dict[tuple[str, float], dict[str, float]]


@dataclass(frozen=True)
class FastestRow:
    """The fastest methods for one mechanism, accuracy and clock; `None` where no method is accurate enough. Costs are in seconds.

    Attributes
    ----------
    mechanism : str
    accuracy : float
    clock : {"integration", "call"}
        Processor time of the integration, or of the whole call of `mbdae.solve`.
    in_house, established : str or None
        The fastest method of mbdae without `Automatic`, and the fastest established one.
    in_house_cost, established_cost, automatic_cost : float or None
    """

    mechanism: str
    accuracy: float
    clock: Clock
    in_house: str | None
    in_house_cost: float | None
    established: str | None
    established_cost: float | None
    automatic_cost: float | None

    @property
    def solved(self) -> bool:
        """Whether any method is accurate enough."""
        return self.in_house is not None or self.established is not None

    @property
    def advantage(self) -> float:
        """How many times faster the best method of mbdae is than the best established one; 0 or infinite where one of them is missing."""
        return _ratio(self.established_cost, self.in_house_cost)

    @property
    def advantage_automatic(self) -> float:
        """The same for the automatic choice."""
        return _ratio(self.established_cost, self.automatic_cost)

    @property
    def loss_automatic(self) -> float:
        """The cost of the automatic choice over that of the fastest of all."""
        known = [c for c in (self.in_house_cost, self.established_cost, self.automatic_cost) if c is not None]
        return _ratio(self.automatic_cost, min(known, default=None))


def _ratio(a: float | None, b: float | None) -> float:
    if b is None:
        return 0.0
    return inf if a is None else a / b


def costs_of(rows: Iterable[CurveRow], clock: Clock, accuracies: Sequence[float] = ACCURACIES) -> Costs:
    """Mechanism and accuracy -> method -> cost of that accuracy, see `cost_of_accuracy`."""
    curves: dict[tuple[str, str], list[CurveRow]] = {}
    for row in rows:
        curves.setdefault((row.mechanism, row.method), []).append(row)
    found: Costs = {}
    for (mechanism, method), mine in curves.items():
        mine.sort(key=lambda row: -row.setting)
        errors, costs = [row.error for row in mine], [_at_least(getattr(row, CLOCKS[clock])) for row in mine]
        for accuracy in accuracies:
            found.setdefault((mechanism, accuracy), {})[method] = cost_of_accuracy(errors, costs, accuracy)
    return found


def _at_least(seconds: float | None) -> float | None:
    """A processor time that is not shorter than the clock can tell, as some clocks show zero for short runs."""
    return None if seconds is None else max(seconds, RESOLUTION)


def fastest(rows: Sequence[CurveRow], clock: Clock, accuracies: Sequence[float] = ACCURACIES) -> list[FastestRow]:
    """One row for each mechanism and accuracy."""
    own = {row.method for row in rows if row.in_house}
    found = []
    for (mechanism, accuracy), costs in costs_of(rows, clock, accuracies).items():
        automatic = costs.get(AUTOMATIC, inf)
        in_house = _least({m: c for m, c in costs.items() if m in own and m != AUTOMATIC})
        established = _least({m: c for m, c in costs.items() if m not in own})
        found.append(FastestRow(mechanism, accuracy, clock, *in_house, *established, automatic if isfinite(automatic) else None))
    return found


def _least(costs: dict[str, float]) -> tuple[str | None, float | None]:
    method = min(costs, key=lambda m: costs[m], default=None)
    return (None, None) if method is None or not isfinite(costs[method]) else (method, costs[method])


def profile_of(rows: Sequence[CurveRow], clock: Clock, accuracies: Sequence[float] = ACCURACIES) -> PerformanceProfile:
    """The performance profile of all methods over mechanisms and accuracies."""
    return performance_profile(costs_of(rows, clock, accuracies))


@dataclass(frozen=True)
class Shares:
    """Shares of the problems, mechanisms with accuracies that some method reaches.

    Attributes
    ----------
    problems : int
    as_fast : float
        The best method of mbdae is at least as fast as the best established one.
    half_as_fast : float
        It is at least half as fast.
    automatic_as_fast : float
        The automatic choice is at least as fast as the best established method.
    automatic_within_three : float
        The automatic choice takes at most three times the time of the fastest of all.
    """

    problems: int
    as_fast: float
    half_as_fast: float
    automatic_as_fast: float
    automatic_within_three: float


def shares(rows: Sequence[FastestRow]) -> Shares:
    """The shares over these rows."""
    solved = [row for row in rows if row.solved]
    n = len(solved)

    def share(count: int) -> float:
        return count / n if n else 0.0

    return Shares(n, share(sum(r.advantage >= 1.0 for r in solved)), share(sum(r.advantage >= 0.5 for r in solved)),
                  share(sum(r.advantage_automatic >= 1.0 for r in solved)), share(sum(r.loss_automatic <= 3.0 for r in solved)))
