"""The choice between the coupled matrix of all stages and shorter steps, where the simplified method converges too slowly.

The coupled matrix is dense, and its factorisation grows with the cube of the number of unknowns, while a step of the simplified method is
linear in the number of bodies of chains and trees. With step-size control the steps of large systems are therefore so short that the
simplified method converges: its contraction rate, which grows at least with the step size, is held at `RATE`. The number of iterations
per time, `log(eps) / (h log(c h))`, is least at a rate of `1/e`, and larger by a seventh at 0.2.

Stiff forces may limit the simplified method to steps that are far shorter than accuracy allows. If the error allows steps that are longer
by more than the ratio of the costs, the coupled matrix is used for large systems, too.
"""

from ...compilation.compiled import compiled
from ...system.codes import DIVERGED, GOOD
from ..control.loop import filtered

SIMPLIFIED, COUPLED = range(2)
SMALL = 100  # unknowns of all stages up to which the coupled matrix costs no more than shorter steps
COST = 40.0  # a coupled step costs `(unknowns / COST)^2` simplified ones
LARGEST = 4096  # unknowns above which there is no coupled matrix, which would have more than 128 MB
RATE = 0.2  # contraction rate for which steps are chosen
SLOWEST = 0.5  # contraction rate up to which there are further iterations where a shorter step is the alternative
SHORTENING = 0.25  # of a step that has failed, at most


@compiled
def may_couple(stages, run):
    """Whether the coupled matrix may be formed."""
    size = stages.pivots.shape[0]
    if size <= SMALL or size > LARGEST or run.clock.fixed != 0:
        return size <= LARGEST
    return run.memory.longer > (size / COST) ** 2


@compiled
def goes_on(rate, stages, run):
    """Whether a slow iteration goes on at this contraction rate, as there is no other matrix."""
    return rate < SLOWEST and not may_couple(stages, run)


@compiled
def ratio(status, error, h, run):
    """The ratio of the next step to this one: the controller's, as far as the simplified method will converge."""
    usual, stages = filtered(status, error, h, run), run.stages
    if status != GOOD or stages.mode == COUPLED:
        return usual
    run.memory.longer = error ** (-1.0 / run.order) if error > 0.0 else 1.0
    if stages.rate == 0.0 or may_couple(stages, run):
        return usual
    return min(usual, max(RATE / stages.rate, SHORTENING))


@compiled
def shortening(status, run):
    """The ratio after Newton's method has failed."""
    rate = run.stages.rate
    return max(SHORTENING, 0.5 * RATE / rate) if status == DIVERGED and rate > RATE else SHORTENING
