"""Solutions in extended precision: integrators, kernels, and the report on reference values."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mbdae import library
from mbdae.studies.confirm import Confirmation, confirmation_page
from mbdae.studies.precise.collocation import Collocation, tableau
from mbdae.studies.precise.compiled import CompiledStages
from mbdae.studies.precise.equations import Equations
from mbdae.studies.precise.numbers import Extended, NotExtended, enable, lost_precision
from mbdae.studies.precise.stages import Stages, _rate

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).precision < 18, reason="numpy.longdouble is double precision here")
ONE = np.ones(1, Extended)


def growth(t, y):
    """`y' = y cos t`, whose solution is `exp(sin t)`."""
    return y * np.cos(Extended(t))


def exact(t):
    return np.exp(np.sin(Extended(t)))


SOLVERS = {"gauss": lambda f: Collocation(f, 1e-17), "radau": lambda f: Collocation(f, 1e-17, 8, "radau")}


# --- integrators ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages, nodes", [(2, "gauss"), (8, "gauss"), (10, "gauss"), (3, "radau"), (7, "radau")])
def test_coefficients_satisfy_the_order_conditions(stages, nodes):
    x = tableau(stages, nodes)
    for k in range(1, 2 * stages + (nodes == "gauss")):
        assert abs((x.b * x.c**(k - 1)).sum() - 1 / Extended(k)) < 5e-19
    for k in range(1, stages + 1):
        assert np.abs(x.A @ x.c**(k - 1) - x.c**k / k).max() < 5e-19
    z = 2 * x.c - 1
    assert np.abs(x.modes @ np.column_stack([np.ones(stages), z]) - np.eye(stages)[:, :2]).max() < 2e-17


@pytest.mark.parametrize("make, order, h", [(lambda: Collocation(growth, 1e-17, 3), 6, 0.2),
                                            (lambda: Collocation(growth, 1e-17, 3, "radau"), 5, 0.2)])
def test_observed_order(make, order, h):
    """One step of length `h`, and one of half the length, have errors of order `h^(p + 1)`."""
    errors = []
    for part in (1, 2):
        solver = make()
        solver.scale = ONE
        y, _ = solver.attempt(Extended(0.9), exact(0.9) * ONE, Extended(h) / part)
        errors.append(abs(float(y[0] - exact(Extended(0.9) + Extended(h) / part))))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.5)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_known_solution_to_seventeen_digits(name):
    solver = SOLVERS[name](growth)
    found = solver.run(0.0, ONE, [1.0, 10.0], ONE, 1e-3)
    for t, y in zip((1.0, 10.0), found):
        assert abs(y[0] / exact(t) - 1) < 2e-17
    assert solver.forced == 0


@pytest.mark.parametrize("nodes", ["gauss", "radau"])
def test_a_stiff_known_solution(nodes):
    """`y' = -1e6 (y - cos t) - sin t` with the solution `cos t` [Prothero and Robinson]."""
    def f(t, y):
        return -Extended(1e6) * (y - np.cos(Extended(t))) - np.sin(Extended(t))

    solver = Collocation(f, 1e-17, 8, nodes, stiff=True)
    y = solver.run(0.0, ONE, [3.0], ONE, 1e-3)[-1]
    assert abs(y[0] - np.cos(Extended(3))) < 1e-17
    assert solver.steps < 200


@pytest.mark.parametrize("name", SOLVERS)
def test_jumps_and_kinks_are_stepped_onto(name):
    """The right-hand side has a jump at 1/3, its derivative one at 0.7."""
    def f(t, y):
        return 0 * y + (1 if t < Extended(1) / 3 else -2) + abs(t - Extended(0.7))

    solver = SOLVERS[name](f)
    y = solver.run(0.0, 0 * ONE, [1.0], ONE, 1e-2)[-1]
    exact = Extended(1) / 3 - Extended(4) / 3 + (Extended(0.7)**2 + (1 - Extended(0.7))**2) / 2
    assert abs(y[0] - exact) < 1e-13


def test_rounding_errors_of_large_unknowns_are_made_up_for():
    """An oscillation of 1e-6 about 1000: rounding of the unknown, 5e-17, neither adds up nor enters the force."""
    middle, size, h = Extended(1000), Extended(1e-6), Extended(1) / 8

    def f(t, y):
        return np.array([y[1], -(y[0] - middle)])

    solver, y, steps = Collocation(f, 1e-17), np.array([middle, size]), 400
    start = (y[0] - middle, y[1])
    solver.scale = y.copy()
    for k in range(steps):
        y, _ = solver.attempt(k * h, y, h)
        solver.accepted(k * h, h)
    t = steps * h
    exact = np.array([start[0] * np.cos(t) + start[1] * np.sin(t), start[1] * np.cos(t) - start[0] * np.sin(t)])
    assert np.abs(y - [middle, 0] + solver.lost - exact).max() < 1e-21


def test_few_evaluations_in_extended_precision():
    """The slopes are found in double precision: one evaluation a stage in extended precision, one at each end, and rejected steps."""
    count = 0

    def counted(t, y):
        nonlocal count
        count += isinstance(y[0], Extended)
        return growth(t, y)

    solver = Collocation(counted, 1e-17)
    solver.run(0.0, ONE, [10.0], ONE, 1e-3)
    assert count <= 1.1 * (solver.steps + solver.rejected) * (solver.stages + 2)


# --- equations of the stages in double precision --------------------------------------------------------------------------


def pendulum(t, y):
    """Angle and rate of a pendulum, driven."""
    return np.array([y[1], -9.81 * np.sin(y[0]) + np.cos(t)])


def test_slopes_of_the_stages_and_their_correction():
    x, h, y, sizes = tableau(4), 0.1, np.array([0.4, 1.0]), np.ones(2)
    stages = Stages(pendulum, x.c, x.A)
    K, rate = stages.solve(0.2, y, h, np.tile(pendulum(0.2, y), (4, 1)), sizes)
    Y = y + h * (x.A @ K)
    residual = np.array([pendulum(0.2 + c * h, z) for c, z in zip(x.c, Y)]) - K
    assert np.abs(residual).max() < 1e-14 and rate < 1e-2
    shifted = K + 1e-9
    residual = np.array([pendulum(0.2 + c * h, z) for c, z in zip(x.c, y + h * (x.A @ shifted))]) - shifted
    assert np.abs(shifted + stages.correct(residual.astype(float)) - K).max() < 1e-14


def test_the_contraction_rate_is_the_last_one_above_rounding_errors():
    """The first ratios are those of a start that is far off, the last one may be one of rounding errors."""
    assert _rate([1e-6, 2e-8, 1e-14, 9e-15]) == pytest.approx(5e-7)
    assert _rate([1e-6, 1e-12]) == pytest.approx(1e-6)
    assert _rate([1e-6, 1e-16]) == 1e-9


def test_stages_that_have_no_solution():
    """`K = 1 + (y + h K)^2` has no solution for `h > 1/4` at `y = 1/4`; an evaluation that fails is no solution, either."""
    x = tableau(1)

    def failing(t, y):
        raise FloatingPointError("accelerations are not finite")

    for f in (lambda t, y: 1.0 + y**2, failing):
        assert Stages(f, x.c, x.A).solve(0.0, np.array([0.25]), 2.0, np.ones((1, 1)), np.ones(1)) is None


def test_the_process_with_compiled_kernels():
    """It finds the slopes that kernels in this process give, and ends."""
    system, x = library.system("car-axis"), tableau(3)
    y, h, sizes = np.concatenate([system.start.q, system.start.v]), 1e-3, np.ones(system.nq + system.nv)
    f = Equations(system, float)
    guess = np.tile(f(0.0, y), (3, 1))
    own = Stages(f, x.c, x.A)
    want, other = own.solve(0.0, y, h, guess, sizes), CompiledStages("car-axis", {}, False, x.c, x.A)
    found, correction = other.solve(0.0, y, h, guess, sizes), other.correct(guess)
    other.close()
    assert np.abs(found.K - want.K).max() < 1e-12 * np.abs(want.K).max()
    assert np.abs(correction - own.correct(guess)).max() < 1e-9 * np.abs(correction).max()


# --- kernels -------------------------------------------------------------------------------------------------------------


def test_kernels_that_are_compiled_are_refused():
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("nothing is compiled in this process")
    with pytest.raises(NotExtended, match="NUMBA_DISABLE_JIT=1"):
        enable()


def test_a_function_that_rounds_to_double_precision_is_noticed():
    def rounded(t, y):
        return np.sin(y.astype(float)).astype(Extended)

    y = np.array([0.3, 1.7])
    assert lost_precision(lambda t, y: np.sin(y), 0.0, y) < 1.5
    assert lost_precision(rounded, 0.0, y) > 2.5


_SCRIPT = """
import numpy as np
from mbdae import library
library.names()
from mbdae.studies.precise.numbers import enable, lost_precision
from mbdae.studies.precise.equations import Equations, JointEquations
from mbdae.system.tree.system import TreeSystem
enable()
for name in ("car-axis", "four-link", "heavy-top", "iltis", "wheelset", "slider-crank"):
    own = Equations(library.system(name))
    y = own.start()
    print(name, own.violation(0.0, y), lost_precision(own, 0.013, y))
    if own.system.mechanism is not None:
        joint = JointEquations(TreeSystem(own.system.mechanism))
        z = joint.from_bodies(0.0, y)
        back = joint.of_bodies(0.0, z)
        off = [float(np.abs(a - b).max()) for a, b in ((own.state(0.0, y).a, own.state(0.0, back).a), (back[own.nq:], y[own.nq:]))]
        print(name + "-joint", max(off[1], joint.violation(0.0, z)), lost_precision(joint, 0.013, z))
"""
_SMALL_SCRIPT = """
import numpy as np
from mbdae import library
library.names()
from mbdae.studies.precise.numbers import Extended, enable
from mbdae.studies.precise.equations import Equations, JointEquations
from mbdae.system.tree.system import TreeSystem
enable()
system = library.system("pendulum-chain")
own, joint = Equations(system), JointEquations(TreeSystem(system.mechanism))
y = own.start()
y[:own.nq:3] += Extended(1e-15) * np.arange(13) ** 2
print(np.abs(own(0.0, y) - joint(0.0, joint.from_bodies(0.0, y))).max())
crank = Equations(library.system("flexible-slider-crank"))
y = crank.start()
off = y.copy()
off[8] += Extended(1e-12)
new = crank.projected(0.0, off)
print(np.abs(new - off)[10:].max(), crank.violation(0.0, new))
"""


def _interpreted(*arguments):
    return subprocess.run([sys.executable, "-W", "ignore", *arguments], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True,
                          text=True, check=True).stdout


@pytest.mark.thorough
def test_extended_numbers_pass_through_all_kernels():
    """States satisfy the constraints to extended precision, and no evaluation is rounded: user functions, motions, friction, trees."""
    lines = [line.split() for line in _interpreted("-c", _SCRIPT).splitlines()]
    assert len(lines) == 11
    for name, violation, lost in lines:
        assert float(violation) < 1e-14, name
        assert float(lost) < 2.0, name


@pytest.mark.thorough
def test_small_quantities_beside_large_ones():
    """Entries of `Phi_q` of 1e-15 in joint coordinates are none of rounding, and drift of an angle is none of elastic coordinates."""
    chain, elastic, violation = map(float, _interpreted("-c", _SMALL_SCRIPT).split())
    assert chain < 1e-15
    assert elastic < 1e-19 and violation < 1e-17


@pytest.mark.thorough
def test_the_command_confirms_references_to_fourteen_digits(tmp_path):
    page = tmp_path / "references.md"
    _interpreted("-c", "import sys; from mbdae.cli.main import main; sys.exit(main(sys.argv[1:]))", "confirm", "--precise", "heavy-top",
                 "--output", str(page))
    rows = [line.split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| [heavy-top]")]
    recomputed = [r for r in rows if r[3] != "published"]
    assert len(rows) == 3 and len(recomputed) == 2
    for row in recomputed:
        assert all(float(cell.rsplit(": ", 1)[1]) > 13.9 for cell in row[7:9])
        assert float(row[9]) > 13.9 and float(row[10].strip(" |")) > 13.0


# --- the report ----------------------------------------------------------------------------------------------------------


def _confirmation(mechanism, label, found, **parameters):
    return Confirmation(mechanism, parameters, label, "recomputed", 15, 2, 3, 1.0, found, "method", "", 15.25, None)


def test_lines_of_other_mechanisms_are_kept():
    first = confirmation_page([_confirmation("heavy-top", "motion", 9.0), _confirmation("heavy-top", "motion", 9.5),
                               _confirmation("andrews", "pin", 8.0, start="iftomm"), _confirmation("andrews", "pin", 8.5, start="iftomm")])
    again = confirmation_page([_confirmation("heavy-top", "motion", 14.0), _confirmation("heavy-top", "motion", 15.0)], first)
    lines = [line for line in again.splitlines() if line.startswith("| [")]
    assert [line.split("]")[0] for line in lines] == ["| [andrews", "| [heavy-top"]  # in the order of the library
    assert "method: 8.0 | method: 8.5 | 15.2 | - |" in lines[0] and "method: 14.0 | method: 15.0" in lines[1]
    renamed = confirmation_page([_confirmation("heavy-top", "other", 14.0)] * 2, again)
    assert "| motion |" not in renamed and "| other |" in renamed


def test_tables_of_the_same_name_and_size_have_lines_of_their_own():
    """Three tables of one printed result with two methods, as of the car axis: they had shared a line of 17 cells."""
    digits = [12.3, 9.2, 11.1, 12.2, 9.1, 11.0]
    found = [_confirmation("car-axis", "printed", x) for x in digits]
    for before in ("", confirmation_page(found, "")):
        lines = [line for line in confirmation_page(found, before).splitlines() if line.startswith("| [")]
        assert len(lines) == 3 and {line.count(" | ") for line in lines} == {10}
        assert all(f"method: {x} | method: {y}" in line for line, x, y in zip(lines, digits[:3], digits[3:]))
