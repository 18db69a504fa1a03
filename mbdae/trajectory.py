"""What every method returns to `solve`: the states it has stored, how it ended, what it cost."""

from dataclasses import dataclass

import numpy as np

from .status import Statistics, Status


@dataclass
class Trajectory:
    """States at `n` times, one row each: `t` (n,), `q` (n, nq), `v` and `a` (n, nv), `lam` (n, nc)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    statistics: Statistics
    status: Status
    message: str
