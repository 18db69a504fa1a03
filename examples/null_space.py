"""Newmark's formulas on a stiff pendulum: in null-space coordinates as stable as without constraints, with multipliers they are not.

The slow torque would allow steps of seconds. The free swings, hardly excited, limit them, and `stable` says to how much. Just beyond, a
swing grows until it is wide, and therefore slow, enough for the step; far beyond, the run fails.
"""

import numpy as np

import mbdae
from mbdae.integrators.structural.formula import newmark

system = mbdae.library.system("stiff-pendulum")
frequency = np.sqrt(9.8)  # of the free swings [rad/s]
rules = {"Fox-Goodwin": mbdae.FOX_GOODWIN, "trapezoidal": mbdae.TRAPEZOIDAL}
stable = {name: newmark(*rule).limit() / frequency for name, rule in rules.items()}
methods = {"null space": mbdae.NullSpaceNewmark, "multipliers": mbdae.Newmark}


def swing(method):
    """Largest angle [rad] within 300 s, 0.0102 rad if nothing but the torque is felt; infinite for a run that fails."""
    run = mbdae.solve(system, method, (0.0, 300.0))
    return float(np.abs(run.q[:, 2] + 0.5 * np.pi).max()) if run.success else np.inf


angles = {}
for name, (beta, gamma) in rules.items():
    for h in (0.1, 0.78, 0.79, 6.0):
        found = {label: swing(method(h=h, beta=beta, gamma=gamma)) for label, method in methods.items()}
        angles[name, h] = found
        text = ", ".join(f"{label} " + ("fails" if angle == np.inf else f"{angle:.3f} rad") for label, angle in found.items())
        print(f"{name:11} (stable up to {stable[name]:.3f} s), h = {h:4} s: {text}")
