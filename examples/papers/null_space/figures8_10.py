"""Figures 8 to 10: larger torques on the stiff pendulum, trapezoidal rule, steps of 0.1 s: classical, minimal coordinates, pin force.

The classical method fails at 9 N m in the paper, which calls that a failure of the iteration and sees the instability in the force of the
pin. So it is here: the force swings from step to step, by an amount that grows with every swing of the pendulum, and in the end the
iteration fails. How soon depends on the angles that are reached: after 222 s with 9 N m, 253 s with 8 N m, 297 s with 7 N m. Runs of 240 s
therefore show what the paper does; the span of its own is not known. Angles hardly tell before. Larger steps fail earlier, smaller ones
later, and in longer runs all amplitudes fail. In null-space coordinates nothing grows.

The captions have amplitudes of 5, 6, 7 and 9 N m, the text 5, 6, 8 and 9.
"""

from dataclasses import dataclass

import common
import common_pendulum as pendulum
import numpy as np

from mbdae import library
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, new_figure, style
from mbdae.studies import observe, write_csv

TORQUES, PANELS = (5.0, 6.0, 7.0, 8.0, 9.0), (5.0, 6.0, 7.0, 9.0)
STEPS = (0.05, 0.1, 0.2)
H, T_END, LONG = 0.1, 240.0, 600.0
FIGURES = {8: ("classical", "trapezoidal rule, constraints on positions"), 9: ("minimal", "trapezoidal rule, minimal coordinates")}


@dataclass(frozen=True)
class Row:
    """A run: largest angle [rad], its error, and by how much the force of the pin swings from step to step [N]."""

    torque: float
    way: str
    published: str
    here: str
    success: bool
    t_end: float
    largest: float
    error: float
    swing: float
    message: str


@dataclass(frozen=True)
class Failure:
    """When the classical method fails [s], nothing if it does not within the time."""

    torque: float
    h: float
    t: float | None


def solution(way, torque, h=H, t_end=T_END):
    """A run by the trapezoidal rule."""
    return common.run(pendulum.target(way, torque), pendulum.method(way, h, common.TRAPEZOIDAL), (0.0, t_end))


def pin(s):
    """`(t, x-component of the force of the pin [N])`."""
    return s.t, observe(library.entry("stiff-pendulum"), s)["pin_x"]


def swing(force):
    """Largest amplitude of the part of a force that changes its sign with every step; the last one may be shortened."""
    x = force[:-1]
    return float(np.abs(x[2:] - 2.0 * x[1:-1] + x[:-2]).max() / 4.0)


def study(torques=TORQUES, t_end=T_END):
    """`(way, torque) -> solution`."""
    return {(way, torque): solution(way, torque, t_end=t_end) for way in ("classical", "minimal", "null space") for torque in torques}


def motion(s, torque, t_end=T_END):
    """The `Motion` of a run."""
    exact = pendulum.exact(torque, t_end)
    return common.Motion(f"{torque:g} N m", s.t, pendulum.angle(s), exact, s.success, s.message)


def rows(runs, t_end=T_END):
    """A `Row` per run."""
    table = []
    for (way, torque), s in runs.items():
        m = motion(s, torque, t_end)
        published = "fails" if (way, torque) == ("classical", 9.0) else "works"
        table.append(Row(torque, way, published, "works" if s.success else "fails", s.success, float(s.t[-1]), m.largest, m.error,
                         swing(pin(s)[1]), s.message))
    return table


def failures(torques=TORQUES, steps=STEPS, t_end=LONG):
    """When the classical method fails, by amplitude and step."""
    found = []
    for torque in torques:
        for h in steps:
            s = solution("classical", torque, h, t_end)
            found.append(Failure(torque, h, None if s.success else float(s.t[-1])))
    return found


def report(table, failed, t_end=LONG):
    """Print both tables; the paper has a failure of the classical method at 9 N m only."""
    show([(r.way, f"{r.torque:g}", r.published,
           "works" if r.success else f"fails at {r.t_end:.4g} s", f"{r.largest:.4f}", f"{r.error:.1e}", f"{r.swing:.1e}") for r in table],
         ("coordinates", "torque [N m]", "published", "here", "largest angle [rad]", "error [rad]", "force swings by [N]"))
    steps = list(dict.fromkeys(f.h for f in failed))
    when = {(f.torque, f.h): None if f.t is None else f"{f.t:.4g}" for f in failed}
    print(f"\n  the classical method fails at [s], by step, within {t_end:g} s")
    torques = dict.fromkeys(f.torque for f in failed)
    show([(f"{torque:g}", *(when[torque, h] for h in steps)) for torque in torques], ("torque [N m]", *(f"{h:g} s" for h in steps)))


def draw_pins(runs, path):
    """Figure 10: the force of the pin by the classical method, and in null-space coordinates over it."""
    torques = [torque for torque in PANELS if ("classical", torque) in runs]
    with style():
        figure = new_figure(7.4, 1.75 * -(-len(torques) // 2) + 0.75)
        figure.suptitle("Stiff pendulum: force of the pin, trapezoidal rule, steps of 0.1 s", fontsize=9.5, color=common.DARK)
        axes = figure.subplots(-(-len(torques) // 2), 2, sharex=True, squeeze=False)
        for k, (axis, torque) in enumerate(zip(axes.flat, torques)):
            s = runs["classical", torque]
            axis.plot(*pin(s), color=COLOURS[1], linewidth=0.8, label="classical, constraints on positions")
            axis.plot(*pin(runs["null space", torque]), color=COLOURS[0], linewidth=0.9, label="null-space coordinates")
            told = "" if s.success else f": classical fails at {s.t[-1]:.4g} s"
            common.letter(axis, f"({chr(97 + k)}) {torque:g} N m{told}")
            axis.margins(x=0.0)
        for axis in axes[-1]:
            axis.set_xlabel("time  [s]")
        for line in axes:
            line[0].set_ylabel("force along x  [N]")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        save(figure, path)


def main(output, torques=TORQUES, t_end=T_END, steps=STEPS, long=LONG):
    """Run, print, draw; returns the line for the summary."""
    runs = study(torques, t_end)
    table, failed = rows(runs, t_end), failures(torques, steps, long)
    report(table, failed, long)
    for number, (way, title) in FIGURES.items():
        motions = [motion(runs[way, torque], torque, t_end) for torque in PANELS if torque in torques]
        common.draw_motions(motions, output / f"figure{number}.png", f"Stiff pendulum: {title}, steps of 0.1 s", "angle  [rad]")
    draw_pins(runs, output / "figure10.png")
    write_csv(output / "figures8_10.csv", table)
    write_csv(output / "figures8_10_failures.csv", failed)
    bad = [f"{r.way} {r.torque:g} N m at {r.t_end:.4g} s" for r in table if not r.success]
    return f"fails: {', '.join(bad) or 'none'} (published: classical 9 N m)"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
