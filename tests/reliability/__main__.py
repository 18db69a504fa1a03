"""`python -m tests.reliability [--methods A,B] [--faults TEXT] [--interrupts N] [--output docs/reliability.md] [--cells FILE]`.

Cells in the FILE are not run again: a matrix that was broken off goes on, and methods can be added to it.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from .fault import FAULTS
from .keyboard import keyboard_faults
from .matrix import Cell, matrix
from .outcomes import Outcome
from .page import page
from .subjects import Subject
from .tolerances import kept as section
from .tolerances import replaced


def main() -> int:
    """Run the matrix, print its defects."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--methods", help="some methods, as in 'mbdae list'")
    p.add_argument("--faults", help="only faults whose name contains this")
    p.add_argument("--interrupts", type=int, default=0, help="number of Ctrl-C in each method, without and with a law in Python")
    p.add_argument("--verbose", action="store_true", help="print all cells")
    p.add_argument("--cells", type=Path, help="cells of an earlier run, and where those of this one are written")
    p.add_argument("--no-runs", action="store_true", help="only the cells of the file, for the page of a matrix that was broken off")
    p.add_argument("--output", type=Path, help="write the page")
    arguments = p.parse_args()
    methods = [Subject(name) for name in arguments.methods.split(",")] if arguments.methods else None
    known = FAULTS + (keyboard_faults(arguments.interrupts) if arguments.interrupts else [])
    faults = [f for f in known if not arguments.faults or arguments.faults in f.name]

    def report(cell):
        o = cell.outcome
        if arguments.cells:
            with arguments.cells.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
        if arguments.verbose or not o.good:
            print(f"{cell.method:32} {cell.fault:36} {o.kind:8} {o.seconds:6.2f} s {o.text}: {o.detail[:200]}", flush=True)

    kept = _kept(arguments.cells)
    cells = matrix(methods, faults, report, kept, not arguments.no_runs)
    bad = sum(c.outcome.defect for c in cells)
    print(f"{len(cells)} cells, {bad} defects, longest {max(c.outcome.seconds for c in cells):.2f} s")
    if arguments.output:
        before = arguments.output.read_text(encoding="utf-8") if arguments.output.exists() else ""
        text = page(cells, faults)
        arguments.output.write_text(replaced(text, section(before)) if section(before) else text, encoding="utf-8")
    return int(bad > 0)


def _kept(path: Path | None) -> dict[tuple[str, str], Cell]:
    """Cells of an earlier run, without its defects."""
    if path is None or not path.exists():
        return {}
    found = [Cell(c["fault"], c["method"], Outcome(**c["outcome"])) for c in map(json.loads, path.read_text(encoding="utf-8").splitlines())]
    return {(c.fault, c.method): c for c in found if not c.outcome.defect}  # of two the later one


if __name__ == "__main__":
    raise SystemExit(main())
