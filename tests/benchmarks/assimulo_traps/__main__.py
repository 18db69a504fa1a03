"""The command line of the traps."""

import argparse
import contextlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor

from . import __doc__ as DESCRIPTION
from . import exceptions, memory, others, output, settings  # noqa: F401  they register the traps
from .base import TRAPS
from .tables import compare, defaults, together, versions
from .trials import attempt, worker


def main():
    parser = argparse.ArgumentParser(description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of names of traps, e.g. nan, or of a trial, nan:IDA")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="store the results; with --only, put them into those stored before")
    parser.add_argument("--compare", nargs="+", metavar="FILE")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(*options.worker)
    if options.compare:
        return compare(options.compare)
    trials = [f"{name}:{solver}".rstrip(":") for name, t in TRAPS.items() for solver in t.solvers]
    trials = [trial for trial in trials if not options.only or trial.startswith(tuple(options.only))]
    results = {}
    print("Assimulo " + ", ".join(f"{key} {value}" for key, value in versions().items()).removeprefix("Assimulo "))
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial, sentence in zip(trials, pool.map(attempt, trials)):
            name, _, solver = trial.partition(":")
            results.setdefault(name, {})[solver] = sentence
            print(f"{trial:36s} {sentence}", file=sys.stderr, flush=True)
    for name, found in results.items():
        print(f"\n{TRAPS[name].title}\n    {together(found)}\n    adapter: {TRAPS[name].adapter}")
    if options.json:
        store(options.json, results, bool(options.only))
    return 0


def store(name, results, update):
    """Write the results; those of some traps only are put into the file that there is."""
    kept = {}
    if update:
        with contextlib.suppress(FileNotFoundError), open(name) as file:
            kept = json.load(file)["results"]
    for key, found in results.items():
        both = kept.get(key, {}) | found
        kept[key] = {solver: both[solver] for solver in TRAPS[key].solvers if solver in both}
    with open(name, "w") as file:
        json.dump({"versions": versions(), "results": kept, "defaults": defaults()}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
