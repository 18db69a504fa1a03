"""How a solver gets its Jacobian: strategies to choose from, as plug-ins for every solver that takes one."""

from dataclasses import dataclass, fields
from typing import Protocol, get_args

import numpy as np

from .partitioned import PartitionedJacobian
from .sources import Dense, Estimated, Exact, Grouped

SOURCES = {"exact": Exact, "dense": Dense, "grouped": Grouped, "estimated": Estimated}
UPDATES = ("plain", "partitioned", "extended")
SCHEMES = ("forward", "central")


class Strategy(Protocol):
    """What adapters and integrators ask for: a small frozen configuration object.

    `label` names it in tables; `bind(problem)` returns what is evaluated during one run, a `PartitionedJacobian` or an object with its
    methods and counters.
    """

    label: str

    def bind(self, problem): ...


@dataclass(frozen=True)
class JacobianStrategy:
    """Where `F_y + c F_yd` comes from, and what is done when only `c` has changed.

    Parameters
    ----------
    source : {"grouped", "dense", "estimated", "exact"}
        Difference quotients along groups of columns in the structural pattern; one column at a time [Arnold, eq. (16)]; along groups
        in a pattern that is estimated and grows [Arnold, section 3.1]; or the complex step.
    update : {"plain", "partitioned", "extended"}
        Everything anew each time; `F_y` kept as long as the solver asks because of `c` alone [Arnold, eqs. (24), (25)]; and this with
        what the excitations of the system change [Arnold, eq. (26)].
    scheme : {"forward", "central"}
        Difference quotients.
    floor : float
        Smallest `|y|` for the increments `max(|y|, floor) sqrt(eps)`. [Arnold, eq. (17)] has `eps**(1/4)`, 1.2e-4, which leaves four
        digits of a derivative at zero; a hundredth of a metre, radian or newton leaves six.
    known : bool, optional
        Take what is known of `F_y` and `F_yd` from the mass matrix and the constraint Jacobian instead of differencing it; by default
        for all sources but `"dense"`.

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

    def __post_init__(self):
        for field, possible in (("source", SOURCES), ("update", UPDATES), ("scheme", SCHEMES)):
            if getattr(self, field) not in possible:
                raise ValueError(f"JacobianStrategy: {field} must be one of {', '.join(possible)}, got {getattr(self, field)!r}")
        if not (np.isscalar(self.floor) and np.isfinite(self.floor) and self.floor > 0):
            raise ValueError(f"JacobianStrategy: floor must be positive and finite, got {self.floor!r}")
        if self.known is None:
            object.__setattr__(self, "known", self.source != "dense")

    @property
    def label(self):
        """For tables and legends."""
        parts = [self.source] + [x for x in (self.update, self.scheme) if x not in ("plain", "forward")]
        return ", ".join(parts)

    def bind(self, problem):
        """What is evaluated during one run, with its own counters."""
        return PartitionedJacobian(problem, SOURCES[self.source](problem, self.scheme, self.known, self.floor), self.update, self.known)


def as_strategy(jacobian, owner="jacobian"):
    """A strategy from its name: a source, an update behind a colon if wanted (`"grouped:partitioned"`). Strategies pass as they are.

    `None` for `"difference"`, the solver's own difference quotients.
    """
    if hasattr(jacobian, "bind"):
        return jacobian
    source, _, update = jacobian.partition(":") if isinstance(jacobian, str) else ("", "", "")
    if jacobian == "difference":
        return None
    if source not in SOURCES or (update or "plain") not in UPDATES:
        names = ", ".join(repr(name) for name in SOURCES)
        raise ValueError(f"{owner}: jacobian must be {names}, followed by ':partitioned' or ':extended' if wanted, 'difference' for the "
                         f"solver's own difference quotients, or a strategy, got {jacobian!r}")
    return JacobianStrategy(source, update or "plain")


def takes_strategies(method):
    """Whether a method, or the class of one, has a field `jacobian` for strategies, and not for words of its own only."""
    return any(f.name == "jacobian" and Strategy in get_args(f.type) for f in fields(method))


def labelled(name, jacobian):
    """The name of a solver with that of its strategy, which is left out for the exact Jacobian."""
    strategy = as_strategy(jacobian)
    label = "difference" if strategy is None else strategy.label
    return name if label == "exact" else f"{name}, {label} Jacobian"
