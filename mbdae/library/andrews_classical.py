"""Andrews' squeezing mechanism in its classical form: seven angles, three loops cut at E, six constraint equations.

Test Set for IVP Solvers, Bari: Andrews' squeezing mechanism; Hairer, Wanner: Solving Ordinary Differential Equations II, section VII.7.
`andrews` has the same mechanism as seven bodies in Cartesian coordinates. Here its equations are written out: an independent model of the
same motion, and an example of a system of compiled user functions. With `q = (beta, theta, gamma, phi,
delta, Omega, epsilon)` the equations are `M(q) a + Phi_q^T lam = Q(q, v)`, `Phi(q) = 0`. All functions also take complex arguments.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Vector

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
POINT_A, POINT_B, POINT_C, POINT_O = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072), (0.0, 0.0)
LENGTHS = ((0.007, 0.00092), (0.028, 0.0115), (0.035, 0.01874, 0.01043, 0.018, 0.02), (0.02, 0.01421), (0.04, 0.02308, 0.00916),
           (0.02, 0.01421), (0.04, 0.01228, 0.00449))  # of K1 to K7; their published names:
STIFFNESS, FREE_LENGTH = 4530.0, 0.07785
TORQUE = 0.033

ANGLES = ("beta", "theta", "gamma", "phi", "delta", "Omega", "epsilon")
_STARTS = {
    "ivp": (-0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
            0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568),
    "iftomm": (-0.0620, 0.000214586853799515318889045224244, 0.455279812100370224186187076583, 0.222668375903027473389944594525,
               0.487364981140632795726159984736, -0.222668375903027473389944594525, 1.23054743915660076255075478156),
}


m1, m2, m3, m4, m5, m6, m7 = MASSES
I1, I2, I3, I4, I5, I6, I7 = INERTIAS
(rr, ra), (d, da), (ss, sa, sb, sc, sd), (e, ea), (zt, ta, tb), (zf, fa), (u, ua, ub) = LENGTHS
(xa, ya), (xb, yb), (xc, yc) = POINT_A, POINT_B, POINT_C


def start_angles(start: str = "ivp") -> tuple[float, ...]:
    """The classical angles `beta, theta, gamma, phi, delta, Omega, epsilon` at the start, which closes all loops.

    Parameters
    ----------
    start : {"ivp", "iftomm"}
        Start of the test set (theta = 0), or beta = -0.0620 rad exactly.
    """
    if start not in tuple(_STARTS):
        raise ValueError(f"andrews: start must be 'ivp' or 'iftomm', got {start!r}")
    return _STARTS[start]


def seven_angles(start: str = "ivp", picture: Callable[[float, Vector], Picture] | None = None) -> System:
    """The mechanism as a `System` with the seven classical angles as coordinates.

    Parameters
    ----------
    start : {"ivp", "iftomm"}
        As for `start_angles`; at rest.
    picture : callable, optional
        As for `System.from_functions`.

    Returns
    -------
    System
        With `nq = 7`, `nc = 6`; its multipliers are those of the test set.
    """
    return System.from_functions(nq=7, nc=6, mass=mass, force=force, phi=phi, phi_q=phi_q, nu=nu, gamma=gamma, energy=energy,
                                 q0=start_angles(start), picture=picture, name="andrews, seven angles",
                                 labels=[f"loop of {body}.{axis}" for body in ("K3", "K4", "K6") for axis in "xy"])


@njit(cache=True)
def mass(t, q):
    """`M(q)`, shape (7, 7)."""
    th, ph, om = q[1], q[3], q[5]
    M = np.zeros((7, 7), dtype=q.dtype)
    M[0, 0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * np.cos(th) + da**2) + I1 + I2
    M[1, 0] = M[0, 1] = m2 * (da**2 - da * rr * np.cos(th)) + I2
    M[1, 1] = m2 * da**2 + I2
    M[2, 2] = m3 * (sa**2 + sb**2) + I3
    M[3, 3] = m4 * (e - ea) ** 2 + I4
    M[4, 3] = M[3, 4] = m4 * ((e - ea) ** 2 + zt * (e - ea) * np.sin(ph)) + I4
    M[4, 4] = m4 * (zt**2 + 2 * zt * (e - ea) * np.sin(ph) + (e - ea) ** 2) + m5 * (ta**2 + tb**2) + I4 + I5
    M[5, 5] = m6 * (zf - fa) ** 2 + I6
    M[6, 5] = M[5, 6] = m6 * ((zf - fa) ** 2 - u * (zf - fa) * np.sin(om)) + I6
    M[6, 6] = m6 * ((zf - fa) ** 2 - 2 * u * (zf - fa) * np.sin(om) + u**2) + m7 * (ua**2 + ub**2) + I6 + I7
    return M


@njit(cache=True)
def force(t, q, v):
    """`Q(q, v)`: motor, spring, and the terms quadratic in the rates, shape (7,)."""
    th, g, ph, om = q[1], q[2], q[3], q[5]
    d_b, d_th, d_ph, d_de, d_om, d_ep = v[0], v[1], v[3], v[4], v[5], v[6]
    F_x, F_y = spring_force(g)
    return np.array([
        TORQUE - m2 * da * rr * d_th * (d_th + 2 * d_b) * np.sin(th),
        m2 * da * rr * d_b**2 * np.sin(th),
        F_x * (sc * np.cos(g) - sd * np.sin(g)) + F_y * (sd * np.cos(g) + sc * np.sin(g)),
        m4 * zt * (e - ea) * d_de**2 * np.cos(ph),
        -m4 * zt * (e - ea) * d_ph * (d_ph + 2 * d_de) * np.cos(ph),
        -m6 * u * (zf - fa) * d_ep**2 * np.cos(om),
        m6 * u * (zf - fa) * d_om * (d_om + 2 * d_ep) * np.cos(om),
    ])


@njit(cache=True)
def spring(g):
    """Components and length of the spring from C to D."""
    x = sd * np.cos(g) + sc * np.sin(g) + xb - xc
    y = sd * np.sin(g) - sc * np.cos(g) + yb - yc
    return x, y, np.sqrt(x**2 + y**2)


@njit(cache=True)
def spring_force(g):
    """Force of the spring on D."""
    x, y, length = spring(g)
    tension = STIFFNESS * (length - FREE_LENGTH)
    return -tension * x / length, -tension * y / length


@njit(cache=True)
def phi(t, q):
    """`Phi(q)`: E by way of the crank, less E by way of K3, of K5 and K4, of K7 and K6, shape (6,)."""
    b, th, g, ph, de, om, ep = q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    x = rr * np.cos(b) - d * np.cos(b + th)
    y = rr * np.sin(b) - d * np.sin(b + th)
    return np.array([
        x - ss * np.sin(g) - xb,
        y + ss * np.cos(g) - yb,
        x - e * np.sin(ph + de) - zt * np.cos(de) - xa,
        y + e * np.cos(ph + de) - zt * np.sin(de) - ya,
        x - zf * np.cos(om + ep) - u * np.sin(ep) - xa,
        y - zf * np.sin(om + ep) + u * np.cos(ep) - ya,
    ])


@njit(cache=True)
def phi_q(t, q):
    """`Phi_q(q)`, shape (6, 7)."""
    b, th, g, ph, de, om, ep = q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    G = np.zeros((6, 7), dtype=q.dtype)
    G[0::2, 1] = d * np.sin(b + th)
    G[1::2, 1] = -d * np.cos(b + th)
    G[0::2, 0] = -rr * np.sin(b) + d * np.sin(b + th)
    G[1::2, 0] = rr * np.cos(b) - d * np.cos(b + th)
    G[0, 2], G[1, 2] = -ss * np.cos(g), -ss * np.sin(g)
    G[2, 3], G[3, 3] = -e * np.cos(ph + de), -e * np.sin(ph + de)
    G[2, 4], G[3, 4] = -e * np.cos(ph + de) + zt * np.sin(de), -e * np.sin(ph + de) - zt * np.cos(de)
    G[4, 5], G[5, 5] = zf * np.sin(om + ep), -zf * np.cos(om + ep)
    G[4, 6], G[5, 6] = zf * np.sin(om + ep) - u * np.cos(ep), -zf * np.cos(om + ep) - u * np.sin(ep)
    return G


@njit(cache=True)
def nu(t, q):
    """`nu = -Phi_t`: no constraint depends on time."""
    return np.zeros(6, dtype=q.dtype)


@njit(cache=True)
def gamma(t, q, v):
    """`gamma(q, v) = -(Phi_q v)_q v`, shape (6,)."""
    b, th, g, ph, de, om, ep = q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    d_b, d_th, d_g, d_ph, d_de, d_om, d_ep = v[0], v[1], v[2], v[3], v[4], v[5], v[6]
    x = rr * np.cos(b) * d_b**2 - d * np.cos(b + th) * (d_b + d_th) ** 2
    y = rr * np.sin(b) * d_b**2 - d * np.sin(b + th) * (d_b + d_th) ** 2
    return np.array([
        x - ss * np.sin(g) * d_g**2,
        y + ss * np.cos(g) * d_g**2,
        x - e * np.sin(ph + de) * (d_ph + d_de) ** 2 - zt * np.cos(de) * d_de**2,
        y + e * np.cos(ph + de) * (d_ph + d_de) ** 2 - zt * np.sin(de) * d_de**2,
        x - zf * np.cos(om + ep) * (d_om + d_ep) ** 2 - u * np.sin(ep) * d_ep**2,
        y - zf * np.sin(om + ep) * (d_om + d_ep) ** 2 + u * np.cos(ep) * d_ep**2,
    ])


@njit(cache=True)
def energy(t, q, v):
    """Kinetic energy and that of the spring; the work of the motor is `TORQUE (beta - beta(0))`."""
    length = spring(q[2])[2]
    return 0.5 * v @ mass(t, q) @ v + 0.5 * STIFFNESS * (length - FREE_LENGTH) ** 2
