"""Common parts of the scripts that reproduce a paper: command line, printed tables, running several scripts."""

import argparse
import importlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_INDENT = 2
_MAX_WIDTH = 10_000  # columns of a line, so that no table is wrapped or cut


@dataclass(frozen=True)
class Shown:
    """A table that a script has printed by `show`."""

    head: list[str]
    rows: list[list[str]]


@dataclass
class Recording(TextIOBase):
    """What a script prints, in order: lines of text and tables. Everything is passed on to `stream`."""

    stream: TextIO
    blocks: list[str | Shown] = field(default_factory=list)
    in_table: bool = False

    def write(self, text: str) -> int:
        """Pass text on, and keep it if it is no part of a table."""
        if not self.in_table:
            if self.blocks and isinstance(self.blocks[-1], str):
                self.blocks[-1] += text
            else:
                self.blocks.append(text)
        return self.stream.write(text)

    def flush(self) -> None:
        """See `TextIOBase`."""
        self.stream.flush()


@contextmanager
def recording() -> Iterator[Recording]:
    """A context that keeps what is printed in it, with the cells of tables; it is printed nevertheless.

    Examples
    --------
    >>> with recording() as kept:
    ...     show([("HI", "2.05")], ("method", "iterations"))
      method  iterations
      HI            2.05
    >>> kept.blocks
    [Shown(head=['method', 'iterations'], rows=[['HI', '2.05']])]
    """
    kept = Recording(sys.stdout)
    with redirect_stdout(kept):
        yield kept


def output_folder(description: str | None, default: str | Path) -> Path:
    """The folder given by `--output`, created if necessary; the script ends with an error message if that fails.

    Parameters
    ----------
    description : str
        Text of `--help`, usually the docstring of the script.
    default : str or Path
        The folder without `--output`.

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
    """Print a table: columns of numbers right-aligned, others left-aligned, no line wrapped or cut.

    A column is numeric if the first word of any of its cells is a number, such as `4.1 (published 4)`.

    Parameters
    ----------
    rows : sequence of sequences
        Strings and integers; `None` is shown as a dash.
    head : sequence of str
        Titles of the columns.

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
        table.add_row(*map(Text, row))  # as Text, since `[s]` would be rich markup
    _print_table(Padding.indent(table, _INDENT), Shown(list(head), cells))


def _print_table(content: RenderableType, shown: Shown) -> None:
    """Print a table, and keep its cells if a recording is on."""
    out = sys.stdout
    if not isinstance(out, Recording):
        _print(content)
        return
    out.blocks.append(shown)
    out.in_table = True
    try:
        _print(content)
    finally:
        out.in_table = False


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
    Console(width=_MAX_WIDTH, highlight=False, markup=False, emoji=False).print(content)


def scripts_of(folder: str | Path) -> tuple[str, ...]:
    """Sorted names of the scripts in a folder: its modules except `all`, `book`, `common...` and `_...`.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    tuple of str
    """
    names = sorted(path.stem for path in Path(folder).glob("*.py"))
    return tuple(name for name in names if name not in ("all", "book") and not name.startswith(("common", "_")))


def run_all(names: Sequence[str], output: Path, settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Run scripts in sequence, then print a summary with one line and the run time of each.

    A script is an importable module with a function `main(output, **settings)` that returns its line of the summary. Its exceptions
    propagate.

    Parameters
    ----------
    names : sequence of str
    output : Path
        Folder for the files of all scripts.
    settings : dict, optional
        Keyword arguments for `main` by name of the script.

    Raises
    ------
    ValueError
        If there are settings for a script that is not in `names`.
    """
    settings = settings or {}
    summary: list[tuple[str, str, str]] = []
    for name in settings:
        if name not in names:
            raise ValueError(f"settings are given for {name!r}, which is not among the scripts to run: {', '.join(names)}")
    for name in names:
        _print(f"\n{name}")
        begin = time.perf_counter()
        line = importlib.import_module(name).main(output, **settings.get(name, {}))
        summary.append((name, f"{time.perf_counter() - begin:.0f} s", line))
    _print(f"\nFiles are in {output}.\n")
    width = max(map(len, names), default=0)
    for name, seconds, line in summary:
        _print(f"  {name:<{width}}{seconds:>8}  {line}")
