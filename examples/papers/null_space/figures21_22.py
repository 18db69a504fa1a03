"""Figures 21 and 22: the largest natural frequency of the double pendulum, and steps on both sides of what it allows.

Figure 21: frequencies of the reduced system along the motion, and the steps that Fox and Goodwin's method may take by eq. (11).

Figure 22: runs from a state after the transient of the start, at 0.05 s. The second spring is so well damped that instability is slow: by
eq. (25) with its damping ratio of 64 a step of 3.3e-3 s multiplies the stiff vibration by 1.0014. So the angle shows nothing for long, and
the relative acceleration of the bars does: it fades with 3e-3 s and grows with 3.3e-3 s. The paper's 5e-3 s is stable with its data; with
these it is beyond the limit of 3.1e-3 s and bends the elbow by degrees. From the start itself, at rest with 3e5 rad/s^2, none of these
steps is possible: the first iteration fails.
"""

from dataclasses import dataclass

import common
import common_double as double
import numpy as np

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, look, new_figure, style
from mbdae.studies import write_csv
from mbdae.studies.stability import largest_frequencies, stable_steps

T_END = 10.0
STEPS = {3e-3: "stable", 3.3e-3: "unstable", 5e-3: "unstable"}  # as the limit says
PUBLISHED = {5e-3: "stable"}  # with the paper's own data
LIMIT = common.null_space(1.0).formula.limit()
WINDOW = 0.2  # s, over which the largest acceleration is taken
STRAIGHT = 1e-2  # rad, by which the elbow is bent at most in the second half of a stable run


@dataclass(frozen=True)
class Row:
    """A run: growth of the acceleration of the elbow from the second quarter to the last, bend of the elbow in the second half [rad]."""

    h: float
    expected: str
    published: str | None
    here: str
    success: bool
    growth: float
    bend: float


def study(steps=STEPS, t_end=T_END):
    """`{step: solution}` from the state after the transient."""
    return {h: common.run(double.target(), common.null_space(h), (double.BEGIN, t_end), state=double.after_start()) for h in steps}


def elbow(s):
    """Relative angular acceleration of the bars, the largest within windows: `(t, values)`."""
    t, a = s.t[:-1], np.abs(s.a[:-1, 5] - s.a[:-1, 2])
    edges = np.arange(double.BEGIN, t[-1], WINDOW)
    parts = np.searchsorted(t, edges)
    return edges + 0.5 * WINDOW, np.maximum.reduceat(a, parts)


def row(h, s):
    """The `Row` of a run."""
    _, size = elbow(s)
    n = len(size)
    growth = float(size[3 * n // 4:].max() / size[n // 4:n // 2].max())
    bend = float(np.abs(s.q[:, 5] - s.q[:, 2])[len(s.t) // 2:].max())
    return Row(h, STEPS[h], PUBLISHED.get(h), "unstable" if growth > 1.0 or bend > STRAIGHT else "stable", s.success, growth, bend)


def report(table, t, omega):
    """Print frequencies and runs."""
    late = omega[t >= double.BEGIN]
    print(f"  largest frequency {omega.max():.1f} rad/s, from {double.BEGIN:g} s on {late.min():.1f} to {late.max():.1f} rad/s; "
          f"Fox-Goodwin up to {LIMIT / omega.max():.3e} s")
    show([(f"{r.h:g}", r.expected, r.published, r.here, f"{r.growth:.2g}", f"{r.bend:.1e}") for r in table],
         ("step [s]", "by the limit", "published", "here", "growth", "elbow bent by [rad]"))


def draw_frequencies(t, omega, path):
    """Figure 21."""
    with style():
        figure = new_figure(7.4, 2.9)
        figure.get_layout_engine().set(wspace=0.07)
        left, right = figure.subplots(1, 2)
        left.plot(t, omega, color=COLOURS[0])
        left.set(ylabel="largest natural frequency  [rad/s]")
        common.letter(left, "(a) reduced system")
        right.plot(t, 1e3 * stable_steps(omega, LIMIT), color=COLOURS[0], label="limit")
        for h, colour in ((5e-4, COLOURS[2]), (5e-3, COLOURS[1])):
            right.axhline(1e3 * h, color=colour, linestyle=(0, (4, 2)), linewidth=1.1, label=f"{1e3 * h:g} ms, a step of the paper")
        right.set(ylabel="step of Fox-Goodwin  [ms]", ylim=(0.0, 5.6))
        right.legend(loc="center right", bbox_to_anchor=(1.0, 0.32))
        common.letter(right, "(b) steps that it allows")
        for axis in (left, right):
            axis.set(xlabel="time  [s]", xlim=(0.0, t[-1]))
        save(figure, path)


def draw_steps(runs, exact, limit, path):
    """Figure 22."""
    with style():
        figure = new_figure(7.4, 3.3)
        figure.get_layout_engine().set(wspace=0.07)
        left, right = figure.subplots(1, 2)
        left.plot(exact.t, exact.q[:, 2], color=GREY, linewidth=3.2, alpha=0.45, label="exact")
        for k, (h, s) in enumerate(runs.items()):
            left.plot(s.t, s.q[:, 2], color=COLOURS[k], linewidth=0.9)
            right.plot(*elbow(s), linewidth=1.0, label=f"step {1e3 * h:g} ms", **look(k) | {"markersize": 3.5})
        left.set(ylabel="angle of body 1  [rad]")
        right.set(ylabel="acceleration of the elbow  [rad/s²]", yscale="log")
        common.letter(left, "(a) motion")
        common.letter(right, f"(b) stiff vibration; limit {1e3 * limit:.2f} ms")
        for axis in (left, right):
            axis.set(xlabel="time  [s]", xlim=(0.0, exact.t[-1]))
        figure.legend(loc="outside lower center", ncols=4)
        save(figure, path)


def main(output, t_end=T_END, every=20):
    """Run, print, draw; returns the line for the summary."""
    exact, runs = double.exact(t_end), study(t_end=t_end)
    thinned = common.finished(double.target(), common.null_space(double.H), (0.0, t_end), every=every)
    t, omega = largest_frequencies(double.target(), thinned)
    table = [row(h, s) for h, s in runs.items()]
    report(table, t, omega)
    draw_frequencies(t, omega, output / "figure21.png")
    draw_steps(runs, exact, LIMIT / omega[-1], output / "figure22.png")
    write_csv(output / "figures21_22.csv", table)
    write_csv(output / "figure21.csv", [{"t": a, "frequency": b} for a, b in zip(t.tolist(), omega.tolist())])
    told = ", ".join(f"{1e3 * r.h:g} ms {r.here}" for r in table)
    return f"frequency up to {omega.max():.0f} rad/s, limit {1e3 * LIMIT / omega.max():.2f} ms; {told}"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
