"""What the tests of the structural integrators share: methods by name, observed orders, a linear system."""

from functools import cache

import numpy as np

import mbdae
from mbdae.studies import errors

from .state_space_cases import exact, system

LEVELS = ("position", "velocity", "acceleration", "stabilised")
RULES = {"trapezoidal": mbdae.TRAPEZOIDAL, "linear acceleration": mbdae.LINEAR_ACCELERATION, "Fox-Goodwin": mbdae.FOX_GOODWIN,
         "central differences": mbdae.CENTRAL_DIFFERENCES}
OSCILLATING = "Newmark trapezoidal position"  # its multipliers oscillate for ever
UNSTABLE = ("Newmark linear acceleration position", "Newmark Fox-Goodwin position")


def newmark(made, rule, **options):
    """A function of the step that makes Newmark's method."""
    beta, gamma = RULES[rule]
    return lambda h: made(h=h, beta=beta, gamma=gamma, **options)


def fixed(made, **options):
    """The same for methods with other parameters."""
    return lambda h: made(h=h, **options)


NULL_SPACE = {f"null-space {rule}": newmark(mbdae.NullSpaceNewmark, rule) for rule in RULES}
NULL_SPACE |= {"null-space HHT": fixed(mbdae.NullSpaceHHT, alpha=-0.1),
               "null-space generalised-alpha": fixed(mbdae.NullSpaceGeneralizedAlpha, rho_inf=0.8)}
CLASSICAL = {f"Newmark {rule} {level}": newmark(mbdae.Newmark, rule, level=level) for rule in RULES for level in LEVELS
             if (rule, level) != ("central differences", "position")}
CLASSICAL |= {f"HHT {level}": fixed(mbdae.HHT, level=level, alpha=-0.1) for level in LEVELS}
CLASSICAL |= {f"generalised-alpha {level}": fixed(mbdae.GeneralizedAlpha, level=level, rho_inf=0.8) for level in LEVELS}
METHODS = NULL_SPACE | CLASSICAL


def run(target, method, t_end, **options):
    """A run that must succeed."""
    s = mbdae.solve(target, method, (0.0, t_end), **options)
    assert s.success, s.message
    return s


def orders(name, method, t_end, numbers):
    """Slopes of the errors of `q`, `v`, `lam` at the end, by which what the start has stirred up is gone; and the errors."""
    found = exact(name, t_end, 2)
    rows = []
    for n in numbers:
        d = errors(run(system(name), METHODS[method](t_end / n), t_end, t_eval=found.t), found)
        rows.append((d.q, d.v, d.lam))
    return np.polyfit(np.log(numbers), -np.log(rows), 1)[0], np.array(rows)


# --- a linear system: a chain of three masses, springs in between; a constraint ties two of them together ------------------------

STIFFNESS = np.array([[50.0, -20.0, 0.0], [-20.0, 45.0, -25.0], [0.0, -25.0, 40.0]])
MASS = np.diag([1.0, 2.0, 1.5])
TIE = np.array([[1.0, -2.0, 0.5]])


@cache
def linear(constrained, q0=(0.3, 0.1, -0.2), v0=(0.0, 0.0, 0.0), damping=0.0):
    """`M a + d M v + K q + A^T lam = 0`, `A q = 0`; without constraint `A` has no rows."""
    A = TIE if constrained else np.zeros((0, 3))
    rest = np.linalg.svd(A)[2][len(A):]
    return mbdae.System.from_functions(
        nq=3, nc=len(A), mass=lambda t, q: MASS, force=lambda t, q, v: -STIFFNESS @ q - damping * (MASS @ v), phi=lambda t, q: A @ q,
        q0=rest.T @ rest @ np.array(q0), v0=rest.T @ rest @ np.array(v0))


def linear_motion(constrained, t, q0=(0.3, 0.1, -0.2), v0=(0.0, 0.0, 0.0)):
    """Its undamped motion in closed form: `(q, v)`."""
    N = np.linalg.svd(TIE if constrained else np.zeros((0, 3)))[2][int(constrained):].T
    M, K = N.T @ MASS @ N, N.T @ STIFFNESS @ N
    L = np.linalg.inv(np.linalg.cholesky(M))
    squares, modes = np.linalg.eigh(L @ K @ L.T)
    omega, S = np.sqrt(squares), N @ L.T @ modes
    x, y = (np.linalg.lstsq(S, N @ N.T @ np.array(z), rcond=None)[0] for z in (q0, v0))
    return S @ (x * np.cos(omega * t) + y / omega * np.sin(omega * t)), S @ (y * np.cos(omega * t) - x * omega * np.sin(omega * t))
