"""Output of the commands: results on standard output, progress and error messages on standard error."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TextIO

from numba.core import event
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

COMPILING = "compiling (first run only)"
WIDE = 160  # columns if the output goes to a file or a pipe


def output() -> Console:
    """A console on standard output."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(width=width, highlight=False, soft_wrap=False)


def print_error(message: object) -> None:
    """One line on standard error."""
    print("mbdae: " + " ".join(str(message).split()), file=sys.stderr)


class _Compiler(event.Listener):  # type: ignore[misc]  # numba has no types
    """Tracks whether numba is compiling."""

    def __init__(self, begins: Callable[[], object]) -> None:
        self.depth, self.begins = 0, begins

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.begins()

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1


class _Activity(ProgressColumn):
    """Current activity; compilation has priority."""

    def __init__(self, compiler: _Compiler) -> None:
        super().__init__()
        self.compiler = compiler

    def render(self, task: Task) -> Text:
        text = COMPILING if self.compiler.depth else task.description
        return Text(f"{text:<34}", style="yellow" if self.compiler.depth else "")


class Bar:
    """A progress bar on standard error, called with `(done, total, text)`.

    If standard error is not a terminal, it only prints one line at the first compilation, which may take a minute.
    """

    def __init__(self, stream: TextIO) -> None:
        self.console = Console(file=stream, highlight=False)
        self.compiler = _Compiler(self._compiling)
        self.announced = False
        self.when_compiling: Callable[[], object] | None = None  # called at the first compilation
        columns = [_Activity(self.compiler), BarColumn(bar_width=None), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
                   TextColumn("left"), TimeRemainingColumn()]
        self.progress = Progress(*columns, console=self.console, transient=True)
        self.task = self.progress.add_task("preparing", total=1.0)

    def __call__(self, done: float, total: float, text: str) -> None:
        self.progress.update(self.task, completed=done, total=total, description=text)

    def _compiling(self) -> None:
        if not self.announced and not self.console.is_terminal:
            self.console.print(f"{COMPILING} ...")
        if not self.announced and self.when_compiling is not None:
            self.when_compiling()
        self.announced = True


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """A `Bar` that is shown inside the context.

    SUNDIALS prints its error messages directly to standard error. The message of the solution contains them, so this output is
    suppressed.
    """
    with _without_c_output() as stream:
        bar = Bar(stream)
        # elsewhere a disabled progress bar would print an empty line, before rich 14.3
        with event.install_listener("numba:compile", bar.compiler), bar.progress if bar.console.is_terminal else nullcontext():
            yield bar


@contextmanager
def _without_c_output() -> Iterator[TextIO]:
    """Standard error for Python only: output of C code is discarded."""
    try:
        own = sys.stderr.fileno() == 2
    except (OSError, ValueError, AttributeError):
        own = False
    if not own:
        yield sys.stderr
        return
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    stream = os.fdopen(os.dup(saved), "w", encoding=sys.stderr.encoding, errors="replace")
    os.dup2(null, 2)
    try:
        yield stream
    finally:
        stream.close()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
