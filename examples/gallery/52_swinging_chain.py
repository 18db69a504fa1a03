"""A swinging chain.

32 links on spherical joints, by half-implicit Euler: the cost per step grows linearly with the number of links.
"""

from picture import save

import mbdae
from mbdae import studies

chain = mbdae.library.system("chain", links=32)
run = mbdae.solve(chain, mbdae.HalfImplicit(h=1e-3), (0.0, 6.0), every=10)
save(studies.plot_positions(run, view="yz", instants=8, title="chain of 32 links"))
