"""Random mechanisms with closed loops and redundant constraints in joint coordinates move as in Cartesian ones."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from tests.linkages import reference
from tests.random_mechanisms import MAKERS, RTOL, T_END, thrown

METHODS = ((SolveIvp("DOP853"), "ode"), (Ida(), "ggl"), (mbdae.Bdf(), "index2"), (mbdae.RosenbrockNystrom(), None),
           (mbdae.RosenbrockNystrom(), "tangent"), (mbdae.SdirkFirstOrder(), None))
SEED, MANY = 77, 60
# rows of the constraints that vanish but for rounding (spatial 35), redundant rows that do not, trees, planar loops
QUICK = [("spatial", 35), ("spatial", 3), ("spatial", 12), ("planar", 1), ("planar", 8), ("planar", 20)]
REST = [(kind, k) for kind in MAKERS for k in range(MANY) if (kind, k) not in QUICK]


def check(kind, k):
    """All methods at 1e-8 within 100 tolerances; errors that are larger must fall with the tolerance."""
    rng = np.random.default_rng((SEED, k))
    found = thrown(MAKERS[kind](rng), rng)
    if found is None:
        pytest.skip("nothing can move, or a singular position is near")
    cartesian, start = found
    want, coarse = (reference(cartesian, T_END, start, rtol) for rtol in (1e-11, 1e-9))
    if np.abs(want - coarse).max() > 1e-7:
        pytest.skip("the motion amplifies errors")
    system = mbdae.System(cartesian.mechanism, coordinates="joint")
    assert system.freedom == cartesian.freedom
    state = mbdae.assemble(system, **system.from_cartesian(start.q, start.v)._asdict())

    def error(method, form, rtol):
        run = mbdae.solve(system, method, (0.0, T_END), formulation=form, state=state, rtol=rtol, atol=rtol)
        assert run.success, (method, form, run.message)
        off = np.abs(cartesian.difference(system.to_cartesian(run.q[-1]).q, want)).max()
        return off / (100 * RTOL * (1.0 + np.abs(want).max()))

    for method, form in METHODS:
        first = error(method, form, RTOL)
        assert first <= 1.0 or error(method, form, RTOL / 100) < first / 6.0, (method, form, first)


@pytest.mark.parametrize(("kind", "k"), QUICK)
def test_in_joint_coordinates(kind, k):
    check(kind, k)


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "k"), REST)
def test_many_in_joint_coordinates(kind, k):
    check(kind, k)
