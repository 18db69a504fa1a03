"""Symmetric compositions of a symmetric method of order two [Hairer, Lubich and Wanner, sections II.4 and V.3].

A step of length `h` consists of parts of lengths `w_1 h, ..., w_s h` with `w_i = w_{s+1-i}`. With `sum w_i = 1` and `sum w_i^3 = 0` it
is of order four; order six needs `sum w_i^5 = 0` and one more condition, on products, order eight four more. Parts with negative weights
go back in time; those that are chosen here never leave the step, so that forces and motions are evaluated at times within it only.
"""

import numpy as np

from ...driver.arguments import is_integer
from ...typing import Vector

_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
_HALVES = {  # the weights up to that in the middle
    2: (1.0,),
    # M. Suzuki, Phys. Lett. A 146 (1990)
    4: (_SUZUKI, _SUZUKI, 1.0 - 4.0 * _SUZUKI),
    # W. Kahan and R.-C. Li, Math. Comp. 66 (1997)
    6: (0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.08221359629355080023, 0.79854399093482996340),
    8: (0.13020248308889008088, 0.56116298177510838456, -0.38947496264484728641, 0.15884190655515560090, -0.39590389413323757734,
        0.18453964097831570709, 0.25837438768632204729, 0.29501172360931029887, -0.60550853383003451170),
}
ORDERS = tuple(_HALVES)
STABILITY = {2: 2.0, 4: 2.7, 6: 2.5, 8: 3.1}  # `h` times the largest frequency, by the eigenvalues for the harmonic oscillator


def weights(order: int) -> Vector:
    """The lengths of the parts of a step of length 1, for one of the `ORDERS`.

    Raises
    ------
    ValueError
        If there is no composition of this order.
    """
    if not is_integer(order) or order not in _HALVES:
        raise ValueError(f"Rattle: order must be one of {', '.join(map(str, ORDERS))}, got {order!r}")
    half = _HALVES[order]
    return np.array((*half, *half[-2::-1]))
