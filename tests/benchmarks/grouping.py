"""Groups of columns, on every mechanism of the library in every formulation and on long chains, against SciPy's.

Run it by itself, `python -m tests.benchmarks.grouping`: it is a long list. SciPy takes the columns in a random order, seed 0 by default.
"""

import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize._numdiff import group_columns

from mbdae import library
from mbdae.jacobians.grouping import check_groups, column_groups
from mbdae.problems import FORMULATIONS

from ..grouping_patterns import mass_chain, multipliers

ORDERS = ("natural", "largest-first", "smallest-last", "incidence-degree")
SEEDS, REPEATS = 20, 15
HEAD = ("n", "entries", "bound", "best", *ORDERS, "SciPy", f"SciPy, best of {SEEDS}")


def counts(pattern, known=None):
    """`(best, cells)`: the `Grouping`, and a row of a table."""
    best = column_groups(pattern, known_columns=known)
    check_groups(pattern, best.groups, known)
    own = [column_groups(pattern, order, known).count for order in ORDERS]
    scipy = [groups.max() + 1 for groups in by_scipy(pattern if known is None else pattern[:, ~known])]
    n = pattern.shape[1] - (0 if known is None else int(known.sum()))
    return best, (n, pattern.nnz, best.lower_bound, best.count, *own, scipy[0], min(scipy))


def by_scipy(pattern):
    """Groups by SciPy for all seeds."""
    return [group_columns(pattern, order) for order in range(SEEDS)]


def problems():
    """All problems of the library, `(label, problem)`."""
    for name in library.names():
        for parameters in ({}, *library.entry(name).variants):
            system = library.system(name, **parameters)
            label = ", ".join((name, *(f"{k} {v}" for k, v in parameters.items())))
            for form in FORMULATIONS:
                yield label, FORMULATIONS[form](system)


def mechanisms():
    """Every mechanism in every formulation, and a summary; equal patterns of a mechanism with other parameters are left out."""
    table = Table("mechanism", "formulation", *HEAD, title="Groups of columns; +: lam and mu known")
    seen, results = set(), []
    for label, problem in problems():
        pattern, functions = problem.pattern, problem.system.mechanism is None
        key = (label.split(",")[0], problem.formulation, pattern.shape, pattern.indptr.tobytes(), pattern.indices.tobytes())
        if key in seen:
            continue
        seen.add(key)
        for known in (None, multipliers(problem)) if problem.formulation in ("ggl", "index3") else (None,):
            best, cells = counts(pattern, known)
            results.append((functions, best, cells))
            table.add_row(label, problem.formulation + (" +" if known is not None else ""), *map(str, cells))
    return table, summary(results)


def summary(results):
    """How often the bound is met and SciPy's groups are fewer or more."""
    table = Table("patterns", "number", "bound met", "fewer groups than SciPy", "more", "fewer than its best", "more",
                  *(f"{order} alone meets the bound" for order in ORDERS), title="Summary")
    for title, chosen in (("all", results), ("bodies and joints", [r for r in results if not r[0]]),
                          ("equations without bodies, mostly dense", [r for r in results if r[0]])):
        cells = np.array([r[2] for r in chosen])
        bound, best, scipy, scipy_best = cells[:, 2], cells[:, 3], cells[:, 8], cells[:, 9]
        shares = [(bound == best).mean(), *((bound == cells[:, 4 + k]).mean() for k in range(len(ORDERS)))]
        numbers = [(best < scipy).sum(), (best > scipy).sum(), (best < scipy_best).sum(), (best > scipy_best).sum()]
        table.add_row(title, str(len(chosen)), f"{shares[0]:.1%}", *map(str, numbers), *(f"{s:.1%}" for s in shares[1:]))
    return table


def chains():
    """Long chains in GGL form, with and without the columns of lam and mu."""
    table = Table("chain", *HEAD, title="GGL chains; +: lam and mu known")
    for title, pattern, known in _chains():
        for mask in (None, known):
            table.add_row(title + (" +" if mask is not None else ""), *map(str, counts(pattern, mask)[1]))
    return table


def _chains():
    for count in (16, 64, 333):
        yield f"{count} point masses in the plane", mass_chain(count), np.arange(6 * count) >= 4 * count
    for joints, lengths in (("planar", (9, 38, 200)), ("spherical", (16, 105)), ("revolute", (16, 87))):
        for links in lengths:
            problem = FORMULATIONS["ggl"](library.system("chain", links=links, joints=joints))
            yield f"{links} links, {joints} joints", problem.pattern, multipliers(problem)


def speed():
    """Milliseconds for patterns of 2000 unknowns."""
    table = Table("chain", "n", "entries", "best [ms]", *(f"{order} [ms]" for order in ORDERS), "SciPy, one seed [ms]", "best / SciPy",
                  title="GGL chains, processor time of calls from Python, medians")
    for title, pattern, _ in _chains():
        if pattern.shape[1] > 1900:
            own = [_milliseconds(lambda p=pattern, o=order: column_groups(p, o)) for order in ("best", *ORDERS)]
            scipy = _milliseconds(lambda p=pattern: group_columns(p))
            table.add_row(title, str(pattern.shape[1]), str(pattern.nnz), *(f"{x:.2f}" for x in (*own, scipy)), f"{own[0] / scipy:.1f}")
    return table


def _milliseconds(function):
    def once():
        begin = time.process_time()  # what others do meanwhile does not count
        function()
        return 1e3 * (time.process_time() - begin)

    once()
    return statistics.median(once() for _ in range(REPEATS))


def main():
    """Print all tables."""
    console = Console(width=170)
    for table in (*mechanisms(), chains(), speed()):
        console.print(table)


if __name__ == "__main__":
    main()
