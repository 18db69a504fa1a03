"""Your own script around SUNDIALS: mbdae contributes the problem and the settings, you drive the solver.

`Problem` knows residual, exact Jacobian, sparsity, algebraic unknowns and tolerances of its formulation; `ida_arguments` hands them over.
"""

import numpy as np
from sksundae.ida import IDA

import mbdae
from mbdae import library
from mbdae.adapters.sundae import ida_arguments

system = mbdae.System(library.mechanism("slider-crank-free"))
problem = mbdae.GGL(system)
y0, yd0 = problem.pack(mbdae.assemble(system))

solver = IDA(**ida_arguments(problem, rtol=1e-8, atol=1e-10))

# one call for a table of times ...
table = solver.solve(np.linspace(0.0, 0.2, 5), y0, yd0)
for t, y, yd in zip(table.t, table.y, table.yp):
    q, v, a, lam = problem.unpack(y, yd)
    print(f"t = {t:.2f} s, energy {system.energy(t, q, v):.8f} J, largest constraint {np.abs(system.phi(t, q)).max():.1e}")

# ... or step by step, e.g. inside a co-simulation
solver.init_step(0.0, y0, yd0)
for t in np.linspace(0.05, 0.2, 4):
    state = solver.step(t)
print(f"step by step and all at once differ by {np.abs(state.y - table.y[-1])[:system.nq].max():.0e}")
