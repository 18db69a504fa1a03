"""What scripts that repeat a paper share: the command line, printed tables, several scripts one after the other."""

import argparse
import importlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_INDENT = 2
_WIDEST = 10_000  # columns that a line may have: enough for every table, so that none is wrapped or cut


def output_folder(description: str | None, default: str | Path) -> Path:
    """The folder named on the command line by `--output`, made if it is not there; the command ends with a message if it cannot be made.

    Parameters
    ----------
    description : str
        What `--help` tells, usually the docstring of the script.
    default : str or Path
        The folder if none is named.

    Returns
    -------
    Path
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(default), metavar="DIR", help="folder for the files (default %(default)s)")
    folder = parser.parse_args().output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        parser.error(f"cannot make the folder {folder}: {reason.strerror}; name another one by --output")
    return folder


def show(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Print a table: columns of numbers to the right, others to the left, no line wrapped or cut.

    A column is one of numbers if the first word of any of its cells is a number, say `4.1 (published 4)`.

    Parameters
    ----------
    rows : sequence of sequences
        Texts and integers; `None` is shown as a dash.
    head : sequence of str
        Above the columns.

    Raises
    ------
    ValueError
        If a row is longer or shorter than the head.
    """
    cells = [["-" if x is None else str(x) for x in row] for row in rows]
    _check(cells, head)
    table = Table(box=None, pad_edge=False, padding=(0, _INDENT, 0, 0), header_style="bold")
    for k, title in enumerate(head):
        numbers = any(_begins_with_number(row[k]) for row in cells)
        table.add_column(Text(title), justify="right" if numbers else "left", no_wrap=True)
    for row in cells:
        table.add_row(*map(Text, row))  # as texts, for `[s]` is a style in rich's markup
    _print(Padding.indent(table, _INDENT))


def _check(cells: list[list[str]], head: Sequence[str]) -> None:
    for k, row in enumerate(cells):
        if len(row) != len(head):
            raise ValueError(f"row {k} of the table has {len(row)} cells, {row}, where the head has {len(head)}, {list(head)}")


def _begins_with_number(text: str) -> bool:
    try:
        float(text.split()[0])
    except (IndexError, ValueError):
        return False
    return True


def _print(content: RenderableType) -> None:
    Console(width=_WIDEST, highlight=False, markup=False, emoji=False).print(content)


def scripts_of(folder: str | Path) -> tuple[str, ...]:
    """Names of the scripts in a folder, sorted: its modules but `all`, and those that are shared, `common...` and `_...`.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    tuple of str
    """
    names = sorted(path.stem for path in Path(folder).glob("*.py"))
    return tuple(name for name in names if name != "all" and not name.startswith(("common", "_")))


def run_all(names: Sequence[str], output: Path, settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Run scripts one after the other, each below its name; then print a summary, one line per script with the seconds it took.

    A script is a module that can be imported by its name, with a function `main(output, **settings)` that returns its line of the summary.
    What a script raises goes through.

    Parameters
    ----------
    names : sequence of str
    output : Path
        Folder for the files of all scripts.
    settings : dict, optional
        By name of the script, keyword arguments for its `main`.

    Raises
    ------
    ValueError
        If there are settings for a script that is not among `names`.
    """
    settings, told = settings or {}, []
    for name in settings:
        if name not in names:
            raise ValueError(f"settings are given for {name!r}, which is not among the scripts to run: {', '.join(names)}")
    for name in names:
        _print(f"\n{name}")
        begin = time.perf_counter()
        line = importlib.import_module(name).main(output, **settings.get(name, {}))
        told.append((name, f"{time.perf_counter() - begin:.0f} s", line))
    _print(f"\nFiles are in {output}.\n")
    width = max(map(len, names), default=0)
    for name, seconds, line in told:
        _print(f"  {name:<{width}}{seconds:>8}  {line}")
