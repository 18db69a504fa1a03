"""What the paper book says of each table and figure of this paper."""

from paper_book.records import Item, Paper, Reduced, Values, Verdict

FEWER = (0.5, 2.0)  # counts of another model

_COUNTS = "#Je counts difference approximations of the Jacobian, #fc calls of the residual, #fcw those of the corrector."

PAPER = Paper(
    folder="corrector_iteration", key="Arnold",
    title="Arnold, Fuchs, Führer: efficient corrector iteration",
    source="M. Arnold, A. Fuchs, C. Führer, Efficient corrector iteration for DAE time integration in multibody dynamics, Comput. Methods "
           "Appl. Mech. Engrg. 195 (2006) 6958-6973. Its solver is DASSL; here DASPK, its successor, IDA and our Bdf stand for it.",
    notes=("\"sparse\" of the paper is \"estimated\" here: groups of columns in a pattern that is estimated and grows.",
           "Both vehicles are SIMPACK models that are not public. Those of the library have their topology and sizes."),
    items=(
        Item("Figure 1", "rear axle on a stamp", "A sketch of a test rig whose stamp moves one wheel up and down; no results.",
             Verdict.NOT_IMPLEMENTED, "The paper computes nothing with it; there is no such model in the library.", ("26",)),
        Item("Figure 2", "train carriage on a line change", "A picture of the model: car body, two bogies, four wheelsets.",
             Verdict.STAND_IN, "[rail-carriage](../mechanisms/rail-carriage.md) has the same bodies, coordinates and constraints."),
        Item("Figure 3", "sparsity of the Jacobian", "The pattern of the 98 x 98 Jacobian of the train carriage: at most 1620 non-zeros in "
             "15 s; the blocks of car body, bogies and wheelsets are visible.", Verdict.STAND_IN,
             "The printed numbers are upper bounds. Panels of the residual and of the explicit form.", ("7", "9", "10", "19"), "figures3_5",
             ("figure3_explicit.png", "figure3_residual.png"),
             (Values("figures3_5.csv", "non-zeros", "nonzeros", "published_nonzeros", ("form",)),)),
        Item("Figure 4", "consistent partitioning of the columns", "The pattern again, columns of a group of TOMS 618 in one colour.",
             Verdict.STAND_IN, "One picture has the columns and the groups (figure 5).", ("20",), "figures3_5", ("figures4_5_explicit.png",)),
        Item("Figure 5", "groups of columns", "The columns of each group side by side: at most 46 groups for 98 columns.", Verdict.STAND_IN,
             "The number of groups is at least the largest number of non-zeros in a row.", ("20",), "figures3_5",
             ("figures4_5_residual.png",), (Values("figures3_5.csv", "groups", "groups", "published_groups", ("form",)),)),
        Item("Table 1", "train carriage: dense, sparse and partitioned differences", "Four strategies for both forms of the equations. "
             f"{_COUNTS} The best combination saves about half of the time, and the form hardly matters.", Verdict.STAND_IN,
             "The model, and so the counts, are others than in the paper; what is compared is the kind of savings. Counts scatter "
             "between tolerances a few per cent apart, which a full run of the script shows.", ("16", "20", "24", "25"), "table1", (), (
                 Values("table1.csv", "percent of the time of plain dense differences", "percent", "published_percent",
                        ("solver", "form", "strategy")),
                 Values("table1.csv", "#Je", "jacobians", "published_jacobians", ("solver", "form", "strategy")),
                 Values("table1.csv", "#fc", "evaluations", "published_evaluations", ("solver", "form", "strategy")),
                 Values("table1.csv", "#fcw", "evaluations_corrector", "published_evaluations_corrector",
                        ("solver", "form", "strategy")))),
        Item("Figure 6", "chain of pendulums", "A sketch: N rods hang from a point that moves on an ellipse.", Verdict.NOTHING,
             "In the library: [pendulum-chain](../mechanisms/pendulum-chain.md).", ("26",)),
        Item("Figure 7", "when Jacobians are evaluated and updated", "The excitation of the chain with N = 16 over 200 s, a dotted line for "
             "each difference approximation and a dashed one for each update. Plain: 43 approximations; with extended updates: 6.",
             Verdict.DIFFERS, "\"0.05 Hz\" has two readings, cycles and radians per second; there is a picture for each. Extended updates replace "
             "most of the approximations, as in the paper. Counts of single runs scatter by more than a factor of two between tolerances a few "
             "per cent apart: table 2 has the ranges, for these runs, too.", ("16", "26"), "figure7",
             ("figure7_0.05_Hz.png", "figure7_0.05_rad_s.png"), (
                 Values("figure7.csv", "#Je", "jacobians", "published_jacobians", ("frequency", "strategy"), band=FEWER),)),
        Item("Table 2", "chain of pendulums: extended partitioned updates", "Jacobians, updates and time for N = 12 and 14, for four "
             "strategies. Extended updates leave a tenth of the Jacobians and save 10 to 30 % of the time.", Verdict.REPRODUCED,
             "Single counts are a matter of luck: the chain is undamped and the tolerances are wide, so that tolerances a few per cent apart "
             "give other counts. The ranges beside ours are those of runs at tolerances nearby, and the printed counts lie in them, a weak "
             "test with ranges as wide as these. Times are not judged: the residual is compiled here, so fewer evaluations save hardly any.",
             ("16", "26"), "table2", (), (
                 Values("table2.csv", "#Je with DASPK, 0.05 cycles per second", "jacobians", "published_jacobians", ("links", "strategy"),
                        (("solver", ("Odes:ddaspk:ggl",)), ("frequency", ("0.05 Hz",))), span=("least_jacobians", "largest_jacobians")),
                 Values("table2.csv", "updates with DASPK, 0.05 cycles per second", "updates", "published_updates", ("links", "strategy"),
                        (("solver", ("Odes:ddaspk:ggl",)), ("frequency", ("0.05 Hz",)),
                         ("strategy", ("dense:extended", "estimated:extended"))), span=("least_updates", "largest_updates")),
                 Values("table2.csv", "percent of the time of plain dense differences", "percent", "published_percent",
                        ("links", "frequency", "solver", "strategy"), (("solver", ("Odes:ddaspk:ggl",)),)))),
        Item("Figure 8", "passenger car", "A picture of the model.", Verdict.STAND_IN,
             "[passenger-car](../mechanisms/passenger-car.md) has double wishbones and five-link axles on bushings and a rheonomic steering."),
        Item("Table 3", "passenger car in periodic lane changes", "Jacobians and time of six strategies over 5 s: partitioned updates take 30 %, "
             "and with sparse differences and extended updates 14 % of the plain solver's.", Verdict.STAND_IN,
             "The last column of the printed table is that of the Jacobians, not of the times beside it; both are compared. The model is smaller "
             "than the paper's and needs few Jacobians at all, so that counts of single runs scatter, and what extended updates cost at the start "
             "is not earned back. Partitioned updates save most here.", ("16", "20", "24", "26"), "table3", (), (
                 Values("table3.csv", "#Je in per cent of plain dense differences", "jacobians_percent", "published_jacobians_percent",
                        ("solver", "strategy")),
                 Values("table3.csv", "time in per cent of plain dense differences", "cpu_percent", "published_cpu_percent",
                        ("solver", "strategy")),
                 Values("table3.csv", "#Je", "jacobians", "published_jacobians", ("solver", "strategy")))),
    ),
    reduced={
        "table1": Reduced({"repeats": 1, "nearby": [1.0]}, "one repeat of each time and no tolerances nearby, not five and seven"),
        "table2": Reduced({"repeats": 1, "nearby": [f / 100 for f in range(87, 116)],
                           "solvers": ["Odes:ddaspk:ggl"]},
                          "DASPK only, one repeat of each time and 29 tolerances nearby, not all solvers, five and fifteen"),
        "table3": Reduced({"repeats": 1, "nearby": [0.98, 1.0, 1.02]},
                          "one repeat of each time and three tolerances nearby, not five and seven"),
    })
