"""Equations from SymPy.

A bead on a wire y = cos x without friction: mass, force and constraint as expressions; all derivatives are derived and compiled.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from picture import save

import mbdae

x, y, vx, vy, m, g = sp.symbols("x y vx vy m g")
bead = mbdae.from_sympy(q=[x, y], v=[vx, vy], mass=sp.diag(m, m), force=[0, -m * g], phi=[y - sp.cos(x)],
                        parameters={m: 0.1, g: 9.81}, q0=[0.2, np.cos(0.2)])
run = mbdae.solve(bead, mbdae.SolveIvp("DOP853"), (0.0, 4.0), rtol=1e-9, t_eval=np.linspace(0, 4, 300))

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
wire = np.linspace(0, 2 * np.pi, 200)
axes.plot(wire, np.cos(wire), color="lightgrey", linewidth=5, label="wire")
points = axes.scatter(run.q[:, 0], run.q[:, 1], c=run.t, s=8, zorder=3)
figure.colorbar(points, label="time [s]")
axes.set(xlabel="x [m]", ylabel="y [m]")
axes.legend()
save(figure)
