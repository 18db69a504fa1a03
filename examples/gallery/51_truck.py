"""A truck on a hump.

Simeon's planar truck from the IVP test set: heights of axles, chassis and cab while it drives over a hump, and the force of the rear tyre.
"""

from picture import save

import mbdae
from mbdae import library, studies

run = mbdae.solve(library.system("truck"), mbdae.RosenbrockNystrom(), (0.0, 15.0), rtol=1e-5, atol=1e-6)
outputs = studies.observe(library.entry("truck"), run)
names = ("y1", "y2", "y4", "road_rear", "tyre_rear", "phi2")
save(studies.plot_outputs(run.t, {name: outputs[name] for name in names}, title="truck"))
