"""Stiffly accurate SDIRK formulas, and the coefficients that follow from their tableaus."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...typing import ArrayLike, ComplexVector, Matrix, Vector

# A and b_hat are data. The other coefficients follow from them by conditions with a unique solution; they are computed in fractions and
# rounded once.

DENSE_DEGREE = 4  # of the dense output in theta
CONDITION_TOL = Fraction(1, 10**12)  # residual of an order condition that is satisfied: coefficients may be rounded

Coefficient: TypeAlias = str | float | Fraction
Rational: TypeAlias = npt.NDArray[Any]  # an array of fractions
Condition: TypeAlias = tuple[int, int, Rational]  # order, density, elementary weights of the stages


def stability_function(z: ArrayLike, matrix: Matrix, weights: Vector) -> ComplexVector:
    """`R(z) = 1 + z b (I - z A)^-1 1`, the factor by which a step multiplies `y` if `h y' = z y`, for an array of complex `z`."""
    x = np.asarray(z, dtype=complex)
    system = np.eye(len(weights)) - x[..., None, None] * matrix
    return np.asarray(1.0 + x * (np.linalg.solve(system, np.ones((len(weights), 1)))[..., 0] @ weights), dtype=complex)


@dataclass(frozen=True, eq=False)
class Sdirk:
    """A singly diagonally implicit Runge-Kutta formula with embedded formula and dense output.

    `k_i = f(t0 + c_i h, Y_i)`, `Y_i = y0 + h sum_j a_ij k_j`, `y1 = Y_s`. For `y'' = f(t, y, y')` with the accelerations `x_i`
    of the stages `Y_i = y0 + h c_i y0' + h^2 sum_j (A A)_ij x_j` and `Y_i' = y0' + h sum_j a_ij x_j` [Negrut, eqs. (3.60)-(3.62)]. The
    increments `z_i = Y_i - y0`, `z = h A k`, may be the unknowns in place of the `k_i` [Negrut, eqs. (4.84)-(4.86)].

    Attributes
    ----------
    name : str
    order, error_order : int
        Of the formula and of the embedded one, by the order conditions up to order 4.
    gamma : float
        The diagonal element.
    A : ndarray (s, s)
        Lower triangular.
    c : ndarray (s,)
        `A 1`.
    b, b_hat : ndarray (s,)
        Weights of the formula, the last row of `A`, and of the embedded one.
    dense : ndarray (s, 4)
        `y(t0 + theta h) = y0 + h sum_i b_i(theta) k_i`, `b_i(theta) = sum_j dense[i, j] theta^(j + 1)` with `b(1) = b`. It satisfies as
        many order conditions as it has coefficients, in each order those of quadrature first: with five stages it has order 3 within the
        step and is exact for quadratures of cubics; with three stages it has order 2.
    error : ndarray (s,)
        `b - b_hat`: the estimated error of the embedded formula is `h sum_i error[i] k_i`.
    AA, bA, error_A, dense_position : ndarrays like A, b, error, dense
        The same for positions from accelerations: `y1 = y0 + h y0' + h^2 sum_i bA[i] x_i`, the estimate `h^2 sum_i error_A[i] x_i`,
        and within the step `y0 + theta h y0' + h^2 sum_ij dense_position[i, j] theta^(j + 1) x_i`.
    d, d_error, dense_z : ndarrays like b, error, dense
        The same for increments: `y1 = y0 + sum_i d[i] z_i`, the estimate `sum_i d_error[i] z_i`, and within the step
        `y0 + sum_ij dense_z[i, j] theta^(j + 1) z_i`.
    begin, begin_z : ndarray (s,)
        The derivative at the start from the stages, `h y0' = h sum_i begin[i] k_i = sum_i begin_z[i] z_i`. It satisfies the conditions for
        `1`, `c`, `c^2` and `A c`, or as many of them as are independent: with four the error is of order 3 in `h`. The rest is chosen for
        the least norm of `begin_z`, so that errors of Newton's method matter least.
    start : ndarray (s, s)
        Strictly lower triangular: the initial guess `z_i = sum_j start[i, j] z_j` from the previous stages. Row `i` satisfies as many of
        the conditions for `c`, `A c`, `A A c`, `A c^2` as it has coefficients, in this sequence. The guess has order 0 in stage 1, 1 in
        stage 2, 2 in stages 3 and 4 (3 for the positions in stage 4, which do not depend on `A c^2`) and 3 in stage 5. In the formulas
        below row 5 is `b_hat A^-1`: the guess is the embedded formula, and the sum of Newton's corrections is the error estimate.

    References
    ----------
    [Negrut, sections 4.2.2 and 4.5.1], after Hairer and Wanner, *Solving ordinary differential equations II*, section IV.6.
    """

    name: str
    order: int
    error_order: int
    gamma: float
    A: Matrix
    c: Vector
    b: Vector
    b_hat: Vector
    dense: Matrix
    error: Vector
    AA: Matrix
    bA: Vector
    error_A: Vector
    dense_position: Matrix
    d: Vector
    d_error: Vector
    dense_z: Matrix
    begin: Vector
    begin_z: Vector
    start: Matrix

    def stability(self, z: ArrayLike) -> ComplexVector:
        """`R(z)` for a complex number or an array of them."""
        return stability_function(z, self.A, self.b)

    def stability_at_infinity(self) -> float:
        """`R(infinity) = 1 - b A^-1 1`."""
        return float(1.0 - self.d.sum())


def sdirk(name: str, A: Sequence[Sequence[Coefficient]], b_hat: Sequence[Coefficient]) -> Sdirk:
    """A stiffly accurate SDIRK formula: its weights `b` are the last row of `A`.

    Parameters
    ----------
    name : str
    A : sequence of s sequences of numbers
        Rows up to the diagonal, or with the zeros after it; the diagonal elements are equal. A number may be a string such as `"1/4"` or a
        `Fraction`: the other coefficients are computed in fractions.
    b_hat : sequence of s numbers
        Weights of the embedded formula, of lower order, for the error estimate; zeros at the end may be left out.

    Raises
    ------
    ValueError
        If `A` is not lower triangular with equal positive diagonal elements, or if a formula is not consistent.
    """
    if any(len(row) > len(A) for row in (*A, b_hat)):
        raise ValueError(f"{name}: A must have rows of at most {len(A)} numbers, b_hat as well")
    a, embedded = _fractions(A, len(A)), _fractions([b_hat], len(A))[0]
    _check(name, a)
    b, c, conditions = a[-1], a.sum(axis=1), _conditions(a)
    order, error_order = _order(b, conditions), _order(embedded, conditions)
    if order == 0 or error_order == 0 or (b == embedded).all():
        raise ValueError(f"{name}: formula and embedded formula must be consistent and different; sum b = {float(b.sum()):.9g}, "
                         f"sum b_hat = {float(embedded.sum()):.9g}")
    inverse, error, dense = _solve(a, _identity(len(a))), b - embedded, _dense(b, conditions)
    exact = {"A": a, "c": c, "b": b, "b_hat": embedded, "dense": dense, "error": error, "AA": a @ a, "bA": b @ a, "error_A": error @ a,
             "dense_position": a.T @ dense, "d": b @ inverse, "d_error": error @ inverse, "dense_z": inverse.T @ dense,
             "start": _start(a, c)}
    arrays = {key: np.array(x, dtype=float, order="C") for key, x in exact.items()}
    arrays["begin_z"] = _begin(arrays["A"], arrays["c"])
    arrays["begin"] = arrays["begin_z"] @ arrays["A"]
    return Sdirk(name, order, error_order, float(a[0, 0]), **arrays)


def _fractions(rows: Sequence[Sequence[Coefficient]], columns: int) -> Rational:
    """A matrix of fractions; rows are extended by zeros."""
    table = [[Fraction(x) for x in row] for row in rows]
    return np.array([row + [Fraction()] * (columns - len(row)) for row in table])


def _identity(n: int) -> Rational:
    return _fractions([[0] * k + [1] for k in range(n)], n)


def _check(name: str, A: Rational) -> None:
    """Check that `A` is lower triangular with equal positive diagonal elements."""
    if any(A[i, j] for i in range(len(A)) for j in range(i + 1, len(A))):
        raise ValueError(f"{name}: A must be lower triangular")
    if len(set(np.diag(A))) > 1 or not A[0, 0] > 0:
        raise ValueError(f"{name}: the elements of the diagonal of A must be positive and equal, got "
                         f"{', '.join(f'{float(x):.9g}' for x in np.diag(A))}")


def _conditions(A: Rational) -> list[Condition]:
    """The order conditions of the rooted trees with up to four nodes."""
    c = A.sum(axis=1)
    return [(1, 1, c**0), (2, 2, c), (3, 3, c**2), (3, 6, A @ c), (4, 4, c**3), (4, 8, c * (A @ c)), (4, 12, A @ c**2), (4, 24, A @ A @ c)]


def _holds(weights: Rational, density: int, phi: Rational) -> bool:
    return bool(abs(weights @ phi - Fraction(1, density)) <= CONDITION_TOL)


def _order(weights: Rational, conditions: list[Condition]) -> int:
    """The order up to which all conditions are satisfied."""
    failed = [order for order, density, phi in conditions if not _holds(weights, density, phi)]
    return min(failed, default=5) - 1


def _solve(matrix: Rational, right: Rational) -> Rational:
    """The solution of linear equations in fractions, by Gauss-Jordan elimination."""
    n, rows = len(matrix), np.hstack([matrix, right])
    for k in range(n):
        pivot = k + np.flatnonzero(rows[k:, k])[0]
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in set(range(n)) - {k}:
            rows[i] -= rows[i, k] * rows[k]
    return rows[:, n:]


def _dense(b: Rational, conditions: list[Condition]) -> Rational:
    """Coefficients of the dense output, from as many independent order conditions as there are stages [Negrut, section 4.2.2].

    Only conditions that `b` satisfies are used; if there are too few, the weights of the last stages are linear, `b_i theta`.
    """
    rows: list[Rational] = []
    right: list[list[Coefficient]] = []
    linear = ((1, weight, unit) for unit, weight in zip(_identity(len(b))[::-1], b[::-1]))
    satisfied = ((order, Fraction(1, density), phi) for order, density, phi in conditions if _holds(b, density, phi))
    for order, end, phi in (*satisfied, *linear):
        if len(rows) < len(b) and np.linalg.matrix_rank(np.array([*rows, phi], dtype=float)) > len(rows):
            rows.append(phi)
            right.append([0] * (order - 1) + [end])
    return _solve(np.array(rows), _fractions(right, DENSE_DEGREE))


def _begin(A: Matrix, c: Vector) -> Vector:
    """Weights `u` of the increments with `w = u A` for `sum w = 1`, `w . c = w . c^2 = w . A c = 0`, of least norm."""
    rows: list[Vector] = []
    for phi in (c**0, c, c**2, A @ c):
        if len(rows) < len(c) and np.linalg.matrix_rank(np.array([*rows, phi])) > len(rows):
            rows.append(phi)
    right = np.zeros(len(rows))
    right[0] = 1.0
    weights, _, _, _ = np.linalg.lstsq(np.array(rows) @ A.T, right, rcond=None)
    return np.asarray(weights, dtype=float)


def _start(A: Rational, c: Rational) -> Rational:
    """Coefficients of the initial guess, row by row from the conditions on the increments.

    The condition for `A A c` comes before that for `A c^2`: the coefficients of stage 4 are then smaller, and its positions gain an order.
    """
    conditions = np.stack([c, A @ c, A @ A @ c, A @ c**2])
    start = 0 * A
    for i in range(1, len(A)):
        last = next((slice(i - m, i) for m in range(min(i, len(conditions)), 0, -1) if _regular(conditions[:m, i - m:i])), slice(0))
        m = last.stop - (last.start or 0)
        start[i, last] = _solve(conditions[:m, last], conditions[:m, i:i + 1])[:, 0]
    return start


def _regular(matrix: Rational) -> bool:
    return bool(np.linalg.matrix_rank(np.array(matrix, dtype=float)) == len(matrix))


def _of_text(name: str, A: Sequence[str], b_hat: str) -> Sdirk:
    return sdirk(name, [row.split() for row in A], b_hat.split())


# [Negrut, table 13]
SDIRK_4_16 = _of_text("SDIRK4/16", [
    "1/4",
    "1/2 1/4",
    "17/50 -1/25 1/4",
    "371/1360 -137/2720 15/544 1/4",
    "25/24 -49/48 125/16 -85/12 1/4",
], "59/48 -17/96 225/32 -85/12")

# [Negrut, section 4.5.1 and eq. (4.83)]
SDIRK_4_15 = _of_text("SDIRK4/15", [
    "4/15",
    "1/2 4/15",
    "51069/144200 -7809/144200 4/15",
    "12047244770625658/141474406359725325 -3057890203562191/47158135453241775 2239631894905804/28294881271945065 4/15",
    "181513/86430 -89074/116015 83636/34851 -69863904375173/23297141763930 4/15",
], "33665407/11668050 -2284766/15662025 11244716/4704885 -96203066666797/23297141763930")
