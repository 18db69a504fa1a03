"""`python -m tests.benchmarks.bdf`: the BDF integrator against IDA and DASPK on the same problems, and what its steps cost.

Ratios are geometric means over the mechanisms; below one they speak for `Bdf`. Single runs scatter by tens of percent.
"""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import Bdf, library
from mbdae.adapters.odes import Odes
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.studies.errors import errors

SPANS = {"double-pendulum": 1.0, "slider-crank-free": 1.0, "andrews": 0.03, "car-axis": 1.0, "chain": 1.0, "pendulum-chain": 0.5}  # [s]
FORMS = ("gear", "ggl", "index2", "index1", "index3")
TOLERANCES = (1e-4, 1e-6, 1e-8)
REPEATS = 7
SMALLEST = 1e-14  # error that counts as none


def references():
    """System and solution at 41 times of every mechanism."""
    found = {}
    for name, t_end in SPANS.items():
        parameters = {"coordinates": "classical"} if name == "pendulum-chain" else {}
        system, t = library.system(name, **parameters), np.linspace(0.0, t_end, 41)
        exact = mbdae.solve(system, SolveIvp("DOP853"), (0.0, t_end), rtol=1e-12, atol=1e-13, t_eval=t)
        exact.redundant = len(system.dependent) > 0
        found[name] = system, exact
    return found


def cost(system, exact, method, form, rtol):
    """Steps, residuals, Jacobians, largest errors of `q` and `v`, seconds; `None` for a run that failed."""
    s = mbdae.solve(system, method, (0.0, exact.t[-1]), formulation=form, rtol=rtol, atol=rtol / 100, t_eval=exact.t)
    if not s.success:
        return None
    e, c = errors(s, exact), s.statistics
    return [max(x, SMALLEST) for x in (c.steps, c.residuals, c.jacobians, e.q_max, e.v_max, c.seconds)]


def against(peers, cases, title):
    """Ratios of `Bdf()` to each of the peers."""
    table = Table("form", "rtol", "peer", "steps", "residuals", "Jacobians", "error q", "error v", "time", "most residuals", "failed",
                  title=title)
    for form in FORMS:
        for rtol in TOLERANCES:
            own = [cost(*case, Bdf(), form, rtol) for case in cases.values()]
            for label, method in peers.items():
                pairs = [(a, cost(*case, method, form, rtol)) for a, case in zip(own, cases.values())]
                ratios = np.array([np.divide(a, b) for a, b in pairs if a and b])
                means, worst = np.exp(np.log(ratios).mean(axis=0)), f"{ratios[:, 1].max():.2f}"
                failed = "/".join(str(sum(x is None for x in column)) for column in zip(*pairs))
                table.add_row(form, f"{rtol:g}", label, *(f"{x:.2f}" for x in means), worst, failed)
    return table


def overhead(cases):
    """Microseconds of a step and of a residual call beyond the evaluations themselves; fastest of several runs."""
    table = Table("mechanism", "unknowns", "solver", "steps", "residuals", "total [ms]", "residual [us]", "Jacobian [us]", "per step [us]",
                  "per residual [us]", title="GGL, rtol = 1e-8, 1 s: time beyond residuals and Jacobians")
    for name in ("double-pendulum", "slider-crank-free"):
        problem = mbdae.GGL(cases[name][0])
        y, yd = problem.y0, problem.yd0
        residual, out = SolverCallbacks(problem).residual(), np.empty(problem.n)
        each = _microseconds(lambda f=residual, y=y, yd=yd, out=out: f(0.0, y, yd, out), 3000)
        jacobian = _microseconds(lambda p=problem, y=y, yd=yd: p.jacobian_values(0.0, y, yd, 1.0), 300)
        for label, method in {"Bdf": Bdf(), "IDA": Ida(), "DASPK": Odes("ddaspk")}.items():
            runs = [mbdae.solve(problem, method, (0.0, 1.0), rtol=1e-8, atol=1e-10, t_eval=[1.0]).statistics for _ in range(REPEATS)]
            s = min(runs, key=lambda x: x.seconds)
            rest = 1e6 * s.seconds - s.residuals * each - s.jacobians * jacobian
            table.add_row(name, str(problem.n), label, str(s.steps), str(s.residuals), f"{1e3 * s.seconds:.1f}", f"{each:.2f}",
                          f"{jacobian:.0f}", f"{rest / s.steps:.1f}", f"{rest / s.residuals:.1f}")
    return table


def _microseconds(function, n):
    best = np.inf
    function()
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(n):
            function()
        best = min(best, (time.perf_counter() - begin) / n)
    return 1e6 * best


def peers(cases=None):
    """Against IDA, and DASPK if it is installed."""
    found = {"IDA": Ida()} | ({"DASPK": Odes("ddaspk")} if Odes("ddaspk").availability().installed else {})
    return against(found, cases or references(), "Bdf() against IDA and DASPK: ratios")


def main():
    console, cases = Console(width=160), references()
    console.print(peers(cases))
    console.print(against({"newton=0.33": Bdf(newton=0.33)}, cases, "Bdf() against itself with DASSL's Newton tolerance: ratios"))
    console.print(overhead(cases))


if __name__ == "__main__":
    main()
