"""IDA in your own script.

Andrews' squeezing mechanism in the GGL form: `ida_arguments` is all that mbdae contributes. The crank, `beta`, makes two and a half turns
in 30 ms.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save
from sksundae.ida import IDA

import mbdae
from mbdae.adapters.sundae import ida_arguments

problem = mbdae.problem("andrews", formulation="ggl", coordinates="classical")
result = IDA(**ida_arguments(problem, rtol=1e-8)).solve(np.linspace(0.0, 0.03, 301), problem.y0, problem.yd0)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(1e3 * result.t, result.y[:, :7], label=["beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon"])
axes.set(xlabel="time [ms]", ylabel="angles [rad]", title=f"{result.nfev} residuals")
axes.legend()
save(figure)
