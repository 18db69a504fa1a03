"""Coefficients of DOPRI5, of order 5, with an error estimate of order 4 and dense output of order 4.

J. R. Dormand, P. J. Prince, *A family of embedded Runge-Kutta formulae*, J. Comput. Appl. Math. 6 (1980); E. Hairer, S. P. Norsett,
G. Wanner, *Solving Ordinary Differential Equations I*, section II.5, and the code DOPRI5 of E. Hairer for the dense output, section II.6.
"""

import numpy as np

from .tableau import Tableau, matrix

STAGES, ALL_STAGES = 6, 7  # of a step; with its end
C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
# the last row are the weights
A_ROWS = {
    1: {0: 1 / 5},
    2: {0: 3 / 40, 1: 9 / 40},
    3: {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
    4: {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
    5: {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
    6: {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
}
ERROR = {0: 71 / 57600, 2: -71 / 16695, 3: 71 / 1920, 4: -17253 / 339200, 5: 22 / 525, 6: -1 / 40}
DENSE = {0: -12715105075 / 11282082432, 2: 87487479700 / 32700410799, 3: -10690763975 / 1880347072, 4: 701980252875 / 199316789632,
         5: -1453857185 / 822651844, 6: 69997945 / 29380423}

KINK = 0.03  # error of a step with a kink over the second divided difference: 0.015 in the median of its places, 0.09 at most
SECOND_DIFFERENCE = {0: KINK / 0.3, 2: -KINK / (0.3 * 0.7), 6: KINK / 0.7}  # over 0, 0.3 and 1
THIRD_DIFFERENCE = {0: -1 / 0.24, 2: 1 / 0.105, 3: -1 / 0.08, 6: 1 / 0.14}  # over 0, 0.3, 0.8 and 1

DOPRI5 = Tableau("DOPRI5", order=5, error_order=4, stages=STAGES, A=matrix(A_ROWS, ALL_STAGES, ALL_STAGES), c=np.array(C),
                 error=matrix({0: ERROR}, 1, ALL_STAGES)[0], second_error=np.zeros(ALL_STAGES), dense=matrix({0: DENSE}, 1, ALL_STAGES),
                 stiffness=3.25, differences=matrix({0: SECOND_DIFFERENCE, 1: THIRD_DIFFERENCE}, 2, ALL_STAGES))
