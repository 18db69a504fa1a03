"""A double pendulum whose tip bounces on a wall: ten impacts, by six solvers and integrators with the same call.

An impact is an event that changes the state: velocities by impulses that are never tensile, on the constraints, with those of the joints.
Then the method starts anew. At every impact the energy `(1 - e^2) u^2 / (2 G X)` is lost, see docs/events.md.
"""

import numpy as np

import mbdae
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.sundae import Cvode, Ida

E, WALL, angles = 0.99, 1.4, (-0.9717455, -0.44887325)  # the upper rod and the lower one, from the x-axis
half = [0.5 * np.array([np.cos(a), np.sin(a)]) for a in angles]
rods = [mbdae.PlanarBody("upper", 1.0, 1 / 12, half[0], angles[0]),
        mbdae.PlanarBody("lower", 1.0, 1 / 12, 2 * half[0] + half[1], angles[1])]
pins = [mbdae.PlanarRevolute("support", "ground", "upper", s_j=(-0.5, 0)),
        mbdae.PlanarRevolute("elbow", "upper", "lower", s_i=(0.5, 0), s_j=(-0.5, 0))]
system = mbdae.System(mbdae.Mechanism("bouncing pendulum", rods, pins, gravity=(0, -9.81, 0)))

gap = mbdae.SpherePlane("lower", "ground", n_j=(1, 0), s_i=(0.5, 0), s_j=(WALL, 0))
wall = mbdae.Impact("wall", gap, restitution=E, terminal=10)

methods = {"RosenbrockNystrom": (mbdae.RosenbrockNystrom(), 1e-8), "Bdf": (mbdae.Bdf(), 1e-8), "Ida": (Ida(), 1e-8),
           "Cvode": (Cvode(), 1e-8), "HalfImplicit": (mbdae.HalfImplicit(h=1e-3), 1e-6)}  # the last one of first order
if Assimulo.availability().installed:
    methods["Radau5DAE"] = (Assimulo("Radau5DAE"), 1e-8)

runs = {name: mbdae.solve(system, method, (0.0, 20.0), rtol=tol, atol=tol, events=wall) for name, (method, tol) in methods.items()}
for name, run in runs.items():
    residual = max(np.abs(system.phi_q(j.t, j.after.q) @ j.after.v).max() for j in run.jumps)
    lost = sum(system.energy(j.t, j.before.q, j.before.v) - system.energy(j.t, j.after.q, j.after.v) for j in run.jumps)
    print(f"{name:18} {len(run.t_events[0])} impacts, the last at {run.t_events[0][-1]:.6f} s, {lost:.6f} J lost, "
          f"|Phi_q v| {residual:.0e}, impulse of the elbow in the first one {np.linalg.norm(run.jumps[0].reactions[2:]):.4f} N s")
