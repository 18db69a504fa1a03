"""Figures 23 to 25: step sizes and Newton iterations of implicit methods on the stiff vehicle, tolerance 1e-3.

Steps are short where wheels meet the bump, and grow to the bound of 1 s afterwards. The thesis has pictures without numbers, but for the
time of `ForRosen` over thirty seconds. Iterations of rejected steps are counted with those of the step that follows.
"""

import common_vehicle as common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.integrators.control.driver import Driver
from mbdae.integrators.state_space.stepper import ChartedStepper
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, GREY, new_figure, style
from mbdae.studies import write_csv

K = -3
HISTORIES = {"figure23": (("ForSDIRK", "SspTrap"), 4.0), "figure24": (("ForRosen", "InflSDIRK"), 30.0)}
ITERATIONS = ("SspTrap", 10.0)
PUBLISHED_SECONDS = {("ForRosen", 30.0): 38.0}  # CPU
BUMPS = (0.5, 1.24)  # s, when the front and the rear wheels reach it, see `mbdae/library/hmmwv.py`


def iterations(name, t_end, k=K):
    """Ends of the accepted steps and the Newton iterations since the step before."""
    system, ends, totals = common.system(), [0.0], [0]
    stepper = ChartedStepper(common.METHODS[name], mbdae.problem(system, common.FORM), system.start, t_end, 10.0**k, 10.0**k)

    def note(t, q, v):
        ends.append(t)
        totals.append(int(stepper.counts.newton_iterations))
        return False

    found = Driver(stepper, t_eval=None, every=1, progress=None, until=note).to_end()
    if found.status:
        raise RuntimeError(f"{name}: {found.message}")
    return np.array(ends[1:]), np.diff(totals)


def draw_steps(runs, path, t_end):
    """Step sizes over time."""
    with style():
        figure = new_figure(6.4, 3.4)
        axis = figure.subplots()
        for k, (name, s) in enumerate(runs.items()):
            axis.stairs(np.diff(s.t), s.t, baseline=None, color=COLOURS[k], label=f"{name}, {s.statistics.steps} steps")
        _bumps(axis)
        axis.axhline(common.MAX_STEP, color="#222222", linewidth=0.8, linestyle=(0, (4, 2)), label="bound")
        axis.set(title=f"HMMWV14, stiff: step sizes, tolerance 1e{K}", xlabel="time  [s]", ylabel="step size  [s]", yscale="log",
                 xlim=(0.0, t_end))
        axis.legend(loc="lower right")
        save(figure, path)


def draw_iterations(ends, counts, path, name, t_end):
    """Newton iterations over time."""
    with style():
        figure = new_figure(6.4, 3.4)
        axis = figure.subplots()
        axis.plot(ends, counts, linestyle="none", marker="o", markersize=2.6, color=COLOURS[0],
                  label=f"{name}, {len(ends)} steps, {counts.sum()} iterations")
        _bumps(axis)
        axis.set(title=f"HMMWV14, stiff: Newton iterations for a step, tolerance 1e{K}", xlabel="time  [s]", ylabel="iterations",
                 xlim=(0.0, t_end), ylim=(0.0, counts.max() + 1.0))
        axis.legend(loc="upper right")
        save(figure, path)


def _bumps(axis):
    for k, t in enumerate(BUMPS):
        axis.axvline(t, color=GREY, linestyle=(0, (1, 2)), linewidth=1.0, label="" if k else "wheels reach the bump")


def line(name, s, t_end):
    """Cells of the table: steps, smallest and largest step, when the bound was reached, time."""
    h = np.diff(s.t)
    at_bound = s.t[:-1][h >= (1.0 - 1e-9) * common.MAX_STEP]
    theirs = PUBLISHED_SECONDS.get((name, t_end))
    return (name, f"{t_end:g} s", s.statistics.steps, f"{h[1:-1].min():.1e}", f"{s.t[1:-2][np.argmin(h[1:-1])]:.2f}",
            f"{h.max():.2f}", f"{at_bound[0]:.1f}" if len(at_bound) else None, f"{1e3 * s.statistics.cpu_seconds:.0f}",
            f"{theirs:g}" if theirs else None)


_HEAD = ("method", "length", "steps", "smallest [s]", "at [s]", "largest [s]", "bound reached at [s]", "ours [ms]", "thesis [s]")


def main(output, lengths=None, iterations_to=ITERATIONS[1]):
    """Run, print, draw; returns the line for the summary."""
    print(f"  {common.STAND_IN}")
    rows, lines, lengths = [], [], lengths or {}
    for figure, (names, t_end) in HISTORIES.items():
        t_end = lengths.get(figure, t_end)
        runs = {name: common.motion(common.METHODS[name], K, t_end) for name in names}
        draw_steps(runs, output / f"{figure}.png", t_end)
        lines += [line(name, s, t_end) for name, s in runs.items()]
        rows += [{"figure": figure, "method": name, "t": t, "h": h} for name, s in runs.items() for t, h in zip(s.t[:-1], np.diff(s.t))]
    show(lines, _HEAD)
    write_csv(output / "figures23_24_runs.csv", [dict(zip(_HEAD, cells)) for cells in lines])
    write_csv(output / "figures23_24.csv", rows)
    name, t_end = ITERATIONS[0], iterations_to
    ends, counts = iterations(name, t_end)
    draw_iterations(ends, counts, output / "figure25.png", name, t_end)
    write_csv(output / "figure25.csv", [{"t": t, "iterations": int(n)} for t, n in zip(ends, counts)])
    parts = {"in the first 2 s": counts[ends <= 2.0], "afterwards": counts[ends > 2.0]}
    told = ", ".join(f"{part.mean():.2f} {when}" for when, part in parts.items() if len(part))
    print(f"  {name}: iterations for a step {told} (published: typically 3, section 4.1.2)")
    return f"{name}: {counts.mean():.2f} iterations for a step, at most {counts.max()}; largest steps " + ", ".join(
        f"{row[0]} {row[5]} s" for row in lines)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
