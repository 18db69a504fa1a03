"""`Automatic`: the method chosen from the mechanism."""

from dataclasses import dataclass

from ...driver.arguments import check_max_steps
from ...driver.method import Method
from ...driver.support import FORMS, Settings, Support, supported
from ...problems.base import Problem
from ...problems.underlying_ode import UnderlyingODE
from ...results.trajectory import Trajectory
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from .run import AutomaticRun

_CHOOSES = "it chooses the form together with the method; leave the formulation away, or name a method"
_SUPPORT: Support = dict.fromkeys(FORMS, _CHOOSES) | {"ode": Settings(jacobian="of the method", linear_solver="of the method")}


@dataclass(frozen=True)
class Automatic(Method):
    """A method of mbdae chosen from the mechanism and the tolerance, and changed on the way where the choice proves wrong.

    Where the equations are not stiff, `DormandPrince` of order 8 (of order 5 for `rtol >= 1e-3`), and `Adams` where a third of its steps
    are rejected, as at kinks of the forces of tyres, stops and contacts. Where they are stiff, by their size, that is the unknowns of the
    GGL form, `nq + nv + 2 nc`, and the tolerance:

    - up to 60 unknowns `RadauIIA`: the number of its steps hardly depends on the tolerance, and their cost grows with the unknowns, from
      that of 5 explicit steps with 20 unknowns to that of 30 with 300;
    - with more, `RosenbrockNystrom` for `rtol >= 1e-6`: a step costs 1 to 3 explicit ones, but there are twice as many for each digit;
    - `Bdf` below 1e-6, and from 20 degrees of freedom on, for each of which `RosenbrockNystrom` takes a solution per step.

    `RadauIIA` and `Bdf` get a tighter tolerance, `(20 rtol)^(3/2)` and `rtol/10`, as their errors may reach thousands of the given one
    where forces have kinks; it costs them few steps.

    Runs begin with `DormandPrince`, which gives way to `Adams` if the error test has rejected a third of the last 25 steps: smooth motions
    have up to a quarter, and the others take a third to two thirds of the time by `Adams` (`hmmwv`, `iltis`, `wheelset`). From 25 steps on,
    and up to 30 degrees of freedom, the eigenvalues of the linearised motion decide if there are more than 500 steps of the present size
    ahead: stiff, if the fastest component is a hundred times faster than the motion changes, and would take the explicit method 500 steps.
    Later it gives way when 15 of its steps were at the limit of stability, as in DOP853, and the implicit one when its steps are no longer
    than the explicit ones that are stable by the ratio of their costs: 4 for `RadauIIA`, 2 for `RosenbrockNystrom`, 1.5 for `Bdf`. If the
    explicit steps then prove to be shorter than stable ones, for the sake of accuracy, the implicit method returns. Reviews follow the
    number of steps, so that runs can be repeated: every 25 steps of `DormandPrince` and 125 of `Adams`, which cost as much, four times as
    many after each return to them, every 25 of `RadauIIA`, and every 100 of the others. From 40 degrees of freedom on, the steps of BDF are
    compared with those that the explicit method had, and must be four times as long.

    Motions that are prescribed need no more than the explicit method. So does joint friction with `smooth=False`: its jumps are met by
    short steps, and where a joint sticks methods with error control chatter; a run that ends so says what to do.

    Parameters
    ----------
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.

    Raises
    ------
    ValueError
        If a parameter is invalid; by `integrate`, if `atol` is not positive, or the problem has Baumgarte's terms.

    Notes
    -----
    `Solution.method` tells the methods with the times and reasons, `Solution.formulation` their forms. `atol` of `solve` is one number, or
    an array of one number for each position and each velocity. The problem that is passed on is the underlying ODE, `"ode"`; no other
    formulation can be asked for. Runs cannot be resumed or written to checkpoints or folders. An event that changes the state is followed
    by a new choice.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), (0.0, 0.1))
    >>> run.method, run.formulation
    ('Automatic: DormandPrince(8) (not stiff)', 'ode')
    """

    max_steps: int = 1_000_000

    support = _SUPPORT
    formulations = supported(support)
    not_recorded = "changes the method on its way, and keeps its rows in memory until the end; name the method that it has chosen"

    def __post_init__(self) -> None:
        check_max_steps("Automatic", self.max_steps)

    @property
    def label(self) -> str:
        """Name for tables and legends."""
        return "Automatic"

    def integrate(self, problem: Problem, state: State, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None) -> Trajectory:
        """See `mbdae.driver.method`."""
        assert isinstance(problem, UnderlyingODE), problem.formulation
        if problem.alpha or problem.beta or not problem.project:
            raise ValueError("Automatic: its methods satisfy the constraints at every step; the problem must be UnderlyingODE(system), "
                             "with neither Baumgarte's terms nor project=False")
        if not (problem.tolerances(rtol, atol) > 0.0).all():
            raise ValueError(f"Automatic: atol must be positive, got {atol!r}")
        return AutomaticRun(problem, state, t_end, rtol, atol, int(self.max_steps)).to_end(t_eval, every, progress, until)
