"""The projected states of a run by any other method."""

from dataclasses import replace

import numpy as np

from ...results.diagnosis import ChartError
from ...results.messages import failed
from ...results.statistics import Statistics
from ...results.steps import Step, StepWatch
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...system.codes import GOOD
from ...system.system import System
from ...typing import FullState, Vector
from .project import INITIAL, NOTHING, Projector, project


class Projection:
    """The projections of one run; the initial energy is that of the state given."""

    def __init__(self, projector: Projector, system: System, state: State) -> None:
        self.system, self.projector = system, projector
        self.target = self.projector.value(state.t, state.q, state.v)

    def of(self, t: float, state: FullState, target: float | None = None) -> tuple[FullState, float]:
        """The projected state and its energy; `target` is the energy to be conserved, by default that of `keep`."""
        p, (q, v, a, lam) = self.projector, (np.array(x, dtype=float) for x in state)
        if not any(p.levels):
            return (q, v, a, lam), self.target
        target = self.target if target is None else target
        code, reached = project(float(t), q, v, a, lam, target, p.projection, p.model, p.work)
        self.system.callbacks.check()
        if code != GOOD:
            raise ChartError(*p.explain(code, t, q))
        return (q, v, a, lam), reached

    def keep(self, reached: float) -> None:
        """Conserve the energy of this state from here on, if that of the previous state is to be conserved."""
        if self.projector.keeps not in (INITIAL, NOTHING):
            self.target = reached

    def of_all(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with projected states, up to the first one that cannot be projected."""
        T = trajectory
        rows: list[FullState] = []
        try:
            for t, *state in zip(T.t, T.q, T.v, T.a, T.lam):
                q, v, a, lam = state
                found, reached = self.of(t, (q, v, a, lam))
                self.keep(reached)
                rows.append(found)
        except ChartError as failure:
            n = len(rows)
            last = T.t[n - 1] if n else T.t[0]
            T = replace(T, t=T.t[:n], status=failure.status, message=failed(failure.reason, last))
        sizes = self.system.nq, self.system.nv, self.system.nv, self.system.nc
        q, v, a, lam = (np.array([row[k] for row in rows]).reshape(len(rows), n) for k, n in enumerate(sizes))
        return replace(T, statistics=self.counted(T.statistics), q=q, v=v, a=a, lam=lam)

    def counted(self, statistics: Statistics) -> Statistics:
        """With the factorisations and solves of the projections, if the method counts its own."""
        s, p = statistics, self.projector
        return replace(s, factorisations=None if s.factorisations is None else s.factorisations + p.factorisations,
                       solves=None if s.solves is None else s.solves + p.solves)


class ProjectedSteps(StepWatch):
    """The steps of a method with projected states."""

    def __init__(self, until: StepWatch, projection: Projection) -> None:
        self._until, self._projection = until, projection

    def contents(self) -> dict[str, Vector]:
        """See `StepWatch`."""
        return self._until.contents()

    def after(self, step: Step) -> bool:
        """See `StepWatch`."""
        def complete(t: float, values: Vector) -> FullState:
            return self._projection.of(t, step.complete(t, values))[0]

        return self._until.after(replace(step, motion=lambda: complete(step.t, step.end)[:2], complete=complete))
