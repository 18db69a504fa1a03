"""`python -m tests.benchmarks.sundials`: IDA called directly, through the wrapper of scikit-sundae, and from a C program.

CPU times, minima of several runs in turn. "in the run" is the time in the solver with its callbacks and its output; "solve" that of a
whole `mbdae.solve` without output between the ends. The C program is compiled with `cc` against the system's SUNDIALS 6
(Debian: `libsundials-dev`), and calls the same residual and Jacobian.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae.adapters.sundae import Ida
from mbdae.adapters.sundials.bound import Bound
from mbdae.adapters.sundials.library import LibraryError, library
from mbdae.driver.callbacks import SolverCallbacks

CASES = (("andrews", "ggl", 0.03, "exact"), ("andrews", "ggl", 0.03, "difference"), ("slider-crank", "ggl", 1.0, "exact"),
         ("double-pendulum", "gear", 1.0, "exact"))
RTOL, REPEATS = 1e-6, 15
SOURCE = Path(__file__).with_name("sundials_loop.c")
LIBRARIES = ("ida", "nvecserial", "sunmatrixdense", "sunlinsoldense", "generic")


def c_program():
    """`run` of the C program, or `None` where it cannot be compiled."""
    if shutil.which("cc") is None:
        return None
    target = Path(tempfile.mkdtemp()) / "loop.so"
    command = ["cc", "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(target), *(f"-lsundials_{name}" for name in LIBRARIES)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    function = ctypes.CDLL(str(target)).run
    real, pointer = ctypes.c_double, ctypes.c_void_p
    function.restype = ctypes.c_long
    function.argtypes = [pointer, pointer, pointer, ctypes.c_long, real, real, pointer, pointer, real, pointer, pointer, real]
    return function


def from_c(function, problem, t_end, jacobian):
    """CPU seconds and steps of the C program."""
    bound = Bound(library("system"), SolverCallbacks(problem), 1.0, "dense")
    residual = bound.residual()
    exact = bound.exact_jacobian() if jacobian == "exact" else None
    y, yd = problem.pack(problem.start)
    atol, differential = problem.tolerances(RTOL, 1e-8), np.where(problem.algebraic, 0.0, 1.0)
    begin = time.process_time()
    steps = function(residual, exact, bound.equations._address, problem.n, 0.0, t_end, y.ctypes.data, yd.ctypes.data, RTOL,
                     atol.ctypes.data, differential.ctypes.data, problem.first_step)
    return time.process_time() - begin, steps


def through(problem, t_end, jacobian, backend):
    """CPU seconds in the run and of the whole call, steps, and evaluations."""
    begin = time.process_time()
    s = mbdae.solve(problem, Ida(jacobian, backend=backend), (0.0, t_end), rtol=RTOL, atol=1e-8, t_eval=[t_end])
    whole = time.process_time() - begin
    assert s.success, s.message
    return s.statistics.cpu_seconds, whole, s.statistics.steps, s.statistics.residuals + s.statistics.residuals_jacobian


def main():
    """Print the table."""
    program = c_program()
    table = Table("mechanism", "form", "Jacobian", "by", "steps", "in the run [ms]", "solve [ms]", "us per residual",
                  title="IDA by CPU time", title_justify="left")
    for name, form, t_end, jacobian in CASES:
        problem, found = mbdae.problem(name, formulation=form), {}
        for _ in range(REPEATS):
            for backend in ("wrapper", "wheel", "system"):
                try:
                    inside, whole, steps, residuals = through(problem, t_end, jacobian, backend)
                except LibraryError:
                    continue
                best = found.get(backend, (np.inf, np.inf))
                found[backend] = min(best[0], inside), min(best[1], whole), steps, residuals
            if program is not None:
                seconds, steps = from_c(program, problem, t_end, jacobian)
                found["C program"] = min(found.get("C program", (np.inf,))[0], seconds), np.nan, steps, np.nan
        for by, (inside, whole, steps, residuals) in found.items():
            cells = ["" if np.isnan(x) else f"{x:.2f}" for x in (1e3 * inside, 1e3 * whole, 1e6 * inside / residuals)]
            table.add_row(name, form, jacobian, by, str(steps), *cells)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
