"""Newmark, HHT and generalised-alpha as one formula with four coefficients."""

from dataclasses import dataclass

import numpy as np

from ...model import checks
from ...typing import ArrayLike, Matrix, Vector

# (beta, gamma) of Newmark's method [Bustos, section 2], where gamma is called alpha
TRAPEZOIDAL = 0.25, 0.5
LINEAR_ACCELERATION = 1.0 / 6.0, 0.5
FOX_GOODWIN = 1.0 / 12.0, 0.5
CENTRAL_DIFFERENCES = 0.0, 0.5
RULES = {"trapezoidal": TRAPEZOIDAL, "linear-acceleration": LINEAR_ACCELERATION, "fox-goodwin": FOX_GOODWIN,
         "central-differences": CENTRAL_DIFFERENCES}
COEFFICIENT_ROUNDING = 1e-14  # of coefficients that cancel in A-stable methods


@dataclass(frozen=True)
class Formula:
    """Positions and velocities after a step from accelerations.

    With the accelerations `a` of the equations of motion and auxiliary accelerations `w`,

        q1 = q0 (+) (h v0 + h^2 ((1/2 - beta) w0 + beta w1)),   v1 = v0 + h ((1 - gamma) w0 + gamma w1),
        (1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0.

    Attributes
    ----------
    beta, gamma : float
        [Bustos] calls the second one alpha.
    alpha_m, alpha_f : float
        Zero for Newmark's method, `w = a` then.

    References
    ----------
    [Bustos, section 2]; Chung and Hulbert (1993) and, in this notation for constrained systems, Arnold and Bruels (2007).
    """

    beta: float
    gamma: float
    alpha_m: float = 0.0
    alpha_f: float = 0.0

    def second_order(self) -> bool:
        """Whether `gamma = 1/2 - alpha_m + alpha_f`, the condition of order 2."""
        return abs(self._damping()) < COEFFICIENT_ROUNDING

    def _damping(self) -> float:
        return self.gamma - 0.5 + self.alpha_m - self.alpha_f

    def amplification(self, omega_h: float, damping: float = 0.0) -> Matrix:
        """The matrix that takes `(h^2 w, h v, x)` over one step of `x'' + 2 xi omega x' + omega^2 x = 0` [Bustos, eq. (25)].

        The entry of `h v` by `h^2 w` is misprinted there: it has `2 (beta - alpha)` instead of `2 beta - alpha`.

        Parameters
        ----------
        omega_h : float
            Natural frequency times step.
        damping : float
            The ratio `xi`.

        Returns
        -------
        ndarray, shape (3, 3)
            For Newmark's method that of the paper, for `(h^2 x'', h x', x)`. For the others the acceleration `a` is eliminated by the
            equation of motion.
        """
        b, g, m, f = self.beta, self.gamma, self.alpha_m, self.alpha_f
        k, c = omega_h**2, 2.0 * damping * omega_h
        # (new) after = (old) before, in the rows of the equation of motion, positions and velocities; h^2 a = -c h v - k x
        new = np.array([[1.0 - m, (1.0 - f) * c, (1.0 - f) * k], [-b, 0.0, 1.0], [-g, 1.0, 0.0]])
        old = np.array([[-m, -f * c, -f * k], [0.5 - b, 1.0, 1.0], [1.0 - g, 1.0, 0.0]])
        return np.linalg.solve(new, old)

    def spectral_radius(self, omega_h: ArrayLike, damping: float = 0.0) -> Vector:
        """The largest modulus of an eigenvalue of `amplification`; an array for an array of `omega_h`."""
        values = [np.abs(np.linalg.eigvals(self.amplification(x, damping))).max() for x in np.ravel(omega_h)]
        radii: Vector = np.reshape(values, np.shape(omega_h))[()]
        return radii

    def limit(self) -> float:
        """The largest stable `omega h` without damping: infinity for an unconditionally stable formula, 0 if no step is stable.

        For Newmark's method `1/sqrt(gamma/2 - beta)` [Bustos, eq. (11)], and 0 if `gamma < 1/2`.

        Notes
        -----
        With `k = (omega h)^2` the eigenvalues of `amplification` are the zeros of

            ((1 - alpha_m) z + alpha_m) (z - 1)^2
            + k ((1 - alpha_f) z + alpha_f) (beta z^2 + (1/2 + gamma - 2 beta) z + 1/2 - gamma + beta).

        With `z = (1 + s)/(1 - s)` this is `k + k (F + G) s + (4 + k (B + F G)) s^2 + (4 - 8 alpha_m + k B F) s^3` with `F = 1 - 2 alpha_f`,
        `G = 2 gamma - 1`, `B = 4 beta - 2 gamma`. Hurwitz's conditions for the zeros `s` are linear in `k`.
        """
        F, G, B = 1.0 - 2.0 * self.alpha_f, 2.0 * self.gamma - 1.0, 4.0 * self.beta - 2.0 * self.gamma
        conditions = ((F + G, 0.0), (4.0, B + F * G), (4.0 - 8.0 * self.alpha_m, B * F), (8.0 * self._damping(), G * (B + F * (F + G))))
        return float(np.sqrt(min(_valid(*c) for c in conditions)))


def _valid(start: float, slope: float) -> float:
    """The largest `k` up to which `start + slope k >= 0`; numbers below rounding are zero."""
    if slope >= -COEFFICIENT_ROUNDING:
        return np.inf if start >= -COEFFICIENT_ROUNDING else 0.0
    return max(0.0, start / -slope) if start > COEFFICIENT_ROUNDING else 0.0


def newmark(beta: float, gamma: float) -> Formula:
    """Newmark's method [Bustos, section 2].

    Raises
    ------
    ValueError
        If `beta` or `gamma` is negative or not finite.
    """
    return Formula(_coefficient(beta, "beta", "1/4"), _coefficient(gamma, "gamma", "1/2"))


def _coefficient(value: float, field: str, usual: str) -> float:
    value = checks.number(value, "Newmark's method", field)
    if value < 0.0:
        raise ValueError(f"Newmark's method: {field} must not be negative, got {value:g}; the trapezoidal rule has {usual}")
    return value


def hht(alpha: float) -> Formula:
    """The method of Hilber, Hughes and Taylor, `alpha` in [-1/3, 0]: order 2, A-stable; damping increases as `alpha` decreases.

    Raises
    ------
    ValueError
        If `alpha` is outside.
    """
    alpha = checks.number(alpha, "HHT", "alpha")
    if not -1.0 / 3.0 <= alpha <= 0.0:
        raise ValueError(f"HHT: alpha must be between -1/3 (most damping) and 0 (trapezoidal rule), got {alpha:g}")
    return Formula((1.0 - alpha) ** 2 / 4.0, 0.5 - alpha, 0.0, -alpha)


def generalized_alpha(rho_inf: float) -> Formula:
    """The method of Chung and Hulbert: order 2, A-stable; `rho_inf` in [0, 1] is the spectral radius at infinite frequency.

    Raises
    ------
    ValueError
        If `rho_inf` is outside.
    """
    rho_inf = checks.number(rho_inf, "generalised-alpha", "rho_inf")
    if not 0.0 <= rho_inf <= 1.0:
        raise ValueError(f"generalised-alpha: rho_inf must be between 0 (most damping) and 1 (none), got {rho_inf:g}")
    m, f = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0), rho_inf / (rho_inf + 1.0)
    return Formula((1.0 - m + f) ** 2 / 4.0, 0.5 - m + f, m, f)
