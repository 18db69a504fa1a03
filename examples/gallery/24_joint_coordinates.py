"""Joint coordinates.

A chain of 16 links: 96 velocities and 48 constraints in Cartesian coordinates, 48 velocities and no constraint in joint coordinates. The
motion is the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

mechanism, times = mbdae.library.mechanism("chain", links=16), np.linspace(0.0, 3.0, 151)
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for coordinates, style in (("cartesian", "-"), ("joint", "--")):
    system = mbdae.System(mechanism, coordinates=coordinates)
    run = mbdae.solve(system, mbdae.SolveIvp("DOP853"), (0.0, 3.0), rtol=1e-8, t_eval=times)
    q = run.q if coordinates == "cartesian" else system.to_cartesian(run.q, run.v, run.a).q
    axes.plot(times, q[:, [1, 57, 106]], style, label=[f"link {k}, {coordinates}: nv {system.nv}, nc {system.nc}" for k in (1, 9, 16)])
axes.set(xlabel="time [s]", ylabel="y [m]")
axes.legend(fontsize=7)
save(figure)
