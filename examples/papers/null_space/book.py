"""What the paper book says of each table and figure of this paper."""

from paper_book.records import Item, Paper, Values, Verdict

EXACT = (1.0 - 1e-9, 1.0 + 1e-9)
_PENDULUM = "[stiff-pendulum](../mechanisms/stiff-pendulum.md)"
_DOUBLE = "The data of this double pendulum are those of another paper and not public: `stiff-double-pendulum` of the library stands in."
_SPAN = "How long the paper's runs are cannot be read off the text: 240 s are chosen. Within 600 s the classical method fails at each amplitude, " \
        "the later the smaller it is (second table of the output); so the span decides what the figure shows."


def _words(csv: str, number: int, what: str = "stable or not") -> tuple[Values, ...]:
    return (Values(csv, what, "here", "published", ("figure", "h"), (("figure", (number,)),)),)


def _pendulum(number: int, title: str, shows: str, script: str, equations: tuple[str, ...]) -> Item:
    return Item(f"Figure {number}", title, shows, Verdict.REPRODUCED, "", equations, script, (f"figure{number}.png",),
                _words(f"{script}.csv", number))


def _torque(number: int, way: str) -> tuple[Values, ...]:
    return (Values("figures8_10.csv", "works within 240 s or fails", "here", "published", ("way", "torque"),
                   (("way", (way,)), ("torque", (5.0, 6.0, 7.0, 9.0)))),)


_BOUNDS = {18: "position", 19: "velocity", 20: "acceleration"}
LEVELS = {18: "positions", 19: "velocities", 20: "accelerations"}

PAPER = Paper(
    folder="null_space", key="Bustos",
    title="Fernández de Bustos, Uriarte, Urkullu, García-Marina: a null-space based integrator",
    source="I. Fernández de Bustos, H. Uriarte, G. Urkullu, V. García-Marina (2021), on Newmark's method in null-space coordinates. Its alpha "
           "is gamma here.",
    notes=("Captions of figures 8 to 10 have 5, 6, 7 and 9 N m, the text 5, 6, 8 and 9.",
           "Table 2 has three misprinted masses."),
    items=(
        Item("Figure 1", "typical integration algorithm", "A flowchart of Newton's method on index-3 equations.", Verdict.NOTHING,
             "`mbdae.Newmark`.", ("7", "10")),
        Item("Figure 2", "stiff pendulum", "A sketch.", Verdict.NOTHING, f"In the library: {_PENDULUM}.", ("12", "13")),
        _pendulum(3, "central differences, minimal coordinates", "The angle over time for steps of 0.01, 0.1, 0.6 and 0.7 s: the last one is "
                  "unstable, as the linear limit of 0.639 s says.", "figures3_5", ("11", "18", "21", "22")),
        _pendulum(4, "Fox-Goodwin, minimal coordinates", "Steps up to 0.78 s are stable, 0.79 s is not; the limit is 0.78246 s.",
                  "figures3_5", ("11",)),
        _pendulum(5, "trapezoidal rule, minimal coordinates", "Steps up to 6 s are stable.", "figures3_5", ("11",)),
        _pendulum(6, "trapezoidal rule with constraints", "Steps up to 6 s work in (x, y, angle), too.", "figures6_7", ("10", "23", "24")),
        _pendulum(7, "Fox-Goodwin with constraints", "It fails at each step size.", "figures6_7", ("10", "23", "24")),
        Item("Figure 8", "larger torques, constraints", "The angle by the trapezoidal rule in steps of 0.1 s for four amplitudes of the torque: "
             "it fails at 9 N m.", Verdict.STAND_IN, _SPAN, ("10", "23"), "figures8_10", ("figure8.png",), _torque(8, "classical")),
        Item("Figure 9", "larger torques, minimal coordinates", "The same in the angle alone: it works at each amplitude.",
             Verdict.REPRODUCED, "240 s as in figure 8.", ("13",), "figures8_10", ("figure9.png",), _torque(9, "minimal")),
        Item("Figure 10", "larger torques, force of the pin", "The x-component of the reaction by the classical method: it swings from step to "
             "step, and more so with larger amplitudes.", Verdict.STAND_IN, _SPAN, ("10", "23"), "figures8_10", ("figure10.png",)),
        Item("Figure 11", "the algorithm", "A flowchart of the method in null-space coordinates.", Verdict.NOTHING,
             "`mbdae.NullSpaceNewmark`.", ("34", "52", "56", "57", "58")),
        _pendulum(12, "Fox-Goodwin, null-space coordinates", "Steps of 0.1, 0.6 and 0.78 s are stable, 0.79 s is not, as in figure 4.",
                  "figures12_13", ("11", "52")),
        _pendulum(13, "trapezoidal rule, null-space coordinates", "Steps up to 6 s are stable.", "figures12_13", ("52",)),
        Item("Figure 14", "double pendulum", "A sketch.", Verdict.STAND_IN, _DOUBLE),
        Item("Figure 15", "double pendulum, classical Newmark", "The angle of the first bar with gamma = 0.5000005, beta = 0.2500006 in steps of "
             "1e-3 s looks right.", Verdict.STAND_IN, _DOUBLE, ("10",), "figures15_16", ("figure15.png",)),
        Item("Figure 16", "double pendulum, forces of the support", "Both components of the reaction: they swing from step to step without end.",
             Verdict.STAND_IN, f"{_DOUBLE} Below them are the forces in null-space coordinates. The trapezoidal rule itself fails, gamma = 0.5001, "
             "beta = 0.2507 works, as in the paper.", ("10",), "figures15_16", ("figure16.png",)),
        Item("Figure 17", "double pendulum, null-space coordinates", "The angles by Fox-Goodwin with steps of 5e-4 s, 10 s.", Verdict.STAND_IN,
             _DOUBLE, ("52",), "figures17_20", ("figure17.png",)),
        *(Item(f"Figure {number}", f"constraints on {LEVELS[number]}", f"The norm of the {level} constraints over time: below "
               f"{'1e-10, with its largest value at the start' if number == 20 else '3e-14'}.", Verdict.STAND_IN,
               f"{_DOUBLE} The bound is that of the paper.", ("38", "42", "52"), "figures17_20", (f"figure{number}.png",),
               (Values("figures17_20.csv", "largest norm after 0.05 s, and its bound", "later", "published", ("level",),
                       (("figure", (number,)),), (0.0, 1.0)),
                Values("figures17_20.csv", "the same in the first 0.05 s", "start", "published", ("level",), (("figure", (number,)),)),))
          for number, level in _BOUNDS.items()),
        Item("Figure 21", "largest natural frequency of the double pendulum", "It is large at the start and falls; steps of 5e-3 s are inside of "
             "the limit afterwards.", Verdict.STAND_IN, f"{_DOUBLE} Panel (b) has the steps that the frequency allows: with these data 5e-3 s is "
             "beyond the limit.", ("11", "40", "47", "52"), "figures21_22", ("figure21.png",)),
        Item("Figure 22", "double pendulum, steps of 5e-3 s", "The angle by Fox-Goodwin with steps of 5e-3 s: not accurate, but stable.",
             Verdict.DIFFERS, "5e-3 s is beyond the limit that the stand-in's frequency gives, so it is unstable here; steps on both sides of that "
             f"limit behave as it says. {_DOUBLE}", ("11", "25", "52"), "figures21_22", ("figure22.png",),
             (Values("figures21_22.csv", "stable or not", "here", "published", ("h",)),)),
        Item("Figure 23", "Andrews' mechanism", "A sketch.", Verdict.NOTHING, "In the library: [andrews](../mechanisms/andrews.md)."),
        Item("Table 1", "fixed joints of Andrews' mechanism", "Input data.", Verdict.REPRODUCED, script="tables1_2", values=(
            Values("tables1_2.csv", "coordinates [m]", "ours", "published", ("what",), (("table", (1,)),), EXACT),)),
        Item("Table 2", "bars of Andrews' mechanism", "Input data: masses, lengths, moments of inertia, centres of mass; with them those of the "
             "text for the body BDE and the spring.", Verdict.DIFFERS, "Three masses are misprints: OF lacks a digit, AG has the mass of AH and AH "
             "that of BDE. The paper's frequency (figure 25) comes out with the masses of the "
             "benchmark, which the library has.", script="tables1_2", values=(
                 Values("tables1_2.csv", "data [SI]", "ours", "published", ("what",), (("table", (2,)),), EXACT),)),
        Item("Section 6", "Andrews' mechanism by the classical method", "With (beta, gamma) = (0.25, 0.5) the classical method fails; only "
             "(0.2507, 0.5001) gives a solution.", Verdict.DIFFERS, "With steps of 2e-6 s the classical trapezoidal rule reaches the end here. What "
             "is wrong with it shows in the multipliers (last column of the table in the output), as in figure 16; the paper does not state its "
             "step, its tolerance or when it fails.", ("10",), "figures24_27", (), (
                 Values("figures24_27.csv", "works or fails", "here", "published", ("method", "h"),
                        (("method", ("classical, (0.25, 0.5)", "classical, (0.2507, 0.5001)")),)),)),
        Item("Figure 24", "Andrews' mechanism, coordinates of F", "Coordinates of the crank pin over 0.05 s by Fox-Goodwin with steps of 2e-6 s; "
             "the error is below 2.28e-6.", Verdict.REPRODUCED, "The text does not say of which quantity the error is: judged is the angle of the "
             "crank, whose error is the larger one.", ("52",), "figures24_27", ("figure24.png",), (
                 Values("figures24_27.csv", "largest error of the angle of the crank [rad], and the bound", "error_crank", "published_error",
                        ("method", "h"), band=(0.0, 1.0)),
                 Values("figures24_27.csv", "largest error of F [m]", "error_pin", "published_error", ("method", "h")))),
        Item("Figure 25", "Andrews' mechanism, largest natural frequency", "It reaches 4503.477 rad/s, from which steps up to 5.44e-4 s are "
             "concluded to be stable.", Verdict.REPRODUCED, "The number is the largest frequency of the bodies with the constraints left out. The "
             "reduced system, which section 5 names as the one to be looked at, has a far smaller one (second curve), which explains that "
             "6e-4 s and 1e-3 s are stable.", ("11", "26", "52"), "figures24_27", ("figure25.png",), (
                 Values("figure25.csv", "largest frequency [rad/s]", "largest", "published", ("of",), band=(0.999, 1.001)),
                 Values("figure25.csv", "largest stable step [s]", "limit", "published_limit", ("of",), band=(0.99, 1.01)))),
        Item("Figure 26", "Andrews' mechanism, steps of 5e-4 s", "Coordinates of F: less accurate, and stable.", Verdict.REPRODUCED, "",
             ("52",), "figures24_27", ("figure26.png",), (
                 Values("figures24_27.csv", "works or fails", "here", "published", ("method", "h"), (("h", (5e-4,)),)),)),
        Item("Figure 27", "Andrews' mechanism, steps of 6e-4 s", "Stable beyond the limit of figure 25; so is 1e-3 s.", Verdict.REPRODUCED, "",
             ("52",), "figures24_27", ("figure27.png",), (
                 Values("figures24_27.csv", "works or fails", "here", "published", ("method", "h"), (("h", (6e-4, 1e-3)),)),)),
        *(Item(f"Table {number}", title, f"Step, drift of energy and time of published codes at {limit}; the paper's own method takes {time}.",
               Verdict.REPRODUCED, "The rows of other codes are in the output. Ours are at the step that others take and at the largest that keeps "
               "the limit. Times belong to different machines.", ("52",), "tables3_4", (f"table{number}.png",), (
                   Values(f"table{number}.csv", "drift of energy [J] beside its limit", "drift", "limit", ("rule", "coordinates", "step"),
                          band=(0.0, 1.0)),
                   Values(f"table{number}.csv", "CPU time [s] beside that of the paper's method", "seconds", "paper_seconds",
                          ("rule", "coordinates", "step"))))
          for number, title, limit, time in ((3, "double four-bar", "a drift of at most 0.1 J", "0.4 s"),
                                             (4, "Bricard's mechanism", "a drift of at most 1e-3 J", "0.357 s"))),
    ))
