"""The contract of everything that can integrate: in-house integrators and adapters to foreign solvers alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..results.trajectory import Trajectory
from ..system.assembly import State
from .support import Settings

if TYPE_CHECKING:
    from ..problems.base import Problem
    from .availability import Availability


class Method(ABC):
    """A small frozen configuration object. `mbdae.solve` makes the problem, the consistent start, and the `Solution`.

    A method supplies

    - `label`: how it is called in tables and legends;
    - `support`: for each form how it is run, or the reason why it is refused, see `mbdae.driver.support`;
    - `formulations`: the names of the forms it takes, the best first;
    - `integrate`, see there;

    and declares, where they differ from the defaults here,

    - `keeps_charts`: whether it exchanges the charts of the state-space forms itself; otherwise it is started anew in every chart;
    - `one_step`: whether a new start costs it no accuracy, if a field `first_step` or `h` sets its step: what it needs is the state;
    - `max_steps`: steps after which a run ends with `TOO_MANY_STEPS`, `None` if there is no bound;
    - `availability()`: whether the package behind it is installed, in which version, and the commands that install it.
    """

    support: ClassVar[Mapping[str, Settings | str]]
    formulations: ClassVar[tuple[str, ...]]
    package: ClassVar[str] = "mbdae"
    keeps_charts: ClassVar[bool] = False
    one_step: bool = False
    max_steps: int | None = None

    @property
    @abstractmethod
    def label(self) -> str:
        """Name for tables and legends."""

    @abstractmethod
    def integrate(self, problem: "Problem", state: State, t_end: float, *, rtol: float, atol: float | np.ndarray,
                  t_eval: np.ndarray | None = None, every: int = 1, progress: Callable[[float], object] | None = None,
                  until: Callable[..., bool] | None = None) -> Trajectory:
        """Run from a consistent `State` to `t_end`, which may lie before it.

        The states at `t_eval` are stored, or if that is `None` every `every`-th step and the last one. The run may end, with success, once
        `until(t, q, v)` is true after a step. Where `until` is a `StepWatch`, `until.after(step)` is asked instead, with the accepted
        `Step`: what is interpolated in it, and how, for dense output and events; none of that may change the run. `progress(t)` is called
        now and then.

        Exceptions of user functions and `KeyboardInterrupt` pass through; every other failure is reported in `Trajectory.status` and
        `message` with what was computed so far. The work is counted in `Statistics`.
        """

    @classmethod
    def availability(cls) -> "Availability | None":
        """`Availability` of the package behind a foreign solver; `None` for what belongs to mbdae."""
        return None
