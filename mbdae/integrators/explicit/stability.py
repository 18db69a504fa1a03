"""Whether steps are at the boundary of the region of stability, so that the equations count as stiff."""

from ...compilation.compiled import compiled

MANY = 15  # steps at the boundary of the region of stability after which the equations count as stiff, as in DOP853
FEW = 6  # consecutive steps inside of it after which they do not


@compiled
def count_stiff(boundary, memory):
    """Count an accepted step, by its estimate of `|h lambda|` in `memory.modulus`."""
    if memory.modulus > boundary:
        memory.stiff, memory.calm = memory.stiff + 1, 0
    elif memory.stiff < MANY:
        memory.calm += 1
        if memory.calm == FEW:
            memory.stiff = 0
