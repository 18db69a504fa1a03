"""A pendulum, twice.

One rod on a hinge, by a method with a fixed step and by IDA: the heights of the centre of mass agree, the energy is kept to different
accuracy.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

rod = mbdae.RigidBody("rod", mass=1.0, inertia=(1e-4, 0.083, 0.083), position=(0.5, 0, 0))
pin = mbdae.Revolute("pin", "ground", "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
pendulum = mbdae.Mechanism("pendulum", [rod], [pin], gravity=(0, 0, -9.81))

figure, (height, energy) = plt.subplots(2, 1, figsize=(6, 4.5), sharex=True, layout="constrained")
for name, method in {"half-implicit, h = 1 ms": mbdae.HalfImplicit(h=1e-3), "IDA, rtol = 1e-6": mbdae.Ida()}.items():
    run = mbdae.solve(pendulum, method, (0, 5), rtol=1e-6)
    height.plot(run.t, run.q[:, 2], label=name)
    energy.plot(run.t, run.energy - run.energy[0])
height.set_ylabel("height [m]")
energy.set(ylabel="change of energy [J]", xlabel="time [s]")
height.legend()
save(figure)
