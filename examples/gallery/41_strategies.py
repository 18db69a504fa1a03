"""What a Jacobian costs.

Evaluations of the residual by IDA on a chain of 16 links, with five strategies for the Jacobian.
"""

import matplotlib.pyplot as plt
from picture import save

import mbdae

problem = mbdae.problem("chain", "ggl", links=16, joints="planar")
names = ("dense", "estimated", "grouped", "grouped:partitioned", "exact")
counts = [mbdae.solve(problem, mbdae.Ida(jacobian=name), (0.0, 0.3)).statistics for name in names]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.barh(names, [s.residuals for s in counts], label="for steps")
axes.barh(names, [s.residuals_jacobian for s in counts], left=[s.residuals for s in counts], label="for Jacobians")
axes.set(xlabel="evaluations of the residual", xscale="log", xlim=(30, None))
axes.legend()
save(figure)
