"""SciPy in your own script.

`solve_ivp` on the underlying ODE of a double pendulum, with an event; `problem.state` projects what comes out onto the joints.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save
from scipy.integrate import solve_ivp

import mbdae
from mbdae.adapters.scipy import solve_ivp_arguments

problem = mbdae.problem("double-pendulum", formulation="ode")


def below(t, q, v):
    return q[8]  # the lower bar passes below the pivot


arguments = solve_ivp_arguments(problem, rtol=1e-8, method="DOP853", events=[below])
result = solve_ivp(t_span=(0.0, 5.0), y0=problem.y0, method="DOP853", t_eval=np.linspace(0, 5, 500), **arguments)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(result.t, result.y[8])
axes.plot(result.t_events[0], 0.0 * result.t_events[0], "o", label="events")
axes.set(xlabel="time [s]", ylabel="y of the lower bar [m]", title=f"{result.nfev} evaluations")
axes.legend()
save(figure)
