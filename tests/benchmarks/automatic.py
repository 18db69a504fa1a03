"""`python -m tests.benchmarks.automatic [--only NAME ...]`: the automatic choice beside single methods, in Markdown.

CPU time of a whole call of `solve` with `Automatic`, the least of three, over that of the fastest single method whose error is at most ten
times as large, or ten tolerances; errors of the positions at eleven times, in units of `atol + rtol |q|` with `atol = rtol / 100`.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np

import mbdae
from mbdae import library

METHODS = (mbdae.DormandPrince(max_steps=100_000), mbdae.RadauIIA(), mbdae.RosenbrockNystrom(), mbdae.Bdf(), mbdae.Ida(),
           mbdae.Cvode(max_steps=100_000), mbdae.SolveIvp("DOP853"))
SPANS = {"double-pendulum": 2.0, "double-spherical-pendulum": 2.0, "stiff-double-pendulum": 0.5, "pendulum-chain": 0.5,
         "slider-crank": 1.0, "slider-crank-free": 1.0, "flexible-slider-crank": 0.05, "four-link": 1.0, "spatial-four-bar": 1.0,
         "bricard": 2.0, "andrews": 0.03,
         "flyball-governor": 0.5, "heavy-top": 0.5, "closed-loop-bars": 0.5, "fekete": 2.0, "car-axis": 1.0, "truck": 1.0, "hmmwv": 0.5,
         "iltis": 0.2, "stewart-platform": 1.0, "chain": 1.0, "tree": 0.5, "random-tree": 0.2, "ring": 0.5, "rail-carriage": 0.02,
         "passenger-car": 0.05}
TOLERANCES = 1e-4, 1e-6
REPEATS = 3


def timed(system, method, span, rtol, times):
    """The solution and its least CPU time of some runs; `None` where the method refuses the mechanism or fails."""
    best, run = np.inf, None
    try:
        for _ in range(REPEATS):
            begin = time.process_time()
            run = mbdae.solve(system, method, span, rtol=rtol, atol=1e-2 * rtol, t_eval=times)
            if not run.success:
                return None
            best = min(best, time.process_time() - begin)
            if best > 1.0:
                break
    except ValueError:
        return None
    return run, best


def reference(system, span, times):
    """Positions at the times by the first method that gets there at a tight tolerance."""
    for method in (mbdae.DormandPrince(max_steps=200_000), mbdae.SdirkFirstOrder(max_steps=200_000), mbdae.Bdf()):
        try:
            run = mbdae.solve(system, method, span, rtol=1e-10, atol=1e-12, t_eval=times)
        except ValueError:
            continue
        if run.success:
            return run.q
    raise ArithmeticError(f"no reference for {system.name}")


def error(run, exact, rtol):
    """The largest error in tolerances."""
    return float(np.max(np.abs(run.q - exact) / (1e-2 * rtol + rtol * np.abs(exact))))


def chosen(run):
    """The methods of a run, or how often it has changed between two of them."""
    parts = run.method.removeprefix("Automatic: ").split(", from t = ")
    if len(parts) > 3:
        return f"{parts[0]}, {len(parts) - 1} changes"
    return ", then ".join([parts[0], *(part.partition(" ")[2] for part in parts[1:])])


def rows(name: str) -> Iterator[str]:
    """The lines of a mechanism, one for each tolerance."""
    system, span = library.system(name), (0.0, SPANS[name])
    times = np.linspace(*span, 11)
    exact = reference(system, span, times)
    for rtol in TOLERANCES:
        own = timed(system, mbdae.Automatic(), span, rtol, times)
        if own is None:
            yield f"| {name} | {system.freedom} | {rtol:.0e} | failed | | | | | |"
            continue
        run, seconds = own
        found = {}
        for method in METHODS:
            made = timed(system, method, span, rtol, times)
            if made is not None:
                found[method.label] = made[1], error(made[0], exact, rtol)
        limit = max(10.0, 10.0 * error(run, exact, rtol))
        good = {label: x for label, x in found.items() if x[1] <= limit} or found
        best = min(good, key=lambda label: good[label][0])
        yield (f"| {name} | {system.freedom} | {rtol:.0e} | {chosen(run)} | {1e3 * seconds:.3g} | "
               f"{best}, {1e3 * good[best][0]:.3g} | {seconds / good[best][0]:.2f} | {error(run, exact, rtol):.2g} | {good[best][1]:.2g} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(SPANS))
    print("| mechanism | dof | rtol | chosen | CPU [ms] | best single method, CPU [ms] | ratio | error | error of the best |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in parser.parse_args().only:
        try:
            for line in rows(name):
                print(line, flush=True)
        except (ArithmeticError, ValueError) as fault:
            print(f"| {name} | {fault} |", flush=True)


if __name__ == "__main__":
    main()
