"""`make bench-peers`: installs the packages into an environment of their own and writes docs/benchmarks.md.

Contenders of one case run alternately, each in a process of its own; the minima of the rounds are compared, with their spread: the clock
of a virtual machine may have several speeds, and medians then compare runs at different ones.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.studies.table import metadata

from .describe import described
from .ours import centres, system_of

HERE = Path(__file__).parent
PACKAGES = ("exudyn", "mujoco", "pin", "numpy")
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
LIMIT = 600  # seconds of a process


@dataclass(frozen=True)
class Contender:
    """Who runs, with its settings, and what one count of it is."""

    title: str
    peer: str | None  # of `peer.py`; `None` for mbdae and solvers through it
    unit: str
    settings: dict


@dataclass(frozen=True)
class Case:
    """A mechanism and its contenders."""

    title: str
    mechanism: str
    t_end: float
    contenders: tuple[Contender, ...]
    parameters: dict = field(default_factory=dict)


def implicit(t_end, h, sparse=True):
    """Implicit steps of the same size."""
    run = {"t_end": t_end, "h": h}
    return (Contender("mbdae HalfImplicit, order 1", None, "implicit step", run | {"method": "HalfImplicit"}),
            Contender("mbdae GeneralizedAlpha, order 2", None, "implicit step", run | {"method": "GeneralizedAlpha"}),
            Contender("Exudyn generalised-alpha, order 2", "exudyn", "implicit step", run | {"sparse": sparse}))


def chain(links, t_end=0.2, h=1e-3):
    """A spatial chain of links on ball joints."""
    explicit = (Contender("MuJoCo semi-implicit Euler, order 1", "mujoco", "explicit step", {"t_end": t_end, "h": h}),
                Contender("mbdae articulated-body algorithm", None, "call from Python", {}),
                Contender("Pinocchio articulated-body algorithm", "pinocchio", "call from Python", {}))
    return Case(f"chain of {links} links", "chain", t_end, implicit(t_end, h) + explicit, {"links": links})


def solvers(t_end, rtol):
    """Whole runs with error control."""
    names = ("RosenbrockNystrom", "Bdf:ggl", "Ida:ggl", "SolveDae:Radau3:ggl", "SolveDae:BDF:ggl")
    titles = ("mbdae RosenbrockNystrom", "mbdae Bdf, GGL", "IDA through mbdae, GGL", "solve-dae Radau IIA, GGL", "solve-dae BDF, GGL")
    return tuple(Contender(f"{title}, rtol {rtol:g}", None, "step", {"t_end": t_end, "rtol": rtol, "method": name})
                 for name, title in zip(names, titles))


CASES = (chain(8), chain(32), chain(100), chain(400, 0.05),
         Case("four-bar windows, 2", "n-four-bar", 0.4, implicit(0.4, 1e-3), {"windows": 2}),
         Case("four-bar windows, 40", "n-four-bar", 0.4, implicit(0.4, 1e-3), {"windows": 40}),
         Case("Bricard's mechanism (redundant constraints)", "bricard", 1.0, implicit(1.0, 1e-3, sparse=False)),
         Case("Andrews' squeezing mechanism", "andrews", 0.03, implicit(0.03, 1e-5) + solvers(0.03, 1e-6)))


@dataclass(frozen=True)
class Row:
    """One contender on one case: microseconds of a count, of the whole run in milliseconds, and the error at the end [m]."""

    case: str
    contender: str
    unit: str
    us: float | None = None
    spread: float | None = None
    ms: float | None = None
    error: float | None = None
    fault: str = ""


def python_of_peers(folder):
    """The interpreter of the environment of the peers, made if necessary."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def run_case(case, python, rounds):
    """Rows of a case."""
    system = system_of(case.mechanism, case.parameters)
    exact = mbdae.solve(system, SolveIvp("DOP853"), (0.0, case.t_end), rtol=1e-11, atol=1e-13, t_eval=[case.t_end])
    assert exact.success, exact.message
    places = np.array(centres(system, exact.q[-1]))
    found = {c.title: [] for c in case.contenders}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        path.write_text(json.dumps(described(system, system.start)), encoding="utf-8")
        for _ in range(rounds):
            for c in case.contenders:
                found[c.title].append(one_run(c, case, python, path))
    return [row(case, c, found[c.title], places) for c in case.contenders]


def one_run(contender, case, python, path):
    """What the process prints, or why it has failed."""
    settings = json.dumps(contender.settings)
    if contender.peer is None:
        command = [sys.executable, "-m", "tests.benchmarks.peers.ours", case.mechanism, json.dumps(case.parameters), settings]
    else:
        command = [python, HERE / "peer.py", contender.peer, path, settings]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode < 0:
        return f"ended by signal {signal.Signals(-done.returncode).name}"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(case, contender, runs, places):
    """The minima of the rounds; a contender that fails is a row with its fault."""
    fault = next((r for r in runs if isinstance(r, str)), None)
    if fault is not None:
        return Row(case.title, contender.title, contender.unit, fault=fault)
    us = sorted(1e6 * r["seconds"] / r["count"] for r in runs)
    error = None
    if "positions" in runs[0]:
        ends = np.array(runs[0]["positions"])[:, :places.shape[1]]
        error = float(np.abs(ends - places).max())
    spread, ms = (us[-1] - us[0]) / us[0], min(1e3 * r["seconds"] for r in runs)
    return Row(case.title, contender.title, contender.unit, us[0], spread, ms, error)


def page(rows, versions, rounds):
    """docs/benchmarks.md."""
    about = metadata()
    lines = [_HEAD.format(processor=about["machine"]["processor"], cores=about["machine"]["cores"], rounds=rounds, date=about["date"][:10],
                          versions=", ".join(f"{k} {v}" for k, v in (about["versions"] | versions).items() if v))]
    for case in dict.fromkeys(r.case for r in rows):
        lines += [f"\n## {case[0].upper()}{case[1:]}\n", "| contender | what one is | us | of the first | spread | run [ms] | error [m] |",
                  "|---|---|---:|---:|---:|---:|---:|"]
        mine = [r for r in rows if r.case == case]
        for r in mine:
            if r.us is None:
                lines.append(f"| {r.contender} | {r.unit} | - | - | - | - | {r.fault} |")
                continue
            error = "-" if r.error is None else f"{r.error:.1e}"
            run = "-" if r.error is None else f"{r.ms:.3g}"
            lines.append(f"| {r.contender} | {r.unit} | {r.us:.3g} | {r.us / mine[0].us:.2f} | {100 * r.spread:.0f} % | {run} | {error} |")
    return "\n".join(lines) + "\n"


_HEAD = """\
# Benchmarks against other packages

Written by `make bench-peers` on {processor}, {cores} cores, {date}, with {versions}.
Each contender runs in a process of its own with one thread, all of them alternately; the columns are minima of processor time over
{rounds} rounds, the spread is the range over the minimum. The error is that of the centres of mass at the end, against DOP853 with a
relative tolerance of 1e-11. Compare ratios: microseconds are those of this machine.

What is compared:

- *implicit step*: a step with multipliers and a Newton iteration; constraints on positions hold after it. `HalfImplicit` is the
  half-implicit Euler method, of order 1 and symplectic; `GeneralizedAlpha` and Exudyn's solver are of order 2.
- *explicit step* of MuJoCo: semi-implicit Euler in joint coordinates, without constraints to be solved on a chain; of order 1.
- *call from Python*: one evaluation of the accelerations of a tree by the articulated-body algorithm, with the overhead of the call; no
  step. Pinocchio's data has tables of n^3 numbers for n velocities; its process may take 8 GB.
- *step* with a tolerance: a step of a solver with error control, whose number differs; compare the time of the run and the error.
"""


def main():
    """Run all, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", type=lambda text: [int(x) for x in text.split(",")], default=range(len(CASES)), help="numbers from 0 on")
    parser.add_argument("--environment", type=Path, default=Path(".venv-peers"))
    parser.add_argument("--output", type=Path, default=Path("docs/benchmarks.md"))
    arguments = parser.parse_args()
    python = python_of_peers(arguments.environment)
    code = "import json; from importlib.metadata import version; print(json.dumps({p: version(p) for p in ('exudyn', 'mujoco', 'pin')}))"
    versions = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    rows = [r for k in track(arguments.cases, "cases", console=Console(stderr=True)) for r in run_case(CASES[k], python, arguments.rounds)]
    text = page(rows, versions, arguments.rounds)
    arguments.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
