"""`python -m tests.benchmarks.structural`: the structural integrators against the half-implicit method, `Bdf` and IDA.

The step or tolerance of every method is the largest tried that meets the same accuracy; below one a ratio speaks for the peer. Times are
the least of several runs that alternate in one process.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import library
from mbdae.registry import find

from .state_space import alternating, available


@dataclass(frozen=True)
class Case:
    """A mechanism, what is compared, and the error that all methods must meet."""

    name: str
    parameters: dict
    t_end: float
    steps: tuple  # from the largest
    goal: float
    error: Callable  # of a solution

    @property
    def title(self):
        """Name and parameters."""
        return " ".join([self.name, *(str(v) for v in self.parameters.values())])


def drift(solution):
    """Largest change of the energy [J]."""
    return float(np.abs(solution.energy - solution.energy[0]).max())


def angles(solution):
    """Largest error of the angles of Andrews' mechanism at the end that its test set prints [rad]."""
    entry = library.entry("andrews")
    known = next(r.values for r in entry.references_for({}) if r.label == "test set, angles")
    end = entry.observe(solution.system, solution.t[-1], *(x[-1] for x in (solution.q, solution.v, solution.a, solution.lam)))
    return max(abs(end[name] - value) for name, value in known.items())


CASES = (
    Case("andrews", {}, 0.03, (4e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6, 5e-7, 2e-7, 1e-7), 1e-4, angles),
    Case("n-four-bar", {"coordinates": "planar"}, 10.0, (2e-2, 1.3e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4), 0.1, drift),
    Case("n-four-bar", {"coordinates": "spatial"}, 10.0, (2e-2, 1.3e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4), 0.1, drift),
    Case("bricard", {}, 10.0, (3e-2, 2e-2, 1.5e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4), 1e-3, drift),
)
OWN = ("NullSpaceNewmark:trapezoidal", "NullSpaceNewmark:fox-goodwin", "NullSpaceGeneralizedAlpha", "NullSpaceHHT",
       "GeneralizedAlpha:stabilised", "GeneralizedAlpha:position")
PEERS = ("HalfImplicit", "Bdf:ggl", "Ida:ggl")
TOLERANCES = tuple(10.0**-k for k in range(2, 11))
NEWTON = 1e-8  # tolerance of the structural methods, relative
REPEATS = 5


def settings(spec, case):
    """`(label of the setting, method, options of solve)` of a method, the cheapest first."""
    if spec.control == "h":
        tol = {} if spec.family.name == "HalfImplicit" else {"tol": NEWTON}
        return [(f"h={h:g}", spec.make(h=h, **tol), {}) for h in case.steps]
    form = {"formulation": spec.formulation} if spec.formulation else {}
    return [(f"rtol={r:g}", spec.make(), {"rtol": r, "atol": r} | form) for r in TOLERANCES]


def cheapest(spec, case, system):
    """The first setting of a method that meets the goal, with its error; `None` if there is none."""
    for label, method, options in settings(spec, case):
        s = mbdae.solve(system, method, (0.0, case.t_end), **options)
        if s.success and case.error(s) <= case.goal:
            return label, method, options, case.error(s)
    return None


def structural(cases=CASES, own=OWN, peers=PEERS, repeats=REPEATS):
    """Steps, microseconds per step and time of all methods at the same accuracy, and times as ratios to the peers."""
    present = available(peers)
    table = Table("mechanism", "method", "setting", "error", "steps", "iterations", "us/step", "ms", *(f"time/{p}" for p in present),
                  title="Structural integrators at the same accuracy: Andrews' angles within 1e-4, drift of the energy below 0.1, 1e-3 J")
    for case in cases:
        system = library.system(case.name, **case.parameters)
        found = {name: cheapest(find(name), case, system) for name in (*own, *present)}
        met = {name: x for name, x in found.items() if x}
        runs = dict(zip(met, alternating([(system, x[1], case.t_end, x[2]) for x in met.values()], repeats)))
        for name in found:
            table.add_row(case.title, name, *_cells(met.get(name), runs.get(name), [runs.get(p) for p in present]))
    return table


def _cells(setting, run, peers):
    if run is None:
        return ["not met"]
    c = run.statistics
    ratios = [f"{c.seconds / p.statistics.seconds:.2f}" if p else "" for p in peers]
    return [setting[0], f"{setting[3]:.1e}", str(c.steps), str(c.newton_iterations or "-"), f"{1e6 * c.seconds / c.steps:.1f}",
            f"{1e3 * c.seconds:.1f}", *ratios]


if __name__ == "__main__":
    Console(width=200).print(structural())
