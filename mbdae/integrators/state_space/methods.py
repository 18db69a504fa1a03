"""The implicit integrators of the thesis on state-space form [Negrut, chapter 4].

They discretise the same equations `z'' = f(t, z, z')` in independent coordinates and differ in formula and unknowns. Positions, velocities,
accelerations and multipliers satisfy the constraints to rounding at the end of every step; charts are exchanged between steps.
"""

from dataclasses import dataclass
from typing import ClassVar

from .base import Charted
from .formulas import ROSENBROCK, SDIRK_DESCRIPTOR, SDIRK_FIRST_ORDER, TRAPEZOIDAL_DESCRIPTOR, TRAPEZOIDAL_STATE_SPACE
from .sdirk_tableau import SDIRK_4_15, SDIRK_4_16, Sdirk

_PARAMETERS = """
    Parameters
    ----------
    jacobian : {"exact", "complex", "difference"}
        How the equations are differentiated along the `2 dof` directions of the chart. `"exact"`: by the complex step, to rounding;
        kinematics and multipliers by their own linear equations. `"complex"`: the complex step through all that leads to `z''`,
        factorisation included, which costs more and checks the former. `"difference"`: forward differences of the equations.
    first_step, max_step : float
        Zero: the first step is chosen from the start.
    max_steps : int
        Steps after which the run ends with `TOO_MANY_STEPS`.
    fixed_step : float
        A step without error control, for studies of the order; `rtol` and `atol` then hold for Newton's method only. A step that fails is
        repeated once in a new chart.
    filter : bool
        Multiply the error estimate by `(I - gamma h J)^-1`, which damps it where the equations are stiff [Negrut, eq. (5.6)].
    controller : StepSizeController
        By default the elementary one, as in the thesis; `PI`, `PI42`, `H211B` and `PREDICTIVE` are there, too.
"""


@dataclass(frozen=True)
class TrapezoidalStateSpace(Charted):
    __doc__ = f"""Trapezoidal rule, the state-space method: Newton's method on the independent equations of motion.

    `z1 = z0 + h z0' + h^2/4 (z0'' + z1'')`, `z1' = z0' + h/2 (z0'' + z1'')`, order 2, A-stable. The unknowns are the independent
    accelerations `z1''`, the equations `N^T (M a - Q) = 0` [Negrut, sections 3.2.1.2, 4.1]. The error is estimated by the difference to
    backward Euler, of order 1, and so held far below the tolerance.
    {_PARAMETERS}"""

    kind, error_order = TRAPEZOIDAL_STATE_SPACE, 1


@dataclass(frozen=True)
class TrapezoidalDescriptor(Charted):
    __doc__ = f"""Trapezoidal rule, the descriptor form: as `TrapezoidalStateSpace`, with all accelerations and the multipliers as unknowns.

    The equations are those of motion and the constraints on the acceleration level [Negrut, sections 3.3, 4.3].
    {_PARAMETERS}"""

    kind, error_order = TRAPEZOIDAL_DESCRIPTOR, 1


@dataclass(frozen=True)
class SdirkMethod(Charted):
    __doc__ = f"""Base of SDIRK methods on the first-order form, with positions and velocities as unknowns: a formula makes a method of it.

    A subclass has a class attribute `tableau`, made by `mbdae.extend.sdirk`. Steps are controlled by the embedded formula; charts, dense
    output, events and statistics come with the base.
    {_PARAMETERS}"""

    tableau: ClassVar[Sdirk]
    kind = SDIRK_FIRST_ORDER

    @property
    def error_order(self) -> int:  # type: ignore[override]  # of the tableau
        """Order of the embedded formula."""
        return self.tableau.error_order


@dataclass(frozen=True)
class SdirkDescriptor(SdirkMethod):
    __doc__ = f"""SDIRK4/16, the descriptor form: five stages, order 4, L-stable, with all accelerations and the multipliers as unknowns.

    The embedded formula has order 3 [Negrut, sections 3.3.2, 4.2, table 13].
    {_PARAMETERS}"""

    tableau, kind = SDIRK_4_16, SDIRK_DESCRIPTOR


@dataclass(frozen=True)
class SdirkFirstOrder(SdirkMethod):
    __doc__ = f"""SDIRK4/15 on the first-order form: five stages, order 4, L-stable, with positions and velocities as unknowns.

    Stopping rule, forecast of convergence and starting values as in the code of Hairer and Wanner [Negrut, section 4.5]. Their filter
    of the error estimate is left to the user: where stiff directions turn with the bodies, errors are fifty times the tolerance with it.
    {_PARAMETERS}"""

    tableau = SDIRK_4_15


@dataclass(frozen=True)
class RosenbrockNystrom(Charted):
    __doc__ = f"""Rosenbrock-Nystrom method: four stages, order 4, L-stable, no iteration; derivatives are evaluated in every step.

    Two new evaluations of the accelerations a step. The embedded formula has order 3 [Negrut, section 4.4]. Where stiff directions turn
    with the bodies rates may be off by more than ten times the tolerance.
    {_PARAMETERS}"""

    filter: bool = True

    kind, error_order = ROSENBROCK, 3
