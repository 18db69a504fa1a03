"""A joint of your own, made of primitive constraints: a puck that slides and turns on an inclined plane."""

from dataclasses import dataclass

import numpy as np

import mbdae
from mbdae.adapters.sundae import Ida
from mbdae.extend import Joint, checks


@dataclass(frozen=True)
class OnPlane(Joint):
    """The point `s_j` stays in the plane through `s_i` with the normal `a_i`, and the axis `a_j` parallel to that: three rows."""

    a_i: tuple = (0.0, 0.0, 1.0)
    a_j: tuple = (0.0, 0.0, 1.0)

    def check(self, owner):
        super().check(owner)
        for field in ("a_i", "a_j"):
            self.set(field, checks.unit(getattr(self, field), owner, field))

    def primitives(self, bodies):
        b = np.linalg.svd([self.a_i])[2][1:]  # two directions in the plane
        parallel = [mbdae.DP1(f"{self.name}.b{k}", self.i, self.j, tuple(b[k]), self.a_j) for k in range(2)]
        return *parallel, mbdae.DP2(f"{self.name}.d", self.i, self.j, self.a_i, self.s_i, self.s_j)


slope, t = np.radians(30.0), np.linspace(0.0, 1.0, 11)
normal = (-np.sin(slope), 0.0, np.cos(slope))
half = 0.5 * slope
puck = mbdae.RigidBody("puck", 2.0, (1e-3, 1e-3, 2e-3), orientation=(np.cos(half), 0.0, -np.sin(half), 0.0), velocity=(0, 1, 0),
                       omega=(0.0, 0.0, 3.0))
mechanism = mbdae.Mechanism("puck", [puck], [OnPlane("plane", "ground", "puck", a_i=normal)], gravity=(0.0, 0.0, -9.81))
run = mbdae.solve(mechanism, Ida(), (0.0, 1.0), t_eval=t, rtol=1e-8, atol=1e-10)
exact = -0.5 * 9.81 * np.sin(slope) * t**2  # down the slope
print("rows", mechanism.labels)
print(f"error of the position {np.abs(run.q[:, 0] - exact * np.cos(slope)).max():.1e} m")
print(f"normal force {-run.lam[-1, 2]:.6f} N, m g cos(30 deg) = {2.0 * 9.81 * np.cos(slope):.6f} N")
