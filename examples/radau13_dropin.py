"""Your own script around RADAU: mbdae contributes the problem and the settings, pyradau13 integrates and finds the events."""

import numpy as np
from pyradau13 import radau13

import mbdae
from mbdae import library
from mbdae.adapters.radau13 import radau13_arguments

system = mbdae.System(library.mechanism("slider-crank-free"))


def lowest(t, q, v):
    """The crank passes its lowest point: its centre of mass crosses the plane of the bearing."""
    return q[1] - 0.1


lowest.direction = 1
times = np.linspace(0.5, 2.0, 4)
for level, order in ((3, None), (2, None), (2, 13)):
    problem = mbdae.MassMatrix(system, level)  # constraints on positions (index 3) or velocities (index 2)
    y0, _ = problem.pack(mbdae.assemble(system))
    arguments = radau13_arguments(problem, rtol=1e-8, atol=1e-10, order=order, events=[lowest])
    y = radau13(**arguments, y0=y0, t=times)  # one row per time
    turns = np.diff(arguments["dense_callback"].times[0])
    drift = max(np.abs(system.phi(t, problem.motion(t, row)[0])).max() for t, row in zip(times, y))
    print(f"index {level}, order {order or 'variable'}: a turn in {turns.mean():.8f} s, off the joints by {drift:.0e} m")
