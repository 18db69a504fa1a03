"""Status codes of compiled code: `GOOD`, or what has failed."""

# evaluations of a state
GOOD, NOT_FINITE, RANK_LOST, CHART_LOST, NO_POSITION, NO_FRICTION = range(6)
# Newton's method and the error test
DIVERGED, SINGULAR_MATRIX, ERROR_TEST, BAD_DERIVATIVES, STALLED, BELOW_ROUNDING, VARIABLE_MASS = range(30, 37)
# what a step needs from outside the compiled code before it can be repeated
NEEDS_CHART, NEEDS_MATRIX, NEEDS_DERIVATIVES, NEEDS_STEP = range(40, 44)
# projections of the energy
NO_ENERGY, NOT_CONSERVED, NO_VALUE = range(50, 53)
