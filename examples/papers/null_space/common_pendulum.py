"""The stiff pendulum of the paper: figures as lists of runs, the exact motion, a table of what is stable.

Angles are counted from the hanging position. In minimal coordinates there are no constraints, so that all of Newmark's methods agree.
"""

from dataclasses import dataclass
from functools import cache

import common
import numpy as np

from mbdae.cli.scripts import show
from mbdae.studies import write_csv

T_END = 130.0
HANGING = -0.5 * np.pi  # angle of the bar that hangs, from the x-axis
STABLE, UNSTABLE, FAILS = "stable", "unstable", "fails"


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: the method, `minimal`, `classical` or `null space`, and what is published by step."""

    number: int
    title: str
    way: str
    rule: tuple
    published: dict


@dataclass(frozen=True)
class Row:
    """A run: what is published, what comes out, where it ends, its largest angle and error [rad]."""

    figure: int
    h: float
    published: str
    here: str
    t_end: float
    largest: float
    error: float
    message: str


def target(way, torque=0.1):
    """The system of a way to integrate."""
    return common.system("stiff-pendulum", torque=torque, coordinates="classical" if way == "minimal" else "cartesian")


def method(way, h, rule):
    """The method of a way to integrate."""
    return common.classical(h, rule) if way == "classical" else common.null_space(h, rule)


def angle(solution):
    """From the hanging position [rad]."""
    return solution.q[:, -1] - (HANGING if solution.system.nc else 0.0)


@cache
def exact(torque=0.1, t_end=T_END):
    """`(t, angle)` by Fox and Goodwin's method, of order 4 for the angle alone, with steps of 0.005 s; error 1e-9 rad at 0.1 N m."""
    s = common.finished(target("minimal", torque), common.null_space(5e-3, tol=1e-12), (0.0, t_end), every=4)
    return s.t, angle(s)


def motion(way, h, rule, t_end=T_END, torque=0.1, title=None):
    """The `Motion` of one run."""
    s = common.run(target(way, torque), method(way, h, rule), (0.0, t_end))
    return common.Motion(title or f"step {h:g} s", s.t, angle(s), exact(torque, t_end), s.success, s.message)


def study(figure, t_end=T_END):
    """The motions of a figure."""
    return [motion(figure.way, h, figure.rule, t_end) for h in figure.published]


def rows(figure, motions):
    """A `Row` per run."""
    return [Row(figure.number, h, told, m.verdict, float(m.t[-1]), m.largest, m.error, m.message)
            for (h, told), m in zip(figure.published.items(), motions)]


def report(table):
    """Print rows."""
    show([(r.figure, f"{r.h:g}", r.published, r.here, f"{r.t_end:.4g}", f"{r.largest:.4f}", f"{r.error:.1e}") for r in table],
         ("figure", "step [s]", "published", "here", "end [s]", "largest angle [rad]", "error [rad]"))


def redo(figures, output, name, t_end=T_END):
    """Run, print, draw and write several figures; returns the line for the summary."""
    table = []
    for figure in figures:
        motions = study(figure, t_end)
        table += rows(figure, motions)
        common.draw_motions(motions, output / f"figure{figure.number}.png", f"Stiff pendulum: {figure.title}", "angle  [rad]")
    report(table)
    write_csv(output / f"{name}.csv", table)
    return f"{sum(r.here == r.published for r in table)} of {len(table)} runs as published"
