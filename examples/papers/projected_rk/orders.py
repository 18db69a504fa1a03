"""Orders observed of Gauss methods on index-3 equations, by number of stages and projection; figure of errors over the step.

Errors of positions, velocities, accelerations and multipliers at one time against values recomputed with many digits; the accelerations
and multipliers belonging to these follow from the equations of motion. An order is the slope of a straight line through the errors above
rounding. Without constraints it is 2 s. The stages satisfy the positions only, so with constraints it is s, and without projections errors
of the velocities are multiplied from step to step: their orders, if any, last for a few seconds.
"""

from functools import cache

import common
import numpy as np

import mbdae
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import look, new_figure, style
from mbdae.studies import write_csv

CASES = {common.PENDULUM: 1.0, common.SPHERICAL: 0.5}  # times at which values are known
STEPS = (0.02, 0.01, 0.005, 0.0025)
STAGES = (1, 2, 3, 4)
PROJECTIONS = ("", "PV", "PVA", "PVAE-0")
BLOCKS = {"q": "positions  [m]", "v": "velocities  [m/s]", "a": "accelerations  [m/s$^2$]", "lam": "multipliers  [N/m]"}
ROUNDING = 1e-11  # relative, above which errors count
DRAWN = "PVA"


@cache
def exact(example, t):
    """`{block: values}` at a time for which the library has values."""
    values, s = common.known(example, t), example.system
    bodies = range(1, len(s.mechanism.bodies) + 1)
    q, v = (np.array([values.get(f"{d}{axis}{k}", values.get(f"{d}{axis}", 0.0)) for k in bodies for axis in "xyz"]) for d in ("", "d_"))
    a, lam, _ = s.solve_kkt(t, q, s.force(t, q, v), s.gamma(t, q, v))
    return {"q": q, "v": v, "a": a, "lam": lam}


def errors(example, t, stages, project, steps=STEPS):
    """`{block: errors}` at the steps, NaN where a run fails, and the sizes of the blocks."""
    known, found = exact(example, t), {name: [] for name in BLOCKS}
    for h in steps:
        method = mbdae.ProjectedGauss(h=h, stages=stages, project=project, stages_hold="position")
        s = mbdae.solve(example.system, method, (0.0, t), t_eval=[t])
        for name in BLOCKS:
            found[name].append(np.abs(getattr(s, name)[-1] - known[name]).max() if s.success else np.nan)
    return {name: np.array(x) for name, x in found.items()}, {name: np.abs(x).max() for name, x in known.items()}


def slope(steps, values, size):
    """Of the logarithms, of errors above rounding; NaN if there are less than two."""
    good = values > ROUNDING * size
    return float(np.polyfit(np.log(np.array(steps)[good]), np.log(values[good]), 1)[0]) if good.sum() > 1 else np.nan


def study(cases=None, steps=STEPS, projections=PROJECTIONS):
    """One dictionary per example, projection, number of stages and block: order and errors."""
    rows = []
    for example, t in (cases or CASES).items():
        for project in projections:
            for stages in STAGES:
                found, sizes = errors(example, t, stages, project, steps)
                rows += [{"example": example.title, "project": project, "stages": stages, "block": name,
                          "order": slope(steps, x, sizes[name]), **{f"h={h:g}": e for h, e in zip(steps, x)}} for name, x in found.items()]
    return rows


def cells(rows, project, block):
    """A line of the printed table."""
    orders = [r["order"] for r in rows if (r["project"], r["block"]) == (project, block)]
    return [f'"{project}"', block, *("-" if np.isnan(x) else f"{round(x, 1) + 0.0:.1f}" for x in orders)]


def draw(rows, steps, path):
    """Errors over the step, a panel for each block, a line for each number of stages."""
    with style():
        figure = new_figure(7.4, 5.4)
        panels = figure.subplots(2, 2, sharex=True)
        for axis, (block, text) in zip(panels.flat, BLOCKS.items()):
            for k, row in enumerate(r for r in rows if r["block"] == block):
                y = [row[f"h={h:g}"] for h in steps]
                axis.loglog(steps, y, label=f"{row['stages']} stages" if k else "1 stage", **look(k))
                axis.annotate(f"{row['order']:.1f}", (steps[0], y[0]), (8, -3), textcoords="offset points", color=look(k)["color"])
            axis.set(ylabel=f"error of {text}")
            axis.set_xticks(steps, [f"{h:g}" for h in steps])
            axis.minorticks_off()
            axis.margins(x=0.12)
        for axis in panels[1]:
            axis.set_xlabel("step h  [s]")
        figure.suptitle(f'{rows[0]["example"]}, Gauss methods with projections "{DRAWN}"; numbers are orders', fontsize=10)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=len(STAGES))
        save(figure, path)


def main(output, cases=None, steps=STEPS, projections=PROJECTIONS):
    """Run, print, draw, write; returns the line for the summary."""
    rows = study(cases, steps, projections)
    for title in dict.fromkeys(r["example"] for r in rows):
        print(f"\n  {title}: orders observed")
        mine = [r for r in rows if r["example"] == title]
        show([cells(mine, p, b) for p in projections for b in BLOCKS], ["project", "", *(f"s = {s}" for s in STAGES)])
    drawn = [r for r in rows if r["project"] == DRAWN and r["example"] == rows[-1]["example"]]
    draw(drawn, steps, output / "orders.png")
    write_csv(output / "orders.csv", rows)
    return f'{drawn[0]["example"]}, "{DRAWN}", q: ' + ", ".join(f"s = {r['stages']}: {r['order']:.1f}" for r in drawn if r["block"] == "q")


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
