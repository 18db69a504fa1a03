"""A force of your own.

Balls thrown with and without drag. The function fills forces and torques; compiled with numba it costs no Python call.
"""

import matplotlib.pyplot as plt
import numba
import numpy as np
from picture import save

import mbdae


@numba.njit
def drag(t, r, A, v, omega, F, T):
    F[0] = -0.02 * np.sqrt((v[0] ** 2).sum()) * v[0]


ball = mbdae.Particle("ball", 0.5, (0, 0, 0), (20, 0, 20))
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, forces in {"vacuum": [], "air": [mbdae.UserForce("drag", ["ball"], drag)]}.items():
    flight = mbdae.Mechanism("flight", [ball], forces=forces, gravity=(0, 0, -9.81))
    run = mbdae.solve(flight, mbdae.SolveIvp("DOP853"), (0, 4), t_eval=np.linspace(0, 4, 200))
    axes.plot(run.q[:, 0], run.q[:, 2], label=name)
axes.set(xlabel="distance [m]", ylabel="height [m]", ylim=(0, None))
axes.legend()
save(figure)
