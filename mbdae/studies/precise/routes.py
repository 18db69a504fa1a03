"""Two independent solutions of a mechanism of the library in extended precision.

The first is that of the underlying ODE in the coordinates of the entry, without projections: violations of the constraints at the end show
that their derivatives are right. It is by the method of Radau. The second is by that of Gauss, in joint coordinates where the mechanism has
some; in others with a projection onto the constraints at the times of the values; after each step its rounding errors would be seen in
small coordinates. Each is computed with two tolerances.
"""

from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from ... import library
from ...library.base import Entry, Observables, Parameters
from ...system.system import System
from ...system.tree.system import TreeSystem
from ...typing import Numbers, TimeProgress
from .collocation import Collocation, tableau
from .compiled import CompiledStages
from .equations import Equations, JointEquations
from .numbers import Extended
from .stepping import Failure, Solver

FIRST_STEP = 1e-3  # relative to the time span
TOLERANCE, COARSE = 1e-18, 1e2  # of the local error, and the factor of the coarser one


@dataclass(frozen=True)
class Plan:
    """Collocation at some nodes; `joint` coordinates, or those of the entry; `project` at output times."""

    title: str
    nodes: str
    stages: int
    joint: bool = False
    project: bool = False


RADAU = Plan("Radau IIA of order 15, underlying ODE", "radau", 8)
GAUSS = Plan("Gauss of order 20, joint coordinates", "gauss", 10, joint=True)
PROJECTED = Plan("Gauss of order 20, projected", "gauss", 10, project=True)


@dataclass
class Route:
    """What a method has found: observables by time, and those with the coarser tolerance.

    Attributes
    ----------
    title : str
    values, coarse : dict of float to dict
    states : dict of float to ndarray
        Positions and velocities of the bodies, or of the entry's coordinates.
    evaluations, steps, forced : int
        `forced` steps had the least size: the right-hand side jumps there.
    violation : float
        Of the constraints on positions and velocities at the last time.
    message : str
        Why it ended, if before the last time.
    """

    title: str
    values: dict[float, Observables] = field(default_factory=dict)
    coarse: dict[float, Observables] = field(default_factory=dict)
    states: dict[float, Numbers] = field(default_factory=dict)
    evaluations: int = 0
    steps: int = 0
    forced: int = 0
    violation: float = 0.0
    message: str = ""


def plans(system: System) -> tuple[Plan, Plan]:
    """The two plans for a mechanism."""
    return RADAU, GAUSS if system.mechanism is not None and system.cartesian is None else PROJECTED


def solved(entry: Entry, parameters: Parameters, plan: Plan, times: list[float], progress: TimeProgress | None = None,
           factors: tuple[float, ...] = (1.0, COARSE), like: Route | None = None) -> Route:
    """One route, by one plan, at the given times; quaternions, whose signs mean nothing, get those of the route `like`."""
    system = library.system(entry.name, **parameters)
    own, route, nodes = Equations(system), Route(plan.title), tableau(plan.stages, plan.nodes)
    used = JointEquations(TreeSystem(system.mechanism)) if plan.joint and system.mechanism is not None else own
    with closing(CompiledStages(entry.name, parameters, used is not own, nodes.c, nodes.A)) as stages:
        for factor in factors:
            solver = Collocation(used, TOLERANCE * factor, plan.stages, plan.nodes, entry.stiff, stages)
            bodies, message = _states(solver, own, used, times, entry, plan.project, progress)
            if like is not None and isinstance(used, JointEquations):
                bodies = {t: used.with_signs(y, like.states.get(t, y)) for t, y in bodies.items()}
            values = {t: observed(entry, own, t, y) for t, y in bodies.items()}
            if factor == 1.0:
                last = max(bodies)
                route.values, route.states, route.message = values, bodies, message
                route.violation = own.violation(last, bodies[last])
                route.steps, route.forced, route.evaluations = solver.steps, solver.forced, used.evaluations
            else:
                route.coarse = values
    return route


def _scale(entry: Entry, equations: Equations, y: Numbers) -> Numbers:
    """Sizes of positions and of velocities."""
    q, v = y[:equations.nq], y[equations.nq:]
    size = entry.size or float(np.clip(np.abs(q).max(), 1e-2, 1e8))
    speed = max(float(np.abs(v).max()), size / entry.t_end)
    return np.concatenate([np.full(len(q), size), np.full(len(v), speed)]).astype(Extended)


def _states(solver: Solver, own: Equations, used: Equations, times: list[float], entry: Entry, project: bool,
            progress: TimeProgress | None) -> tuple[dict[float, Numbers], str]:
    """States of the bodies, or of the entry's coordinates, at the times reached, and a message on failure."""
    start = own.start()
    y = used.from_bodies(0.0, start) if isinstance(used, JointEquations) else start
    found, h, now, scale = {0.0: start}, FIRST_STEP * entry.t_end, 0.0, _scale(entry, used, y)
    for t in [t for t in times if t > 0.0]:
        try:
            y = solver.run(now, y, [t], scale, h, progress)[-1]
            y = used.projected(t, y) if project else y
        except (Failure, FloatingPointError, np.linalg.LinAlgError) as error:
            return found, str(error)
        found[t], now, h = used.of_bodies(t, y) if isinstance(used, JointEquations) else y, t, float(solver.step)
    return found, ""


def observed(entry: Entry, equations: Equations, t: float, y: Numbers) -> Observables:
    """The observables, in extended precision as far as the entry's function keeps it."""
    s = equations.state(t, y)
    parts = s.q, s.v, s.a, s.lam
    try:
        return entry.observe(equations.system, t, *parts)
    except TypeError:  # of functions of NumPy for double precision only
        return entry.observe(equations.system, t, *(x.astype(float) for x in parts))
