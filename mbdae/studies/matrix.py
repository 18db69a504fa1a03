"""Formulations and solvers: supported combinations with their settings, and the reasons for the others."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from time import perf_counter

import numpy as np

from .. import library
from ..adapters.scipy import SolveIvp
from ..assemble import assemble
from ..driver.support import FORMS, Settings
from ..problems import FORMULATIONS
from ..registry import FAMILIES, FORM_TITLES, MethodSpec, find
from ..solve import solve
from ..system.system import System
from ..typing import Progress
from .solver_notes import ASSIMULO, RADAU13

SPANS = {"single-pendulum": 1.0, "double-pendulum": 1.0, "slider-crank": 1.0, "four-link": 1.0, "andrews": 0.03}  # [s]
MAX_ERROR = 100.0  # of a supported combination, in multiples of the tolerance


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    mechanism, method, formulation : str
    outcome : {"ok", "inaccurate", "failed", "refused"}
        Refused before the run; failed during it; inaccurate if the error exceeds a hundred tolerances.
    error : float or None
        `max |q - q_ref| / (rtol max(1, |q_ref|))` at the end.
    steps, residuals : int or None
    seconds : float or None
    message : str
        Of the solution, or the reason of the refusal.
    """

    mechanism: str
    method: str
    formulation: str
    outcome: str
    error: float | None = None
    steps: int | None = None
    residuals: int | None = None
    seconds: float | None = None
    message: str = ""


def solvers(installed: bool = True) -> list[MethodSpec]:
    """All solvers that take formulations as `MethodSpec`, by default those that are installed."""
    found = []
    for family in FAMILIES:
        available = family.availability()
        if (available is None or available.installed or not installed) and family.forms():
            found += [MethodSpec(family, variant) for variant in family.variants or (None,)]
    return found


class Target:
    """A mechanism with consistent initial values and reference positions at the end.

    The reference is DOP853 on the underlying ODE with `rtol = 1e-12`.
    """

    def __init__(self, name: str) -> None:
        self.name, self.t_end = name, SPANS[name]
        self.system = System(library.mechanism(name))
        self.start = assemble(self.system)
        exact = solve(self.system, SolveIvp("DOP853"), (0.0, self.t_end), state=self.start, rtol=1e-12, atol=1e-13, t_eval=[self.t_end])
        if not exact.success:
            raise ArithmeticError(f"the reference of {name} failed: {exact.message}")
        self.q = exact.q[-1]

    def run(self, spec: MethodSpec, formulation: str, rtol: float = 1e-6) -> Cell:
        """The `Cell` of a solver in one formulation, with `atol = rtol / 100`."""
        names, begin = (self.name, spec.name, formulation), perf_counter()
        try:
            s = solve(self.system, spec.make(), (0.0, self.t_end), formulation=formulation, state=self.start, rtol=rtol, atol=rtol / 100,
                      t_eval=[self.t_end])
        except ValueError as refusal:
            return Cell(*names, "refused", message=str(refusal))
        cost = s.statistics.steps, s.statistics.residuals, perf_counter() - begin
        if not s.success:
            return Cell(*names, "failed", None, *cost, s.message)
        error = float(np.abs(s.q[-1] - self.q).max() / (rtol * max(1.0, np.abs(self.q).max())))
        return Cell(*names, "ok" if error < MAX_ERROR else "inaccurate", error, *cost, s.message)


def matrix(mechanisms: Sequence[str] = tuple(SPANS), specs: Sequence[MethodSpec] | None = None, rtol: float = 1e-6,
           formulations: Sequence[str] = FORMS, progress: Progress | None = None) -> list[Cell]:
    """Run every solver in every formulation on every mechanism.

    Parameters
    ----------
    mechanisms : sequence of str
        Keys of `SPANS`.
    specs : sequence of MethodSpec, optional
        By default all solvers that are installed.
    rtol : float
    formulations : sequence of str
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list of Cell
    """
    specs = solvers() if specs is None else specs
    total = len(mechanisms) * len(specs) * len(formulations)
    cells: list[Cell] = []
    for name in mechanisms:
        target = Target(name)
        for spec in specs:
            for formulation in formulations:
                if progress is not None:
                    progress(len(cells), total, f"{name}: {spec.name}:{formulation}")
                cells.append(target.run(spec, formulation, rtol))
    return cells


# the settings ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Support:
    """One cell of the table of settings, for reading.

    Attributes
    ----------
    method, package, formulation : str
    supported : bool
    reason : str
        Of a refusal.
    mask, exclude : str
        Unknowns that are declared as algebraic to the solver, and those that its own option excludes from the error test.
    excluded_atol : str
        Blocks excluded from the error test by an absolute tolerance of their own, and this tolerance.
    tighten, scaling, jacobian, linear_solver : str
    """

    method: str
    package: str
    formulation: str
    supported: bool
    reason: str = ""
    mask: str = ""
    exclude: str = ""
    excluded_atol: str = ""
    tighten: str = ""
    scaling: str = ""
    jacobian: str = ""
    linear_solver: str = ""


def support() -> list[Support]:
    """Settings of every solver in every formulation, or the reasons of refusals: a list of `Support`."""
    return [_support(spec, form) for spec in solvers(installed=False) for form in FORMS]


def _support(spec: MethodSpec, form: str) -> Support:
    method = spec.family.method_class(**spec.family.chosen(spec.variant))
    how, names = method.support[form], (spec.name, method.package, form)
    if not isinstance(how, Settings):
        return Support(*names, False, how)
    problem = FORMULATIONS[form]
    algebraic = ", ".join(problem.algebraic_blocks)
    tolerance = problem.excluded_atol if how.excluded_atol is None else how.excluded_atol
    tolerance = tolerance if isinstance(tolerance, str) else f"{tolerance:g}"
    excluded = f"{', '.join(problem.excluded_blocks)}: {tolerance}" if problem.excluded_blocks else ""
    return Support(*names, True, "", algebraic if how.mask else "", algebraic if how.exclude else "", excluded,
                   "" if how.tighten == 1.0 else f"{how.tighten:g}", how.scaling, how.jacobian, how.linear_solver)


def support_page() -> str:
    """The table of settings as a page in Markdown: one matrix, and the settings of each solver in a block that opens."""
    rows = support()
    methods = list(dict.fromkeys(r.method for r in rows))
    lines = [_PAGE_HEAD, _line("solver", *(FORM_TITLES[f] for f in FORMS)), _line("---", *[":-:"] * len(FORMS))]
    for package in dict.fromkeys(r.package for r in rows):
        lines.append(_line(f"**{package or 'mbdae'}**", *[""] * len(FORMS)))
        members = [m for m in methods if any(r.method == m and r.package == package for r in rows)]
        lines += [_marks([r for r in rows if r.method == m]) for m in members]
    lines += ["", "## Details", ""]
    for method in methods:
        lines += [f'<details markdown="1" id="{_anchor(method)}"><summary><code>{method}</code></summary>', ""]
        lines += _section([r for r in rows if r.method == method]) + ([] if method != "Radau13" else ["", RADAU13]) + ["", "</details>", ""]
    return "\n".join([*lines, ASSIMULO])


def _marks(rows: list[Support]) -> str:
    """A row of the matrix; the preferred form of a solver is marked."""
    method = find(rows[0].method)
    best = next(iter(method.family.forms(method.variant)), None)
    marks = ("" if not r.supported else "**●**" if r.formulation == best else "○" for r in rows)
    return _line(f"[`{rows[0].method}`](#{_anchor(rows[0].method)})", *marks)


def _anchor(method: str) -> str:
    return method.lower().replace(":", "-")


_PAGE_HEAD = """\
# Solvers and formulations

**●** the form that `mbdae.solve` takes by default, ○ a form that the solver takes as well; an empty cell: refused, for the reason in the
details. The name of a solver leads to its settings. This page is generated by `mbdae matrix --settings --output docs/solvers.md` from the
tables that the adapters use.

The state-space forms, coordinate partitioning and tangent plane, are valid locally. `mbdae.solve` switches the local parametrisation when
it becomes ill-conditioned and reinitialises the solver (`Statistics.restarts`); the integrators of mbdae switch it themselves. Mechanisms
without a degree of freedom have no such form.

In the details: *mask*, unknowns that are declared as algebraic to the solver; *exclude*, unknowns that its own option excludes from the
error test; *excluded atol*, blocks that an absolute tolerance of their own excludes from the error test; *tighten*, factor on the
tolerances; *scaling*, how the solver accounts for the index.

## Overview
"""
_COLUMNS = [f.name for f in fields(Support)][5:]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _section(rows: list[Support]) -> list[str]:
    """Settings of one solver, and its refusals by their reasons."""
    used = [r for r in rows if r.supported]
    lines = [_line("form", *(c.replace("_", " ") for c in _COLUMNS)), _line(*["---"] * (len(_COLUMNS) + 1))] if used else []
    lines += [_line(r.formulation, *(getattr(r, c) or "-" for c in _COLUMNS)) for r in used]
    reasons: dict[str, list[str]] = {}
    for r in rows:
        if not r.supported:
            reasons.setdefault(r.reason, []).append(r.formulation)
    return lines + ([""] if used and reasons else []) + [f"- refused: {', '.join(forms)}: {reason}" for reason, forms in reasons.items()]
