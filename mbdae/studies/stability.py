"""Natural frequencies of a mechanism in motion, and the steps that they allow [Bustos, sections 4 and 5]."""

from functools import cached_property

import numpy as np

from ..charts import derivative
from ..charts.chart import Chart
from ..charts.motion import evaluate
from ..integrators.structural.formula import RULES, Formula, newmark
from ..jacobians.complex_step import COMPLEX_STEP
from ..pictures.figures import COLOURS, new_figure, style

SYMMETRIC = 1e-9  # relative difference between a reduced stiffness matrix and its transpose that is rounding
ROUNDING = 1e-14  # of eigenvalues, relative to the largest


def natural_frequencies(system, t, q, v, lam=None):
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
        A state on the constraints; what is off by the errors of a method is put right.
    lam : array_like, shape (nc,), optional
        Guess of the multipliers, where forces depend on them.

    Returns
    -------
    ndarray, shape (n,)
        [rad/s], the largest modulus first; below 1e-7 of the largest it is zero. Real where all are vibrations. Complex otherwise, as from
        `numpy.linalg.eigvals`: `omega = i s` stands for growth with `exp(s t)`, and flutter has both parts.

    Raises
    ------
    ValueError
        If a shape is wrong, something is not finite, or the motion is prescribed.
    ChartError
        At a singular position.

    Notes
    -----
    `K` and `C` are the derivatives of `M a + Phi_q^T lam - Q` by displacement and velocity, and `X_p`, `X_p1` what velocities and
    accelerations of least norm must follow a displacement [Bustos, eqs. (40), (47)]. All of it is the derivative of the accelerations along
    the constraints, which `mbdae.charts` has to rounding. In equilibrium at rest the result does not depend on coordinates. In motion terms
    quadratic in the velocities do: here displacements are measured in metres and radians, rotations about axes of the body. Without `C_R`
    growth need not be real: a fast top stands upright.
    """
    return _Reduced(system).at(t, q, v, lam).frequencies()


def eigenvalues(system, t, q, v, lam=None):
    """Eigenvalues of the motion around a state, `alpha' = beta`, `beta' = -M_R^-1 (K_R alpha + C_R beta)`, damping included.

    Parameters
    ----------
    system, t, q, v, lam
        As for `natural_frequencies`.

    Returns
    -------
    ndarray of complex, shape (2 n,)
        [1/s], the largest modulus first. At rest in equilibrium a positive real part means that it is unstable.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`.
    """
    found = np.linalg.eigvals(_Reduced(system).at(t, q, v, lam).first_order()).astype(complex)
    return found[np.argsort(-np.abs(found), kind="stable")]


def stability_limit(system, t, q, v, method):
    """The largest stable step [s] at a state, `method.formula.limit() / omega_max` [Bustos, eq. (11)].

    It holds for methods that integrate in independent coordinates or in null-space coordinates, and not for structural methods with the
    constraints beside the equations of motion.

    Parameters
    ----------
    system, t, q, v
        As for `natural_frequencies`.
    method : object with `formula`, or Formula
        E.g. `NullSpaceNewmark(h, beta, gamma)`.

    Returns
    -------
    float
        Infinity if the formula has no limit or nothing vibrates.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`, or if the method has no formula.
    """
    limit = _formula(method).limit()
    return float(allowed_steps(fastest(natural_frequencies(system, t, q, v)), limit))


def largest_frequencies(system, solution):
    """The largest natural frequency along a run [Bustos, figs. 21 and 25].

    Parameters
    ----------
    system : System
    solution : Solution
        Of an accurate method; what is off the constraints is put right.

    Returns
    -------
    t : ndarray, shape (m,)
        The times of the solution [s].
    omega : ndarray, shape (m,)
        [rad/s], of what vibrates; zero where nothing does.

    Raises
    ------
    ValueError, ChartError
        As for `natural_frequencies`.
    """
    reduced, x = _Reduced(system), solution
    omega = [fastest(reduced.at(*state).frequencies()) for state in zip(x.t, x.q, x.v, x.lam)]
    return np.array(x.t), np.array(omega)


def plot_frequencies(t, omega, methods=None, title=None):
    """The largest natural frequency over time, and the steps that it allows.

    Parameters
    ----------
    t, omega : array_like, shape (m,)
        From `largest_frequencies`.
    methods : dict of str to (object with `formula`, or Formula), optional
        One curve of allowed steps each, with its name; by default Newmark's methods of `RULES`. Those without a limit have no curve.
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
    limits = {name: _formula(method).limit() for name, method in methods.items()}
    with style():
        figure = new_figure(7.4, 3.2)
        left, right = figure.subplots(1, 2)
        left.plot(t, omega, color=COLOURS[0])
        left.set(xlabel="time  [s]", ylabel=r"largest natural frequency $\omega$  [rad/s]", ylim=(0.0, None))
        _draw_steps(right, t, omega, {name: limit for name, limit in limits.items() if 0.0 < limit < np.inf})
        left.margins(x=0.0)
        right.set_xlim(left.get_xlim())
        if right.lines:
            figure.legend(loc="outside lower center", ncols=3)
        if title:
            figure.suptitle(title, fontsize=10, color="#222222")
    return figure


def _draw_steps(axis, t, omega, limits):
    """The allowed steps over time; the legend names the smallest of each, stable throughout."""
    vibrating = bool(limits) and np.any(np.asarray(omega) > 0.0)
    axis.set(xlabel="time  [s]", ylabel="largest stable step $h$  [s]", yscale="log" if vibrating else "linear")
    for k, (name, limit) in enumerate(limits.items() if vibrating else ()):
        steps = allowed_steps(omega, limit)
        axis.plot(t, np.where(np.isfinite(steps), steps, np.nan), color=COLOURS[k], label=f"{name}: {steps.min():.3g} s")


def fastest(frequencies):
    """The largest of natural frequencies [rad/s], growth not counted."""
    return float(np.max(frequencies.real))


def allowed_steps(omega, limit):
    """`limit / omega`, infinity where nothing vibrates or there is no limit."""
    omega = np.asarray(omega, dtype=float)
    return np.divide(limit, omega, out=np.full(omega.shape, np.inf), where=omega > 0.0)


def _formula(method):
    formula = getattr(method, "formula", method)
    if not isinstance(formula, Formula):
        told = getattr(method, "label", type(method).__name__)
        raise ValueError(f"{told} has no formula with a stability limit: give a structural method such as NullSpaceNewmark, or its Formula")
    return formula


class _Reduced:
    """The equations in null-space coordinates at one state after another; the chart is exchanged when it has become ill-conditioned.

    With the basis `N` of the chart and its pseudoinverse `N^+` a displacement `N beta` makes velocities change by `V beta + N z'`, where
    `z' = -N^+ V beta` leaves the part of least norm, `X_p`. So `J1 = N^+ (A1 - A2 N^+ V)` is the derivative of `beta''`, similar to
    `-M_R^-1 K_R` whatever the chart.
    """

    def __init__(self, system):
        if system.freedom == 0:
            raise ValueError(f"{system.name} has no degree of freedom: its motion is prescribed, and nothing in it can vibrate; "
                             "remove a driver to let it move")
        self.system, self.chart, self.centred = system, Chart(system, "tangent"), False
        self.derivatives = derivative.new_derivatives(system)

    @cached_property
    def _complex_work(self):
        return self.system.workspace(complex)

    def at(self, t, q, v, lam=None):
        """Linearise at a state."""
        s, chart = self.system, self.chart
        t, q, v = _checked(t, (), "t"), _checked(q, (s.nq,), "q"), _checked(v, (s.nv,), "v")
        lam = s.multiplier_guess() if lam is None else _checked(lam, (s.nc,), "lam")
        if not self.centred or chart.ill_conditioned(t, q):
            chart.centre(t, q)
            self.centred = True
        a, zdd, (z, zd) = np.empty(s.nv), np.empty(chart.n), chart.coordinates(t, q, v)
        chart.check(evaluate(t, z, zd, q, v, a, lam, zdd, chart.store, s.model, chart.work), t, q)
        derivative.linearise(derivative.State(t, q, v, a, lam), chart.factors, self._complex_work, COMPLEX_STEP * 1j, self.derivatives)
        s.callbacks.check()
        return self

    def frequencies(self):
        """See `natural_frequencies`."""
        L = np.tril(self.chart.bases.S)
        K = -np.linalg.solve(L, self._stiffness()) @ L  # similar, and symmetric where K_R is: L L^T = M_R^-1
        if np.abs(K - K.T).max() <= SYMMETRIC * np.abs(K).max():
            squares = np.linalg.eigvalsh(0.5 * (K + K.T))
        else:
            squares = np.linalg.eigvals(K)
        omega = np.sqrt(_cleaned(squares))
        omega = omega[np.argsort(-np.abs(omega), kind="stable")]
        return omega if omega.imag.any() else omega.real

    def first_order(self):
        """The matrix of `eigenvalues`."""
        n = self.chart.n
        return np.block([[np.zeros((n, n)), np.eye(n)], [self._stiffness(), self._inverse() @ self.derivatives.a_zd.T]])

    def _inverse(self):
        """`N^+`, shape (n, nv)."""
        return np.linalg.pinv(self.chart.bases.N.T)

    def _stiffness(self):
        """`-M_R^-1 K_R` in the basis of the chart."""
        d, inverse = self.derivatives, self._inverse()
        V, A1, A2 = d.v_z.T, d.a_z.T, d.a_zd.T
        return inverse @ (A1 - A2 @ (inverse @ V))


def _cleaned(squares):
    """Complex numbers without the parts that are rounding, which would make a zero a small growth."""
    noise = ROUNDING * np.abs(squares).max()
    real, imag = (np.where(np.abs(part) > noise, part, 0.0) for part in (squares.real, squares.imag))
    return real + 1j * imag


def _checked(x, shape, what):
    """A finite array of the right shape, a copy."""
    x = np.array(x, dtype=float)
    if x.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, got {x.shape}: give the arrays of a State or of one row of a Solution")
    if not np.isfinite(x).all():
        raise ValueError(f"{what} must be finite, got {x}")
    return x if shape else float(x)
