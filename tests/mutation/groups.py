"""What is mutated, and the tests that guard it, the likely killers first."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SKIPPED = ("__init__.py", "kind.py", "kinds.py")


@dataclass(frozen=True)
class Group:
    """Files that belong together.

    Attributes
    ----------
    title : str
    files : tuple of str
        Patterns, from the root of the repository.
    tests : tuple of str
        Arguments of pytest, one run after another until one fails: a file of tests, with `-k ...` some of them.
    share : int
        Of the mutants, relative to that of other groups: fewer where tests integrate motions.
    """

    title: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    share: int = 5

    def sources(self) -> Iterator[str]:
        """The files, from the root of the repository."""
        for pattern in self.files:
            yield from (p.relative_to(ROOT).as_posix() for p in sorted(ROOT.glob(pattern)) if p.name not in SKIPPED)


def _files(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"mbdae/{folder}/{name}.py" for name in names)


KERNELS = "tests/test_kernels.py"
PROJECTIONS = ("three_levels or normals or each_level or multipliers_are or within_the or points_along or lowest or takes_the_place or "
               "refused or too_far")
GROUPS = (
    Group("constraints", _files("system/elements", "*"), (KERNELS, "tests/test_joints.py", "tests/test_differences.py")),
    Group("forces", _files("system/loads", "*"), ("tests/test_forces.py", KERNELS, "tests/test_bad_input.py")),
    Group("frames", _files("system", "frames", "vec3"), (KERNELS, "tests/test_forces.py")),
    Group("joints", (*_files("system/tree", "kinematics", "inertia", "articulated", "joints"), *_files("model", "joints", "rotations")),
          ("tests/test_joints.py", "tests/test_articulated.py",
           "tests/test_tree.py -k 'all_joints or planar_joints or (products and True)'",
           "tests/test_rheonomic.py -k '0.35 or planar_bodies'", "tests/test_tree.py -k 'both_systems_agree or other_bodies'"), 1),
    Group("charts", _files("charts", "motion", "configuration", "condition", "columns", "derivative", "store"),
          ("tests/test_chart_stores.py", "tests/test_charts.py", "tests/test_chart_derivatives.py",
           "tests/test_state_space_threads.py -k 'same and prescribed-exact'")),
    Group("tableaus", (*_files("integrators/state_space", "rosenbrock_tableau", "sdirk_tableau"), *_files("integrators/gauss", "tableau"),
                       *_files("integrators/structural", "formula"), *_files("integrators", "bdf_formulas")),
          ("tests/test_bdf_stepper.py -k 'polynomials or classical or error_estimates or weights_prediction or interpolant'",
           "tests/test_gauss_tableau.py", "tests/test_tableaus.py", "tests/test_structural_formula.py")),
    Group("controllers", _files("integrators/control", "newton", "step_size", "hermite", "loop"),
          ("tests/test_control.py", "tests/test_step_size.py -k 'not mechanism and not tolerance'",
           "tests/test_time_grid.py -k 'takes_what or very_short or beyond_the_end or matrices_are or cubic'"), 4),
    Group("linear algebra", _files("system", "symmetric", "kkt", "factorisation"),
          ("tests/test_symmetric.py", "tests/test_factorisation.py", "tests/test_kkt.py")),
    Group("projections", _files("integrators/projections", "levels", "energy", "project"),
          ("tests/test_projection_kernels.py", f"tests/test_projections.py -k '({PROJECTIONS}) and not bricard'",), 3),
    Group("Newmark's relatives", _files("integrators/structural", "step", "matrix", "nearest"),
          ("tests/test_structural_stiff.py -k 'linear or smooths'",
           "tests/test_structural.py -k 'amplification or statistics or (docstring and (double or driven)) or (one and oscillator)'"), 2),
    Group("one-step methods", _files("integrators", "half_implicit", "fully_implicit"),
          ("tests/test_one_step.py", "tests/test_convergence.py -k single"), 2),
    Group("RATTLE", _files("integrators/rattle", "free_body", "broyden", "composition", "positions", "velocities", "step", "sums"),
          ("tests/test_rattle_parts.py",
           "tests/test_rattle.py -k '(composition and (spatial or planar or tilted)) or work or exact_matrix'"), 2),
    Group("Gauss methods", _files("integrators/gauss", "stages", "coupled"),
          ("tests/test_gauss_steps.py",
           "tests/test_projected_gauss.py -k '(order_is_2s and free) or coupled_matrix_is_right or (stiff_forces and 1)'",), 2),
    Group("Adams methods", _files("integrators/adams", "formulas", "differences", "errors", "consistent"),
          ("tests/test_adams.py -k 'exact or recurrence or constants or left_out or integrates'",
           "tests/test_adams.py -k 'follows_the_errors or rejected or fixed_order or neighbouring or whether'",
           "tests/test_adams.py -k 'few_steps'"), 2),
    Group("state-space methods", _files("integrators/state_space", "formulas", "step", "increments"),
          ("tests/test_state_space_estimates.py", "tests/test_descriptor_matrix.py -k counted",
           "tests/test_state_space_orders.py -k 'observed and driven'"), 2),
)
