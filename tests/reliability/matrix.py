"""Every fault in every method."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from types import MappingProxyType

from . import calls, constraints, events, functions, models, processes  # noqa: F401  # they register their faults
from .fault import FAULTS, Fault
from .outcomes import Outcome, outcome
from .subjects import Subject, subjects


@dataclass(frozen=True)
class Cell:
    """A fault in a method."""

    fault: str
    method: str
    outcome: Outcome


def carry_out(fault: Fault, subject: Subject) -> Cell:
    """One cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if fault.judge is not None:
            return Cell(fault.name, subject.name, fault.judge(subject))
        trial = fault.make(subject)
        return Cell(fault.name, subject.name, outcome(trial.run, trial.promise, subject.bound(trial.promise.rough), _usual(subject)))


def _usual(subject: Subject) -> float:
    """Seconds of the run without a fault, after one that compiles."""
    if subject not in _SECONDS:
        for _ in range(2):
            begin = process_time()
            subject.solve(models.plain(), (0.0, models.T_END))
            _SECONDS[subject] = process_time() - begin
    return _SECONDS[subject]


_SECONDS: dict[Subject, float] = {}


def matrix(methods: Sequence[Subject] | None = None, faults: Iterable[Fault] = FAULTS, report: Callable[[Cell], None] | None = None,
           kept: Mapping[tuple[str, str], Cell] = MappingProxyType({}), run: bool = True) -> list[Cell]:
    """All cells, method by method; those in `kept`, by fault and method, are not run again, the others only if `run`."""
    cells = []
    for subject in subjects() if methods is None else methods:
        for fault in faults:
            known = kept.get((fault.name, subject.name))
            if known is None and not run:
                continue
            cells.append(known or carry_out(fault, subject))
            if known is None and report is not None:
                report(cells[-1])
    return cells
