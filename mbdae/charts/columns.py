"""The columns of the derivatives side by side in threads, each with factors and scratch of its own [Negrut, appendix A]."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..compilation.compiled import unlocked
from ..jacobians.signatures import Array
from ..system.system import System
from ..typing import Integers, Vector
from .derivative import MotionDerivatives, State
from .store import Displaced, Factors, adopt, new_displaced


@unlocked
def _columns(derive: Callable[..., bool], zd: Array, state: State, factors: Factors, displaced: Displaced, first: int, last: int,
             out: MotionDerivatives) -> bool:
    """A share of the columns."""
    return derive(zd, state, factors, displaced, first, last, out)


class _Member(NamedTuple):
    """One thread: copies of the factors, scratch, and its share of the columns."""

    factors: Factors
    displaced: Displaced
    first: int
    last: int

    def adopt(self, factors: Factors) -> None:
        """Copy factors."""
        self.factors.store[:] = factors.store
        self.factors.model[:] = factors.model
        self.factors.work[:] = factors.work


class Team:
    """Threads that share the columns of the derivatives.

    User functions in Python keep the interpreter to themselves, so only compiled ones gain.

    Parameters
    ----------
    system : System
    factors : Factors
        Of the chart.
    P : ndarray, shape (n, nq)
    threads : int
    derive : callable
        One of `pointers.DERIVATIVES`.
    """

    def __init__(self, system: System, factors: Factors, P: Array, threads: int, derive: Any) -> None:
        ends: Integers = np.linspace(0, factors.n, min(threads, factors.n) + 1).astype(np.int64)
        self._derive, self._system = derive, system
        self._members = [_Member(Factors(factors.n, factors.store.copy(), factors.model.copy(), factors.work.copy()),
                                 new_displaced(system, P), int(first), int(last)) for first, last in pairwise(ends)]
        self._pool = ThreadPoolExecutor(max(1, len(self._members) - 1), thread_name_prefix="mbdae")

    def recentre(self, P: Array) -> None:
        """Adopt another chart `z = P q`."""
        for member in self._members:
            adopt(self._system, P, member.displaced.store)

    def evaluate(self, zd: Vector, state: State, factors: Factors, out: MotionDerivatives) -> bool:
        """All columns at the state to which the factors belong, into `out`; whether they are finite."""
        for member in self._members:
            member.adopt(factors)
        others = [self._pool.submit(self._share, member, zd, state, out) for member in self._members[1:]]
        good = self._share(self._members[0], zd, state, out)
        return all([good, *(other.result() for other in others)])

    def _share(self, member: _Member, zd: Vector, state: State, out: MotionDerivatives) -> bool:
        return bool(_columns(self._derive, zd, state, member.factors, member.displaced, member.first, member.last, out))
