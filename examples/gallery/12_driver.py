"""A crank with a motor.

The angle follows a smooth ramp, given as a function of time whose derivatives are derived; the multiplier of the driver is the torque.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import save

import mbdae

bar = mbdae.RigidBody("bar", 2.0, (1e-3, 0.17, 0.17), position=(0.5, 0, 0))
pin = mbdae.Revolute("pin", "ground", "bar", s_j=(-0.5, 0, 0))


def ramp(t):
    return np.pi * t - np.sin(np.pi * t)


motor = mbdae.AngleDriver("motor", "ground", "bar", ramp, a_i=(0, 0, 1), b_i=(1, 0, 0), b_j=(1, 0, 0))
run = mbdae.solve(mbdae.Mechanism("arm", [bar], [pin], [motor], gravity=(0, -9.81, 0)), mbdae.Ida(), (0, 2), t_eval=np.linspace(0, 2, 400))

figure, (place, torque) = plt.subplots(2, 1, figsize=(6, 4.5), sharex=True, layout="constrained")
place.plot(run.t, run.q[:, :2], label=["x", "y"])
torque.plot(run.t, -run.lam[:, -1])
place.set_ylabel("centre of mass [m]")
torque.set(xlabel="time [s]", ylabel="torque of the motor [N m]")
place.legend()
save(figure)
