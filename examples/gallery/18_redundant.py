"""A door on two ball joints.

Six constraint equations, of which five are independent. They need no option; the multipliers are the solution of minimum norm.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

door = mbdae.RigidBody("door", 30.0, (10.0, 2.5, 12.5), position=(0.5, 0, 0), omega=(0, 0, 1.0))
hinges = [mbdae.Spherical(name, "ground", "door", s_i=(0, 0, z), s_j=(-0.5, 0, z)) for name, z in (("lower", -0.8), ("upper", 0.8))]
system = mbdae.System(mbdae.Mechanism("door", [door], hinges, gravity=(0, 0, -9.81)))
run = mbdae.solve(system, mbdae.RosenbrockNystrom(), (0, 6), rtol=1e-7)

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(run.t, run.lam, label=[f"{hinge}, {axis}" for hinge in ("lower", "upper") for axis in "xyz"])
axes.set(xlabel="time [s]", ylabel="multipliers [N]", title=f"{system.nc} equations, {len(system.dependent)} redundant", ylim=(-170, 200))
axes.legend(ncols=3)
save(figure)
