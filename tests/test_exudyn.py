"""Motions against Exudyn's implicit solver, another program for the same mechanisms (`pip install 'mbdae[peers]'`)."""

import sys
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp
from tests.benchmarks.peers.describe import described
from tests.random_mechanisms import planar

pytest.importorskip("exudyn", reason="Exudyn is not installed: pip install 'mbdae[peers]'")
sys.path.insert(0, str(Path(__file__).parent / "benchmarks" / "peers"))

pytestmark = pytest.mark.thorough


def theirs(system, t_end, h, sparse=True):
    """Centres of mass at the end."""
    from exudyn_model import Model

    model = Model(described(system, system.start))
    model.run(t_end, h, sparse)
    return np.array(model.positions())


def ours(system, t_end):
    """The same, to ten digits."""
    found = mbdae.solve(system, SolveIvp("DOP853"), (0.0, t_end), rtol=1e-11, atol=1e-12, t_eval=[t_end])
    assert found.success, found.message
    return np.array([found.q[-1][system.coordinates(b.name)[0]][:2 if isinstance(b, mbdae.PlanarBody) else 3]
                     for b in system.mechanism.bodies])


def compare(system, t_end, h, sparse=True):
    """Exudyn's errors of order two fall by four with the half step, and are small."""
    exact = ours(system, t_end)
    coarse, fine = (np.abs(theirs(system, t_end, h / k, sparse)[:, :exact.shape[1]] - exact).max() for k in (1, 2))
    assert fine < 1e-4 and (coarse > 3.0 * fine or coarse < 1e-9)


@pytest.mark.parametrize(("name", "parameters", "t_end", "h", "sparse"), [
    ("chain", {"links": 6}, 0.2, 1e-3, True), ("n-four-bar", {}, 0.3, 1e-3, True), ("bricard", {}, 0.3, 1e-3, False),
    ("andrews", {}, 0.01, 2e-5, True)])
def test_library(name, parameters, t_end, h, sparse):
    compare(mbdae.System(library.mechanism(name, **parameters)), t_end, h, sparse)


def loops(count):
    """Random planar loops of pins, moving from their assembled state, without rods."""
    rng, found = np.random.default_rng(3), []
    while len(found) < count:
        m = planar(rng)
        joints = [j for j in m.joints if isinstance(j, mbdae.PlanarRevolute)]
        springs = [f for f in m.forces if isinstance(f, mbdae.TSDA)]
        found.append(mbdae.Mechanism(m.name, m.bodies, joints, forces=springs, gravity=(0, -9.81, 0)))
    return found


@pytest.mark.parametrize("case", range(8))
def test_random_planar_loops(case):
    system = mbdae.System(loops(8)[case])
    if system.nv - np.linalg.matrix_rank(system.phi_q(0.0, system.start.q).toarray()) == 0:
        pytest.skip("nothing moves")
    compare(system, 0.1, 5e-4, sparse=len(system.dependent) == 0)
