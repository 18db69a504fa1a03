"""Figure 9: torque that drives the slider-crank, with Coulomb friction in the guide of the slider.

HI with a step of 1e-3 s, 2 s of motion, mu = 0, 0.2, 0.4. The torque is the multiplier of the driver: the torque on the crank about the
global x-axis. The crank turns about the negative x-axis, so a negative torque drives it. The normal force of the friction law is that of
the same step here, that of the step before in the paper.

What the paper plots, with the label N m, is no torque: the curves are those of the x-component of the force in the crank's bearing, the
multiplier of `A.x`, our `lam[0]`. The archived program (https://github.com/uwsbel/sbel-reproducibility) explains it: its function for the
torque of a joint takes `Phi_r`, the derivatives by positions, where a torque needs those by rotations. The second panel has that force, and
where the slider reverses three values of the paper's curve: before, in the first step after, and after it. That of the first step
follows from the friction of the paper: the force of friction changes its sign with the normal force of the step before, and the force in
the bearing by twice that.

The paper finds that swings of the torque grow with mu, and they do. It also speaks of sudden jumps of the torque where the slider
reverses. The force in the bearing jumps there, and so does the force of friction, by `2 mu N` (lowest panel), but not the torque: this one
balances the power of all forces, that of friction is `mu N |v|`, and at the reversal v = 0. The torque bends there, the more the larger mu.
The limits h -> 0 of the library (circles) are met to first order in h; the first ten steps are left out.
"""

from dataclasses import dataclass

import common
import numpy as np

from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import observe

ENTRY = library.entry("slider-crank")
SETTLED = 10  # steps
BEARING = "lam[A.x]"  # the multiplier that the paper plots
PUBLISHED = {0.2: {"before": -1.43, "first step": -10.57, "after": -12.8}}  # N, at the first reversal, by mu


@dataclass(frozen=True)
class Row:
    """Torque [N m], force of friction on the slider [N], its velocity [m/s], and the force along x in the bearing of the crank [N].

    All at the times t [s] for one mu.

    `error` is the largest distance of the torque from the reference values of the library.
    """

    mu: float
    t: np.ndarray
    torque: np.ndarray
    friction: np.ndarray
    velocity: np.ndarray
    bearing: np.ndarray
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
    def bearing_values(self):
        """Force in the bearing at the first reversal [N]: before, in the first step with the normal force of the step before, after."""
        k = int(np.searchsorted(self.t, self.reversals[0]))
        before, friction = self.bearing[k - 1], self.friction[k - 1]
        return {"before": float(before), "first step": float(before - 2.0 * friction), "after": float(self.bearing[k])}

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
    names = ("driving_torque", "friction_force", "d_slider_x", BEARING)
    return Row(mu, solution.t[SETTLED:], *(found[name][SETTLED:] for name in names), error)


def report(table):
    """Print swings and jumps."""
    show([(f"{r.mu:g}", f"{r.swing:.3f}", f"{r.fastest:.4f}", f"{r.bend:.1f}", f"{r.jump:.1f}", f"{r.error:.1e}") for r in table],
         ("mu", "swing [N m]", "largest change in a step [N m]", "bend [N m/s]", "jump of friction [N]", "error against the limit [N m]"))
    print("  slider reverses at", ", ".join(f"{t:.3f}" for t in table[0].reversals), "s")
    print("\n  force along x in the bearing of the crank at the first reversal, which the paper plots as torque [N]")
    show([(f"{r['mu']:g}", r["when"], f"{r['bearing']:.2f}", None if r["published"] is None else f"{r['published']:g}")
          for r in rows(table)], ("mu", "", "here", "published"))


def rows(table):
    """Lines for the file: the force in the bearing at the first reversal, beside what is published."""
    return [{"mu": r.mu, "when": when, "bearing": value, "published": PUBLISHED.get(r.mu, {}).get(when), "torque_swing": r.swing,
             "torque_bend": r.bend, "friction_jump": r.jump, "error": r.error}
            for r in table for when, value in r.bearing_values.items()]


def draw(table, path):
    """Torque above, what the paper plots below it, then the force of friction."""
    with style():
        figure = new_figure(6.6, 6.4)
        above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1.3, 1.0))
        for k, row in enumerate(table):
            look = {"color": COLOURS[k], "label": rf"$\mu = {row.mu:g}$"}
            above.plot(row.t, row.torque, **look)
            middle.plot(row.t, row.bearing, **look)
            below.plot(row.t, row.friction, **look)
            limits = [(r.t, r.values["driving_torque"]) for r in ENTRY.references
                      if "driving_torque" in r.values and r.parameters.get("mu", 0.0) == row.mu]
            above.plot(*zip(*limits), "o", color=COLOURS[k], markerfacecolor="white", markersize=4.2)
        for axis in (above, middle, below):
            for t in table[0].reversals:
                axis.axvline(t, color=GREY, linestyle=(0, (1, 2)), linewidth=0.9, zorder=1)
            axis.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
            axis.margins(x=0.0)
        for k, row in enumerate(table):
            known = PUBLISHED.get(row.mu, {})
            middle.plot([row.reversals[0]] * len(known), list(known.values()), "D", color=COLOURS[k], markerfacecolor="white",
                        markersize=4.5)
        above.set_ylabel("driving torque about $x$  [N m]")
        middle.set_ylabel("bearing of the crank, $x$  [N]")
        common.letter(above, "(a) the torque")
        common.letter(middle, "(b) what the paper plots; diamonds: three of its values")
        common.letter(below, "(c) friction")
        below.set(xlabel="time  [s]", ylabel="friction on slider  [N]", xlim=(0.0, table[0].t[-1]))
        figure.align_ylabels()
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper right", ncols=len(table))
        save(figure, path)


def summary(table):
    """One line."""
    return "; ".join(f"mu = {r.mu:g}: swing {r.swing:.3f} N m, bend {abs(r.bend):.1f} N m/s" for r in table)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    table = run(**settings)
    return common.present(table, report, draw, summary, output / "fig9_friction.png", rows(table))


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
