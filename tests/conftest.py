"""Fixtures of all tests."""

import os

import numpy as np
import pytest

os.environ.pop("COLUMNS", None)  # parallel runs set it; tables are tested at full width


@pytest.fixture
def rng():
    """A generator of random numbers with a fixed seed, fresh for every test."""
    return np.random.default_rng(2024)
