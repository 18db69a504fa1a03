"""An animation.

A slider-crank as a GIF; `.mp4` needs ffmpeg. On the command line: `mbdae animate slider-crank --output slider-crank.gif`.
"""

from picture import path

import mbdae
from mbdae import studies

run = mbdae.solve(mbdae.library.system("slider-crank"), mbdae.HalfImplicit(h=2e-3), (0.0, 1.0))
studies.animate(run, path(".gif"), view="xz", fps=20, title="slider-crank")
