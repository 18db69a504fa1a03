"""Changes of `F_y` by an excitation `u(t)`: mixed second derivatives, evaluated once [Arnold, section 3.3]."""

from collections.abc import Callable

import numpy as np

from .signatures import Vector

MAX_EXTRAPOLATION = 1e3  # change of `u` for which a derivative is used, relative to that of its quotient; so much accuracy is lost
MIN_SHARE = 1e-2  # share of a change of `u` outside the known directions above which another derivative is evaluated


class MixedDerivatives:
    """The sum in eq. (26), `sum_i d(F_y)/du_i (y0, yd0) (u_i(t) - u_i(t_old))`.

    The derivative along a direction of `u` is evaluated when `u` first changes in this direction. It is a difference of two `F_y` with the
    initial state and the excitations of two times, so `F` needs no argument `u`. It is evaluated again when `u` has changed much more.

    Parameters
    ----------
    excitation : callable
        `u(t) -> (n_u,)`.
    evaluate : callable
        `evaluate(t) -> (nnz,)`, `F_y` at time `t` with the initial state.

    Attributes
    ----------
    found : int
        Derivatives evaluated so far.
    """

    def __init__(self, excitation: Callable[[float], Vector], evaluate: Callable[[float], Vector]) -> None:
        self._u, self._evaluate = excitation, evaluate
        self.found = 0
        self._forget()

    def change(self, t_old: float, t: float) -> Vector | float:
        """The change of `F_y` from `t_old` to `t`, shape (nnz,); zero if `u` does not change."""
        step = self._u(t) - self._u(t_old)
        parts = [float(direction @ step) for direction in self._directions]
        if any(abs(p) > MAX_EXTRAPOLATION * reach for p, reach in zip(parts, self._reach)):
            self._forget()
            parts = []
        rest = step - sum((p * d for p, d in zip(parts, self._directions)), np.zeros_like(step))
        if np.linalg.norm(rest) > MIN_SHARE * np.linalg.norm(step):
            self._find(t_old, t, rest, parts)
            parts.append(float(np.linalg.norm(rest)))
        return sum((p * d for p, d in zip(parts, self._derivatives)), 0.0)

    def _find(self, t_old: float, t: float, rest: Vector, parts: list[float]) -> None:
        self.found += 1
        change = self._evaluate(t) - self._evaluate(t_old) - sum((p * d for p, d in zip(parts, self._derivatives)), 0.0)
        length = float(np.linalg.norm(rest))
        self._directions.append(rest / length)
        self._derivatives.append(change / length)
        self._reach.append(length)

    def _forget(self) -> None:
        self._directions: list[Vector] = []
        self._derivatives: list[Vector] = []
        self._reach: list[float] = []
