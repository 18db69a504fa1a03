"""Figure 9: torque that drives the slider-crank, with Coulomb friction in the guide of the slider.

HI with a step of 1e-3 s, 2 s of motion, mu = 0, 0.2, 0.4; the normal force of the friction law is that of the step before, as in the
paper. The torque is the multiplier of the driver: the torque on the crank about the global x-axis. The crank turns about the negative
x-axis, so a negative torque drives it.

The paper finds that swings of the torque grow with mu, and they do. It also speaks of sudden jumps of the torque where the slider
reverses. Here what jumps there is the force of friction, by `2 mu N` (lower panel), not the torque: this one balances the power of all
forces, that of friction is `mu N |v|`, and at the reversal v = 0. The torque bends there, the more the larger mu. The limits h -> 0 of
the library (circles) are met to first order in h; the first ten steps are left out, in which the normal force settles.
"""

from dataclasses import dataclass

import common
import numpy as np

from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.figures import COLOURS, GREY, new_figure, save, style
from mbdae.studies import observe

ENTRY = library.entry("slider-crank")
SETTLED = 10  # steps


@dataclass(frozen=True)
class Row:
    """Torque [N m], force of friction on the slider [N] and its velocity [m/s] at the times t [s] for one mu.

    `error` is the largest distance of the torque from the reference values of the library.
    """

    mu: float
    t: np.ndarray
    torque: np.ndarray
    friction: np.ndarray
    velocity: np.ndarray
    error: float

    @property
    def swing(self):
        """Largest less smallest torque."""
        return float(np.ptp(self.torque))

    @property
    def reversals(self):
        """Times at which the slider turns round."""
        k = np.flatnonzero(self.velocity[1:] * self.velocity[:-1] < 0.0)
        t, v = self.t, self.velocity
        return t[k] - v[k] * (t[k + 1] - t[k]) / (v[k + 1] - v[k])

    @property
    def fastest(self):
        """Largest change of the torque from one step to the next."""
        return float(np.abs(np.diff(self.torque)).max())

    @property
    def bend(self):
        """Largest change of the slope of the torque at a reversal [N m/s]."""
        return self._change(self.torque, 1)

    @property
    def jump(self):
        """Largest change of the force of friction at a reversal [N]."""
        return self._change(self.friction, 0)

    def _change(self, values, derivative):
        """By quadratics on either side, away from the steps after the reversal in which the normal force settles."""
        changes = []
        for t in self.reversals:
            sides = (self.t > t - 0.025) & (self.t < t - 0.001), (self.t > t + 0.009) & (self.t < t + 0.033)
            fits = [np.polynomial.polynomial.polyfit(self.t[side] - t, values[side], 2) for side in sides]
            changes.append(fits[1][derivative] - fits[0][derivative])
        return float(max(changes, key=abs))


def run(coefficients=(0.0, 0.2, 0.4), h=1e-3, t_end=2.0):
    """One `Row` per coefficient of friction."""
    return [_row(mu, h, t_end) for mu in coefficients]


def _row(mu, h, t_end):
    solution = common.run_method(common.system("slider-crank", mu=mu), "HI", h, 1e-10, (0.0, t_end))
    found = observe(ENTRY, solution)
    known = [r for r in ENTRY.references if "driving_torque" in r.values and r.parameters.get("mu", 0.0) == mu and r.t <= t_end]
    error = max(abs(found["driving_torque"][round(r.t / h)] - r.values["driving_torque"]) for r in known)
    names = ("driving_torque", "friction_force", "d_slider_x")
    return Row(mu, solution.t[SETTLED:], *(found[name][SETTLED:] for name in names), error)


def report(table):
    """Print swings and jumps."""
    show([(f"{r.mu:g}", f"{r.swing:.3f}", f"{r.fastest:.4f}", f"{r.bend:.1f}", f"{r.jump:.1f}", f"{r.error:.1e}") for r in table],
         ("mu", "swing [N m]", "largest change in a step [N m]", "bend [N m/s]", "jump of friction [N]", "error against the limit [N m]"))
    print("  slider reverses at", ", ".join(f"{t:.3f}" for t in table[0].reversals), "s")


def draw(table, path):
    """Torque above, force of friction below."""
    with style():
        figure = new_figure(6.6, 4.6)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1.0))
        for k, row in enumerate(table):
            look = {"color": COLOURS[k], "label": rf"$\mu = {row.mu:g}$"}
            above.plot(row.t, row.torque, **look)
            below.plot(row.t, row.friction, **look)
            limits = [(r.t, r.values["driving_torque"]) for r in ENTRY.references
                      if "driving_torque" in r.values and r.parameters.get("mu", 0.0) == row.mu]
            above.plot(*zip(*limits), "o", color=COLOURS[k], markerfacecolor="white", markersize=4.2)
        for axis in (above, below):
            for t in table[0].reversals:
                axis.axvline(t, color=GREY, linestyle=(0, (1, 2)), linewidth=0.9, zorder=1)
            axis.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
            axis.margins(x=0.0)
        above.set_ylabel("driving torque about $x$  [N m]")
        below.set(xlabel="time  [s]", ylabel="friction on the slider  [N]", xlim=(0.0, table[0].t[-1]))
        figure.align_ylabels()
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper right", ncols=len(table))
        save(figure, path)


def summary(table):
    """One line."""
    return "; ".join(f"mu = {r.mu:g}: swing {r.swing:.3f} N m, bend {abs(r.bend):.1f} N m/s" for r in table)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    return common.present(run(**settings), report, draw, summary, output / "fig9_friction.png")


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
