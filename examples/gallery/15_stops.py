"""A pendulum between two stops.

`JointStop` limits the angle of a joint on both sides; each touch loses a part of the velocity.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

bar = mbdae.PlanarBody("bar", 1.0, 1 / 12, position=(0.0, -0.5), omega=4.0)
pin = mbdae.PlanarRevolute("pin", "ground", "bar", s_j=(0.0, 0.5))
stops = mbdae.Impact("stops", mbdae.JointStop("pin", lower=-0.3, upper=0.6), restitution=0.8)
bell = mbdae.Mechanism("bell", [bar], [pin], gravity=(0, -9.81, 0))
run = mbdae.solve(bell, mbdae.SolveIvp("DOP853", max_step=0.01), (0, 4), events=stops)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(run.t, run.q[:, 2])
axes.plot(run.t_events[0], [j.before.q[2] for j in run.jumps], "o", label="impacts")
axes.axhline(-0.3, color="grey", linewidth=0.8)
axes.axhline(0.6, color="grey", linewidth=0.8)
axes.set(xlabel="time [s]", ylabel="angle [rad]")
axes.legend()
save(figure)
