"""Table 30: SDIRK4/15 on the stiff vehicle with analytic and with numeric derivatives, tolerance 1e-3.

`analytic` has the complex step along 36 directions and the linear equations of appendix A. `numeric` differentiates the whole evaluation
of the accelerations 36 times, position iteration and factorisation included, as the thesis does, but by complex step: there are no real
differences of the whole. `numeric, forces` has forward differences in the place of the complex step of `analytic`, and its equations.
"""

from dataclasses import replace

import common_vehicle as common

from mbdae.cli.scripts import output_folder, show
from mbdae.studies import write_csv

K = -3
KINDS = {"analytic": "exact", "numeric": "complex", "numeric, forces": "difference"}


def study(lengths=common.LENGTHS, repeats=3):
    """Rows: `Cost` of every kind of derivatives and length."""
    rows = []
    for kind, jacobian in KINDS.items():
        method = replace(common.METHODS["ForSDIRK"], jacobian=jacobian)
        for n in lengths:
            runs = [common.motion(method, K, n) for _ in range(repeats)]
            rows.append(replace(common.summary(kind, K, n, runs), published=_published(kind, n)))
    return rows


def _published(kind, length):
    times = common.TABLE_30.get(kind)
    return times[common.LENGTHS.index(length)] if times and length in common.LENGTHS else None


def report(rows):
    """Print times, ours and published, and both relative to those with analytic derivatives."""
    exact = {r.length: r for r in rows if r.method == "analytic"}
    show([_cells(r, exact[r.length]) for r in rows],
         ("derivatives", "length", "ours [ms]", "thesis [s]", "ratio", "/ analytic", "thesis", "steps", "Jacobians", "error / 10^k"))


def _cells(r, exact):
    theirs = (f"{r.published:g}", f"{r.published / r.seconds:.0f}") if r.published else (None, None)
    return (r.method, f"{r.length:g} s", f"{1e3 * r.seconds:.4g}", *theirs, f"{r.seconds / exact.seconds:.2f}",
            f"{r.published / exact.published:.2f}" if r.published else None, r.steps, r.jacobians, f"{r.error / 10.0**r.k:.2g}")


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    print(f"  {common.STAND_IN}")
    rows = study(**settings)
    report(rows)
    write_csv(output / "table30.csv", rows)
    exact, last = {r.length: r for r in rows if r.method == "analytic"}, max(r.length for r in rows)
    write_csv(output / "table30_ratios.csv", [
        {"derivatives": r.method, "length": r.length, "ratio": r.seconds / exact[r.length].seconds,
         "published": r.published / exact[r.length].published if r.published else None} for r in rows if r.method != "analytic"])
    found = {r.method: r for r in rows if r.length == last}
    told = ", ".join(f"{kind} {found[kind].seconds / exact[last].seconds:.2f}" for kind in KINDS if kind != "analytic")
    return f"time / analytic over {last} s: {told} (published {found['numeric'].published / exact[last].published:.2f})"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
