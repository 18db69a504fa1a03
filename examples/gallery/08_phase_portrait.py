"""A phase portrait.

A pendulum with different initial velocities: swings, and turns. The angle of a planar body counts all turns.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

pin = mbdae.PlanarRevolute("pin", "ground", "bar", s_j=(0.0, 0.5))
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for omega in np.arange(1.0, 9.0):
    bar = mbdae.PlanarBody("bar", 1.0, 1 / 12, position=(0.0, -0.5), omega=omega)
    run = mbdae.solve(mbdae.Mechanism("pendulum", [bar], [pin], gravity=(0, -9.81, 0)), mbdae.SolveIvp("DOP853"), (0, 2),
                      t_eval=np.linspace(0, 2, 400))
    axes.plot(run.q[:, 2], run.v[:, 2], label=f"{omega:.0f} rad/s")
axes.set(xlabel="angle [rad]", ylabel="angular velocity [rad/s]")
axes.legend(title="at the bottom", ncols=2, fontsize=8)
save(figure)
