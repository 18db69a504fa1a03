"""The studies: which cells each of them has, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...registry import find
from ...spelling import guess
from ...typing import Progress
from .. import scaling
from . import figures
from .cache import Cache
from .curves import CurveTask
from .energies import POINTS as DRIFT_POINTS
from .energies import DriftTask
from .executors import Executor, Serial
from .fastest import ACCURACIES
from .others import JacobianTask, ScalingTask
from .passes import carry_out_in_passes
from .profile_figures import plot_profile
from .profile_page import REPEATS
from .references import ReferenceTask
from .runs import POINTS, RTOL, Cell, RunTask, run_cells
from .table import StudyTable, merged, provenance
from .target import Target, targets_of
from .task import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY_TOLERANCES = tuple(10.0**-k for k in range(4, 11))
LADDER = tuple(10.0**-k for k in range(2, 13))  # of the study of profiles: a curve ends where it is accurate enough
COMPARED = (  # methods with error control, the best of each family and formulation
    "Automatic", "RosenbrockNystrom", "SdirkFirstOrder", "Bdf:ggl", "RadauIIA", "DormandPrince:8", "DormandPrince:5", "HalfExplicit",
    "Adams", "NullSpaceHHT", "Ida:ggl", "Ida:index1", "Cvode:BDF", "Cvode:Adams", "SolveIvp:DOP853", "SolveIvp:LSODA", "Odes:dop853",
    "Odes:dopri5", "Odes:ddaspk", "Assimulo:LSODAR", "Assimulo:Radau5DAE", "Assimulo:Radau5ODE", "Assimulo:ODASSL", "Assimulo:RodasODE",
    "Radau13",
)
STRATEGIC = ("Ida:ggl", "Bdf:ggl")  # solvers for the study of Jacobians
IN_PASSES = ("work-precision", "profile")  # studies of times


@dataclass(frozen=True)
class Selection:
    """What a study is made of; empty fields mean the usual choice of the study.

    Attributes
    ----------
    targets : tuple of Target
    methods, formulations : tuple of str
    rtol, steps : tuple of float
    sizes : tuple of int
        Numbers of links, of the study of scaling.
    repeats : int
    limit : float or None
        Time limit of a run [s].
    passes : int
    """

    targets: tuple[Target, ...] = ()
    methods: tuple[str, ...] = ()
    formulations: tuple[str, ...] = ()
    rtol: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    repeats: int | None = None
    limit: float | None = 60.0
    passes: int = 1

    def cells(self, repeats: int, points: int = POINTS, rtol: Sequence[float] = (), controls: Sequence[str] = ("h", "rtol"),
              methods: Sequence[str] = ()) -> list[Cell]:
        """The runs, with the usual choice of a study where nothing is selected."""
        cells = run_cells(self.targets, self.methods or methods, self.formulations, self.rtol or rtol, self.steps,
                          repeats=self.repeats or repeats, limit=self.limit, points=points, controls=controls)
        if not cells:
            wanted = "a fixed step, over steps" if controls == ("h",) else "error control, over tolerances"
            raise ValueError(f"this study takes methods with {wanted}, not {', '.join(self.methods)}")
        return cells


Carry = Callable[[Sequence[Task]], list[Any]]


@dataclass(frozen=True)
class Study:
    """One kind of study.

    Attributes
    ----------
    name, summary : str
    rows : callable
        `rows(selection, carry_out, at_once)`.
    figure : callable
        `figure(rows, title)`.
    """

    name: str
    summary: str
    rows: Callable[[Selection, Carry, int], list[Any]]
    figure: Callable[[Sequence[Any], str | None], Figure]


def _runs(cells: Sequence[Cell], carry: Carry, at_once: int) -> list[Any]:
    """Rows of runs, after the reference solutions that they need."""
    needed = list(dict.fromkeys(ReferenceTask(cell.target, cell.points) for cell in cells))
    exact = dict(zip(needed, carry(needed)))
    return merged(carry([RunTask(cell, exact[ReferenceTask(cell.target, cell.points)], at_once) for cell in cells]))


def _work_precision(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    return _runs(s.cells(repeats=5), carry, at_once)


def _order(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    methods = ("HalfImplicit", "FullyImplicit", "NullSpaceGeneralizedAlpha", "ProjectedGauss:2")
    return _runs(s.cells(repeats=1, controls=("h",), methods=methods), carry, at_once)


def _tolerance(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    return _runs(s.cells(repeats=1, rtol=MANY_TOLERANCES, controls=("rtol",)), carry, at_once)


def _solvers(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    from ..matrix import solvers

    return _runs(s.cells(repeats=1, rtol=(1e-6,), controls=("rtol",), methods=[spec.name for spec in solvers()]), carry, at_once)


def _profile(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    cells = s.cells(repeats=REPEATS, rtol=LADDER, controls=("rtol",), methods=COMPARED)
    needed = list(dict.fromkeys(ReferenceTask(cell.target, cell.points) for cell in cells))
    exact = dict(zip(needed, carry(needed)))
    curves: dict[tuple[Target, str, str | None], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: -cell.setting):
        curves.setdefault((cell.target, cell.method, cell.formulation), []).append(cell)
    return merged(carry([CurveTask(tuple(mine), ACCURACIES[-1], exact[ReferenceTask(mine[0].target, mine[0].points)], at_once)
                         for mine in curves.values()]))


def _drift(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    return merged(carry([DriftTask(cell, at_once) for cell in s.cells(repeats=1, points=DRIFT_POINTS)]))


def _scaling(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    names = [target.mechanism for target in s.targets] or list(scaling.FAMILIES)
    for name in names:
        if name not in scaling.FAMILIES:
            raise ValueError(f"the study of scaling takes {', '.join(scaling.FAMILIES)}, not {name!r}")
    for name in s.methods:
        if name not in scaling.CASES:
            raise ValueError(f"the study of scaling takes the methods {', '.join(scaling.CASES)}, not {name!r}{guess(name, scaling.CASES)}")
    tasks = [ScalingTask(family, case, s.sizes or scaling.SIZES, s.repeats or 3, s.limit or scaling.LIMIT)
             for family in names for case in s.methods or scaling.CASES]
    return merged(carry(tasks))


def _jacobian(s: Selection, carry: Carry, at_once: int) -> list[Any]:
    tasks = [JacobianTask(target, name, form, rtol, s.repeats or 3, s.limit) for target in s.targets for name in s.methods or STRATEGIC
             for form in _formulations(name, s.formulations) for rtol in s.rtol or RTOL[:1]]
    return merged(carry(tasks))


def _formulations(name: str, chosen: Sequence[str]) -> Sequence[str]:
    spec = find(name)
    if spec.formulation is not None:
        return (spec.formulation,)
    return tuple(chosen) or spec.family.forms(spec.variant)[:1] or ("index3",)


STUDIES: Mapping[str, Study] = {s.name: s for s in (
    Study("work-precision", "errors, constraint violation and drift of energy against processor time", _work_precision,
          figures.plot_work_precision_of_many),
    Study("order", "errors over the step, with fitted orders", _order, figures.plot_orders),
    Study("drift", "energy and constraint violation over long times", _drift, figures.plot_drift),
    Study("tolerance", "error over tolerance: is it proportional?", _tolerance, figures.plot_tolerance),
    Study("solvers", "every solver in every formulation: error in tolerances, refusals, failures", _solvers, figures.plot_solvers),
    Study("profile", "the fastest method for an accuracy, in-house or established; profiles", _profile, plot_profile),
    Study("jacobian", "strategies for Jacobians: evaluations and processor time", _jacobian, figures.plot_strategies),
    Study("scaling", "growth of cost with the number of links", _scaling, figures.plot_scaling),
)}


def study(name: str, mechanisms: Sequence[str | Path | Target] = (), *, methods: Sequence[str] = (), formulations: Sequence[str] = (),
          rtol: Sequence[float] = (), steps: Sequence[float] = (), sizes: Sequence[int] = (), t_end: float | None = None,
          repeats: int | None = None, passes: int = 1, limit: float | None = 60.0, executor: Executor | None = None,
          folder: str | Path | None = None, fresh: bool = False, progress: Progress | None = None) -> StudyTable:
    """Carry out a study.

    Parameters
    ----------
    name : str
        Key of `STUDIES`: `"work-precision"`, `"order"`, `"drift"`, `"tolerance"`, `"solvers"`, `"profile"`, `"jacobian"`,
        `"scaling"`.
    mechanisms : sequence of str, path or Target
        Names of the library, files, or `Target.of(name, parameters, coordinates, t_end)`.
    methods, formulations : sequence of str
        Names, see `mbdae.registry`; by default those usual for study and mechanism.
    rtol, steps : sequence of float
        Relative tolerances (`atol = rtol/100`) and steps [s].
    sizes : sequence of int
        Numbers of links, of the study of scaling.
    t_end : float, optional
        End of the time span [s].
    repeats : int, optional
        Runs of which the least processor time is taken.
    passes : int
        How often the whole study is carried out, of `"work-precision"` and `"profile"`: the least times of all passes are taken, as other
        programs slow a machine down for longer than all repeats of a run take.
    limit : float, optional
        Time limit of a run [s].
    executor : Executor, optional
        `Serial()` (the default), `Joblib(jobs)` or `Dask(scheduler)`.
    folder : path, optional
        Where results of cells are kept; the same study goes on from them after an interrupt.
    fresh : bool
        Whether kept results are computed again.
    progress : callable, optional
        `progress(done, total, text)`.

    Returns
    -------
    StudyTable
        One row for each cell; cells that fail or are refused have a status and a message.

    Raises
    ------
    ValueError
        If there is no such study, mechanism or method, or it is not carried out in passes.
    """
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}{guess(name, STUDIES)}; there are {', '.join(STUDIES)}")
    if not mechanisms and name != "scaling":
        raise ValueError(f"the study {name!r} needs mechanisms")
    for method in methods if name != "scaling" else ():
        find(method)
    if isinstance(passes, bool) or not isinstance(passes, int) or passes < 1 or (passes > 1 and name not in IN_PASSES):
        raise ValueError(f"passes must be 1, or a larger integer for the studies {' and '.join(IN_PASSES)}, got {passes!r} for {name!r}")
    targets, executor = tuple(targets_of(mechanisms, t_end)), Serial() if executor is None else executor
    selection = Selection(targets, tuple(methods), tuple(formulations), tuple(rtol), tuple(steps), tuple(sizes), repeats, limit, passes)
    caches = [Cache(folder, fresh, turn) for turn in range(1, passes + 1)]
    carry = partial(carry_out_in_passes, caches=caches, executor=executor, progress=progress)
    rows = STUDIES[name].rows(selection, carry, executor.workers)
    return StudyTable(name, rows, provenance(_settings(selection), executor.workers))


def _settings(s: Selection) -> dict[str, Any]:
    return {"mechanisms": [(t.label, t.t_end) for t in s.targets], "methods": s.methods, "formulations": s.formulations, "rtol": s.rtol,
            "steps": s.steps, "sizes": s.sizes, "repeats": s.repeats, "limit": s.limit, "passes": s.passes}
