"""Arrays, memory, and runs within runs."""

import contextlib
import gc
import os
import threading
import time

import numpy as np

from .base import ALL, BREAKS_AT, PROGRESS, WITH_EVENTS, WITH_INTERPOLANT, Mine, number, oscillator, solver_of, told, trap
from .exceptions import stopping

# --- arrays, memory, nested runs ---------------------------------------------------------------------------------------------------------


@trap("the array y in the right-hand side, kept by the user", "what is kept is copied (mbdae/driver/callbacks.py)", ALL)
def reused_buffer(name):
    kept, copies = [], []

    def rhs(t, y, *switches):
        kept.append(y)
        copies.append(np.array(y))
        return oscillator(t, y)

    solver_of(name, rhs).simulate(2.0)
    changed = sum(not np.array_equal(a, b) for a, b in zip(kept, copies))
    return f"changes later ({100 * changed / len(kept):.0f} % of them)" if changed else "stays"


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def _descriptors():
    return len(os.listdir("/proc/self/fd"))


def _growth(work, count):
    """Memory [kB] and descriptors that one call of `work` keeps, after as many calls before."""
    for _ in range(count):
        work()
    gc.collect()
    memory, files = _resident(), _descriptors()
    for _ in range(count):
        work()
    gc.collect()
    memory, files = (_resident() - memory) / count, (_descriptors() - files) / count
    size = "less than 0.1 kB" if memory < 0.1 else f"{memory:.1f} kB" if memory < 10 else f"{memory:.0f} kB"
    return size + (f" and {files:.1f} descriptors" if files >= 0.1 else "")


@trap("memory kept by each of 1500 runs", "nothing", ALL)
def memory_run(name):
    return _growth(lambda: solver_of(name).simulate(0.2), 1500)


@trap("memory and file descriptors kept by each of 600 runs with too many steps", "nothing", tuple(n for n in ALL if n != "RungeKutta4"))
def memory_failed(name):
    def fail():
        solver = solver_of(name)
        if "maxsteps" in solver.options:
            solver.options["maxsteps"] = 3
        with contextlib.suppress(Exception):
            solver.simulate(2.0)

    return _growth(fail, 600)


@trap("memory and file descriptors kept by each of 600 runs that an exception in handle_result ends", "nothing", ALL)
def memory_exception(name):
    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > 0.0:
                raise Mine

    def fail():
        solver = solver_of(name, kind=Kind)
        solver.report_continuously = True
        with contextlib.suppress(Exception):
            solver.simulate(0.2)

    return _growth(fail, 600)


@trap("memory and file descriptors kept by each of 600 runs that an exception in handle_event ends", "nothing", WITH_EVENTS)
def memory_stopped(name):
    def fail():
        with contextlib.suppress(Mine):
            solver_of(name, kind=stopping([])).simulate(2.0)

    return _growth(fail, 600)


@trap("memory kept by each of 20000 interpolations", "nothing", WITH_INTERPOLANT)
def memory_interpolate(name):
    found = []

    class Kind:
        def handle_result(self, solver, t, y, yd=None):
            if t > 0.0 and not found:
                found.append("")
                found[0] = _growth(lambda: solver.interpolate(t), 20_000)

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    solver.simulate(2.0)
    return found[0]


@trap("a second run of the solver inside its right-hand side", "refused where steps or interpolant change (terminal.py: alone)", ALL)
def nested(name):
    results = []
    for inner in (False, True):
        done = []

        def rhs(t, y, *switches, inner=inner, done=done):
            if inner and t > BREAKS_AT and not done:
                done.append(True)
                try:
                    end = solver_of(name, lambda t, z, *s: -3.0 * z + np.sin(20 * t), (1.0, 2.0, 3.0)).simulate(3.0)[1][-1]
                except Exception as error:
                    PROGRESS.end(f"the inner run raises {told(error)}")
                done.append(end)
            return oscillator(t, y)

        try:
            results.append(solver_of(name, rhs).simulate(4.0)[1][-1])
        except Exception as error:
            return f"the outer run raises {told(error)}"
    error = np.abs(results[1] - results[0]).max()
    return "harmless" if error == 0.0 else f"the outer result is changed by {number(error)}"


@trap("interpolate() in handle_result, after another run of the solver there", "refused where it is changed (assimulo_support.py: alone)",
      WITH_INTERPOLANT)
def nested_interpolate(name):
    found = []

    class Kind:
        before = 0.0

        def handle_result(self, solver, t, y, yd=None):
            if t > BREAKS_AT and not found:
                at = 0.5 * (self.before + t)
                right = np.array(solver.interpolate(at))
                solver_of(name, lambda t, z, *s: -3.0 * z + np.sin(20 * t), (1.0, 2.0, 3.0)).simulate(3.0)
                found.append(right)
                found.append(np.abs(solver.interpolate(at) - right).max())
            self.before = t

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    try:
        solver.simulate(2.0)
    except Exception as error:
        return f"raises {told(error)}"
    return "harmless" if found[1] == 0.0 else f"the value is changed by {number(found[1])}"


@trap("runs of the same solver in two threads", "one after the other (terminal.py: FortranOutput)", ALL)
def threads(name):
    found, errors = {}, []

    def work(k, slow):
        def rhs(t, y, *switches):
            time.sleep(slow)
            return oscillator(t, y) * (1.0 + k)

        try:
            found.setdefault(k, []).append(solver_of(name, rhs).simulate(2.0)[1][-1])
        except Exception as error:
            errors.append(told(error))

    for k in range(2):
        work(k, 0.0)
    for _ in range(5):
        jobs = [threading.Thread(target=work, args=(k, 1e-5)) for k in range(2)]
        [job.start() for job in jobs]
        [job.join() for job in jobs]
    if errors:
        return f"raises {errors[0]}"
    error = max(np.abs(y - rows[0]).max() for rows in found.values() for y in rows)
    return "harmless" if error == 0.0 else f"results are changed by {number(error)}"
