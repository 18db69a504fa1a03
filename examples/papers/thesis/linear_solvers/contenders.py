"""Solvers of a system of linear equations, each with the matrix in its own format, ready to be timed: ours, SciPy's, LAPACK's.

A contender is a `Prepared`. Those of LAPACK are in `lapack`.
"""

from dataclasses import dataclass
from time import process_time

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from mbdae.compilation.compiled import compiled
from mbdae.system import evaluate as ev
from mbdae.system import kkt
from mbdae.system import layout as lay
from mbdae.system.factorisation import factorise
from mbdae.system.layout import PAIR_T, part, records_of, table

ORDERINGS = ("COLAMD", "MMD_AT_PLUS_A", "MMD_ATA", "NATURAL")  # of SuperLU


@dataclass(frozen=True)
class Prepared:
    """A solver with its matrix.

    Attributes
    ----------
    run : callable
        `run(repeats)` solves so many times.
    restore : callable
        `restore(repeats)` only puts back, so many times, what solving overwrites.
    x : ndarray
        The solution, after `run`.
    """

    run: object
    restore: object
    x: np.ndarray


def ours(system, q, b, c):
    """`M x + Phi_q^T lam = b`, `Phi_q x = c` from the values of `Phi_q` at `q`; the solution is `(x, lam)`."""
    model, work, x = system.model, system.workspace(), np.empty(system.nv + system.nc)
    ev.solve_kkt(0.0, q, b, c, model, work)
    return Prepared(lambda repeats: _solve(repeats, model, work, b, c, x[:system.nv], x[system.nv:]), lambda repeats: None, x)


@compiled
def _solve(repeats, model, work, b, c, x, lam):
    for _ in range(repeats):
        kkt.factor(model, work, False)
        kkt.solve(model, work, b, c, x, lam)


def ours_reduced(system, q, b):
    """`B lam = b` from the reduced matrix at `q` in its envelope."""
    model, work, x = system.model, system.workspace(), np.empty(system.nc)
    ev.solve_kkt(0.0, q, np.zeros(system.nv), b, model, work)
    env = part(model, work, lay.W_ENV)
    kkt.reduced_matrix(part(model, work, lay.W_W), records_of(model, lay.PAIR, PAIR_T), env)
    entries = env.copy()
    return Prepared(lambda repeats: _solve_reduced(repeats, entries, model, work, b, x), lambda repeats: _restore(repeats, entries, env), x)


@compiled
def _solve_reduced(repeats, entries, model, work, b, lam):
    first, ptr = table(model, lay.FIRST, np.int64), table(model, lay.ENV_PTR, np.int64)
    env, inverse = part(model, work, lay.W_ENV), part(model, work, lay.W_DIAG)
    for _ in range(repeats):
        _restore(1, entries, env)
        factorise(first, ptr, env, inverse)
        kkt.solve_reduced(model, work, b, lam)


@compiled
def _restore(repeats, entries, env):
    for _ in range(repeats):
        for k in range(env.shape[0]):
            env[k] = entries[k]


def lu_from_python(A, b):
    """`dgetrf` and `dgetrs` as SciPy calls them, in place."""
    A, overwritten, x = np.asfortranarray(A), np.empty_like(A, order="F"), np.empty_like(b)

    def restore(repeats):
        for _ in range(repeats):
            overwritten[:], x[:] = A, b

    def run(repeats):
        for _ in range(repeats):
            restore(1)
            lu, pivots, _ = dgetrf(overwritten, overwrite_a=True)
            dgetrs(lu, pivots, x, overwrite_b=True)

    return Prepared(run, restore, x)


def superlu(A, b, ordering, symmetric=False):
    """SuperLU as SciPy calls it, on a matrix in CSC format; `symmetric` for a positive definite one, which needs no pivoting."""
    A, x = csc_array(A), np.empty_like(b)
    how = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}} if symmetric else {}

    def run(repeats):
        for _ in range(repeats):
            x[:] = splu(A, permc_spec=ordering, **how).solve(b)

    return Prepared(run, lambda repeats: None, x)


def fastest_superlu(A, b, positive=False):
    """SuperLU with the ordering of columns that suits it best, and that ordering; both ways to pivot for a positive definite matrix."""
    found = {(ordering, symmetric): superlu(A, b, ordering, symmetric) for ordering in ORDERINGS for symmetric in {False, positive}}
    best = min(found, key=lambda k: min(duration(found[k].run, 1) for _ in range(5)))
    return found[best], best[0]


def duration(function, count):
    """Seconds that `function(count)` takes."""
    begin = process_time()
    function(count)
    return process_time() - begin
