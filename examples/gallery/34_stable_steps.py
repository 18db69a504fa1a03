"""Natural frequencies and stable steps.

The largest natural frequency of Andrews' mechanism along its motion, and the largest stable steps of Newmark's formulas.
"""

from picture import save

import mbdae
from mbdae import library, studies

andrews = library.system("andrews")
run = mbdae.solve(andrews, mbdae.RosenbrockNystrom(), (0.0, 0.05), rtol=1e-7, atol=1e-7)
save(studies.plot_frequencies(*studies.largest_frequencies(andrews, run), title="Andrews' mechanism"))
