"""Properties of a library mechanism without simulation: sizes, topology, forms of the equations, and applicable methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..driver.support import Settings
from ..integrators.structural.base import Structural
from ..library.base import Entry, Parameters
from ..model.base import Joint, PlanarJoint
from ..model.bodies import RigidBody
from ..model.forces import Friction, UserForce
from ..model.joints import Free
from ..model.mechanism import Mechanism
from ..problems import FORMULATIONS
from ..problems.base import Problem
from ..registry import FAMILIES, MethodSpec
from ..system.callbacks import interpreted
from ..system.system import System
from ..typing import Vector

RESIDUAL_TOL = 1e-8  # of consistent initial values, relative to the largest force or velocity
GROUND = "ground"


def examined(entry: Entry, parameters: Parameters | None = None) -> System:
    """The system of an entry for inspection: nothing is compiled, and user functions are called from Python.

    Parameters
    ----------
    entry : mbdae.library.Entry
    parameters : dict, optional

    Returns
    -------
    System
    """
    with interpreted():
        built = _built(entry, parameters or {})
        return built if isinstance(built, System) else System(built)


def _built(entry: Entry, parameters: Parameters) -> Mechanism | System:
    return entry.build(**entry.checked(parameters))


@dataclass(frozen=True)
class Sizes:
    """Sizes of a system.

    Attributes
    ----------
    bodies : int or None
        `None` for equations without bodies.
    nq, nv, nc : int
    redundant : tuple of str
        Redundant constraint equations.
    freedom : int
        Degrees of freedom, `nv - rank(Phi_q)`.
    index3, ggl : int
        Unknowns of these forms.
    state_space : int or None
        Unknowns of the state-space forms; `None` if the motion is prescribed.
    nonzeros, groups : int
        Structural nonzeros of the Jacobian of the GGL form, and groups of columns for difference quotients.
    constant_mass : bool
    """

    bodies: int | None
    nq: int
    nv: int
    nc: int
    redundant: tuple[str, ...]
    freedom: int
    index3: int
    ggl: int
    state_space: int | None
    nonzeros: int
    groups: int
    constant_mass: bool


def first_counts(entry: Entry) -> tuple[int | None, int, int, int]:
    """`(bodies, nq, nv, nc)` of an entry: as stated, or else of its mechanism, without a system, which may need a compilation."""
    if entry.sizes:
        return entry.sizes
    with interpreted():
        built = _built(entry, {})
    if isinstance(built, System):
        return None, built.nq, built.nv, built.nc
    n, rigid = len(built.bodies), sum(isinstance(b, RigidBody) for b in built.bodies)
    return n, 3 * n + 4 * rigid, 3 * n + 3 * rigid, len(built.labels)


def counts(system: System) -> tuple[int | None, int, int, int, tuple[str, ...], int]:
    """`(bodies, nq, nv, nc, redundant, freedom)`: redundant equations by name; bodies are `None` for a system of functions."""
    redundant = tuple(system.labels[k] for k in system.dependent)
    bodies = None if system.mechanism is None else len(system.mechanism.bodies)
    return bodies, system.nq, system.nv, system.nc, redundant, system.nv - system.nc + len(redundant)


def sizes(system: System) -> Sizes:
    """`Sizes` of a system."""
    ggl = FORMULATIONS["ggl"](system)
    constant = system.constant_mass
    return Sizes(*counts(system), FORMULATIONS["index3"](system).n, ggl.n, 2 * system.freedom or None, ggl.pattern.nnz,
                 int(ggl.groups.max()) + 1, constant)


# --- topology --------------------------------------------------------------------------------------------------------------------------


def elements(mechanism: Mechanism) -> list[tuple[str, str, str]]:
    """Joints, drivers and forces as `(name, type, bodies)`."""
    return [(e.name, type(e).__name__, _ends(e)) for e in (*mechanism.constraints, *mechanism.forces)]


def _ends(element: Any) -> str:
    if isinstance(element, Friction):
        return f"joint {element.joint}"
    if isinstance(element, UserForce):
        return ", ".join(element.bodies)
    return element.body if hasattr(element, "body") else f"{element.i} - {element.j}"


def loops(mechanism: Mechanism) -> int:
    """Number of independent loops: the cyclomatic number of the graph of bodies and joints.

    Primitive constraints between two bodies count as one joint, or as part of the joint between them; joints without equations do not.
    """
    whole = [(e.i, e.j) for e in mechanism.joints if isinstance(e, (Joint, PlanarJoint)) and not isinstance(e, Free)]
    joined = {frozenset(pair) for pair in whole}
    edges = whole + [tuple(pair) for pair in {frozenset((e.i, e.j)) for e in mechanism.joints if not isinstance(e, Free)} - joined]
    root = {name: name for name in (GROUND, *(b.name for b in mechanism.bodies))}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    closed = 0
    for i, j in edges:
        a, b = find(i), find(j)
        closed += a == b
        root[a] = b
    return closed


# --- forms and methods -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """One form of the equations of a mechanism.

    Attributes
    ----------
    name, title : str
    unknowns : int or None
    reason : str
        Why it does not apply; empty if it does.
    """

    name: str
    title: str
    unknowns: int | None = None
    reason: str = ""


def forms(system: System) -> list[Form]:
    """All forms of the equations: whether the problem exists, and whether its initial values are consistent."""
    return [_form(system, name, cls) for name, cls in FORMULATIONS.items()]


def _form(system: System, name: str, cls: type[Problem]) -> Form:
    try:
        problem = cls(system)
        y, yd = problem.y0, problem.yd0
        residual = float(np.abs(problem.residual(0.0, y, yd)).max())
        size = max(1.0, *(float(np.abs(x).max()) for x in (y, yd)), float(np.abs(system.force(0.0, *_motion(system))).max()))
    except (ValueError, ArithmeticError) as error:
        return Form(name, cls.title, reason=" ".join(str(error).split()))
    if not residual <= RESIDUAL_TOL * size:
        return Form(name, cls.title, problem.n, f"its initial values are inconsistent, residual {residual:.1e}")
    return Form(name, cls.title, problem.n)


def _motion(system: System) -> tuple[Vector, Vector, Vector]:
    return system.start.q, system.start.v, system.start.lam


@dataclass(frozen=True)
class Applicability:
    """The forms that one integrator or solver takes.

    Attributes
    ----------
    name : str
    forms : tuple of str
        Forms that it takes, preferred first; empty for integrators that work on the system itself.
    refused : dict of str to tuple of str
        Reason -> forms.
    missing : str
        State of a package that is missing or broken; empty if it is ready.
    unsuitable : str
        Why it is not suitable for stiff forces; empty if it is.
    """

    name: str
    forms: tuple[str, ...]
    refused: dict[str, tuple[str, ...]]
    missing: str
    unsuitable: str


def applicability() -> list[Applicability]:
    """All integrators and solvers, a list of `Applicability`."""
    return [_applicable(MethodSpec(family, variant)) for family in FAMILIES for variant in family.variants or (None,)]


def _applicable(spec: MethodSpec) -> Applicability:
    available = spec.family.availability()
    state = "" if available is None or available.installed else available.fault or f"missing: {available.remedy}"
    if spec.control == "h":
        return Applicability(spec.name, (), {}, state, _unsuitable_for_stiff(spec))
    method = spec.family.method_class(**spec.family.chosen(spec.variant))
    refused: dict[str, list[str]] = {}
    for form, how in method.support.items():
        if not isinstance(how, Settings):
            refused.setdefault(how, []).append(form)
    taken = tuple(form for form, how in method.support.items() if isinstance(how, Settings))
    reasons = {reason: tuple(names) for reason, names in refused.items()}
    return Applicability(spec.name, taken, reasons, state, "explicit" if is_explicit(spec, method.support) else "")


def _unsuitable_for_stiff(spec: MethodSpec) -> str:
    """Why a method that works on the system itself is not suitable for stiff forces; empty if it is."""
    if not issubclass(spec.family.method_class, Structural):
        return "fixed step"
    method = spec.make()
    assert isinstance(method, Structural)
    return "" if np.isinf(method.formula.limit()) else "conditionally stable"


def is_explicit(spec: MethodSpec, support: Mapping[str, Settings | str]) -> bool:
    """Whether a solver is explicit: its settings have no Jacobian, or assign it to other variants of its family."""
    if any(isinstance(how, Settings) and how.jacobian == "none" for how in support.values()):
        return True
    how = support["ode"]
    if not isinstance(how, Settings):
        return False
    users = how.jacobian.partition("(")[2].rstrip(")")
    return bool(users) and spec.variant not in users.split(", ")
