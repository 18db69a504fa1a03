"""Your own script around Assimulo: mbdae contributes the problems and the settings of their formulations, you drive the solvers."""

import numpy as np
from assimulo.solvers import IDA, ODASSL, Dopri5, Radau5DAE

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import configure, explicit_problem, implicit_problem, overdetermined_problem

system = mbdae.System(library.mechanism("slider-crank-free"))
ggl, ode = mbdae.GGL(system), mbdae.UnderlyingODE(system)


def lowest(t, q, v):
    """The crank passes its lowest point: its centre of mass crosses the plane of the bearing."""
    return q[1] - 0.1


lowest.direction = 1
natives = {IDA: implicit_problem(ggl, events=[lowest]), Radau5DAE: implicit_problem(ggl), Dopri5: explicit_problem(ode, events=[lowest]),
           ODASSL: overdetermined_problem(mbdae.Overdetermined(system))}
for Solver, native in natives.items():
    solver = configure(Solver(native), rtol=1e-8, atol=1e-10)
    t, y = solver.simulate(2.0, 100)[:2]
    drift = max(np.abs(system.phi(t[k], native.source.motion(t[k], y[k])[0])).max() for k in range(len(t)))
    events = ", ".join(f"{t:.5f}" for t in native.t_events[0]) if native.events else "not looked for"
    print(f"{Solver.__name__:10} {len(t):4} points, {solver.statistics['nfcns']:5} residuals, drift {drift:.0e}, events at t = {events}")
