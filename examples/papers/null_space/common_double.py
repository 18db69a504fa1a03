"""The double pendulum of the paper, for which `stiff-double-pendulum` stands: runs, forces, norms of constraints."""

from functools import cache

import common
import numpy as np

import mbdae

H = 5e-4  # step of the paper by Fox and Goodwin's method [s]
BEGIN, FINE, SMOOTH = 0.05, 2e-6, 1e-4  # s: end of the transient of the start, small steps in it and after it


def target():
    """The system."""
    return common.system("stiff-double-pendulum")


@cache
def fox_goodwin(t_end):
    """The motion by Fox and Goodwin's method with the paper's step; the start, which it does not resolve, leaves 0.02 rad."""
    return common.finished(target(), common.null_space(H), (0.0, t_end))


@cache
def after_start():
    """The state after the transient, by small steps of the trapezoidal rule."""
    s = common.finished(target(), common.null_space(FINE, common.TRAPEZOIDAL), (0.0, BEGIN), t_eval=[BEGIN])
    return mbdae.State(t=BEGIN, q=s.q[-1], v=s.v[-1], a=s.a[-1], lam=s.lam[-1])


@cache
def exact(t_end):
    """The motion from the end of the transient on, by small steps; error 1e-6 rad."""
    return common.finished(target(), common.null_space(SMOOTH, common.TRAPEZOIDAL), (BEGIN, t_end), state=after_start())


def support(solution):
    """Force of the support on body 1 [N], shape (n, 2)."""
    return -solution.multipliers("support")


def norms(solution):
    """Euclidean norms of the constraints on positions, velocities and accelerations, shape (n, 3)."""
    s, found = solution.system, np.empty((len(solution.t), 3))
    for k, (t, q, v, a) in enumerate(zip(solution.t, solution.q, solution.v, solution.a)):
        G = s.phi_q(t, q)
        found[k] = [np.linalg.norm(x) for x in (s.phi(t, q), G @ v - s.nu(t, q), G @ a - s.gamma(t, q, v))]
    return found
