"""The kinds of primitive constraints that are part of the compiled equations, in the order of their evaluation."""

from . import angle, cd, coincident, distance, dp1, dp2, pin, turn

KINDS = (coincident.KIND, pin.KIND, dp1.KIND, dp2.KIND, distance.KIND, cd.KIND, turn.KIND, angle.KIND)
