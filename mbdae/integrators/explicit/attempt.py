"""Steps of explicit Runge-Kutta methods for the time loop: stages, error test, projection."""

from ...compilation.compiled import compiled, generic
from ...system.codes import ERROR_TEST, GOOD
from ...system.vectors import put
from ..control.bend import accept_differences
from ..control.loop import loops
from ..control.records import put_state
from .consistent import make_consistent_after_stage
from .errors import displacement, estimate, modulus, weigh
from .interpolation import between
from .kinks import ratio
from .stability import count_stiff
from .stages import keep, take_stages

AT_BOUNDARY = 0.9  # of the boundary of the region of stability, from which on steps count as at it: the controller keeps them below
MAX_CUTS = 3  # of a step for the displacement alone, after which that is taken for rounding: it does not fall with the step
SHARE = 0.1  # of the displacement that counts from then on


@compiled
def attempt(t, h, end, run):
    """One explicit step and its error."""
    return step(take_stages, estimate, make_consistent_after_stage, t, h, end, run)


@generic
def step(take_stages, estimate, make_consistent, t, h, end, run):
    """One step with these stages, this estimate and this projection, and its error.

    The component of the error that the projection removes counts, too. An estimate that contains the derivative at the end is evaluated
    with that of the projected end, which is the first stage of the next step.
    """
    run.memory.extended, error = 0, 0.0
    status = take_stages(t, h, end, run)
    if status != GOOD:
        return status, 0.0
    weigh(run)
    early = run.clock.fixed == 0 and run.tableau.uses_end == 0
    if early:
        error = estimate(h, run)
        if not error <= 1.0:
            return ERROR_TEST, error
    # the end, projected
    put(run.end.q, run.raw.q)
    put(run.end.v, run.raw.v)
    put(run.stage.lam, run.end.lam)
    status = make_consistent(end, run.end, run, run.model)
    if status != GOOD:
        return status, 0.0
    keep(end, run.tableau.stages, run.end, run, run.model)
    run.memory.modulus = modulus(h, run)
    if run.clock.fixed != 0:
        return GOOD, 0.0
    if not early:
        error = estimate(h, run)
    return GOOD, max(error, displaced(error, run.memory, displacement(run)))


@compiled
def displaced(error, memory, size):
    """What counts of the displacement by the projection: a share where it is rounding, as at tight tolerances near singular positions."""
    if memory.noisy != 0:
        return SHARE * size
    if size > 1.0 and error <= 1.0:
        memory.cuts += 1
        if memory.cuts > MAX_CUTS:
            memory.noisy = 1
            return SHARE * size
    return size


@compiled
def retry(status, run):
    """After a rejected step: a shorter one."""
    return 0.25


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    put_state(run.end, run.start)
    memory = run.memory
    memory.cuts = 0
    accept_differences(run.second)
    accept_differences(run.third)
    count_stiff(AT_BOUNDARY * run.tableau.stiffness, memory)
    return GOOD


LOOPS = loops(attempt, retry, accept, between, ratio)
