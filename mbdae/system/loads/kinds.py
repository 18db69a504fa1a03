"""The kinds of force elements that are part of the compiled equations, in the order of their evaluation."""

from . import friction, load, rsda, tsda, user_force

KINDS = (tsda.KIND, rsda.KIND, load.KIND)
USER_FORCE = user_force.KIND
FRICTION = friction.KIND
