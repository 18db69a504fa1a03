"""CPU time and Newton iterations at the published steps and tolerances: figures 4, 5 and 6."""

from dataclasses import asdict, dataclass

import common

from mbdae.cli.scripts import show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, new_figure, style


@dataclass(frozen=True)
class Row:
    """One run, and what the paper and the archived program have for it. `seconds` is that of the fastest of the repeats."""

    method: str
    h: float
    tol: float
    iterations: float
    seconds: float
    published_iterations: float
    published_seconds: float
    archived_iterations: float | None = None


def run(mechanism, t_end=8.0, repeats=5):
    """HI and FI at the published settings, a list of `Row`."""
    known = [(method, *setting) for method in common.METHODS for setting in common.PUBLISHED[mechanism, method]]
    found = common.timed(common.system(mechanism), [k[:3] for k in known], (0.0, t_end), repeats)
    archived = common.ARCHIVED if mechanism == "slider-crank" else {}
    return [Row(*k[:3], *ours, *k[3:], archived.get(k[0], {}).get(k[1])) for k, ours in zip(known, found)]


def ratios(table):
    """CPU time of HI over that of FI, and the published one, by step."""
    time = {(r.method, r.h): (r.seconds, r.published_seconds) for r in table}
    return {h: tuple(a / b for a, b in zip(time["HI", h], time["FI", h])) for method, h in time if method == "HI"}


def report(table):
    """Print ours beside what is published."""
    show([(r.method, f"{r.h:g}", f"{r.tol:g}", f"{r.iterations:.2f}", f"{r.published_iterations:.2f}",
           r.archived_iterations and f"{r.archived_iterations:.2f}", f"{r.seconds:.3g}", f"{r.published_seconds:.3g}") for r in table],
         ("method", "h [s]", "tolerance", "iterations", "published", "archived program", "CPU time [s]", "published [s]"))
    for h, (here, there) in ratios(table).items():
        print(f"  h = {h:g}: HI takes {here:.2f} of the time of FI (published {there:.2f})")


def draw(table, path):
    """CPU time and iterations over the step; ours full, the published hollow."""
    with style():
        figure = new_figure(7.0, 3.1)
        figure.get_layout_engine().set(wspace=0.08)
        left, right = figure.subplots(1, 2)
        for method in common.METHODS:
            rows = sorted((r for r in table if r.method == method), key=lambda r: r.h)
            h, look = [r.h for r in rows], common.LOOK[method]
            for axis, ours, theirs in ((left, "seconds", "published_seconds"), (right, "iterations", "published_iterations")):
                axis.plot(h, [getattr(r, ours) for r in rows], label=f"{method}, here", **look, **common.SOLID, zorder=3)
                axis.plot(h, [getattr(r, theirs) for r in rows], label=f"{method}, published", **look | common.HOLLOW | {"markersize": 7.0})
        left.set(xscale="log", yscale="log", xlabel="step $h$  [s]", ylabel="CPU time  [s]")
        right.set(xscale="log", xlabel="step $h$  [s]", ylabel="Newton iterations per step", ylim=(0.0, None))
        common.letter(left, "(a) CPU time")
        common.letter(right, "(b) Newton iterations")
        factors = [r.published_seconds / r.seconds for r in table]
        left.text(0.97, 0.38, f"published: {min(factors):.0f} to {max(factors):.0f} times as long\n(Python, another machine)", color=GREY,
                  transform=left.transAxes, ha="right", fontsize=7.5)
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4, columnspacing=1.4)
        save(figure, path)


def summary(table):
    """One line on iterations and times."""
    here, there = zip(*ratios(table).values())
    return (f"iterations {', '.join(f'{r.iterations:.2f}' for r in table)}; time HI/FI {min(here):.2f} to {max(here):.2f} "
            f"(published {min(there):.2f} to {max(there):.2f})")


def rows(table):
    """Lines for the file, those of HI with its time over that of FI."""
    gains = ratios(table)
    return [{**asdict(r), **dict(zip(("gain", "published_gain"), gains[r.h] if r.method == "HI" else (None, None)))} for r in table]
