"""`make bench`: cost of the one-step and the state-space integrators, of residuals, and how the cost grows with the number of bodies.

Every figure is the median of several runs in one process; compare the ratios, not the microseconds of different machines.
"""

import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import library
from mbdae.adapters.sundae import Ida

from .bdf import peers
from .grouping import chains, speed
from .jacobians import chain_jacobians
from .overhead import overhead
from .state_space import against_peers, differences, per_step
from .structural import structural

REPEATS = 7
TOLERANCES = {"rtol": 1e-6, "atol": 1e-8}  # not used by methods with a fixed step
PUBLISHED = {"HalfImplicit": 1560.0, "FullyImplicit": 3140.0}  # us per slider-crank step of the code published with the paper


def median_of(function, repeats=REPEATS):
    """Median of what `function` returns in several calls."""
    return statistics.median(function() for _ in range(repeats))


def seconds_per_step(system, state, method, t_end):
    """Wall time of one step of a one-step integrator."""
    def run():
        trajectory = method.integrate(mbdae.Index3(system), state, t_end, every=10**9, **TOLERANCES)
        return trajectory.statistics.seconds / trajectory.statistics.steps

    return median_of(run)


def one_step_integrators():
    """Slider-crank, four-link and double pendulum: microseconds per step."""
    table = Table("mechanism", "method", "h [s]", "us/step", "iterations", "published code / this", title="One-step integrators")
    settings = {"slider-crank": ((1e-10, 1e-3), (1e-7, 1e-3)), "four-link": ((1e-9, 1e-3), (1e-5, 1e-3)),
                "double-pendulum": ((1e-7, 1e-3), (1e-6, 1e-3))}
    for name, pairs in settings.items():
        system = mbdae.System(library.mechanism(name))
        state = mbdae.assemble(system)
        for make, (tol, h) in zip((mbdae.HalfImplicit, mbdae.FullyImplicit), pairs):
            method = make(h=h, tol=tol)
            us = 1e6 * seconds_per_step(system, state, method, 2.0)
            count = method.integrate(mbdae.Index3(system), state, 2.0, every=10**9, **TOLERANCES).statistics.iterations_per_step
            ratio = f"{PUBLISHED[make.__name__] / us:.0f}" if name == "slider-crank" else ""
            table.add_row(name, make.__name__, f"{h:g}", f"{us:.2f}", f"{count:.2f}", ratio)
    return table


def chain_scaling():
    """Chains of spherical joints over the 3 s of the paper: microseconds per link and step, and how they grow from 32 links on."""
    table = Table("links", "us/link/step", "iterations", "us/link/iteration", "growth exponent",
                  title="Half-implicit chain, 3 s, h = 1e-3 s, tol = 1e-7")
    base = None
    for n in (1, 2, 8, 32, 128, 512, 1024, 4096):
        system = mbdae.System(library.mechanism("chain", links=n))
        state = mbdae.assemble(system)
        problem, method = mbdae.Index3(system), mbdae.HalfImplicit(h=1e-3, tol=1e-7)
        runs = [method.integrate(problem, state, 3.0, every=10**9, **TOLERANCES) for _ in range(3)]
        cost = statistics.median(r.statistics.seconds / r.statistics.steps for r in runs)
        count = runs[0].statistics.iterations_per_step
        base = (n, cost) if n == 32 else base
        exponent = f"{np.log(cost / base[1]) / np.log(n / base[0]):.3f}" if base and n > base[0] else ""
        table.add_row(str(n), f"{1e6 * cost / n:.3f}", f"{count:.2f}", f"{1e6 * cost / n / count:.3f}", exponent)
    return table


def residuals():
    """One residual and one exact Jacobian per formulation, called from Python."""
    table = Table("formulation", "unknowns", "residual [us]", "Jacobian [us]", "groups", title="Slider-crank, calls from Python")
    system = mbdae.System(library.mechanism("slider-crank"))
    state = mbdae.assemble(system)
    for make in (mbdae.Index3, mbdae.GGL, mbdae.Gear, mbdae.Index2, mbdae.Index1, mbdae.Overdetermined):
        problem = make(system)
        y, yd = problem.pack(state)
        out = np.empty(problem.m)
        problem.compile(0.0, y, yd)
        residual = median_of(lambda p=problem, y=y, yd=yd, out=out: _time(lambda: p.residual(0.0, y, yd, out), 5000))
        jacobian = median_of(lambda p=problem, y=y, yd=yd: _time(lambda: p.jacobian_values(0.0, y, yd, 1.0), 50))
        table.add_row(problem.title, str(problem.n), f"{1e6 * residual:.2f}", f"{1e6 * jacobian:.0f}", str(problem.groups.max() + 1))
    return table


# times at which the library has reference values that six digits can be expected of
EARLY = {"single-pendulum": 0.5, "double-pendulum": 1.0, "slider-crank": 0.25, "slider-crank-free": 0.25, "four-link": 0.25, "chain": 1.0,
         "stiff-double-pendulum": 0.5, "andrews": 0.01}
ACCELERATIONS = ("lam", "dd_", "tension", "normal_force", "friction_force", "driving_torque")


def solvers():
    """IDA on every mechanism and formulation: error of the motion against the library's references, and residual calls."""
    table = Table("mechanism", "t [s]", "formulation", "error, exact", "calls", "ms", "error, differences", "calls + for Jacobians",
                  "ms ratio", title="IDA, rtol = 1e-8, atol = 1e-10: exact Jacobian against IDA's own differences")
    for name, t in EARLY.items():
        system = mbdae.System(library.mechanism(name))
        for form in ("gear", "ggl", "index2", "index1", "index3"):
            exact, own = (_ida(name, system, Ida(jacobian), form, t) for jacobian in ("exact", "difference"))
            table.add_row(name, f"{t:g}", form, *_cells(exact), *_cells(own, exact))
    return table


def _ida(name, system, method, form, t):
    """Largest error of the motion, relative to values above one, and the statistics of a run; `None` for a run that failed."""
    entry = library.entry(name)
    solution = mbdae.solve(system, method, (0.0, t), formulation=form, rtol=1e-8, atol=1e-10, t_eval=[t])
    if not solution.success:
        return None
    found = entry.observe(system, t, solution.q[0], solution.v[0], solution.a[0], solution.lam[0])
    listed = {k: v for r in entry.references if r.t == t and not r.parameters and r.kind != "published" for k, v in r.values.items()}
    motion = {k: v for k, v in listed.items() if not k.startswith(ACCELERATIONS)}
    return max(abs(found[k] - v) / max(1.0, abs(v)) for k, v in motion.items()), solution.statistics


def _cells(result, other=None):
    if result is None:
        return "failed", "", ""
    error, s = result
    calls = f"{s.residuals}" if other is None else f"{s.residuals} + {s.residuals_jacobian}"
    return f"{error:.0e}", calls, f"{1e3 * s.seconds:.1f}" if other is None else f"{s.seconds / other[1].seconds:.2f}"


def _time(function, n):
    begin = time.perf_counter()
    for _ in range(n):
        function()
    return (time.perf_counter() - begin) / n


def main():
    """Print all tables."""
    console = Console(width=140)
    for study in (one_step_integrators, chain_scaling, residuals, solvers, overhead, chains, speed, chain_jacobians, peers, per_step,
                  differences, against_peers, structural):
        console.print(study())


if __name__ == "__main__":
    main()
