"""Rates of the linearised motion: how fast its fastest component is, and how fast the motion itself changes."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...problems.state_space import StateSpace
from ...results.diagnosis import ChartError
from ...system.assembly import State
from ...system.system import System

RATIO = 100.0  # of the fastest component to the motion, from which on the equations count as stiff
MANY_STEPS = 1000  # of an explicit method that stability would take in the time span that is left, below which the choice does not matter
BOUNDARY = 6.0  # |h lambda| at the boundary of the region of stability of the explicit formulas, roughly


class Rates(NamedTuple):
    """At a state, [1/s].

    Attributes
    ----------
    fastest : float
        The largest modulus of the eigenvalues.
    motion : float
        `|z'''| / |z''|` in independent coordinates `z`; infinite at rest in equilibrium, where it is not known.
    """

    fastest: float
    motion: float


class LinearisedMotion:
    """The equations of motion in independent coordinates, linearised about states of a run."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def _problem(self) -> StateSpace:
        return StateSpace(self.system, "tangent")

    def rates(self, state: State) -> Rates | None:
        """`Rates` at a state; `None` where the linearised equations cannot be had."""
        try:
            problem = self._problem
            y, yd = problem.pack(state)
            G = problem.rhs_jacobian(state.t, y)
        except (ChartError, FloatingPointError):
            return None
        if not np.isfinite(G).all():
            return None
        n = problem.dof
        size, change = (float(np.linalg.norm(x[n:])) for x in (yd, G @ yd))
        return Rates(float(np.abs(np.linalg.eigvals(G)).max()), change / size if size > 0.0 else np.inf)


def may_be_stiff(steps: float) -> bool:
    """Whether equations can be stiff of which the explicit method takes so many more steps at their present size.

    In stiff ones stability soon limits the size, so that there are at least `MANY_STEPS`, and rates, which take as long as fifty steps,
    need not be evaluated where there are fewer.
    """
    return steps > 0.5 * MANY_STEPS


def is_stiff(found: Rates, span: float) -> bool:
    """Whether stability would limit the steps of an explicit method far more than the motion does."""
    return found.fastest * span > MANY_STEPS * BOUNDARY and found.fastest > RATIO * max(found.motion, 1.0 / span)
