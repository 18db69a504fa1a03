"""Natural frequencies of a mechanism in motion, and the largest stable steps [Bustos, sections 4 and 5]."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..charts import derivative
from ..charts.chart import Chart
from ..charts.motion import evaluate
from ..driver.method import Method
from ..integrators.structural.formula import RULES, Formula, newmark
from ..jacobians.complex_step import COMPLEX_STEP
from ..pictures.frequencies import draw_frequencies
from ..results.solution import Solution
from ..system.system import System
from ..typing import ArrayLike, ComplexVector, Matrix, Numbers, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYMMETRY_TOL = 1e-9  # relative difference between the reduced stiffness matrix and its transpose
EIGENVALUE_TOL = 1e-14  # relative to the largest eigenvalue


def natural_frequencies(system: System, t: float, q: ArrayLike, v: ArrayLike, lam: ArrayLike | None = None) -> Vector | ComplexVector:
    """Natural frequencies of the motion around a state, one per degree of freedom.

    With `N` an orthonormal basis of the null space of `Phi_q`, the motion `q (+) N alpha` obeys

        M_R alpha'' + C_R alpha' + K_R alpha = ...,   M_R = N^T M N,   K_R = N^T K N + N^T C X_p + N^T M X_p1,

    and the frequencies are the roots of the eigenvalues of `M_R^-1 K_R` [Bustos, after eq. (52)]. Damping and gyroscopic forces `C_R` are
    left out; `eigenvalues` has them.

    Parameters
    ----------
    system : System
    t : float
    q, v : array_like, shape (nq,), (nv,)
        A state on the constraints, onto which it is projected.
    lam : array_like, shape (nc,), optional
        Guess of the multipliers, where forces depend on them.

    Returns
    -------
    ndarray, shape (n,)
        [rad/s], the largest modulus first; zero below 1e-7 of the largest. Real if all modes are vibrations, complex otherwise, as from
        `numpy.linalg.eigvals`: `omega = i s` means growth with `exp(s t)`; flutter has a real and an imaginary part.

    Raises
    ------
    ValueError
        If a shape is wrong, a value is not finite, or the motion is prescribed.
    ChartError
        At a singular position.

    Notes
    -----
    `K` and `C` are the derivatives of `M a + Phi_q^T lam - Q` with respect to displacement and velocity, `X_p` and `X_p1` the changes of
    velocities and accelerations of minimal norm that a displacement requires [Bustos, eqs. (40), (47)]. The matrix is computed as the
    derivative of the accelerations along the constraints, which `mbdae.charts` evaluates to rounding. At equilibrium at rest the result
    does not depend on the coordinates. In motion it contains terms quadratic in the velocities that do: here displacements are measured in
    metres and radians, rotations about axes of the body. A mode that grows without `C_R` may be stable with it: a fast top stands upright.
    """
    return _Reduced(system).at(t, q, v, lam).frequencies()


def eigenvalues(system: System, t: float, q: ArrayLike, v: ArrayLike, lam: ArrayLike | None = None) -> ComplexVector:
    """Eigenvalues of the motion around a state, `alpha' = beta`, `beta' = -M_R^-1 (K_R alpha + C_R beta)`, damping included.

    Parameters
    ----------
    system, t, q, v, lam
        As for `natural_frequencies`.

    Returns
    -------
    ndarray of complex, shape (2 n,)
        [1/s], the largest modulus first. An equilibrium at rest with a positive real part is unstable.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`.
    """
    found = np.linalg.eigvals(_Reduced(system).at(t, q, v, lam).first_order()).astype(complex)
    return found[np.argsort(-np.abs(found), kind="stable")]


def stability_limit(system: System, t: float, q: ArrayLike, v: ArrayLike, method: object) -> float:
    """The largest stable step [s] at a state, `method.formula.limit() / omega_max` [Bustos, eq. (11)].

    It holds for methods in independent coordinates or in null-space coordinates, not for structural methods with multipliers.

    Parameters
    ----------
    system, t, q, v
        As for `natural_frequencies`.
    method : object with `formula`, or Formula
        E.g. `NullSpaceNewmark(h, beta, gamma)`.

    Returns
    -------
    float
        Infinity if the formula has no limit or there is no vibration.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`, or if the method has no formula.
    """
    limit = _formula(method).limit()
    return float(stable_steps(largest_frequency(natural_frequencies(system, t, q, v)), limit))


def largest_frequencies(system: System, solution: Solution) -> tuple[Vector, Vector]:
    """The largest natural frequency along a run [Bustos, figs. 21 and 25].

    Parameters
    ----------
    system : System
    solution : Solution
        Of an accurate method; its states are projected onto the constraints.

    Returns
    -------
    t : ndarray, shape (m,)
        The times of the solution [s].
    omega : ndarray, shape (m,)
        [rad/s], zero without vibrations.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`.
    """
    reduced, x = _Reduced(system), solution
    omega = [largest_frequency(reduced.at(*state).frequencies()) for state in zip(x.t, x.q, x.v, x.lam)]
    return np.array(x.t), np.array(omega)


def plot_frequencies(t: ArrayLike, omega: ArrayLike, methods: Mapping[str, object] | None = None, title: str | None = None) -> Figure:
    """The largest natural frequency over time, and the largest stable steps.

    Parameters
    ----------
    t, omega : array_like, shape (m,)
        From `largest_frequencies`.
    methods : dict of str to (object with `formula`, or Formula), optional
        One curve of stable steps each; by default Newmark's methods of `RULES`. Methods without a limit have no curve.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a method has no formula.
    """
    methods = {name: newmark(*rule) for name, rule in RULES.items()} if methods is None else methods
    return draw_frequencies(t, omega, {name: _formula(method).limit() for name, method in methods.items()}, title)


def largest_frequency(frequencies: Vector | ComplexVector) -> float:
    """The largest natural frequency [rad/s], without growing modes."""
    return float(np.max(frequencies.real))


def stable_steps(omega: ArrayLike, limit: float) -> Vector:
    """`limit / omega`, infinity without vibration or limit."""
    omega = np.asarray(omega, dtype=float)
    return np.divide(limit, omega, out=np.full(omega.shape, np.inf), where=omega > 0.0)


def _formula(method: object) -> Formula:
    formula = getattr(method, "formula", method)
    if not isinstance(formula, Formula):
        label = method.label if isinstance(method, Method) else type(method).__name__
        raise ValueError(f"{label} has no stability limit: give a structural method such as NullSpaceNewmark, or its Formula")
    return formula


class _Reduced:
    """Linearised equations in null-space coordinates; the local parametrisation is switched when it becomes ill-conditioned.

    With the basis `N` of the chart and its pseudoinverse `N^+`, a displacement `N beta` changes the velocities by `V beta + N z'`, with
    minimal norm `X_p` for `z' = -N^+ V beta`. Hence `J1 = N^+ (A1 - A2 N^+ V)` is the derivative of `beta''`, similar to `-M_R^-1 K_R` for
    every chart.
    """

    def __init__(self, system: System) -> None:
        if system.freedom == 0:
            raise ValueError(f"{system.name} has no degree of freedom: its motion is prescribed; "
                             "remove a driver")
        self.system, self.chart, self.centred = system, Chart(system, "tangent"), False
        self.derivatives = derivative.new_derivatives(system, system.freedom)
        self.mass = np.eye(system.freedom)  # M_R in the basis of the chart

    @cached_property
    def _complex_work(self) -> ComplexVector:
        return self.system.workspace(complex)

    def at(self, t: float, q: ArrayLike, v: ArrayLike, lam: ArrayLike | None = None) -> _Reduced:
        """Linearise at a state."""
        s, t = self.system, float(_checked(t, (), "t"))
        return self._linearised(t, _checked(q, (s.nq,), "q"), _checked(v, (s.nv,), "v"),
                                s.multiplier_guess() if lam is None else _checked(lam, (s.nc,), "lam"))

    def _linearised(self, t: float, q: Vector, v: Vector, lam: Vector) -> _Reduced:
        s, chart = self.system, self.chart
        if not self.centred or chart.ill_conditioned(t, q):
            chart.centre(t, q)
            self.centred = True
        a, zdd, (z, zd) = np.empty(s.nv), np.empty(chart.n), chart.coordinates(t, q, v)
        chart.check(evaluate(t, z, zd, q, v, a, lam, zdd, chart.factors), t, q)
        state = derivative.State(t, q, v, a, lam)
        derivative.linearise(state, chart.factors, self._complex_work, COMPLEX_STEP * 1j, 0, chart.n, self.derivatives)
        s.callbacks.check()
        N = chart.bases.N
        self.mass = N @ s.mass(t, q) @ N.T
        return self

    def frequencies(self) -> Vector | ComplexVector:
        """See `natural_frequencies`."""
        C = np.linalg.cholesky(self.mass)
        K = -C.T @ np.linalg.solve(C, self._stiffness().T).T  # similar, and symmetric where K_R is: M_R = C C^T
        if np.abs(K - K.T).max() <= SYMMETRY_TOL * np.abs(K).max():
            squares = np.linalg.eigvalsh(0.5 * (K + K.T))
        else:
            squares = np.linalg.eigvals(K)
        omega = np.sqrt(_without_rounding(squares))
        omega = omega[np.argsort(-np.abs(omega), kind="stable")]
        return omega if omega.imag.any() else omega.real

    def first_order(self) -> Matrix:
        """The matrix of `eigenvalues`."""
        n = self.chart.n
        return np.block([[np.zeros((n, n)), np.eye(n)], [self._stiffness(), self._inverse() @ self.derivatives.a_zd.T]])

    def _inverse(self) -> Matrix:
        """`N^+`, shape (n, nv)."""
        return np.linalg.pinv(self.chart.bases.N.T)

    def _stiffness(self) -> Matrix:
        """`-M_R^-1 K_R` in the basis of the chart."""
        d, inverse = self.derivatives, self._inverse()
        V, A1, A2 = d.v_z.T, d.a_z.T, d.a_zd.T
        return inverse @ (A1 - A2 @ (inverse @ V))


def _without_rounding(squares: Numbers) -> ComplexVector:
    """Eigenvalues with real and imaginary parts below rounding set to zero, which would turn a zero into a slow growth."""
    noise = EIGENVALUE_TOL * np.abs(squares).max()
    real, imag = (np.where(np.abs(part) > noise, part, 0.0) for part in (squares.real, squares.imag))
    return real + 1j * imag


def _checked(x: ArrayLike, shape: tuple[int, ...], what: str) -> Vector:
    """A finite array of the right shape, a copy."""
    array = np.array(x, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, got {array.shape}: give the arrays of a State or of one row of a Solution")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite, got {array}")
    return array
