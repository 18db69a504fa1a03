"""Patterns to group, and plain algorithms to compare with."""

from itertools import combinations

import numpy as np
from scipy import sparse

from mbdae.jacobians.colouring.incidence import as_pattern, degrees, incidence_of


def from_rows(rows, n, first=0):
    """Pattern with entries in the given columns of each row, numbered from `first`."""
    pattern = np.zeros((len(rows), n), dtype=bool)
    for r, columns in enumerate(rows):
        pattern[r, np.array(columns) - first] = True
    return pattern


def random_pattern(rng, most=9):
    """A small pattern of any density, with some columns repeated and perhaps rows or columns without entries."""
    m, n = rng.integers(1, most + 3), rng.integers(1, most + 1)
    pattern = rng.random((m, n)) < rng.uniform(0.05, 0.6)
    return pattern[:, rng.integers(0, n, n)] if rng.random() < 0.3 else pattern


def meetings(pattern):
    """Matrix that says which columns share a row, by brute force."""
    A = np.asarray(pattern, dtype=int)
    return (A.T @ A > 0) & ~np.eye(A.shape[1], dtype=bool)


def fewest(met):
    """Chromatic number of a graph by trying everything."""
    n = len(met)

    def possible(count, groups):
        at = len(groups)
        if at == n:
            return True
        used = max(groups, default=-1) + 1
        return any(possible(count, [*groups, g]) for g in range(min(used + 1, count))
                   if not any(met[at, j] and groups[j] == g for j in range(at)))

    return next(count for count in range(n + 1) if possible(count, []))


def largest_clique(met):
    n = len(met)
    return next(k for k in range(n, -1, -1) if any(met[np.ix_(c, c)].sum() == k * (k - 1) for c in map(list, combinations(range(n), k))))


def graph(pattern):
    """Incidence and degrees."""
    incidence = incidence_of(as_pattern(pattern))
    return incidence, degrees(incidence)


def cycle(n):
    return from_rows([(k, (k + 1) % n) for k in range(n)], n)


def mycielski(pattern):
    """Pattern of the edges of a graph without triangles -> one that needs one group more, without triangles either."""
    n = pattern.shape[1]
    edges = [tuple(np.flatnonzero(row)) for row in pattern]
    edges += [(i, n + j) for i, j in edges] + [(j, n + i) for i, j in edges] + [(n + k, 2 * n) for k in range(n)]
    return from_rows(edges, 2 * n + 1)


def stencil(k, corners):
    """Five or nine points on a square grid."""
    L = sparse.diags_array([np.ones(k - 1), np.ones(k), np.ones(k - 1)], offsets=[-1, 0, 1])
    eye = sparse.eye_array(k)
    return (sparse.kron(L, L) if corners else sparse.kron(L, eye) + sparse.kron(eye, L)).tocsr()


def mass_chain(count):
    """Pattern of the GGL form of a chain of point masses in the plane, 6 unknowns per mass.

    Each is held at a distance from the one before. Unknowns and equations are ordered by blocks: positions, velocities, `lam`, `mu`.
    """
    ones, eye = np.ones(count), sparse.eye_array(2 * count)
    links = sparse.diags_array([ones[1:], ones], offsets=[-1, 0])
    along = sparse.kron(sparse.diags_array([ones[1:], ones, ones[1:]], offsets=[-1, 0, 1]), sparse.eye_array(2))
    gradient = sparse.kron(links, np.ones((1, 2)))
    out = sparse.block_array([[along + eye, eye, None, gradient.T], [along, eye, gradient.T, None],
                              [gradient, gradient, None, None], [gradient, None, None, None]]).tocsc()
    out.eliminate_zeros()  # Kronecker products have some
    return out


def multipliers(problem):
    """Mask of the columns of `lam` and `mu`."""
    mask = np.zeros(problem.n, dtype=bool)
    for name in ("lam", "mu"):
        if name in problem.blocks:
            mask[problem.blocks[name]] = True
    return mask
