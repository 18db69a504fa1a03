"""A pendulum, defined once and moved by an integrator of mbdae and by IDA of SUNDIALS."""

import numpy as np

import mbdae
from mbdae.adapters.sundae import Ida

rod = mbdae.RigidBody("rod", mass=1.0, inertia=(1e-3, 0.1, 0.1), position=(0.5, 0.0, 0.0))
pin = mbdae.Revolute("pin", mbdae.GROUND, "rod", s_j=(-0.5, 0.0, 0.0), a_i=(0, 1, 0), a_j=(0, 1, 0))
pendulum = mbdae.Mechanism("pendulum", bodies=[rod], joints=[pin], gravity=(0.0, 0.0, -9.81))

runs = [mbdae.solve(pendulum, method, (0.0, 10.0), rtol=1e-8, atol=1e-10) for method in (mbdae.HalfImplicit(h=1e-3), Ida())]
for run in runs:
    drift = np.abs(run.energy - run.energy[0]).max()
    open_joint = run.constraint_residuals[:, 0].max()
    print(f"{run.method:22} {run.statistics.steps:6} steps, energy off by {drift:.1e} J, pin open by {open_joint:.1e} m, "
          f"end at z = {run.q[-1, 2]:.5f} m")
