"""A stiff mechanism.

A double pendulum with springs and dampers of 1e5: an implicit method in independent coordinates takes steps as the motion allows.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

run = mbdae.solve(mbdae.library.system("stiff-double-pendulum"), mbdae.RosenbrockNystrom(), (0.0, 2.0), rtol=1e-6, atol=1e-6)
figure, (motion, steps) = plt.subplots(2, 1, figsize=(6, 4.5), sharex=True, layout="constrained")
motion.plot(run.t, run.q[:, [2, 5]], label=["upper angle", "lower angle"])
steps.semilogy(run.t[1:], np.diff(run.t), ".-", markersize=3)
motion.set_ylabel("angles [rad]")
steps.set(xlabel="time [s]", ylabel="step size [s]", title=f"{run.statistics.steps} steps")
motion.legend()
save(figure)
