"""A page in Markdown for every mechanism of the library, and an index of them. Everything is derived; nothing here is written by hand."""

import inspect
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .. import library
from ..library.base import Entry, Parameters
from ..system.system import System
from ..typing import Progress
from . import facts
from .portrait import portrait, save_small

MOST_ROWS = 25  # of a table of bodies or joints; more are summed up by type
MOST_NAMES = 40  # of outputs or quantities in a list
INDEX = "README.md"


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading and blocks of text, each a paragraph, a `Table` or a `Listing`."""

    heading: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Table:
    """A table; the columns named in `numbers` are aligned to the right, and cells of those in `code` are names in programs."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    numbers: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """Text that is kept as it is."""

    text: str
    language: str = "text"


Block: TypeAlias = "Table | Listing | str"


def sections(entry: Entry, parameters: Parameters | None = None) -> list[Section]:
    """All that is known of a mechanism, a list of `Section`.

    Parameters
    ----------
    entry : mbdae.library.Entry
    parameters : dict, optional
        Of which topology and outputs are told, and the sizes beside those of the defaults and variants.
    """
    parameters = parameters or {}
    system = facts.examined(entry, parameters)
    return [Section("Size", _sizes(entry, parameters, system)), Section("Topology", _topology(system)),
            Section("Parameters and outputs", _parameters(entry, system)),
            Section("How hard, and why", (_hardness(entry),)), Section("References", _references(entry)),
            Section("Description", (Listing(_docstring(entry)),)), Section("How to get it", _usage(entry, parameters))]


def page(entry: Entry) -> str:
    """The page of an entry as Markdown; the picture is expected beside it."""
    lines = [f"# {entry.title}", "", f"`{entry.name}`: {entry.summary}", "", f"![{entry.title}]({entry.name}.png)", "",
             f"Source: {entry.source}."]
    for section in sections(entry):
        lines += ["", f"## {section.heading}"]
        for block in section.blocks:
            lines += ["", markdown(block)]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The index of all pages as Markdown."""
    rows = []
    for name in library.names():
        e = library.entry(name)
        bodies, nq, nv, nc, redundant, freedom = facts.counts(facts.examined(e))
        rows.append((f"[{name}]({name}.md)", e.title, _or_dash(bodies), nq, nv, nc, len(redundant), freedom, "yes" if e.stiff else "-",
                     e.summary))
    columns = ("name", "title", "bodies", "nq", "nv", "nc", "redundant", "degrees of freedom", "stiff?", "what for")
    return _INDEX_HEAD + markdown(Table(columns, rows, columns[2:8])) + "\n"


_INDEX_HEAD = """\
# Mechanisms

Every mechanism of the library with the sizes of its equations: numbers of position coordinates (nq), velocity coordinates (nv), constraint
equations (nc) and redundant ones among them. This page and those behind the names are written by `mbdae pages`.

"""


def write_pages(folder: str | Path, names: Sequence[str] | None = None, pictures: bool = True,
                progress: Progress | None = None) -> list[Path]:
    """Write the pages of mechanisms with their pictures, and the index.

    Parameters
    ----------
    folder : str or Path
        It is made if it does not exist.
    names : sequence of str, optional
        By default all there are.
    pictures : bool
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list of Path
    """
    folder, names = Path(folder), tuple(names or library.names())
    entries = [library.entry(name) for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for k, entry in enumerate(entries):
        if progress is not None:
            progress(k, len(entries), entry.name)
        written.append(_written(folder / f"{entry.name}.md", page(entry)))
        if pictures:
            written.append(folder / f"{entry.name}.png")
            save_small(portrait(entry), written[-1])
    return [*written, _written(folder / INDEX, index())]


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- what the sections say -------------------------------------------------------------------------------------------------------------

_SIZES = ("parameters", "bodies", "nq", "nv", "nc", "redundant", "dof", "index 3", "GGL", "state space", "non-zeros", "groups",
          "mass matrix")
_LEGEND = ("nq, nv, nc: position coordinates, velocity coordinates, constraint equations; redundant: equations that follow from the "
           "others; dof: degrees of freedom; index 3, GGL, state space: unknowns of these forms, the last of which do not exist where "
           "the motion is prescribed; non-zeros, groups: entries of the Jacobian of the GGL form, and groups of its columns that are "
           "differentiated together.")


def _sizes(entry: Entry, parameters: Parameters, system: System) -> tuple[Block, ...]:
    cases = [{}, *entry.variants]
    cases += [parameters] if parameters not in cases else []
    rows = []
    for given in cases:
        s = facts.sizes(system if given == parameters else facts.examined(entry, given))
        rows.append((_assignments(given) or "defaults", _or_dash(s.bodies), s.nq, s.nv, s.nc, ", ".join(s.redundant) or "-", s.freedom,
                     s.index3, s.ggl, _or_dash(s.state_space), s.nonzeros, s.groups, "constant" if s.constant_mass else "not constant"))
    return Table(_SIZES, rows, (*_SIZES[1:5], *_SIZES[6:-1])), _LEGEND


def _topology(system: System) -> tuple[Block, ...]:
    mechanism = system.mechanism
    if mechanism is None:
        names = ", ".join(f"`{label}`" for label in _some(system.labels))
        return (f"A system of equations without bodies. Constraint equations: {names or 'none'}.",)
    bodies = [(b.name, type(b).__name__, f"{b.mass:.4g}") for b in mechanism.bodies]
    found = facts.elements(mechanism)
    gravity = ", ".join(f"{g:.4g}" for g in mechanism.gravity) if any(mechanism.gravity) else "none"
    return (_counted(Table(("body", "type", "mass [kg]"), bodies, ("mass [kg]",)), "body"),
            _counted(Table(("joint, driver or force", "type", "acts on"), found), "joint, driver or force"),
            f"Independent loops: {facts.loops(mechanism)}. Gravity: {gravity}{' m/s^2' if gravity != 'none' else ''}.")


def _counted(table: Table, kind: str) -> Table:
    """The table itself, or numbers of elements by type if it is long."""
    if len(table.rows) <= MOST_ROWS:
        return table
    number = Counter(row[1] for row in table.rows)
    return Table((f"type of {kind}", "number"), list(number.items()), ("number",))


def _parameters(entry: Entry, system: System) -> tuple[Block, ...]:
    doc = inspect.getdoc(entry.build) or ""
    rows = [(name, repr(value)) for name, value in entry.parameters.items()]
    blocks: list[Block] = [Table(("parameter", "default"), rows, code=("parameter", "default")) if rows else "There are no parameters."]
    if rows and "Parameters\n---" in doc:
        blocks.append(Listing(doc.partition("Parameters\n")[2].partition("\n")[2].split("\n\n")[0].rstrip()))
    if entry.variants:
        blocks.append(f"Variants of interest: {'; '.join(f'`{_assignments(v)}`' for v in entry.variants)}.")
    blocks.append(f"Usual time span 0 ... {entry.t_end:g} s, step of one-step integrators {entry.step:g} s.")
    x = system.start
    names = _some(tuple(entry.observe(system, 0.0, x.q, x.v, x.a, x.lam)))
    return (*blocks, f"Outputs: {', '.join(f'`{n}`' if n != ELLIPSIS else n for n in names)}.")


def _hardness(entry: Entry) -> str:
    stiff = "Forces so stiff that methods with fixed steps are no choice. " if entry.stiff else ""
    return f"{stiff}{entry.hardness}".strip() or "Nothing is known."


def _references(entry: Entry) -> tuple[Block, ...]:
    groups: dict[tuple[str, str, str, int, str, tuple[str, ...]], list[float]] = {}
    for r in entry.references:
        groups.setdefault((r.label, r.kind, _assignments(r.parameters), r.digits, r.source, tuple(r.values)), []).append(r.t)
    if not groups:
        return ("There are no reference values.",)
    rows = [(label, kind, given or "defaults", _instants(times), ", ".join(_some(names, 12)), digits, source)
            for (label, kind, given, digits, source, names), times in groups.items()]
    return (Table(("label", "kind", "parameters", "instants", "quantities", "digits", "source"), rows, ("digits",)),)


def _instants(times: Sequence[float]) -> str:
    if len(times) == 1:
        return f"{times[0]:g} s"
    return f"{len(times)}, {min(times):g} ... {max(times):g} s"


def _docstring(entry: Entry) -> str:
    return inspect.cleandoc(sys.modules[entry.build.__module__].__doc__ or "").rstrip()


def _usage(entry: Entry, parameters: Parameters) -> tuple[Block, ...]:
    given = "".join(f", {k}={v!r}" for k, v in parameters.items())
    solver = ("Radau" if entry.stiff else "DOP853")
    python = (f'import mbdae\nfrom mbdae.adapters.scipy import SolveIvp\n\nproblem = mbdae.problem("{entry.name}", "ode"{given})  '
              f'# or "ggl", "index3", ...\nsolution = mbdae.solve(problem, SolveIvp("{solver}"), (0.0, {entry.t_end:g}), rtol=1e-8)')
    sets = "".join(f" --set {k}={v}" for k, v in parameters.items())
    line = f"mbdae solve {entry.name}{sets} --method SolveIvp:{solver} --rtol 1e-8 --points 201 --output {entry.name}.csv"
    return Listing(python, "python"), Listing(line, "sh")


# --- text ------------------------------------------------------------------------------------------------------------------------------

ELLIPSIS = "..."


def _some(names: Sequence[str], most: int = MOST_NAMES) -> tuple[str, ...]:
    """The names, of very many the first ones and the last."""
    return tuple(names) if len(names) <= most else (*names[:most - 2], ELLIPSIS, names[-1])


def _assignments(parameters: Parameters) -> str:
    return ", ".join(f"{k}={v}" for k, v in parameters.items())


def _or_dash(x: object) -> object:
    return "-" if x is None else x


def markdown(block: Block) -> str:
    """A block as Markdown."""
    if isinstance(block, Listing):
        return f"```{block.language}\n{block.text}\n```"
    if isinstance(block, str):
        return block
    rule = ["---:" if c in block.numbers else "---" for c in block.columns]
    rows = [[f"`{x}`" if c in block.code else _escaped(x) for c, x in zip(block.columns, row)] for row in block.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (block.columns, rule, *rows))


def _escaped(x: object) -> str:
    return str(x).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
