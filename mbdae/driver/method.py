"""The contract of everything that can integrate: in-house integrators and adapters to foreign solvers alike.

A method is a small frozen configuration object with

- `label`: how it is called in tables and legends;
- `formulations`: the names of the problem forms it takes, the best first; empty if it works on the `System` itself;
- `integrate(problem, state, t_end, *, rtol, atol, t_eval, every, progress, until) -> Trajectory`: run from a consistent `State` to `t_end`.

`integrate` stores the states at `t_eval`, or at every `every`-th of its own steps and the last one if that is `None`. It may stop, with
success, once `until(t, q, v)` is true after a step. Where `until` is a `StepWatch`, `until.after(step)` is asked instead, with the `Step`
that has been accepted: what is interpolated in it, and how, for dense output and events; none of that may change the run. It lets
exceptions of user functions and `KeyboardInterrupt` through, reports every other failure in `Trajectory.status` and `message` with what was
computed so far, and counts its work in `Statistics`. On state-space form it is started anew in every chart, unless it has an attribute
`keeps_charts` that is true and exchanges them itself. An attribute `one_step` that is true says that a new start costs it no accuracy, if a
field `first_step` or `h` sets its step: what it needs to know is the state.
An adapter adds

- `support`: for each form how the solver is then run, or the reason why it is refused (see `mbdae.driver.support`);
- `package`: what must be installed, and `availability()`: whether it is, in which version, and the commands that install it.

`mbdae.solve` does the rest: it makes the system, the problem, the consistent start, and the `Solution`.
"""

from typing import Protocol


class Method(Protocol):
    """See the module."""

    label: str
    formulations: tuple

    def integrate(self, problem, state, t_end, *, rtol, atol, t_eval, every, progress, until): ...
