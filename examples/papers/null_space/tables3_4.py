"""Tables 3 and 4: double four-bar and Bricard's mechanism of the IFToMM benchmarks, 10 s with a drift of energy below 0.1 J and 1e-3 J.

Ours are implicit methods in null-space coordinates, Newton's method to 1e-8: at the step that others take, and at the largest that keeps
the limit. Bodies are in space, with Euler parameters and all equations of the revolute joints, redundant ones too; in the plane as well for
the four-bar. Times are medians of processor times of the integration alone, on the machine that runs this, and those published belong to
their machines. The paper itself has 0.4 s and 0.357 s, and names as comparable the rows that are marked.

The four-bar passes its singular position, all bars in line, twice a turn. Three of a hundred steps end on it so closely that the iteration
fails; a step a little longer does not, and is taken instead.
"""

from dataclasses import asdict, dataclass

import common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import GREY, look, new_figure, style
from mbdae.studies import write_csv

T_END, TOL, REPEATS = 10.0, 1e-8, 9
RULES = {"trapezoidal": mbdae.TRAPEZOIDAL, "linear acceleration": mbdae.LINEAR_ACCELERATION, "Fox-Goodwin": mbdae.FOX_GOODWIN}
BRACKET = (2e-3, 6e-2)  # s, between which the largest step is sought
BESIDE = (1.0, 1.001, 1.003)  # times the step, if that ends on the singular position
CURVE = np.geomspace(4e-3, 4e-2, 9)  # s, steps of the figure


@dataclass(frozen=True)
class Published:
    """A row of tables 3 and 4; no step where it varies."""

    method: str
    author: str
    coordinates: str
    step: float | None
    drift: float
    seconds: float
    processor: str
    comparable: bool = False


TABLE_3 = (
    Published("Index-3 ALF", "Cuadrado", "natural", 1e-2, 0.0917, 0.6, "C2duo E6550"),
    Published("Index-3 ALF", "Luaces", "relative", 1e-2, 0.0137, 1.7, "C2duo E6550"),
    Published("MbsLab", "Gonzalez", "natural 3D", 1e-2, 0.0917, 0.145, "C2duo E8400", True),
    Published("OpenMBS", "Pastorino", "natural 2D", 1e-2, 0.0877, 0.1278, "BeagleBone B"),
    Published("Index-3 ALF", "Pastorino", "natural 2D", 1e-2, 0.0877, 0.0045, "i7 3740QM"),
    Published("Non-recursive NEF", "Burkhardt", "minimal", None, 0.0015, 0.0568, "i7 3770"),
    Published("MBDyn", "Masarati", "3D", 8e-3, 0.09, 0.325, "i7 2620M", True),
    Published("Non-recursive NEF", "Burkhardt", "minimal", 1e-2, 0.0002, 0.0191, "Snapdragon S800"),
    Published("Non-recursive NEF", "Burkhardt", "minimal", 1e-2, 0.0002, 0.0023, "i7 960"),
    Published("SolidWorks", "Chaojie", "natural 2D", 1e-2, 0.0001, 48.77, "C2Duo E8400"),
    Published("OpenSim", "Tagliapietra", "natural", None, 3.2e-7, 0.455, "i5 4570", True),
    Published("Biolim", "Mouzo", "relative 3D", 1e-2, 0.029, 0.0226, "i7 6700K"),
    Published("DIMCD", "Urkullu", "Cartesian 3D", 1e-2, 0.0885, 0.0325, "Ryzen 5 2600", True),
)
TABLE_4 = (
    Published("Index-3 ALF", "Gonzalez", "natural 3D", 5e-3, 8e-4, 0.125, "i7 3770", True),
    Published("OpenSim 3.2", "Tagliapietra", "natural", None, 9.6e-7, 0.258, "i5 4570", True),
    Published("DIMCD", "Urkullu", "Cartesian 3D", 1.5e-2, 8.1e-4, 0.0777, "Ryzen 5 2600", True),
)


@dataclass(frozen=True)
class Benchmark:
    """A table: limit of the drift [J], the step that others take [s], forms of the mechanism, the paper's own seconds, published rows."""

    number: int
    title: str
    limit: float
    step: float
    forms: tuple
    paper: float
    published: tuple


BENCHMARKS = (
    Benchmark(3, "double four-bar", 0.1, 1e-2,
              (("Cartesian 3D", "n-four-bar", (("coordinates", "spatial"),)), ("Cartesian 2D", "n-four-bar", ())), 0.4, TABLE_3),
    Benchmark(4, "Bricard", 1e-3, 1.5e-2, (("Cartesian 3D", "bricard", ()),), 0.357, TABLE_4),
)


@dataclass(frozen=True)
class Row:
    """A row of ours: median and least time of the runs [s], iterations per step."""

    table: int
    rule: str
    coordinates: str
    step: float
    drift: float
    seconds: float
    fastest: float
    iterations: float


def drift(s):
    """Largest departure of the energy from that at the start [J]; infinite for a run that has failed."""
    return float(np.abs(s.energy - s.energy[0]).max()) if s.success else np.inf


def solution(form, rule, h, t_end=T_END):
    """A run."""
    _, name, parameters = form
    return common.run(common.system(name, **dict(parameters)), common.null_space(h, RULES[rule], tol=TOL), (0.0, t_end))


def drift_near(form, rule, h, t_end=T_END):
    """The drift with a step, or one beside it if that fails."""
    return next((d for d in (drift(solution(form, rule, factor * h, t_end)) for factor in BESIDE) if np.isfinite(d)), np.inf)


def largest_step(form, rule, limit, t_end=T_END, bracket=BRACKET):
    """The largest step, of three digits, that keeps the limit; by bisection, as the drift grows with the step.

    Raises
    ------
    RuntimeError
        If the limit is not between the ends of the bracket.
    """
    low, high = bracket
    if drift_near(form, rule, low, t_end) > limit or drift_near(form, rule, high, t_end) <= limit:
        raise RuntimeError(f"{form[1]}, {rule}: the drift of energy does not pass {limit:g} J between steps of {low:g} and {high:g} s")
    while high / low > 1.002:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if drift_near(form, rule, middle, t_end) <= limit else (low, middle)
    steps = (np.floor(low * 1e5) - np.arange(100)) * 1e-5
    return round(float(next(h for h in steps if drift(solution(form, rule, h, t_end)) <= limit)), 5)


def row(number, form, rule, h, t_end=T_END, repeats=REPEATS):
    """A `Row`."""
    runs = [solution(form, rule, h, t_end) for _ in range(repeats)]
    seconds = [s.statistics.cpu_seconds for s in runs]
    return Row(number, rule, form[0], float(h), drift(runs[0]), float(np.median(seconds)), min(seconds),
               runs[0].statistics.iterations_per_step)


def study(benchmark, t_end=T_END, repeats=REPEATS, rules=tuple(RULES), bracket=BRACKET):
    """Rows of ours: the step of others by the trapezoidal rule, then the largest step by each rule."""
    table = []
    for form in benchmark.forms:
        table.append(row(benchmark.number, form, "trapezoidal", benchmark.step, t_end, repeats))
        for rule in rules:
            table.append(row(benchmark.number, form, rule, largest_step(form, rule, benchmark.limit, t_end, bracket), t_end, repeats))
    return table


def report(benchmark, table):
    """Print ours below what is published."""
    b = benchmark
    print(f"\n  Table {b.number}: {b.title}, drift at most {b.limit:g} J; the paper's own method took {b.paper} s")
    lines = [(p.method + (" *" if p.comparable else ""), p.author, p.coordinates, "variable" if p.step is None else f"{p.step:g}",
              f"{p.drift:.2g}", f"{p.seconds:.4g}", "", p.processor) for p in benchmark.published]
    lines += [("NullSpaceNewmark", r.rule, r.coordinates, f"{r.step:g}", f"{r.drift:.3g}", f"{r.seconds:.4f}", f"{r.fastest:.4f}",
               "this machine") for r in table]
    show(lines, ("method (* comparable)", "author, rule", "coordinates", "step [s]", "drift [J]", "CPU [s]", "fastest", "processor"))


def draw(benchmark, path, t_end=T_END, steps=CURVE):
    """Drift over the step: our rules in space, published rows, the limit."""
    form = benchmark.forms[0]
    with style():
        figure = new_figure(5.2, 3.5)
        axis = figure.add_subplot()
        for k, rule in enumerate(RULES):
            found = np.array([drift_near(form, rule, h, t_end) for h in steps])
            kept = np.isfinite(found)
            axis.plot(1e3 * steps[kept], found[kept], label=rule, **look(k) | {"markersize": 4.0}, linewidth=1.1)
        theirs = [(1e3 * p.step, p.drift) for p in benchmark.published if p.step is not None]
        axis.plot(*zip(*theirs), "x", color=common.DARK, markersize=5.5, label="published, other methods")
        axis.axhline(benchmark.limit, color=GREY, linestyle=(0, (4, 2)), linewidth=1.1, label="limit of the benchmark")
        axis.set(xscale="log", yscale="log", xlabel="step  [ms]", ylabel="drift of energy in 10 s  [J]")
        axis.set_xticks([4, 6, 10, 20, 40], ["4", "6", "10", "20", "40"])
        axis.minorticks_off()
        common.letter(axis, f"{benchmark.title}, Cartesian coordinates in space")
        axis.legend(loc="best", fontsize=7.5)
        save(figure, path)


def main(output, t_end=T_END, repeats=REPEATS, rules=tuple(RULES), bracket=BRACKET, steps=CURVE, benchmarks=BENCHMARKS):
    """Run, print, draw; returns the line for the summary."""
    told = []
    for benchmark in benchmarks:
        table = study(benchmark, t_end, repeats, rules, bracket)
        report(benchmark, table)
        draw(benchmark, output / f"table{benchmark.number}.png", t_end, steps)
        write_csv(output / f"table{benchmark.number}.csv", [asdict(r) | {"limit": benchmark.limit, "paper_seconds": benchmark.paper}
                                                            for r in table])
        write_csv(output / f"table{benchmark.number}_published.csv", benchmark.published)
        best = min((r for r in table if r.coordinates == "Cartesian 3D" and r.drift <= benchmark.limit), key=lambda r: r.seconds)
        told.append(f"{benchmark.title} {best.seconds:.3f} s at {1e3 * best.step:g} ms (paper {benchmark.paper} s)")
    return "; ".join(told)


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
