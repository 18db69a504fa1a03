"""What comes of a fault in one method, and whether that is as promised."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import mbdae
from mbdae import Status

PROMPT = 1.0  # s that a fault may cost, beyond the run without it
MAX_ERROR, WRONG = 100.0, 1000.0  # in multiples of the bound of the method
COMPARED = 100  # states of a solution that are compared with the right ones
GOOD = ("right", "ended", "refused", "raised")


@dataclass(frozen=True)
class Outcome:
    """What came of one run.

    Attributes
    ----------
    kind : str
        As promised: `"right"` (success, and the solution is right), `"ended"` (a status, the culprit and the time named, what was computed
        before kept), `"refused"` (a `ValueError` before the run that names the culprit), `"raised"` (the exception of the user, unchanged).
        Beyond that: `"inaccurate"` (success with an error between `MAX_ERROR` and `WRONG`). Defects: `"wrong"` (a larger one), `"unnamed"`
        (the message does not name the culprit), `"lost"` (the states before the fault are missing or wrong), `"late"`, `"other"` (any
        other exception).
    text : str
        The status, with the error where there is a solution.
    detail : str
        The message.
    seconds : float
    """

    kind: str
    text: str
    detail: str
    seconds: float

    @property
    def good(self) -> bool:
        """Whether it is as promised."""
        return self.kind in GOOD

    @property
    def defect(self) -> bool:
        """Whether it must not happen."""
        return self.kind not in (*GOOD, "inaccurate")


@dataclass(frozen=True)
class Promise:
    """What may come of a fault.

    Attributes
    ----------
    solution : callable or None
        `solution(t) -> (q, v)`: the right solution, or `None` if a run must not succeed.
    statuses : tuple of Status
        With which a run may end.
    window : (float, float)
        Between these times a run that ends must have its last state.
    before : callable or None
        `before(t) -> (q, v)`: the right solution up to the fault, for the states that are kept up to the time `checked`.
    culprit : str
        Regular expression for the message of a run that ends.
    refusal : str or None
        Regular expression for the message of a `ValueError`, or of a `RuntimeError` where the state of the process forbids a run.
    raised : type or None
        Exception of the user that must arrive unchanged.
    rough : bool
        Steps of fixed size are of first order here, whatever the method.
    patient : bool
        The run may take long: it does what was asked for.
    """

    solution: Callable | None = None
    statuses: tuple[Status, ...] = ()
    window: tuple[float, float] = (-np.inf, np.inf)
    before: Callable | None = None
    culprit: str = ""
    refusal: str | None = None
    raised: type[BaseException] | None = None
    rough: bool = False
    checked: float = np.inf
    patient: bool = False


def outcome(run: Callable, promise: Promise, bound: float, usual: float) -> Outcome:
    """Carry out a run and judge it; a second time if it took longer than it should, for it may have compiled.

    `bound` is the error, relative to the size of the coordinates, that counts as one; `usual` are the seconds of the run without a fault.
    """
    found = _once(run, promise, bound)
    if found.seconds > PROMPT + usual and not promise.patient:
        found = _once(run, promise, bound)
        if found.kind in GOOD[1:] and found.seconds > PROMPT + usual:
            return Outcome("late", f"{found.text}, {found.seconds:.1f} s", found.detail, found.seconds)
    return found


def _once(run: Callable, promise: Promise, bound: float) -> Outcome:
    begin = time.process_time()
    try:
        solution = run()
    except Exception as error:
        return Outcome(*_of_exception(error, promise), time.process_time() - begin)
    return Outcome(*_of_solution(solution, promise, bound), time.process_time() - begin)


def _of_exception(error: Exception, promise: Promise) -> tuple[str, str, str]:
    name, text = type(error).__name__, str(error)
    if promise.raised is not None and type(error) is promise.raised:
        return ("raised", name, text) if getattr(error, "__notes__", None) or not promise.culprit else ("unnamed", name, text)
    if promise.refusal is not None and isinstance(error, ValueError | RuntimeError):
        return ("refused", "refused", text) if re.search(promise.refusal, text) else ("unnamed", "refused", text)
    return "other", name, text


def _of_solution(s: mbdae.Solution, promise: Promise, bound: float) -> tuple[str, str, str]:
    if s.success:
        if not _finite(s, len(s.t)):
            return "wrong", "SUCCESS, not finite", s.message
        if promise.solution is None:
            return "wrong", "SUCCESS", s.message
        error = _error(s, promise.solution, bound)
        return ("right" if error <= MAX_ERROR else "inaccurate" if error <= WRONG else "wrong"), f"{error:.2g}", s.message
    name = s.status.name
    if s.status not in promise.statuses:
        return "unnamed", name, s.message
    if not re.search(promise.culprit, s.message) or "t = " not in s.message:
        return "unnamed", name, s.message
    if not len(s.t) or not promise.window[0] <= s.t[-1] <= promise.window[1]:
        return "lost", f"{name} at {s.t[-1] if len(s.t) else np.nan:.3g}", s.message
    whole = len(s.t) - 1  # the last state may be one whose accelerations do not exist
    checked = min(whole, int(np.searchsorted(s.t, promise.checked)))
    if not _finite(s, whole) or (promise.before is not None and _error(s, promise.before, bound, checked) > MAX_ERROR):
        return "lost", f"{name}, states wrong or not finite", s.message
    return "ended", name, s.message


def _finite(s: mbdae.Solution, rows: int) -> bool:
    return all(np.isfinite(x[:rows]).all() for x in (s.q, s.v, s.a, s.lam))


def _error(s: mbdae.Solution, solution: Callable, bound: float, rows: int | None = None) -> float:
    """The largest error of positions and velocities in multiples of `bound`, relative to their sizes."""
    worst = 0.0
    n = len(s.t) if rows is None else rows
    for k in np.unique(np.linspace(0, n - 1, min(n, COMPARED)).astype(int)) if n else ():
        t, q, v = s.t[k], s.q[k], s.v[k]
        for x, y in zip((q, v), solution(t)):
            worst = max(worst, float(np.abs(x - y).max(initial=0.0)) / (bound * max(1.0, float(np.abs(y).max(initial=0.0)))))
    return worst
