"""`python -m tests.memcheck [METHODS]`: short runs of all methods under valgrind, and what it finds.

Compiled code is that for any processor (`NUMBA_CPU_NAME=generic`), since valgrind does not know all instructions of newer ones. Reported
are reads and writes outside of allocated memory and within memory that was freed. Values that are not initialised are not: those of small
integers of Python 3.11 are none. Some minutes for the compilation, then some for the runs.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import mbdae
from mbdae import library
from mbdae.registry import find
from mbdae.studies.warm import installed

CASES = (("double-pendulum", 0.05), ("bricard", 0.05), ("andrews", 0.002), ("slider-crank", 0.02))
NOT_OURS = "is_dst"  # the loader compares words beyond the end of a path
ERRORS = re.compile(r"Invalid (?:read|write|free)[^\n]*(?:\n==\d+==    [^\n]*|\n==\d+==  Address[^\n]*)*")


def runs(names):
    """With output within steps, dense output and an event, in Cartesian and in joint coordinates."""
    warnings.simplefilter("ignore")
    systems = [(library.system(name), t) for name, t in CASES]
    systems.append((mbdae.System(library.mechanism("spatial-four-bar"), coordinates="joint"), 0.05))
    for name in names:
        spec = find(name)
        method = spec.make(h=1e-2) if spec.control == "h" else spec.make()
        for system, t in systems:
            try:
                run = mbdae.solve(system, method, (0.0, t), formulation=spec.formulation, rtol=1e-4, atol=1e-6, dense_output=True,
                                  t_eval=np.linspace(0.0, t, 5), events=lambda t, q, v: v[0] - 0.01)
                told = run.status.name
            except ValueError as error:  # a method need not take all systems
                told = str(error)[:60]
            print(f"{name:28} {system.name:20} {told}", flush=True)


def checked(names):
    """Compile, run under valgrind, and print its errors; their number."""
    command = [sys.executable, "-m", "tests.memcheck", "--here", *names]
    with tempfile.TemporaryDirectory() as folder:
        log, around = Path(folder) / "log", os.environ | {"NUMBA_CPU_NAME": "generic", "PYTHONMALLOC": "malloc"}
        subprocess.run(command, env=around, check=True, stdout=subprocess.DEVNULL)
        tool = ["valgrind", "--error-limit=no", "--num-callers=16", f"--log-file={log}"]
        subprocess.run([*tool, *command], env=around, check=True)
        found = [e for e in ERRORS.findall(log.read_text()) if NOT_OURS not in e]
    print(*found, f"{len(found)} errors", sep="\n\n")
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help="names, see 'mbdae list' (default: all methods and installed solvers)")
    parser.add_argument("--here", action="store_true", help="only the runs, in this process")
    arguments = parser.parse_args()
    names = arguments.methods or installed()
    return runs(names) if arguments.here else int(checked(names) > 0)


if __name__ == "__main__":
    sys.exit(main())
