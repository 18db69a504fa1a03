"""Fixtures of all tests."""

import os

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp

from .helpers import GROUND, double_pendulum, torn, with_law

os.environ.pop("COLUMNS", None)  # parallel runs set it; tables are tested at full width


@pytest.fixture
def rng():
    """A generator of random numbers with a fixed seed, fresh for every test."""
    return np.random.default_rng(2024)


# --- for tests of solvers ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def system():
    """The double pendulum."""
    return mbdae.System(double_pendulum())


@pytest.fixture(scope="module")
def reference(system):
    """Dense output from very small tolerances and short steps."""
    return mbdae.solve(system, SolveIvp("DOP853", max_step=5e-4), (0.0, 0.5), rtol=1e-11, atol=1e-12, dense_output=True).sol


@pytest.fixture(scope="module")
def fragile():
    """The double pendulum with a spring that breaks."""
    return with_law(torn)


@pytest.fixture(scope="module")
def swing():
    """A pendulum with small amplitude: angle `cos(pi t)/100` from below."""
    return mbdae.System(mbdae.Mechanism("swing", [mbdae.PlanarBody("b", 1.0, 1e-9, (1e-2, -1), -np.pi / 2 + 1e-2)],
                                        [mbdae.PlanarRevolute("pin", GROUND, "b", s_j=(-1.0, 0.0))], gravity=(0, -np.pi**2, 0)))
