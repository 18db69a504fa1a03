"""The size of the next step: digital filters of the error estimates of two steps [Soederlind]."""

from dataclasses import dataclass
from typing import NamedTuple

from ...compilation.compiled import compiled
from ...driver.arguments import is_finite


@dataclass(frozen=True)
class StepSizeController:
    """The step size `h_{n+1} = safety r_n^beta1 r_{n-1}^beta2 (h_n / h_{n-1})^(-alpha) h_n` with `r = error^(-1/k)`.

    The error of a step is relative to the tolerances; a step is accepted if it is at most 1. It is of order `h^k`: `k` is the order of the
    error estimate plus one. In the first step, and after a rejected step, only the present error is used, with `beta1 = 1`.
    [Soederlind] is G. Soederlind, Digital filters in adaptive time-stepping, ACM Trans. Math. Softw. 29 (2003).

    Parameters
    ----------
    beta1, beta2, alpha : float
        Coefficients of the filter; those of `ELEMENTARY`, `PI`, `PI42`, `H211B` and `PREDICTIVE` are from the literature.
    safety : float
        In (0, 1].
    shrink : float
        Least ratio of two steps, in (0, 1).
    grow : float or None
        Largest ratio, above 1; `None` for that of the method: 5 for one-step methods, 3 for Newmark's relatives.
    hold : float or None
        A ratio between 1 and `hold` does not change the step; `None` for that of the method: 1 for one-step methods, 1.2 for Newmark's
        relatives, whose error estimate depends on changes of the step. Filters, which change it by little each time, need 1.

    Raises
    ------
    ValueError
        For coefficients that are not finite, or factors out of bounds.

    Examples
    --------
    >>> import mbdae
    >>> method = mbdae.RosenbrockNystrom(controller=mbdae.StepSizeController(0.7, -0.4))
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), method, (0.0, 0.1))
    >>> run.success
    True
    """

    beta1: float = 1.0
    beta2: float = 0.0
    alpha: float = 0.0
    safety: float = 0.9
    shrink: float = 0.2
    grow: float | None = None
    hold: float | None = None

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2", "alpha"):
            if not is_finite(getattr(self, name)):
                raise ValueError(f"StepSizeController: {name} must be finite, got {getattr(self, name)!r}")
        bounds = (("safety", 0.0, 1.0), ("shrink", 0.0, 1.0 - 1e-9), ("grow", 1.0 + 1e-9, float("inf")), ("hold", 1.0 - 1e-9, float("inf")))
        for name, low, high in bounds:
            given = getattr(self, name)
            if not (name in ("grow", "hold") and given is None) and not (is_finite(given) and low < given <= high):
                raise ValueError(f"StepSizeController: {name} is out of bounds: {given!r}")

    def rule(self, k: int, grow: float, hold: float = 1.0) -> "Rule":
        """The coefficients for compiled code, for errors of order `k` and a method with these default bounds."""
        return Rule(self.beta1 / k, self.beta2 / k, float(self.alpha), 1.0 / k, float(self.safety), float(self.shrink),
                    float(grow if self.grow is None else self.grow), float(hold if self.hold is None else self.hold))


ELEMENTARY = StepSizeController()
CAUTIOUS = StepSizeController(safety=0.7)  # of explicit methods: rejects half as many steps, and takes hardly more
PI = StepSizeController(0.7, -0.4, hold=1.0)  # Gustafsson; Hairer and Wanner, DOPRI5
PI42 = StepSizeController(0.6, -0.2, hold=1.0)
H211B = StepSizeController(0.25, 0.25, 0.25, hold=1.0)
PREDICTIVE = StepSizeController(2.0, -1.0, -1.0, hold=1.0)  # Gustafsson, for implicit methods; Hairer and Wanner, RADAU5


def check_controller(owner: str, given: object, serves: bool, default: StepSizeController = ELEMENTARY) -> None:
    """A controller; for steps of fixed size the default of the method or `ELEMENTARY`."""
    if not isinstance(given, StepSizeController):
        raise ValueError(f"{owner}: controller must be a StepSizeController such as mbdae.PI, got {given!r}")
    if not serves and given not in (ELEMENTARY, default):
        raise ValueError(f"{owner}: steps of fixed size need no controller")


class Rule(NamedTuple):
    """A `StepSizeController` with its exponents for one method."""

    present: float
    past: float
    ratio: float
    alone: float
    safety: float
    shrink: float
    grow: float
    hold: float


@compiled
def step_factor(rule, error, h, past_error, past_h):
    """The ratio of the next step to this one, `h`, whose error is `error`; `past_error` is 0 where none counts.

    `shrink` where the error is not finite.
    """
    if not error < 1e300:
        return rule.shrink
    if error == 0.0:
        return rule.grow
    if past_error > 0.0 and error <= 1.0:
        factor = error ** -rule.present * past_error ** -rule.past * abs(h / past_h) ** -rule.ratio
    else:
        factor = error ** -rule.alone
    factor = min(rule.grow, max(rule.shrink, rule.safety * factor))
    return 1.0 if 1.0 < factor < rule.hold else factor
