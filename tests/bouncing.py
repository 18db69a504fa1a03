"""Fifty impacts of a double pendulum by one method after the other.

`python -m tests.bouncing` prints the table of docs/events.md and the line below it.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

import mbdae
from mbdae.driver.method import Method
from mbdae.registry import find

from .impact_cases import minimal_impacts, two_rods, violation, wall

RESTITUTION, IMPACTS, T_END = 0.99, 50, 20.0
TOLERANCES = (1e-9, 1e-11, 1e-13, 3e-14)  # rtol = atol; the last one is about the least that SciPy takes
ACCURATE = 1e-9  # [s], of the times at the last of the tolerances
METHODS = ("Automatic", "DormandPrince", "RadauIIA", "RosenbrockNystrom", "HalfExplicit", "Adams", "Bdf", "Bdf:index1", "SolveIvp:DOP853",
           "Cvode", "Ida", "Ida:ggl", "Ida:index1", "Assimulo:Radau5DAE", "Assimulo:Radau5DAE:index1")
FIRST = 10  # impacts, before the errors of their times have grown
STEP = 1e-4  # [s], of the method of first order


class Bounces(NamedTuple):
    """A run, the largest error of the times of its impacts, and the largest violation of the constraints after them."""

    run: mbdae.Solution
    error: float
    constraints: float


@cache
def exact(impacts: int = IMPACTS) -> tuple[float, ...]:
    """Times of the impacts in minimal coordinates."""
    return tuple(minimal_impacts(RESTITUTION, impacts))


def bounces(method: Method, formulation: str | None = None, impacts: int = IMPACTS, **tolerances: float) -> Bounces:
    """The run by a method."""
    system = two_rods()
    run = mbdae.solve(system, method, (0.0, T_END), formulation=formulation, events=wall(RESTITUTION, terminal=impacts), **tolerances)
    assert run.success and len(run.jumps) == impacts, run.message
    return Bounces(run, float(np.abs(run.t_events[0] - exact(impacts)).max()), violation(system, run.jumps))


def by_name(name: str, tolerance: float) -> Bounces:
    """The run by a method of the registry, in the form of its name or its preferred one."""
    spec = find(name)
    return bounces(spec.make(), spec.formulation, rtol=tolerance, atol=tolerance)


def is_installed(name: str) -> bool:
    """Whether the package of a method is there."""
    found = find(name).family.availability()
    return found is None or found.installed


def _label(name: str, run: mbdae.Solution) -> str:
    return f"{name.removesuffix(':' + str(run.formulation)).replace(':', ' ')}, {run.formulation}"


def _cells(name: str) -> Sequence[str]:
    found = [by_name(name, tolerance) for tolerance in TOLERANCES]
    return _label(name, found[-1].run), *(f"{x.error:.1e}" for x in found), *_common(found)


def _common(found: Sequence[Bounces]) -> Sequence[str]:
    """The worst violation of the constraints, and the steps of the last run."""
    return f"{max(x.constraints for x in found):.0e}", str(found[-1].run.statistics.steps)


def first_order() -> str:
    """The method of first order, in words."""
    found = bounces(mbdae.HalfImplicit(h=STEP))
    first = np.abs(found.run.t_events[0] - exact())[:FIRST].max()
    steps = found.run.statistics.steps
    return f"`HalfImplicit` with `h = {STEP:g}` s: {found.error:.1e} s, {first:.1e} s in the first {FIRST}, {steps} steps."


def table() -> str:
    """In Markdown."""
    titles = ("method, form", *(f"times at {x:.0e} [s]".replace("e-0", "e-") for x in TOLERANCES), "constraints", "steps")
    rows = [titles, ("---",) * len(titles), *map(_cells, filter(is_installed, METHODS))]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    print(table(), first_order(), sep="\n\n")
