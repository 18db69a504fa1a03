"""Ctrl-C at random instants, hundreds of times, in a process of its own."""

from functools import partial

from ..benchmarks import interrupts
from .fault import Fault
from .outcomes import PROMPT, Outcome
from .subjects import Subject

GROUP = "Ctrl-C at random instants"


def keyboard_faults(count: int) -> list[Fault]:
    """Two faults of so many interrupts: of compiled code, and with a law in Python."""
    found = []
    for force, where in (("none", "without functions in Python"), ("python", "with a law in Python")):
        found.append(Fault(GROUP, f"interrupts {force}", f"{count} times, spread over the run, {where}",
                           "raised; the longest time until then; the same process then solves as before, to the bit",
                           judge=partial(_judged, count, force)))
    return found


def _judged(count: int, force: str, subject: Subject) -> Outcome:
    """Good if every signal has arrived in time as `KeyboardInterrupt`, or after the run, and the process is as before."""
    found = interrupts.run(subject.name, force, count)
    outcomes = {what: n for what, n in found["outcomes"].items() if what != "late"}
    good = outcomes == {"raised": count} and found["healthy"] and found["longest"] < PROMPT
    told = ", ".join(f"{n} {what}" for what, n in outcomes.items()) + ("" if found["healthy"] else ", not as before afterwards")
    return Outcome("raised" if good else "other", f"{1e3 * found['longest']:.0f} ms" if good else told, told, found["longest"])
