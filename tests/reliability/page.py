"""The fault matrix as a page of the documentation."""

from collections.abc import Iterable, Sequence

from .fault import Fault
from .matrix import Cell

HEAD = """\
# Reliability: faults and what comes of them

Every fault below was met by every method, in its best form, with its defaults, `rtol = 1e-6`, `atol = 1e-8`; methods with a fixed step take
1 ms. This page is written by `python -m tests.reliability --output docs/reliability.md`; a part of the matrix is run by the tests
(`tests/test_reliability.py`).

A number is a solution with `SUCCESS` that is right: its largest error in positions and velocities, at a hundred steps, against DOP853 at
1e-12 of the same or an equivalent mechanism, relative to the size of the coordinates. It is given in units of `rtol`; for steps
of 1 ms in units of 2e-5, and of 1e-4 for methods of first order and for forces that jump. Numbers above 100 are printed in bold.

A status in capitals is a run that ended at the fault within a second, with a message that names the culprit and the time, and with all
states before the fault, which are compared, too. *refused* is a `ValueError` before the run that names the culprit. *raised* is the
user's own exception, unchanged, with a note that names the function where it is one of the model. Anything else would be a defect and
would be printed in bold.

Ctrl-C at random instants has a test of its own, `python -m tests.benchmarks.interrupts`: 200 interrupts for each method, without and with
a force in Python, all arrived as `KeyboardInterrupt` within a tenth of a second.

Known defects: `Assimulo:Dopri5` does not end with `rtol = atol = 1e-160`, its rows are missing; `Assimulo:RungeKutta34` goes over jumps of
forces with `SUCCESS` and errors of thousands of tolerances. Its error estimate does not see them: restart it there by an event.

"""


def page(cells: Sequence[Cell], faults: Iterable[Fault]) -> str:
    """The page in Markdown."""
    found = {(c.fault, c.method): c for c in cells}
    methods = list(dict.fromkeys(c.method for c in cells))
    groups: dict[str, list[Fault]] = {}
    for fault in faults:
        groups.setdefault(fault.group, []).append(fault)
    lines = [HEAD + _summary(cells, len(methods))]
    number = 0
    for group, listed in groups.items():
        lines += ["", f"## {group}", ""]
        lines += [f"{number + k + 1}. {f.title}: {f.promise}" for k, f in enumerate(listed)]
        lines += ["", _row("method", *(str(number + k + 1) for k in range(len(listed)))), _row(*["---"] * (len(listed) + 1))]
        lines += [_row(f"`{m}`", *(_mark(found.get((f.name, m))) for f in listed)) for m in methods]
        number += len(listed)
    return "\n".join(lines) + "\n"


def _summary(cells: Sequence[Cell], methods: int) -> str:
    kinds = [c.outcome.kind for c in cells]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in ("right", "inaccurate", "ended", "refused", "raised"))
    bad = sum(c.outcome.defect for c in cells)
    slowest = max(c.outcome.seconds for c in cells)
    runs = f"{methods} methods, {len(cells) // methods} faults, {len(cells)} runs"
    return f"{runs}: {counts}, {bad} defects; the longest took {slowest:.1f} s of CPU time."


def _mark(cell: Cell | None) -> str:
    if cell is None:
        return ""
    o = cell.outcome
    if o.kind == "inaccurate":
        return f"**{o.text}**"
    if o.defect:
        return f"**{o.kind}: {o.text}**"
    return {"raised": "raised", "refused": "refused"}.get(o.kind, o.text)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
