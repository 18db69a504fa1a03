"""A long run that keeps rods and energy to rounding: Gauss methods with projections, and the same projections around other methods."""

import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp

system = mbdae.problem("double-spherical-pendulum").system
methods = {"Gauss, PV": mbdae.ProjectedGauss(h=2e-3, stages=3, project="PV"),
           "Gauss, PVAE-0": mbdae.ProjectedGauss(h=2e-3, stages=3, project="PVAE-0"),
           "Gauss, positions, PV": mbdae.ProjectedGauss(h=2e-3, stages=3, project="PV", stages_hold="position"),
           "Gauss, positions, PVAE-0": mbdae.ProjectedGauss(h=2e-3, stages=3, project="PVAE-0", stages_hold="position"),
           "half-implicit": mbdae.HalfImplicit(h=2e-3),
           "half-implicit, PVAE-0": mbdae.Projected(mbdae.HalfImplicit(h=2e-3), "PVAE-0"),
           "RK45": SolveIvp("RK45"),
           "RK45, PVAE-0": mbdae.Projected(SolveIvp("RK45"), "PVAE-0")}

print(f"{'largest':24} {'energy':>8} {'Phi':>8} {'velocity':>8} {'acceleration':>12}")
runs = {}
for name, method in methods.items():
    run = runs[name] = mbdae.solve(system, method, (0.0, 20.0))
    errors = (np.abs(run.energy / run.energy[0] - 1.0).max(), *run.constraint_residuals.max(axis=0))
    print(f"{name:24} {errors[0]:8.0e} {errors[1]:8.0e} {errors[2]:8.0e} {errors[3]:12.0e}")
