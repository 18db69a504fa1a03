"""What can be said of a mechanism of the library without moving it: sizes, topology, forms, and the methods that take them."""

from dataclasses import dataclass

import numpy as np

from ..driver.support import Settings
from ..integrators.structural.base import Structural
from ..model.base import Joint, PlanarJoint
from ..model.bodies import RigidBody
from ..model.forces import Friction, UserForce
from ..problems import FORMULATIONS
from ..registry import FAMILIES, MethodSpec
from ..system.callbacks import interpreted
from ..system.system import System

CONSISTENT = 1e-8  # residual of a consistent start, relative to the largest force or velocity
GROUND = "ground"


def examined(entry, parameters=None):
    """The equations of an entry, for a look at them: nothing is compiled, and user functions are called from Python.

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


def _built(entry, parameters):
    return entry.build(**entry.checked(parameters))


@dataclass(frozen=True)
class Sizes:
    """Numbers that describe a system.

    Attributes
    ----------
    bodies : int or None
        `None` for equations without bodies.
    nq, nv, nc : int
    redundant : tuple of str
        Constraint equations that follow from the others.
    freedom : int
        `nv` less the rank of the constraints.
    index3, ggl : int
        Unknowns of these forms.
    state_space : int or None
        Unknowns of the state-space forms; `None` if the motion is prescribed, so that there are none.
    nonzeros, groups : int
        Entries of the Jacobian of the GGL form, and groups of columns that are differentiated together.
    constant_mass : bool
    """

    bodies: int | None
    nq: int
    nv: int
    nc: int
    redundant: tuple
    freedom: int
    index3: int
    ggl: int
    state_space: int | None
    nonzeros: int
    groups: int
    constant_mass: bool


def first_counts(entry):
    """`(bodies, nq, nv, nc)` of an entry; of a mechanism without its equations, for which kernels might have to be compiled first."""
    with interpreted():
        built = _built(entry, {})
    if isinstance(built, System):
        return None, built.nq, built.nv, built.nc
    n, rigid = len(built.bodies), sum(isinstance(b, RigidBody) for b in built.bodies)
    return n, 3 * n + 4 * rigid, 3 * n + 3 * rigid, len(built.labels)


def counts(system):
    """`(bodies, nq, nv, nc, redundant, freedom)`, the last but one by name; `None` bodies for equations without bodies."""
    redundant = tuple(system.labels[k] for k in system.dependent)
    bodies = None if system.mechanism is None else len(system.mechanism.bodies)
    return bodies, system.nq, system.nv, system.nc, redundant, system.nv - system.nc + len(redundant)


def sizes(system):
    """`Sizes` of a system."""
    ggl = FORMULATIONS["ggl"](system)
    constant = system.constant_mass
    return Sizes(*counts(system), FORMULATIONS["index3"](system).n, ggl.n, 2 * system.freedom or None, ggl.pattern.nnz,
                 int(ggl.groups.max()) + 1, constant)


# --- topology --------------------------------------------------------------------------------------------------------------------------


def elements(mechanism):
    """Joints, drivers and forces as `(name, type, what they act on)`."""
    return [(e.name, type(e).__name__, _ends(e)) for e in (*mechanism.constraints, *mechanism.forces)]


def _ends(element):
    if isinstance(element, Friction):
        return f"joint {element.joint}"
    if isinstance(element, UserForce):
        return ", ".join(element.bodies)
    return element.body if hasattr(element, "body") else f"{element.i} - {element.j}"


def loops(mechanism):
    """Number of independent loops: joints less bodies where everything hangs together with the ground.

    Constraint equations that are given one by one between two bodies count as one joint, or as parts of the joint that is there.
    """
    whole = [(e.i, e.j) for e in mechanism.joints if isinstance(e, (Joint, PlanarJoint))]
    joined = {frozenset(pair) for pair in whole}
    edges = whole + [tuple(pair) for pair in {frozenset((e.i, e.j)) for e in mechanism.joints} - joined]
    root = {name: name for name in (GROUND, *(b.name for b in mechanism.bodies))}

    def find(name):
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
        Why it cannot be used; empty if it can.
    """

    name: str
    title: str
    unknowns: int | None = None
    reason: str = ""


def forms(system):
    """All forms of the equations: whether the problem can be made, and whether its start satisfies its equations."""
    return [_form(system, name, cls) for name, cls in FORMULATIONS.items()]


def _form(system, name, cls):
    try:
        problem = cls(system)
        y, yd = problem.y0, problem.yd0
        open_ = float(np.abs(problem.residual(0.0, y, yd)).max())
        size = max(1.0, *(float(np.abs(x).max()) for x in (y, yd)), float(np.abs(system.force(0.0, *_motion(system))).max()))
    except (ValueError, ArithmeticError) as error:
        return Form(name, cls.title, reason=" ".join(str(error).split()))
    if not open_ <= CONSISTENT * size:
        return Form(name, cls.title, problem.n, f"its equations are open by {open_:.1e} at the start")
    return Form(name, cls.title, problem.n)


def _motion(system):
    return system.start.q, system.start.v, system.start.lam


@dataclass(frozen=True)
class Applicability:
    """What one integrator or solver can do for a mechanism.

    Attributes
    ----------
    name : str
    forms : tuple of str
        Forms that it takes, the best first; empty for integrators that work on the system itself.
    refused : dict of str to tuple of str
        Reason -> forms.
    missing : str
        What is wrong with its package; empty if it is ready.
    unsuitable : str
        Why it is no choice for stiff forces; empty if it is one.
    """

    name: str
    forms: tuple
    refused: dict
    missing: str
    unsuitable: str


def applicability():
    """All integrators and solvers, a list of `Applicability`."""
    return [_applicable(MethodSpec(family, variant)) for family in FAMILIES for variant in family.variants or (None,)]


def _applicable(spec):
    available = spec.family.availability()
    state = "" if available is None or available.installed else available.fault or f"missing: {available.remedy}"
    if not spec.family.forms():
        return Applicability(spec.name, (), {}, state, _hindrance(spec))
    method = spec.family.method_class(**spec.family.chosen(spec.variant))
    refused = {}
    for form, how in method.support.items():
        if not isinstance(how, Settings):
            refused.setdefault(how, []).append(form)
    taken = tuple(form for form, how in method.support.items() if isinstance(how, Settings))
    reasons = {reason: tuple(names) for reason, names in refused.items()}
    return Applicability(spec.name, taken, reasons, state, "explicit" if is_explicit(spec, method.support) else "")


def _hindrance(spec):
    """Why a method that works on the system itself is no choice for stiff forces; empty if it is one."""
    if not issubclass(spec.family.method_class, Structural):
        return "fixed step"
    return "" if np.isinf(spec.make().formula.limit()) else "conditionally stable"


def is_explicit(spec, support):
    """Whether a solver needs no Jacobian: its settings have none, or name other variants of its family that use one."""
    how = support["ode"]
    if not isinstance(how, Settings):
        return False
    users = how.jacobian.partition("(")[2].rstrip(")")
    return how.jacobian == "none" or (bool(users) and spec.variant not in users.split(", "))
