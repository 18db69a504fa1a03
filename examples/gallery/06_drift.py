"""How far the joints come apart.

The same double pendulum in five forms, tolerance 1e-6: the largest violation so far. Index 2 and index 1 drift off, GGL and the state-space
form do not.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

system = mbdae.library.system("double-pendulum")
problems = {"index 1": mbdae.Index1(system), "index 1, Baumgarte 5/s": mbdae.Index1(system, 5.0, 5.0), "index 2": mbdae.Index2(system),
            "GGL": mbdae.GGL(system), "state space": mbdae.StateSpace(system)}
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, problem in problems.items():
    method = mbdae.Ida() if problem.implicit else mbdae.Cvode()
    run = mbdae.solve(problem, method, (0.0, 10.0), rtol=1e-6, atol=1e-8)
    axes.semilogy(run.t, np.maximum(np.maximum.accumulate(run.constraint_residuals[:, 0]), 1e-17), label=name)
axes.set(xlabel="time [s]", ylabel="violation of the positions [m]", ylim=(1e-17, 1.0))
axes.legend(ncols=2)
save(figure)
