"""`mbdae study`: studies over mechanisms, formulations, methods and settings."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from ..pictures.figures import save
from ..studies.grid.executors import Dask, Executor, Joblib, Serial
from ..studies.grid.studies import STUDIES, study
from ..studies.grid.table import StudyTable
from ..studies.grid.target import Coordinates, Target
from . import profile
from .console import output, print_error, progress_bar
from .numbers import number, percent, short
from .options import Refusal, entry_called, is_file, output_folder, parameters_of
from .tables import add_numbers, fitting, new_table, titles


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    folder = output_folder(arguments.output or f"results/{arguments.study}")
    targets = _targets(arguments.mechanisms, arguments.parameters, arguments.coordinates, arguments.t_end)
    return carry_out(arguments.study, targets, folder, methods=arguments.methods, formulations=arguments.formulations, rtol=arguments.rtol,
                     steps=arguments.steps, sizes=arguments.sizes, repeats=arguments.repeats, passes=arguments.passes,
                     limit=arguments.limit, executor=_executor(arguments), fresh=arguments.fresh)


def carry_out(name: str, targets: Sequence[str | Path | Target], folder: Path, **options: Any) -> int:
    """Carry out a study with these options of `study`, write and show what it finds; the exit code."""
    with progress_bar() as bar:
        table = study(name, targets, folder=folder / "cells", progress=bar, **options)
    figure = folder / f"{name}.png"
    written = [figure, *table.write(folder / name)]
    save(STUDIES[name].figure(table.rows, None), figure)
    if name == profile.STUDY:
        profile.show(table)
        written += profile.write(table, folder)
    else:
        _show(table)
    endings = "".join(f", {path.suffix if path.stem == name else path.name}" for path in written[1:])
    output().print(f"written: {figure}{endings}", soft_wrap=True, markup=False)
    return profile.judge(table) if name == profile.STUDY else _judge(table)


def _targets(names: Sequence[str], assignments: Sequence[tuple[str, str]], coordinates: Coordinates, t_end: float | None) -> list[Target]:
    found = []
    for name in names:
        if is_file(name):
            if assignments:
                raise Refusal(f"a file has no parameters: --set {assignments[0][0]} is for mechanisms of the library")
            found.append(_target_of_file(name, coordinates, t_end))
        else:
            found.append(Target.of(name, parameters_of(entry_called(name), assignments), coordinates, t_end))
    return found


def _target_of_file(path: str, coordinates: Coordinates, t_end: float | None) -> Target:
    try:
        return Target.of(path, None, coordinates, t_end)
    except OSError as e:
        raise Refusal(f"cannot read {path}: {e.strerror or e}") from None


def _executor(arguments: argparse.Namespace) -> Executor:
    if arguments.executor == "dask":
        if not arguments.scheduler:
            raise Refusal("--executor dask needs --scheduler ADDRESS")
        try:
            return Dask(arguments.scheduler)
        except (ImportError, OSError) as error:
            raise Refusal(f"no Dask cluster at {arguments.scheduler}: {error}") from None
    if arguments.scheduler:
        raise Refusal("--scheduler is for --executor dask")
    return Serial() if arguments.jobs == 1 else Joblib(arguments.jobs)


# output ---------------------------------------------------------------------------------------------------------------

_RUN = (("err q", "error_q"), ("err v", "error_v"), ("err lam", "error_lam"), ("q/tol", "tolerances_q"), ("v/tol", "tolerances_v"),
        ("Phi", "residual_position"), ("steps", "steps"), ("evals", "evaluations"), ("cpu s", "cpu"), ("+ %", "cpu_spread"))
_STRATEGY = (("cpu s", "cpu"), ("%", "percent"), ("evals", "evaluations"), ("Jacobians", "jacobians"), ("updates", "updates"),
             ("err end", "error_end"))
_SCALING = (("links", "links"), ("build s", "build"), ("start s", "start"), ("step s", "step"), ("bytes", "memory"))
_DRIFT = (("t", "t"), ("energy change", "energy_change"), ("Phi", "residual_position"), ("Phi'", "residual_velocity"))
_NOTES = {  # of columns
    "err q": "root mean square over the times of the reference of the largest component, SI units",
    "q/tol": "largest error in multiples of atol + rtol |q|",
    "Phi": "largest constraint violation at the steps of the method",
    "cpu s": "processor time of a run, the least of the repeats, and by how many percent their median exceeds it",
}
_COLUMNS = {"jacobian": _STRATEGY, "scaling": _SCALING, "drift": _DRIFT}
_DISPENSABLE = ("evaluations", "error_v", "tolerances_v", "residual_position", "error_lam", "cpu_spread")
MOST_LINES = 200


def _show(table: StudyTable) -> None:
    console, rows = output(), table.rows
    if table.study == "drift":
        rows = _last_of_each(rows)
    if not rows:
        return
    columns = _COLUMNS.get(table.study, _RUN)
    shown = [r for r in rows if r.status != "REFUSED"][:MOST_LINES]
    if shown:
        grid = fitting(console, partial(_table, shown), list(columns), _DISPENSABLE)
        if _is_alone(shown):
            console.print(f"{shown[0].mechanism}   t = 0 ... {shown[0].t_end:g} s", style="bold", markup=False)
        console.print(grid)
        for title, note in _NOTES.items():
            if title in titles(grid):
                console.print(f"{title}: {note}", style="dim", markup=False)
    refused = [r for r in rows if r.status == "REFUSED"]
    if len(shown) + len(refused) < len(rows):
        console.print(f"the first {len(shown)} of {len(rows) - len(refused)} rows; all of them are in the files", style="dim")
    for message, names in _refusals(refused).items():
        console.print(f"refused: {', '.join(names)}: {message}", style="yellow", markup=False)
    for r in rows:
        if r.status not in ("SUCCESS", "REFUSED", "LEFT_OUT"):
            console.print(f"{_place(r)}: {r.status}, {r.message}", style="red", markup=False)


def _refusals(rows: Sequence[Any]) -> dict[str, list[str]]:
    """The methods that were refused, by reason."""
    found: dict[str, list[str]] = {}
    for r in rows:
        named = found.setdefault(r.message, [])
        if r.method not in named:
            named.append(r.method)
    return found


def _last_of_each(rows: Sequence[Any]) -> list[Any]:
    return list({(r.mechanism, r.method, r.setting): r for r in rows}.values())


def _place(row: Any) -> str:
    parts = [getattr(row, name, None) for name in ("mechanism", "family", "case", "links", "method", "formulation", "strategy")]
    setting = getattr(row, "setting", None)
    return ", ".join(str(x) for x in parts if x) + ("" if setting is None else f", {row.control} = {setting:g}")


def _is_alone(rows: Sequence[Any]) -> bool:
    """Whether all rows are of one mechanism, which then has no column."""
    return len({getattr(r, "mechanism", None) for r in rows}) == 1 and hasattr(rows[0], "mechanism")


def _table(rows: Sequence[Any], columns: Sequence[tuple[str, str]]) -> Table:
    table = new_table()
    first = ("mechanism", "method", "strategy", "family", "case")
    named = [name for name in first if hasattr(rows[0], name) and not (name == "mechanism" and _is_alone(rows))]
    for name in named:
        table.add_column(name, overflow="fold")
    with_setting = bool(rows) and hasattr(rows[0], "setting")
    add_numbers(table, (*(["h / rtol"] if with_setting else []), *(title for title, _ in columns)))
    for r in rows:
        values = [getattr(r, field) for _, field in columns]
        shown = [percent(x) if field == "cpu_spread" else number(x) for x, (_, field) in zip(values, columns)]
        table.add_row(*(str(getattr(r, name)) for name in named), *([short(r.setting)] if with_setting else []), *shown)
    return table


def _judge(table: StudyTable) -> int:
    """The exit code; says what is wrong."""
    failed = [r for r in table.rows if r.status not in ("SUCCESS", "REFUSED", "LEFT_OUT")]
    far = [r for r in table.rows if (getattr(r, "tolerances_q", None) or 0.0) > 100.0]
    if failed or far:
        where = f" ({', '.join(dict.fromkeys(r.method for r in far))})" if far else ""
        print_error(f"{len(failed)} of {len(table.rows)} cells have failed, {len(far)} have errors above 100 tolerances{where}")
    return int(bool(failed or far))
