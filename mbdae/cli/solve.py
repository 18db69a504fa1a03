"""`mbdae solve`: one run, its summary, and what is written of it."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from ..assemble import assemble
from ..library.base import Entry
from ..pictures.figures import save
from ..pictures.outputs import observe, plot_outputs
from ..registry import MethodSpec, find
from ..results import storage
from ..results.names import names_of
from ..results.rows import COLUMNS
from ..results.solution import Solution
from ..solve import solve
from ..studies.errors import constraint_residuals, energy_drift
from ..studies.table import metadata, plain, write_json
from ..system.assembly import AssemblyError
from ..system.system import System
from ..typing import Matrix, Vector
from .console import Bar, output, print_error, progress_bar
from .numbers import milliseconds, number
from .options import Refusal, build, check_steps, output_file
from .parsers import ENDINGS, PICTURES
from .tables import new_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_OUTPUTS = 12  # in the summary
MAX_POINTS = 10_000  # stored by a method with fixed step without --points

def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    entry, parameters, system = build(arguments.mechanism, arguments.parameters)
    path = None if arguments.output is None else output_file(arguments.output, ENDINGS)
    picture = None if arguments.plot is None else output_file(arguments.plot or f"{entry.name}.png", PICTURES)
    t_end = arguments.t_end or entry.t_end
    if arguments.points == 1:
        raise Refusal("--points must be at least 2")
    times = None if arguments.points is None else np.linspace(0.0, t_end, arguments.points)
    with progress_bar() as bar:
        solution, used = simulated(entry, system, arguments, t_end, times, bar)
        bar(1.0, 1.0, "writing")
        outputs = observe(entry, solution)
        settings = {"mechanism": entry.name, "set": parameters, "t_end": t_end, "method": solution.method,
                    "formulation": solution.formulation, **used}
        written = [] if path is None else _write(path, solution, outputs, settings)
        if picture is not None and len(solution.t):
            save(_figure(entry, solution, outputs), picture)
            written.append(picture)
    _report(solution, written)
    if path is None and len(solution.t):
        output().print(_ends(solution, outputs))
    if solution.success:
        return 0
    print_error(f"{solution.method} failed: {solution.message}")
    return 1


class Diverged(ArithmeticError):
    """The states of a run have diverged and cannot be evaluated."""


def simulated(entry: Entry, system: System, arguments: argparse.Namespace, t_end: float, times: Vector | None,
          bar: Bar) -> tuple[Solution, dict[str, float]]:
    """The solution for the options, and the step or the tolerances used."""
    spec, every = arguments.method or find("HalfImplicit" if arguments.h else "Automatic"), 1
    method, tolerances = _configured(spec, entry, arguments)
    if spec.control == "h":
        check_steps(system, t_end, [method.h])
        every = math.ceil(t_end / method.h / MAX_POINTS)
    bar(0.0, t_end, "preparing")
    state = assemble(system)
    if arguments.formulation and spec.formulation not in (None, arguments.formulation):
        raise Refusal(f"--method has the form {spec.formulation}, --formulation the form {arguments.formulation}")
    formulation = arguments.formulation or spec.formulation
    try:
        kept = {name: getattr(arguments, name, None) for name in ("resume", "checkpoint")}
        options: dict[str, Any] = tolerances | {name: path for name, path in kept.items() if path is not None}
        smooth = getattr(arguments, "plot", None) is not None and times is None and spec.control == "rtol" and not kept["resume"]
        solution = solve(system, method, (0.0, t_end), formulation=formulation, state=state, t_eval=times, every=every, **options,
                         dense_output=smooth, progress=lambda t: bar(t, t_end, spec.label))
        return solution, tolerances or {"h": method.h, "tol": method.newton_tolerance}
    except (AssemblyError, FloatingPointError) as e:
        raise Diverged(f"{spec.label} failed: {e}") from e


def _configured(spec: MethodSpec, entry: Entry, arguments: argparse.Namespace) -> tuple[Any, dict[str, float]]:
    if spec.control == "h":
        for name in ("rtol", "atol"):
            if getattr(arguments, name):
                raise Refusal(f"{spec.label} has a fixed step: give --h, not --{name}")
        return spec.make(h=arguments.h or entry.step), {}
    if arguments.h:
        raise Refusal(f"{spec.label} chooses its steps: give --rtol and --atol, not --h")
    rtol = arguments.rtol or 1e-6
    return spec.make(), {"rtol": rtol, "atol": arguments.atol or rtol / 100.0}


def _figure(entry: Entry, solution: Solution, outputs: Mapping[str, Vector]) -> Figure:
    """The quantities of a mechanism; the natural outputs of a system of functions, whose coordinates have no names."""
    title = f"{entry.title},  {solution.method}"
    return plot_outputs(solution.t, outputs, title) if solution.system.mechanism is None else solution.plot(title=title)


def _report(solution: Solution, paths: Sequence[Path]) -> None:
    console, s = output(), solution.statistics
    console.print(f"[bold]{solution.method}[/bold], {solution.formulation}: {solution.status.name}, {len(solution.t)} points, "
                  f"{s.steps} steps, {s.residuals} evaluations, {milliseconds(s.seconds)} ms")
    if len(solution.t):
        levels = ", ".join(f"{n} {number(x)}" for n, x in zip(("Phi", "Phi'", "Phi''"), constraint_residuals(solution)))
        drift = energy_drift(solution)
        console.print(f"constraint violations: {levels}" + ("" if drift is None else f"; energy drift {number(drift)}"))
    if paths:
        console.print(f"written: {', '.join(str(p) for p in paths)}", soft_wrap=True)


def _ends(solution: Solution, outputs: Mapping[str, Vector]) -> RenderableType:
    """The first natural outputs at the beginning and the end."""
    table = new_table()
    table.add_column("")
    for k in (0, -1):
        table.add_column(f"t = {solution.t[k]:g} s", justify="right")
    some = list(outputs)[:MAX_OUTPUTS]
    for name in some:
        table.add_row(Text(name), *(f"{outputs[name][k]:.6g}" for k in (0, -1)))
    if len(some) < len(outputs):
        table.add_row(f"and {len(outputs) - len(some)} more with --output", "", "")
    return table


# files -------------------------------------------------------------------------------------------------------------------------


def _write(path: Path, solution: Solution, outputs: dict[str, Vector], settings: Mapping[str, object]) -> list[Path]:
    """Write the file, and the metadata of a table to a second one; returns the paths."""
    arrays = {"t": solution.t, "q": solution.q, "v": solution.v, "a": solution.a, "lam": solution.lam, "energy": solution.energy,
              "constraint_residuals": solution.constraint_residuals}
    about = metadata(**settings) | {"status": solution.status.name, "message": solution.message, "statistics": solution.statistics,
                                    "columns": columns(solution.system), "outputs": list(outputs)}
    written = [path]
    if path.suffix.lower() == ".npz":
        clash = {name if name not in arrays else f"output_{name}": x for name, x in outputs.items()}
        more = {name: x for name, x in (arrays | clash).items() if name not in COLUMNS}
        storage.save(path, solution, more, plain(about))
    elif path.suffix.lower() == ".json":
        write_json(path, about | arrays | {"outputs": outputs})
    else:
        _write_csv(path, solution, arrays, outputs)
        written.append(path.with_suffix(".json"))
        write_json(written[-1], about)
    return written


def _write_csv(path: Path, solution: Solution, arrays: Mapping[str, Matrix], outputs: Mapping[str, Vector]) -> None:
    names = columns(solution.system)
    head = ["t", *names["q"], *names["v"], *names["a"], *names["lam"], "energy", "Phi", "Phi_q v - nu", "Phi_q a - gamma"]
    more = {n: x for n, x in outputs.items() if n not in head}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*head, *more])
        for k in range(len(solution.t)):
            writer.writerow([float(x) for x in np.concatenate([np.ravel(a[k]) for a in (*arrays.values(), *more.values())])])


def columns(system: System) -> dict[str, list[str]]:
    """Names of the components of `q`, `v`, `a`, `lam`, see `mbdae.results.names`."""
    return {block: [c.name for c in found] for block, found in names_of(system)._asdict().items()}
