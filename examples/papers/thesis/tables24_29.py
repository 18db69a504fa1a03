"""Tables 24 to 29 and figures 18 to 22: times for the stiff vehicle by an explicit and five implicit methods, over tolerance and length.

The explicit code is VODE with Adams formulas and functional iteration in the place of DEABM. Stability bounds its step, so it runs over a
small part of every second of the motion only, and times are scaled. Every implicit run is carried out from 0 to the end. The published
times are seconds of 1998. Their ratio to ours would be the same number everywhere if methods and codes behaved alike on both machines.
"""

import common_vehicle as common
import numpy as np
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from mbdae.cli.scripts import output_folder, show
from mbdae.pictures.curves import save
from mbdae.pictures.figures import look, new_figure, style
from mbdae.studies import write_csv

IMPLICIT = ("SspTrap", "InflSDIRK", "InflTrap", "ForSDIRK", "ForRosen", "ForRosen, filtered")
FIVE = IMPLICIT[:5]
WINDOW = 0.0125  # s of every second of motion that the explicit code runs
DESCRIPTOR = ("InflSDIRK and InflTrap have the augmented matrix and a correction of rank 18; the sparse matrix of the thesis, 178 x 178, "
              "is compared in descriptor.py")
K = -3  # exponent of the tolerance of figures 18, 19 and 22


def study(tolerances=common.TOLERANCES, lengths=common.LENGTHS, window=WINDOW, repeats=3):
    """`Cost` by `(method, k, length)`."""
    table = {(common.EXPLICIT, k, n): common.explicit_cost(k, n, window) for k in tolerances for n in lengths}
    return table | {(name, k, n): common.cost(name, k, n, repeats) for name in IMPLICIT for k in tolerances for n in lengths}


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def report(table, window=WINDOW):
    """Print one table for each method, then work and errors."""
    tolerances, lengths = (tuple(dict.fromkeys(key[i] for key in table)) for i in (1, 2))
    for name in dict.fromkeys(key[0] for key in table):
        number = f"table {common.TABLES[name][0]}" if name in common.TABLES else "not in the thesis"
        print(f"\n  {number}, {name}" + (f": VODE over {window:g} s of every second, scaled" if name == common.EXPLICIT else ""))
        head = [f"1e{k}: {what}" if not i else what for k in tolerances for i, what in enumerate(("ours [ms]", "thesis [s]", "ratio"))]
        show([[f"{n} s", *(x for k in tolerances for x in time_cells(table[name, k, n]))] for n in lengths], ["", *head])
    print(f"\n  work and error of the height at the end, {lengths[0]} s")
    show([_work(table[name, k, lengths[0]]) for name in dict.fromkeys(key[0] for key in table) for k in tolerances], _WORK_HEAD)


def time_cells(c):
    """Ours in milliseconds, published in seconds, published over ours."""
    ours = f"{1e3 * c.seconds:.3g}" if c.seconds < 1.0 else f"{1e3 * c.seconds:.0f}"
    return ours, f"{c.published:g}" if c.published else None, f"{c.published / c.seconds:.0f}" if c.published else None


_WORK_HEAD = ("method", "k", "steps", "rejected: error", "Newton", "evaluations", "Jacobians", "iterations", "error / 10^k")


def _work(c):
    return (c.method, c.k, c.steps, c.rejected_error, c.rejected_newton, c.evaluations, c.jacobians, c.iterations,
            f"{c.error / 10.0**c.k:.2g}" if np.isfinite(c.error) else None)


def ranking(table, k, length):
    """The five implicit methods, the fastest first: ours and those of the thesis."""
    ours = sorted(FIVE, key=lambda name: table[name, k, length].seconds)
    return tuple(ours), tuple(sorted(FIVE, key=lambda name: common.published(name, k, length) or np.inf))


def gains(table, k, length):
    """By method: time of the explicit code over that of the method, ours and published, and the same of evaluations."""
    explicit, found = table[common.EXPLICIT, k, length], {}
    for name in IMPLICIT:
        c = table[name, k, length]
        theirs = explicit.published / c.published if c.published and explicit.published else None
        found[name] = (explicit.seconds / c.seconds, theirs, explicit.evaluations / c.evaluations,
                       explicit.evaluations / (c.evaluations + c.jacobians * 2 * common.system().dof))
    return found


def _gains(table):
    """Lines for a file: time of the explicit code over that of each method, ours and published, for all tolerances and lengths."""
    keys = dict.fromkeys(key[1:] for key in table)
    return [{"method": name, "k": k, "length": n, "gain": a, "published": b}
            for k, n in keys for name, (a, b, _, _) in gains(table, k, n).items()]


def compare(table):
    """Print what the thesis concludes beside ours: gains over the explicit code, order of the methods, steps."""
    tolerances, lengths = (tuple(dict.fromkeys(key[i] for key in table)) for i in (1, 2))
    k, n = K if K in tolerances else tolerances[0], lengths[0]
    print(f"\n  explicit / implicit, 1e{k}, {n} s")
    rows = [(name, f"{a:.0f}", f"{b:.0f}" if b else None, f"{c:.0f}", f"{d:.0f}") for name, (a, b, c, d) in gains(table, k, n).items()]
    show(rows, ("method", "time", "thesis", "evaluations", "with 36 for a Jacobian"))
    print(f"\n  order of the methods, {n} s, the fastest first")
    orders = {k: ranking(table, k, n) for k in tolerances}
    show([(f"1e{k}", who, " < ".join(order)) for k, pair in orders.items() for who, order in zip(("ours", "thesis"), pair)],
         ("", "", "order"))
    if -5 in tolerances and n == 1:
        print("\n  accepted steps in 1 s at 1e-5: " + ", ".join(
            f"{name} {table[name, -5, 1].steps} (thesis {steps})" for name, steps in common.STEPS.items())
            + f", ForRosen, filtered {table['ForRosen, filtered', -5, 1].steps}")


# --- figures -----------------------------------------------------------------------------------------------------------------------------


def draw(table, output):
    """Figures 18 to 22, each with a panel for the thesis and one for ours."""
    tolerances, lengths = (tuple(dict.fromkeys(key[i] for key in table)) for i in (1, 2))
    k, last, first = K if K in tolerances else tolerances[0], lengths[-1], lengths[0]

    def lines(names, keys):
        return {name: [table[(name, *key)] for key in keys] for name in names}

    by_length, by_tolerance = [(k, n) for n in lengths], [(j, last) for j in tolerances]
    at_k, explicit = f"tolerance 1e{k}", common.EXPLICIT
    figures = {"18": (f"explicit integration, {at_k}", lengths, lines([explicit], by_length)),
               "19": (f"implicit integration, {at_k}", lengths, lines(["SspTrap"], by_length)),
               "20": (f"explicit and implicit integration, {last} s of motion", tolerances, lines([explicit, "SspTrap"], by_tolerance)),
               "21": (f"five implicit methods, {first} s of motion", tolerances, lines(FIVE, [(j, first) for j in tolerances])),
               "22": (f"five implicit methods, {at_k}", lengths, lines(FIVE, by_length))}
    for number, (title, x, found) in figures.items():
        _draw(found, x, f"HMMWV14, stiff: {title}", number not in ("18", "19"), output / f"figure{number}.png")


def _draw(found, x, title, log, path):
    with style():
        figure = new_figure(7.2, 3.5)
        figure.suptitle(title, fontsize=9.5)
        panels = figure.subplots(1, 2)
        for axis, (head, quantity) in zip(panels, (("thesis, SGI Onyx (1998)", "published"), ("mbdae, this machine", "seconds"))):
            for name, costs in found.items():
                label = f"{name}, for which VODE stands on the right" if name == common.EXPLICIT else name
                axis.plot(range(len(x)), [getattr(c, quantity) or np.nan for c in costs], label=label, **look(_ORDER.index(name)))
            by_tolerance = x[0] < 0
            axis.set(ylabel="time  [s]", xlabel="tolerance" if by_tolerance else "length of the motion  [s]", xlim=(-0.3, len(x) - 0.7))
            axis.set_xticks(range(len(x)), [f"1e{n}" if by_tolerance else str(n) for n in x])
            axis.set_title(head, loc="left", fontsize=9)
            if log:
                _log_axis(axis)
            else:
                axis.set_ylim(bottom=0.0)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(found))
        save(figure, path)


def _log_axis(axis):
    """A logarithmic axis with plain numbers at 1, 2, 5 of every decade."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axis.yaxis.set_minor_locator(NullLocator())


_ORDER = (common.EXPLICIT, *FIVE)


def main(output, **settings):
    """Run, print, draw; returns the line for the summary."""
    print(f"  {common.STAND_IN}\n  {DESCRIPTOR}")
    table = study(**settings)
    report(table, settings.get("window", WINDOW))
    compare(table)
    draw(table, output)
    write_csv(output / "tables24_29.csv", list(table.values()))
    write_csv(output / "gains.csv", _gains(table))
    k, n = next((key[1], key[2]) for key in table if key[1] == K or K not in settings.get("tolerances", (K,)))
    return f"explicit / implicit at 1e{k}, {n} s: " + ", ".join(
        f"{name} {a:.0f}" + (f" ({b:.0f})" if b else "") for name, (a, b, _, _) in gains(table, k, n).items())


if __name__ == "__main__":
    print(main(output_folder(__doc__, common.OUTPUT)))
