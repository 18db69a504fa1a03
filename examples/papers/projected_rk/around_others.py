"""The projections of the paper around other methods: energy of the simple pendulum over thirty seconds.

`HalfImplicit` has a fixed step of 0.01 s, `RosenbrockNystrom` and DOP853 choose theirs, for `rtol = 1e-6`, `atol = 1e-8`. With the
projections of positions and velocities alone errors of the energy are still those of the methods; that of the energy takes them away.
"""

import common
import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import COLOURS, new_figure, style
from mbdae.studies import write_csv

EXAMPLE, FLOOR, PARTS = common.PENDULUM, 1e-17, 30
METHODS = {"HalfImplicit": mbdae.HalfImplicit(h=1e-2), "RosenbrockNystrom": mbdae.RosenbrockNystrom(), "DOP853": SolveIvp("DOP853")}
PROJECTIONS = {"": ("as it is", {"color": COLOURS[6]}), "PV": ("projected (PV)", {"color": COLOURS[1], "linestyle": (0, (3.5, 1.2))}),
               "PVAE-0": ("projected (PVAE-0)", {"color": COLOURS[0]})}


def run(method, project, t_end):
    """One motion.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    s = mbdae.solve(EXAMPLE.system, mbdae.Projected(method, project) if project else method, (0.0, t_end), rtol=1e-6, atol=1e-8)
    if not s.success:
        raise RuntimeError(f"{s.method}: {s.message}")
    return s


def study(t_end=EXAMPLE.t_end):
    """`{(name, project): Solution}`."""
    return {(name, project): run(method, project, t_end) for name, method in METHODS.items() for project in PROJECTIONS}


def rows(runs):
    """Plain dictionaries: steps, and the largest errors."""
    return [{"method": name, "project": project, "steps": s.statistics.steps, **common.largest(EXAMPLE, s)}
            for (name, project), s in runs.items()]


def draw(runs, path, t_end):
    """A panel for each method."""
    with style():
        figure = new_figure(7.4, 3.2)
        panels = figure.subplots(1, len(METHODS), sharey=True)
        for axis, name in zip(panels, METHODS):
            for project, (label, how) in PROJECTIONS.items():
                s = runs[name, project]
                t, y = common.envelope(s.t, common.energy_error(EXAMPLE, s), t_end, PARTS)
                axis.semilogy(t, np.maximum(y, FLOOR), label=label, **how)
            axis.set(title=name, xlabel="time  [s]", xlim=(0.0, t_end))
        panels[0].set_ylabel("$|H - H_0|$  [J]")
        part = f"largest error in every {t_end / PARTS:.3g} s"
        figure.suptitle(f"Simple pendulum, other methods with projections around them: {part}", fontsize=10)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        save(figure, path)


def main(output, t_end=EXAMPLE.t_end):
    """Run, print, draw, write; returns the line for the summary."""
    runs = study(t_end)
    table = rows(runs)
    show([[f"{r['method']}, {PROJECTIONS[r['project']][0]}", r["steps"], *(f"{r[k]:.1e}" for k in common.QUANTITIES)]
                 for r in table], ["", "steps", "position", "velocity", "acceleration", "energy [J]"])
    draw(runs, output / "around_others.png", t_end)
    write_csv(output / "around_others.csv", table)
    kept = ", ".join(f"{r['energy']:.1e}" for r in table if r["project"] == "PVAE-0")
    return f"energy errors with PVAE-0: {kept} J"


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
