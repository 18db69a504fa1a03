"""Patterns, functions and formulae that the tests of difference quotients share."""

import numpy as np

EPS = np.finfo(float).eps
EXAMPLE = ((1, 4), (1, 2, 3), (1, 3, 6), (4, 5), (2, 3, 5), (1, 2))  # [Arnold, eq. (19)]: columns of each row, from 1
SCHEMES = ("forward", "central", "complex")
PER_GROUP = {"forward": 1, "central": 2, "complex": 1}
FEW = ("double-pendulum", "andrews", "slider-crank", "truck", "chain")


def example_pattern():
    pattern = np.zeros((6, 6), dtype=bool)
    for row, columns in enumerate(EXAMPLE):
        pattern[row, np.array(columns) - 1] = True
    return pattern


class Mixed:
    """`f_i = sum_j A_ij g(x_j) + prod_j x_j` over the columns of each row, with its derivative."""

    def __init__(self, pattern, seed=1):
        self.pattern, rng = pattern, np.random.default_rng(seed)
        self.A = np.where(pattern, rng.uniform(0.5, 1.5, pattern.shape) * rng.choice([-1.0, 1.0], pattern.shape), 0.0)
        self.x = rng.uniform(0.5, 1.5, pattern.shape[1])

    def __call__(self, x):
        return self.A @ np.sin(x) + np.array([np.prod(x[row]) for row in self.pattern])

    def derivative(self, x):
        products = np.array([np.prod(x[row]) for row in self.pattern])
        return self.A * np.cos(x) + np.where(self.pattern, products[:, None] / x, 0.0)


def banded(n, width=1):
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width


def by_formula(f, x):
    """[Arnold, eqs. (16), (17)], increments made exact, one column after the other."""
    f0, columns = f(x), []
    for r, e in enumerate(np.eye(len(x))):
        step = max(abs(x[r]), EPS**0.25) * EPS**0.5
        step = (x[r] + step) - x[r]
        columns.append((f(x + step * e) - f0) / step)
    return np.array(columns).T


def folded_formula(F, m, t, y, yd, c):
    """The same for `F(t, y + d, yd + c d)`."""
    def at(z, zd):
        out = np.empty(m)
        F(t, z, zd, out)
        return out

    f0, columns = at(y, yd), []
    for r in range(len(y)):
        z, zd = y.copy(), yd.copy()
        step = max(abs(y[r]), EPS**0.25) * EPS**0.5
        z[r] += step
        step = z[r] - y[r]
        zd[r] += c * step
        columns.append((at(z, zd) - f0) / step)
    return np.array(columns).T


def complex_residual(problem):
    work = problem.system.workspace(complex)
    return lambda t, y, yd, out: problem.kernel(t, y, yd, out, problem.model, work, *problem.parameters)


def entries_where(pattern, mask):
    """The mask of the entries, by columns."""
    return mask.T[pattern.T]
