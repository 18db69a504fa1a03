"""The pattern of a Jacobian.

Groups of columns in the GGL form of a chain: columns of one colour share a difference quotient.
"""

from picture import save

import mbdae
from mbdae import studies

save(studies.plot_groups(mbdae.problem("chain", "ggl", links=4, joints="planar"), title="chain of four links, GGL"))
