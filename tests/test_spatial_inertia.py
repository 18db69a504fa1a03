"""Inertias of articulated bodies as 21 numbers against matrices of 6 x 6."""

import numpy as np
import pytest

from mbdae.system.tree.spatial_inertia import Inertia, less_product, load, of_body, plus, shifted, store, times


@pytest.fixture(params=[float, complex])
def number(request, rng):
    """Random arrays, real or complex."""
    def draw(*shape):
        x = rng.normal(size=shape)
        return x if request.param is float else x + 1j * rng.normal(size=shape)

    return draw


def inertia(number):
    """Random numbers and their matrix."""
    x = number(21)
    return load(x), matrix(load(x))


def matrix(I):
    def symmetric(S):
        return np.array([[S[0], S[3], S[4]], [S[3], S[1], S[5]], [S[4], S[5], S[2]]])

    Q = np.array(I.Q).reshape(3, 3)
    return np.block([[symmetric(I.P), Q], [Q.T, symmetric(I.R)]])


def tilde(d):
    return np.array([[0.0, -d[2], d[1]], [d[2], 0.0, -d[0]], [-d[1], d[0], 0.0]])


def test_numbers_are_kept(number):
    x, out = number(21), np.empty(21, complex)
    store(load(x), out)
    assert (out == x).all()


def test_a_body_alone(number):
    J = number(6)
    assert matrix(of_body(2.0 + J[0] - J[0], J)) == pytest.approx(np.block([[2.0 * np.eye(3), np.zeros((3, 3))],
                                                                           [np.zeros((3, 3)), matrix(Inertia(J, np.zeros(9), J))[3:, 3:]]]))


def test_the_wrench_of_a_motion(number):
    I, M = inertia(number)
    x = number(6)
    assert np.concatenate(times(I, tuple(x[:3]), tuple(x[3:]))) == pytest.approx(M @ x)


def test_sums_and_products(number):
    (I, M), (J, N), u = inertia(number), inertia(number), number(6)
    assert matrix(plus(I, J)) == pytest.approx(M + N)
    scaled = tuple(0.3 * u[:3]), tuple(0.3 * u[3:])
    assert matrix(less_product(I, *scaled, tuple(u[:3]), tuple(u[3:]))) == pytest.approx(M - 0.3 * np.outer(u, u))


def test_a_shift_keeps_the_work(number):
    (I, M), d = inertia(number), number(3)
    X = np.block([[np.eye(3), -tilde(d)], [np.zeros((3, 3)), np.eye(3)]])
    assert X @ np.arange(6.0) == pytest.approx(np.concatenate([np.arange(3.0) + np.cross([3.0, 4.0, 5.0], d), [3.0, 4.0, 5.0]]))
    assert matrix(shifted(I, tuple(d))) == pytest.approx(X.T @ M @ X)
