"""Error over tolerance: `python -m tests.reliability.tolerances [--output docs/reliability.md] [--only MECHANISM,...] [--cells FOLDER]`.

The section of the page is replaced, the rest of it is kept.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from scipy.linalg import null_space

import mbdae
from mbdae.registry import find
from mbdae.studies import grid
from mbdae.studies.grid.studies import MANY_TOLERANCES
from mbdae.studies.grid.target import start_of, system_of

TARGETS = (("double-pendulum", {}, 2.0), ("slider-crank-free", {}, 1.0), ("andrews", {}, 0.03), ("heavy-top", {}, 1.0),
           ("car-axis", {}, 1.0), ("truck", {}, 2.0), ("stiff-double-pendulum", {}, 0.5), ("spatial-four-bar", {}, 1.0),
           ("stewart-platform", {"stiffness": 20000.0, "damping": 500.0}, 1.0), ("closed-loop-bars", {}, 1.5))
OWN = ("Automatic", "RosenbrockNystrom", "SdirkFirstOrder", "SdirkDescriptor", "SdirkSparse", "TrapezoidalStateSpace",
       "TrapezoidalDescriptor", "HHT", "NullSpaceHHT", "Bdf", "DormandPrince:8", "DormandPrince:5", "RadauIIA", "HalfExplicit",
       "HalfExplicit:HEM5", "Adams", "ProjectedGauss:adaptive", "Spark:adaptive")
OTHERS = ("Ida", "Cvode:BDF", "Cvode:Adams", "SolveIvp:DOP853", "SolveIvp:Radau", "SolveIvp:LSODA", "Radau13", "Assimulo:Radau5DAE",
          "Assimulo:ODASSL", "Odes:ddaspk")
LIMIT = 20.0  # seconds of a run
MANY = 100.0  # tolerances, above which a number is bold
EPS = 1e-7  # of velocities, for the amplification
TITLE = "## Error over tolerance"

HEAD = """
The largest error at 101 times over `rtol max |x| + atol`, of positions and of velocities, with `atol = rtol / 100`, for `rtol` from 1e-4 to
1e-10; as `mbdae study tolerance`, see [studies.md](studies.md). Reference solutions are those of studies, at 1e-12: DOP853, for stiff
mechanisms `RadauIIA` or `DormandPrince`. Numbers above 100 are bold; *slow* is a run of more than 20 s of elapsed time, which depends on
the machine and on what else it does. *Amplification* is the largest ratio of the change of the motion and a small change of its initial
velocities, both relative to the largest values: an error of one tolerance at the start becomes that many.
Written by `python -m tests.reliability.tolerances --output docs/reliability.md` ({minutes:.0f} minutes on one core).
"""


@dataclass(frozen=True)
class Case:
    """One mechanism: its rows by method and tolerance, and its amplification."""

    target: grid.Target
    rows: list[grid.RunRow]
    amplification: float


def run(targets: Sequence[grid.Target], folder: Path | None = None) -> list[Case]:
    """All methods that are installed on some mechanisms."""
    methods = [name for name in OWN + OTHERS if (found := find(name).family.availability()) is None or found.installed]
    cases = []
    for target in targets:
        table = grid.study("tolerance", [target], methods=methods, limit=LIMIT, folder=folder)
        cases.append(Case(target, table.rows, amplification(target)))
        print(f"{target.label}: amplification {cases[-1].amplification:.2g}", flush=True)
    return cases


def amplification(target: grid.Target, directions: int = 3) -> float:
    """How much a motion changes, relative to a small change of its initial velocities, in the worst of some directions."""
    system, start, draw = system_of(target), start_of(target), np.random.default_rng(0)
    tangents = null_space(system.phi_q(0.0, start.q).toarray()) if system.nc else np.eye(system.nv)

    def motion(v):
        return mbdae.solve(system, find("SolveIvp:DOP853").make(), (0.0, target.t_end), formulation="ode", q0=start.q, v0=v, rtol=1e-11,
                           atol=1e-13, t_eval=target.times(101))

    base, worst = motion(start.v), 0.0
    sizes = np.abs(base.q).max(), np.abs(base.v).max()
    for _ in range(directions):
        move = tangents @ draw.standard_normal(tangents.shape[1])
        other = motion(start.v + EPS * sizes[1] * move / np.abs(move).max())
        q = max(np.abs(system.difference(a, b)).max() for a, b in zip(other.q, base.q))
        worst = max(worst, q / sizes[0] / EPS, np.abs(other.v - base.v).max() / sizes[1] / EPS)
    return worst


# --- the section of the page ---------------------------------------------------------------------------------------------


def section(cases: Sequence[Case], seconds: float) -> str:
    """All tables in Markdown."""
    notes = Path(__file__).with_name("tolerances.md").read_text(encoding="utf-8").strip()
    lines = [TITLE, HEAD.format(minutes=max(1.0, seconds / 60.0)), *_summary(cases), "", notes]
    for case in cases:
        lines += ["", f"### {case.target.label}", "", _caption(case), ""]
        lines += [_row("method", *map(_power, MANY_TOLERANCES)), _row(*["---"] * (len(MANY_TOLERANCES) + 1))]
        lines += [_row(name, *map(_mark, rows)) for name, rows in _by_method(case).items()]
    return "\n".join(lines) + "\n"


def _caption(case: Case) -> str:
    return f"{case.target.t_end:g} s; amplification {short(case.amplification)}. Positions / velocities:"


def _by_method(case: Case) -> dict[str, list[grid.RunRow]]:
    found: dict[str, list[grid.RunRow]] = {}
    for row in case.rows:
        found.setdefault(row.method, []).append(row)
    return found


def _summary(cases: Sequence[Case]) -> list[str]:
    """One line for each method."""
    titles = ("method", "worst q", "worst v", "q > 100", "v > 100", "growth a decade", "not monotone", "not ended")
    lines = [_row(*titles), _row(*["---"] * len(titles))]
    for name in dict.fromkeys(r.method for c in cases for r in c.rows):
        curves = [_by_method(c)[name] for c in cases]
        rows = [r for curve in curves for r in curve if r.success]
        growths = [growth(curve) for curve in curves if sum(r.success for r in curve) > 2]
        cells = [_worst(rows, key) for key in ("tolerances_q", "tolerances_v")]
        lines.append(_row(name, *cells, *(str(sum(getattr(r, key) > MANY for r in rows)) for key in ("tolerances_q", "tolerances_v")),
                          f"{np.median(growths):.2f}", str(sum(map(steps_back, curves))),
                          str(sum(not r.success for c in curves for r in c))))
    return lines


def _worst(rows: Sequence[grid.RunRow], key: str) -> str:
    row = max(rows, key=lambda r: getattr(r, key))
    return f"{short(getattr(row, key))} ({row.mechanism.split('(')[0]}, {_power(row.setting)})"


def growth(curve: Sequence[grid.RunRow]) -> float:
    """Factor by which error over tolerance grows with each decade of the tolerance, from a fitted line."""
    rows = [r for r in curve if r.success]
    slope = np.polyfit([-np.log10(r.setting) for r in rows], [np.log10(r.tolerances_q) for r in rows], 1)[0]
    return float(10.0**slope)


def steps_back(curve: Sequence[grid.RunRow]) -> int:
    """How often a tolerance of a tenth has a larger error of positions."""
    rows = [r for r in curve if r.success]
    return sum(b.error_q_max > a.error_q_max for a, b in pairwise(rows))


def _mark(row: grid.RunRow) -> str:
    if not row.success:
        return "slow" if row.status == "TIME_LIMIT" else row.status
    return " / ".join(f"**{short(x)}**" if x > MANY else short(x) for x in (row.tolerances_q, row.tolerances_v))


def short(x: float) -> str:
    """Two digits."""
    if x >= 1e4 or x < 1e-2:
        digits, power = f"{x:.0e}".split("e")
        return f"{digits}e{int(power)}"
    return f"{x:.0f}" if x >= 10.0 else f"{x:.2g}"


def _power(x: float) -> str:
    return f"1e{round(np.log10(x))}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def kept(page: str) -> str:
    """The section of a page, or nothing."""
    return page[page.index(TITLE):] if TITLE in page else ""


def replaced(page: str, text: str) -> str:
    """The page with this section, at its end."""
    return page.removesuffix(kept(page)).rstrip("\n") + "\n\n" + text


def main() -> int:
    """Run the study, write the section."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--only", help="some mechanisms")
    p.add_argument("--cells", type=Path, help="folder of kept results")
    p.add_argument("--output", type=Path, help="page whose section is replaced")
    arguments = p.parse_args()
    chosen = arguments.only.split(",") if arguments.only else [name for name, _, _ in TARGETS]
    begin = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = run([grid.Target.of(name, given, t_end=end) for name, given, end in TARGETS if name in chosen], arguments.cells)
    text = section(cases, process_time() - begin)
    if arguments.output:
        arguments.output.write_text(replaced(arguments.output.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
