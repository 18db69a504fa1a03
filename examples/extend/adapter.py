"""An adapter of your own, to any subclass of SciPy's `OdeSolver`, such as other packages have: on the underlying ODE and in charts."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853, OdeSolver

import mbdae
from mbdae import extend as x


class Steps:
    """What `Run` asks for: the next step, and the solution within it."""

    def __init__(self, solver):
        self.solver, self.dense = solver, None

    def step(self):
        message = self.solver.step()
        if self.solver.status == "failed":
            raise x.SolverFailure(x.Status.STEP_TOO_SMALL, message)
        self.dense = None
        return self.solver.t, self.solver.y.copy(), None

    def at(self, t):
        self.dense = self.dense or self.solver.dense_output()  # which may cost evaluations
        return self.dense(t), None


@dataclass(frozen=True)
class Solver(x.Method):
    """A solver class with the interface of `scipy.integrate.OdeSolver`."""

    solver: type[OdeSolver]
    max_steps: int = 100_000

    support = x.explicit_support()

    @property
    def label(self):
        return self.solver.__name__

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval=None, every=1, progress=None, until=None):
        callbacks, (y0, yd0) = x.SolverCallbacks(problem), problem.pack(state)
        evaluate = callbacks.rhs()

        def rhs(t, y):
            out = np.empty(problem.n)
            return out if evaluate(t, y, out) == 0 else np.full(problem.n, np.nan)  # NaN: the equations have no value here

        problem.compile(state.t, y0, yd0)
        run = x.Run(callbacks, state.t, t_end, (y0, yd0), t_eval=t_eval, every=every, progress=progress, until=until,
                    max_steps=self.max_steps)
        watch = x.Stopwatch()
        solver = self.solver(rhs, state.t, y0, t_end, rtol=rtol, atol=problem.tolerances(rtol, atol))
        run.carry_out(lambda: run.pull(Steps(solver)))
        return run.trajectory(x.Statistics(steps=run.steps, residuals=solver.nfev, seconds=watch.seconds))


pendulum = mbdae.library.system("double-pendulum")
run = mbdae.solve(pendulum, Solver(DOP853), (0.0, 1.0), rtol=1e-8, atol=1e-8, events=lambda t, q, v: v[0])
print(f"{run.method}: {run.statistics.steps} steps, {run.statistics.residuals} evaluations, turning points at t = {run.t_events[0]}")
