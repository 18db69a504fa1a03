"""Bouncing balls.

An `Impact` among the events lets a ball bounce with Newton's law; the solver starts anew after each impact.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for e in (0.5, 0.8, 0.95):
    ball = mbdae.Mechanism("ball", [mbdae.Particle("ball", 2.0, (0, 0, 1.0), (0.5, 0, 0))], gravity=(0, 0, -9.81))
    floor = mbdae.Impact("floor", mbdae.SpherePlane("ball", "ground"), restitution=e)
    run = mbdae.solve(ball, mbdae.SolveIvp("DOP853", max_step=0.01), (0, 3), events=floor)
    axes.plot(run.q[:, 0], run.q[:, 2], label=f"e = {e:g}, {len(run.jumps)} impacts: {run.status.name}")
axes.set(xlabel="x [m]", ylabel="height [m]", ylim=(None, 1.4))
axes.legend()
save(figure)
