"""A double pendulum in one figure.

Positions at a few times, later ones darker, with the paths of the centres of mass.
"""

from picture import save

import mbdae
from mbdae import studies

times = [0.01 * k for k in range(201)]
run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.RosenbrockNystrom(), (0.0, 2.0), rtol=1e-8, t_eval=times)
save(studies.plot_positions(run, view="yz", instants=7, title="double pendulum, 2 s"))
