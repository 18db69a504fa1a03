"""The torque that drives a slider-crank.

The crank turns once per second; the multiplier of its driver is the torque, those of the joints are reactions.
"""

from picture import save

import mbdae
from mbdae import library, studies

run = mbdae.solve(library.system("slider-crank"), mbdae.HalfImplicit(h=1e-3), (0.0, 2.0))
outputs = studies.observe(library.entry("slider-crank"), run)
save(studies.plot_outputs(run.t, {name: outputs[name] for name in ("slider_x", "normal_force", "driving_torque")}, title="slider-crank"))
