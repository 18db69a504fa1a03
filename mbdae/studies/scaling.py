"""How cost grows with the number of links: set-up, memory and steps of chains, trees and closed loops, in both kinds of coordinates."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .. import library
from ..driver.method import Method
from ..integrators.bdf import Bdf
from ..integrators.half_implicit import HalfImplicit
from ..integrators.sdirk_sparse.methods import SdirkSparse
from ..integrators.state_space.methods import RosenbrockNystrom
from ..model.mechanism import Mechanism
from ..pictures.figures import COLOURS, GREY, MARKERS, new_figure, style
from ..problems import GGL, Index3, Overdetermined, StateSpace, UnderlyingODE
from ..problems.base import Problem
from ..results.status import Status
from ..system.assembly import State
from ..system.system import System
from ..typing import Progress, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Coordinates = Literal["cartesian", "joint"]

SIZES = (1, 4, 16, 64, 256, 1024, 4096)
STEP = 1e-3  # [s]
CLASSICAL = (0.5, 0.5, 1.0)  # where the stages of the classical Runge-Kutta method stand, but for the first
MEASURED = 0.1  # seconds of processor time that a measurement should take at least
MIN_STEPS, MAX_STEPS = 2, 512  # n-four-bar comes to a singular position at 0.70 s
LIMIT = 20.0  # seconds of processor time that a row may take
MAX_LOOPS = 150  # of a ladder in joint coordinates, where every loop moves with all loops below: the reduced matrix is full
SMALLEST = 64  # links from which on exponents are fitted
DECADE, LABEL = 30.0, 0.28  # points of a decade in the figure, decades of a label


class Family(NamedTuple):
    """A family of mechanisms: parameters of the library's mechanism for about as many links, and the least number of links."""

    mechanism: str
    parameters: Callable[[int], Mapping[str, Any]]
    least: int = 1


def _tree(links: int) -> dict[str, Any]:
    return {"levels": max(1, round(np.log2(links + 1)))}


FAMILIES: Mapping[str, Family] = {
    "chain": Family("chain", lambda n: {"links": n}),
    "tree": Family("tree", _tree),
    "random-tree": Family("random-tree", lambda n: {"bodies": n}),
    "ring": Family("ring", lambda n: {"links": n}, 16),
    "ladder": Family("ladder", lambda n: {"loops": max(1, n // 3)}, 4),
    "n-four-bar": Family("n-four-bar", lambda n: {"windows": max(1, min((n - 1) // 2, 400))}, 4),
}


class Case(NamedTuple):
    """A method with its coordinates, and how its steps are counted."""

    coordinates: Coordinates
    title: str
    form: Callable[[System], Problem]
    method: Callable[[float], Method] | None  # `None`: stages of an explicit method, evaluated here


CASES: Mapping[str, Case] = {
    "half-implicit": Case("cartesian", "half-implicit, Cartesian", Index3, HalfImplicit),
    "half-implicit-joint": Case("joint", "half-implicit, joint", Index3, HalfImplicit),
    "explicit": Case("cartesian", "explicit, Cartesian", UnderlyingODE, None),
    "explicit-joint": Case("joint", "explicit, joint", UnderlyingODE, None),
    "state-space": Case("cartesian", "RosenbrockNystrom, Cartesian", StateSpace, lambda h: RosenbrockNystrom(fixed_step=h)),
    "state-space-joint": Case("joint", "RosenbrockNystrom, joint", StateSpace, lambda h: RosenbrockNystrom(fixed_step=h)),
    "sdirk-sparse": Case("cartesian", "SdirkSparse, Cartesian", Overdetermined, lambda h: SdirkSparse(fixed_step=h, max_jacobian_age=0)),
    "sdirk-sparse-joint": Case("joint", "SdirkSparse, joint", Overdetermined, lambda h: SdirkSparse(fixed_step=h, max_jacobian_age=0)),
    "bdf": Case("cartesian", "Bdf, Cartesian", GGL, lambda h: Bdf(order=2, fixed_step=h)),
}


@dataclass(frozen=True)
class ScalingRow:
    """One method on one mechanism; `None` for what was not measured, with the reason in `message`.

    Attributes
    ----------
    family : str
    case : str
        Key of `CASES`.
    links : int
        Number of bodies.
    nv, nc, freedom : int
        Velocity coordinates, constraint equations, degrees of freedom.
    build, start : float
        Processor time of `System(mechanism)` and of its consistent initial values [s].
    step : float
        Processor time of one step of 1e-3 s [s], of the explicit method of four evaluations.
    evaluation : float
        Of one evaluation, for the explicit method [s].
    steps : int
        Steps that were measured.
    memory : int
        Most bytes that arrays and Python objects took in set-up and the first two steps.
    status : str
    message : str
    """

    family: str
    case: str
    links: int
    nv: int | None = None
    nc: int | None = None
    freedom: int | None = None
    build: float | None = None
    start: float | None = None
    step: float | None = None
    evaluation: float | None = None
    steps: int | None = None
    memory: int | None = None
    status: str = "SUCCESS"
    message: str = ""

    @property
    def per_link(self) -> float | None:
        """Processor time of a step for each link [s]."""
        return None if self.step is None else self.step / self.links


def scaling_study(families: Iterable[str] = tuple(FAMILIES), sizes: Sequence[int] = SIZES, cases: Iterable[str] = tuple(CASES), *,
                  repeats: int = 3, limit: float = LIMIT, progress: Progress | None = None) -> list[ScalingRow]:
    """Cost of set-up and of one step over the number of links.

    Every case runs with the fixed step 1e-3 s from the start of the mechanism, two steps and as many as take some tenths of a second; the
    least times of the repeats count, and their difference is the cost of the steps. A small mechanism runs first, so that nothing is
    compiled or loaded within a measurement. Sizes are left out where the growth of the smaller ones says that a row would take longer than
    the limit, and ladders of many loops in joint coordinates.

    Parameters
    ----------
    families : iterable of str
        Keys of `FAMILIES`.
    sizes : sequence of int
        Numbers of links; each family takes the nearest it can.
    cases : iterable of str
        Keys of `CASES`.
    repeats : int
    limit : float
        Processor time of a row [s].
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    list of ScalingRow

    Raises
    ------
    ValueError
        If there is no such family or case.
    """
    wanted = _known(families, FAMILIES, "family"), _known(cases, CASES, "case")
    rows: list[ScalingRow] = []
    total = len(wanted[0]) * len(wanted[1])
    for k, (family, case) in enumerate((f, c) for f in wanted[0] for c in wanted[1]):
        if progress is not None:
            progress(k, total, f"{family}: {CASES[case].title}")
        rows += _Series(family, case, repeats, limit).rows(sizes)
    return rows


def _known(names: Iterable[str], known: Mapping[str, Any], what: str) -> list[str]:
    found = list(names)
    for name in found:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return found


class _Series:
    """The rows of one method on one family."""

    def __init__(self, family: str, case: str, repeats: int, limit: float) -> None:
        self.family, self.case, self.repeats, self.limit = family, case, repeats, limit
        self._costs: list[tuple[int, float]] = []  # links and processor time of the rows

    def rows(self, sizes: Sequence[int]) -> list[ScalingRow]:
        """One row for each size."""
        found: list[ScalingRow] = []
        self._measured(_mechanism(self.family, FAMILIES[self.family].least), 1)  # compiles and loads
        for mechanism in {len(m.bodies): m for m in (_mechanism(self.family, n) for n in sorted(sizes))}.values():
            links, begin = len(mechanism.bodies), time.process_time()
            reason = self._left_out(links, found)
            found.append(ScalingRow(self.family, self.case, links, status="LEFT_OUT", message=reason) if reason
                         else self._measured(mechanism, self.repeats))
            self._costs.append((links, time.process_time() - begin))
        return found

    def _left_out(self, links: int, found: Sequence[ScalingRow]) -> str:
        """Why a size is not measured; empty if it is."""
        if any(r.status != Status.SUCCESS.name for r in found):
            return "a smaller one was left out or failed"
        if len(self._costs) > 1:
            (n, x), (m, y) = self._costs[-2:]
            exponent = max(1.0, np.log(y / x) / np.log(m / n))
            if y * (links / m) ** exponent > self.limit:
                return f"takes longer than {self.limit:g} s"
        if CASES[self.case].coordinates == "joint" and FAMILIES[self.family].parameters(links).get("loops", 0) > MAX_LOOPS:
            return f"more than {MAX_LOOPS} loops, each of which moves with all those below"
        return ""

    def _measured(self, mechanism: Mechanism, repeats: int) -> ScalingRow:
        case = CASES[self.case]
        gc.collect()
        tracemalloc.start()
        try:
            run = _Run(case, System(mechanism, coordinates=case.coordinates))
            run(MIN_STEPS)
            memory = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        system = run.system
        size = ScalingRow(self.family, self.case, len(mechanism.bodies), system.nv, system.nc, system.freedom)
        if run.status != Status.SUCCESS.name:
            return replace(size, status=run.status, message=run.message)
        steps, step = run.cost(repeats)
        if run.status != Status.SUCCESS.name:
            return replace(size, status=run.status, message=run.message)
        build, start = np.min([_set_up(mechanism, case.coordinates) for _ in range(repeats)], axis=0)
        evaluation = step / (1 + len(CLASSICAL)) if case.method is None else None
        return replace(size, build=float(build), start=float(start), step=step, steps=steps, memory=memory, evaluation=evaluation)


def _mechanism(family: str, links: int) -> Mechanism:
    f = FAMILIES[family]
    return library.mechanism(f.mechanism, **f.parameters(max(links, f.least)))


def _set_up(mechanism: Mechanism, coordinates: Coordinates) -> tuple[float, float]:
    """Processor time of the system and of its initial values."""
    gc.collect()
    begin = time.process_time()
    system = System(mechanism, coordinates=coordinates)
    built = time.process_time()
    system.start  # noqa: B018
    return built - begin, time.process_time() - built


class _Run:
    """Runs of some steps from the start; `run(steps)` is their processor time."""

    def __init__(self, case: Case, system: System) -> None:
        self.system, self._case, self._state = system, case, system.start
        self._problem = case.form(system)
        self.status, self.message = Status.SUCCESS.name, ""

    def __call__(self, steps: int) -> float:
        advance = self._evaluate if self._case.method is None else self._integrate
        begin = time.process_time()
        advance(steps)
        return time.process_time() - begin

    def cost(self, repeats: int) -> tuple[int, float]:
        """Number of steps, and the processor time of one of them, without that of a start of the method."""
        few, steps = min(self(MIN_STEPS) for _ in range(repeats)), 2 * MIN_STEPS
        while (total := self(steps)) < max(MEASURED, 4.0 * few) and steps < MAX_STEPS and self.status == Status.SUCCESS.name:
            steps, few = 2 * steps, min(few, self(MIN_STEPS))  # a start may have been disturbed
        total = min(total, *(self(steps) for _ in range(repeats - 1)), np.inf)
        return steps, (total - few) / (steps - MIN_STEPS)

    def _evaluate(self, steps: int) -> None:
        if not np.isfinite(_explicit(self._problem, self._state, steps)).all():
            self.status, self.message = Status.NOT_FINITE.name, f"the motion is not finite after {steps} explicit steps"

    def _integrate(self, steps: int) -> None:
        assert self._case.method is not None
        method, t = self._case.method(STEP), self._state.t
        found = method.integrate(self._problem, self._state, t + steps * STEP, every=10**9, rtol=1e-6, atol=1e-8)
        self.status, self.message = found.status.name, found.message


def _explicit(problem: Any, state: State, steps: int) -> Vector:
    """Steps of the classical Runge-Kutta method on `y' = f(t, y)`: the sums are vectors, so evaluations are nearly all of the cost."""
    y, t, kernel, arguments = problem.pack(state)[0].copy(), state.t, problem.kernel, problem.arguments
    slopes = [np.empty_like(y) for _ in range(4)]
    for _ in range(steps):
        kernel(t, y, slopes[0], *arguments)
        for k, c in enumerate(CLASSICAL):
            kernel(t + c * STEP, y + c * STEP * slopes[k], slopes[k + 1], *arguments)
        y += STEP / 6.0 * (slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3])
        t += STEP
    return y


# growth ------------------------------------------------------------------------------------------------------------------------


QUANTITIES = ("build", "start", "step", "memory")


def growth(rows: Iterable[ScalingRow], quantity: str = "step", smallest: int = SMALLEST) -> float | None:
    """Exponent `p` of `cost ~ links^p`, fitted by least squares in logarithms.

    Parameters
    ----------
    rows : iterable of ScalingRow
        Of one family and case.
    quantity : {"build", "start", "step", "memory"}
    smallest : int
        Links from which on rows count; the two largest ones always do.

    Returns
    -------
    float or None
        `None` with fewer than two rows.
    """
    pairs = sorted((r.links, getattr(r, quantity)) for r in rows if getattr(r, quantity))
    large = [p for k, p in enumerate(pairs) if p[0] >= smallest or k >= len(pairs) - 2]
    if len(large) < 2:
        return None
    x, y = np.log(np.array(large, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def by_series(rows: Iterable[ScalingRow]) -> dict[tuple[str, str], list[ScalingRow]]:
    """The rows of each family and case."""
    found: dict[tuple[str, str], list[ScalingRow]] = {}
    for r in rows:
        found.setdefault((r.family, r.case), []).append(r)
    return found


# figure ------------------------------------------------------------------------------------------------------------------------


def plot_scaling(rows: Sequence[ScalingRow], title: str | None = None) -> Figure:
    """Time per step and link, one panel for each family, one curve for each case, with fitted exponents of the time per step.

    Parameters
    ----------
    rows : list of ScalingRow
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    families = list(dict.fromkeys(r.family for r in rows))
    with style():
        figure = new_figure(2.6 * min(3, len(families)) + 0.4, 2.5 * -(-len(families) // 3) + 0.6)
        axes = figure.subplots(-(-len(families) // 3), min(3, len(families)), squeeze=False, sharex=True, sharey=True)
        for axis, family in zip(axes.flat, families):
            _draw(axis, family, [r for r in rows if r.family == family])
        for axis in axes.flat[len(families):]:
            axis.set_visible(False)
        for axis in axes[:, 0]:
            axis.set_ylabel("time per step and link  [µs]")
        for axis in axes[-1]:
            axis.set_xlabel("number of links $N$")
        axes[0, 0].text(0.03, 0.97, "$N^p$: fitted growth\nof the time per step", transform=axes[0, 0].transAxes, va="top", fontsize=7.0,
                        color=GREY)
        handles = {label: h for axis in axes.flat for h, label in zip(*axis.get_legend_handles_labels())}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _draw(axis: Axes, family: str, rows: Sequence[ScalingRow]) -> None:
    ends: list[tuple[float, float, str, str]] = []  # links, time, exponent, colour
    for k, (name, case) in enumerate(CASES.items()):
        of_case = [r for r in rows if r.case == name and r.step is not None]
        if not of_case:
            continue
        points = [(float(r.links), 1e6 * (r.per_link or 0.0)) for r in of_case]
        colour, joint = COLOURS[k // 2], case.coordinates == "joint"
        axis.loglog(*zip(*points), label=case.title, color=colour, marker=list(MARKERS)[k // 2], markersize=4.2,
                    linestyle="-" if joint else (0, (4, 2)), markerfacecolor=colour if joint else "white")
        exponent = growth(of_case)
        if exponent is not None and len(of_case) > 2:
            ends.append((*points[-1], f"$N^{{{exponent:.2f}}}$", colour))
    _annotate(axis, ends)
    axis.set_title(family, color=GREY)


def _annotate(axis: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Exponents at the ends of the curves, one above the other where they would overlap."""
    below = -np.inf
    for links, x, text, colour in sorted(ends, key=lambda end: end[1]):
        below = max(below + LABEL, float(np.log10(x)))
        axis.annotate(text, (links, x), xytext=(5, DECADE * (below - np.log10(x))), textcoords="offset points", va="center", fontsize=6.5,
                      color=colour)
