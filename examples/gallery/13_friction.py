"""Friction in a slider.

The torque that drives a slider-crank with Coulomb friction in its guide, as in figure 9 of Fang et al.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae
from mbdae import library

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for mu in (0.0, 0.2, 0.4):
    run = mbdae.solve(library.system("slider-crank", mu=mu), mbdae.HalfImplicit(h=1e-3), (0.0, 1.5))
    axes.plot(run.t[1:], run.lam[1:, -1], label=f"mu = {mu:g}")
axes.set(xlabel="time [s]", ylabel="multiplier of the driver [N m]")
axes.legend()
save(figure)
