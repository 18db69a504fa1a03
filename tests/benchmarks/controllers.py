"""Step-size controllers in every method with error control: accepted and rejected steps, errors at the end.

`python -m tests.benchmarks.controllers [MECHANISM ...]`
"""

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import mbdae
from mbdae import ELEMENTARY, H211B, PI, PI42, PREDICTIVE, library
from mbdae.adapters.scipy import SolveIvp

CONTROLLERS = {"ELEMENTARY": ELEMENTARY, "PI": PI, "PI42": PI42, "H211B": H211B, "PREDICTIVE": PREDICTIVE}
METHODS = (mbdae.RosenbrockNystrom, mbdae.SdirkDescriptor, mbdae.SdirkFirstOrder, mbdae.TrapezoidalStateSpace, mbdae.NullSpaceHHT,
           mbdae.HHT, mbdae.DormandPrince)
SPANS = {"double-pendulum": 1.0, "andrews": 0.05, "stiff-double-pendulum": 2.0}
TOL = 1e-6


def table(name, t_end):
    """Rows of one mechanism."""
    system = mbdae.System(library.mechanism(name))
    reference = mbdae.solve(system, SolveIvp("Radau" if name.startswith("stiff") else "DOP853"), (0.0, t_end), rtol=1e-10, atol=1e-11,
                            t_eval=[t_end]).q[-1]
    out = Table(title=f"{name}, {t_end:g} s, rtol = atol = {TOL:g}: accepted + rejected steps, error of q at the end")
    for header in ("method", *CONTROLLERS):
        out.add_column(header, no_wrap=True)
    for method in METHODS:
        cells = []
        for controller in CONTROLLERS.values():
            s = mbdae.solve(system, method(controller=controller), (0.0, t_end), rtol=TOL, atol=TOL)
            n = s.statistics
            cells.append(f"{n.steps} + {n.rejected_error}  {np.abs(s.q[-1] - reference).max():.0e}" if s.success else s.status.name)
        out.add_row(method.__name__, *cells)
    return out


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("mechanisms", nargs="*", choices=[[], *SPANS], default=[])
    for name in parser.parse_args().mechanisms or SPANS:
        Console(width=140).print(table(name, SPANS[name]))


if __name__ == "__main__":
    main()
