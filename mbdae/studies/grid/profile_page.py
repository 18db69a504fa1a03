"""The page of the study of profiles: shares and the fastest methods, from its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...library import names
from ...summary import plural
from .curves import CurveRow
from .fastest import CLOCKS, FastestRow, Shares, fastest, shares
from .profile_figures import MOST_METHODS, TITLES
from .runs import POINTS
from .table import StudyTable

REPEATS = 3

_INTRODUCTION = """\
# In-house against established integrators

Which method reaches a given accuracy in the least time? {mechanisms}, {methods} with error control, run with
`rtol` = 1e-2, 1e-3, ... (`atol = rtol/100`) until the error is below 1e-9. Written by `{command}` on
{machine}, {date}, with {versions}.

- The *error* of a run is measured, at {points} times: the larger one of the largest error of the positions over `max |q| + 0.01`
  and that of the velocities over `max |v| + 0.01`, against a reference at a tolerance of 1e-12
  ([studies.md](studies.md)).
- The *time* for an error is that of the cheapest run with at most this error, or less by interpolation of the logarithms between
  two successive tolerances whose errors lie on both sides. Times are processor times, the least of at least {repeats} runs (long
  runs: fewer){passes}.
- Two clocks: *integration alone* is the loop of the solver with its evaluations, *whole call* is `mbdae.solve`, with set-up and
  the output at all steps, consistent with the constraints and with multipliers.
- *Established* are the solvers of SUNDIALS, SciPy, Assimulo, scikits.odes and RADAU, with the settings of
  [solvers.md](solvers.md): the package's compiled equations and exact Jacobians; IDA, CVODE, DASPK, RADAU and the Fortran codes of
  Assimulo through compiled callbacks ([howto/fortran.md](howto/fortran.md)), the others through callbacks in Python.
- `Automatic`, the choice without a method, is judged apart.

![Performance profiles](profile.png)

Above: share of the problems, mechanisms with errors, that a method solves in at most a multiple of the least time of all (the {most}
methods with the largest shares at a factor of ten). Below: how many times faster the fastest method of mbdae is than the fastest
established one.

"""
_SHARES = (("as_fast", "fastest of mbdae at least as fast as the fastest established"), ("half_as_fast", "at least half as fast"),
           ("automatic_as_fast", "`Automatic` at least as fast as the fastest established"),
           ("automatic_within_three", "`Automatic` within three times the least of all"))
_HEAD = ("mechanism", "error", "fastest of mbdae", "ms", "fastest established", "ms", "ratio", "ratio of calls",
         "`Automatic`, ms")
_LEGEND = """
*ratio*: the time of the fastest established method over that of the fastest of mbdae, integration alone; above 1 mbdae is faster. *ratio of
calls*: the same for whole calls, whose fastest methods may be others. A dash: no method reaches the error.
"""


def profile_page(table: StudyTable) -> str:
    """The page in Markdown; the figure is `profile.png` beside it."""
    rows: list[CurveRow] = table.rows
    found = {clock: fastest(rows, clock) for clock in CLOCKS}
    parts = [_INTRODUCTION.format(**_facts(table)), *_lines_of_shares({clock: shares(x) for clock, x in found.items()}),
             "\n## Fastest methods\n", *_lines_of_fastest(*found.values()), _LEGEND, *_lines_of_failures(rows)]
    return "\n".join(parts) + "\n"


def _facts(table: StudyTable) -> dict[str, Any]:
    """What the introduction tells."""
    rows, known = table.rows, table.provenance
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items() if version)
    machine = f"{known['machine']['processor']}, {known['machine']['cores']} cores"
    found = {r.mechanism for r in rows}
    command = "mbdae compare --all" if found >= set(names()) else "mbdae study profile MECHANISM,..."
    return {"command": command, "mechanisms": plural(len(found), "mechanism"), "methods": plural(len({r.method for r in rows}), "method"),
            "machine": machine, "date": known["date"][:10], "versions": versions, "points": POINTS,
            "repeats": known["parameters"]["repeats"] or REPEATS, "most": MOST_METHODS,
            "passes": "" if known["parameters"]["passes"] == 1 else f" in each of {known['parameters']['passes']} passes over the study"}


def _lines_of_shares(found: Mapping[Any, Shares]) -> Iterable[str]:
    problems = next(iter(found.values())).problems
    yield f"| of {problems} mechanisms with errors | " + " | ".join(TITLES[clock] for clock in found) + " |"
    yield "|---|" + "---:|" * len(found)
    for field, text in _SHARES:
        yield f"| {text} | " + " | ".join(f"{100.0 * getattr(s, field):.0f} %" for s in found.values()) + " |"


def _lines_of_fastest(integration: Sequence[FastestRow], call: Sequence[FastestRow]) -> Iterable[str]:
    yield "| " + " | ".join(_HEAD) + " |"
    yield "|---|---:|---|---:|---|---:|---:|---:|---:|"
    last = ""
    for row, other in zip(integration, call):
        name = "" if row.mechanism == last else f"[{row.mechanism}](mechanisms/{row.mechanism}.md)"
        last = row.mechanism
        yield "| " + " | ".join((name, f"{row.accuracy:.0e}".replace("e-0", "e-"), row.in_house or "-", milliseconds(row.in_house_cost),
                                 row.established or "-", milliseconds(row.established_cost), advantage(row), advantage(other),
                                 milliseconds(row.automatic_cost))) + " |"


def milliseconds(seconds: float | None) -> str:
    """With three digits; a dash for `None`."""
    return "-" if seconds is None else f"{1e3 * seconds:.3g}"


def advantage(row: FastestRow) -> str:
    """The ratio of the times; a word where only one side reaches the error."""
    if not row.solved:
        return "-"
    if row.established is None:
        return "mbdae only"
    return "established only" if row.in_house is None else f"{row.advantage:.2f}"


def _lines_of_failures(rows: Sequence[CurveRow]) -> Iterable[str]:
    """How often each method has failed."""
    failed: dict[str, dict[str, int]] = {}
    for row in rows:
        if not row.success:
            mine = failed.setdefault(row.method, {})
            mine[row.status] = mine.get(row.status, 0) + 1
    yield "\n## Runs without a result\n"
    yield f"Of {len(rows)} runs. `REFUSED`: the method or its form does not take the mechanism, for the reason in the table of runs.\n"
    yield "| method | runs |"
    yield "|---|---|"
    for method, counts in failed.items():
        yield f"| {method} | {', '.join(f'{status} {n}' for status, n in sorted(counts.items()))} |"

