"""Newmark, HHT and generalised-alpha as one formula with four coefficients."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

# (alpha, beta) of Newmark's method [Bustos, section 2]
TRAPEZOIDAL = 0.5, 0.25
LINEAR_ACCELERATION = 0.5, 1.0 / 6.0
FOX_GOODWIN = 0.5, 1.0 / 12.0
CENTRAL_DIFFERENCES = 0.5, 0.0
RULES = {"trapezoidal": TRAPEZOIDAL, "linear-acceleration": LINEAR_ACCELERATION, "fox-goodwin": FOX_GOODWIN,
         "central-differences": CENTRAL_DIFFERENCES}
GROWTH = 1e-10  # of a vibration in a step that still counts as none


@dataclass(frozen=True)
class Formula:
    """Positions and velocities after a step from accelerations.

    With the accelerations `a` of the equations of motion and auxiliary ones `w`,

        q1 = q0 (+) (h v0 + h^2 ((1/2 - beta) w0 + beta w1)),   v1 = v0 + h ((1 - gamma) w0 + gamma w1),
        (1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0.

    Attributes
    ----------
    beta, gamma : float
        The paper on Newmark's method calls the second one alpha.
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

    def second_order(self):
        """Whether `gamma = 1/2 - alpha_m + alpha_f`, the condition of order 2."""
        return abs(self.gamma - 0.5 + self.alpha_m - self.alpha_f) < 1e-14

    def amplification(self, omega_h, damping=0.0):
        """The matrix that takes `(h^2 w, h v, x)` over one step of `x'' + 2 xi omega x' + omega^2 x = 0` [Bustos, eq. (25)].

        Parameters
        ----------
        omega_h : float
            Natural frequency times step.
        damping : float
            The ratio `xi`.

        Returns
        -------
        ndarray, shape (3, 3)
            Of Newmark's method the one that the paper gives for `(h^2 x'', h x', x)`. Of the others the true acceleration has been
            eliminated by the equation of motion.
        """
        b, g, m, f = self.beta, self.gamma, self.alpha_m, self.alpha_f
        k, c = omega_h**2, 2.0 * damping * omega_h
        # (new) after = (old) before, in the rows of the equation of motion, positions and velocities; h^2 a = -c h v - k x
        new = np.array([[1.0 - m, (1.0 - f) * c, (1.0 - f) * k], [-b, 0.0, 1.0], [-g, 1.0, 0.0]])
        old = np.array([[-m, -f * c, -f * k], [0.5 - b, 1.0, 1.0], [1.0 - g, 1.0, 0.0]])
        return np.linalg.solve(new, old)

    def spectral_radius(self, omega_h, damping=0.0):
        """The largest modulus of an eigenvalue of `amplification`; an array for an array of `omega_h`."""
        values = [np.abs(np.linalg.eigvals(self.amplification(x, damping))).max() for x in np.ravel(omega_h)]
        return np.reshape(values, np.shape(omega_h))[()]

    def limit(self):
        """The largest stable `omega h` without damping: infinity if there is none, 0 if no step is stable.

        For Newmark's method `1/sqrt(gamma/2 - beta)` [Bustos, eq. (11)], for the others from the spectral radius.
        """
        if self.alpha_m == 0.0 == self.alpha_f:
            slope = 0.5 * self.gamma - self.beta
            return 0.0 if self.gamma < 0.5 else float(1.0 / np.sqrt(slope)) if slope > 0.0 else np.inf
        grid = np.geomspace(1e-2, 1e4, 1200)
        bad = np.flatnonzero(self.spectral_radius(grid) > 1.0 + GROWTH)
        if not len(bad):
            return np.inf
        return float(brentq(lambda x: self.spectral_radius(x) - 1.0 - GROWTH, grid[bad[0] - 1], grid[bad[0]])) if bad[0] else 0.0


def newmark(alpha, beta):
    """Newmark's method with `gamma = alpha` [Bustos, section 2]."""
    return Formula(beta, alpha)


def hht(alpha):
    """The method of Hilber, Hughes and Taylor, `alpha` in [-1/3, 0]: order 2, A-stable, the more damping the smaller `alpha`."""
    return Formula((1.0 - alpha) ** 2 / 4.0, 0.5 - alpha, 0.0, -alpha)


def generalized_alpha(rho_inf):
    """The method of Chung and Hulbert: order 2, A-stable, with the factor `rho_inf` in [0, 1] for infinitely fast vibrations."""
    m, f = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0), rho_inf / (rho_inf + 1.0)
    return Formula((1.0 - m + f) ** 2 / 4.0, 0.5 - m + f, m, f)
