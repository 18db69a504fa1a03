"""The messages of runs, whoever carries them out."""

REACHED_END = "the end of the time span was reached"
TERMINAL_EVENT = "a terminal event has been passed"
GIVES_WAY = "another method goes on from here"
AT_ROUNDING = "the step has shrunk to rounding"
LAST_STEP = " (last step ended at t = "


def failed(reason: str, t: float) -> str:
    """A run that has failed after a step to `t`."""
    return f"{reason}{LAST_STEP}{t:.9g}); the solution up to there is kept"


def reason_of(message: str) -> str:
    """The reason in the message of a run that has failed."""
    return message.partition(LAST_STEP)[0]


def out_of_limits(name: str, t: float) -> str:
    """A run whose states have left the limits of the model."""
    return f"{name} at t = {t:.9g}: the equations do not describe what follows; the solution up to there is kept"


def too_many_steps(max_steps: int) -> str:
    """The reason of a run that has been ended by its limit."""
    return f"{max_steps} steps were not enough"


def ended_by_event(t: float) -> str:
    """A run that a terminal event has ended."""
    return f"a terminal event ended the run at t = {t:.9g}"


def recurs(name: str) -> str:
    """The reason of a run in which an event that changes the state follows on itself without time in between."""
    return f"the event {name!r} recurs at once: the times between its occurrences tend to zero (Zeno behaviour)"
