"""The Cholesky factor of the composite inertia matrix has no fill-in if velocities are numbered from the leaves [Negrut, lemma 2]."""

import numpy as np
import pytest

import mbdae
from mbdae.model import rotations
from mbdae.system.tree.composite import ClosedLoopSolver

from .helpers import rigid, unit

GROUND = "ground"
ZERO = 1e-13  # relative to the diagonal: entries of the factor that are rounding


def random_tree(seed, n):
    """`n` bodies, each on an earlier one or the ground by a revolute, universal or ball joint, given in a random order."""
    rng = np.random.default_rng(seed)
    frames, bodies, joints = {GROUND: (np.zeros(3), np.eye(3))}, [], []
    for k in range(n):
        below, body = str(rng.choice(list(frames))), rigid(rng, f"b{k}")
        frames[body.name] = np.array(body.position), rotations.to_matrix(body.orientation)
        bodies.append(body)
        joints.append(_random_joint(rng, f"j{k}", below, body.name, frames))
    return mbdae.Mechanism(f"tree {seed}", [bodies[k] for k in rng.permutation(n)], [joints[k] for k in rng.permutation(n)])


def _random_joint(rng, name, i, j, frames):
    """A joint that holds where the bodies are."""
    (r_i, A_i), (r_j, A_j), at, axis = frames[i], frames[j], rng.normal(size=3), unit(rng)
    points = {"s_i": A_i.T @ (at - r_i), "s_j": A_j.T @ (at - r_j)}
    kind = rng.choice([mbdae.Revolute, mbdae.Universal, mbdae.Spherical])
    if kind is mbdae.Spherical:
        return kind(name, i, j, **points)
    across = rotations.perpendicular(axis) if kind is mbdae.Universal else axis
    return kind(name, i, j, **points, a_i=A_i.T @ axis, a_j=A_j.T @ across)


@pytest.mark.parametrize("n", [2, 7, 20, 60])
@pytest.mark.parametrize("seed", range(6))
def test_the_factor_has_the_entries_of_the_matrix(seed, n):
    system = mbdae.System(random_tree(100 * n + seed, n), coordinates="joint")
    solver = ClosedLoopSolver(system)
    M = solver.matrix(0.0, system.start.q)[::-1, ::-1]  # leaves first
    L = np.linalg.cholesky(M)
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    entries, found = np.abs(np.tril(M)) > 0.0, np.abs(L) > ZERO * np.sqrt(scale)
    assert not (found & ~entries).any()
    H, ptr, *_ = solver.operands()
    assert entries.sum() == len(H) == ptr[-1] < n * 3 * (n * 3 + 1) // 2 + 1
    assert found.sum() >= 0.9 * entries.sum()  # few entries vanish by chance: what is compared is not empty
    assert solver.operations()["1"].roots == system.nv


@pytest.mark.parametrize("seed", range(4))
def test_in_the_other_order_there_is_fill_in(seed):
    """From the root to the leaves the factor of a tree with branches fills up, so the test above can fail."""
    system = mbdae.System(random_tree(seed, 20), coordinates="joint")
    M = ClosedLoopSolver(system).matrix(0.0, system.start.q)
    L = np.linalg.cholesky(M)
    assert (np.abs(L) > 1e-9).sum() > 1.2 * (np.tril(M) != 0.0).sum()
