"""What a problem costs inside foreign solvers, against the same equations written by hand with numba.

Both run through the same solver with the same settings and the solver's own difference Jacobian, alternately. Rounding alone makes two
runs differ in their numbers of steps and Jacobians, so times and calls are summed over several tolerances; medians of several runs.
"""

import statistics
import time

import numpy as np
from rich.table import Table

import mbdae
from mbdae import library

from .hand_written import residual_of

REPEATS, T_END = 5, 0.01
TOLERANCES = (1e-5, 6e-6, 3e-6, 2e-6, 1e-6, 6e-7)


def overhead():
    """Andrews' mechanism in the GGL form: microseconds per residual call, the whole run divided by its calls."""
    table = Table("solver", "calls", "by hand [us]", "problem [us]", "ratio", "residual alone: by hand, problem [us]",
                  title=f"Andrews, GGL, 82 unknowns, rtol = 1e-5 ... 6e-7, 0 ... {T_END} s: cost per residual call inside the solver")
    problem = mbdae.GGL(mbdae.System(library.mechanism("andrews")))
    start = problem.pack(mbdae.assemble(problem.system))
    problem.compile(0.0, *start)
    hand = residual_of(problem.system.mechanism)
    alone = _alone(hand, *start), _alone(lambda t, y, yd, out: problem.kernel(t, y, yd, out, *problem.arguments), *start)
    for name, make in (("scikit-sundae IDA", sundae), ("scikits.odes IDA", odes_ida), ("scikits.odes DASPK", odes_daspk),
                       ("Assimulo IDA", assimulo_ida), ("Assimulo Radau5DAE", assimulo_radau5)):
        ours, own, calls = _compare(make, problem, start, hand)
        table.add_row(name, f"{calls[0]}, {calls[1]}", f"{own:.2f}", f"{ours:.2f}", f"{ours / own:.2f}", f"{alone[0]:.2f}, {alone[1]:.2f}")
    return table


def _alone(residual, y, yd):
    """One call from Python."""
    out, n = np.empty(len(y)), 5000
    residual(0.0, y, yd, out)

    def once():
        begin = time.perf_counter()
        for _ in range(n):
            residual(0.0, y, yd, out)
        return 1e6 * (time.perf_counter() - begin) / n

    return statistics.median(once() for _ in range(REPEATS))


def _compare(make, problem, start, hand):
    """Microseconds per call of the problem's residual and of that by hand, and the numbers of calls."""
    counts = [sum(_count(make, problem, start, residual, rtol) for rtol in TOLERANCES) for residual in (None, hand)]
    seconds = [[], []]
    for _ in range(REPEATS):
        for residual, total in zip((None, hand), seconds):
            total.append(sum(_seconds(make(problem, start, residual, rtol)) for rtol in TOLERANCES))
    ours, own = (1e6 * statistics.median(s) / n for s, n in zip(seconds, counts))
    return ours, own, counts


def _seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _count(make, problem, start, residual, rtol):
    """Calls of the residual in one run."""
    calls = [0]
    plain = problem.kernel if residual is None else residual

    def counting(*arguments):
        calls[0] += 1
        return plain(*arguments)

    if residual is not None:
        make(problem, start, counting, rtol)()
        return calls[0]
    problem.kernel = counting
    try:
        make(problem, start, None, rtol)()
    finally:
        problem.kernel = plain
    return calls[0]


def sundae(problem, start, residual, rtol):
    """scikit-sundae: arrays that it hands over are read-only, so the one by hand is compiled for such."""
    from sksundae.ida import IDA

    from mbdae.adapters.sundae import ida_arguments

    arguments = ida_arguments(problem, rtol, jacobian="difference")
    if residual is not None:
        arguments["resfn"] = lambda t, y, yd, out: residual(t, y, yd, out) and None
    solver = IDA(**arguments)
    return lambda: solver.solve([0.0, T_END], *start)


def _odes(name, arguments, start, residual):
    from scikits_odes import dae

    if residual is not None:
        def by_hand(t, y, yd, out):
            residual(t, y, yd, out)
            return 0

        arguments["eqsres"] = by_hand
    solver = dae(name, **arguments)
    return lambda: solver.solve([0.0, T_END], *start)


def odes_ida(problem, start, residual, rtol):
    """IDA of scikits.odes."""
    from mbdae.adapters.odes import ida_arguments

    return _odes("ida", ida_arguments(problem, rtol, jacobian="difference"), start, residual)


def odes_daspk(problem, start, residual, rtol):
    """DASPK of scikits.odes."""
    from mbdae.adapters.odes import daspk_arguments

    return _odes("ddaspk", daspk_arguments(problem, rtol, jacobian="difference"), start, residual)


def _assimulo(name, problem, residual, rtol):
    import assimulo.solvers

    from mbdae.adapters.assimulo import configure, implicit_problem

    native = implicit_problem(problem)
    if residual is not None:
        out = np.empty(problem.n)

        def by_hand(t, y, yd):
            residual(t, y, yd, out)
            return out

        native.res = by_hand
    solver = configure(getattr(assimulo.solvers, name)(native), problem, rtol, jacobian="difference")
    return lambda: solver.simulate(T_END)


def assimulo_ida(problem, start, residual, rtol):
    """IDA of Assimulo."""
    return _assimulo("IDA", problem, residual, rtol)


def assimulo_radau5(problem, start, residual, rtol):
    """Radau5DAE of Assimulo."""
    return _assimulo("Radau5DAE", problem, residual, rtol)
