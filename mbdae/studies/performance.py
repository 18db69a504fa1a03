"""Performance profiles: what an accuracy costs a method, and how often its cost is within a factor of the least one.

E. D. Dolan, J. J. More: Benchmarking optimization software with performance profiles. Math. Program. 91 (2002) 201-213.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, isfinite, log
from typing import TypeVar

P = TypeVar("P", bound=Hashable)  # a problem


def cost_of_accuracy(errors: Sequence[float | None], costs: Sequence[float | None], accuracy: float) -> float:
    """The least cost at which a method has an error of at most `accuracy`.

    Parameters
    ----------
    errors, costs : sequence of float or None
        Of runs in the order of their tolerances, the loosest first; `None` for runs that failed.
    accuracy : float

    Returns
    -------
    float
        That of the cheapest run with such an error, or less where the errors of two successive tolerances lie on both sides of it: then the
        logarithm of the cost is interpolated linearly over that of the error. Infinite if no run has such an error; a method that is more
        accurate at its loosest tolerance costs what that run did.

    Examples
    --------
    >>> round(cost_of_accuracy([1e-2, 1e-4], [1.0, 4.0], 1e-3), 6)
    2.0
    """
    runs = [(e, c) if e is not None and c is not None else None for e, c in zip(errors, costs, strict=True)]
    least = min((c for e, c in filter(None, runs) if e <= accuracy), default=inf)
    for loose, tight in pairwise(runs):
        if loose is not None and tight is not None and loose[0] > accuracy >= tight[0] > 0.0:
            least = min(least, _between(*loose, *tight, accuracy))
    return least


def _between(error0: float, cost0: float, error1: float, cost1: float, accuracy: float) -> float:
    """The cost at `accuracy` on the line through two points in logarithmic scales."""
    share = log(error0 / accuracy) / log(error0 / error1)
    return exp((1.0 - share) * log(cost0) + share * log(cost1))


@dataclass(frozen=True)
class PerformanceProfile:
    """Shares of problems that methods solve within a factor of the least cost.

    Attributes
    ----------
    ratios : dict of str to tuple of float
        For each method its cost over the least one, for all problems that some method solves, in ascending order; infinite where it
        does not solve one.
    """

    ratios: Mapping[str, tuple[float, ...]]

    def share(self, method: str, factor: float) -> float:
        """The share of problems whose ratio is at most `factor`: the profile of Dolan and More."""
        ratios = self.ratios[method]
        return sum(r <= factor for r in ratios) / len(ratios) if ratios else 0.0

    def steps(self, method: str, most: float) -> tuple[list[float], list[float]]:
        """Factors from 1 to `most` at which the share changes, and the shares, for a figure with steps."""
        ratios = [r for r in self.ratios[method] if r <= most]
        factors = [1.0, *ratios, most]
        return factors, [self.share(method, factor) for factor in factors]


def performance_profile(costs: Mapping[P, Mapping[str, float]]) -> PerformanceProfile:
    """The profile of costs.

    Parameters
    ----------
    costs : dict of dict of float
        Problem -> method -> cost, infinite where the method does not solve it; a method that is missing does not either.

    Returns
    -------
    PerformanceProfile
        Problems that no method solves are left out.

    Examples
    --------
    >>> profile = performance_profile({"a": {"m": 1.0, "n": 2.0}, "b": {"m": 3.0}})
    >>> profile.share("m", 1.0), profile.share("n", 2.0)
    (1.0, 0.5)
    """
    methods = dict.fromkeys(method for row in costs.values() for method in row)
    solved = [row for row in costs.values() if any(map(isfinite, row.values()))]
    least = [min(row.values()) for row in solved]
    return PerformanceProfile({m: tuple(sorted(row.get(m, inf) / c for row, c in zip(solved, least))) for m in methods})
