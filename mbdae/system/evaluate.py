"""Compiled evaluations from a bare state, one call from Python each: place the state, evaluate, return a new array."""

import numpy as np

from ..compilation.compiled import compiled, generic, window
from . import drift, dynamics, extra, frames, kernels, kkt, motion, multibody, null_space, sparse
from . import layout as lay
from .codes import GOOD, RANK_LOST
from .layout import count, header, part, table
from .vectors import all_finite, is_finite, largest


@compiled
def prepare(model, work):
    kernels.prepare(model, work)
    if header(model)[lay.CONSTANT_MASS]:
        kkt.factor_mass(part(model, work, lay.W_MASS), model, part(model, work, lay.W_MINV))


@generic
def _at_position(evaluation, size, t, q, model, work):
    """An evaluation that needs the positions only; `size` is the place of its length in the header."""
    out = np.zeros(header(model)[size], work.dtype)
    kernels.place(t, q, model, work)
    evaluation(t, q, model, work, out)
    return out


@compiled
def phi(t, q, model, work):
    return _at_position(kernels.phi, lay.NC, t, q, model, work)


@compiled
def phi_q(t, q, model, work):
    return _at_position(kernels.phi_q, lay.NNZ, t, q, model, work)


@compiled
def nu(t, q, model, work):
    return _at_position(kernels.nu, lay.NC, t, q, model, work)


@compiled
def gamma(t, q, v, model, work):
    out = np.zeros(header(model)[lay.NC], work.dtype)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.gamma(t, q, v, model, work, out)
    return out


@compiled
def force(t, q, v, lam, model, work):
    out = np.zeros(header(model)[lay.NV], work.dtype)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.force(t, q, v, lam, model, work, out)
    return out


@compiled
def mass(t, q, model, work):
    """The mass matrix, dense."""
    kernels.place(t, q, model, work)
    kernels.mass(t, q, model, work)
    M, blocks = kernels.mass_values(model, work), table(model, lay.BLOCK, lay.BLOCK_T)
    n = header(model)[lay.NV]
    out = np.zeros((n, n), work.dtype)
    if header(model)[lay.KIND] == lay.TREE:
        kernels.mass_entries(model, work, out.reshape(n * n))
        return out
    for b in range(blocks.shape[0]):
        v, k, at = blocks[b]["v"], blocks[b]["n"], blocks[b]["at"]
        for i in range(k):
            for j in range(k):
                out[v + i, v + j] = M[at + k * i + j]
    return out


@compiled
def mass_times(t, q, x, model, work):
    out = np.zeros(header(model)[lay.NV], work.dtype)
    kernels.place(t, q, model, work)
    kernels.mass(t, q, model, work)
    sparse.mass_times(kernels.mass_values(model, work), x, model, out)
    return out


@compiled
def qdot(t, q, v, model, out):
    kernels.qdot(t, q, v, model, out)
    return out


@compiled
def retract(q, d, model, out):
    kernels.retract(q, d, model, out)
    return out


@compiled
def difference(q, q0, model, out):
    kernels.difference(q, q0, model, out)
    return out


@compiled
def factor(t, q, model, work):
    """Factorise the KKT matrix at `q`; the number of equations without a pivot."""
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    return kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)


@compiled
def solve_motion(t, q, v, a, lam, model, work):
    """Accelerations and multipliers of the equations of motion at a state; `GOOD` or the code of a failure.

    With joint friction `lam` is an initial guess on entry. Leaves the mass matrix and the factors in `work`.
    """
    if motion.is_free_tree(model):
        return motion.articulated(t, q, v, model, work, a)
    if factor(t, q, model, work) > count(model, lay.DEPENDENT):
        return RANK_LOST
    kernels.place_velocity(v, model, work)
    return motion.accelerations(t, q, v, a, lam, model, work)


@compiled
def solve_kkt(t, q, b, c, model, work):
    head = header(model)
    x, lam = np.zeros(head[lay.NV], work.dtype), np.zeros(head[lay.NC], work.dtype)
    dependent = factor(t, q, model, work)
    kkt.solve(model, work, b, c, x, lam)
    return x, lam, dependent


@compiled
def unit_mass(model, work):
    """The identity in the place of the mass matrix, and its factors."""
    sparse.unit_mass(model, part(model, work, lay.W_MASS))
    sparse.factor_mass(part(model, work, lay.W_MASS), model, part(model, work, lay.W_MINV))


@compiled
def minimise(t, q, lam, model, work):
    """Replace the rows of `lam` by multipliers of minimum norm with the same constraint forces, at the times `t` and positions `q`.

    The null vectors are those of `Phi_q Phi_q^T`, without the masses; where positions are off the constraints, the singular vectors of its
    smallest singular values. `work` has unit masses afterwards.

    Returns `|Phi_q^T N|` for each row, relative to the longest row of `Phi_q`: zero as long as the equations are redundant.
    """
    rest = np.zeros(t.shape[0])
    unit_mass(model, work)
    for k in range(t.shape[0]):
        kernels.place(t[k], q[k], model, work)
        kernels.phi_q(t[k], q[k], model, work, part(model, work, lay.W_G))
        kkt.factor(model, work, False)
        null_space.refine(model, work)
        for _ in range(2):  # the second removes rounding, where the part in the null space is large
            kkt.minimise(model, work, lam[k])
        rest[k] = null_space.remainder(model, work)
    return rest


@compiled
def drift_term(t, q, v, model, work):
    """The term of `drift` for the acceleration equations of redundant constraints, after `factor`."""
    out = np.zeros(header(model)[lay.NC], work.dtype)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    drift.drift_term(t, q, v, model, work, out)
    return out


@compiled
def accelerations(t, q, v, lam, model, work):
    """`(a, lam, code, dependent)`, see `dynamics`; `lam` is a guess, and is changed."""
    head = header(model)
    a, target = np.zeros(head[lay.NV], work.dtype), np.zeros(head[lay.NC], work.dtype)
    if motion.is_free_tree(model):
        return a, lam, motion.articulated(t, q, v, model, work, a), 0
    dependent = factor(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.gamma(t, q, v, model, work, target)
    code = dynamics.accelerations(t, q, v, target, a, lam, model, work)
    return a, lam, code, dependent


@compiled
def rates(t, y, lam, model, work):
    """`(q', v')` at the positions and velocities in `y`, and the code of `accelerations`; `lam` is a guess, and is changed."""
    head, out = header(model), np.empty_like(y)
    nq, nv = head[lay.NQ], head[lay.NV]
    q, v = window(y, 0, nq), window(y, nq, nv)
    a, _, code, _ = accelerations(t, q, v, lam, model, work)
    kernels.qdot(t, q, v, model, window(out, 0, nq))
    window(out, nq, nv)[:] = a
    return out, code


@compiled
def accelerations_of_rows(begin, t, q, v, guess, model, work, a, lam):
    """`accelerations` by rows from number `begin` on; the number of the first row that has none, or other redundant equations."""
    for k in range(begin, t.shape[0]):
        lam[k] = guess
        found, multipliers, code, dependent = accelerations(t[k], q[k], v[k], lam[k], model, work)
        if code != GOOD or dependent not in (0, count(model, lay.DEPENDENT)) or not all_finite(found):
            return k
        a[k], lam[k] = found, multipliers
    return t.shape[0]


@compiled
def violations_of_rows(begin, t, q, v, a, model, work, out):
    """Largest `|Phi|`, `|Phi_q v - nu|`, `|Phi_q a - gamma|` by rows from number `begin` on; the number of the first that is not finite."""
    level, G = np.zeros(header(model)[lay.NC], work.dtype), np.zeros(header(model)[lay.NNZ], work.dtype)
    for k in range(begin, t.shape[0]):
        kernels.place(t[k], q[k], model, work)
        kernels.place_velocity(v[k], model, work)
        kernels.phi(t[k], q[k], model, work, level)
        out[k, 0] = largest(level)
        kernels.phi_q(t[k], q[k], model, work, G)
        kernels.nu(t[k], q[k], model, work, level)
        out[k, 1] = _violation(G, v[k], level, model)
        kernels.gamma(t[k], q[k], v[k], model, work, level)
        out[k, 2] = _violation(G, a[k], level, model)
        if not is_finite(out[k, 0] + out[k, 1] + out[k, 2]):
            return k
    return t.shape[0]


@compiled
def _violation(G, x, target, model):
    """The largest component of `Phi_q x - target`; `target` is changed."""
    for i in range(target.shape[0]):
        target[i] = -target[i]
    sparse.add_times(G, x, model, target)
    return largest(target)


@compiled
def energy(t, q, v, model, work):
    """Kinetic energy and the potentials of gravity and forces, multibody systems only."""
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    x = kernels.cartesian(q, model, work)
    total = frames.kinetic_energy(model, work) + frames.gravity_energy(model, work) + multibody.energy(x, model, work)
    if count(model, lay.EXTRA_FORCE):
        total += extra.energy(t, x, model, work)
    return total


@compiled
def refine(t, q, v, a, lam, model, work):
    """`motion.refine`, for calls from Python."""
    motion.refine(t, q, v, a, lam, model, work)
