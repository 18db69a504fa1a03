"""What compiled evaluations of a state return: `GOOD`, or what is wrong."""

GOOD, NOT_FINITE, RANK_LOST, CHART_LOST, NO_POSITION, NO_FRICTION = range(6)
