"""`python -m tests.benchmarks.state_space`: cost of the integrators on state-space form, of their derivatives, and against foreign solvers.

Times are the least of several runs in one process, on which other work weighs least; ratios are taken between runs that alternate.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import library
from mbdae.registry import find
from mbdae.studies import errors

METHODS = ("TrapezoidalStateSpace", "TrapezoidalDescriptor", "SdirkDescriptor", "SdirkFirstOrder", "RosenbrockNystrom")
SPANS = {"andrews": 0.03, "double-pendulum": 1.0, "iltis": 0.2, "chain": 1.0}  # [s]
COMPARED = ("andrews", "double-pendulum", "chain", "stiff-double-pendulum")
PEERS = ("Cvode:BDF", "SolveIvp:Radau", "Assimulo:Radau5ODE")
RTOL = 1e-5
CEILING = 150.0  # us per accepted step of the methods of order four on Andrews' mechanism
DEAREST = 1.5  # run time with difference quotients over that with exact derivatives; 4 to 5 in the thesis
REPEATS = 5


def problem(name, form="partition"):
    """The state-space form, or the underlying ODE, of a mechanism of the library."""
    return mbdae.problems.FORMULATIONS[form](library.system(name))


def alternating(cases, repeats=REPEATS):
    """Solution and least time of each `(problem, method, t_end, options)`, run in turn; a run that fails has `None`."""
    best = [None] * len(cases)
    for _ in range(repeats + 1):  # the first ones compile
        for k, (p, method, t_end, options) in enumerate(cases):
            s = mbdae.solve(p, method, (0.0, t_end), **options)
            if s.success and (best[k] is None or s.statistics.seconds < best[k].statistics.seconds):
                best[k] = s
    return best


def per_step(methods=METHODS, spans=SPANS, repeats=REPEATS):
    """Microseconds per accepted step of every method."""
    table = Table("mechanism", "method", "steps", "rejected", "evaluations/step", "Jacobians/step", "charts", "us/step", "ceiling",
                  title=f"State-space integrators, rtol = atol = {RTOL:g}")
    for name, t_end in spans.items():
        p = problem(name)
        runs = alternating([(p, find(m).make(), t_end, {"rtol": RTOL, "atol": RTOL}) for m in methods], repeats)
        for m, s in zip(methods, runs):
            c, bound = s.statistics, f"{CEILING:g}" if name == "andrews" and m in METHODS[-2:] else ""
            table.add_row(name, m, str(c.steps), str(c.rejected_error + c.rejected_newton), f"{c.residuals / c.steps:.1f}",
                          f"{c.jacobians / c.steps:.2f}", str(c.restarts), f"{1e6 * c.seconds / c.steps:.1f}", bound)
    return table


def differences(methods=METHODS, spans=SPANS, repeats=REPEATS):
    """Run time with difference quotients, and with the complex step through everything, over that with exact derivatives."""
    table = Table("mechanism", "method", "steps", "exact [ms]", "difference/exact", "complex/exact", "at most",
                  title="How derivatives are obtained: ratios of run times per step")
    modes = ("exact", "difference", "complex")
    for name, t_end in spans.items():
        p = problem(name)
        for m in methods:
            family = find(m).family.method_class
            runs = alternating([(p, family(jacobian=j), t_end, {"rtol": RTOL, "atol": RTOL}) for j in modes], repeats)
            each = [s.statistics.seconds / s.statistics.steps for s in runs]
            table.add_row(name, m, str(runs[0].statistics.steps), f"{1e3 * runs[0].statistics.seconds:.1f}", f"{each[1] / each[0]:.2f}",
                          f"{each[2] / each[0]:.2f}", f"{DEAREST:g}")
    return table


def against_peers(own=METHODS[-2:], names=COMPARED, tolerances=(1e-4, 1e-6), repeats=3):
    """Our methods of order four and foreign stiff solvers at the same tolerance: times and errors."""
    table = Table("mechanism", "rtol", "form", "peer", "steps", "error q", "ms", *(f"{m}: error q" for m in own),
                  *(f"{m}: time/peer" for m in own), title="Against foreign solvers of the same equations")
    for name in names:
        t_end = SPANS.get(name, 0.5)
        exact = reference(name, t_end)
        for rtol in tolerances:
            options = {"rtol": rtol, "atol": rtol, "t_eval": exact.t}
            ours = [(problem(name), find(m).make(), t_end, options) for m in own]
            cases = [(form, peer, (problem(name, form), find(peer).make(), t_end, options)) for peer in available(PEERS)
                     for form in ("ode", "partition")]
            runs = alternating(ours + [c for _, _, c in cases], repeats)
            for (form, peer, _), s in zip(cases, runs[len(own):]):
                table.add_row(name, f"{rtol:g}", form, peer, *_beside(s, runs[:len(own)], exact))
    return table


def reference(name, t_end):
    """The motion at eleven times."""
    exact = mbdae.solve(problem(name), mbdae.SdirkFirstOrder(), (0.0, t_end), rtol=1e-11, atol=1e-11, t_eval=np.linspace(0.0, t_end, 11))
    exact.redundant = len(exact.system.dependent) > 0
    return exact


def available(names):
    """Those whose packages are installed."""
    states = {name: find(name).family.availability() for name in names}
    return [name for name, state in states.items() if state is None or state.installed]


def _beside(s, ours, exact):
    if s is None:
        return ["failed"]
    off = [f"{errors(x, exact).q_max:.1e}" if x else "failed" for x in (s, *ours)]
    ratios = [f"{x.statistics.seconds / s.statistics.seconds:.2f}" if x else "" for x in ours]
    return [str(s.statistics.steps), off[0], f"{1e3 * s.statistics.seconds:.1f}", *off[1:], *ratios]


def main():
    """Print all tables."""
    console = Console(width=180)
    for study in (per_step, differences, against_peers):
        console.print(study())


if __name__ == "__main__":
    main()
