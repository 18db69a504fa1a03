"""What the scripts on motions of the stiff double pendulum share: methods, published tables, the reference, errors.

The thesis: D. Negrut, "On the implicit integration of differential-algebraic equations of multibody dynamics", The University of Iowa
(1998), section 5.1. Its code ForSDIRK is `SdirkFirstOrder(filter=True)` here, ForRosen is `RosenbrockNystrom(filter=False)`,
both with `local_error=1.0`.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import mbdae
from mbdae import library

OUTPUT = "results/papers/thesis"  # default of --output
T_END = 2.0
THETA = 2  # column of the angle of body 1, and of its rate among the velocities
KAPPA = 0.02  # of the thesis, between 0.01 and 0.1
METHODS = {"SDIRK": mbdae.SdirkFirstOrder(filter=True, local_error=1.0, newton_tol=KAPPA),
           "Rosenbrock": mbdae.RosenbrockNystrom(filter=False, local_error=1.0),
           "Rosenbrock, filtered": mbdae.RosenbrockNystrom(local_error=1.0)}
TOLERANCES = (-2, -3, -4, -5)  # exponents k


@dataclass(frozen=True)
class Published:
    """A line of tables 20 to 23: the time of the largest error, that error, and the average per step."""

    t: float
    largest: float
    average: float


TABLES = {  # (method, quantity) -> number of the table and its lines by k
    ("SDIRK", "angle"): (20, {-2: Published(0.413557, 0.032796853043, 0.0011473218118),
                              -3: Published(0.425395, 0.003786644530, 0.0001111232537),
                              -4: Published(0.351082, 0.000754569135, 0.0000196564539),
                              -5: Published(1.084304, 0.000170608670, 0.0000042107989)}),
    ("Rosenbrock", "angle"): (21, {-2: Published(0.592127, 0.005223114419, 0.0002292862384),
                                   -3: Published(0.599954, 0.000419882301, 0.0000138889609),
                                   -4: Published(0.626135, 0.000049169233, 0.0000011485216),
                                   -5: Published(1.065146, 0.000019027152, 0.0000002516347)}),
    ("SDIRK", "rate"): (22, {-2: Published(0.578444, 0.228908866004, 0.0083749741182),
                             -3: Published(0.291094, 0.031312203070, 0.0009066499320),
                             -4: Published(0.551010, 0.006406931668, 0.0001530648603),
                             -5: Published(0.136235, 0.001485443259, 0.0000350200500)}),
    ("Rosenbrock", "rate"): (23, {-2: Published(0.795548, 0.040612124932, 0.0016645922425),
                                  -3: Published(0.373114, 0.003792150415, 0.0001151519879),
                                  -4: Published(0.217757, 0.000865201346, 0.0000134313788),
                                  -5: Published(0.186183, 0.000234309801, 0.0000023859574)}),
}


@cache
def system():
    """The stiff double pendulum."""
    return library.system("stiff-double-pendulum")


@dataclass(frozen=True)
class Reference:
    """Angle and rate of body 1 as functions of time."""

    angle: CubicHermiteSpline
    rate: CubicHermiteSpline
    steps: int


@cache
def reference(t_end=T_END, rtol=1e-11):
    """A run of `SdirkFirstOrder` at a tight tolerance, cubics through its steps."""
    s = run(mbdae.SdirkFirstOrder(local_error=1.0, newton_tol=KAPPA), rtol, t_end)
    return Reference(CubicHermiteSpline(s.t, s.q[:, THETA], s.v[:, THETA]), CubicHermiteSpline(s.t, s.v[:, THETA], s.a[:, THETA]),
                     s.statistics.steps)


def run(method, tolerance, t_end=T_END, coordinates="angles", **options):
    """The motion at `rtol = atol = tolerance`.

    Raises
    ------
    RuntimeError
        If the run fails.
    """
    s = mbdae.solve(problem(coordinates), method, (0.0, t_end), rtol=tolerance, atol=tolerance, **options)
    if not s.success:
        raise RuntimeError(f"{method.label}, tolerance {tolerance:g}: {s.message}")
    return s


@cache
def problem(coordinates):
    """The equations in `"angles"`, the coordinates that mbdae prefers, in `"pivots"`, those that full pivoting leaves, or in `"tangent"`.

    The thesis takes what pivoting leaves: Cartesian coordinates as well as angles, whatever the pose suggests.
    """
    if coordinates == "tangent":
        return mbdae.StateSpace(system(), "tangent")
    return mbdae.StateSpace(system(), pivots={"angles": "angles", "pivots": "unscaled"}[coordinates])


@dataclass(frozen=True)
class ErrorLine:
    """Errors over the steps of a run: largest [eq. (5.2)] and when, per cent of the reference [eq. (5.4)], average [eq. (5.3)]."""

    t: float
    largest: float
    percent: float
    average: float
    steps: int


def error_line(s, exact, values):
    """Of values at the steps of a run against a function of time, as [eqs. (5.1)-(5.4)] define them."""
    wanted = exact(s.t)
    off = np.abs(wanted - values)
    worst = int(np.argmax(off))
    return ErrorLine(float(s.t[worst]), float(off[worst]), float(100.0 * off[worst] / abs(wanted[worst])),
                     float(np.sqrt(np.sum(off**2)) / len(off)), s.statistics.steps)


def error_lines(s, known):
    """`ErrorLine` of the angle and the rate of body 1."""
    return {"angle": error_line(s, known.angle, s.q[:, THETA]), "rate": error_line(s, known.rate, s.v[:, THETA])}
