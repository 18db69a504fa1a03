"""Rates of the linearised motion: how fast its fastest component is, and how fast the motion itself changes."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from ..problems.state_space import StateSpace
from ..results.diagnosis import ChartError
from ..system.assembly import State
from ..system.system import System
from ..typing import Matrix

ALL_EIGENVALUES = 500  # columns of a matrix up to which all its eigenvalues are computed


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
        return Rates(_spectral_radius(G), change / size if size > 0.0 else np.inf)


def _spectral_radius(G: Matrix) -> float:
    """The largest modulus of the eigenvalues."""
    if len(G) > ALL_EIGENVALUES:
        try:
            return float(np.abs(eigs(G, k=1, return_eigenvectors=False)).max())
        except ArpackNoConvergence:
            pass
    return float(np.abs(np.linalg.eigvals(G)).max())
