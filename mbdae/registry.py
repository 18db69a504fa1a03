"""Methods by name: `"HalfImplicit"`, `"Ida:ggl"`, `"SolveIvp:DOP853"`, `"Cvode:Adams:partition"`, `"RosenbrockNystrom:tangent"`.

The name of the class is followed by its variants and a formulation, in any order; all of them are optional. A class with variants for
several fields takes one for each field, as in `"ProjectedGauss:2:PVAE-0"`. Modules of external solvers are imported when they are needed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .driver.availability import Availability
from .driver.method import Method
from .integrators.structural.formula import RULES
from .problems import ALIASES, FORMULATIONS
from .spelling import closest, guess

FORM_TITLES = {"index3": "index 3", "ggl": "GGL", "gear": "Gear", "index2": "index 2", "index1": "index 1", "mass": "mass matrix",
               "overdetermined": "overdetermined", "ode": "ODE", "partition": "partitioned", "tangent": "tangent plane"}


@dataclass(frozen=True, eq=False)
class Family:
    """Methods of one class.

    Attributes
    ----------
    name : str
        Name of the class, the part before the first colon.
    module : str
    title : str
        Name in tables and legends.
    control : {"h", "rtol"}
        Whether the step size is fixed, or controlled by tolerances.
    summary : str
    sets : str
        The field of the class that a variant sets.
    variants : dict of str to str
        Its values with their titles; the first is the default. Empty if there are none.
    presets : dict of str to dict
        Instead of `sets`: the fields that each variant sets. Variants that set different fields can be combined, joined by colons.
    """

    name: str
    module: str
    title: str
    control: str
    summary: str
    sets: str = ""
    variants: dict[str, str] = field(default_factory=dict)
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def method_class(self) -> type[Method]:
        """The class, imported now."""
        found: type[Method] = getattr(import_module(self.module), self.name)
        return found

    def forms(self, variant: str | None = None) -> tuple[str, ...]:
        """The formulations to choose from, the best first; empty for integrators with a fixed step, which take `"index3"` only."""
        if self.control_of(variant) == "h":
            return ()
        return self.made(self.chosen(variant or next(iter(self.variants), None))).formulations

    def control_of(self, variant: str | None) -> str:
        """The control of the step size with this variant, `"h"` or `"rtol"`."""
        return "rtol" if variant and self.chosen(variant).get("h", 0.0) is None else self.control

    def made(self, options: dict[str, Any]) -> Method:
        """A method object with these fields."""
        return self.method_class(**options)

    def chosen(self, variant: str | None) -> dict[str, Any]:
        """The fields that a variant sets, or several variants joined by colons."""
        names = variant.split(":") if variant else ()
        return {field: value for name in names for field, value in (self.presets.get(name) or {self.sets: name}).items()}

    def agree(self, variant: str | None, other: str) -> bool:
        """Whether two variants can be combined: they set different fields."""
        return not variant or not set(self.chosen(variant)) & set(self.chosen(other))

    def availability(self) -> Availability | None:
        """`Availability` of the package of an external solver; `None` for methods of mbdae."""
        return None if self.module.startswith("mbdae.integrators.") else self.method_class.availability()


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_THESIS = "mbdae.integrators.state_space.methods"
_STRUCTURAL = "mbdae.integrators.structural.methods"
_RULES = {"trapezoidal": "trapezoidal", "linear-acceleration": "linear acceleration", "fox-goodwin": "Fox-Goodwin",
          "central-differences": "central differences"}
_COEFFICIENTS = {name: dict(zip(("beta", "gamma"), RULES[name])) for name in _RULES}
_PROJECTIONS = {"PVA": "PVA", "none": "without projections", **_same("P", "V", "PV", "PVAE-n", "PVAE-0")}
_STAGES = {"1": "1 stage", "2": "2 stages", "3": "3 stages", "4": "4 stages"}
_HELD = {"position": "position stages", "ggl-stages": "GGL stages"}  # "ggl" is a formulation
_ADAPTIVE = {"adaptive": "step control"}
_STEP_CONTROL: dict[str, dict[str, Any]] = {"adaptive": {"h": None}}
_GAUSS: dict[str, dict[str, Any]] = {**{name: {"project": "" if name == "none" else name} for name in _PROJECTIONS},
                                     **{name: {"stages": int(name)} for name in _STAGES},
                                     **{name: {"stages_hold": name.removesuffix("-stages")} for name in _HELD}, **_STEP_CONTROL}
_ORDERS = {"2": "order 2", "4": "order 4", "6": "order 6", "8": "order 8"}
_SPARK: dict[str, dict[str, Any]] = {**{name: {"order": int(name)} for name in ("6", "2", "4", "8")}, "lobatto": {"pair": "lobatto"},
                                     **_STEP_CONTROL}

FAMILIES = (
    Family("Automatic", "mbdae.integrators.automatic.methods", "Automatic", "rtol",
           "chosen from the mechanism, explicit or stiff, and changed on the way"),
    Family("HalfImplicit", "mbdae.integrators.half_implicit", "HalfImplicit", "h", "half-implicit Euler on index-3 equations, fixed step"),
    Family("FullyImplicit", "mbdae.integrators.fully_implicit", "FullyImplicit", "h", "backward Euler on index-3 equations, fixed step"),
    Family("ProjectedGauss", "mbdae.integrators.gauss.methods", "Projected Gauss", "h",
           "Gauss formulas with projections, fixed step or step control, as in ProjectedGauss:2:PVAE-0", "",
           _PROJECTIONS | _STAGES | _HELD | _ADAPTIVE, _GAUSS),
    Family("DormandPrince", "mbdae.integrators.explicit.methods", "Dormand-Prince", "rtol",
           "explicit Runge-Kutta on the underlying ODE, projected after every step", "", {"8": "order 8", "5": "order 5"},
           {"8": {"order": 8}, "5": {"order": 5}}),
    Family("Adams", "mbdae.integrators.adams.methods", "Adams", "rtol",
           "predictor-corrector of variable order on the underlying ODE, projected after every step"),
    Family("HalfExplicit", "mbdae.integrators.explicit.methods", "Half-explicit", "rtol",
           "half-explicit of order 5 on index-2 equations, projected after every step", "formula", _same("PHEM56", "HEM5")),
    Family("Rattle", "mbdae.integrators.rattle.methods", "Rattle", "h", "RATTLE and its compositions, symplectic, fixed step", "", _ORDERS,
           {name: {"order": int(name)} for name in _ORDERS}),
    Family("Spark", "mbdae.integrators.spark.methods", "SPARK", "h",
           "Gauss-Lobatto and Lobatto IIIA-IIIB, constraints on two levels, fixed step or step control, as in Spark:4:lobatto", "",
           {name: (_ORDERS | _ADAPTIVE).get(name, "Lobatto IIIA-IIIB") for name in _SPARK}, _SPARK),
    Family("Bdf", "mbdae.integrators.bdf", "Bdf", "rtol", "BDF for DAEs as in DASSL, on matrices scaled for the index"),
    Family("RadauIIA", "mbdae.integrators.radau.methods", "Radau IIA", "rtol",
           "Radau IIA on GGL's equations, variable order or 5, 9 or 13, projected after every step", "",
           {"variable": "variable order", "5": "order 5", "9": "order 9", "13": "order 13"},
           {"variable": {"order": "variable"}, **{name: {"order": int(name)} for name in ("5", "9", "13")}}),
    Family("Newmark", _STRUCTURAL, "Newmark", "h", "Newmark with multipliers, constraints on positions", "",
           {name: title for name, title in _RULES.items() if name != "central-differences"}, _COEFFICIENTS),
    Family("HHT", _STRUCTURAL, "HHT", "rtol", "Hilber-Hughes-Taylor with multipliers, step control"),
    Family("GeneralizedAlpha", _STRUCTURAL, "generalised-alpha", "h", "generalised-alpha with multipliers", "level",
           {"position": "index 3", "stabilised": "stabilised index 2", "velocity": "index 2", "acceleration": "index 1"}),
    Family("NullSpaceNewmark", _STRUCTURAL, "null-space Newmark", "h", "Newmark in null-space coordinates", "", _RULES, _COEFFICIENTS),
    Family("NullSpaceHHT", _STRUCTURAL, "null-space HHT", "rtol", "Hilber-Hughes-Taylor in null-space coordinates, step control"),
    Family("NullSpaceGeneralizedAlpha", _STRUCTURAL, "null-space generalised-alpha", "h", "generalised-alpha in null-space coordinates"),
    Family("TrapezoidalStateSpace", _THESIS, "Trapezoidal state space", "rtol", "trapezoidal rule in independent accelerations"),
    Family("TrapezoidalDescriptor", _THESIS, "Trapezoidal descriptor", "rtol", "trapezoidal rule in all accelerations and multipliers"),
    Family("SdirkDescriptor", _THESIS, "SDIRK descriptor", "rtol", "SDIRK4/16 in all accelerations and multipliers"),
    Family("SdirkFirstOrder", _THESIS, "SDIRK first order", "rtol", "SDIRK4/15 in independent positions and velocities"),
    Family("SdirkSparse", "mbdae.integrators.sdirk_sparse.methods", "SDIRK sparse", "rtol",
           "SDIRK4/16 in independent coordinates, sparse matrices of all unknowns"),
    Family("RosenbrockNystrom", _THESIS, "Rosenbrock-Nystrom", "rtol", "linearly implicit, order 4, in independent coordinates"),
    Family("Ida", "mbdae.adapters.sundae", "IDA", "rtol", "SUNDIALS IDA, BDF for DAEs"),
    Family("Cvode", "mbdae.adapters.sundae", "CVODE", "rtol", "SUNDIALS CVODE, multistep for ODEs", "multistep",
           _same("BDF", "Adams")),
    Family("SolveIvp", "mbdae.adapters.scipy", "SciPy", "rtol", "SciPy's solve_ivp, for ODEs", "method",
           _same("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")),
    Family("Odes", "mbdae.adapters.odes", "odes", "rtol", "scikits.odes: SUNDIALS, DASPK, LSODI, Dormand-Prince", "solver",
           {"ida": "IDA", "ddaspk": "DASPK", "lsodi": "LSODI", "cvode": "CVODE", "dop853": "DOP853", "dopri5": "DOPRI5"}),
    Family("Assimulo", "mbdae.adapters.assimulo", "Assimulo", "rtol", "solvers of Assimulo", "solver",
           _same("IDA", "CVode", "Radau5DAE", "Radau5ODE", "RodasODE", "ODASSL", "GLIMDA", "DASP3ODE", "LSODAR", "Dopri5", "RungeKutta34")),
    Family("SolveDae", "mbdae.adapters.dae", "solve-dae", "rtol", "solve-dae: Radau IIA and BDF for DAEs in Python", "method",
           {"Radau3": "Radau IIA (3 stages)", "Radau5": "Radau IIA (5 stages)", "Radau7": "Radau IIA (7 stages)", "BDF": "BDF"}),
    Family("Radau13", "mbdae.adapters.radau13", "RADAU", "rtol", "Hairer and Wanner's RADAU on the mass-matrix form, index 2"),
)


@dataclass(frozen=True)
class MethodSpec:
    """A method by its name.

    Attributes
    ----------
    family : Family
    variant : str or None
        `None` if the family has none; several are joined by colons.
    formulation : str or None
        The formulation that the name prescribes; `None` leaves it to the method.
    """

    family: Family
    variant: str | None = None
    formulation: str | None = None

    @property
    def label(self) -> str:
        """For tables and legends, with the formulation if there is a choice."""
        parts, forms = [self.family.title], self.family.forms(self.variant)
        if self.variant:
            parts += [self.family.variants[name] for name in self.variant.split(":")]
        if len(forms) > 1 or self.formulation not in (None, *forms):
            parts.append(FORM_TITLES[self.formulation or forms[0]])
        return " ".join(parts)

    @property
    def name(self) -> str:
        """The name that `find` takes."""
        return ":".join(x for x in (self.family.name, self.variant, self.formulation) if x)

    @property
    def control(self) -> str:
        """`"h"` or `"rtol"`."""
        return self.family.control_of(self.variant)

    def make(self, **options: Any) -> Method:
        """The method object.

        Parameters
        ----------
        **options
            Fields of its class, e.g. `h`.

        Raises
        ------
        ValueError
            If its package is missing; the message names the command that installs it.
        """
        available = self.family.availability()
        if available is not None and not available.installed:
            fault = f" ({available.fault})" if available.fault else ""
            raise ValueError(f"{self.label} needs the package {available.package}{fault}: {available.remedy}")
        return self.family.made(self.family.chosen(self.variant) | options)


def find(text: str) -> MethodSpec:
    """The method with a name like `"HalfImplicit"`, `"Ida:ggl"` or `"Assimulo:IDA:gear"`, case-insensitive.

    Raises
    ------
    ValueError
        If there is none; the message lists the possible names.
    """
    if not isinstance(text, str):
        raise ValueError(f"the name of a method must be a str such as 'Ida:ggl', got {text!r}")
    name, *parts = (part.strip() for part in text.split(":"))
    family = next((f for f in FAMILIES if f.name.lower() == name.lower()), None)
    if family is None:
        raise ValueError(f"there is no method {text!r}{_meant(name, parts)}; there are {', '.join(f.name for f in FAMILIES)}")
    variant: str | None = None
    formulation: str | None = None
    for part in parts:
        takes_forms = family.forms() or family.forms(variant)
        as_variant, as_form = _match(part, family.variants), _match(part, (*FORMULATIONS, *ALIASES)) if takes_forms else None
        if as_variant and family.agree(variant, as_variant):
            variant = f"{variant}:{as_variant}" if variant else as_variant
        elif as_form and formulation is None:
            formulation = ALIASES.get(as_form, as_form)
        else:
            raise ValueError(f"there is no method {text!r}{guess(part, (*family.variants, *FORMULATIONS))}; {_possible(family)}")
    return MethodSpec(family, variant or next(iter(family.variants), None), formulation)


def _match(text: str, names: Iterable[str]) -> str | None:
    return next((name for name in names if name.lower() == text.lower()), None)


def _meant(name: str, parts: list[str]) -> str:
    """A suggestion for an unknown first part of a name: a family or a variant."""
    families = [f.name for f in FAMILIES]
    variants = {v: f"{f.name}:{v}" for f in reversed(FAMILIES) for v in reversed(f.variants)}
    first = next((part for part in parts if _match(part, families)), None)  # the parts are in another order
    found = first or (name if name in variants else _match(name, variants)) or closest(name, families) or closest(name, variants)
    return "" if found is None else f" (did you mean {variants.get(found, found)!r}?)"


def _possible(family: Family) -> str:
    """The names that are possible for a family."""
    variants, forms = ", ".join(f"{family.name}:{v}" for v in family.variants), family.forms()
    kinds = {tuple(family.chosen(v)): v for v in reversed(family.variants)}  # the first one that sets these fields
    if len(kinds) > 1:
        variants += f", or of each kind one, {':'.join([family.name, *reversed(kinds.values())])}"
    if variants:
        return f"it can be {variants}" + (f"; a formulation may follow, {', '.join(FORMULATIONS)}" if forms else "")
    return f"it can be {', '.join(f'{family.name}:{form}' for form in FORMULATIONS)}" if forms else f"write {family.name} alone"
