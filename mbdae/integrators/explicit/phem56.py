"""Coefficients of PHEM56: a partitioned half-explicit method of order 5 for index 2, with the stages of DOPRI5.

A. Murua, *Partitioned half-explicit Runge-Kutta methods for differential-algebraic systems of index 2*, Computing 59 (1997), and the code
PHEM56 of A. Murua. The dense output is the polynomial of degree 4 through both ends, with their derivatives, and through the value of the
code at 19/30.
"""

from dataclasses import replace

from .dopri5 import ALL_STAGES, DOPRI5
from .tableau import matrix

# times and rows of the constraints of the stages; the last one is the end of the step
HELD_C = (0.0, 3 / 10, 3 / 8, 5 / 7, 1.0, 1.0, 0.0)
HELD = {
    1: {0: 3 / 40, 1: 9 / 40},
    2: {0: 21 / 256, 1: 45 / 256, 2: 15 / 128},
    3: {0: 19235 / 98784, 1: -225 / 392, 2: 6235 / 6174, 3: 2755 / 32928},
    4: {0: -293 / 1152, 1: 85 / 48, 2: -2275 / 1908, 3: 35 / 32, 4: -2835 / 6784},
    5: {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
}
DENSE = {0: -145 / 128, 2: 1000 / 371, 3: -375 / 64, 4: 25515 / 6784, 5: -55 / 28, 6: 5 / 2}

PHEM56 = replace(DOPRI5, name="PHEM56", dense=matrix({0: DENSE}, 1, ALL_STAGES), stiffness=float("inf"),
                 held=matrix(HELD, ALL_STAGES, ALL_STAGES), held_c=matrix({0: dict(enumerate(HELD_C))}, 1, ALL_STAGES)[0])
