"""What a first use waits for: `python -m tests.benchmarks.first_use [--only TEXT] [--against FOLDER]`.

The first solve of each method on the double pendulum with an empty cache of compiled code: processor time of the imports and the system,
of the first solve, and of a second one. A process and a cache for each method. With `--against` the same for another checkout of mbdae
beside it, with its ratio.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

FIXED = ("HalfImplicit", "FullyImplicit", "Newmark", "HHT", "GeneralizedAlpha", "NullSpaceNewmark", "NullSpaceHHT", "ProjectedGauss",
         "Rattle")
CONTROLLED = ("RosenbrockNystrom", "SdirkDescriptor", "SdirkFirstOrder", "TrapezoidalDescriptor", "TrapezoidalStateSpace", "Bdf",
              "DormandPrince", "HalfExplicit", "Adams", "Automatic", "RadauIIA", "SdirkSparse")
METHODS = {**{name: f"mbdae.{name}(h=1e-3)" for name in FIXED}, **{name: f"mbdae.{name}()" for name in CONTROLLED},
           "Ida": "sundae.Ida()", "Cvode": "sundae.Cvode()", "DOP853": "scipy.SolveIvp('DOP853')"}
ROOT = Path(__file__).parents[2]
WORKER = """
import json, sys, time
begin = time.process_time()
import mbdae
from mbdae import library
from mbdae.adapters import scipy, sundae
method = eval(sys.argv[1])
system = mbdae.System(library.mechanism("double-pendulum"))
system.start
times = [time.process_time() - begin]
for _ in range(2):
    begin = time.process_time()
    found = mbdae.solve(system, method, (0.0, 0.1))
    times.append(time.process_time() - begin)
assert found.success, found.message
print(json.dumps(times))
"""


def linked(root, folder):
    """A folder in which the package of a checkout lies as it is imported."""
    package = Path(folder) / "mbdae"
    package.mkdir(parents=True)
    for path in (*(p for p in (root / "mbdae").iterdir() if p.name != "__pycache__"), root / "adapters"):
        (package / path.name).symlink_to(path)
    return folder


def measured(name, root):
    """Seconds of the start, the first and the second solve; the fault of a method that fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = linked(root, Path(folder) / "path")
        around = os.environ | {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-c", WORKER, METHODS[name]]
        done = subprocess.run(command, env=around, cwd=folder, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--against", type=Path, help="another checkout")
    options = parser.parse_args()
    roots = {"": ROOT} if options.against is None else {"before, ": options.against.resolve(), "": ROOT}
    table = Table("method", *(f"{when}{what}" for when in roots for what in ("start", "first", "second")), "first use, ratio",
                  title="Seconds of processor time with an empty cache")
    for name in (m for m in METHODS if options.only.lower() in m.lower()):
        found = [measured(name, root) for root in roots.values()]
        totals = [None if isinstance(x, str) else x[0] + x[1] for x in found]
        ratio = f"{totals[1] / totals[0]:.2f}" if len(totals) > 1 and None not in totals else ""
        row = name, *(cell for x in found for cell in ([x, "", ""] if isinstance(x, str) else [f"{t:.2f}" for t in x])), ratio
        print(*row, flush=True)
        table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
