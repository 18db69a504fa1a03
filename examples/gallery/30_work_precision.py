"""A work-precision diagram.

Error against computing time of four methods on a slider-crank: further to the left and below is better.
"""

from picture import save

import mbdae
from mbdae import studies

system = mbdae.library.system("slider-crank-free")
tolerances = (1e-3, 1e-5, 1e-7, 1e-9)
series = [studies.Series("half-implicit", mbdae.HalfImplicit, (4e-3, 1e-3, 2.5e-4)),
          studies.Series("Rosenbrock-Nystrom", mbdae.RosenbrockNystrom(), tolerances),
          studies.Series("IDA, GGL", mbdae.Ida(), tolerances), studies.Series("DOP853", mbdae.SolveIvp("DOP853"), tolerances)]
save(studies.plot_work_precision(studies.work_precision(system, series, (0.0, 1.0)), title="slider-crank without a motor, 1 s"))
