"""The method for stiff equations, chosen by their size and the tolerance, and what its steps have to be worth."""

from typing import NamedTuple, TypeAlias

from ...system.system import System
from ..bdf import Bdf
from ..radau.methods import MAX_SHARE, RadauIIA
from ..state_space.methods import RosenbrockNystrom

Implicit: TypeAlias = RadauIIA | RosenbrockNystrom | Bdf

FEW_UNKNOWNS = 60  # of the GGL form, up to which RadauIIA is taken: with more its matrices cost as much as ten explicit steps and more
SEVERAL_FREEDOMS = 20  # from which on the derivatives of RosenbrockNystrom, by a solution for each one, cost as much as four explicit steps
MANY_FREEDOMS = 40  # from which on eigenvalues are too expensive, too
FINE = 1e-6  # rtol below which the steps of RosenbrockNystrom, of order 4, are too short
FINEST = 1e-12  # of what RadauIIA gets for rtol, near rounding
KINKED = 20.0  # see `own_rtol`


class Review(NamedTuple):
    """When a method is compared with the explicit one.

    Attributes
    ----------
    every : int
        Steps between two reviews.
    gain : float
        Ratio of the steps to those of the explicit method below which they do not pay, roughly that of the costs of a step.
    first : bool
        Whether the steps before the first review count; those of a variable order are short until it has risen.
    """

    every: int
    gain: float
    first: bool = False


REVIEWS: dict[type, Review] = {RadauIIA: Review(25, 4.0), RosenbrockNystrom: Review(100, 2.0, True), Bdf: Review(100, 1.5)}
REVIEW_LARGE = Review(100, 4.0, True)  # of BDF where the equations are large, against steps that were taken, not those that are stable


def unknowns(system: System) -> int:
    """Those of the GGL form: positions, velocities, and two multipliers for each constraint."""
    return int(system.nq + system.nv + 2 * system.nc)


def is_large(system: System) -> bool:
    """Whether there are too many degrees of freedom for eigenvalues of the motion."""
    return bool(system.freedom >= MANY_FREEDOMS)


def for_stiff(system: System, rtol: float) -> Implicit:
    """The implicit method with the least time for an error, as measured on the library."""
    if unknowns(system) <= FEW_UNKNOWNS:
        return RadauIIA()
    return Bdf() if system.freedom >= SEVERAL_FREEDOMS or rtol < FINE else RosenbrockNystrom()


def review_of(method: Implicit, system: System) -> Review:
    """When the method is reviewed, and what its steps are worth."""
    return REVIEW_LARGE if is_large(system) else REVIEWS[type(method)]


def own_rtol(method: object, rtol: float) -> float:
    """The `rtol` that a method gets, so that errors stay below a hundred tolerances where forces have kinks.

    RadauIIA keeps its error estimates below `0.1 rtol^(2/3)`, at most 20 tolerances, as errors are of a higher order. At a kink they are
    not, but as large as the estimates. Here these are kept below twice the tolerance, which costs few steps more, since their number
    hardly depends on it.
    """
    if not isinstance(method, RadauIIA):
        return rtol
    return float(min(rtol, max((KINKED * rtol) ** 1.5, 0.1 * KINKED / MAX_SHARE * rtol, FINEST)))
