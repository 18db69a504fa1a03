"""Studies: references, errors, orders, work against precision, energy, pictures, tables."""

import csv
import json
import sys
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import mbdae
from mbdae import library, studies
from mbdae.adapters.sundae import Ida
from mbdae.model.geometry import Geometry
from mbdae.pictures import canvas, drawing
from mbdae.pictures.figures import save, style
from mbdae.pictures.viewpoint import Magnified, followed, prefix
from mbdae.registry import find
from mbdae.studies import measure
from mbdae.studies.errors import at_times

from .helpers import assert_picture

GROUND = "ground"
film = sys.modules["mbdae.pictures.animate"]  # the package has a function of this name


def fully_implicit(h):
    return find("FullyImplicit").make(h=h)


def pendulum(joints=(), forces=(), drivers=()):
    """A bar that swings about its end, with a velocity at the start."""
    rod = mbdae.RigidBody("rod", 1.0, (1e-4, 0.1, 0.1), (0.5, 0, 0), omega=None if drivers else (0, 1.5, 0))
    pin = mbdae.Revolute("pin", GROUND, "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    return mbdae.Mechanism("pendulum", [rod], [pin, *joints], drivers, forces, gravity=(0, 0, -9.81))


@pytest.fixture(scope="module")
def system():
    return mbdae.System(pendulum())


@pytest.fixture(scope="module")
def slider_crank():
    return mbdae.System(library.mechanism("slider-crank"))


@pytest.fixture(scope="module")
def motion(system):
    return mbdae.solve(system, mbdae.HalfImplicit(1e-2), (0.0, 0.5))


# --- references ----------------------------------------------------------------------------------------------------------


def test_kinematic_reference_is_the_closed_form(slider_crank):
    entry = library.entry("slider-crank")
    known = [r for r in entry.references if r.kind == "closed form"]
    found = studies.kinematic_reference(slider_crank, [r.t for r in known])
    assert found.source == "kinematic analysis" and not found.redundant
    for k, r in enumerate(known):
        seen = entry.observe(slider_crank, r.t, found.q[k], found.v[k], found.a[k], found.lam[k])
        assert {name: seen[name] for name in r.values} == pytest.approx(r.values, rel=1e-11, abs=1e-12)


def test_kinematic_reference_stays_on_its_branch_over_long_steps_and_backward(slider_crank):
    there = studies.kinematic_reference(slider_crank, [0.0, 1.5, 3.0])
    end = mbdae.State(3.0, there.q[-1], there.v[-1], there.a[-1], there.lam[-1])
    back = studies.kinematic_reference(slider_crank, [1.5, 0.0], end)
    for a, b in ((there.q[2], there.q[0]), (back.q[0], there.q[1]), (back.q[1], there.q[0])):
        assert np.abs(slider_crank.difference(a, b)).max() < 1e-11


def test_kinematic_reference_refuses_a_freedom(system):
    with pytest.raises(ValueError, match="1 degrees of freedom"):
        studies.kinematic_reference(system, [0.0, 0.1])


def test_kinematic_reference_names_the_dead_point():
    reach = mbdae.DistanceDriver("reach", GROUND, "rod", mbdae.Polynomial((np.sqrt(2.0), 0.5)), (1.0, 0.0, 1.0), (0.5, 0.0, 0.0))
    bar = mbdae.RigidBody("rod", 1.0, (1e-4, 0.1, 0.1), (0.0, 0.0, -0.5), [(0, 0, 1), (0, 1, 0), (-1, 0, 0)])
    pin = mbdae.Revolute("pin", GROUND, "rod", s_j=(-0.5, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))
    driven = mbdae.System(mbdae.Mechanism("press", [bar], [pin], [reach]))
    with pytest.raises(mbdae.AssemblyError, match="cannot follow its drivers beyond t = "):
        studies.kinematic_reference(driven, [0.0, 5.0])


@pytest.mark.thorough
@pytest.mark.parametrize("name, route", [("single-pendulum", "DOP853"), ("stiff-double-pendulum", "Radau"), ("four-link", "kinematic")])
def test_reference_takes_the_right_route_and_agrees_with_the_library(name, route):
    entry = library.entry(name)
    known = max((r for r in entry.references if r.t <= 2.0 and r.digits >= 10), key=lambda r: r.t)
    system = mbdae.System(library.mechanism(name))
    found = studies.reference(system, mbdae.assemble(system), np.array([0.0, known.t]))
    assert route in found.source
    seen = entry.observe(system, known.t, found.q[-1], found.v[-1], found.a[-1], found.lam[-1])
    for label, value in known.values.items():
        assert seen[label] == pytest.approx(value, rel=1e-9, abs=1e-9), label


def test_reference_goes_on_with_other_methods_where_one_fails(monkeypatch):
    system = mbdae.System(library.mechanism("stiff-double-pendulum"))
    start, times = mbdae.assemble(system), np.linspace(0.0, 0.01, 3)
    usual = studies.reference(system, start, times)
    for name, most in (("PILOT_STEPS", 5), ("RADAU_STEPS", 2), ("MANY_STEPS", 5)):  # each of them gives up at once
        monkeypatch.setattr(sys.modules["mbdae.studies.reference"], name, most)
    other = studies.reference(system, start, times)
    assert "DOP853" in usual.source and "RadauIIA" in other.source
    np.testing.assert_allclose(other.q, usual.q, atol=1e-9)


# --- errors --------------------------------------------------------------------------------------------------------------


def test_errors_compare_rotations_not_quaternions(system, motion):
    same = studies.ReferenceSolution(motion.t, motion.q.copy(), motion.v, motion.a, motion.lam, "itself")
    same.q[:, 3:] *= -1.0
    assert studies.errors(motion, same).q_max < 1e-14
    turned = studies.ReferenceSolution(motion.t, np.array([system.retract(q, [0, 0, 0, 0, 1e-3, 0]) for q in motion.q]), motion.v + 2.0,
                                       motion.a, motion.lam, "turned by a milliradian")
    found = studies.errors(motion, turned)
    assert found.q == pytest.approx(1e-3) and found.q_max == pytest.approx(1e-3) and found.v == pytest.approx(2.0) and found.lam == 0.0


def test_errors_refuse_other_times(motion):
    other = studies.ReferenceSolution(motion.t + 1e-3, motion.q, motion.v, motion.a, motion.lam, "later")
    with pytest.raises(ValueError, match="same times"):
        studies.errors(motion, other)


@pytest.mark.parametrize("expected, more", [
    (True, {}),
    (True, {"forces": [mbdae.TSDA("spring", GROUND, "rod", k=3.0)]}),
    (False, {"forces": [mbdae.TSDA("damper", GROUND, "rod", c=0.1)]}),
    (False, {"forces": [mbdae.TSDA("law", GROUND, "rod", law=lambda length, rate, t: length)]}),
    (False, {"forces": [mbdae.PointForce("push", "rod", (1.0, 0.0, 0.0))]}),
    (False, {"forces": [mbdae.Friction("rub", "pin", 0.1, radius=0.01)]}),
    (False, {"drivers": [mbdae.AngleDriver("drive", GROUND, "rod", lambda t: t, (0, 1, 0), (1, 0, 0), (1, 0, 0))]}),
])
def test_energy_is_watched_only_where_it_should_stay(expected, more):
    assert studies.conserves_energy(mbdae.System(pendulum(**more))) is expected


def test_residuals_and_drift_of_the_half_implicit_method(system, motion):
    position, velocity, _ = studies.constraint_residuals(motion)
    assert position < 1e-10 < velocity < 0.2
    assert 1e-5 < studies.energy_drift(motion) < 0.05


# --- order, work and precision, energy ---------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("method", [mbdae.HalfImplicit, fully_implicit])
def test_one_step_methods_are_of_first_order(system, method, tmp_path):
    rows = studies.order_study(system, method, (8e-3, 4e-3, 2e-3, 1e-3), (0.0, 0.8), points=11)
    orders = studies.fitted_orders(rows)
    assert orders["q"] == pytest.approx(1.0, abs=0.1) and orders["v"] == pytest.approx(1.0, abs=0.1)
    assert orders["lam"] == pytest.approx(1.0, abs=0.15)
    save(studies.plot_order(rows, "pendulum"), tmp_path / "order.png")
    assert_picture(tmp_path / "order.png")


@pytest.mark.thorough
def test_work_precision_rows_and_figure(system, tmp_path):
    series = [studies.Series("half-implicit", mbdae.HalfImplicit, (1e-2, 1e-3)),
              studies.Series("IDA", Ida(backend="wrapper"), (1e-4, (1e-7, 1e-9)), "ggl")]
    told = []
    rows = studies.work_precision(system, series, (0.0, 0.4), points=21, repeats=1, progress=lambda *x: told.append(x))
    assert [(r.method, r.control, r.setting, r.atol) for r in rows] == [
        ("half-implicit", "h", 1e-2, None), ("half-implicit", "h", 1e-3, None), ("IDA", "rtol", 1e-4, 1e-6), ("IDA", "rtol", 1e-7, 1e-9)]
    assert all(r.success and r.cpu > 0.0 and r.steps > 0 for r in rows)
    for coarse, fine in (rows[:2], rows[2:]):
        assert fine.error_q < coarse.error_q and fine.error_v < coarse.error_v and fine.error_q <= fine.error_q_max
    assert rows[0].steps == 40 and rows[0].newton_iterations >= 40 and rows[2].newton_iterations is None
    assert rows[2].formulation == "ggl" and rows[0].energy_drift > rows[3].energy_drift > 0.0
    assert told[-1][:2] == (4, 4)
    save(studies.plot_work_precision(rows, "pendulum"), tmp_path / "w.png")
    assert_picture(tmp_path / "w.png")


def test_studies_take_mechanisms_as_they_are():
    series = [studies.Series("half-implicit", mbdae.HalfImplicit, (1e-2,))]
    rows = studies.work_precision(pendulum(), series, (0, 0.1), repeats=1)
    assert rows[0].success
    assert studies.energy_study(pendulum(), series, (0, 0.1))[0].status == "SUCCESS"
    assert studies.order_study(pendulum(), mbdae.HalfImplicit, (1e-2, 5e-3), (0, 0.1))[1].error_q > 0.0


@pytest.mark.parametrize("call, words", [
    (lambda: studies.work_precision("andrews", [], (0, 1)), "work_precision: the target must be a Mechanism or System, got str"),
    (lambda: studies.work_precision(pendulum(), [("a", Ida(), (1e-4,))], (0, 1)), "series must contain Series"),
    (lambda: studies.energy_study(pendulum(), studies.Series("a", Ida(), (1e-4,)), (0, 1)), "series must be a list of Series"),
    (lambda: studies.work_precision(pendulum(), [], 1.0), "work_precision: t_span must be two different"),
    (lambda: studies.Series("a", mbdae.HalfImplicit(h=1e-3), (1e-3,)), "has h = 0.001; give what makes the method.*mbdae.HalfImplicit"),
    (lambda: studies.order_study(pendulum(), mbdae.HalfImplicit(h=1e-3), (1e-3,), (0, 1)), "order_study: method must make a method"),
])
def test_studies_refuse_other_arguments_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("repeats", "seconds", "enough"), [
    (None, (0.1,), False), (None, (0.1, 0.11), False), (None, (0.1, 0.102), True), (None, (0.2, 0.1, 0.102), True),
    (None, (0.01, 0.02, 0.03, 0.04, 0.05), True), (None, (0.2, 0.3), False), (None, (0.2, 0.31), True), (None, (3.0,), True),
    (None, (0.001, 0.001), False), (None, (0.001,) * 11, True),
    (None, (1e-5,) * 24, False), (None, (1e-5,) * 25, True), (3, (0.1, 0.1), False), (3, (0.1, 0.2, 0.3), True), (3, (0.01,) * 3, False),
    (1, (0.1,), True), (9, (0.9,) * 3, True)])
def test_repeats_end_when_the_time_is_known(repeats, seconds, enough):
    assert measure._suffice([measure._Spent(s, s, s) for s in seconds], repeats) == enough
    assert measure._suffice([measure._Spent(None, s, None) for s in seconds], repeats) == enough


def test_errors_of_a_fixed_step_need_no_other_run(system):
    """At times that are among the steps the output is that of a run with output at these times."""
    times = np.linspace(0.0, 0.2, 11)
    for h, among in ((1e-2, True), (4e-3, True), (3e-3, False)):
        for method in (mbdae.HalfImplicit(h), mbdae.ProjectedGauss(h, stages=2), mbdae.NullSpaceGeneralizedAlpha(h)):
            found = at_times(mbdae.solve(system, method, (0.0, 0.2)), times)
            assert (found is not None) == among
            if found is not None:
                asked = mbdae.solve(system, method, (0.0, 0.2), t_eval=times)
                assert np.array_equal(found.t, asked.t)
                for x in ("q", "v", "a", "lam"):
                    a, b = getattr(found, x), getattr(asked, x)
                    assert np.abs(a - b).max() <= 1e-13 * np.abs(b).max(), (method, x)
    back = mbdae.solve(system, mbdae.HalfImplicit(1e-2), (0.0, -0.2))
    assert np.array_equal(at_times(back, -times).q, back.q[::2])


def test_a_narrow_range_of_costs_has_labels():
    """A single power of ten between the ends tells no scale."""
    rows = [SimpleNamespace(method="m", setting=1e-4, cpu=cpu, error_q=error, success=True, status="SUCCESS", error_v=None, error_lam=None,
                            residual_position=None, energy_drift=None) for cpu, error in ((3e-3, 1e-3), (7e-2, 1e-6))]
    figure = studies.plot_work_precision(rows)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert {"0.01", "0.05"} <= set(labels)


def test_refused_runs_are_not_failed_ones():
    rows = [SimpleNamespace(method="m", setting=1e-4, cpu=None, error_q=None, success=False, status=status, error_v=None, error_lam=None,
                            residual_position=None, energy_drift=None) for status in ("REFUSED", "SINGULAR")]
    for row, text in zip(rows, ("m  (refused)", "m  (failed: 1e-4)")):
        assert [t.get_text() for t in studies.plot_work_precision([row]).legends[0].get_texts()] == [text]


def test_a_run_that_fails_is_a_row(system, tmp_path):
    hasty = studies.Series("hasty", lambda h: mbdae.HalfImplicit(h, max_iter=1), (1e-2,))
    good = studies.Series("good", mbdae.HalfImplicit, (1e-2,))
    rows = studies.work_precision(system, [hasty, good], (0.0, 0.1), points=11, repeats=1)
    assert rows[0].status == "NEWTON_FAILED" and "did not converge" in rows[0].message and rows[0].error_q is None
    assert rows[1].success
    save(studies.plot_work_precision(rows[:1]), tmp_path / "none.png")  # nothing to draw is not an error either


def test_violations_below_rounding_do_not_stretch_the_axis():
    """Zero and 1e-37 stand where rounding ends; errors have no such limit."""
    points = ((1e-3, 1e-20, 0.0), (2e-3, 0.0, 1e-37), (3e-3, 1e-3, 1e-9))
    rows = [SimpleNamespace(method="m", setting=1e-4, success=True, cpu=cpu, error_q=error, error_v=None, error_lam=None, energy_drift=None,
                            residual_position=violation) for cpu, error, violation in points]
    errors, violations = studies.plot_work_precision(rows).axes[:2]
    assert list(violations.lines[0].get_ydata()) == [1e-17, 1e-17, 1e-9] and list(errors.lines[0].get_ydata()) == [1e-20, 1e-3]


def test_labels_of_points_do_not_overlap():
    rows = [SimpleNamespace(method=f"method {k}", setting=10.0**-n, success=True, cpu=1e-2 * 2.0**n * 1.01**k,
                            **dict.fromkeys(("error_q", "error_v", "error_lam", "residual_position", "energy_drift"), 10.0**-n * 1.02**k))
            for k in range(5) for n in range(1, 6)]
    axis = studies.plot_work_precision(rows).axes[0]
    axis.figure.draw_without_rendering()  # moves nothing
    boxes = [text.get_window_extent() for text in axis.texts]
    assert 5 <= len(boxes) < len(rows)  # where there is no room there is no label
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_a_figure_with_fixed_panels_is_drawn_once_and_the_same(tmp_path):
    rows = [SimpleNamespace(method="m", setting=10.0**-n, success=True, cpu=1e-2 * 2.0**n, error_q=10.0**-n, error_v=None, error_lam=None,
                            residual_position=None, energy_drift=None) for n in range(1, 4)]
    figure = studies.plot_work_precision(rows, "title")
    before = [axis.get_position().bounds for axis in figure.axes]
    save(figure, tmp_path / "once.png")
    assert [axis.get_position().bounds for axis in figure.axes] == before
    with style():
        figure.savefig(tmp_path / "twice.png", dpi=figure.dpi)
    once, twice = (np.asarray(Image.open(tmp_path / f"{name}.png")) for name in ("once", "twice"))
    assert np.array_equal(once, twice)


def test_a_run_that_takes_too_long_is_given_up(system):
    slow = studies.Series("slow", Ida(), (1e-8,), "ggl")
    row, = studies.work_precision(system, [slow], (0.0, 1.0), points=3, limit=1e-9)
    assert row.status == "TIME_LIMIT" and "time limit" in row.message


def test_exceptions_of_the_user_are_let_through():
    def explode(t, r, A, v, omega, F, T):
        if t > 0.05:
            raise KeyError("mine")

    system = mbdae.System(pendulum(forces=[mbdae.UserForce("bomb", ("rod",), explode)]))
    state = mbdae.assemble(system)
    exact = studies.ReferenceSolution(*(np.zeros((2, n)) for n in (1, 7, 6, 6, 5)), "made up")
    with pytest.raises(KeyError, match="mine"):
        studies.work_precision(system, [studies.Series("HI", mbdae.HalfImplicit, (1e-2,))], (0.0, 0.1), state=state, exact=exact)


def test_redundant_constraints_are_compared_by_their_reactions():
    system = mbdae.System(pendulum([mbdae.CD("plane", GROUND, "rod", (0, 1, 0))]))
    series = [studies.Series("HI", mbdae.HalfImplicit, (1e-3,)), studies.Series("IDA", Ida(), (1e-5,), "ggl")]
    ours, ida = studies.work_precision(system, series, (0.0, 0.2), points=5, repeats=1)
    assert ours.success and ours.error_lam < 0.2
    assert ida.success and ida.error_lam < 1e-3


def test_energy_study(system, tmp_path):
    series = [studies.Series("HI", mbdae.HalfImplicit, (5e-3,)), studies.Series("FI", fully_implicit, (5e-3,))]
    kept, lost = studies.energy_study(system, series, (0.0, 2.0), points=81)
    assert len(kept.t) == len(kept.energy) == 81 and lost.status == "SUCCESS"
    assert lost.drift < -0.2 and np.abs(np.subtract(kept.energy, kept.energy[0])).max() < 0.1
    save(studies.plot_energy([kept, lost]), tmp_path / "energy.png")
    assert_picture(tmp_path / "energy.png")


# --- pictures ------------------------------------------------------------------------------------------------------------


def test_geometry_of_the_slider_crank(slider_crank):
    state = mbdae.assemble(slider_crank)
    picture = Geometry(slider_crank.mechanism).at(0.0, state.q)
    crank, rod, slider = picture.bodies
    assert len(slider) == 1 and picture.rods == [] and picture.springs == []
    assert np.linalg.norm(rod[0] - rod[-1]) == pytest.approx(0.3)
    assert crank[0] == pytest.approx([0.0, 0.1, 0.2]) or crank[-1] == pytest.approx([0.0, 0.1, 0.2])
    assert picture.ground == pytest.approx(np.array([[0.0, 0.1, 0.12]]))


def test_geometry_of_rods_springs_and_planar_bodies():
    bodies = [mbdae.PlanarBody("cart", 1.0, 0.1, (1.0, 0.0)), mbdae.PlanarBody("bob", 0.5, 0.05, (1.0, -0.5)),
              mbdae.Particle("mass", 1.0, (0.0, 2.0, 0.0))]
    joints = [mbdae.PlanarTranslational("rail", GROUND, "cart"), mbdae.PlanarRevolute("pin", "cart", "bob", s_j=(0.0, 0.5)),
              mbdae.Rod("rod", GROUND, "mass", length=2.0)]
    m = mbdae.Mechanism("cart", bodies, joints, forces=[mbdae.TSDA("spring", GROUND, "cart", (0.2, 0.0, 0.0), k=20.0)])
    picture = Geometry(m).at(0.0, mbdae.System(m).initial_guess()[0])
    assert picture.rods[0] == pytest.approx(np.array([[0, 0, 0], [0, 2, 0]]))
    assert picture.springs[0] == pytest.approx(np.array([[0.2, 0, 0], [1, 0, 0]]))
    assert picture.bodies[1] == pytest.approx(np.array([[1, 0, 0], [1, -0.5, 0], [1, -1, 0]]))  # held at one end, drawn to the other
    assert sorted(picture.ground[:, 0]) == pytest.approx([0.0, 0.2])


@pytest.mark.parametrize("view", ["xz", "3d"])
def test_positions_in_one_picture(motion, view, tmp_path):
    save(studies.plot_positions(motion, view, title="pendulum"), tmp_path / "p.png")
    assert_picture(tmp_path / "p.png")


@pytest.mark.thorough
def test_outputs_in_one_picture(tmp_path):
    entry, system = library.entry("single-pendulum"), mbdae.System(library.mechanism("single-pendulum"))
    solution = mbdae.solve(system, mbdae.HalfImplicit(1e-2), (0.0, 0.2))
    seen = studies.observe(entry, solution)
    assert all(x.shape == solution.t.shape for x in seen.values())
    save(studies.plot_outputs(solution.t, seen, entry.title), tmp_path / "o.png")
    assert_picture(tmp_path / "o.png")


def test_particles_are_discs_without_joints():
    m = mbdae.Mechanism("m", [mbdae.Particle("p", 1.0, (1.0, 0.0, 0.0))], [mbdae.Rod("rod", GROUND, "p", length=1.0)])
    picture = Geometry(m).at(0.0, np.array([1.0, 0.0, 0.0]))
    assert picture.particles == (0,) and len(picture.joints) == 0 and len(picture.ground) == 1 and len(picture.rods) == 1


def test_what_flies_far_away_is_shown_from_its_middle():
    bodies = [mbdae.Particle(n, 1.0, (x, 0.0, 0.0), (9.0, 0.0, 0.0)) for n, x in (("a", 0.0), ("b", 1.0))]
    flying = mbdae.System(mbdae.Mechanism("flight", bodies, [mbdae.Rod("rod", "a", "b", length=1.0)]))
    t = np.linspace(0.0, 10.0, 21)
    far = np.array([[9.0 * x, 0, 0, 9.0 * x + 1.0, 0, 0] for x in t])
    seen = followed(flying.geometry, t, far)
    assert seen.at(t[-1], far[-1]).centres == pytest.approx(np.array([[-0.5, 0, 0], [0.5, 0, 0]])) and prefix(seen) == "\u0394"
    assert seen.at(t[-1], far[-1]).rods[0][:, 0] == pytest.approx([-0.5, 0.5])
    assert followed(flying.geometry, t[:3], far[:3]) is flying.geometry and prefix(flying.geometry) == ""


def test_animations_follow_sooner_than_pictures_of_several_positions():
    """Each of their frames shows one position, which is not to be small."""
    bodies = [mbdae.Particle(n, 1.0, (x, 0.0, 0.0), (4.0, 0.0, 0.0)) for n, x in (("a", 0.0), ("b", 1.0))]
    gliding = mbdae.System(mbdae.Mechanism("flight", bodies, [mbdae.Rod("rod", "a", "b", length=1.0)]))
    solution = mbdae.solve(gliding, mbdae.HalfImplicit(0.1), (0.0, 1.0))
    for t_end, travel in ((0.5, 2.0), (1.0, 0.0)):
        shown = film._Animation(solution, np.linspace(0.0, t_end, 5), "xy", 1.0, None)
        assert np.ptp(shown.paths[:, 0, 0]) == pytest.approx(travel, abs=1e-9)
        assert shown.figure.axes[0].get_xlabel().startswith("x" if travel else "\u0394x")
    assert followed(gliding.geometry, solution.t, solution.q) is gliding.geometry


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(5.0, 0.1, 0.1), (0.1, 0.1, 5.0), (1.0, 1.0, 1.0)])
def test_figures_in_space_contain_their_box_labels_and_title_without_wide_margins(size):
    corners = [mbdae.Particle(f"{corner}", 1.0, corner) for corner in product(*zip((0.0, 0.0, 0.0), size))]
    still = mbdae.System(mbdae.Mechanism("box", corners, gravity=(0.0, 0.0, 0.0)))
    solution = mbdae.solve(still, mbdae.HalfImplicit(0.1), (0.0, 0.2))
    figure = studies.plot_positions(solution, "3d", title="A long title of a box,  " * 4)
    figure.draw_without_rendering()
    axes, high = figure.axes[0], figure.bbox.height
    boxes = [axes.title.get_window_extent(), *(a.get_tightbbox() for a in (axes.xaxis, axes.yaxis, axes.zaxis))]
    key = figure.legends[0].get_window_extent()
    assert key.y1 <= min(box.y0 for box in boxes)
    boxes.append(key)
    assert all(box.y0 >= 0.0 and box.y1 <= high for box in boxes)
    assert min(box.y0 for box in boxes) < 0.2 * figure.dpi and high - boxes[0].y1 < 0.2 * figure.dpi
    assert boxes[0].y0 > max(box.y1 for box in boxes[1:]) - 0.1 * figure.dpi  # the title stands above


def test_what_is_joined_to_the_ground_is_shown_where_it_is(motion):
    g = motion.system.geometry
    assert followed(g, motion.t, motion.q) is g


def test_small_displacements_can_be_magnified(system):
    q0, _ = system.initial_guess()
    q = q0 + np.array([0.0, 0.0, 0.01, 0, 0, 0, 0])
    seen, plain = Magnified(system.geometry, 0.0, q0, 10.0).at(0.0, q), system.geometry.at(0.0, q)
    assert seen.centres[0] == pytest.approx([0.5, 0.0, 0.1]) and plain.centres[0] == pytest.approx([0.5, 0.0, 0.01])
    assert seen.bodies[0][:, 2] == pytest.approx(0.1) and (seen.ground == plain.ground).all() and seen.up == plain.up


def test_instants_of_a_picture_can_be_chosen(motion):
    lines = [len(studies.plot_positions(motion, "xz", instants).axes[0].lines) for instants in ((0, 10), [0, 10, 10, 20], 4)]
    assert lines[0] < lines[1] < lines[2]


def test_titles_are_broken_between_their_parts():
    assert drawing._broken("A mechanism,  t = 0 ... 2 s", 9.0) == "A mechanism,  t = 0 ... 2 s"
    assert drawing._broken("A mechanism,  t = 0 ... 2 s", 2.0) == "A mechanism\nt = 0 ... 2 s"


def test_springs_zigzag_across_the_line_of_sight():
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for view, up in (("xz", "z"), ("3d", "z"), ("3d", "y")):
        viewer = canvas.towards_viewer(view, up)
        side = canvas.zigzag(ends, 0.1, viewer) - np.outer(np.linspace(0, 1, canvas.TEETH + 4), ends[1])
        assert np.linalg.norm(viewer) == pytest.approx(1.0) and np.abs(side @ viewer - side[:, 2] * viewer[2]).max() < 1e-12


@pytest.mark.parametrize(("times", "width"), [((0.0, 0.04, 10.0), "5.2f"), ((0.0, 2e-4, 0.05), "6.4f"), ((0.0, 20.0, 1e4), "5.0f"),
                                              ((0.0, 0.1, 2.0), "3.1f")])
def test_the_clock_tells_one_frame_from_the_next(times, width):
    assert film._clock(np.array(times)) == width


@pytest.mark.thorough
@pytest.mark.parametrize("view", ["xz", "3d"])
def test_film_as_gif(motion, view, tmp_path):
    frames = []
    n = studies.animate(motion, tmp_path / "film.gif", view=view, fps=10, speed=1.0, progress=lambda k, n: frames.append(k))
    assert n == 6 and frames == [1, 2, 3, 4, 5, 6]
    with Image.open(tmp_path / "film.gif") as image:
        assert image.n_frames == 6 and image.info["duration"] == 100


def test_film_refusals(motion, tmp_path, monkeypatch):
    for message, path, options in ((r"\.gif or \.mp4", "film.avi", {}), ("fps must be positive", "film.gif", {"fps": 0}),
                                   ("two of the axes", "film.gif", {"view": "xx"})):
        with pytest.raises(ValueError, match=message):
            studies.animate(motion, tmp_path / path, **options)
    monkeypatch.setattr(film, "shutil", type("Nothing", (), {"which": staticmethod(lambda name: None)}))
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"pip install 'mbdae\[mp4\]'"):
        studies.animate(motion, tmp_path / "film.mp4")


def test_a_system_of_functions_has_no_picture(tmp_path):
    free = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -q, phi=lambda t, q: np.zeros(0),
                                       q0=[1.0], energy=lambda t, q, v: 0.5 * float(q @ q + v @ v))
    solution = mbdae.solve(free, mbdae.HalfImplicit(1e-2), (0.0, 0.1))
    with pytest.raises(ValueError, match="without a picture"):
        studies.plot_positions(solution)
    row, = studies.work_precision(free, [studies.Series("HI", mbdae.HalfImplicit, (1e-2,))], (0.0, 0.1), points=3, repeats=1)
    assert row.success and row.error_lam is None and row.energy_drift is None


# --- tables and names ----------------------------------------------------------------------------------------------------


def test_tables(tmp_path):
    rows = [studies.OrderRow("m", 0.1, 1.0, None, 2.0), studies.OrderRow("m", 0.05, 0.5, None, 1.0)]
    studies.write_csv(tmp_path / "t.csv", rows)
    with open(tmp_path / "t.csv", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [r["h"] for r in read] == ["0.1", "0.05"] and read[0]["error_v"] == ""
    studies.write_json(tmp_path / "t.json", studies.metadata(n=np.int64(3), x=np.inf) | {"rows": rows, "a": np.eye(2)})
    found = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert found["parameters"] == {"n": 3, "x": None} and found["a"] == [[1.0, 0.0], [0.0, 1.0]] and found["rows"][1]["h"] == 0.05
    assert found["versions"]["mbdae"] and found["versions"]["numpy"] and found["machine"]["cores"] >= 1 and found["date"]


def test_methods_by_name():
    assert find("halfimplicit").make(h=1e-2) == mbdae.HalfImplicit(1e-2)
    assert find("FullyImplicit").make(h=1e-2) == mbdae.FullyImplicit(1e-2)
    assert find("Ida:ggl").label == "IDA GGL" and find("Ida:GGL").formulation == "ggl" and find("Ida").formulation is None
    assert find("SolveIvp:radau").make().method == "Radau" and find("Cvode:Adams").make().multistep == "Adams"
    for text in ("Foo", "Ida:foo", "HalfImplicit:x"):
        with pytest.raises(ValueError, match="there is no method"):
            find(text)


def test_save_refuses_unknown_endings(tmp_path):
    with pytest.raises(ValueError, match="the ending must be one of"):
        save(studies.plot_work_precision([]), tmp_path / "figure.xyz")


@pytest.mark.parametrize("middle", [0.0, 1e-57, 0.3, -7e6])
def test_rounding_errors_are_not_magnified(middle):
    """The curve of a constant lies in the middle of its panel, and its rounding is not seen."""
    t = np.linspace(0.0, 1.0, 50)
    values = middle * (1.0 + 1e-14 * np.cos(40.0 * t)) if middle else 1e-57 * np.cos(40.0 * t)
    (axis,) = (a for a in studies.plot_outputs(t, {"x": values}).axes if a.get_visible())
    low, high = axis.get_ylim()
    assert low < values.min() and values.max() < high
    assert high - low > 1e6 * np.ptp(values) and 0.5 * (low + high) == pytest.approx(middle, rel=1e-12, abs=1e-30)
