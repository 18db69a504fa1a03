"""Entries of the library."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..model.mechanism import Mechanism
from ..spelling import guess
from ..system.system import System
from ..typing import Vector

Parameter: TypeAlias = bool | int | float | str | Sequence[float]
Parameters: TypeAlias = Mapping[str, Parameter]
Observables: TypeAlias = dict[str, float]
Observe: TypeAlias = Callable[[System, float, Vector, Vector, Vector, Vector], Observables]  # of system, t, q, v, a, lam
Kind: TypeAlias = Literal["published", "closed form", "recomputed"]


@dataclass(frozen=True)
class Reference:
    """Reference values at one time.

    Attributes
    ----------
    label : str
    kind : {"published", "closed form", "recomputed"}
    source : str
        Origin of the values.
    t : float
    values : dict of str to float
        Observable -> value.
    digits : int
        Reliable significant digits of the least accurate value.
    parameters : dict
        Parameters of the mechanism that differ from the defaults.
    """

    label: str
    kind: Kind
    source: str
    t: float
    values: Observables
    digits: int
    parameters: Parameters = field(default_factory=dict)


PRECISE = "collocation in 80-bit arithmetic in Cartesian and in joint coordinates, see `mbdae confirm --precise`"  # source of a table


def table(label: str, kind: Kind, source: str, digits: int, names: str, rows: Iterable[Sequence[float]],
          **parameters: Parameter) -> tuple[Reference, ...]:
    """One `Reference` per row; a row holds the time and then the observables in the order of `names` (separated by spaces)."""
    observables = names.split()
    return tuple(Reference(label, kind, source, t, dict(zip(observables, values, strict=True)), digits, parameters) for t, *values in rows)


def whole_number(owner: str, parameter: str, value: Any, least: int, most: int) -> int:
    """The parameter as a Python integer.

    Raises
    ------
    ValueError
        If it is not an integer from `least` to `most`.
    """
    try:
        n = operator.index(value)
    except TypeError:
        n = least - 1
    if isinstance(value, bool) or not least <= n <= most:
        raise ValueError(f"{owner}: {parameter} must be an integer from {least} to {most}, got {value!r}")
    return n


def one_of(owner: str, parameter: str, value: object, known: Sequence[object]) -> None:
    """Raise `ValueError` for a value that is not in `known`."""
    if value not in known:
        possible = " or ".join(repr(k) for k in known)
        raise ValueError(f"{owner}: {parameter} must be {possible}, got {value!r}{guess(value, map(str, known))}")


def check_coordinates(owner: str, value: str) -> None:
    """Raise `ValueError` for unknown coordinates."""
    one_of(owner, "coordinates", value, ("cartesian", "classical"))


@dataclass(frozen=True)
class Comparison:
    """Methods and settings that `mbdae compare` runs on a mechanism by default.

    Attributes
    ----------
    methods : tuple of str
        Names, see `mbdae.registry`.
    steps : tuple of float
        Steps of the methods with fixed step [s]; if empty, 4, 2 and 1 times the usual step of the mechanism.
    rtol : tuple of float
        Relative tolerances of the methods with error control.
    """

    methods: tuple[str, ...]
    steps: tuple[float, ...] = ()
    rtol: tuple[float, ...] = (1e-4, 1e-6, 1e-8)


# the best of each family of integrators, and of the established solvers; those that are not installed are left out
NON_STIFF = Comparison(("HalfImplicit", "Rattle:4", "NullSpaceGeneralizedAlpha", "ProjectedGauss:3", "NullSpaceHHT", "RosenbrockNystrom",
                        "DormandPrince:8", "Bdf:ggl", "Ida:ggl", "Cvode:Adams", "SolveIvp:DOP853", "Radau13"))
STIFF = Comparison(("NullSpaceHHT", "RosenbrockNystrom", "SdirkFirstOrder", "Bdf:ggl", "Ida:ggl", "Cvode:BDF", "SolveIvp:Radau", "Radau13"))


@dataclass(frozen=True)
class Entry:
    """One mechanism of the library.

    Attributes
    ----------
    name, title : str
    summary : str
        One or two sentences.
    source : str
    build : callable
        `build(**parameters) -> Mechanism`, or a `System` if the coordinates are not those of bodies and joints.
    parameters : dict
        The parameters of `build` with their defaults.
    t_end : float
        Interval `0 ... t_end` of the usual simulation [s].
    step : float
        Usual step of the one-step integrators [s].
    observe : callable
        `observe(system, t, q, v, a, lam) -> dict`: the natural outputs by name.
    references : tuple of Reference
    view : str
        The two global axes that a plot in the plane shows, e.g. `"yz"`; or `"3d"`.
    hardness : str
        Difficulty for solvers.
    variants : tuple of dict
        Further sets of parameters of interest.
    stiff : bool
        Whether the forces are too stiff for methods with fixed steps.
    film : float
        Seconds of motion per second of an animation.
    animated : bool
        Whether its page has an animation.
    size : float, optional
        Size of the coordinates, to which absolute tolerances are relative; by default the largest coordinate at the start. It is needed
        where coordinates count from a motion that is known, so that rounding errors are those of larger numbers.
    comparison : Comparison, optional
        By default `NON_STIFF` or `STIFF`.
    sizes : tuple of int, optional
        `(bodies, nq, nv, nc)` with the default parameters, for a list of mechanisms, where `build` compiles or computes much; bodies are
        `None` for equations without bodies.
    """

    name: str
    title: str
    summary: str
    source: str
    build: Callable[..., Mechanism | System]
    parameters: Parameters
    t_end: float
    step: float
    observe: Observe
    references: tuple[Reference, ...] = ()
    view: str = "xy"
    hardness: str = ""
    variants: tuple[Parameters, ...] = ()
    stiff: bool = False
    film: float = 1.0
    animated: bool = False
    size: float | None = None
    comparison: Comparison | None = None
    sizes: tuple[int | None, int, int, int] | None = None

    @property
    def usual_comparison(self) -> Comparison:
        """The comparison of this mechanism, default values and steps included."""
        chosen = self.comparison or (STIFF if self.stiff else NON_STIFF)
        return replace(chosen, steps=chosen.steps or (4.0 * self.step, 2.0 * self.step, self.step))

    def checked(self, parameters: Parameters) -> dict[str, Parameter]:
        """The given parameters completed by the defaults.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise ValueError(f"{self.name!r} has no parameter {unknown[0]!r}; it has {known}{guess(unknown[0], self.parameters)}")
        return {**self.parameters, **parameters}

    def references_for(self, parameters: Parameters) -> tuple[Reference, ...]:
        """The references for a set of parameters, in any coordinates."""

        def essential(given: Parameters) -> dict[str, Parameter]:
            return {k: v for k, v in self.checked(given).items() if k != "coordinates"}

        return tuple(r for r in self.references if essential(r.parameters) == essential(parameters))
