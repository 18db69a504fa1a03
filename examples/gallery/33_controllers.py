"""Step-size controllers.

The steps that three controllers take on Andrews' mechanism at a tolerance of 1e-6: the elementary one, PI, and a digital filter.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

system = mbdae.library.system("andrews")
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name in ("ELEMENTARY", "PI", "H211B"):
    method = mbdae.RosenbrockNystrom(controller=getattr(mbdae, name))
    run = mbdae.solve(system, method, (0.0, 0.05), rtol=1e-6, atol=1e-6)
    s = run.statistics
    axes.semilogy(1e3 * run.t[1:], 1e3 * np.diff(run.t), label=f"{name}: {s.steps} steps, {s.rejected_error} rejected", linewidth=0.9)
axes.set(xlabel="time [ms]", ylabel="step size [ms]")
axes.legend()
save(figure)
