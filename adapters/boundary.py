"""The boundary to foreign solvers: what crosses it is counted, guarded against values that are not finite, and kept on failure."""

import numpy as np

from mbdae.compiled import compiled
from mbdae.status import Status
from mbdae.system.assembly import AssemblyError
from mbdae.trajectory import Trajectory

TOLERATED_IN_A_ROW, TOLERATED = 50, 1000  # evaluations that may be not finite before the run is ended
STALLED = 1000  # steps in a row that move time by rounding only
HUGE = 1e60  # what a solver sees instead: its Newton iteration diverges and the step is cut


@compiled
def _all_finite(x):
    for k in range(x.shape[0]):
        if not np.isfinite(x[k]):
            return False
    return True


class SolverFailure(Exception):
    """A foreign solver cannot go on."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


def refuse_redundant(state, label):
    """Redundant constraints make the iteration matrix of an implicit form singular: say so before the solver fails.

    Raises
    ------
    ValueError
    """
    if state.redundant:
        names = ", ".join(repr(name) for name in state.redundant)
        raise ValueError(f"{label} needs independent constraints, but these follow from the others: {names}; leave them out with "
                         f"mechanism.without({names}), or use the underlying ODE or a one-step integrator")


class Guard:
    """Counts evaluations and replaces values that are not finite.

    A Newton iterate may leave the domain of the equations; the solver should then shorten its step and try again. Some solvers would
    loop without end on NaN, so they see a huge value instead, and after too many bad evaluations the run ends.
    """

    def __init__(self):
        self.calls = self.jacobians = self.bad = self.bad_in_a_row = 0

    def check(self, t, out):
        """To be called with every result; may change it."""
        self.calls += 1
        if _all_finite(out):
            self.bad_in_a_row = 0
            return
        self.bad += 1
        self.bad_in_a_row += 1
        if self.bad_in_a_row > TOLERATED_IN_A_ROW or self.bad > TOLERATED:
            raise SolverFailure(Status.NOT_FINITE, f"the equations are not finite near t = {t:.9g}")
        out[~np.isfinite(out)] = HUGE

    def check_jacobian(self, t, values):
        """To be called with every Jacobian."""
        self.jacobians += 1
        if not np.isfinite(values).all():
            raise SolverFailure(Status.NOT_FINITE, f"the Jacobian is not finite near t = {t:.9g}")

    def explain(self, failure):
        """The failure, traced back to values that were not finite if the solver met them last."""
        if self.bad_in_a_row and failure.status != Status.NOT_FINITE:
            return SolverFailure(Status.NOT_FINITE, f"the equations are not finite ({failure.reason})")
        return failure


def drive(stepper, guard, t0, start, t_end, output, progress, max_steps):
    """Step a solver to the end and collect its output.

    Parameters
    ----------
    stepper : object
        `stepper.step() -> t, y, yd` makes one internal step towards the end; `stepper.at(t) -> y, yd` interpolates within it.
    guard : Guard
    t0, start : float, (y, yd)
    t_end : float
    output : Output
    progress : callable or None
    max_steps : int

    Returns
    -------
    steps : int
    status : Status
    message : str
    """
    forward = 1.0 if t_end > t0 else -1.0
    output.begin(t0, start, forward)
    t, steps, stalled = t0, 0, 0
    try:
        while forward * (t_end - t) > 0.0:
            if steps == max_steps:
                raise SolverFailure(Status.TOO_MANY_STEPS, f"{max_steps} steps were not enough")
            before = t
            t, y, yd = stepper.step()
            stalled = stalled + 1 if abs(t - before) <= 4e-16 * abs(t) else 0
            if stalled > STALLED:
                raise SolverFailure(Status.STEP_TOO_SMALL, "the step has shrunk to rounding")
            if t == before:  # after an interpolation SUNDIALS returns the end of its last step once more
                continue
            steps += 1
            output.step(t, y, yd, stepper, last=forward * (t_end - t) <= 0.0)
            if progress is not None:
                progress(t)
    except SolverFailure as met:
        failure = guard.explain(met)
        return steps, failure.status, f"{failure.reason} (last step ended at t = {t:.9g}); the solution up to there is kept"
    return steps, Status.SUCCESS, "the end of the time span was reached"


class Output:
    """What a run stores: the states at given times, or every so-manieth step and the last one.

    Attributes
    ----------
    rows : list of (t, y, yd)
    """

    def __init__(self, t_eval=None, every=1):
        self.rows = []
        self._wanted = None if t_eval is None else list(t_eval[::-1])
        self._every, self._count = every, 0

    def begin(self, t0, start, forward):
        """The initial state."""
        self._forward = forward
        if self._wanted is None:
            self.rows.append((t0, *start))
        while self._wanted and forward * (self._wanted[-1] - t0) <= 0.0:
            self.rows.append((self._wanted.pop(), *start))

    def step(self, t, y, yd, stepper, last):
        """The state after a step."""
        self._count += 1
        if self._wanted is None and (last or self._count % self._every == 0):
            self.rows.append((t, y, yd))
        while self._wanted and self._forward * (t - self._wanted[-1]) >= -1e-14 * abs(t):
            time = self._wanted.pop()
            self.rows.append((time, *stepper.at(time)))

    def trajectory(self, problem, statistics, status, message):
        """What has been stored, as states of the system, up to the first one that cannot be projected onto the constraints."""
        system, states = problem.system, []
        try:
            for row in self.rows:
                states.append(problem.state(*row))
        except AssemblyError as error:
            at = self.rows[len(states)][0]
            status, message = Status.SOLVER_FAILED, f"the output at t = {at:.9g} is too far off the constraints: {error}"
        t = np.array([row[0] for row in self.rows[:len(states)]])
        sizes = (system.nq, system.nv, system.nv, system.nc)
        columns = (np.array([s[k] for s in states]).reshape(len(t), n) for k, n in enumerate(sizes))
        return Trajectory(t, *columns, statistics, status, message)
