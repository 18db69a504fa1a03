"""A mechanism from a file.

`examples/four-bar.yaml`, a crank and rocker with a spring; files contain data only.
"""

from pathlib import Path

from picture import save

import mbdae
from mbdae import studies

four_bar = mbdae.load(Path(__file__).resolve().parents[1] / "four-bar.yaml")
run = mbdae.solve(four_bar, mbdae.HalfImplicit(h=1e-3), (0.0, 1.0))
save(studies.plot_positions(run, view="xy", instants=8, title=four_bar.name))
