"""Run a script and keep what it prints, its CSV files and pictures, and how it was run."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .records import Paper

HERE = Path(__file__).resolve().parents[1]  # examples/papers
LINES_OF_ERROR = 3


@dataclass(frozen=True)
class Capture:
    """What came of a script.

    Attributes
    ----------
    script, line : str
        Its name, and its line of the summary.
    blocks : list
        Printed text, and tables as `{"head": [...], "rows": [[...], ...]}`, in order.
    csv : dict
        Content of the files that are compared.
    pictures : list of str
        Names of the PNG files.
    settings : dict
    cpu, wall : float
        Seconds.
    run : dict
        Versions, machine, date, commit.
    error : str, optional
        Last lines of the traceback of a script that failed.
    """

    script: str
    line: str = ""
    blocks: list[Any] = field(default_factory=list)
    csv: dict[str, str] = field(default_factory=dict)
    pictures: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    run: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    def save(self, folder: Path) -> None:
        """Write it as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.script}.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(folder: Path, script: str) -> Capture | None:
    """A capture that was written before; `None` if there is none."""
    file = folder / f"{script}.json"
    return Capture(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def run_script(paper: Paper, script: str, output: Path, settings: dict[str, Any], papers: Path = HERE) -> Capture:
    """Run a script of a folder in `papers` in a process of its own, with one thread for LAPACK."""
    output.mkdir(parents=True, exist_ok=True)
    result = output / f"{script}.capture.json"
    result.unlink(missing_ok=True)
    order = {"folder": str(papers / paper.folder), "script": script, "output": str(output), "result": str(result), "settings": settings,
             "files": list(paper.files(script))}
    done = subprocess.run([sys.executable, "-m", "paper_book.capture", json.dumps(order)], check=False, stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONPATH": str(HERE), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"})
    if done.returncode or not result.exists():
        print(done.stderr, file=sys.stderr)
        last = done.stderr.strip().splitlines()[-LINES_OF_ERROR:] or [f"it ended with code {done.returncode}"]
        return Capture(script, settings=settings, run=provenance(), error="\n".join(last))
    found = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    return Capture(**found)


def provenance() -> dict[str, Any]:
    """Versions, machine and date as in the tables of studies, and the commit."""
    from mbdae.studies.table import metadata

    found = {k: v for k, v in metadata().items() if k != "parameters"}
    order = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    commit = subprocess.run(order, cwd=HERE, capture_output=True, text=True, check=False)
    return found | {"commit": commit.stdout.strip() or None}


def _child(folder: str, script: str, output: str, result: str, settings: dict[str, Any], files: list[str]) -> None:
    """In the process of the script."""
    import importlib

    from mbdae.cli.scripts import recording

    sys.path.insert(0, folder)
    place, begin, wall, cpu = Path(output), time.time(), time.perf_counter(), time.process_time()
    with recording() as kept:
        line = importlib.import_module(script).main(place, **settings)
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    blocks = [b if isinstance(b, str) else {"head": b.head, "rows": b.rows} for b in kept.blocks]
    pictures = sorted(p.name for p in place.glob("*.png") if p.stat().st_mtime >= begin - 1.0)
    found = Capture(script, line, blocks, {name: (place / name).read_text(encoding="utf-8") for name in files}, pictures, settings,
                    run=provenance(), **taken)
    Path(result).write_text(json.dumps(asdict(found)), encoding="utf-8")


if __name__ == "__main__":
    _child(**json.loads(sys.argv[1]))
