"""What the paper book says of each table and figure of this paper."""

from paper_book.records import Item, Paper, Values, Verdict

EXACT = (1.0 - 1e-9, 1.0 + 1e-9)
COUNTS = (0.99, 1.01)  # iterations
GAIN = "time of HI over that of FI"

_ITERATIONS = "The paper plots CPU time and average Newton iterations per step for steps of 1e-4, 1e-3 and 1e-2 s over 8 s, with tolerances " \
              "chosen so that both methods are about as accurate. HI needs fewer iterations and about half the time."


def _performance(csv: str, band: tuple[float, float], more: tuple[Values, ...] = ()) -> tuple[Values, ...]:
    keys = ("method", "h", "tol")
    return (Values(csv, "Newton iterations per step", "iterations", "published_iterations", keys, band=band), *more,
            Values(csv, GAIN, "gain", "published_gain", ("h",), (("method", ("HI",)),)),
            Values(csv, "CPU time [s]", "seconds", "published_seconds", keys))


PAPER = Paper(
    folder="half_implicit", key="Fang",
    title="Fang, Kissel, Zhang, Negrut: half-implicit integration of index-3 equations",
    source="L. Fang, A. Kissel, R. Zhang, D. Negrut, On the use of half-implicit numerical integration in multibody dynamics, J. Comput. "
           "Nonlinear Dynam. 18 (2023) 014501. HI is its half-implicit, FI its fully implicit method.",
    notes=(
        "The authors' programs and the printed numbers are public: <https://github.com/uwsbel/sbel-reproducibility>, folder "
        "`2022/HalfImplicit_JCND`. Columns called archived have what these programs give when they are run.",
        "Times of the paper are those of Python programs, ours of compiled ones."),
    items=(
        Item("Figure 1", "the three mechanisms", "Sketches of the double pendulum, the slider-crank and the four-link mechanism.",
             Verdict.NOTHING, "In the library: [double-pendulum](../mechanisms/double-pendulum.md), "
             "[slider-crank](../mechanisms/slider-crank.md), [four-link](../mechanisms/four-link.md), with pictures.", ("2",)),
        Item("Table 1", "masses and moments of inertia of the slider-crank", "Input data, from Haug's book.", Verdict.REPRODUCED,
             script="tables1_2", values=(Values("tables1_2.csv", "data [SI]", "ours", "published", ("what",), (("table", (1,)),), EXACT),)),
        Item("Table 2", "lengths of the four-link mechanism", "Input data.", Verdict.REPRODUCED,
             "The width of the bars, 0.1 m, would enter masses only. With the density in the text the masses are others than those in the "
             "published program; ours are the latter (`masses=\"code\"`).",
             script="tables1_2", values=(Values("tables1_2.csv", "lengths [m]", "ours", "published", ("what",), (("table", (2,)),), EXACT),)),
        Item("Figure 2", "observed order on three mechanisms",
             "Errors over the step on logarithmic axes: height of bar 2 of the double pendulum, velocity of the slider, velocity of link 2 of "
             "the four-link mechanism. All are read as straight lines of slope one, for HI and for FI.", Verdict.REPRODUCED,
             "The error is the root mean square over the steps, as the text says; the plotting programs published with the paper compute "
             "other norms. Slopes of the double pendulum are fitted in the asymptotic range only. Positions of the driven mechanisms follow "
             "from the constraints and have no order.", ("3", "4", "13", "14"), "fig2_order", ("fig2_order.png",),
             (Values("fig2_slopes.csv", "slope of the plotted error", "measure", "published", ("mechanism", "method"), band=(0.9, 1.1)),)),
        Item("Figure 3", "energy of the double pendulum over 10 s",
             "The energy drains with FI, which is damped as backward Euler is, and holds steady with HI, which is symplectic.",
             Verdict.REPRODUCED, "The same in the right-hand panel magnified: with HI the energy swings with the motion and returns. The paper "
             "states no numbers.", ("4", "5", "13", "14"), "fig3_energy", ("fig3_energy.png",)),
        Item("Figure 4", "double pendulum: CPU time and iterations", _ITERATIONS, Verdict.REPRODUCED,
             "The iterations are the printed ones. That HI is faster holds at each step; how much faster depends on the machine and is not "
             "judged.", ("8", "11", "12", "13"), "fig4_double_pendulum", ("fig4_double_pendulum.png",),
             _performance("fig4_double_pendulum.csv", COUNTS)),
        Item("Figure 5", "slider-crank: CPU time and iterations", _ITERATIONS, Verdict.DIFFERS,
             "HI and FI need fewer iterations here. For HI the reason is a slip in the guess of the published program, see the row on the "
             "gyroscopic sign. For FI the archived program, run at the printed settings, gives our counts (table above), so the printed ones "
             "belong to another state of that program.",
             ("8", "11", "12", "13"), "fig5_slider_crank", ("fig5_slider_crank.png",),
             _performance("fig5_slider_crank.csv", COUNTS, (
                 Values("fig5_slider_crank.csv", "iterations of FI beside the archived program", "iterations", "archived_iterations",
                        ("method", "h"), (("method", ("FI",)),), beside="archived"),))),
        Item("Figure 6", "four-link mechanism: CPU time and iterations", _ITERATIONS, Verdict.DIFFERS,
             "HI needs fewer iterations here because of two slips in the published program: the gyroscopic sign, and 0.1 for a moment of "
             "inertia whose inverse it takes as 100; see the row on the gyroscopic sign. FI needs fewer than printed as on the slider-crank, "
             "where the archived program agrees with ours; for this mechanism it has not been run.",
             ("8", "11", "12", "13"), "fig6_four_link", ("fig6_four_link.png",), _performance("fig6_four_link.csv", COUNTS)),
        Item("Section 3.2", "the gyroscopic sign: our HI with the slips of the published program",
             "The published program computes the angular accelerations of its guess with `+ omega x J omega` where Euler's equations have a "
             "minus sign. The counts of figures 5 and 6 are those of that guess.", Verdict.REPRODUCED,
             "The last table has the archived program with the sign mended beside ours as it is: the same counts, but for the smallest step. "
             "Positions are the same with and without the slips, as a guess is forgotten once Newton's method has converged. On the four-link "
             "mechanism the two slips explain the printed counts at the two larger steps, and most of that at the smallest one.",
             ("4", "11", "12"), "gyroscopic_sign", (),
             (Values("gyroscopic_sign.csv", "iterations of HI with the slip, slider-crank", "slipped", "published", ("h",),
                     (("mechanism", ("slider-crank",)),), (0.98, 1.02)),
              Values("gyroscopic_sign.csv", "iterations of HI with both slips, four-link mechanism", "slipped", "published", ("h",),
                     (("mechanism", ("four-link",)), ("h", (1e-3, 1e-2))), (0.98, 1.02)),
              Values("gyroscopic_sign.csv", "the same at the smallest step", "slipped", "published", ("h",),
                     (("mechanism", ("four-link",)), ("h", (1e-4,)))),
              Values("gyroscopic_sign.csv", "iterations of HI with the slip, slider-crank, beside the archived program", "slipped", "archived",
                     ("h",), band=(0.98, 1.02), beside="archived"),
              Values("gyroscopic_sign.csv", "iterations of HI as it is, beside the archived program with the sign mended", "ours",
                     "archived_mended", ("h",), beside="archived, mended"))),
        Item("Figure 7", "chain of N bars", "A sketch: bars on spherical joints hang down, each spins about its axis, gravity points in a "
             "random direction.", Verdict.STAND_IN, "The random spins of the paper cannot be had; here they are 6, -4, 8, -2 rad/s in turn, "
             "gravity that of the published program. Panel (b) adds where a chain of four bars goes.", (), "fig7_setup", ("fig7_setup.png",)),
        Item("Figure 8", "CPU time of chains of 1 to 32 bars",
             "Times of HI and FI over the number of bars, 3 s of motion with steps of 1e-3 s: both proportional to N, HI about twice as fast.",
             Verdict.STAND_IN, "Times are proportional to N here, too. The motion is another than the paper's (figure 7), and so are the "
             "iterations; the gain is smaller, as evaluations are compiled here.", ("12", "13"), "fig8_scaling", ("fig8_scaling.png",),
             (Values("fig8_scaling.csv", "time of FI over that of HI", "gain", "published_gain", ("links",), (("method", ("HI",)),)),
              Values("fig8_scaling.csv", "CPU time [s]", "seconds", "published_seconds", ("links", "method")))),
        Item("Figure 9", "slider-crank with friction in the guide of the slider",
             "A driving torque in N m over 2 s for mu = 0, 0.2 and 0.4: it swings more the larger mu is, and jumps where the slider reverses.",
             Verdict.REPRODUCED, "What the paper plots is the force along x in the bearing of the crank, in N: three values of its curve at the "
             "first reversal are those of our `lam[0]`. The archived program explains it: its function for joint torques takes the derivatives "
             "of the constraints by positions, where a torque needs those by rotations. In its first step "
             "after the reversal the paper has the normal force of the step before: that value follows from ours before the reversal, less twice "
             "the friction. Otherwise the normal force is that of the same step here. The force in the bearing jumps "
             "as the text says; the torque itself, panel (a), bends there.", ("3", "4", "5"), "fig9_friction", ("fig9_friction.png",),
             (Values("fig9_friction.csv", "force along x in the bearing of the crank at the first reversal [N]", "bearing", "published",
                     ("mu", "when"), band=(0.99, 1.01)),)),
    ))
