"""Stiffly accurate SDIRK formulas of order 4 with five stages, and all that a step needs of their coefficients."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# A and b_hat are data; all else follows from them by conditions with one solution. It is computed in fractions and rounded once.


def stability_function(z, matrix, weights):
    """`R(z) = 1 + z b (I - z A)^-1 1`, the factor by which a step multiplies `y` if `h y' = z y`, for an array of complex `z`."""
    z = np.asarray(z, dtype=complex)
    system = np.eye(len(weights)) - z[..., None, None] * matrix
    return 1.0 + z * (np.linalg.solve(system, np.ones((len(weights), 1)))[..., 0] @ weights)


@dataclass(frozen=True, eq=False)
class Sdirk:
    """A singly diagonally implicit Runge-Kutta formula with embedded formula and dense output.

    `k_i = f(t0 + c_i h, Y_i)`, `Y_i = y0 + h sum_j a_ij k_j`, `y1 = Y_s`. For `y'' = f(t, y, y')` the stages follow from the accelerations
    `x_i` in them: `Y_i = y0 + h c_i y0' + h^2 sum_j (A A)_ij x_j` and `Y_i' = y0' + h sum_j a_ij x_j` [Negrut, eqs. (3.60)-(3.62)]. The
    increments `z_i = Y_i - y0` may take the place of the `k_i`: `z = h A k` [Negrut, eqs. (4.84)-(4.86)].

    Attributes
    ----------
    name : str
    gamma : float
        The diagonal element.
    A : ndarray (s, s)
        Lower triangular.
    c : ndarray (s,)
        `A 1`.
    b, b_hat : ndarray (s,)
        Weights of order 4, the last row of `A`, and of order 3.
    dense : ndarray (s, 4)
        `y(t0 + theta h) = y0 + h sum_i b_i(theta) k_i`, `b_i(theta) = sum_j dense[i, j] theta^(j + 1)`. Order 3 inside the step and in
        addition exact for quadratures of cubics, which leaves one solution; `b(1) = b`.
    error : ndarray (s,)
        `b - b_hat`: the estimated error of the embedded formula is `h sum_i error[i] k_i`.
    AA, bA, error_A, dense_position : ndarrays like A, b, error, dense
        The same for positions from accelerations: `y1 = y0 + h y0' + h^2 sum_i bA[i] x_i`, the estimate `h^2 sum_i error_A[i] x_i`,
        and inside the step `y0 + theta h y0' + h^2 sum_ij dense_position[i, j] theta^(j + 1) x_i`.
    d, d_error, dense_z : ndarrays like b, error, dense
        The same for increments: `y1 = y0 + sum_i d[i] z_i`, the estimate `sum_i d_error[i] z_i`, and inside the step
        `y0 + sum_ij dense_z[i, j] theta^(j + 1) z_i`.
    start : ndarray (s, s)
        Strictly lower triangular: a guess `z_i = sum_j start[i, j] z_j` from the stages before. Row `i` satisfies as many of the conditions
        for `c`, `A c`, `A A c`, `A c^2` as it has coefficients, in this sequence. So the guess is of order 0 in stage 1, 1 in stage 2,
        2 in stages 3 and 4 (in stage 4 of order 3 for positions, to which `A c^2` does not matter) and 3 in stage 5. There the row is
        `b_hat A^-1`: the guess is the embedded formula, and what Newton's method adds to it is the error estimate.

    References
    ----------
    [Negrut, sections 4.2.2 and 4.5.1], after Hairer and Wanner, *Solving ordinary differential equations II*, section IV.6.
    """

    name: str
    gamma: float
    A: np.ndarray
    c: np.ndarray
    b: np.ndarray
    b_hat: np.ndarray
    dense: np.ndarray
    error: np.ndarray
    AA: np.ndarray
    bA: np.ndarray
    error_A: np.ndarray
    dense_position: np.ndarray
    d: np.ndarray
    d_error: np.ndarray
    dense_z: np.ndarray
    start: np.ndarray

    def stability(self, z):
        """`R(z)` for a complex number or an array of them."""
        return stability_function(z, self.A, self.b)

    def stability_at_infinity(self):
        """`R(infinity) = 1 - b A^-1 1`."""
        return 1.0 - self.d.sum()


def _fractions(rows, columns):
    """The numbers of lines of text, filled up with zeros."""
    table = [[Fraction(x) for x in row.split()] for row in rows]
    return np.array([row + [Fraction()] * (columns - len(row)) for row in table])


def _solve(matrix, right):
    """Solution of linear equations in fractions, by elimination."""
    n, rows = len(matrix), np.hstack([matrix, right])
    for k in range(n):
        pivot = k + np.flatnonzero(rows[k:, k])[0]
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in set(range(n)) - {k}:
            rows[i] -= rows[i, k] * rows[k]
    return rows[:, n:]


def _dense(A, c):
    """Weights as polynomials: the four conditions of order 3, and the one of order 4 for quadratures [Negrut, section 4.2.2]."""
    conditions = np.stack([c**0, c, c**2, A @ c, c**3])
    return _solve(conditions, _fractions(["1", "0 1/2", "0 0 1/3", "0 0 1/6", "0 0 0 1/4"], 4))


def _start(A, c):
    """Coefficients of the starting values, row by row from the conditions on the increments.

    With `A A c` before `A c^2` the coefficients of stage 4 are smaller, and its positions gain an order.
    """
    conditions = np.stack([c, A @ c, A @ A @ c, A @ c**2])
    start = 0 * A
    for i in range(1, len(A)):
        start[i, :i] = _solve(conditions[:i, :i], conditions[:i, i:i + 1])[:, 0]
    return start


def _sdirk(name, A, b_hat):
    """The formula with the rows of `A` and the embedded weights given as text."""
    A, b_hat = _fractions(A, len(A)), _fractions([b_hat], len(A))[0]
    inverse = _solve(A, _fractions(["0 " * i + "1" for i in range(len(A))], len(A)))
    b, c, error = A[-1], A.sum(axis=1), A[-1] - b_hat
    dense = _dense(A, c)
    exact = {"A": A, "c": c, "b": b, "b_hat": b_hat, "dense": dense, "error": error, "AA": A @ A, "bA": b @ A, "error_A": error @ A,
             "dense_position": A.T @ dense, "d": b @ inverse, "d_error": error @ inverse, "dense_z": inverse.T @ dense,
             "start": _start(A, c)}
    return Sdirk(name, float(A[0, 0]), **{key: np.array(x, dtype=float, order="C") for key, x in exact.items()})


# [Negrut, table 13]
SDIRK_4_16 = _sdirk("SDIRK4/16", [
    "1/4",
    "1/2 1/4",
    "17/50 -1/25 1/4",
    "371/1360 -137/2720 15/544 1/4",
    "25/24 -49/48 125/16 -85/12 1/4",
], "59/48 -17/96 225/32 -85/12")

# [Negrut, section 4.5.1 and eq. (4.83)]
SDIRK_4_15 = _sdirk("SDIRK4/15", [
    "4/15",
    "1/2 4/15",
    "51069/144200 -7809/144200 4/15",
    "12047244770625658/141474406359725325 -3057890203562191/47158135453241775 2239631894905804/28294881271945065 4/15",
    "181513/86430 -89074/116015 83636/34851 -69863904375173/23297141763930 4/15",
], "33665407/11668050 -2284766/15662025 11244716/4704885 -96203066666797/23297141763930")
