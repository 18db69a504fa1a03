"""`python -m tests.benchmarks.fortran`: Fortran codes called in the libraries of their packages, and through the packages.

CPU times in milliseconds, minima of several runs in turn. "solve" is a whole `mbdae.solve` without output between the ends, the other
columns are the run alone. The second table has one call of the residual within DASPK against the same equations written by hand with
numba for scikits.odes, with difference quotients, as in `tests.benchmarks.overhead`. The third has the share of the equations in runs of
codes that are not called this way: what remains is the code and Python.
"""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import MassMatrix
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.odes import Odes
from mbdae.adapters.radau13 import Radau13
from mbdae.adapters.scipy import SolveIvp

from . import overhead
from .hand_written import residual_of

RTOL, REPEATS = 1e-6, 11
CASES = (("DASPK", Odes("ddaspk"), "andrews", "ggl", 0.03), ("DASPK", Odes("ddaspk", "difference"), "andrews", "ggl", 0.03),
         ("DASPK", Odes("ddaspk"), "andrews", "index2", 0.03), ("DASPK", Odes("ddaspk"), "slider-crank", "ggl", 1.0),
         ("LSODI", Odes("lsodi"), "double-pendulum", "index1", 1.0), ("RADAU", Radau13(), "andrews", "mass", 0.03),
         ("RADAU", Radau13(jacobian="difference"), "andrews", "mass", 0.03), ("RADAU", Radau13(), "double-pendulum", "mass", 1.0),
         ("RODAS", Assimulo("RodasODE"), "double-pendulum", "ode", 1.0), ("RODAS", Assimulo("RodasODE"), "andrews", "partition", 0.03),
         ("RODAS", Assimulo("RodasODE", "difference"), "andrews", "partition", 0.03),
         ("RADAU5", Assimulo("Radau5DAE", "difference"), "double-pendulum", "ggl", 1.0),
         ("RADAU5", Assimulo("Radau5DAE", "difference"), "andrews", "ggl", 0.03),
         ("DOPRI5", Assimulo("Dopri5"), "double-pendulum", "ode", 1.0), ("DOPRI5", Assimulo("Dopri5"), "andrews", "partition", 0.03),
         ("ODASSL", Assimulo("ODASSL", "difference"), "double-pendulum", "overdetermined", 1.0),
         ("ODASSL", Assimulo("ODASSL", "difference"), "andrews", "ggl", 0.03),
         ("LSODAR", Assimulo("LSODAR"), "double-pendulum", "ode", 1.0), ("LSODAR", Assimulo("LSODAR"), "andrews", "partition", 0.03),
         ("LSODAR", Assimulo("LSODAR"), "slider-crank-free", "ode", 1.0),
         ("GLIMDA", Assimulo("GLIMDA", "difference"), "double-pendulum", "index2", 1.0),
         ("GLIMDA", Assimulo("GLIMDA", "difference"), "andrews", "ggl", 0.03))
OTHERS = (("SciPy LSODA", SolveIvp("LSODA"), "ode"), ("SciPy DOP853 in Fortran's place", Odes("dop853"), "ode"),
          ("Assimulo Radau5ODE", Assimulo("Radau5ODE"), "ode"))


def posed(name, form):
    """A problem of the library."""
    system = mbdae.problem(name).system
    return MassMatrix(system) if form == "mass" else mbdae.problem(system, formulation=form)


def _with(method, backend):
    options = {f: getattr(method, f) for f in type(method).__dataclass_fields__}
    return type(method)(**options | {"backend": backend})


def codes():
    """Both ways to the codes."""
    table = Table("code", "mechanism, form, Jacobian", "steps", "wrapper [ms]", "library [ms]", "ratio", "solve [ms]",
                  title=f"rtol = {RTOL}, output at the end")
    for label, method, name, form, t_end in CASES:
        problem, runs, whole = posed(name, form), {"wrapper": [], "library": []}, []
        for k in range(REPEATS + 1):
            for backend, times in runs.items():
                begin = time.process_time()
                s = mbdae.solve(problem, _with(method, backend), (0.0, t_end), rtol=RTOL, t_eval=[t_end])
                if k:
                    times.append(1e3 * s.statistics.cpu_seconds)
                    if backend == "library":
                        whole.append(1e3 * (time.process_time() - begin))
        wrapper, direct = (min(times) for times in runs.values())
        table.add_row(label, f"{name}, {form}, {method.jacobian}", str(s.statistics.steps), f"{wrapper:.1f}", f"{direct:.1f}",
                      f"{wrapper / direct:.1f}", f"{min(whole):.1f}")
    return table


def by_hand():
    """Microseconds per call of the residual of Andrews' mechanism in the GGL form, the run divided by its calls."""
    problem, method = mbdae.problem("andrews", "ggl"), Odes("ddaspk", "difference")
    start, hand = problem.pack(problem.start), residual_of(problem.system.mechanism)
    seconds, calls = {"hand": [], "package": [], "library": []}, dict.fromkeys(("hand", "package", "library"), 0)
    for rtol in overhead.TOLERANCES:
        calls["hand"] += overhead._count(overhead.odes_daspk, problem, start, hand, rtol)
        calls["package"] += overhead._count(overhead.odes_daspk, problem, start, None, rtol)
    for k in range(REPEATS):
        total = dict.fromkeys(seconds, 0.0)
        for rtol in overhead.TOLERANCES:
            for key, residual in (("hand", hand), ("package", None)):
                run, begin = overhead.odes_daspk(problem, start, residual, rtol), time.process_time()
                run()
                total[key] += time.process_time() - begin
            s = method.integrate(problem, problem.start, overhead.T_END, rtol=rtol, atol=1e-8, t_eval=np.array([overhead.T_END])).statistics
            total["library"] += s.cpu_seconds
            calls["library"] += 0 if k else s.residuals + s.residuals_jacobian
        for key, times in seconds.items():
            times.append(total[key])
    table = Table("residual", "calls", "per call [us]", "ratio to that by hand", title=f"Andrews, GGL, 0 ... {overhead.T_END} s")
    per_call = {key: 1e6 * min(times) / calls[key] for key, times in seconds.items()}
    for key, label in (("hand", "by hand with numba, scikits.odes"), ("package", "`daspk_arguments`, scikits.odes"),
                       ("library", "`Odes('ddaspk')`")):
        table.add_row(label, str(calls[key]), f"{per_call[key]:.2f}", f"{per_call[key] / per_call['hand']:.2f}")
    return table


def others():
    """How much of the time of other codes is spent in the equations, if those were called from compiled code."""
    table = Table("code", "calls", "run [ms]", "us per call", "compiled equations [us]", title="double pendulum, 0 ... 1 s, rtol = 1e-6")
    for label, method, form in OTHERS:
        problem = posed("double-pendulum", form)
        runs = [mbdae.solve(problem, method, (0.0, 1.0), rtol=RTOL, t_eval=[1.0]).statistics for _ in range(REPEATS)]
        calls, run = runs[-1].residuals + (runs[-1].residuals_jacobian or 0), min(s.cpu_seconds for s in runs)
        table.add_row(label, str(calls), f"{1e3 * run:.1f}", f"{1e6 * run / calls:.1f}", f"{_alone(problem):.2f}")
    return table


def _alone(problem):
    """Microseconds of one evaluation with the call from Python."""
    (y, yd), arguments, n = problem.pack(problem.start), problem.arguments, 5000
    before = (0.0, y, yd) if problem.implicit else (0.0, y)
    out = np.empty(problem.m)
    problem.kernel(*before, out, *arguments)
    seconds = []
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(n):
            problem.kernel(*before, out, *arguments)
        seconds.append(time.process_time() - begin)
    return 1e6 * min(seconds) / n


if __name__ == "__main__":
    console = Console(width=140)
    for table in (codes, by_hand, others):
        console.print(table())
