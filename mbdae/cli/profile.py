"""What the study of profiles prints and writes beside its table of runs."""

from pathlib import Path

from rich.table import Table

from ..studies.grid.fastest import CLOCKS, FastestRow, fastest, shares
from ..studies.grid.profile_figures import TITLES
from ..studies.grid.profile_page import advantage, profile_page
from ..studies.grid.table import StudyTable
from ..studies.table import write_csv
from .console import output, print_error
from .numbers import milliseconds, percent, short
from .tables import add_numbers, new_table

STUDY = "profile"


def show(table: StudyTable) -> None:
    """The fastest methods for each mechanism and accuracy, and the shares."""
    console, first = output(), next(iter(CLOCKS))
    console.print(_fastest(fastest(table.rows, first)))
    for clock in CLOCKS:
        s = shares(fastest(table.rows, clock))
        console.print(f"{TITLES[clock]}: of {s.problems} mechanisms with errors, the fastest of mbdae is at least as fast as the fastest "
                      f"established in {percent(s.as_fast)} %, half as fast in {percent(s.half_as_fast)} %; Automatic as fast in "
                      f"{percent(s.automatic_as_fast)} %, within three times the least of all in {percent(s.automatic_within_three)} %",
                      soft_wrap=True)
    console.print(f"times: {TITLES[first]}; ratio: established over mbdae", style="dim")


def _fastest(rows: list[FastestRow]) -> Table:
    table, last = new_table(), ""
    for name in ("mechanism", "error", "fastest of mbdae", "ms", "fastest established", "ms", "ratio"):
        if name in ("error", "ms", "ratio"):
            add_numbers(table, [name])
        else:
            table.add_column(name, no_wrap=name == "mechanism")
    for row in rows:
        table.add_row("" if row.mechanism == last else row.mechanism, short(row.accuracy), row.in_house or "-",
                      milliseconds(row.in_house_cost), row.established or "-", milliseconds(row.established_cost), advantage(row))
        last = row.mechanism
    return table


def write(table: StudyTable, folder: Path) -> list[Path]:
    """The fastest methods as `fastest.csv`, and the page `profile.md`, whose figure is that of the study; the paths."""
    paths = [folder / "fastest.csv", folder / f"{STUDY}.md"]
    write_csv(paths[0], [row for clock in CLOCKS for row in fastest(table.rows, clock)])
    paths[1].write_text(profile_page(table), encoding="utf-8")
    return paths


def judge(table: StudyTable) -> int:
    """The exit code: 0 if any run has reached its end."""
    if any(row.success for row in table.rows):
        return 0
    print_error("no run succeeded")
    return 1
