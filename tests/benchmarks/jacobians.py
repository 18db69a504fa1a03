"""Jacobians by difference quotients in IDA: residual calls and wall time of the ways to get them, side by side on one chain."""

import statistics

import numpy as np
from rich.table import Table

import mbdae
from mbdae import library
from mbdae.adapters.sundae import Ida

REPEATS = 5
# (label, method): IDA's own quotients column by column and in its own groups, and the strategies
WAYS = (("IDA's own, dense", {"jacobian": "difference", "linsolver": "dense"}), ("IDA's own, sparse", {"jacobian": "difference"}),
        *((name, {"jacobian": name}) for name in ("dense", "grouped", "grouped:partitioned", "exact", "exact:partitioned")))
# (end of the run, atol, first step): IDA's dense quotients need about 9000 calls in the first two
SETTINGS = ((0.5, 1e-6, 1e-3), (0.3, 1e-8, 1e-3), (0.3, 1e-8, 0.0), (1.0, 1e-8, 0.0))


def chain_jacobians():
    """Planar chain of 64 links in GGL form (640 unknowns), rtol = 1e-6: calls, error and time of each way."""
    table = Table("t [s]", "atol", "h0", "Jacobian", "steps", "calls", "for Jacobians", "total", "Jacobians", "updates", "error", "ms",
                  "time / sparse", title="GGL planar chain of 64 links, 640 unknowns, IDA through scikit-sundae, rtol = 1e-6")
    problem = mbdae.GGL(library.system("chain", links=64, joints="planar"))
    for t, atol, h in SETTINGS:
        end = mbdae.solve(problem, Ida(), (0.0, t), rtol=1e-10, atol=1e-12, t_eval=[t]).q[0]
        rows = _interleaved(problem, t, atol, h)
        own = rows["IDA's own, sparse"][1]
        for label, (x, seconds) in rows.items():
            s = x.statistics
            table.add_row(f"{t:g}", f"{atol:g}", f"{h:g}", label, str(s.steps), str(s.residuals), str(s.residuals_jacobian),
                          str(s.residuals + s.residuals_jacobian), str(s.jacobians), str(s.partitioned_updates or ""),
                          f"{np.abs(x.q[0] - end).max():.1e}", f"{1e3 * seconds:.1f}", f"{seconds / own:.2f}")
        table.add_section()
    return table


def _interleaved(problem, t, atol, h):
    """One solution and the median time of each way, taken in turn."""
    methods = {label: Ida(first_step=h, **options) for label, options in WAYS}
    runs = {label: [] for label in methods}
    for _ in range(REPEATS):
        for label, method in methods.items():
            runs[label].append(mbdae.solve(problem, method, (0.0, t), rtol=1e-6, atol=atol, t_eval=[t]))
    return {label: (xs[0], statistics.median(x.statistics.seconds for x in xs)) for label, xs in runs.items()}
