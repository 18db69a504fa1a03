"""Many solvers, one call.

Nine methods on a slider-crank without a motor, each in its best form, against a reference: error at the end of a second, and steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

system = mbdae.library.system("slider-crank-free")
exact = mbdae.solve(system, mbdae.SolveIvp("DOP853"), (0.0, 1.0), rtol=1e-12, atol=1e-13).q[-1]
methods = [mbdae.Ida(), mbdae.Cvode(), mbdae.Cvode(multistep="Adams"), mbdae.SolveIvp("DOP853"), mbdae.SolveIvp("Radau"), mbdae.Bdf(),
           mbdae.RosenbrockNystrom(), mbdae.SdirkDescriptor(), mbdae.NullSpaceHHT()]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for method in methods:
    run = mbdae.solve(system, method, (0.0, 1.0), rtol=1e-6, atol=1e-8)
    axes.loglog(run.statistics.steps, np.abs(run.q[-1] - exact).max(), "o", label=f"{method.label}, {run.formulation}")
axes.set(xlabel="steps at rtol = 1e-6", ylabel="error of the positions")
figure.legend(loc="outside right upper", fontsize=7)
save(figure)
