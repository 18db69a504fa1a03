"""Errors and work of methods at one kink of a force: `python -m tests.benchmarks.kinks [--count 60] [--output docs/theory/step-size.md]`.

A ball falls onto an elastic floor from many heights, so that the kink lies anywhere in a step. A table in Markdown; with a page, the one in
it is replaced.
"""

import argparse
from pathlib import Path

import numpy as np

import mbdae
from mbdae.registry import find
from tests.test_kinks import CONTACT, ball, error_in_tolerances, fallen

METHODS = ("DormandPrince:8", "DormandPrince:5", "HalfExplicit", "Adams", "RadauIIA", "Bdf:ggl", "RosenbrockNystrom", "SdirkFirstOrder",
           "SdirkSparse", "ProjectedGauss:adaptive", "Spark:adaptive", "SolveIvp:DOP853", "SolveIvp:LSODA", "Cvode:Adams", "Cvode:BDF",
           "Ida:ggl", "Radau13")
RTOL = (1e-5, 1e-7, 1e-9)
HEAD = "| method | " + " | ".join(f"{rtol:.0e}: evaluations, errors" for rtol in RTOL) + " |"


def cell(name: str, rtol: float, count: int) -> str:
    """Evaluations on average; median, 98 % and largest errors in tolerances."""
    spec, errors, work = find(name), [], 0
    for height in np.linspace(0.2, 0.7, count):
        found = mbdae.solve(ball(height), spec.make(), (0.0, fallen(height)[0] + CONTACT), formulation=spec.formulation, rtol=rtol,
                            atol=rtol / 100.0)
        if not found.success:
            return found.status.name
        errors.append(error_in_tolerances(found, height, rtol))
        work += found.statistics.residuals or 0
    return f"{work / count:.0f}; " + ", ".join(f"{x:.2g}" for x in np.quantile(errors, (0.5, 0.98, 1.0)))


def table(count: int) -> str:
    """All methods that are installed."""
    rows = [HEAD, "| --- |" + " --- |" * len(RTOL)]
    for name in METHODS:
        spec = find(name)
        available = spec.family.availability()
        if available is None or available.installed:
            rows.append(f"| {spec.label} | " + " | ".join(cell(name, rtol, count) for rtol in RTOL) + " |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """The table."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=60, help="heights")
    p.add_argument("--output", type=Path, help="page whose table is replaced")
    arguments = p.parse_args()
    text = table(arguments.count)
    if arguments.output is None:
        print(text)
        return
    before, _, rest = arguments.output.read_text(encoding="utf-8").partition(HEAD)
    _, _, after = rest.partition("\n\n")
    arguments.output.write_text(before + text + "\n" + after, encoding="utf-8")


if __name__ == "__main__":
    main()
