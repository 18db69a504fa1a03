"""The arguments of RADAU as pyradau13 sets them up, in memory that stays where it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdae.typing import Vector

from .arguments import Arguments, integer

MESSAGE = 1024  # characters
STAGES = 7  # at most
OTHERS = 20  # words of parameters and counts before the arrays
REPORTS = {-1: "INPUT IS NOT CONSISTENT", -2: "LARGER NMAX IS NEEDED", -3: "STEP SIZE BECOMES TOO SMALL",
           -4: "MATRIX IS REPEATEDLY SINGULAR"}


class Arrays:
    """The arguments of RADAU but for its callbacks.

    Parameters
    ----------
    options : dict
        Of `radau13` in the package.
    y0 : ndarray
    span : float
        The time runs from `span` to `2 span`.

    Attributes
    ----------
    mass : ndarray
        The matrix before the derivatives, by columns.
    """

    def __init__(self, options: dict[str, Any], y0: Vector, span: float) -> None:
        n = len(y0)
        self.n, self.mass = n, np.asarray(options["mass_matrix"], dtype=float).ravel(order="F")
        self._y, self._rtol, self._atol = (np.array(x, dtype=float) for x in (y0, options["reltol"], options["abstol"]))
        self._work = np.zeros(n * ((2 + STAGES) * n + 3 * STAGES + 3) + OTHERS)
        self._iwork = np.zeros((2 + (STAGES - 1) // 2) * n + OTHERS, dtype=np.int32)
        self._message = np.zeros(MESSAGE, dtype=np.uint8)
        self._memory, self._flag = Arguments(), integer(1)
        self._time, self._end, self._first = (self._memory.real(x) for x in (span, 2.0 * span, options["h0"]))
        self._set(options)

    def _set(self, options: dict[str, Any]) -> None:
        """The parameters that are not those of RADAU."""
        self._iwork[1] = options["max_steps"]
        self._iwork[4:7] = [options[f"dae_index_{k}_count"] for k in (1, 2, 3)]
        self._iwork[10:13] = [(options.get(order, 0) + 1) // 2 for order in ("min_order", "max_order", "initial_order")]  # stages
        self._work[6] = options["max_step_size"]

    # the arguments -------------------------------------------------------------------------------------------------------

    def before_jacobian(self, rhs: int) -> tuple[int, ...]:
        """`N, FCN, X, Y, XEND, H, RTOL, ATOL, ITOL`."""
        at = self._memory
        return (at.whole(self.n), rhs, self._time, at.array(self._y), self._end, self._first, at.array(self._rtol), at.array(self._atol),
                at.whole(1))

    def before_mass(self, given: bool) -> tuple[int, ...]:
        """`IJAC, MLJAC, MUJAC`: whether there is a Jacobian; it is full."""
        return self._wholes(int(given), self.n, 0)

    def before_output(self) -> tuple[int, ...]:
        """`IMAS, MLMAS, MUMAS`: there is a matrix before the derivatives; it is full."""
        return self._wholes(1, self.n, 0)

    def work(self) -> tuple[int, ...]:
        """`IOUT, WORK, LWORK, IWORK, LIWORK`."""
        return *self._wholes(1), *self._memory.work(self._work, self._iwork)

    def end(self) -> tuple[int, ...]:
        """`IDID, ERRBUF`, and the length of the latter."""
        return self._memory.array(self._flag), self._memory.array(self._message), MESSAGE

    def _wholes(self, *numbers: int) -> tuple[int, ...]:
        return tuple(map(self._memory.whole, numbers))

    # what RADAU leaves ---------------------------------------------------------------------------------------------------

    @property
    def failed(self) -> bool:
        """Whether it has neither arrived at the end nor been stopped."""
        return self.flag not in (1, 2)

    @property
    def flag(self) -> int:
        """What RADAU has returned."""
        return int(self._flag[0])

    @property
    def message(self) -> str:
        """What it has written."""
        return self._message.tobytes().decode("latin-1").rstrip(" \t\n\0")

    def counts(self) -> tuple[int, int, int, int]:
        """Evaluations without those for difference quotients, Jacobians, factorisations and solutions of linear systems."""
        f, jacobians, factorisations, solves = (int(self._iwork[k]) for k in (13, 14, 18, 19))
        return f, jacobians, factorisations, solves


def report(arrays: Arrays) -> str:
    """The message of the package about a failed run."""
    return f"radau failed with idid = {arrays.flag} ({REPORTS.get(arrays.flag)})\n{arrays.message}"
