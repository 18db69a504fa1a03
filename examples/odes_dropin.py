"""Your own script around scikits.odes: mbdae contributes the problems and the settings, you choose and drive the solvers."""

import numpy as np
from scikits_odes import dae, ode

import mbdae
from mbdae import library
from mbdae.adapters.odes import cvode_arguments, daspk_arguments, dop_arguments, ida_arguments

system = mbdae.System(library.mechanism("slider-crank-free"))
start = mbdae.assemble(system)
ggl, free = mbdae.GGL(system), mbdae.UnderlyingODE(system)
times = np.linspace(0.0, 0.2, 5)

ends = {}
for name, arguments in (("ida", ida_arguments), ("ddaspk", daspk_arguments)):
    found = dae(name, **arguments(ggl, rtol=1e-8, atol=1e-10)).solve(times, *ggl.pack(start))
    y = found.values.y if name == "ida" else found[2]  # the FORTRAN solvers return a plain tuple
    ends[name] = ggl.motion(0.2, y[-1])
for name, arguments in (("cvode", cvode_arguments), ("dop853", dop_arguments)):
    found = ode(name, **arguments(free, rtol=1e-8, atol=1e-10)).solve(times, free.pack(start)[0])
    ends[name] = free.motion(0.2, found.values.y[-1])

for name, (q, v) in ends.items():
    off = np.abs(q - ends["dop853"][0]).max()
    print(f"{name:8s} energy {system.energy(0.2, q, v):.7f} J, constraints {np.abs(system.phi(0.2, q)).max():.0e}, off DOP853 by {off:.0e}")
