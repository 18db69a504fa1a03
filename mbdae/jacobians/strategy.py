"""Strategies for the Jacobian of a solver, for every solver that takes one."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, get_args

import numpy as np

from .partitioned import PartitionedJacobian
from .signatures import Differentiable
from .sources import Dense, Estimated, Exact, Grouped, Source

SOURCES: dict[str, Callable[..., Source]] = {"exact": Exact, "dense": Dense, "grouped": Grouped, "estimated": Estimated}
UPDATES = ("plain", "partitioned", "extended")
SCHEMES = ("forward", "central")


class Strategy(Protocol):
    """A strategy as adapters and integrators use it: a small frozen configuration object.

    `label` names it in tables; `bind(problem)` returns a `PartitionedJacobian` for one run, or an object with its methods and counters.
    """

    @property
    def label(self) -> str: ...

    def bind(self, problem: Differentiable) -> PartitionedJacobian: ...


@dataclass(frozen=True)
class JacobianStrategy:
    """The evaluation of `F_y + c F_yd`, and its update when only `c` has changed.

    Parameters
    ----------
    source : {"grouped", "dense", "estimated", "exact"}
        Difference quotients along groups of columns in the structural pattern; one column at a time [Arnold, eq. (16)]; along groups
        in a pattern that is estimated and grows [Arnold, section 3.1]; or the complex step.
    update : {"plain", "partitioned", "extended"}
        Evaluation each time; `F_y` reused while only `c` has changed [Arnold, eqs. (24), (25)]; and this with the change of `F_y` by the
        excitations of the system [Arnold, eq. (26)].
    scheme : {"forward", "central"}
        Difference quotients.
    floor : float
        Smallest `|y|` for the increments `max(|y|, floor) sqrt(eps)`. [Arnold, eq. (17)] has `eps**(1/4)`, 1.2e-4, which leaves four
        digits of a derivative at zero; a hundredth of a metre, radian or newton leaves six.
    known : bool, optional
        Take known entries of `F_y` and `F_yd` from the mass matrix and the constraint Jacobian instead of difference quotients; by default
        for all sources except `"dense"`.

    Examples
    --------
    >>> JacobianStrategy("grouped", "partitioned").label
    'grouped, partitioned'
    >>> as_strategy("estimated:extended")
    JacobianStrategy(source='estimated', update='extended', scheme='forward', known=True, floor=0.01)
    """

    source: str = "grouped"
    update: str = "plain"
    scheme: str = "forward"
    known: bool | None = None
    floor: float = 1e-2

    def __post_init__(self) -> None:
        for field, possible in (("source", SOURCES), ("update", UPDATES), ("scheme", SCHEMES)):
            if getattr(self, field) not in possible:
                raise ValueError(f"JacobianStrategy: {field} must be one of {', '.join(possible)}, got {getattr(self, field)!r}")
        scalar = bool(np.isscalar(self.floor))
        if not (scalar and np.isfinite(self.floor) and self.floor > 0.0):
            raise ValueError(f"JacobianStrategy: floor must be positive and finite, got {self.floor!r}")
        if self.known is None:
            object.__setattr__(self, "known", self.source != "dense")

    @property
    def label(self) -> str:
        """For tables and legends."""
        parts = [self.source] + [x for x in (self.update, self.scheme) if x not in ("plain", "forward")]
        return ", ".join(parts)

    def bind(self, problem: Differentiable) -> PartitionedJacobian:
        """The Jacobian of one run, with its own counters."""
        known = bool(self.known)
        return PartitionedJacobian(problem, SOURCES[self.source](problem, self.scheme, known, self.floor), self.update, known)


def as_strategy(jacobian: Any, owner: str = "jacobian") -> Strategy | None:
    """A strategy from its name, a source and optionally an update (`"grouped:partitioned"`); strategies are returned as they are.

    `None` for `"difference"`, the solver's own difference quotients.
    """
    if hasattr(jacobian, "bind"):
        strategy: Strategy = jacobian
        return strategy
    source, _, update = jacobian.partition(":") if isinstance(jacobian, str) else ("", "", "")
    if jacobian == "difference":
        return None
    if source not in SOURCES or (update or "plain") not in UPDATES:
        names = ", ".join(repr(name) for name in SOURCES)
        raise ValueError(f"{owner}: jacobian must be {names}, optionally followed by ':partitioned' or ':extended', 'difference' "
                         f"for the solver's own difference quotients, or a strategy, got {jacobian!r}")
    return JacobianStrategy(source, update or "plain")


def takes_strategies(method: Any) -> bool:
    """Whether a method or its class has a field `jacobian` that takes strategies."""
    return any(f.name == "jacobian" and Strategy in get_args(f.type) for f in fields(method))


def labelled(name: str, jacobian: Any) -> str:
    """The name of a solver with that of its strategy, which is omitted for the exact Jacobian."""
    strategy = as_strategy(jacobian)
    label = "difference" if strategy is None else strategy.label
    return name if label == "exact" else f"{name}, {label} Jacobian"
