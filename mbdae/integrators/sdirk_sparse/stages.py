"""The stages of a step, and its end."""

from ...compilation.compiled import compiled, window
from ...system import kernels
from ...system.codes import DIVERGED, GOOD
from ...system.vectors import put
from ..control.newton import ITERATE, newton_test
from ..control.norm import noise, size_of
from ..control.records import put_state
from ..explicit.consistent import normalise
from ..explicit.stages import evaluate
from .errors import solve_for
from .positions import place, second_rates


@compiled
def begin(t, run):
    """`q'` and `q''` at the start of the step."""
    start = run.start
    kernels.qdot(t, start.q, start.v, run.model, run.qd0)
    second_rates(t, start.q, start.v, start.a, run.model, run.turn, run.qdd0)


@compiled
def take_stages(t, h, end, run):
    """Solve for all stages and place the end of the step; `GOOD` or the code of a failure.

    `q_i = q0 + c_i h q0' + h^2 sum_j (A A)_ij q_j''`, `q_i' = q0' + h sum_j a_ij q_j''` in the independent coordinates.
    """
    tableau, memory, start, stage = run.tableau, run.memory, run.start, run.stage
    gh, eta, memory.rate = tableau.A[0, 0] * h, memory.eta, 0.0
    put_state(start, stage)
    for i in range(tableau.c.shape[0]):
        _guess(i, h, gh, run)
        if i == 0:
            _forecast(gh, run)
        time = end if i == tableau.c.shape[0] - 1 else t + tableau.c[i] * h
        status, eta, rate = _newton(time, gh, eta, i, run)
        if status != GOOD:
            return status
        memory.rate = max(memory.rate, rate)
    memory.next_eta = eta
    put_state(stage, run.end)
    return place(end, run.z, run.zd, run.end.q, run.end.v, run)


@compiled
def _guess(i, h, gh, run):
    """The parts of a stage that do not depend on it, and starting values of later stages: increments from those of the stages before."""
    tableau, start, stages, stage = run.tableau, run.start, run.stages, run.stage
    A, AA, c, guess = tableau.A, tableau.AA, tableau.c, tableau.start
    for k in range(start.q.shape[0]):
        base, based, ahead = start.q[k] + c[i] * h * run.qd0[k], run.qd0[k], 0.0
        for j in range(i):
            base += h * h * AA[i, j] * stages.qdd[j, k]
            based += h * A[i, j] * stages.qdd[j, k]
            ahead += guess[i, j] * stages.dqd[j, k]
        second = (ahead - (based - run.qd0[k])) / gh
        run.base[k], run.based[k], run.zdd[k] = base, based, second
        run.z[k], run.zd[k] = base + gh * gh * second, based + gh * second
        stage.q[k] = run.z[k]
    for k in range(start.v.shape[0]):
        ahead = start.v[k]
        for j in range(i):
            ahead += guess[i, j] * stages.dv[j, k]
        stage.v[k] = ahead
    normalise(stage.q, stage.v, run.model)


@compiled
def _forecast(gh, run):
    """Starting values of the first stage with stiff forces: a correction of the state at the start of the step."""
    start, rz, rzd, p, moved = run.start, run.error_q, run.rates, run.partition, run.moved
    put(run.qdd0, run.stages.qdd[0])
    put_state(start, run.stage)
    for m in range(p.independent.shape[0]):
        j = p.independent[m]
        rz[j] = run.base[j] + gh * gh * run.qdd0[j] - start.q[j]
        rzd[j] = run.based[j] + gh * run.qdd0[j] - run.qd0[j]
    solve_for(rz, rzd, run)
    for m in range(p.independent.shape[0]):
        j = p.independent[m]
        run.zdd[j] = (run.qd0[j] + (moved[j] - rz[j]) / gh + rzd[j] - run.based[j]) / gh
    _update(gh, 0, run)


@compiled
def _newton(t, gh, eta, i, run):
    """Newton's method for stage `i`; returns `(status, eta, rate)`.

    The unknowns are `x`, with `z = z~ + (gamma h)^2 x` and `z' = z~' + gamma h x`. With the accelerations `z''` of the equations of motion
    at these positions and velocities, on the constraints, `dx - (gamma h)^2 J1 dx - gamma h J2 dx = z'' - x`.
    """
    before, rate, counts, stage, p, model = 0.0, 0.0, run.counts, run.stage, run.partition, run.model
    eta, qdd, rz, rzd = max(eta, 1e-16) ** 0.8, run.stages.qdd[i], run.error_q, run.rates
    least = noise(run)
    for k in range(run.newton.max_iter):
        status = place(t, run.z, run.zd, stage.q, stage.v, run)
        if status == GOOD:
            status = evaluate(t, stage, run, model)
        if status != GOOD:
            return status, eta, rate
        second_rates(t, stage.q, stage.v, stage.a, model, run.turn, qdd)
        for m in range(p.independent.shape[0]):
            j = p.independent[m]
            rz[j], rzd[j] = gh * gh * (qdd[j] - run.zdd[j]), gh * (qdd[j] - run.zdd[j])
        solve_for(rz, rzd, run)
        for m in range(p.independent.shape[0]):
            j = p.independent[m]
            run.zdd[j] += run.moved[j] / gh**2
        counts.newton_iterations += 1
        moved = _update(gh, i, run)
        status, rate, eta = newton_test(run.newton, k, moved, before, eta, moved <= least)
        if status != ITERATE:
            return status, eta, rate
        before = moved
    return DIVERGED, eta, rate


@compiled
def _update(gh, i, run):
    """A stage for new independent accelerations, and its other coordinates by `run.moved`; the norm of that."""
    moved, stage, stages, p = run.moved, run.stage, run.stages, run.partition
    nq, nv = stage.q.shape[0], stage.v.shape[0]
    for m in range(p.independent.shape[0]):
        j = p.independent[m]
        run.z[j], run.zd[j] = run.base[j] + gh * gh * run.zdd[j], run.based[j] + gh * run.zdd[j]
    # the others, as guesses and for sums
    da = window(moved, nq + nv, nv)
    kernels.qdot(0.0, stage.q, da, run.model, run.turn)
    for k in range(nq):
        stage.q[k] += moved[k]
        stages.qdd[i, k] += run.turn[k]
    for m in range(p.independent.shape[0]):
        j = p.independent[m]
        stages.qdd[i, j] = run.zdd[j]
    for k in range(nv):
        stage.v[k] += moved[nq + k]
        stages.a[i, k], stages.dv[i, k] = stage.a[k] + da[k], stage.v[k] - run.start.v[k]
    normalise(stage.q, stage.v, run.model)
    kernels.qdot(0.0, stage.q, stage.v, run.model, run.turn)
    for k in range(nq):
        stages.dqd[i, k] = run.turn[k] - run.qd0[k]
    for m in range(p.independent.shape[0]):
        j = p.independent[m]
        stages.dqd[i, j] = run.zd[j] - run.qd0[j]
    return size_of(window(moved, 0, nq), window(moved, nq, nv), run)
