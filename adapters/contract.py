"""The contract of adapters: what a method object for an external solver supplies, and the types that adapters share."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mbdae.driver.availability import Availability
from mbdae.driver.support import Settings
from mbdae.results.trajectory import Trajectory
from mbdae.system.assembly import State

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
Support = dict[str, Settings | str]  # by formulation: how the solver is run, or the reason why it is refused
Tolerance = float | Vector  # one number, or one for each unknown
Store = Callable[[Vector, Any], None]  # writes values in the order of `Problem.pattern` into the matrix of a solver
At = Callable[[float], tuple[Vector, Vector | None]]  # `(y, yd)` at a time within the last step; `None` if `yd` is not known
Progress = Callable[[float], object]  # called with the time
Until = Any  # `until(t, q, v) -> bool`, or a `StepWatch`


class Event(Protocol):
    """`event(t, q, v) -> float`; its zeros are located. Optional attributes are `terminal` and `direction`, as in SciPy."""

    def __call__(self, t: float, q: Vector, v: Vector, /) -> float: ...


class Stepper(Protocol):
    """An external solver in single steps, see `mbdae.driver.run.Run.pull`."""

    def step(self) -> tuple[float, Vector, Vector | None]:
        """Take one step; `(t, y, yd)` at its end, where `yd` is `None` if the solver does not supply it."""
        ...

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        """`(y, yd)` at a time within the last step."""
        ...


@runtime_checkable
class SolverAdapter(Protocol):
    """A method object for an external solver, a small frozen configuration object.

    Checklist for implementers:

    1. A frozen dataclass whose fields are the options of the solver; `__post_init__` validates them with a ValueError.
    2. `label` names the solver in tables, `support` tells how each formulation is run or why it is refused, and `formulations` are the
       supported ones, the best first.
    3. `package` is the name of the package that is needed, and `availability()` tells whether it is installed. The module of the adapter
       must be importable without the package.
    4. `integrate` makes `SolverCallbacks` for the problem and a `Run`, packs the state, compiles, sets the options that `support` lists,
       and lets `Run.carry_out` drive the solver: with `Run.pull(stepper)` for a `Stepper`, with `Run.accept` for solvers that call back
       after their steps. See `mbdae.driver.method` for its arguments.
    5. `Statistics` has what the solver counts; what it does not count is `None`.
    """

    @property
    def label(self) -> str: ...

    @property
    def support(self) -> Support: ...

    @property
    def formulations(self) -> tuple[str, ...]: ...

    @property
    def package(self) -> str: ...

    @staticmethod
    def availability() -> Availability: ...

    def integrate(self, problem: Any, state: State, t_end: float, *, rtol: float, atol: Any, t_eval: Vector | None = None, every: int = 1,
                  progress: Progress | None = None, until: Until | None = None) -> Trajectory: ...
