"""The L-stable Rosenbrock-Nystrom method of order 4, and the coefficients that follow from its tableau."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from ...typing import ArrayLike, ComplexVector, Matrix, Vector
from .sdirk_tableau import stability_function


@dataclass(frozen=True, eq=False)
class RosenbrockTableau:
    """A Rosenbrock method with embedded formula, for `y'' = f(t, y, y')`.

    The method for `y' = f(t, y)` is `k_i = h f(t0 + a_i h, y0 + sum_j a_ij k_j) + e_i h^2 f_t + h f_y sum_j e_ij k_j` [Negrut, eq. (4.19)].
    For `(y, y')` the component of `k_i` in `y'` is `r_i`, and that in `y` is `h y0' + h (A + E) r`, which is eliminated. With the unknowns
    `u = E r` the equations contain no product with `J2 = f_y'` [Negrut, eqs. (4.49)-(4.53)]:

    `S u_i = h e f(t0 + a_i h, Y_i, Y_i') + h^2 e e_i (f_t + J1 y0') + e sum_(j<i) c_ij u_j + h^2 e J1 sum_(j<i) d_ij u_j`,
    `S = I - h e J2 - h^2 e^2 J1`, `Y_i = y0 + h a_i y0' + h sum_j t_ij u_j`, `Y_i' = y0' + sum_j w_ij u_j`;
    `y1 = y0 + h y0' + h sum_i p_i u_i`, `y1' = y0' + sum_i s_i u_i`, where `f_t`, `J1 = f_y` and `J2` are those at `t0`.

    Parameters
    ----------
    name : str
    E, A : ndarray (s, s)
        `e_ij`, lower triangular with constant diagonal, and `a_ij`, strictly lower triangular.
    b, b_hat : ndarray (s,)
        Weights of the method and of the embedded formula.

    Raises
    ------
    ValueError
        If `E` or `A` is not of this form, which a step with one factorisation requires.

    References
    ----------
    [Negrut, eqs. (4.54), (4.70), (4.71)].
    """

    name: str
    E: Matrix
    A: Matrix
    b: Vector
    b_hat: Vector

    def __post_init__(self) -> None:
        if np.triu(self.E, 1).any() or self.e == 0.0 or (np.diag(self.E) != self.e).any():
            raise ValueError(f"{self.name}: E must be lower triangular with equal elements other than zero on its diagonal")
        if np.triu(self.A).any():
            raise ValueError(f"{self.name}: A must be zero on and above its diagonal")

    @property
    def e(self) -> float:
        """The diagonal element of `E`."""
        return float(self.E[0, 0])

    @cached_property
    def a_sum(self) -> Vector:
        """`a_i`, sums of the rows of `A`."""
        return np.asarray(self.A.sum(axis=1))

    @cached_property
    def e_sum(self) -> Vector:
        """`e_i`, sums of the rows of `E`."""
        return np.asarray(self.E.sum(axis=1))

    @cached_property
    def _inverse(self) -> Matrix:
        """`E^-1`, with exact zeros above the diagonal."""
        inverse: Matrix = solve_triangular(self.E, np.eye(len(self.E)), lower=True)
        return inverse

    @cached_property
    def w(self) -> Matrix:
        """`A E^-1`: stages of the velocities."""
        return self.A @ self._inverse

    @cached_property
    def t(self) -> Matrix:
        """`A + A A E^-1`: stages of the positions."""
        return self.A + self.A @ self.w

    @cached_property
    def c(self) -> Matrix:
        """The strictly lower triangle of `1/e - E^-1`."""
        return np.tril(-self._inverse, -1)

    @cached_property
    def d(self) -> Matrix:
        """The strictly lower triangle of `E + E A E^-1`; its diagonal, `e`, is in `S`."""
        return np.tril(self.E + self.E @ self.w, -1)

    @cached_property
    def s(self) -> Vector:
        """`b E^-1`: velocities at the end."""
        return self.b @ self._inverse

    @cached_property
    def s_error(self) -> Vector:
        """`(b - b_hat) E^-1`: error estimate of the velocities."""
        return (self.b - self.b_hat) @ self._inverse

    @cached_property
    def p(self) -> Vector:
        """`b + b A E^-1`: positions at the end."""
        return self.b + self.b @ self.w

    @cached_property
    def p_error(self) -> Vector:
        """`(b - b_hat) (I + A E^-1)`: error estimate of the positions."""
        return (self.b - self.b_hat) + (self.b - self.b_hat) @ self.w

    def stability(self, z: ArrayLike) -> ComplexVector:
        """`R(z) = 1 + z b (I - z (A + E))^-1 1` for a complex number or an array of them."""
        return stability_function(z, self.A + self.E, self.b)

    def stability_at_infinity(self) -> float:
        """`R(infinity) = 1 - b (A + E)^-1 1`."""
        return float(1.0 - self.b @ np.linalg.solve(self.A + self.E, np.ones(len(self.b))))


# [Negrut, eqs. (4.70), (4.71)]: the order conditions hold to all digits. `e` is rounded to eight, hence R(infinity) = 1e-8. Stages 3 and 4
# have the same row of A, so a step takes three evaluations of f.
_E = 0.57281606
_A3 = [0.520920789130629029328516, 0.134294186842504800149232, 0.0, 0.0]
ROSENBROCK_NYSTROM_4 = RosenbrockTableau(
    "Rosenbrock-Nystrom 4",
    E=np.array([
        [_E, 0.0, 0.0, 0.0],
        [-2.34199312711201394917052, _E, 0.0, 0.0],
        [-0.0273337465434898361965046, 0.213811650836699689867472, _E, 0.0],
        [-0.259083837785510222112641, -0.190595807732311751616358, -0.228031035973133829477744, _E],
    ]),
    A=np.array([[0.0] * 4, [1.14563212, 0.0, 0.0, 0.0], _A3, _A3]),
    b=np.array([0.324534707891734513474196, 0.049086544787523308684633, 0.0, 0.6263787473207421778411711]),
    b_hat=np.array([0.520920789130629029328516, 0.144549714665364599584681, 0.124559686414702049774897, 0.209969809789304321311906]),
)
