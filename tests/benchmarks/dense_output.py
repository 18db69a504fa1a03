"""`python -m tests.benchmarks.dense_output [--methods NAME ...] [--mechanisms NAME ...] [--above X]`: errors between the steps.

For each mechanism, method and tolerance, of `q`, `v`, `a` and `lam`: the largest error at the steps of the method, relative to the largest
value of the quantity, and three ratios of such errors: at 101 times of `t_eval` over that at the steps, at the same times by `sol` over
that of `t_eval`, and by `sol` over that at the steps. `--above 3` prints only rows with a larger ratio. Methods with a fixed step size take
60, 120 and 240 steps. The reference is DormandPrince with tolerances and steps at rounding.
"""

import argparse
from functools import cache

import numpy as np

import mbdae
from mbdae import DormandPrince, library, registry

SPANS = {"andrews": 0.03, "double-spherical-pendulum": 1.0, "stiff-double-pendulum": 0.3, "stewart-platform": 1.0}  # [s]
TOLERANCES = (1e-4, 1e-6, 1e-8)
STEPS = (60, 120, 240)
OUTPUTS = 101
NAMES = ("q", "v", "a", "lam")
LOW_ORDER = ("Trapezoidal", "SolveIvp:RK23")  # only at the largest tolerance: the others take too many steps
REFERENCE_STEPS = {"stewart-platform": 600}  # beside the usual 2000
VARIANTS = {"DormandPrince": ("8", "5"), "RadauIIA": ("variable", "5", "9", "13"), "Rattle": ("2", "4", "6"), "Cvode": ("BDF", "Adams"),
            "ProjectedGauss": ("1", "2", "3"), "GeneralizedAlpha": ("position", "stabilised", "velocity", "acceleration"),
            "SolveIvp": ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"),
            "Odes": ("ida", "ddaspk", "lsodi", "cvode", "dop853", "dopri5"),
            "Assimulo": ("IDA", "CVode", "Radau5DAE", "Radau5ODE", "RodasODE", "ODASSL", "GLIMDA", "LSODAR", "Dopri5", "RungeKutta34"),
            "SolveDae": ("Radau3", "Radau5", "Radau7", "BDF")}
FORMS = {"Ida": ("gear", "ggl", "index2", "index1", "index3"), "Bdf": ("ggl", "gear", "index2", "index1", "index3"),
         **{name: ("partition", "tangent") for name in ("SdirkDescriptor", "SdirkFirstOrder", "RosenbrockNystrom", "TrapezoidalStateSpace",
                                                        "TrapezoidalDescriptor")}}


def all_methods():
    """Names of methods and forms."""
    found = []
    for family in registry.FAMILIES:
        for kind in (*VARIANTS.get(family.name, ("",)),):
            found += [":".join(filter(None, (family.name, kind, form))) for form in FORMS.get(family.name, ("",))]
    return found


@cache
def system_of(mechanism):
    """The system, made once."""
    return library.system(mechanism)


def exact(mechanism, times):
    """Reference states at increasing times, the start left out."""
    t_end = SPANS[mechanism]
    method = DormandPrince(max_step=t_end / REFERENCE_STEPS.get(mechanism, 2000))
    return mbdae.solve(system_of(mechanism), method, (0.0, t_end), rtol=3e-14, atol=3e-14, t_eval=times)


def sizes(*expected):
    """The largest values of `q`, `v`, `a`, `lam` in some solutions."""
    return np.array([max(np.abs(getattr(x, name)).max() for x in expected) for name in NAMES])


def errors(found, expected):
    """The largest errors of `q`, `v`, `a`, `lam`."""
    return np.array([np.abs(x - getattr(expected, name)).max() for name, x in zip(NAMES, found)])


def measured(name, mechanism, k):
    """Relative errors at the steps, at times of `t_eval` and by `sol`, shape (3, 4), and the number of steps; or why there are none."""
    spec, t_end, rtol = registry.find(name), SPANS[mechanism], TOLERANCES[k]
    method = spec.make(h=t_end / STEPS[k]) if spec.control == "h" else spec.make()
    times = t_end * (np.arange(OUTPUTS) + 0.4) / OUTPUTS
    options = {"formulation": spec.formulation, "rtol": rtol, "atol": rtol / 100}
    steps = mbdae.solve(system_of(mechanism), method, (0.0, t_end), dense_output=True, **options)
    given = mbdae.solve(system_of(mechanism), method, (0.0, t_end), t_eval=times, **options)
    if not (steps.success and given.success):
        return next(x.message for x in (steps, given) if not x.success)
    there, between = exact(mechanism, steps.t[1:]), exact(mechanism, times)
    found = [errors([getattr(steps, x)[1:] for x in NAMES], there), errors([getattr(given, x) for x in NAMES], between),
             errors(steps.sol(times), between)]
    return np.array(found) / sizes(there, between), len(steps.t) - 1


def line(mechanism, name, k, cells):
    """A row of the table."""
    return f"{mechanism:26}{name:34}{k:>6}{cells}"


def row(name, mechanism, k, above):
    """One measurement as a row; nothing if no ratio is larger than `above`."""
    level = f"{TOLERANCES[k]:.0e}" if registry.find(name).control == "rtol" else f"{STEPS[k]}"
    try:
        result = measured(name, mechanism, k)
    except (ValueError, ArithmeticError) as error:
        result = str(error)
    if isinstance(result, str):
        return line(mechanism, name, level, f"  {result.splitlines()[0][:100]}")
    (there, given, dense), n = result
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = given / there, dense / given, dense / there
    if not np.max(ratios) > above:
        return ""
    cells = [f"{n:7d}", *(f"{x:9.1e}" for x in there), *("  |" + "".join(f"{x:9.2g}" for x in part) for part in ratios)]
    return line(mechanism, name, level, "".join(cells))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="*", default=all_methods())
    parser.add_argument("--mechanisms", nargs="*", default=list(SPANS))
    parser.add_argument("--above", type=float, default=0.0)
    given = parser.parse_args()
    group = "  |" + "".join(f"{x:>9}" for x in NAMES)
    print(line("", "", "", f"{'':7}{'error at the steps':>36}  |{'t_eval / steps':>36}  |{'sol / t_eval':>36}  |{'sol / steps':>36}"))
    print(line("mechanism", "method", "rtol", f"{'steps':>7}{group[3:]}{3 * group}"))
    for mechanism in given.mechanisms:
        for name in given.methods:
            for k in range(1 if name.startswith(LOW_ORDER) else len(TOLERANCES)):
                text = row(name, mechanism, k, given.above)
                if text:
                    print(text, flush=True)


if __name__ == "__main__":
    main()
