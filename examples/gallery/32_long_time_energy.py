"""Energy over a long time.

Gauss methods with and without projection onto the energy: with "PVAE-0" the error is rounding.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

system = mbdae.problem("particle-pendulum").system
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for project in ("PV", "PVA", "PVAE-0"):
    run = mbdae.solve(system, mbdae.ProjectedGauss(h=1e-2, stages=2, project=project), (0.0, 100.0), every=10)
    axes.semilogy(run.t, np.maximum(np.abs(run.energy / run.energy[0] - 1.0), 1e-17), label=project)
axes.set(xlabel="time [s]", ylabel="relative change of the energy")
axes.legend()
save(figure)
