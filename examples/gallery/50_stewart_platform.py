"""A Stewart platform.

Thirteen bodies in space, seen at the start and at the end of a second.
"""

from picture import save

import mbdae
from mbdae import library, studies

run = mbdae.solve(library.system("stewart-platform"), mbdae.RosenbrockNystrom(), (0.0, 0.5), rtol=1e-5, atol=1e-7)
save(studies.plot_positions(run, view="3d", instants=2, title="Stewart platform"))
