"""What the paper book says of each table and figure of the thesis."""

from paper_book.records import Item, Paper, Reduced, Values, Verdict

EXACT = (1.0 - 1e-9, 1.0 + 1e-9)
PRINTED = (1.0 - 1e-5, 1.0 + 1e-5)
SAME_SIZE = (0.25, 4.0)  # errors
_CODE = "The code: "
_VEHICLE = "Masses, hard points and springs of the vehicle are not public: those of Project Chrono's stand in."
_METHODS = {25: ("SspTrap", "TrapezoidalStateSpace(local_error=1.0)", ("4.1", "4.2")),
            26: ("InflSDIRK", "SdirkDescriptor(local_error=1.0)", ("3.76", "4.12")),
            27: ("InflTrap", "TrapezoidalDescriptor(local_error=1.0)", ("3.76",)),
            28: ("ForSDIRK", "SdirkFirstOrder(filter=True, local_error=1.0)", ("4.83", "4.87")),
            29: ("ForRosen", "RosenbrockNystrom(filter=False, local_error=1.0)", ("4.70", "4.71"))}
_ERRORS = {20: ("ForSDIRK", "SDIRK", "angle"), 21: ("ForRosen", "Rosenbrock", "angle"), 22: ("ForSDIRK", "SDIRK", "rate"),
           23: ("ForRosen", "Rosenbrock", "rate")}


_COORDINATES = "Errors depend on the coordinates: `pivots` are those that full pivoting leaves, as the thesis has it, `angles` those that mbdae " \
               "prefers."
_JUDGED = {
    "ForSDIRK": (Verdict.REPRODUCED, f"{_COORDINATES} In the coordinates of the thesis the errors are its errors, at 1e-5 some times larger; "
                                     "the times when they occur are in the output."),
    "ForRosen": (Verdict.DIFFERS, "Errors are larger than printed, by up to a digit: the step control of the thesis was more careful, for "
                                  "which it blames (5.5) and proposes (5.6). Between method and embedded formula "
                                  f"lies a difference that stays bounded for stiff components here, so (5.6) changes little. {_COORDINATES}")}


def _pseudo_code(number: int, of: str, where: str) -> Item:
    return Item(f"Table {number}", f"pseudo-code: {of}", "The steps of the algorithm.", Verdict.NOTHING, f"{_CODE}{where}.")


def _data(number: int, title: str, shows: str, remark: str = "", verdict: Verdict = Verdict.REPRODUCED,
          equations: tuple[str, ...] = ()) -> Item:
    return Item(f"Table {number}", title, shows, verdict, remark, equations, "tables13_18_19", (), (
        Values("tables13_18_19.csv", "data", "ours", "published", ("what",), (("table", (number,)),), PRINTED),))


def _errors(number: int) -> Item:
    code, method, quantity = _ERRORS[number]
    verdict, remark = _JUDGED[code]
    level = "angle" if quantity == "angle" else "angular velocity"
    where = (("method", (method,)), ("quantity", (quantity,)))
    return Item(
        f"Table {number}", f"errors of the {level} of body 1, {code}",
        f"Largest error, when it occurs, and average error over 2 s for tolerances of 1e-2 to 1e-5, {level} of body 1.", verdict, remark,
        ("5.1", "5.2", "5.3", "5.4"), "tables20_23", (), (
            Values("tables20_23.csv", "largest error in the coordinates of the thesis (`pivots`)", "largest", "published_largest", ("k",),
                   (*where, ("coordinates", ("pivots",))), SAME_SIZE),
            Values("tables20_23.csv", "average error in the coordinates of the thesis", "average", "published_average", ("k",),
                   (*where, ("coordinates", ("pivots",))), SAME_SIZE),
            Values("tables20_23.csv", "largest error in angles", "largest", "published_largest", ("k",),
                   (*where, ("coordinates", ("angles",))))))


def _times(number: int) -> Item:
    code, name, equations = _METHODS[number]
    return Item(
        f"Table {number}", f"times of {code}", f"CPU seconds of {code} for 1 to 4 s of motion at tolerances of 1e-2 to 1e-5.",
        Verdict.STAND_IN, f"`mbdae.{name}`. {_VEHICLE} Printed seconds are those of 1998 and not judged; the ratio would be the same everywhere "
        "if method and step control behaved alike.", equations, "tables24_29", (), (
            Values("tables24_29.csv", "CPU time [s]", "seconds", "published", ("k", "length"), (("method", (code,)),)),
            Values("gains.csv", "time of the explicit code over that of this method", "gain", "published", ("k", "length"),
                   (("method", (code,)),))))


def _vehicle(number: int, title: str, shows: str, script: str = "tables24_29", remark: str = "",
             values: tuple[Values, ...] = ()) -> Item:
    return Item(f"Figure {number}", title, shows, Verdict.STAND_IN, f"{_VEHICLE} {remark}".strip(), (), script, (f"figure{number}.png",), values)


def _operations(number: int, title: str, shows: str, verdict: Verdict, remark: str, equations: tuple[str, ...]) -> Item:
    return Item(f"Table {number}", title, shows, verdict, remark, equations, "tables5_10", (), (
        Values("tables6_8.csv", "operations (additions, multiplications, divisions, square roots)", "ours", "published",
               ("step", "operation"), (("table", (number,)),), EXACT),))


PAPER = Paper(
    folder="thesis", key="Negrut",
    title="Negrut: on the implicit integration of differential-algebraic equations of multibody dynamics",
    source="D. Negrut, On the implicit integration of differential-algebraic equations of multibody dynamics, PhD thesis, The University of "
           "Iowa (1998).",
    notes=(
        "Table 2 has its columns exchanged: the solution of the reduced system alone takes longer for the chain (tables 3 and 4).",
        "In the 4 x 4 system under table 13 the entry 1/20 is 1/2; in (4.72) w21 is 2.0, not 0.2; in (4.81) the printed a1, a2, a3 are a2, a3, "
        "a4; (4.42) must read y1' = y0' + sum b_i r_i; (3.70) lacks h^2 in front of its sum; (4.2) prints v0 for its rate; (3.17) has M^vv "
        "where M^vu is meant; (B.17) lacks the factor Phi_q in front of Q2.",
        "Times are those of an HP 9000 J210 (section 3.4) and an SGI Onyx (chapter 5)."),
    items=(
        Item("Table 1", "Butcher's tableau", "Notation of Runge-Kutta formulas.", Verdict.NOTHING,
             f"{_CODE}`mbdae.integrators.state_space.sdirk_tableau`.", ("3.49", "3.50")),
        Item("Figure 1", "seven-body mechanism", "A sketch.", Verdict.NOTHING, "In the library: [andrews](../mechanisms/andrews.md)."),
        Item("Figure 2", "chain of pendulums", "A sketch.", Verdict.NOTHING, "In the library: [chain](../mechanisms/chain.md)."),
        Item("Figure 3", "graph of the seven-body mechanism", "Joints are vertices, bodies edges; two numberings of the joints.",
             Verdict.STAND_IN, "The thesis' bad numbering is in its picture only; the bad one here is the worst of some that one might come by.",
             ("3.126",), "figures3_to_6", ("figure3.png",)),
        Item("Figure 4", "reduced matrix of the seven-body mechanism", "Its pattern for both numberings.", Verdict.STAND_IN,
             "The bad numbering is ours, see figure 3.", ("3.123", "3.124", "3.125", "3.126"), "figures3_to_6", ("figure4.png",)),
        Item("Figure 5", "numberings of the chain", "Joints in natural order, and interleaved: 1, 50, 2, 49, ...", Verdict.REPRODUCED, "", (),
             "figures3_to_6", ("figure5.png",)),
        Item("Figure 6", "reduced matrix of the chain", "Tridiagonal in natural order; far from it with the interleaved one.",
             Verdict.REPRODUCED, "", ("3.123", "3.124", "3.125", "3.126"), "figures3_to_6", ("figure6.png",)),
        Item("Table 2", "accelerations and multipliers: augmented and reduced system",
             "CPU seconds of 1000 solutions by MA28 of the augmented system and by algorithm 3: six to nine times faster.", Verdict.STAND_IN,
             "Harwell's MA28 is not free: SuperLU stands in. The columns of the printed table must have been exchanged.",
             ("3.107",), "table2", (), (
                 Values("table2.csv", "time of the sparse solver of the augmented system over algorithm 3", "ratio", "published",
                        ("mechanism", "solver")),)),
        *(Item(f"Table {number}", f"reduced system, {title}", "CPU seconds of 1000 solutions by dense LU, packed Cholesky, MA28 and the sparse "
               "Cholesky of the thesis, with a bad and a good numbering.", Verdict.STAND_IN,
               "SuperLU stands for MA28, and compiled code for that of 1998: ratios to our own solver with the good numbering.", ("3.126",),
               "tables3_4", (), (Values("tables3_4.csv", "time over that of ours with the good numbering", "ratio", "published", ("solver",),
                                        (("table", (number,)),)),))
          for number, title in ((3, "seven-body mechanism"), (4, "chain of pendulums"))),
        Item("Figure 7", "a pair of connected bodies", "A sketch of frames of joints and bodies.", Verdict.NOTHING,
             f"{_CODE}`mbdae.system.tree.kinematics`.", ("3.127",)),
        Item("Figure 8", "a tree structure", "A sketch.", Verdict.NOTHING, f"{_CODE}`mbdae.system.tree`.", ("3.148",)),
        Item("Figure 9", "topology of the HMMWV", "The graph of 14 bodies and their joints.", Verdict.REPRODUCED,
             "[hmmwv](../mechanisms/hmmwv.md) has this topology.", (), "tables5_10"),
        Item("Table 5", "bodies of the HMMWV", "The list of the 14 bodies.", Verdict.REPRODUCED, "First table of the output: the same bodies.",
             (), "tables5_10"),
        Item("Figure 10", "spanning tree", "The graph with joints cut, and a numbering that keeps the matrix sparse.", Verdict.REPRODUCED,
             "First table of the output: each body with the one before it, and the cut joints.", (), "tables5_10"),
        _operations(6, "operations of Gaussian elimination", "Additions, multiplications, divisions and square roots for 43 equations.",
                    Verdict.REPRODUCED, "", ()),
        _operations(7, "operations of Alg-S", "The same for the algorithm that uses the topology, by its steps.", Verdict.DIFFERS,
                    "Steps 1 and 3.1 follow from the tree. In its other steps the thesis has numbers that the zeros of the matrices do not "
                    "explain.", ("3.148", "3.152", "3.153")),
        _operations(8, "operations of Alg-D", "The same with dense matrices.", Verdict.DIFFERS,
                    "All steps but 3.4 follow from the sizes 43, 27 and 16.", ("3.152", "3.153")),
        Item("Table 9", "times of solvers in joint coordinates", "Microseconds of Gauss, a symmetric factorisation, Harwell, Alg-S and Alg-D.",
             Verdict.STAND_IN, "SuperLU stands for MA28; ratios to Alg-S.", ("3.152", "3.153"), "tables5_10", (), (
                 Values("table9_ratios.csv", "time over that of Alg-S", "ratio", "published", ("solver",)),)),
        Item("Table 10", "times of the steps of Alg-S and Alg-D", "Microseconds of each step.", Verdict.NOT_IMPLEMENTED,
             "The steps are one compiled loop here and not timed one by one.", ("3.152", "3.153")),
        _pseudo_code(11, "trapezoidal state-space method", "`mbdae.TrapezoidalStateSpace`"),
        Item("Table 12", "tableau of SDIRK formulas", "Notation.", Verdict.NOTHING, f"{_CODE}`mbdae.integrators.state_space.sdirk_tableau`."),
        _data(13, "coefficients of SDIRK4/16", "A, c, b and the embedded weights.", "Tests check the order conditions of all coefficients.",
              equations=("4.10", "4.11")),
        _pseudo_code(14, "SDIRK4/16 in descriptor form", "`mbdae.SdirkDescriptor`"),
        _pseudo_code(15, "trapezoidal method in descriptor form", "`mbdae.TrapezoidalDescriptor`"),
        _pseudo_code(16, "Rosenbrock-Nystrom method", "`mbdae.RosenbrockNystrom`"),
        _pseudo_code(17, "SDIRK4/15 on the first-order form", "`mbdae.SdirkFirstOrder`"),
        _data(18, "data of the double pendulum", "Lengths, masses, stiffnesses and damping.", "The lengths are half lengths."),
        Item("Figure 11", "double pendulum", "A sketch.", Verdict.NOTHING,
             "In the library: [stiff-double-pendulum](../mechanisms/stiff-double-pendulum.md)."),
        _data(19, "start of the double pendulum", "Positions and velocities at the start.",
              "The printed rate of body 2, 10 rad/s, contradicts the velocities beside it. A start at rest gives the values that the printed errors "
              "of tables 20 to 23 imply, to the rounding of the printed times.", Verdict.DIFFERS),
        Item("Figure 12", "orientation of body 1", "The angle over 2 s.", Verdict.REPRODUCED, "The curve is the reference, the dots are steps of "
             "our methods at 1e-3. Errors of the thesis imply values of this curve, which ours has (tests of the library).", ("5.1",),
             "figures12_13", ("figure12.png",)),
        Item("Section 5.1", "steps of the reference", "At a tolerance of 1e-8 ForSDIRK takes 354 090 steps for 2 s of motion.",
             Verdict.DIFFERS, "The same method takes far fewer at 1e-8, whatever the coordinates. Steps of 6e-6 s on average "
             "are not expected of a formula of order four for this motion, so the step control or the derivatives of the thesis were probably "
             "others; it is not known.", ("4.6", "4.7"),
             "figures12_13", (), (Values("figures12_13.csv", "steps", "ours", "published", ("what",), (("published", (354090,)),), (0.5, 2.0)),)),
        *(_errors(n) for n in (20, 21)),
        Item("Figure 13", "angular velocity of body 1", "The rate over 2 s: it swings between -10 and 7 rad/s.", Verdict.REPRODUCED, "", (),
             "figures12_13", ("figure13.png",), (
                 Values("figures12_13.csv", "extremes", "ours", "published", ("what",), (("published", (-10.0, 7.0)),), (0.85, 1.05)),)),
        *(_errors(n) for n in (22, 23)),
        Item("Figure 14", "US Army HMMWV", "A photograph.", Verdict.NOTHING),
        Item("Figure 15", "14 body model", "A drawing.", Verdict.STAND_IN, f"[hmmwv](../mechanisms/hmmwv.md). {_VEHICLE}"),
        Item("Figure 16", "topology of the stiff vehicle", "The graph with spherical joints and bushings at the upper control arms.",
             Verdict.REPRODUCED, "`hmmwv` with `model=\"stiff\"` has this topology: see [hmmwv](../mechanisms/hmmwv.md)."),
        _vehicle(17, "height of the chassis", "The front wheels hit the bump at 0.5 s, the rear ones at 1.2 s; after four seconds the height "
                 "settles at 0.71 m.", "figure17", "", (
                     Values("figure17_numbers.csv", "numbers of the text", "ours", "published", ("what",)),)),
        Item("Table 24", "times of the explicit code", "CPU seconds of DEABM: about an hour for each second of motion, at each tolerance.",
             Verdict.STAND_IN, "VODE with Adams formulas stands for DEABM; it runs over a small part of each second, and times are scaled. "
             f"{_VEHICLE}",
             (), "tables24_29", (), (
                 Values("tables24_29.csv", "CPU time [s]", "seconds", "published", ("k", "length"), (("method", ("DEABM",)),)),)),
        _times(25),
        _vehicle(18, "explicit integration at 1e-3", "Time grows linearly with the length of the motion."),
        _vehicle(19, "implicit integration at 1e-3", "Time grows during the bump and hardly afterwards."),
        _vehicle(20, "times over the tolerance, 4 s", "The explicit code does not depend on the tolerance, the implicit one does."),
        *(_times(n) for n in (26, 27, 28, 29)),
        _vehicle(21, "five methods over the tolerance, 1 s", "ForRosen is fastest for mild tolerances, ForSDIRK for tight ones; the slopes of "
                 "the trapezoidal methods are steeper."),
        _vehicle(22, "five methods over the length, 1e-3", "Curves are steep during the bump and nearly flat afterwards."),
        _vehicle(23, "step sizes of ForSDIRK and SspTrap, 4 s", "Steps are cut when the wheels hit the bump and grow afterwards.",
                 "figures23_25"),
        _vehicle(24, "step sizes of ForRosen and InflSDIRK, 30 s", "Steps soon reach the bound of 1 s; ForRosen takes 38 s for the run.",
                 "figures23_25"),
        _vehicle(25, "iterations of SspTrap, 10 s", "The number of iterations in each step, large during the bump.", "figures23_25"),
        Item("Table 30", "analytic and numeric derivatives", "CPU seconds of ForSDIRK with both: numeric ones take four to five times as long.",
             Verdict.STAND_IN, "`numeric` differentiates the whole evaluation of the accelerations as the thesis does, by complex step; `numeric, "
             f"forces` has differences of forces only. {_VEHICLE}", ("A.8", "A.12"), "table30", (), (
                 Values("table30_ratios.csv", "time over that with analytic derivatives", "ratio", "published", ("derivatives", "length")),)),
        Item("Table 31", "pseudo-code: parallel computation of the integration Jacobian", "The columns are divided among processors.",
             Verdict.NOT_IMPLEMENTED, "The columns are solved together in one thread.",
             ("A.8", "A.12")),
    ),
    more={"linear_cost": "Cost of accelerations and multipliers for chains of 10 to 2000 links: it grows with the number of links.",
          "explicit_implicit": "Explicit against implicit methods on the stiff double pendulum.",
          "descriptor": "The descriptor form with the sparse matrix of the thesis beside the reduced one.",
          "filter": "The filter of (5.6) in the Rosenbrock method on the mechanisms of the library."},
    reduced={"filter": Reduced({"names": ["stiff-double-pendulum", "andrews", "follower", "hmmwv, stiff"], "tolerances": [-3, -5]},
                               "four mechanisms and two tolerances, not all"),
             "tables24_29": Reduced({"repeats": 1}, "one run of each, not the fastest of three"),
             "table30": Reduced({"repeats": 1}, "one run of each, not the fastest of three")})
