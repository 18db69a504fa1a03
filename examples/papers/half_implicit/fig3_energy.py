"""Figure 3: energy of the double pendulum over 10 s, HI against FI.

The paper shows that the fully implicit method drains energy while the half-implicit one, being symplectic, holds it (step 1e-3 s, Newton
tolerances 1e-10 and 1e-10/h^2). Same settings here; the second panel magnifies what HI does: its energy swings with the motion by an
amount proportional to the step, and returns. Energy is counted from the start, where the pendulum is at rest.
"""

from dataclasses import dataclass

import common
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, new_figure, style


@dataclass(frozen=True)
class Row:
    """Energy since the start [J] at the times t [s] of one run."""

    method: str
    t: np.ndarray
    energy: np.ndarray

    @property
    def drift(self):
        """Energy at the end less energy at the start."""
        return float(self.energy[-1])

    @property
    def largest(self):
        """Largest departure from the energy at the start."""
        return float(np.abs(self.energy).max())


def run(h=1e-3, t_end=10.0):
    """One `Row` per method."""
    target, table = common.system("double-pendulum"), []
    for method in common.METHODS:
        solution = common.run_method(target, method, h, common.tolerance(method, h), (0.0, t_end))
        table.append(Row(method, solution.t, solution.energy - solution.energy[0]))
    return table


def report(table):
    """Print the energies."""
    show([(r.method, f"{r.drift:.3g}", f"{r.largest:.3g}") for r in table], ("method", "drift at the end [J]", "largest departure [J]"))


def draw(table, path):
    """Both methods, and HI alone magnified."""
    with style():
        figure = new_figure(7.0, 2.9)
        figure.get_layout_engine().set(wspace=0.08)
        left, right = figure.subplots(1, 2)
        for row in table:
            for axis in (left, right) if row.method == "HI" else (left,):
                axis.plot(row.t, row.energy, color=common.LOOK[row.method]["color"], label=row.method)
        for axis in (left, right):
            axis.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
            axis.set(xlabel="time  [s]", ylabel="energy since the start  [J]")
            axis.margins(x=0.0)
        left.legend(loc="lower left")
        common.letter(left, "(a) both methods")
        common.letter(right, "(b) HI")
        save(figure, path)


def summary(table):
    """One line."""
    return "; ".join(f"{r.method} drifts by {r.drift:.3g} J, at most {r.largest:.3g} J" for r in table)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    rows = [{"method": r.method, "drift": r.drift, "largest": r.largest} for r in table]
    return common.present(table, report, draw, summary, output / "fig3_energy.png", rows)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
