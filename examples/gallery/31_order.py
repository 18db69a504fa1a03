"""Observed order.

Errors over the step size with fitted slopes: half-implicit Euler is of order one, Gauss with two stages and projections of order four.
"""

from picture import save

import mbdae
from mbdae import studies

system = mbdae.library.system("double-pendulum")
rows = [*studies.order_study(system, mbdae.HalfImplicit, (4e-3, 2e-3, 1e-3, 5e-4), (0.0, 1.0), label="half-implicit"),
        *studies.order_study(system, lambda h: mbdae.ProjectedGauss(h, stages=2), (2e-2, 1e-2, 5e-3), (0.0, 1.0), label="Gauss, 2 stages")]
save(studies.plot_order(rows, title="double pendulum"))
