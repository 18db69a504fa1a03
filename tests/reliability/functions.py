"""Faults of user functions: values that are not finite, exceptions, singular laws."""

import numba
import numpy as np

import mbdae
from mbdae import Status

from . import models
from .fault import Trial, fault
from .models import AT, T_END
from .outcomes import Promise
from .subjects import Subject

VALUES, ERRORS = "Values that are not finite", "Exceptions of user functions"
ENDED = (Status.NOT_FINITE, Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.SOLVER_FAILED, Status.SINGULAR, Status.PROJECTION_FAILED)


class UserError(Exception):
    """The exception of a user."""


def _ends(culprit: str) -> Promise:
    """A run must end at the fault, and keep what was computed before."""
    return Promise(None, ENDED, (0.5 * AT, AT + 2e-3), models.undisturbed(), culprit)


def _law_returning(value):
    return lambda length, rate, t: value if t > AT else 0.1 * length


@numba.njit
def _nan_compiled(length, rate, t):
    return np.nan if t > AT else 0.1 * length


@numba.njit
def _inf_compiled(length, rate, t):
    return np.inf if t > AT else 0.1 * length


@numba.njit
def _torn(length, rate, t):
    return 0.1 * length + (0.0 * np.nan if np.imag(length) + np.imag(rate) != 0.0 and t > AT else 0.0)


@numba.njit(error_model="numpy")
def _root(length, rate, t):
    return 0.1 * length * np.power((AT - t) / AT, -0.5)


def _push(t, r, A, v, omega, F, T):
    F[0, 0] = np.nan if t > AT else 0.0


def _law(name, law, title, culprit="band 2"):
    def make(subject: Subject) -> Trial:
        return Trial(lambda: subject.solve(models.pendulum(law=law), (0.0, T_END)), _ends(culprit))

    make.__name__ = name
    fault(VALUES, title, "ended, with the force")(make)


_law("nan_of_a_Python_law", _law_returning(float("nan")), "NaN of a spring's law in Python")
_law("infinity_of_a_Python_law", _law_returning(float("inf")), "infinity of a spring's law in Python")
_law("nan_of_a_compiled_law", _nan_compiled, "NaN of a compiled law")
_law("infinity_of_a_compiled_law", _inf_compiled, "infinity of a compiled law")


@fault(VALUES, "NaN of a user force", "ended, with the force")
def nan_of_a_user_force(subject: Subject) -> Trial:
    system = models.pendulum(mbdae.UserForce("wind", "upper", _push), law=models.calm)
    return Trial(lambda: subject.solve(system, (0.0, T_END)), _ends("wind"))


@fault(VALUES, "NaN of a law for complex arguments only, in exact derivatives", "solved, or ended with the force")
def nan_of_derivatives(subject: Subject) -> Trial:
    before = models.undisturbed()
    return Trial(lambda: subject.solve(models.pendulum(law=_torn), (0.0, T_END)),
                 Promise(before, ENDED, (0.5 * AT, AT + 0.1), before, "band 2|derivative|not finite"))


@fault(VALUES, "NaN of a driver's motion", "ended, with the driver")
def nan_of_a_motion(subject: Subject) -> Trial:
    def turned(late):
        def motion(t):
            return float("nan") * t if late and t > AT else 0.3 * t * t

        return models.pendulum(drivers=[mbdae.PlanarAngleDriver("motor", "upper", "lower", lambda t: motion(t) - np.pi / 2)])

    def right():
        return turned(False)

    right.__name__ = "turned"
    return Trial(lambda: subject.solve(turned(True), (0.0, T_END)),
                 Promise(None, ENDED, (0.5 * AT, AT + 2e-3), models.whole(_DRIVEN.setdefault("right", right), T_END), "motor"))


_DRIVEN: dict = {}


@fault(VALUES, "a law that grows without bound, `(t* - t)^(-1/2)`, and is NaN afterwards", "ended, with the force or the step")
def unbounded_law(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.pendulum(law=_root), (0.0, T_END)),
                 Promise(None, (*ENDED, Status.TOO_MANY_STEPS), (0.8 * AT, AT + 2e-3), None, "band 2|step|finite"))


@fault(VALUES, "NaN of an event", "raised or refused, with the event")
def nan_of_an_event(subject: Subject) -> Trial:
    def height(t, q, v):
        return float("nan") if t > AT else 1.0

    return Trial(lambda: subject.solve(models.plain(), (0.0, T_END), events=height), Promise(refusal="height"))


# exceptions ------------------------------------------------------------------------------------------------------------------


def _raising(t):
    if t > AT:
        raise UserError("mine")
    return 0.0


def _raised(culprit: str) -> Promise:
    return Promise(raised=UserError, culprit=culprit)


@fault(ERRORS, "of a law in Python", "raised, with a note")
def exception_of_a_law(subject: Subject) -> Trial:
    system = models.pendulum(law=lambda length, rate, t: 0.1 * length + _raising(t))
    return Trial(lambda: subject.solve(system, (0.0, T_END)), _raised("band 2"))


@fault(ERRORS, "of a user force", "raised, with a note")
def exception_of_a_user_force(subject: Subject) -> Trial:
    def wind(t, r, A, v, omega, F, T):
        _raising(t)

    system = models.pendulum(mbdae.UserForce("wind", "upper", wind))
    return Trial(lambda: subject.solve(system, (0.0, T_END)), _raised("wind"))


@fault(ERRORS, "of a driver's motion", "raised, with a note")
def exception_of_a_motion(subject: Subject) -> Trial:
    motor = mbdae.PlanarAngleDriver("motor", "upper", "lower", lambda t: 0.3 * t * t - np.pi / 2 + 0.0 * _raising(np.real(t)))
    return Trial(lambda: subject.solve(models.pendulum(drivers=[motor]), (0.0, T_END)), _raised("motor"))


@fault(ERRORS, "of an event", "raised")
def exception_of_an_event(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.plain(), (0.0, T_END), events=lambda t, q, v: 1.0 + _raising(t)), _raised(""))


@fault(ERRORS, "of `progress`", "raised")
def exception_of_progress(subject: Subject) -> Trial:
    def progress(t):
        raise UserError("mine")

    return Trial(lambda: subject.solve(models.plain(), (0.0, T_END), progress=progress), _raised(""))


@fault(ERRORS, "of a user force, an `ArithmeticError`, which numerical code likes to catch", "raised, with a note")
def arithmetic_exception(subject: Subject) -> Trial:
    def law(length, rate, t):
        return 0.1 * length + (1.0 / 0.0 if t > AT else 0.0)

    return Trial(lambda: subject.solve(models.pendulum(law=law), (0.0, T_END)), Promise(raised=ZeroDivisionError, culprit="band 2"))
