"""Equations of your own in NumPy: a bead on the wire z = cosh(x) that is turned about the z-axis, and a spring.

Every formulation and every solver takes such a system; only the speed of compiled mechanisms is missing.
"""

import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

MASS, STIFFNESS, TURN, GRAVITY = 0.1, 2.0, 1.5, np.array([0.0, 0.0, -9.81])


def wire(t, q):
    """`Phi(t, q)`: the bead is in the plane of the wire, and on the wire. Derivatives follow by the complex step."""
    c, s = np.cos(TURN * t), np.sin(TURN * t)
    along, across = c * q[0] + s * q[1], c * q[1] - s * q[0]
    return np.array([across, q[2] - np.cosh(along)])


system = mbdae.System.from_functions(
    name="bead", nq=3, nc=2, labels=["plane", "wire"], phi=wire,
    mass=lambda t, q: MASS * np.eye(3),
    force=lambda t, q, v: MASS * GRAVITY - STIFFNESS * q,
    q0=[0.6, 0.0, 1.2], v0=[0.0, 0.9, 0.0])

methods = {"half-implicit": mbdae.HalfImplicit(h=2e-4), "IDA": Ida(), "DOP853": SolveIvp("DOP853")}
runs = {label: mbdae.solve(system, method, (0.0, 2.0), rtol=1e-8, atol=1e-10) for label, method in methods.items()}
for label, run in runs.items():
    x, y, z = run.q[-1]
    print(f"{label:14} {run.formulation:8} bead at ({x:8.5f}, {y:8.5f}, {z:8.5f}) m, force of the wire {run.lam[-1, 1]:8.4f} N")
