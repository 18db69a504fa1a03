"""An integrator of your own: the L-stable SDIRK formula of order 3 with three stages [Alexander 1977], and an embedded one of order 2."""

from dataclasses import dataclass

import mbdae
from mbdae import extend as x

g = 0.43586652150845899942  # the root of g^3 - 3 g^2 + 3/2 g - 1/6 for which the formula is L-stable
b = -(6 * g * g - 16 * g + 1) / 4
b_hat = (1 - 2 * g) / (1 - g)  # order 2 without the last stage


@dataclass(frozen=True)
class Alexander3(x.SdirkMethod):
    """Alexander's formula of order 3; steps are controlled by an embedded formula of order 2."""

    tableau = x.sdirk("Alexander", A=[[g], [(1 - g) / 2, g], [b, 1 - b - g, g]], b_hat=[1 - b_hat, b_hat])


pendulum = mbdae.library.system("double-spherical-pendulum")
reference = mbdae.solve(pendulum, mbdae.RosenbrockNystrom(), (0.0, 1.0), rtol=1e-11, atol=1e-12)
errors = {}
for rtol in (1e-4, 1e-6, 1e-8):
    run = mbdae.solve(pendulum, Alexander3(), (0.0, 1.0), rtol=rtol, atol=rtol)
    errors[rtol] = abs(run.q[-1] - reference.q[-1]).max()
    print(f"rtol {rtol:.0e}: error {errors[rtol]:.1e} m, {run.statistics.steps:4d} steps, {run.statistics.rejected_error} rejected")
