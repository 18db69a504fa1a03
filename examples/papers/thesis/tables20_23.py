"""Tables 20 to 23: errors of angle and rate of body 1 of the stiff double pendulum over tolerances, two seconds.

The largest error is expected near the tolerance 10^k for the angle and near 10^(k+1) for the rate, so ratios to these are printed. They
depend on the coordinates: the stiff spring acts along one angle, which turns in Cartesian coordinates and in tangent planes. What comes
out:

- SDIRK in angles: errors of 0.1 to 0.4 of what is expected, with a few dozen steps. In the coordinates that full pivoting leaves, as the
  thesis has them, and in tangent planes there are three to seven times as many steps, and errors of the size of tables 20 and 22, the
  optimism of the step control included.
- The Rosenbrock method keeps errors within two to five times what is expected. Those of tables 21 and 23 are smaller by a digit: the step
  control of the thesis was more careful. It blames eq. (5.5), an estimate that grows with h lambda, and proposes to filter it, eq. (5.6).
- With and without the filter the steps are nearly the same here: between method and embedded formula lies R - R_hat, which tends to 0.37
  for stiff components, not to infinity, and these components are nearly zero in this motion.
"""

import csv
from dataclasses import asdict

import common_motion as common

COORDINATES = ("angles", "pivots", "tangent")


def study(tolerances=common.TOLERANCES, coordinates=COORDINATES, t_end=common.T_END):
    """`ErrorLine` by `(coordinates, method, k)` and quantity."""
    known, table = common.reference(t_end), {}
    for chosen in coordinates:
        with common.coordinates(chosen) as form:
            table |= {(chosen, name, k): common.error_lines(common.run(method, 10.0**k, t_end, form), known)
                      for name, method in common.METHODS.items() for k in tolerances}
    return table


def expected(quantity, k):
    """What the thesis expects of the largest error."""
    return 10.0 ** (k if quantity == "angle" else k + 1)


def published(method, quantity, k):
    """The line of the thesis; that of ForRosen for both variants of the Rosenbrock method."""
    return common.TABLES[method.split(",")[0], quantity][1].get(k)


def report(table):
    """Print ours beside what is published."""
    for chosen in dict.fromkeys(key[0] for key in table):
        for quantity in ("angle", "rate"):
            print(f"\n  coordinates: {chosen}; {quantity} of body 1")
            print(f"  {'method':<22}{'k':>3}{'steps':>7}{'t*':>10}{'largest':>11}{'/expected':>10}{'thesis':>11}{'/expected':>10}{'%':>9}"
                  f"{'average':>11}{'thesis':>11}")
            for (_, method, k), lines in ((key, x) for key, x in table.items() if key[0] == chosen):
                _print_line(method, quantity, k, lines[quantity])


def _print_line(method, quantity, k, line):
    theirs, scale = published(method, quantity, k), expected(quantity, k)
    known = f"{'-':>11}{'-':>10}", ""
    if theirs:
        known = f"{theirs.largest:>11.3e}{theirs.largest / scale:>10.2f}", f"{theirs.average:>11.2e}"
    print(f"  {method:<22}{k:>3}{line.steps:>7}{line.t:>10.6f}{line.largest:>11.3e}{line.largest / scale:>10.2f}{known[0]}"
          f"{line.percent:>9.4f}{line.average:>11.2e}{known[1]}")


def rows(table):
    """Plain dictionaries, for a file."""
    found = []
    for (chosen, method, k), lines in table.items():
        for quantity, line in lines.items():
            theirs = published(method, quantity, k)
            found.append({"coordinates": chosen, "method": method, "k": k, "quantity": quantity, **asdict(line),
                          "ratio": line.largest / expected(quantity, k),
                          **{f"published_{name}": getattr(theirs, name, None) for name in ("t", "largest", "average")}})
    return found


def main(output, **settings):
    """Run, print, write; returns the line for the summary."""
    table = study(**settings)
    report(table)
    lines = rows(table)
    with open(output / "tables20_23.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    ratios = {name: [x["ratio"] for x in lines if x["method"] == name and x["coordinates"] == COORDINATES[0]] for name in common.METHODS}
    return "error / expected: " + ", ".join(f"{name} {min(r):.2g} to {max(r):.2g}" for name, r in ratios.items())


if __name__ == "__main__":
    print(main(common.output_folder(__doc__)))
