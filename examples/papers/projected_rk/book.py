"""What the paper book says of each table and figure of this paper."""

from paper_book.records import Item, Paper, Values, Verdict

DIGIT = (0.0, 10.0)  # magnitudes, to a digit or better
SAME_DIGIT = (0.1, 10.0)
PROJECTED = ("R-K-PV", "R-K-PVAE-n", "R-K-PVAE-0")
UNITS = {"position": "position level", "velocity": "velocity level", "acceleration": "acceleration level", "energy": "energy"}


def _errors(quantity: str, example: str, methods: tuple[str, ...], what: str,
            band: tuple[float, float] | None = DIGIT) -> tuple[Values, ...]:
    return (Values("errors.csv", what, quantity, f"published_{quantity}", ("method", "end"),
                   (("example", (example,)), ("method", methods)), band, script="errors"),)


_RK_ENDS = "The run without projections ends here where Newton's method finds no stages any more, with a status; the paper's goes on with " \
           "wrong values."
_START = "Start, step and length of the run are not in the text: those of the library stand in, so only magnitudes can be compared."
_ORBIT = "Orbit, spin, step and length of the run are not in the text: those of the library stand in."

PAPER = Paper(
    folder="projected_rk", key="Wei",
    title="Wei, Deng, Li, Wang: projected Runge-Kutta methods",
    source="Y. Wei, Z. Deng, Q. Li, B. Wang, Projected Runge-Kutta methods for constrained Hamiltonian systems, Applied Mathematics and "
           "Mechanics 37 (2016) 1077-1094.",
    notes=("Figures of errors have four panels here, one for each level and one for the energy; the paper has a figure for each.",
           "Its numbers are magnitudes read off curves; a digit is what can be compared."),
    items=(
        Item("Figure 1", "simple pendulum", "A sketch.", Verdict.NOTHING,
             "In the library: [particle-pendulum](../mechanisms/particle-pendulum.md)."),
        Item("Table 1", "the four methods", "Names of the Gauss method of three stages with its projections: none, PV, PVAE-n, PVAE-0.",
             Verdict.NOTHING, "`mbdae.ProjectedGauss(stages=3, project=..., stages_hold=\"position\")` with `\"\"`, `\"PV\"`, `\"PVAE-n\"`, `\"PVAE-0\"`.",
             ("10", "11", "28", "29", "30")),
        Item("Figure 2", "pendulum, positions", "Constraint errors over 30 s: without projections they grow after 6 s until the rod's length "
             "varies from 0.6 to 1.4 m; with projections they stay at 1e-16.", Verdict.REPRODUCED, _RK_ENDS, ("10", "16", "19", "28"),
             "figures2_to_5", ("figures2_to_5.png",),
             _errors("position", "Simple pendulum", PROJECTED, "largest constraint error of positions with projections [m^2]")
             + _errors("position", "Simple pendulum", ("R-K",), "the same without projections", None)),
        Item("Figure 3", "pendulum, velocities", "Without projections the errors reach 1e8 at 30 s; with them they are far smaller.",
             Verdict.DIFFERS, _RK_ENDS + " With projections errors are at rounding, as in the paper.", ("22", "28"), "figures2_to_5",
             ("figures2_to_5.png",), _errors("velocity", "Simple pendulum", ("R-K",), "largest constraint error of velocities [m^2/s]",
                                             SAME_DIGIT)),
        Item("Figure 4", "pendulum, accelerations", "Without projection of accelerations constraints are violated, most of all without any; "
             "with it errors stay at 1e-14.", Verdict.REPRODUCED, "", ("25", "29", "30"), "figures2_to_5", ("figures2_to_5.png",),
             _errors("acceleration", "Simple pendulum", PROJECTED, "largest constraint error of accelerations [m^2/s^2]")),
        Item("Figure 5", "pendulum, energy", "Without projections the energy error is 1e15 J at 30 s; with PV it grows linearly to 1e-6 J; "
             "with the energy projected it stays small, and PVAE-0 is steadier than PVAE-n.", Verdict.DIFFERS,
             "With PV the error is smaller than the paper's; with a single Newton iteration per step, last line of the table, it is of the "
             f"paper's size. It grows linearly, and PVAE-0 is steadier than PVAE-n, as the paper says. {_RK_ENDS}", ("29", "30"),
             "figures2_to_5", ("figures2_to_5.png",),
             _errors("energy", "Simple pendulum", ("R-K-PV", "R-K-PV, one iteration"), "largest energy error [J]", SAME_DIGIT)
             + _errors("energy", "Simple pendulum", ("R-K",), "largest energy error without projections [J]", None)),
        Item("Figure 6", "double spherical pendulum", "A sketch.", Verdict.NOTHING,
             "In the library: [double-spherical-pendulum](../mechanisms/double-spherical-pendulum.md)."),
        Item("Figure 7", "path of mass B around mass A", "Two views of the path: with projections it stays on its sphere, without it does not.",
             Verdict.STAND_IN, _START, ("28", "30"), "figures7_to_11", ("figure7.png",)),
        *(Item(f"Figure {number}", f"double spherical pendulum, {level}", shows, Verdict.STAND_IN, _START, equations, "figures7_to_11",
               ("figures8_to_11.png",))
          for number, level, shows, equations in (
              (8, "positions", "Relative constraint errors of the second rod: very small with projections.", ("19", "28")),
              (9, "velocities", "The same on the level of velocities.", ("22", "28")),
              (10, "accelerations", "The same on the level of accelerations: small only with their projection.", ("25", "29", "30")),
              (11, "energy", "Relative energy error: smallest with PVAE-0.", ("29", "30")))),
        Item("Figure 12", "tethered satellites", "A sketch of three satellites on tethers.", Verdict.NOTHING,
             "In the library: [tethered-satellites](../mechanisms/tethered-satellites.md)."),
        Item("Figure 13", "trajectory of the centre of mass", "The path around the Earth: stable, without drift.", Verdict.STAND_IN, _ORBIT,
             ("30",), "figures13_to_17", ("figure13.png",)),
        Item("Figure 14", "tethered satellites, positions", "Relative constraint errors of a tether stay at 1e-15.", Verdict.STAND_IN,
             "Coordinates of an orbit of 7000 km are rounded to 1e-9 m, so that a tether of 1 km between them cannot be kept to 1e-15, whatever "
             f"the method; ours are at that rounding. {_ORBIT}", ("19", "30"), "figures13_to_17", ("figures14_to_17.png",),
             _errors("position", "Tethered satellites", ("R-K-PVAE-0",), "largest relative constraint error", SAME_DIGIT)),
        Item("Figure 15", "tethered satellites, velocities", "The same on the level of velocities: 1e-11.", Verdict.STAND_IN, _ORBIT,
             ("22", "30"), "figures13_to_17", ("figures14_to_17.png",),
             _errors("velocity", "Tethered satellites", ("R-K-PVAE-0",), "largest relative constraint error [1/s]")),
        Item("Figure 16", "tethered satellites, accelerations", "The same on the level of accelerations: 1e-13.", Verdict.STAND_IN, _ORBIT,
             ("25", "30"), "figures13_to_17", ("figures14_to_17.png",),
             _errors("acceleration", "Tethered satellites", ("R-K-PVAE-0",), "largest relative constraint error [1/s^2]")),
        Item("Figure 17", "tethered satellites, energy", "The relative energy error stays small.", Verdict.STAND_IN, _ORBIT, ("30",),
             "figures13_to_17", ("figures14_to_17.png",)),
    ),
    more={"orders": "Orders of Gauss methods of one to four stages on index-3 equations, with and without projections.",
          "around_others": "The projections of the paper around other methods."})
