"""A spring with a damper.

A mass on a rail, with three dampers: `TSDA` acts between two points, one of them on the ground.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

cart = mbdae.PlanarBody("cart", mass=1.0, inertia=0.1, position=(0.7, 0.0))
rail = mbdae.PlanarTranslational("rail", "ground", "cart", a_i=(1, 0))
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for c in (0.5, 4.0, 20.0):
    spring = mbdae.TSDA("spring", "ground", "cart", k=100.0, c=c, l0=0.5)
    run = mbdae.solve(mbdae.Mechanism("oscillator", [cart], [rail], forces=[spring]), mbdae.RosenbrockNystrom(), (0, 3), rtol=1e-7)
    axes.plot(run.t, run.q[:, 0], label=f"c = {c:g} N s/m")
axes.set(xlabel="time [s]", ylabel="position [m]")
axes.legend()
save(figure)
