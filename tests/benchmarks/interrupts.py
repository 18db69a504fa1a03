"""Ctrl-C at random instants of a run: `python -m tests.benchmarks.interrupts [--count 200] [--only TEXT] [--jobs 2] [--seconds 0.25]`.

Each method integrates the double pendulum, without and with a force in plain Python, and gets SIGINT from another process at an instant
spread evenly over the run. The table tells how often `KeyboardInterrupt` arrived, the longest time that took, how often the
signal was lost, and how often a run with a lost signal claimed success with another motion; then whether the same process still solves
as before. A process per method and mechanism: one that crashes shows.
"""

import argparse
import contextlib
import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

import mbdae
from mbdae.registry import FAMILIES, find
from tests.helpers import double_pendulum

PROMPT = 1.0  # s within which an interrupt must arrive
# other projections and orders of the same loop, and a solver without a form
LEFT_OUT = ("ProjectedGauss:PVA", "ProjectedGauss:none", "ProjectedGauss:P", "ProjectedGauss:V", "ProjectedGauss:PV",
            "ProjectedGauss:PVAE-n", "ProjectedGauss:PVAE-0", "Rattle:6", "Rattle:8", "Assimulo:DASP3ODE")
SENDER = """
import os, sys, time
for line in sys.stdin:
    number, delay = line.split()
    time.sleep(float(delay))
    at = time.monotonic()
    os.kill(os.getppid(), 2)
    print(number, at, flush=True)
"""


def names():
    """All methods, the variants of each included."""
    found = [f"{f.name}:{v}" for f in FAMILIES for v in f.variants] + [f.name for f in FAMILIES if not f.variants]
    return [name for name in found if name not in LEFT_OUT] + ["Projected:HalfImplicit", "Projected:RosenbrockNystrom"]


def method(name):
    """The method object, with a step of a millisecond where it has a fixed one."""
    if name.startswith("Projected:"):
        return mbdae.Projected(method(name.removeprefix("Projected:")))
    spec = find(name)
    options = {"level": "stabilised"} if name.startswith("Newmark") else {}  # with constraints on positions it is unstable
    return spec.make(h=1e-3, **options) if spec.control == "h" else spec.make()


def system(force):
    """The double pendulum; `"python"`: with a law in plain Python."""
    m = double_pendulum()
    if force != "python":
        return mbdae.System(m)
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.TSDA("band 2", "ground", "upper", (0, 1, 0), law=lambda x, xd, t: 0.1 * x)]))


class Case:
    """One method on one mechanism: runs of a length that takes about `seconds`, undisturbed and interrupted."""

    def __init__(self, name, force, seconds):
        self.method, self.system, self.t_end = method(name), system(force), 0.01
        self.solve()  # compiles
        self.expected, self.seconds = self.timed()
        while self.seconds < 0.5 * seconds:
            self.t_end *= min(10.0, 1.1 * seconds / max(self.seconds, 1e-4))
            self.expected, self.seconds = self.timed()

    def solve(self):
        """The last positions and velocities."""
        s = mbdae.solve(self.system, self.method, (0.0, self.t_end), every=10**9)
        assert s.success, s.message
        return np.concatenate([s.q[-1], s.v[-1]])

    def timed(self):
        begin = time.monotonic()
        return self.solve(), time.monotonic() - begin

    def interrupted(self, sender, number, delay):
        """What came of a signal, and after how many seconds."""
        gc.collect()
        outcome = "late"  # the run was over before
        try:
            sender.stdin.write(f"{number} {delay}\n")
            sender.stdin.flush()
            try:
                found = self.solve()
                ended = time.monotonic()
                outcome = "lost" if (found == self.expected).all() else "wrong"
            except KeyboardInterrupt:
                ended, outcome = time.monotonic(), "raised"
            except Exception as error:
                ended, outcome = time.monotonic(), f"{type(error).__name__}: {error}"
            sent = _time_of(sender, number)
            time.sleep(0.01)
        except KeyboardInterrupt:  # after the run
            return ("late" if outcome in ("late", "lost", "wrong") else "raised twice"), 0.0
        return outcome, ended - sent


def _time_of(sender, number):
    """When a signal was sent; those before may not have been asked for."""
    while line := sender.stdout.readline():
        told = line.split()  # of a line that was being read when a late signal came only the end is left
        if len(told) == 2 and int(told[0]) == number:
            return float(told[1])
    raise RuntimeError("the process that sends the signals has ended")


def worker(name, force, count, seconds, seed):
    """One case in this process; prints its counts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have
    case, draw, outcomes, longest = Case(name, force, seconds), random.Random(seed), Counter(), 0.0
    gc.freeze()  # so that collections before the runs are quick
    with subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as sender:
        while outcomes.total() - outcomes["late"] < count:
            try:
                outcome, delay = case.interrupted(sender, outcomes.total(), draw.uniform(0.0, 0.95 * case.seconds))
            except KeyboardInterrupt:
                outcome, delay = "late", 0.0
            outcomes[outcome] += 1
            longest = max(longest, delay)
        sender.stdin.close()
    healthy = bool((case.solve() == case.expected).all())
    print(json.dumps({"outcomes": outcomes, "longest": longest, "healthy": healthy}))


def run(name, force, count, seconds=0.25, seed=0):
    """One case in a process of its own: its counts, the longest time, and whether it is healthy."""
    command = [sys.executable, "-m", "tests.benchmarks.interrupts", "--worker", name, force, "--count", str(count),
               "--seconds", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    with contextlib.suppress(json.JSONDecodeError, IndexError):
        return json.loads(done.stdout.strip().split("\n")[-1])
    last = (done.stderr.strip().split("\n") or [""])[-1]
    return {"outcomes": {f"ended with code {done.returncode}: {last[:90]}": count}, "longest": 0.0, "healthy": False}


def _is_good(found):
    return set(found["outcomes"]) <= {"raised", "late"} and found["longest"] < PROMPT and found["healthy"]


def _told(name, force, found):
    o = dict(found["outcomes"])
    raised, late = o.pop("raised", 0), o.pop("late", 0)
    others = "".join(f", {n} {what}" for what, n in o.items())
    return (f"{'good' if _is_good(found) else 'BAD '} {name:32s} {force:7s} {raised:4d} raised{others}, longest {found['longest']:.3f} s"
            f"{f', {late} too late' if late else ''}{'' if found['healthy'] else ', not as before afterwards'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--force", nargs="*", default=["none", "python"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.25, help="of a run that is not interrupted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", nargs=2)
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.count, options.seconds, options.seed)
        return 0
    cases, bad = [(name, force) for name in names() if options.only.lower() in name.lower() for force in options.force], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for case, found in zip(cases, pool.map(lambda case: run(*case, options.count, options.seconds, options.seed), cases)):
            bad += not _is_good(found)
            print(_told(*case, found), flush=True)
    print(f"{len(cases)} cases with {options.count} interrupts each, {bad} of them not as they should be; {os.cpu_count()} cores")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
