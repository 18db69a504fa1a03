"""Coefficients of HEM5: a half-explicit method of order 5 for index 2, with eight stages.

V. Brasey, *A half-explicit Runge-Kutta method of order 5 for solving constrained mechanical systems*, Computing 48 (1992), and the code
HEM5 of V. Brasey. The accelerations of a stage follow from the constraints on velocities in the next one, those of the last stage from
these at the end of the step. The error estimate is that of the code. Its dense output needs a further stage; here it is a polynomial of
degree 4 through both ends, with their derivatives, and a difference of third order of the last five stages.
"""

import numpy as np

from ...typing import Matrix, Vector
from .tableau import Tableau, matrix

STAGES, ALL_STAGES = 9, 10  # of a step, the first one the derivative at the start, which has no weight; with its end
# the last row are the weights
A_ROWS = {
    2: {1: 0.1},
    3: {1: 0.0375, 2: 0.1125},
    4: {1: 0.3222169236216038, 2: -1.188883322987607, 3: 1.228145134023366},
    5: {1: -0.03501123898129943, 2: 0.3725420601086163, 3: -0.2721053535582034, 4: 0.01993037578575077},
    6: {1: -0.5576547055042005, 2: 1.367307289645883, 3: -1.732236360460725, 4: 0.4587772007467548, 5: 0.963806575572288},
    7: {1: 0.08654517193566155, 2: -0.08810082847945416, 3: 0.1981275547329404, 4: -0.4645422679331083, 5: 0.1615170091109488,
        6: 0.9064533606330119},
    8: {4: 3.624477248753816, 5: -0.4617724189181256, 6: -3.198024628164272, 7: 1.03531979832874},
    9: {4: 0.2467760667636791, 5: 0.2106594087489728, 6: 0.1769218149125021, 7: 0.3064446444147922, 8: 0.05919806516005373},
}
A = matrix(A_ROWS, ALL_STAGES, ALL_STAGES)
HELD = {i: A_ROWS[i + 1] for i in range(1, STAGES)}  # times and rows of the constraints of the stages are those of the next one
C = A.sum(axis=1)
HELD_C = np.append(C[1:], 0.0)


def _dense() -> Matrix:
    """The row of the dense output: conditions of the trees with up to four nodes, of least norm without the first three stages."""
    used, A2 = [0, *range(4, ALL_STAGES)], A @ A
    conditions = np.array([np.ones(ALL_STAGES), C, C**2, C**3, A @ C**2, A2 @ C])
    found = np.zeros((1, ALL_STAGES))
    found[0, used] = np.linalg.lstsq(conditions[:, used], np.array([0.0, 0.0, 0.0, 1 / 4, 1 / 12, 1 / 24]))[0]
    return found


def _divided_difference(*rows: int) -> Vector:
    """Coefficients of the divided difference of the derivatives in these rows."""
    found = np.zeros(ALL_STAGES)
    for i in rows:
        found[i] = 1.0 / np.prod([C[i] - C[j] for j in rows if j != i])
    return found


KINK = 0.03  # error of a step with a kink over the second divided difference, as for DOPRI5
DIFFERENCES = np.array([KINK * _divided_difference(0, 4, 8), _divided_difference(0, 4, 7, 8)])

HEM5 = Tableau("HEM5", order=5, error_order=4, stages=STAGES, A=A, c=C, error=A[STAGES] - A[STAGES - 1],
               second_error=A[STAGES] - matrix({0: {7: 2.5, 8: -1.5}}, 1, ALL_STAGES)[0], dense=_dense(),
               stiffness=float("inf"), held=matrix(HELD, ALL_STAGES, ALL_STAGES), held_c=HELD_C, differences=DIFFERENCES)
