"""Your own script around SciPy: mbdae contributes right-hand side, exact Jacobian and tolerances, `solve_ivp` does the rest."""

import numpy as np
from scipy.integrate import solve_ivp

import mbdae
from mbdae import library
from mbdae.adapters.scipy import solve_ivp_arguments

system = mbdae.System(library.mechanism("double-pendulum"))
problem = mbdae.UnderlyingODE(system)
y0, _ = problem.pack(mbdae.assemble(system))


def below(t, q, v):
    """The centre of the lower bar passes below the pivot (the bars swing in the y-z plane)."""
    return q[system.coordinates("lower")[0]][1]


for method in ("DOP853", "Radau", "LSODA"):
    arguments = solve_ivp_arguments(problem, rtol=1e-8, atol=1e-10, method=method, events=[below])
    result = solve_ivp(t_span=(0.0, 2.0), y0=y0, method=method, t_eval=[0.5, 1.0, 2.0], **arguments)
    q, v, a, lam = problem.state(2.0, result.y[:, -1])  # projected onto the constraints, with accelerations and multipliers
    drift = np.abs(system.phi(2.0, result.y[problem.blocks["q"], -1])).max()
    print(f"{method:6s} nfev {result.nfev:5d}, energy {system.energy(2.0, q, v):.8f} J, drift {drift:.0e}, "
          f"events at t = {', '.join(f'{t:.4f}' for t in result.t_events[0])}")
