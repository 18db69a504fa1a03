"""A stiff mechanism in independent coordinates, moved by an integrator of mbdae and, on the very same equations, by SciPy's Radau."""

import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp

problem = mbdae.problem("stiff-double-pendulum", "partition")  # or "tangent"
rates = np.linalg.eigvals(problem.rhs_jacobian(0.0, problem.y0))
print(f"{problem.n} unknowns ({mbdae.problem('stiff-double-pendulum', 'ggl').n} in the GGL form), fastest rate {rates.real.min():.1e} 1/s")

times = np.linspace(0.0, 2.0, 21)
exact = mbdae.solve(problem, SolveIvp("Radau"), (0.0, 2.0), rtol=1e-11, atol=1e-12, t_eval=times)
runs = {}
for method in (mbdae.RosenbrockNystrom(local_error=0.12), mbdae.SdirkFirstOrder(local_error=0.05), SolveIvp("Radau"), SolveIvp("LSODA")):
    run = mbdae.solve(problem, method, (0.0, 2.0), rtol=2e-6, atol=2e-8, t_eval=times)
    runs[run.method], counts, error = run, run.statistics, np.abs(run.q - exact.q).max()
    print(f"{run.method:18} {counts.steps:4} steps, {counts.residuals:5} evaluations, error {error:.0e} m, "
          f"joints open by {run.constraint_residuals[:, 0].max():.0e} m")
