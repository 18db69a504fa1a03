"""Fixtures of all tests."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A generator of random numbers with a fixed seed, fresh for every test."""
    return np.random.default_rng(2024)
