"""What an entry of the library consists of."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..model.mechanism import Mechanism


@dataclass(frozen=True)
class Reference:
    """Values that a correct simulation must reproduce.

    Attributes
    ----------
    label : str
    kind : {"published", "closed form", "recomputed"}
    source : str
        Where the values come from.
    t : float
    values : dict of str to float
        Observable -> value.
    digits : int
        Significant digits of the worst value that may be relied upon.
    parameters : dict
        Parameters of the mechanism the values belong to, where they differ from the defaults.
    """

    label: str
    kind: str
    source: str
    t: float
    values: dict
    digits: int
    parameters: dict = field(default_factory=dict)


def table(label, kind, source, digits, names, rows, **parameters):
    """One `Reference` per row; a row holds the time and then the observables in the order of `names` (separated by spaces)."""
    names = names.split()
    return tuple(Reference(label, kind, source, t, dict(zip(names, values, strict=True)), digits, parameters) for t, *values in rows)


@dataclass(frozen=True)
class Entry:
    """One mechanism of the library.

    Attributes
    ----------
    name, title : str
    summary : str
        One or two sentences: what it is and why it is interesting.
    source : str
    build : callable
        `build(**parameters) -> Mechanism`.
    parameters : dict
        The parameters of `build` with their defaults.
    t_end : float
        Interval `0 ... t_end` of the usual simulation [s].
    step : float
        A step of the one-step integrators that suits it [s].
    observe : callable
        `observe(system, t, q, v, a, lam) -> dict`: the natural outputs by name.
    references : tuple of Reference
    view : str
        The two global axes that a plot in the plane shows, e.g. `"yz"`.
    """

    name: str
    title: str
    summary: str
    source: str
    build: Callable[..., Mechanism]
    parameters: dict
    t_end: float
    step: float
    observe: Callable
    references: tuple = ()
    view: str = "xy"
