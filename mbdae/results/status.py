"""Status codes of runs."""

from enum import IntEnum
from typing import NamedTuple


class Status(IntEnum):
    """Outcome of a run; `0` is success, as in `scipy.integrate.solve_ivp`.

    Examples
    --------
    >>> from mbdae import Status
    >>> Status(-6).name
    'SINGULAR'
    """

    SUCCESS = 0
    NEWTON_FAILED = -1
    NOT_FINITE = -2
    STEP_TOO_SMALL = -3
    TOO_MANY_STEPS = -4
    SOLVER_FAILED = -5
    SINGULAR = -6
    CHART_LOST = -7
    PROJECTION_FAILED = -8
    OUT_OF_LIMITS = -9
    ZENO = -10
    UNFINISHED = -11  # of a checkpoint: the run had not ended when it was written
    UNSTABLE = -12  # fixed steps beyond the limit of stability


class Cause(NamedTuple):
    """Why a run, a step or an evaluation has failed."""

    status: Status
    reason: str
