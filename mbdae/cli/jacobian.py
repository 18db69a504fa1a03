"""`mbdae jacobian`: strategies for the Jacobian of one solver on one mechanism."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from ..assemble import assemble
from ..jacobians.strategy import takes_strategies
from ..library.base import Entry, Parameters
from ..pictures.figures import save
from ..pictures.outputs import observe
from ..pictures.timeline import draw_timeline
from ..problems import FORMULATIONS, GGL
from ..problems.base import Problem
from ..registry import FAMILIES, MethodSpec
from ..studies.jacobian import (
    ATOL,
    POINTS,
    RTOL,
    EndValues,
    JacobianFacts,
    JacobianRow,
    JacobianStudy,
    Motion,
    jacobian_study,
    output_times,
    strategies_for,
)
from ..studies.jacobian_figures import excitation_curve, output_curve, plot_groups, plot_pattern
from ..studies.reference import ReferenceFailed, reference
from ..studies.table import metadata, write_csv, write_json
from ..system.assembly import State
from ..system.system import System
from .console import output, print_error, progress_bar
from .numbers import milliseconds, number
from .options import Refusal, build, output_folder
from .tables import add_numbers, fitting, new_table_of_runs


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    solver = _solver(arguments.method)
    entry, parameters, system = build(arguments.mechanism, arguments.parameters)
    problem = _problem(system, arguments.method, solver, arguments.form)
    t_end = arguments.t_end or entry.t_end
    folder = arguments.output and output_folder(arguments.output)
    tolerances = {"rtol": arguments.rtol, "atol": arguments.atol or arguments.rtol * ATOL / RTOL}
    with progress_bar() as bar:
        state = assemble(system)
        bar(0, 1, "reference")
        reference_values, source = _reference_values(entry, parameters, system, state, t_end)
        study = jacobian_study(problem, solver, (0.0, t_end), arguments.strategies or strategies_for(system, solver), **tolerances,
                               state=state, reference_values=reference_values, repeats=arguments.repeat, limit=arguments.limit,
                               progress=bar)
    title = f"{entry.title}, {_form(problem)}"
    settings = {"mechanism": entry.name, "set": parameters, "t_end": t_end, "method": arguments.method.name, **tolerances,
                "repeat": arguments.repeat, "limit": arguments.limit, "reference": source, "points": POINTS}
    _show(study, title, replace(arguments.method, formulation=problem.formulation).label, t_end, tolerances, source)
    if folder:
        _write(folder, study, settings, None if arguments.no_figure else (problem, entry, title, t_end))
    failed = [r.strategy for r in study.rows if not r.success]
    if failed:
        print_error(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


# method and form ------------------------------------------------------------------------------------------------------------------------


def _solver(spec: MethodSpec) -> Any:
    if not takes_strategies(spec.family.method_class):
        others = ", ".join(f.name for f in FAMILIES if takes_strategies(f.method_class))
        raise Refusal(f"{spec.label} has no choice of Jacobians; methods that have: {others}")
    return spec.make()


def _problem(system: System, spec: MethodSpec, solver: Any, form: str | None) -> Problem:
    """The form in the name of the method, or GGL if the method takes it, or the preferred one."""
    name = spec.formulation or ("ggl" if "ggl" in solver.formulations else solver.formulations[0])
    if name not in solver.formulations:
        raise Refusal(f"{solver.label} cannot take the form {name!r}: {solver.support[name]}; it takes {', '.join(solver.formulations)}")
    if name == "ggl":
        return GGL(system, form or "residual")
    if form:
        raise Refusal(f"--form is for GGL, but {spec.name} is given {name!r}; write {MethodSpec(spec.family, spec.variant, 'ggl').name}")
    return FORMULATIONS[name](system)


def _reference_values(entry: Entry, parameters: Parameters, system: System, state: State,
                      t_end: float) -> tuple[EndValues | Motion | None, str]:
    """Reference values for the errors, and their source."""
    try:
        found: EndValues | Motion = EndValues(entry, parameters, t_end)
    except LookupError:
        try:
            found = Motion(reference(system, state, output_times((0.0, t_end))))
        except ReferenceFailed as e:
            return None, f"none ({e})"
    return found, found.source


def _form(problem: Problem) -> str:
    return problem.title + (f", {problem.form} form" if hasattr(problem, "form") else "")


# output ---------------------------------------------------------------------------------------------------------------------------------

_COLUMNS = (("#fc", "evaluations"), ("#fcw", "evaluations_corrector"), ("#Je", "jacobians"), ("#updates", "updates"),
            ("growths", "growths"), ("steps", "steps"))
_DISPENSABLE = ("steps", "growths", "evaluations_corrector")


def _show(study: JacobianStudy, title: str, method: str, t_end: float, tolerances: Mapping[str, float], source: str) -> None:
    console, f = output(), study.facts
    console.print(f"[bold]{title}[/bold]   {method}, t = 0 ... {t_end:g} s, rtol = {tolerances['rtol']:g}, atol = {tolerances['atol']:g}",
                  soft_wrap=True)
    console.print(f"n = {f.n}, nnz = {f.nnz} ({f.known} known), {f.groups} groups{_bound(f)}; evaluations per Jacobian: {f.dense} dense, "
                  f"{f.grouped} grouped", soft_wrap=True)
    console.print(fitting(console, partial(_table, study.rows), _COLUMNS, _DISPENSABLE))
    for r in study.rows:
        if not r.success:
            console.print(f"{r.strategy}: {r.message}", style="red", soft_wrap=True, markup=False)
    for note in _notes(study, source):
        console.print(f"[dim]{note}[/dim]", soft_wrap=True)


def _bound(facts: JacobianFacts) -> str:
    return "" if facts.lower_bound is None else f" (at least {facts.lower_bound} needed)"


def _notes(study: JacobianStudy, source: str) -> list[str]:
    notes = ["cpu: processor time of a run, median of the repeats; percent: relative to the first row",
             "#fc, #fcw: evaluations of the residual with and without those for Jacobians; #Je: evaluations of Jacobians",
             f"error: at the end, in multiples of the tolerance; reference: {source}"]
    if any(r.error_late is not None for r in study.rows):
        notes.append("late: largest error in the last quarter of the time span")
    return notes


def _table(rows: list[JacobianRow], columns: Sequence[tuple[str, str]]) -> Table:
    late = any(r.error_late is not None for r in rows)
    table = new_table_of_runs("strategy")
    add_numbers(table, ("cpu ms", *(title for title, _ in columns), "percent", "error", *(["late"] if late else [])))
    for r in rows:
        errors = [_digits(r.error_end) if r.success else f"[red]{r.status}[/red]", *([_digits(r.error_late)] if late else [])]
        table.add_row(r.strategy, milliseconds(r.cpu), *(number(getattr(r, field)) for _, field in columns),
                      "-" if r.percent is None else f"{r.percent:.1f}", *errors)
    return table


def _digits(x: float | None) -> str:
    return "-" if x is None else f"{x:.2g}" if x < 100.0 else f"{x:.0f}"


# files ---------------------------------------------------------------------------------------------------------------------------------


def _write(folder: Path, study: JacobianStudy, settings: Mapping[str, object], drawn: tuple[Problem, Entry, str, float] | None) -> None:
    """The table and, with `drawn`, the figures."""
    paths = [folder / "jacobian.csv", folder / "jacobian.json"]
    write_csv(paths[0], study.rows)
    write_json(paths[1], metadata(**settings) | {"facts": asdict(study.facts), "rows": study.rows, "logs": study.logs})
    if drawn:
        paths += _draw(folder, study, *drawn)
    output().print(f"written: {', '.join(str(p) for p in paths)}", soft_wrap=True, markup=False)


def _draw(folder: Path, study: JacobianStudy, problem: Problem, entry: Entry, title: str, t_end: float) -> list[Path]:
    figures = {"pattern": plot_pattern(problem, title), "groups": plot_groups(problem, title=title)}
    curve = excitation_curve(problem.system, output_times((0.0, t_end)))
    if curve is None and study.motion is not None:
        curve = output_curve(study.motion.t, observe(entry, study.motion))
    if curve is not None and any(name != "exact" for name in study.logs):
        figures["timeline"] = draw_timeline(study.logs, curve, title=title)
    for name, figure in figures.items():
        save(figure, folder / f"{name}.png")
    return [folder / f"{name}.png" for name in figures]
