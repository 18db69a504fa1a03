"""What an excitation `u(t)` does to `F_y`: mixed second derivatives, found once [Arnold, section 3.3]."""

import numpy as np

FAR = 4.0  # how much further than the difference it was found with a derivative is used
SMALL = 1e-2  # of an excitation's change: what is not worth a derivative of its own


class MixedDerivatives:
    """The sum in eq. (26), `sum_i d(F_y)/du_i (y0, yd0) (u_i(t) - u_i(t_old))`.

    The derivative along a direction of `u` is found when `u` first moves in this direction, as a difference of two `F_y` with the state of
    the start and the excitations of two times, so `F` needs no access to `u`. It is found anew when `u` has moved much further.

    Parameters
    ----------
    excitation : callable
        `u(t) -> (n_u,)`.
    evaluate : callable
        `evaluate(t) -> (nnz,)`, `F_y` at time `t` with the state of the start.

    Attributes
    ----------
    found : int
        Derivatives found so far.
    """

    def __init__(self, excitation, evaluate):
        self._u, self._evaluate = excitation, evaluate
        self.found = 0
        self._forget()

    def change(self, t_old, t):
        """What `F_y` changes by from `t_old` to `t`, shape (nnz,); zero if `u` does not change."""
        step = self._u(t) - self._u(t_old)
        parts = [direction @ step for direction in self._directions]
        if any(abs(p) > FAR * reach for p, reach in zip(parts, self._reach)):
            self._forget()
            parts = []
        rest = step - sum((p * d for p, d in zip(parts, self._directions)), np.zeros_like(step))
        if np.linalg.norm(rest) > SMALL * np.linalg.norm(step):
            self._find(t_old, t, rest, parts)
            parts.append(np.linalg.norm(rest))
        return sum((p * d for p, d in zip(parts, self._derivatives)), 0.0)

    def _find(self, t_old, t, rest, parts):
        self.found += 1
        change = self._evaluate(t) - self._evaluate(t_old) - sum((p * d for p, d in zip(parts, self._derivatives)), 0.0)
        length = np.linalg.norm(rest)
        self._directions.append(rest / length)
        self._derivatives.append(change / length)
        self._reach.append(length)

    def _forget(self):
        self._directions, self._derivatives, self._reach = [], [], []
