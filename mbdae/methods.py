"""Methods by name: `"HalfImplicit"`, `"Ida:ggl"`, `"SolveIvp:DOP853"`. Modules of foreign solvers are imported when they are asked for."""

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, eq=False)
class Family:
    """Methods of one class.

    Attributes
    ----------
    name : str
        Name of the class, and what is written before the colon.
    module : str
    title : str
        How it is called in tables and legends.
    control : {"h", "rtol"}
        Whether it takes a fixed step, or tolerances.
    variants : dict of str to str
        What may be written after the colon, with its title; the first is the default. Empty if nothing may.
    field : str
        What a variant sets: the field of this name, or `"formulation"`.
    summary : str
    """

    name: str
    module: str
    title: str
    control: str
    variants: dict
    field: str
    summary: str

    @property
    def method_class(self):
        """The class, imported now."""
        return getattr(import_module(self.module), self.name)

    def availability(self):
        """`Availability` of the package behind a foreign solver; `None` for what belongs to mbdae."""
        check = getattr(self.method_class, "availability", None)
        return None if check is None else check()


_FORMS = {"gear": "Gear", "ggl": "GGL", "index2": "index 2", "index1": "index 1", "index3": "index 3"}
_SCIPY = {name: name for name in ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")}

FAMILIES = (
    Family("HalfImplicit", "mbdae.integrators.half_implicit", "HalfImplicit", "h", {}, "",
           "half-implicit Euler on index-3 equations, fixed step"),
    Family("FullyImplicit", "mbdae.integrators.fully_implicit", "FullyImplicit", "h", {}, "",
           "backward Euler on index-3 equations, fixed step"),
    Family("Ida", "mbdae.adapters.sundae", "IDA", "rtol", _FORMS, "formulation", "SUNDIALS IDA, BDF for DAEs"),
    Family("Cvode", "mbdae.adapters.sundae", "CVODE", "rtol", {"BDF": "BDF", "Adams": "Adams"}, "multistep",
           "SUNDIALS CVODE, multistep for the underlying ODE"),
    Family("SolveIvp", "mbdae.adapters.scipy", "SciPy", "rtol", _SCIPY, "method", "SciPy's solve_ivp on the underlying ODE"),
)


@dataclass(frozen=True)
class MethodSpec:
    """A method that has been named: family and variant.

    Attributes
    ----------
    family : Family
    variant : str or None
        `None` if nothing stands after the colon and the formulation is left to the method.
    """

    family: Family
    variant: str | None

    @property
    def label(self):
        """For tables and legends."""
        titles = self.family.variants
        return f"{self.family.title} {titles[self.variant or next(iter(titles))]}" if titles else self.family.title

    @property
    def control(self):
        """`"h"` or `"rtol"`."""
        return self.family.control

    @property
    def formulation(self):
        """The formulation that the name prescribes, or `None`."""
        return self.variant if self.family.field == "formulation" else None

    def make(self, **options):
        """The method object.

        Parameters
        ----------
        **options
            Fields of its class, e.g. `h`. `FullyImplicit` gets the Newton tolerance `1e-10/h^2`, comparable with `1e-10` of `HalfImplicit`.

        Raises
        ------
        ValueError
            If its package is missing; the message names the command that installs it.
        """
        available = self.family.availability()
        if available is not None and not available.installed:
            raise ValueError(f"{self.label} needs the package {available.package}: {available.remedy}")
        if self.variant is not None and self.family.field != "formulation":
            options = {self.family.field: self.variant} | options
        if self.family.name == "FullyImplicit" and "h" in options:
            options = {"tol": 1e-10 / options["h"] ** 2} | options
        return self.family.method_class(**options)


def find(text):
    """The method with a name like `"HalfImplicit"` or `"Ida:ggl"`; upper and lower case do not matter.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    name, colon, variant = text.strip().partition(":")
    family = next((f for f in FAMILIES if f.name.lower() == name.lower()), None)
    if family is None:
        raise ValueError(f"there is no method {text!r}; there are {', '.join(f.name for f in FAMILIES)}")
    if not colon:
        return MethodSpec(family, None if family.field == "formulation" else next(iter(family.variants), None))
    match = next((v for v in family.variants if v.lower() == variant.lower()), None)
    if match is None:
        can = f"it can be {', '.join(f'{family.name}:{v}' for v in family.variants)}" if family.variants else f"write {family.name} alone"
        raise ValueError(f"there is no method {text!r}; {can}")
    return MethodSpec(family, match)
