"""One-step methods of first order on stiff springs: the solution of the discrete equations, or the end of the run."""

import numpy as np
import pytest

import mbdae
from mbdae import GROUND

H, STEPS, X0 = 1e-2, 50, 0.1


def block(ratio, guided=True):
    """A mass of 1 kg on a spring with `h^2 k / m = ratio`; without the guide there are no constraints."""
    body = mbdae.PlanarBody("block", 1.0, 1.0, (X0, 0.0))
    joints = [mbdae.PlanarTranslational("guide", GROUND, "block")] if guided else []
    spring = mbdae.TSDA("spring", GROUND, "block", (-2.0, 0.0, 0.0), (0.0, 0.0, 0.0), k=ratio / H**2, l0=2.0)
    return mbdae.System(mbdae.Mechanism("block", [body], joints, forces=[spring]))


def exact(ratio, implicit):
    """Positions by the difference equation of the linear spring."""
    x, v, found = X0, 0.0, [X0]
    for _ in range(STEPS):
        v = (v - ratio / H * x) / (1.0 + ratio) if implicit else v - ratio / H * x
        x += H * v
        found.append(x)
    return np.array(found)


@pytest.mark.parametrize("guided", (True, False))
@pytest.mark.parametrize("ratio", (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9))
def test_slow_contraction_is_no_convergence(ratio, guided):
    """The iteration matrix has no stiffness: corrections contract by `ratio` along the guide, where `Phi` does not see them."""
    with np.errstate(all="ignore"):
        run = mbdae.solve(block(ratio, guided), mbdae.FullyImplicit(h=H), (0.0, H * STEPS))
    known = exact(ratio, implicit=True)[:len(run.t)]
    assert np.abs(run.q[:, 0] - known).max() < 1e-8
    assert run.success == (ratio < 0.85) and (run.success or run.status is mbdae.Status.NEWTON_FAILED)


@pytest.mark.parametrize("ratio", (1.1, 3.0))
def test_divergence_is_not_called_a_fault_of_the_equations(ratio):
    run = mbdae.solve(block(ratio), mbdae.FullyImplicit(h=H), (0.0, H * STEPS))
    assert run.status is mbdae.Status.NEWTON_FAILED, run.message


@pytest.mark.parametrize("ratio", (0.5, 3.0))
def test_forces_of_the_start_need_no_iteration(ratio):
    run = mbdae.solve(block(ratio), mbdae.HalfImplicit(h=H), (0.0, H * STEPS))
    assert run.success and np.abs(run.q[:, 0] - exact(ratio, implicit=False)).max() < 1e-12


@pytest.mark.parametrize("joints", ("spherical", "revolute"))
def test_trees_in_joint_coordinates_converge_or_end(joints):
    """They have no constraints, so nothing of the error is seen in `Phi`."""
    chain = mbdae.library.mechanism("chain", joints=joints)
    trees, bodies = (mbdae.System(chain, coordinates=kind) for kind in ("joint", "cartesian"))
    fine = mbdae.solve(bodies, mbdae.DormandPrince(), (0.0, 0.3), rtol=1e-10, atol=1e-12)
    off = []
    for h in (4e-4, 2e-4):
        run = mbdae.solve(trees, mbdae.FullyImplicit(h=h), (0.0, 0.3))
        assert run.success, run.message
        off.append(np.abs(bodies.difference(trees.to_cartesian(run.q[-1]).q, fine.q[-1])).max())
    assert 1.7 < off[0] / off[1] < 2.3
