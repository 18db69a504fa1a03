"""The contract of all methods: in-house integrators and adapters to external solvers."""

from abc import ABC, abstractmethod

from ..problems.base import Problem
from ..results.trajectory import Trajectory
from ..system.assembly import State
from ..typing import TimeProgress, Tolerance, Until, Vector
from .availability import Availability
from .record import Record
from .support import Support, supported


class Method(ABC):
    """Base class of methods: a small configuration object, usually a frozen dataclass.

    `mbdae.solve` makes the problem, the consistent initial values and the `Solution`. A subclass defines `label`, `support` and
    `integrate`. The other attributes have defaults; a class variable, a field or a property replaces them.

    Examples
    --------
    >>> import mbdae
    >>> isinstance(mbdae.Ida(), mbdae.Method), mbdae.Ida().formulations[0]
    (True, 'gear')
    """

    @property
    @abstractmethod
    def label(self) -> str:
        """Name for tables and legends."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """For each form the `Settings` of the method, or the reason why it is refused; the best form first, see `mbdae.driver.support`."""

    @abstractmethod
    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """Integrate from a consistent `State` to `t_end`, forward or backward in time.

        Parameters
        ----------
        problem : Problem
            In a form that `support` does not refuse.
        state : State
        t_end : float
        rtol : float
        atol : float or ndarray of shape (n,)
        t_eval : ndarray, optional
            Times of the output; by default every `every`-th step and the last one.
        every : int
        progress : callable, optional
            `progress(t)`, called now and then.
        until : callable, optional
            `until(t, q, v)` is called after each accepted step; if it returns true, the run ends with success. If it is a `StepWatch`,
            `until.after(step)` is called instead, with the accepted `Step` and its interpolant, for dense output and events. Neither may
            affect the run.

        Returns
        -------
        Trajectory
            With the counters of the solver in `statistics`. A failure is reported in `status` and `message`, with the states computed so
            far.

        Raises
        ------
        Exception
            Exceptions of user functions, and `KeyboardInterrupt`, unchanged.
        """

    @property
    def formulations(self) -> tuple[str, ...]:
        """Names of the supported forms, the best first."""
        return supported(self.support)

    @property
    def package(self) -> str:
        """Name of the package that the method needs."""
        return "mbdae"

    @staticmethod
    def availability() -> Availability | None:
        """Whether the package of an external solver is installed, in which version, and the commands that install it."""
        return None

    @property
    def keeps_charts(self) -> bool:
        """Whether the method itself switches the local parametrisation of the state-space forms; otherwise it is restarted in each one."""
        return False

    @property
    def one_step(self) -> bool:
        """Whether a restart from a state costs no accuracy; then a field `first_step` or `h` sets the step size."""
        return False

    @property
    def step_size(self) -> float | None:
        """The fixed step size, `None` if the method controls it."""
        return None

    @property
    def max_steps(self) -> int | None:
        """Number of steps after which a run ends with `TOO_MANY_STEPS`, `None` if there is no limit."""
        return None

    @property
    def not_recorded(self) -> str:
        """Why a run can neither be resumed nor written to checkpoints and folders; empty if it can."""
        return ""

    @property
    def own_differences(self) -> bool:
        """Whether the method has difference quotients of its own, which its field `jacobian` takes as `"difference"`."""
        return False


class Resumable(Method):
    """Base of methods whose runs can be continued from an accepted step, to the last bit."""

    @property
    def not_resumable(self) -> str:
        """Why a run with these parameters cannot be continued; empty if it can."""
        return ""

    @property
    def records(self) -> bool:
        """Whether a run passes its rows to `record` while it goes on."""
        return True

    @abstractmethod
    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `Method`.

        Parameters
        ----------
        record : Record, optional
            If it has a memory `resumed`, the run goes on from there: `state` is the initial state of the whole run, and the trajectory has
            the rows since then. The memory from which a later continuation to another end gives the bits of an uninterrupted run is left
            in `record.memory`: that before the first step whose length depends on `t_end`.
        """
