"""Events where they are difficult."""

import numpy as np

import mbdae

from . import models
from .calls import _jumping, _pieces
from .fault import Trial, fault
from .models import AT, T_END
from .outcomes import Promise
from .subjects import Subject

GROUP = "Events"
TIME_TOL = 1e-4  # s, for the times of events


def _checked(run, check, there, rough=False):
    """The run; `check(solution)` is true if its events are right. Otherwise its last state is made wrong, so that it shows."""
    def checked():
        s = run()
        if s.success and not check(s):
            s.q[-1] += np.inf
        return s

    return Trial(checked, Promise(there, rough=rough))


def _with_event(subject: Subject, event, check, t_end=T_END, **attributes) -> Trial:
    def height(t, q, v):
        return event(t, q, v)

    vars(height).update(attributes)
    return _checked(lambda: subject.solve(models.plain(), (0.0, t_end), events=height), check, models.undisturbed())


@fault(GROUP, "zero at the start, and nowhere else", "no event")
def event_at_the_start(subject: Subject) -> Trial:
    return _with_event(subject, lambda t, q, v: t, lambda s: len(s.t_events[0]) == 0)


@fault(GROUP, "zero at the end", "found there")
def event_at_the_end(subject: Subject) -> Trial:
    return _with_event(subject, lambda t, q, v: t - T_END, lambda s: len(s.t_events[0]) == 1 and abs(s.t_events[0][0] - T_END) < 1e-12)


@fault(GROUP, "zero where a force jumps", "found there")
def event_at_a_jump(subject: Subject) -> Trial:
    held = _HELD.setdefault("jump", _pieces(_jumping, (AT,)))
    system = models.pendulum(law=_jumping)
    return _checked(lambda: subject.solve(system, (0.0, T_END), events=lambda t, q, v: t - AT),
                    lambda s: len(s.t_events[0]) == 1 and abs(s.t_events[0][0] - AT) < 1e-12, held, rough=True)


_HELD: dict = {}


@fault(GROUP, "a double zero, which does not change the sign", "no event")
def double_zero(subject: Subject) -> Trial:
    return _with_event(subject, lambda t, q, v: (t - 0.10003) ** 2, lambda s: len(s.t_events[0]) == 0)


@fault(GROUP, "a thousand zeros", "every one that is reported is a zero")
def thousand_zeros(subject: Subject) -> Trial:
    period = T_END / 1000.5
    return _with_event(subject, lambda t, q, v: np.sin(np.pi * t / period),
                       lambda s: all(abs(t / period - round(t / period)) < 1e-6 for t in s.t_events[0]))


@fault(GROUP, "a terminal event on the way", "ended there, with success")
def terminal_event(subject: Subject) -> Trial:
    there = models.undisturbed()
    level = there(0.1)[0][4]
    tol = TIME_TOL * (100.0 if subject.fixed else 1.0)
    return _with_event(subject, lambda t, q, v: q[4] - level, lambda s: len(s.t_events[0]) == 1 and abs(s.t[-1] - 0.1) < tol, terminal=True)


@fault(GROUP, "two terminal events in one step", "ended at the first one")
def two_terminal_events(subject: Subject) -> Trial:
    def first(t, q, v):
        return t - 0.1002

    def second(t, q, v):
        return t - 0.1003

    first.terminal = second.terminal = True
    return _checked(lambda: subject.solve(models.plain(), (0.0, T_END), events=[second, first]),
                    lambda s: abs(s.t[-1] - 0.1002) < 1e-9 and len(s.t_events[0]) == 0, models.undisturbed())


@fault(GROUP, "an event that writes into its arguments", "no effect")
def writing_event(subject: Subject) -> Trial:
    def greedy(t, q, v):
        q[:], v[:] = 7.0, 7.0
        return 1.0

    return _checked(lambda: subject.solve(models.plain(), (0.0, T_END), events=greedy), lambda s: True, models.undisturbed())


@fault(GROUP, "an event that halves the velocities at a time, as an impulse does", "solved")
def impulse(subject: Subject) -> Trial:
    def struck(t, q, v):
        return t - AT

    vars(struck)["on_event"] = lambda t, state: (state.q, 0.5 * state.v)
    there = _HELD.setdefault("impulse", _halved())

    def run():
        s = subject.solve(models.plain(), (0.0, T_END), events=struck)
        if s.success and not (len(s.jumps) == 1 and abs(s.jumps[0].t - AT) < 1e-12):
            s.q[-1] += np.inf
        for jump in s.jumps:  # of two states at a time the first belongs to the motion before
            before, after = np.flatnonzero(s.t == jump.t)
            s.t[before], s.t[after] = AT - 1e-12, AT
        return s

    return Trial(run, Promise(there))


def _halved():
    """The solution with half the velocities from `AT` on."""
    before, system = models.undisturbed(), models.plain()
    q, v = before(AT)
    after = mbdae.solve(system, models.SolveIvp("DOP853"), (AT, T_END), state=mbdae.assemble(system, AT, q, 0.5 * v), rtol=1e-12,
                        atol=1e-13, dense_output=True)
    assert after.success, after.message
    return lambda t: before(t) if t < AT else after.sol(t)[:2]
