"""Your own script around solve-dae: mbdae contributes the problem and the settings, `solve_dae` integrates and finds the events."""

import numpy as np
from solve_dae.integrate import solve_dae

import mbdae
from mbdae import library
from mbdae.adapters.dae import solve_dae_arguments

system = mbdae.System(library.mechanism("slider-crank-free"))
problem = mbdae.Gear(system)  # the form of Hiller and Anantharaman
y0, yd0 = problem.pack(mbdae.assemble(system))


def lowest(t, q, v):
    """The crank passes its lowest point: its centre of mass crosses the plane of the bearing."""
    return q[1] - 0.1


lowest.direction = 1
arguments = solve_dae_arguments(problem, rtol=1e-8, atol=1e-10, events=[lowest])
for method, options in (("Radau", {"stages": 3}), ("Radau", {"stages": 7}), ("BDF", {})):
    found = solve_dae(**arguments, t_span=(0.0, 2.0), y0=y0, yp0=yd0, method=method, **options)
    turns = np.diff(found.t_events[0])
    q, v, a, lam = problem.unpack(found.y.T, found.yp.T)
    drift = max(np.abs(system.phi(t, x)).max() for t, x in zip(found.t, q))
    print(f"{method:5} {options}: {found.nfev} residuals, {found.njev} Jacobians, a turn in {turns.mean():.8f} s, drift {drift:.0e}")
