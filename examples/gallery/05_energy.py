"""Energy of two methods of order one.

Half-implicit Euler is symplectic: its energy oscillates, and stays. Fully implicit Euler damps the motion.
"""

from picture import save

import mbdae
from mbdae import studies

system = mbdae.library.system("double-pendulum")
series = [studies.Series("half-implicit", mbdae.HalfImplicit, (2e-3,)), studies.Series("fully implicit", mbdae.FullyImplicit, (2e-3,))]
save(studies.plot_energy(studies.energy_study(system, series, (0.0, 8.0)), title="double pendulum, h = 2 ms"))
