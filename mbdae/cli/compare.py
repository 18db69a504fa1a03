"""`mbdae compare`: integrators and solvers on one mechanism, accuracy against cost."""

import argparse
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from rich.table import Table

from .. import library
from ..assemble import assemble
from ..library.base import Comparison, Entry
from ..pictures.figures import save
from ..registry import MethodSpec, find
from ..studies.grid.runs import installed
from ..studies.grid.target import Target
from ..studies.kinematics import ReferenceSolution, freedom
from ..studies.reference import reference
from ..studies.table import metadata, write_csv, write_json
from ..studies.warm import start, stop, warm_on
from ..studies.work_precision import Series, WorkPrecisionRow, first_of, work_precision
from ..studies.work_precision_figures import plot_work_precision
from ..system.system import System
from . import profile
from .console import COMPILING, Bar, output, print_error, progress_bar
from .numbers import milliseconds, number, percent, short
from .options import Refusal, build, check_steps, output_folder
from .parsers import LIMIT, LIMIT_OF_ALL
from .study import carry_out
from .tables import add_numbers, fitting, new_table_of_runs, titles

MAX_SECONDS = 2.0  # of motion, or of its animation, if that is shorter, by default
POINTS = 101
LOCAL = ("partition", "tangent")  # forms in state space


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if arguments.all:
        return _all(arguments)
    if arguments.mechanism is None:
        raise Refusal("the following arguments are required: MECHANISM, or --all for the whole library")
    repeats, limit = arguments.repeats, arguments.limit or LIMIT
    with progress_bar() as bar:
        with _helpers(bar):
            entry, parameters, system = build(arguments.mechanism, arguments.parameters)
            t_end = arguments.t_end or min(entry.t_end, MAX_SECONDS * max(1.0, entry.film))
            folder = output_folder(arguments.output or f"results/{entry.name}")
            specs = arguments.methods or _usual(entry.usual_comparison, system)
            series = _series(arguments, entry.usual_comparison, specs)
            check_steps(system, t_end, [float(h) for s in series if s.control == "h" for h in s.settings if isinstance(h, float)])
            state = assemble(system)
        if bar.announced:
            _compile(Target.of(arguments.mechanism, parameters, t_end=t_end), specs, series, bar)
        bar(0, 1, "reference")
        exact = reference(system, state, np.linspace(0.0, t_end, POINTS))
        rows = work_precision(system, series, (0.0, t_end), state=state, exact=exact, repeats=repeats, limit=limit, progress=bar)
    _show(entry, system, t_end, exact, rows)
    settings = {"mechanism": entry.name, "set": parameters, "t_end": t_end, "repeats": repeats, "limit": limit,
                "reference": exact.source, "points": POINTS}
    _write(folder, entry, t_end, rows, settings, not arguments.no_figure)
    if any(r.success for r in rows):
        return 0
    print_error("no run succeeded")
    return 1


def _all(arguments: argparse.Namespace) -> int:
    """The study of profiles over the library."""
    given = {"MECHANISM": arguments.mechanism, "--set": arguments.parameters, "--t-end": arguments.t_end, "--steps": arguments.steps,
             "--no-figure": arguments.no_figure}
    for option, value in given.items():
        if value:
            raise Refusal(f"--all takes the whole library as it is, not {option}; 'mbdae study {profile.STUDY}' takes some mechanisms")
    targets = [Target.of(name) for name in library.names()]
    names = [spec.name for spec in arguments.methods or ()]
    return carry_out(profile.STUDY, targets, output_folder(arguments.output or f"results/{profile.STUDY}"), methods=names,
                     rtol=arguments.rtol or (), repeats=arguments.repeats, limit=arguments.limit or LIMIT_OF_ALL)


@contextmanager
def _helpers(bar: Bar) -> Iterator[None]:
    """Processes that start at the first compilation, to be ready when the kernels of the mechanism are.

    Compiled code leaves much for the collection of garbage to look at, and little that it finds: it waits until the kernels are ready.
    """
    collects = gc.isenabled()
    bar.when_compiling = _begin
    try:
        yield
    except BaseException:
        if bar.announced:
            stop()
        raise
    finally:
        bar.when_compiling = None
        if collects:
            gc.enable()


def _begin() -> None:
    """What the first compilation begins with."""
    gc.disable()
    start()


def _compile(target: Target, specs: Sequence[MethodSpec], series: Sequence[Series], bar: Bar) -> None:
    """Compile for all methods on all cores: the kernels of the mechanism were not in the cache."""
    runs = [(spec.name, first_of(s.settings[0])) for spec, s in zip(specs, series)]
    bar(0, len(runs), COMPILING)
    for done, _ in enumerate(warm_on(target, runs), 1):
        bar(done, len(runs), COMPILING)


def _series(arguments: argparse.Namespace, usual: Comparison, specs: Sequence[MethodSpec]) -> list[Series]:
    """The methods with their steps or tolerances."""
    steps, rtol = arguments.steps or usual.steps, arguments.rtol or usual.rtol
    return [_one(spec, steps, rtol) for spec in specs]


def _usual(usual: Comparison, system: System) -> list[MethodSpec]:
    """The usual methods that are installed, and that apply: a state-space form needs a degree of freedom."""
    specs, moves = list(map(find, usual.methods)), freedom(system, assemble(system)) > 0
    return [s for s in specs if installed(s) and (moves or not _local(s))]


def _local(spec: MethodSpec) -> bool:
    """Whether the method runs in a state-space form here."""
    return spec.control == "rtol" and (spec.formulation or spec.family.forms(spec.variant)[0]) in LOCAL


def _one(spec: MethodSpec, steps: tuple[float, ...], rtol: tuple[float, ...]) -> Series:
    if spec.control == "h":
        spec.make(h=steps[0])  # raises before anything runs if the package is missing
        return Series(spec.label, lambda h: spec.make(h=h), steps)
    return Series(spec.label, spec.make(), tuple((r, r / 100.0) for r in rtol), spec.formulation)


# output ---------------------------------------------------------------------------------------------------------------

_COLUMNS = (
    ("err q", "error_q"), ("err v", "error_v"), ("err lam", "error_lam"), ("Phi", "residual_position"), ("Phi'", "residual_velocity"),
    ("Phi''", "residual_acceleration"), ("energy", "energy_drift"), ("steps", "steps"), ("evals", "evaluations"),
    ("Newton", "newton_iterations"), ("call ms", "cpu_solve"),
)
_DISPENSABLE = ("newton_iterations", "residual_acceleration", "residual_velocity", "evaluations", "cpu_solve", "energy_drift",
                "residual_position", "error_v", "error_lam")
_NOTES = {  # of columns
    "Phi": "largest constraint violation on position level, at the steps of the method; with ' and '' on velocity and acceleration level",
    "energy": "largest change of the total energy, relative to the largest kinetic energy",
    "evals": "evaluations of the residual or right-hand side, without those for Jacobians",
    "ms": "processor time of the integration, the least of the repeats, and by how much their median exceeds it; without postprocessing "
          "(projection of states of the ODE, multipliers)",
    "call ms": "processor time of the whole call of mbdae.solve",
}


def _show(entry: Entry, system: System, t_end: float, exact: ReferenceSolution, rows: list[WorkPrecisionRow]) -> None:
    console = output()
    console.print(f"[bold]{entry.title}[/bold]   t = 0 ... {t_end:g} s   {_bodies(system)}nq = {system.nq}, "
                  f"nv = {system.nv}, nc = {system.nc}")
    columns = [c for c in _COLUMNS if c[1] != "energy_drift" or any(r.energy_drift is not None for r in rows)]
    table = fitting(console, partial(_table, rows), columns, _DISPENSABLE)
    console.print(table)
    for r in rows:
        if not r.success:
            console.print(f"{r.method}, {r.control} = {r.setting:g}: {r.status}, {r.message}", style="red", markup=False)
    notes = [f"err: root mean square over {len(exact.t)} times of the largest component, SI units; reference: {exact.source}"]
    notes += [f"{title}: {note}" for title, note in _NOTES.items() if title in titles(table)]
    hidden = [title for title, _ in columns if title not in titles(table)]
    if hidden:
        notes.append(f"not shown, for lack of room: {', '.join(hidden)}; they are in the files")
    if freedom(system, assemble(system)) == 0:
        notes.append("the drivers prescribe all positions: methods that satisfy Phi = 0 are exact in q up to rounding")
    for note in notes:
        console.print(note, style="dim", markup=False)


def _bodies(system: System) -> str:
    if system.mechanism is None:
        return ""
    n = len(system.mechanism.bodies)
    return f"{n} body, " if n == 1 else f"{n} bodies, "


def _table(rows: list[WorkPrecisionRow], columns: Sequence[tuple[str, str]]) -> Table:
    table = new_table_of_runs("method")
    given = [column for column in columns if column[1] != "cpu_solve"]
    add_numbers(table, ("h / rtol", *(title for title, _ in given), "ms", "+ %", *(title for title, _ in columns[len(given):])))
    for k, r in enumerate(rows):
        first = k == 0 or rows[k - 1].method != r.method
        last = k + 1 < len(rows) and rows[k + 1].method != r.method
        numbers = [number(getattr(r, field)) for _, field in given]
        if not r.success:
            numbers[0] = "[red]failed[/red]"
        times = milliseconds(r.cpu), percent(r.cpu_spread), *(milliseconds(r.cpu_solve) for _ in columns[len(given):])
        table.add_row(r.method if first else "", short(r.setting), *numbers, *times, end_section=last)
    return table


def _write(folder: Path, entry: Entry, t_end: float, rows: list[WorkPrecisionRow], settings: Mapping[str, object],
           with_figure: bool) -> None:
    console, stem = output(), folder / "work_precision"
    write_csv(stem.with_suffix(".csv"), rows)
    write_json(stem.with_suffix(".json"), metadata(**settings) | {"rows": rows})
    endings = [".csv", ".json"]
    if with_figure:
        save(plot_work_precision(rows, f"{entry.title},  t = 0 ... {t_end:g} s"), stem.with_suffix(".png"))
        endings.insert(0, ".png")
    console.print(f"written: {stem}{', '.join(endings)}", soft_wrap=True)
