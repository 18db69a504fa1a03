"""Tables of results."""

import contextlib
import importlib.metadata
import json
import sys

import numpy as np

from .base import ALL, TRAPS, solver_of

# --- tables ------------------------------------------------------------------------------------------------------------------------------


def versions():
    """The release of Assimulo, and what it runs on."""
    for name in ("assimulo-testing", "Assimulo"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return {"Assimulo": importlib.metadata.version(name), "distribution": name, "NumPy": np.__version__,
                    "SciPy": importlib.metadata.version("scipy"), "Python": sys.version.split()[0]}
    raise SystemExit("Assimulo is not installed")


def defaults():
    """Options of each solver, and what it says to support."""
    found = {}
    for name in ALL:
        solver = solver_of(name)
        found[name] = {key: _plain(value) for key, value in sorted(solver.options.items())}
        found[name] |= {f"supports {key}": str(value) for key, value in sorted(solver.supports.items())}
    return found


def _plain(value):
    return str(np.ravel(value)[0] if isinstance(value, np.ndarray) and len(set(np.ravel(value))) == 1 else value)


def together(results):
    """The sentences of one trap, each with the solvers that it holds for."""
    sentences = {}
    for solver, sentence in results.items():
        sentences.setdefault(sentence, []).append(solver)
    if list(results) == [""]:
        return results[""]
    if len(sentences) == 1:
        return f"all: {next(iter(sentences))}"
    return " / ".join(f"{', '.join(names)}: {sentence}" for sentence, names in sentences.items())


def compare(files):
    """Markdown: a column for each release, then the defaults in which they differ."""
    runs = []
    for name in files:
        with open(name) as file:
            runs.append(json.load(file))
    heads = [f"Assimulo {run['versions']['Assimulo']}, NumPy {run['versions']['NumPy']}, SciPy {run['versions']['SciPy']}" for run in runs]
    print("| trap | " + " | ".join(heads) + " | what the adapter does |\n|" + "---|" * (len(runs) + 2))
    for name, t in TRAPS.items():
        if all(name in run["results"] for run in runs):
            cells = [together(run["results"][name]).replace("|", "\\|").replace(" / ", "<br>") for run in runs]
            cells[1:] = [cell if cell != cells[0] else "the same" for cell in cells[1:]]
            print(f"| {t.title} | " + " | ".join(cells) + f" | {t.adapter} |")
    print("\n| solver | default of | " + " | ".join(heads) + " |\n|" + "---|" * (len(runs) + 2))
    for solver in ALL:
        tables = [run["defaults"][solver] for run in runs]
        for key in sorted(set().union(*tables)):
            values = [table.get(key, "-") for table in tables]
            if len(set(values)) > 1:
                print(f"| {solver} | {key} | " + " | ".join(values) + " |")
