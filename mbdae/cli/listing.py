"""`mbdae list`: mechanisms, integrators, formulations, and the solvers found on this machine."""

import argparse
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import library
from ..driver.availability import Availability
from ..pages import facts
from ..pages.facts import Applicability, Form
from ..problems import FORMULATIONS
from ..registry import FAMILIES
from .console import output, progress_bar
from .tables import new_table

WIDE = 80  # columns
_NUMBERS = ("bodies", "nq", "nv", "nc", "redundant", "dof", "unknowns")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    console = output()
    if arguments.long:
        _long(console)
    else:
        with progress_bar():
            rows = {name: facts.first_counts(library.entry(name)) for name in library.names()}
        console.print(_mechanisms(rows, "bodies", "nq", "nv", "nc"))
    for table in (_formulations(), _methods(console.width >= WIDE), _packages()):
        console.print(table)
    return 0


def _new(title: str, *columns: str) -> Table:
    table = new_table(title)
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold", no_wrap=name in ("control", *_NUMBERS))
    return table


def _mechanisms(rows: Mapping[str, Sequence[int | None]], *columns: str) -> Table:
    table = _new("mechanisms", "name", "title", *columns)
    for name, numbers in rows.items():
        table.add_row(name, escape(library.entry(name).title), *("-" if n is None else str(n) for n in numbers))
    return table


# applicable forms and methods -------------------------------------------------------------------------------------------------------


def _long(console: Console) -> None:
    with progress_bar() as bar:
        found = {}
        for k, name in enumerate(library.names()):
            bar(k, len(library.names()), name)
            system = facts.examined(library.entry(name))
            found[name] = facts.counts(system), facts.forms(system)
        methods = facts.applicability()
    rows = {name: (*numbers[:4], len(numbers[4]), numbers[5]) for name, (numbers, _) in found.items()}
    console.print(_mechanisms(rows, "bodies", "nq", "nv", "nc", "redundant", "dof"))
    _details(console, {name: forms for name, (_, forms) in found.items()}, methods)
    console.print(_applicability(methods))


def _details(console: Console, forms: Mapping[str, list[Form]], methods: list[Applicability]) -> None:
    for name, found in forms.items():
        e = library.entry(name)
        parameters = ", ".join(f"{k} = {v!r}" for k, v in e.parameters.items()) or "none"
        console.print(f"[bold]{name}[/bold]: {escape(e.summary)}", soft_wrap=True)
        usual = f"usual time span 0 ... {e.t_end:g} s, step {e.step:g} s, view {e.view}"
        lines = [f"parameters: {parameters}; {usual}", *_forms(found), f"methods: {_suitable(methods, e.stiff, found)}"]
        for line in lines:
            console.print(f"    {line}", soft_wrap=True, markup=False)
        console.print(f"    source: {e.source}", style="dim", soft_wrap=True, markup=False)
    console.print()


def _forms(found: list[Form]) -> list[str]:
    """The applicable forms with their numbers of unknowns, and the others by reason."""
    usable = [f for f in found if not f.reason]
    sizes: dict[int | None, list[str]] = {}
    for f in usable:
        sizes.setdefault(f.unknowns, []).append(f.name)
    what = "all forms" if len(usable) == len(found) else "forms" if usable else "no form"
    by_size = sorted(sizes.items(), key=lambda item: item[0] or 0)
    lines = [f"{what}, unknowns: " + "; ".join(f"{n} {', '.join(names)}" for n, names in by_size)]
    reasons: dict[str, list[str]] = {}
    for f in found:
        if f.reason:
            reasons.setdefault(f.reason, []).append(f.name)
    return lines + [f"not {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _suitable(methods: list[Applicability], stiff: bool, found: list[Form]) -> str:
    """The methods applicable to a mechanism, by its forms and the stiffness of its forces; the others by reason."""
    usable = {f.name for f in found if not f.reason}
    reasons: dict[str, list[str]] = {}
    for m in methods:
        if m.forms and not usable & set(m.forms):
            reasons.setdefault("takes none of its forms", []).append(m.name)
        elif stiff and m.unsuitable:
            reasons.setdefault(f"{m.unsuitable}, but the forces are stiff", []).append(m.name)
    without = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
    return f"all but {without}" if without else "all"


def _applicability(methods: list[Applicability]) -> Table:
    """Methods by the forms that they take, with the reasons why they do not take the others."""
    table = _new("forms taken by the methods, preferred first", "methods", "forms", "stiff", "state", "refused")
    groups: dict[tuple[tuple[str, ...], bool, bool, tuple[tuple[str, str], ...]], list[Applicability]] = {}
    for m in methods:
        reasons = tuple((", ".join(forms), reason) for reason, forms in m.refused.items())
        groups.setdefault((m.forms, bool(m.unsuitable), bool(m.missing), reasons), []).append(m)
    for (forms, unsuitable, missing, reasons), members in groups.items():
        taken = ", ".join(forms) or ("none" if reasons else "the system itself")
        refused = "\n".join(f"{names}: {reason}" for names, reason in reasons) or "-"
        names = ", ".join(m.name for m in members)
        stiff = f"no: {members[0].unsuitable}" if unsuitable else "yes" if forms or not reasons else "-"
        table.add_row(escape(names), taken, stiff, "missing" if missing else "ready", escape(refused), end_section=True)
    return table


# all names --------------------------------------------------------------------------------------------------------------------------


def _formulations() -> Table:
    table = _new("formulations", "name", "form")
    for name, problem in FORMULATIONS.items():
        table.add_row(name, problem.title)
    return table


def _methods(wide: bool) -> Table:
    """The methods; on a narrow terminal without a column for what controls the step size."""
    columns = ("name", "control", "summary") if wide else ("name", "summary")
    table = _new("methods; a formulation may follow the name, as in Cvode:Adams:partition", *columns)
    for f in FAMILIES:
        control = ("step" if f.control == "h" else "tolerance",) if wide else ()
        table.add_row(f.name, *control, f.summary)
        names = f.variants or f.forms()
        if names:
            table.add_row("", *("" for _ in control), f"[dim]{' '.join(f'{f.name}:{x}' for x in names)}[/dim]")
    return table


def state(available: Availability) -> str:
    """Version of a package, and its fault."""
    if available.version is None:
        return f"missing: {available.remedy}"
    return f"{available.version}, broken: {available.fault}" if available.fault else available.version


def _packages() -> Table:
    table = _new("solver packages on this machine", "package", "version", "methods")
    found: dict[str, tuple[Availability, list[str]]] = {}
    for f in FAMILIES:
        available = f.availability()
        if available is not None:
            found.setdefault(available.package, (available, []))[1].append(f.name)
    for available, names in found.values():
        table.add_row(available.package, escape(state(available)), ", ".join(names))
    return table
