"""The fault matrix as a page of the documentation."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from .fault import Fault
from .matrix import Cell

HEAD = """\
# Reliability: faults and what comes of them

Every fault below was met by every method, in its best form, with its defaults, `rtol = 1e-6`, `atol = 1e-8`; methods with a fixed step take
1 ms. This page is written by `python -m tests.reliability --output docs/reliability.md`; a part of the matrix is run by the tests
(`tests/test_reliability.py`). How errors follow the tolerance is in the [last section](#error-over-tolerance).

A number is a solution with `SUCCESS` that is right: its largest error in positions and velocities, at a hundred steps, against DOP853 at
1e-12 of the same or an equivalent mechanism, relative to the size of the coordinates. It is given in units of `rtol`; for steps
of 1 ms in units of 2e-5, and of 1e-4 for methods of first order and for forces that jump. Numbers above 100 are printed in bold.

A status in capitals is a run that ended at the fault within a second, with a message that names the culprit and the time, and with all
states before the fault, which are compared, too. *refused* is a `ValueError` before the run that names the culprit. *raised* is the
user's own exception, unchanged, with a note that names the function where it is one of the model. Anything else would be a defect and
would be printed in bold.

Faults of the package as a whole have tests of their own:

| fault | what comes of it | test |
| --- | --- | --- |
| Ctrl-C within user functions, in output, in several threads | `KeyboardInterrupt`, and the process goes on as before | \
`tests/test_interrupts.py`; at random instants: the table of that name below |
| two processes with an empty cache | both compile, the third one loads | `tests/test_cache.py` |
| an installation and a home that are read-only | a warning; every process compiles anew | `tests/test_cache.py` |
| more states than the memory holds, streamed to a folder | bounded memory: a million states of 1024 links, 24.6 GB, in 279 MB | \
`tests/test_output_folder.py`, `python -m tests.benchmarks.streamed` |
| runs in threads, with parallel stages | the same bits | `tests/test_state_space_threads.py`, 52 below |
| a run within a run | solved, or refused by solvers with static memory | `tests/test_interrupts.py`, 54 and 55 below |
| a process that is killed | goes on from its checkpoint, to the bits of an uninterrupted run | `tests/test_checkpoints.py` |
| one value that is not finite, in any evaluation | the solution without it, or the run ends | `tests/test_not_finite_once.py` |
| events that recur at once | `ZENO` | `tests/test_events_state.py` |
| fixed steps beyond the limit of stability | `UNSTABLE`, with the rate and the largest step | `tests/test_unstable_steps.py` |
| steps across a whip of 400 links | ended in the time of the steps before, not in hours | `tests/test_two_positions.py` |

RungeKutta34 of Assimulo accepts steps of any error, and does not see jumps of forces of time at all: 5000 tolerances off, with success. The
numbers below are those of the adapter, which repeats its steps; scripts that use the class of Assimulo itself should restart it at jumps.

"""

RANDOM = Path(__file__).with_name("random.md").read_text(encoding="utf-8").strip()  # written by hand from runs of an hour


def page(cells: Sequence[Cell], faults: Iterable[Fault]) -> str:
    """The page in Markdown."""
    found = {(c.fault, c.method): c for c in cells}
    methods = list(dict.fromkeys(c.method for c in cells))
    groups: dict[str, list[Fault]] = {}
    for fault in faults:
        groups.setdefault(fault.group, []).append(fault)
    lines = [HEAD + _summary(cells, len(methods)), "", RANDOM]
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
    runs = f"{methods} methods, {len({c.fault for c in cells})} faults, {len(cells)} cells"
    empty = " Empty cells have not been run." if len(cells) < methods * len({c.fault for c in cells}) else ""
    return f"{runs}: {counts}, {bad} defects; the longest took {slowest:.1f} s of CPU time.{empty}"


def _mark(cell: Cell | None) -> str:
    if cell is None:
        return ""
    o = cell.outcome
    if o.kind == "inaccurate":
        return f"**{o.text}**"
    if o.defect:
        return f"**{o.kind}: {o.text}**"
    return "raised" if o.kind == "raised" and not o.text.endswith(" ms") else "refused" if o.kind == "refused" else o.text


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
