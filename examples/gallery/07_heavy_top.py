"""A heavy top.

The path of its centre of mass on the sphere, seen from above: precession with nutation.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

run = mbdae.solve(mbdae.library.system("heavy-top"), mbdae.RosenbrockNystrom(), (0.0, 2.0), rtol=1e-8)
figure, axes = plt.subplots(figsize=(5, 4.5), layout="constrained")
line = axes.scatter(run.q[:, 0], run.q[:, 1], c=run.t, s=4)
figure.colorbar(line, label="time [s]")
axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="centre of mass of a heavy top")
save(figure)
