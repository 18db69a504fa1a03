"""A force of your own: air drag on a chain, once in plain Python, once compiled with numba (which takes some seconds at first)."""

import numpy as np
from numba import njit

import mbdae
from mbdae import library


def drag(t, r, A, v, omega, F, T):
    """Quadratic drag: called with the state of the bodies named below, fills forces and torques."""
    for k in range(len(r)):
        F[k] = -0.5 * np.linalg.norm(v[k]) * v[k]
        T[k] = -0.1 * omega[k]


chain = library.mechanism("chain", links=4)
runs = {}
for label, function in {"no drag": None, "plain Python": drag, "compiled": njit(drag)}.items():
    forces = [] if function is None else [mbdae.UserForce("drag", [b.name for b in chain.bodies], function)]
    mechanism = mbdae.Mechanism(label, chain.bodies, chain.joints, forces=forces, gravity=chain.gravity)
    runs[label] = mbdae.solve(mechanism, mbdae.HalfImplicit(h=2e-4), (0.0, 2.0))
    print(f"{label:14} {runs[label].statistics.seconds:6.3f} s, energy at the end {runs[label].energy[-1]:9.1f} J")

apart = np.abs(runs["plain Python"].q - runs["compiled"].q).max()
print(f"plain and compiled differ by {apart:.0e}")
