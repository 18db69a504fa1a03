"""Quantities of a solution over time: coordinates, velocities, energy, constraint violation, reactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.primitives import D
from ..results.names import Column, Names, chosen, names_of
from ..results.solution import Solution
from ..spelling import guess
from ..system.tree.system import TreeSystem
from ..typing import Matrix, Vector
from .figures import COLOURS, GREY, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_CURVES = 6  # of a panel, if they are not chosen
MAX_ROWS = 2000  # points of a curve
SMOOTH = 400  # points of curves of a solution with fewer steps and with dense output
NOISE = 1e-9  # variation below which a component rests, relative to the largest one of its unit
DECADES = 1e-12  # smallest residual on the logarithmic axis, relative to the largest
EXACT = (1e-18, 1e-12)  # limits of the axis where no constraint is violated
WORDS = {"q": "coordinates", "v": "velocities", "a": "accelerations"}
LABELS = {"m": "position  [m]", "rad": "angle  [rad]", "m/s": "velocity  [m/s]", "rad/s": "angular velocity  [rad/s]",
          "m/s^2": "acceleration  [m/s²]", "rad/s^2": "angular acceleration  [rad/s²]", "N": "force  [N]", "N m": "torque  [N m]",
          "N/m": "multiplier  [N/m]", "J": "energy  [J]"}


@dataclass(frozen=True)
class Curve:
    """Values over time, shape (n,), and their name."""

    name: str
    values: Vector


@dataclass(frozen=True)
class Panel:
    """Curves of one unit over the times `t`, by default those of all panels; `more`: what has been left out, in words."""

    title: str
    label: str
    curves: Sequence[Curve]
    more: str = ""
    log: bool = False
    t: Vector | None = None


class _Quantities:
    """The panels of a solution, thinned to `MAX_ROWS` points, or between few steps on the interpolant, if there is one."""

    def __init__(self, solution: Solution, bodies: Iterable[str] | None, names: Iterable[str] | None) -> None:
        self.solution, self.system = solution, solution.system
        self.rows = np.unique(np.linspace(0, len(solution.t) - 1, min(MAX_ROWS, len(solution.t))).round().astype(int))
        self.steps = self.t = solution.t[self.rows]
        self.q, self.v, self.a, self.lam = (getattr(solution, x)[self.rows] for x in ("q", "v", "a", "lam"))
        if solution.sol is not None and not solution.jumps and 1 < len(self.steps) < SMOOTH:
            self.t = np.union1d(self.steps, np.linspace(self.steps.min(), self.steps.max(), SMOOTH))
            self.q, self.v, self.a, self.lam = solution.sol(self.t)
        self.bodies, self.names = bodies, names
        self.columns, self.motion = self._motion()

    def _motion(self) -> tuple[Names, tuple[Matrix, Matrix, Matrix]]:
        """Names and values of q, v, a: Cartesian ones if bodies are asked for."""
        q, v, a = self.q, self.v, self.a
        if self.bodies is not None and isinstance(self.system, TreeSystem):
            q, v, a = self.system.to_cartesian(q, v, a, t=self.t)
            return names_of(self.system.cartesian), (q, v, a)
        return names_of(self.system), (q, v, a)

    # what can be drawn ---------------------------------------------------------------------------------------------------

    def components(self, block: str) -> list[Panel]:
        """A panel for each unit of a block of components."""
        columns, values = getattr(self.columns, block), self.motion["qva".index(block)]
        wanted = self._wanted(columns, WORDS[block])
        panels = []
        for unit in dict.fromkeys(columns[k].unit for k in wanted):
            here = [k for k in wanted if columns[k].unit == unit]
            some = here if self._is_chosen(columns) else _most(values, here)
            label = LABELS.get(unit, "quaternion" if _is_quaternion(columns[here[0]]) else WORDS[block])
            panels.append(Panel(WORDS[block], label, [Curve(columns[k].name, values[:, k]) for k in some], _share(some, here, "vary")))
        return panels

    def _wanted(self, columns: Sequence[Column], what: str) -> list[int]:
        if self.bodies is not None:
            return chosen(columns, self.bodies, what)
        return self._named(columns) or list(range(len(columns)))

    def _is_chosen(self, columns: Sequence[Column]) -> bool:
        return self.bodies is not None or bool(self._named(columns))

    def _named(self, columns: Sequence[Column]) -> list[int]:
        """The columns of the names that are asked for, those without a column left out."""
        known = {x for c in columns for x in (c.name, c.owner, c.component)}
        return chosen(columns, [name for name in self.names or () if name in known], "")

    def energy(self) -> list[Panel]:
        """Kinetic, potential and total energy, as far as they are known."""
        states = list(zip(self.t, self.q, self.v))
        kinetic = np.array([self.system.kinetic_energy(*state) for state in states])
        total = np.array([self.system.energy(*state) for state in states])
        curves = [Curve("kinetic", kinetic)]
        if np.isfinite(total).all():
            curves += [Curve("potential", total - kinetic), Curve("total", total)]
        return [Panel("energy", LABELS["J"], curves)]

    def constraints(self) -> list[Panel]:
        """The largest violations on the position and velocity level, at steps only: between them they are those of the interpolant."""
        if not self.system.nc:
            return []
        worst = self.solution._residuals(self.rows)[:, :2]
        curves = [Curve(name, np.where(x > 0.0, x, np.nan)) for name, x in zip(("positions", "velocities"), worst.T)]
        return [Panel("constraint violation", "largest residual", curves, log=True, t=self.steps)]

    def reactions(self) -> list[Panel]:
        """Forces and torques of joints; components of those that are asked for."""
        columns = self.columns.lam if self.bodies is None else names_of(self.system).lam
        lam, picked = self.lam, self._named(columns)
        if picked:
            found = [(columns[k].unit, Curve(columns[k].name, lam[:, k])) for k in picked]
        else:
            found = self._magnitudes(columns, lam)
        panels = []
        for unit in dict.fromkeys(unit for unit, _ in found):
            here = [curve for u, curve in found if u == unit]
            some = here if picked else sorted(sorted(here, key=lambda c: -np.abs(c.values).max())[:MAX_CURVES], key=here.index)
            title = "multipliers" if picked else f"{'torques' if unit == 'N m' else 'forces'} in joints" if unit else "multipliers"
            panels.append(Panel(title, LABELS.get(unit, "multiplier"), some, _share(some, here, "are largest")))
        return panels

    def _magnitudes(self, columns: Sequence[Column], lam: Matrix) -> list[tuple[str, Curve]]:
        """Per joint the magnitudes of its force and its torque; of a rod the force in it."""
        lengths = self._lengths()
        found: list[tuple[str, Curve]] = []
        for owner, unit in dict.fromkeys((c.owner, "N" if k in lengths else c.unit) for k, c in enumerate(columns)):
            here = [k for k, c in enumerate(columns) if c.owner == owner and unit == ("N" if k in lengths else c.unit)]
            forces = np.stack([lam[:, k] * lengths.get(k, 1.0) for k in here], axis=1)
            found.append((unit, Curve(owner, np.linalg.norm(forces, axis=1) if len(here) > 1 else forces[:, 0])))
        return found

    def _lengths(self) -> dict[int, Vector]:
        """Twice the lengths of rods by the numbers of their equations: the force in a rod is its multiplier times that."""
        m = self.system.constrained
        rods = {} if m is None else {p.name: p for p in m.primitives if isinstance(p, D)}
        return {k: 2.0 * np.sqrt([rods[label].f(t)[0] for t in self.t]) for k, label in enumerate(self.system.labels) if label in rods}


def _is_quaternion(column: Column) -> bool:
    return column.component in ("e0", "e1", "e2", "e3")


def _most(values: Matrix, here: Sequence[int]) -> list[int]:
    """The components that vary most; of several that rest none but the first."""
    spread = np.ptp(values[:, here], axis=0)
    order = [k for k in np.argsort(-spread, kind="stable")[:MAX_CURVES] if spread[k] > NOISE * max(spread.max(), 1e-300)]
    return sorted(here[k] for k in order) or list(here[:1])


def _share(some: Sequence[Any], here: Sequence[Any], how: str) -> str:
    return f"the {len(some)} of {len(here)} that {how} most" if len(some) < len(here) and how == "vary" else (
        f"the {len(some)} of {len(here)} that {how}" if len(some) < len(here) else "")


_MAKERS: dict[str, Callable[[_Quantities], list[Panel]]] = {
    "coordinates": lambda x: x.components("q"), "velocities": lambda x: x.components("v"), "accelerations": lambda x: x.components("a"),
    "energy": _Quantities.energy, "constraints": _Quantities.constraints, "reactions": _Quantities.reactions}


def plot(solution: Solution, what: str | Iterable[str] = "overview", *, bodies: str | Iterable[str] | None = None,
         names: str | Iterable[str] | None = None, title: str | None = None) -> Figure:
    """See `Solution.plot`."""
    if len(solution.t) == 0:
        raise ValueError("Solution.plot: there is nothing to show, the solution has no points")
    found = _Quantities(solution, _listed(bodies), _listed(names))
    _check_names(found)
    panels = _panels(found, what)
    with style():
        figure = _drawn(found.t, panels)
        name = f"{solution.system.name},  {solution.method}, {solution.formulation}" if title is None else title
        figure.suptitle(name, fontsize=10, color="#222222")
    return figure


def _listed(names: str | Iterable[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _check_names(found: _Quantities) -> None:
    """Refuse bodies and names that do not exist."""
    if found.bodies is not None:
        chosen(found.columns.q, found.bodies, "Solution.plot: bodies")
    columns = [c for block in found.columns for c in block]
    for name in found.names or ():
        chosen(columns, name, "Solution.plot: names")


def _panels(found: _Quantities, what: str | Iterable[str]) -> list[Panel]:
    if what == "overview":
        return _overview(found)
    wanted = [what] if isinstance(what, str) else list(what)
    for name in wanted:
        if name not in _MAKERS:
            raise ValueError(f"Solution.plot: what must be 'overview' or of {', '.join(_MAKERS)}, got {name!r}{guess(name, _MAKERS)}")
    made = [_MAKERS[name](found) for name in wanted]
    panels = [panel for row in made for panel in (row if len(wanted) == 1 else row[:1])]
    if not panels:
        raise ValueError(f"Solution.plot: {found.system.name} has no constraints, so there are no {' and no '.join(wanted)} to show")
    return panels


def _overview(found: _Quantities) -> list[Panel]:
    """Coordinates, energy, constraint violation and reactions; velocities and accelerations for what there is not."""
    panels = found.components("q")[:1] + found.energy() + found.constraints() + found.reactions()[:1]
    for block in "va":
        if len(panels) < 4:
            panels[len(panels) - 1:len(panels) - 1] = found.components(block)[:1]
    return panels[:4]


# drawing -------------------------------------------------------------------------------------------------------------------------


def _drawn(t: Vector, panels: Sequence[Panel]) -> Figure:
    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    figure = new_figure(5.4 if columns == 1 else 9.4, 0.5 + (3.0 if rows == 1 else 2.6 * rows))
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis, panel in zip(axes.flat, panels):
        _draw(axis, t if panel.t is None else panel.t, panel)
    for axis in list(axes.flat)[len(panels):]:
        axis.set_visible(False)
    return figure


def _draw(axis: Axes, t: Vector, panel: Panel) -> None:
    for k, curve in enumerate(panel.curves):
        axis.plot(t, curve.values, color=COLOURS[k % len(COLOURS)], linestyle=("-", "--", ":")[k // len(COLOURS) % 3], linewidth=1.1,
                  label=curve.name)
    axis.set(xlabel="time  [s]", ylabel=panel.label)
    axis.set_title(panel.title, loc="left", fontsize=9)
    if panel.more:
        axis.set_title(panel.more, loc="right", fontsize=7, color=GREY)
    axis.margins(x=0.0)
    if len(t) > 1:
        axis.set_xlim(t.min(), t.max())  # also where the first values are zero, which have no logarithm
    if panel.log:
        axis.set_yscale("log")
        axis.set_ylim(bottom=max(axis.get_ylim()[0], DECADES * max(np.nanmax(c.values, initial=0.0) for c in panel.curves)))
        if not any(np.isfinite(c.values).any() for c in panel.curves):
            axis.set_ylim(EXACT)
            axis.text(0.5, 0.5, "zero", transform=axis.transAxes, ha="center", color=GREY)
    else:
        show_constant(axis, np.concatenate([c.values for c in panel.curves]))
    if len(panel.curves) > 1 or panel.title not in panel.curves[0].name:
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2, handlelength=1.4,
                    ncols=1 + len(panel.curves) // 14)


def show_constant(axis: Axes, values: Vector) -> None:
    """Limits that show a constant as a line in the middle instead of magnified rounding errors."""
    middle, spread = float(np.mean(values)), float(np.ptp(values)) if len(values) else 0.0
    if spread <= NOISE * max(abs(middle), NOISE):
        half = 0.1 * abs(middle) if abs(middle) > NOISE else 1.0  # values that are zero up to rounding have no scale
        axis.set_ylim(middle - half, middle + half)
