"""Random trees with joint friction through the methods that eliminate the multipliers: `python -m tests.benchmarks.friction [COUNT]`.

Prints the runs that end early, and where a method disagrees with DOP853 by more than 300 tolerances in the positions.
"""

import sys

import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

from ..friction_cases import tree

METHODS = {"DOP853": (SolveIvp("DOP853"), "ode", 1e-8), "RosenbrockNystrom": (mbdae.RosenbrockNystrom(), None, 1e-7),
           "SdirkDescriptor": (mbdae.SdirkDescriptor(), None, 1e-6), "Ida": (Ida(), "ggl", 1e-7),
           "NullSpaceHHT": (mbdae.NullSpaceHHT(), None, 1e-4)}


def main(count):
    early, apart, n = 0, 0, 0
    for seed in range(count):
        system = mbdae.System(tree(seed))
        if system.has_friction:
            n += 1
            runs = {name: _run(system, *choice) for name, choice in METHODS.items()}
            for name, s in runs.items():
                if not s.success:
                    early += 1
                    print(f"tree {seed}, {name}: {s.status.name}, {s.message}", flush=True)
                elif runs["DOP853"].success and np.abs(s.q - runs["DOP853"].q).max() > 300 * METHODS[name][2]:
                    apart += 1
                    print(f"tree {seed}, {name}: {np.abs(s.q - runs['DOP853'].q).max():.1e} from DOP853", flush=True)
    print(f"{n} trees with friction, {len(METHODS) * n} runs: {early} ended early, {apart} apart")


def _run(system, method, form, tol):
    return mbdae.solve(system, method, (0.0, 0.5), formulation=form, rtol=tol, atol=tol, t_eval=np.linspace(0.0, 0.5, 6))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
