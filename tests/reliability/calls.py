"""Calls that make no sense: tolerances, time spans, output times; and forces that jump."""

import numba
import numpy as np

import mbdae
from mbdae import Status

from . import models
from .fault import Trial, fault
from .models import AT, T_END
from .outcomes import Promise
from .subjects import Subject

CALLS, JUMPS = "Tolerances, time spans and output", "Forces that are not smooth"
ENDED = (Status.STEP_TOO_SMALL, Status.TOO_MANY_STEPS, Status.NEWTON_FAILED, Status.SOLVER_FAILED, Status.NOT_FINITE)


def _solved(options: dict, t_span=(0.0, T_END), refusal=None, refused_only=True):
    def make(subject: Subject) -> Trial:
        there = None if refused_only else models.undisturbed()
        promise = Promise(there, () if refused_only else ENDED, before=there, refusal=refusal, patient=True)
        return Trial(lambda: subject.solve(models.plain(), t_span, **options), promise)

    return make


def _call(name: str, title: str, promise: str, options: dict, **more) -> None:
    make = _solved(options, **more)
    make.__name__ = name
    fault(CALLS, title, promise)(make)


_call("rtol_below_rounding", "`rtol=1e-16`, `atol=1e-16`, with a warning", "solved, or ended",
      {"rtol": 1e-16, "atol": 1e-16, "max_steps": 5000}, refusal="atol|rtol", refused_only=False)
_call("tolerances_without_meaning", "`rtol=1e-160`, `atol=1e-160`", "solved, or ended", {"rtol": 1e-160, "atol": 1e-160, "max_steps": 5000},
      refusal="atol|rtol", refused_only=False)
_call("zero_atol", "`atol=0`", "solved, or refused", {"atol": 0.0}, refusal="atol", refused_only=False)
_call("negative_rtol", "`rtol=-1e-6`", "refused", {"rtol": -1e-6}, refusal="rtol")
_call("nan_rtol", "`rtol=nan`", "refused", {"rtol": float("nan")}, refusal="rtol")
_call("no_time_span", "a span of zero length", "refused", {}, t_span=(0.1, 0.1), refusal="t_span")
_call("endless_time_span", "a span to infinity", "refused", {}, t_span=(0.0, float("inf")), refusal="t_span")
_call("output_outside", "output times beyond the span", "refused", {"t_eval": [0.1, 0.3]}, refusal="t_eval")
_call("output_backward", "output times against the direction of time", "refused", {"t_eval": [0.1, 0.05]}, refusal="t_eval")


@fault(CALLS, "a span backward in time", "solved")
def reversed_time(subject: Subject) -> Trial:
    system, there = models.plain(), models.undisturbed()
    q, v = there(T_END)
    state = mbdae.assemble(system, T_END, q, v)
    return Trial(lambda: subject.solve(system, (T_END, 0.0), state=state), Promise(there))


@fault(CALLS, "a span of 1e-13 s", "solved")
def tiny_time_span(subject: Subject) -> Trial:
    return Trial(lambda: subject.solve(models.plain(), (0.0, 1e-13)), Promise(models.undisturbed()))


@fault(CALLS, "a start at 1e6 s", "solved")
def late_start(subject: Subject) -> Trial:
    there = models.undisturbed()

    def run():
        s = subject.solve(models.plain(), (1e6, 1e6 + T_END))
        s.t = s.t - 1e6
        return s

    return Trial(run, Promise(there, ENDED))


@fault(CALLS, "steps limited to 3", "ended; solved by methods without a limit")
def few_steps(subject: Subject) -> Trial:
    there = models.undisturbed()
    return Trial(lambda: subject.solve(models.plain(), (0.0, T_END), max_steps=3),
                 Promise(there, (Status.TOO_MANY_STEPS,), before=there, culprit="3 steps"))


# forces that are not smooth --------------------------------------------------------------------------------------------------


@numba.njit
def _jumping(length, rate, t):
    return 0.1 * length + (20.0 if t > AT else 0.0)


@numba.njit
def _pulse(length, rate, t):
    return 0.1 * length + (40.0 if abs(t - 0.1) < 0.03 else 0.0)


@numba.njit
def _kink(length, rate, t):
    return 0.1 * length + 300.0 * max(0.0, length - 1.105)


@numba.njit
def _chatter(length, rate, t):
    return 0.1 * length + (5.0 if rate > 0.0 else -5.0)


def _pieces(law, times):
    """The solution by DOP853 between the times at which the law jumps."""
    system, found = models.pendulum(law=law), []
    state, ends = mbdae.assemble(system), [*times, T_END]
    for end in ends:
        s = mbdae.solve(system, models.SolveIvp("DOP853"), (state.t, np.nextafter(end, 0.0)), state=state, rtol=1e-12, atol=1e-13,
                        dense_output=True)
        assert s.success, s.message
        found.append(s)
        state = mbdae.assemble(system, np.nextafter(end, 1.0), s.q[-1], s.v[-1])
    return lambda t: next(s for s, b in zip(found, ends) if t <= b).sol(t)[:2]


def _jump(name, law, times, title):
    held = []

    def make(subject: Subject) -> Trial:
        if not held:
            held.append(_pieces(law, times))
        return Trial(lambda: subject.solve(models.pendulum(law=law), (0.0, T_END)), Promise(held[0], rough=True))

    make.__name__ = name
    fault(JUMPS, title, "solved")(make)


_jump("jump_of_a_force", _jumping, (AT,), "a force that jumps by 20 N")
_jump("pulse_of_a_force", _pulse, (0.07, 0.13), "a pulse of 40 N during 60 ms")


@fault(JUMPS, "a spring that begins to act at a length", "solved")
def kink_of_a_force(subject: Subject) -> Trial:
    def model():
        return models.pendulum(law=_kink)

    there = models.whole(_KEPT.setdefault("kink", model), T_END)
    return Trial(lambda: subject.solve(models.pendulum(law=_kink), (0.0, T_END)), Promise(there, rough=True))


_KEPT: dict = {}


@fault(JUMPS, "a force that changes its sign with the velocity: the motion may slide along the jump", "solved, or ended with the step")
def force_with_the_sign_of_the_velocity(subject: Subject) -> Trial:
    def model():
        return models.pendulum(law=_chatter)

    there = models.whole(_KEPT.setdefault("chatter", model), T_END)
    return Trial(lambda: subject.solve(models.pendulum(law=_chatter), (0.0, T_END)), Promise(there, ENDED, before=there, rough=True))
