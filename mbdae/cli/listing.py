"""`mbdae list`: mechanisms, integrators, formulations, and the solvers found on this machine."""

import argparse

from rich import box
from rich.table import Table

from .. import library
from ..methods import FAMILIES
from ..model.bodies import RigidBody
from ..problems import FORMULATIONS
from .console import output

_EPILOG = """\
examples:
  mbdae list
  mbdae list --long     with summaries, parameters, sources
"""


def add_parser(commands):
    """The parser of `list`."""
    p = commands.add_parser("list", help="mechanisms, methods, formulations, solvers", description="Show what there is.", epilog=_EPILOG,
                            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--long", action="store_true", help="with summaries, parameters and sources")
    p.set_defaults(run=run)


def run(arguments):
    """Run the command."""
    console = output()
    console.print(_mechanisms())
    if arguments.long:
        _details(console)
    for table in (_formulations(), _methods(), _packages()):
        console.print(table)
    return 0


def _new(title, *columns):
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        number = name in ("bodies", "nq", "nv", "nc", "dof")
        table.add_column(name, justify="right" if number else "left", no_wrap=name != "summary")
    return table


def _mechanisms():
    table = _new("mechanisms", "name", "title", "bodies", "nq", "nv", "nc", "dof")
    for name in library.names():
        m = library.mechanism(name)
        rigid = sum(isinstance(b, RigidBody) for b in m.bodies)
        nq, nv = 3 * len(m.bodies) + 4 * rigid, 3 * len(m.bodies) + 3 * rigid
        table.add_row(name, library.entry(name).title, *(str(n) for n in (len(m.bodies), nq, nv, len(m.labels), m.dof)))
    return table


def _details(console):
    for name in library.names():
        e = library.entry(name)
        parameters = ", ".join(f"{k} = {v!r}" for k, v in e.parameters.items()) or "none"
        console.print(f"[bold]{name}[/bold]: {e.summary}", soft_wrap=True)
        usual = f"usual time span 0 ... {e.t_end:g} s, step {e.step:g} s, view {e.view}"
        console.print(f"    parameters: {parameters}; {usual}", soft_wrap=True, markup=False)
        console.print(f"    source: {e.source}", style="dim", soft_wrap=True, markup=False)
    console.print()


def _formulations():
    table = _new("formulations", "name", "form")
    for name, problem in FORMULATIONS.items():
        table.add_row(name, problem.title)
    return table


def _methods():
    table = _new("methods", "name", "control", "summary")
    for f in FAMILIES:
        table.add_row(f.name, "step" if f.control == "h" else "tolerance", f.summary)
        if f.variants:
            table.add_row("", "", f"[dim]{' '.join(f'{f.name}:{v}' for v in f.variants)}[/dim]")
        elif f.forms():
            table.add_row("", "", f"[dim]{' '.join(f'{f.name}:{form}' for form in f.forms())}[/dim]")
    return table


def state(available):
    """Version of a package, or what is wrong with it."""
    if available.version is None:
        return f"missing: {available.remedy}"
    return f"{available.version}, broken: {available.fault}" if available.fault else available.version


def _packages():
    table = _new("solver packages on this machine", "package", "version", "methods")
    found = {}
    for f in FAMILIES:
        available = f.availability()
        if available is not None:
            found.setdefault(available.package, (available, []))[1].append(f.name)
    for available, names in found.values():
        table.add_row(available.package, state(available), ", ".join(names))
    return table
