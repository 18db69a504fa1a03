"""Accelerations and multipliers with joint friction: fixed point, Newton's method, continuation, and joints that jam."""

from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import GROUND, Status
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

from .friction_cases import light_slider, tree, wedge, wedge_force
from .helpers import relative, thorough_but

QUICK = ("DOP853", "DOP853 ode", "RosenbrockNystrom", "Ida", "Ida ggl", "HalfImplicit")
FORWARD, BACKWARD = (lambda t: 1.0 * t), (lambda t: -1.0 * t)


def open_motion(s, t, q, v, a, lam):
    """Residual of the equations of motion, relative to their forces."""
    force = s.force(t, q, v, lam)
    return np.abs(s.mass(t, q) @ a + s.phi_q(t, q).T @ lam - force).max() / (1.0 + np.abs(force).max())


# --- solutions that are known ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.5, 7.0, 9.9])
def test_a_wedge_pulls_itself_tight(mu):
    """The fixed-point iteration would contract with 0.05, 0.7 and 0.99."""
    assert mbdae.assemble(wedge(mu, FORWARD)).lam[0] == pytest.approx(wedge_force(mu, 1.0), rel=1e-11)


@pytest.mark.parametrize("mu", [5.0, 9.9, 11.0, 50.0, 1e4])
def test_a_wedge_pulls_itself_loose(mu):
    """The fixed-point iteration would diverge with the factor `mu/10`, there and back."""
    x = mbdae.assemble(wedge(mu, BACKWARD))
    assert x.lam[0] == pytest.approx(wedge_force(mu, -1.0), rel=1e-11)


def spatial_wedge(mu, slope, speed):
    """The wedge with a rigid body and a push along `(1, *slope)`: two normal forces, `n^2 = (m g - mu n sy)^2 + (mu n sz)^2`."""
    block = mbdae.RigidBody("block", 2.0, (1.0, 1.0, 1.0))
    joints = [mbdae.Translational("guide", GROUND, "block", a_i=(1, 0, 0), a_j=(1, 0, 0), b_i=(0, 1, 0)),
              mbdae.CD("push", GROUND, "block", (1.0, *slope) / np.linalg.norm((1.0, *slope)), f=lambda t: speed * t)]
    return mbdae.System(mbdae.Mechanism("spatial wedge", [block], joints, forces=[mbdae.Friction("rub", "guide", mu)],
                                        gravity=(0.0, -9.81, 0.0)))


@pytest.mark.parametrize(("mu", "slope"), [(0.3, (0.5, 0.4)), (2.0, (0.6, 0.2)), (6.0, (0.6, 0.1)), (20.0, (0.6, 0.04))])
def test_the_normal_force_of_a_spatial_guide_is_the_root_that_goes_back_to_no_friction(mu, slope):
    """Beyond `mu^2 |s|^2 = 1` there are two roots, of which the smaller is connected with `n = m g`."""
    c, b, weight = mu * mu * (slope[0] ** 2 + slope[1] ** 2) - 1.0, mu * slope[0], 2.0 * 9.81
    roots = weight * np.roots([c, -2.0 * b, 1.0])
    s = spatial_wedge(mu, slope, 1.0)
    x = mbdae.assemble(s)
    normal = np.linalg.norm(x.lam[s.mechanism.normal_rows(s.mechanism.forces[0])])
    assert normal == pytest.approx(min(r.real for r in roots if r.real > 0.0), rel=1e-10)
    assert open_motion(s, 0.0, x.q, x.v, x.a, x.lam) < 1e-12


# --- no solution -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [10.0 + 1e-6, 11.0, 1e3])
def test_a_wedge_that_jams_is_named(mu):
    with pytest.raises(mbdae.AssemblyError, match="wedge: joint 'guide' jams at t = 0:"):
        mbdae.assemble(wedge(mu, FORWARD))


@pytest.mark.parametrize(("mu", "slope"), [(2.0, (-0.6, 0.2)), (20.0, (0.6, 0.06))])
def test_a_spatial_guide_that_jams_is_named(mu, slope):
    """The roots are negative, or complex."""
    with pytest.raises(mbdae.AssemblyError, match="joint 'guide' jams at t = 0:"):
        mbdae.assemble(spatial_wedge(mu, slope, 1.0))


def test_of_several_joints_the_one_that_jams_is_named():
    """A block that slides freely beside the wedge, with as much friction."""
    m = wedge(11.0, FORWARD).mechanism
    other = mbdae.PlanarBody("other", 1.0, 1.0, velocity=(1.0, 0.0), omega=0.0)
    both = mbdae.Mechanism("both", [other, *m.bodies], [mbdae.PlanarTranslational("track", GROUND, "other"), *m.joints],
                           forces=[mbdae.Friction("a", "track", 11.0), *m.forces], gravity=m.gravity)
    with pytest.raises(mbdae.AssemblyError, match="both: joint 'guide' jams"):
        mbdae.assemble(mbdae.System(both))


@pytest.mark.parametrize("method", thorough_but(QUICK, [
    "DOP853 ode", "DOP853 partition", "RosenbrockNystrom", "TrapezoidalStateSpace", "SdirkDescriptor", "SdirkFirstOrder", "NullSpaceHHT",
    "NullSpaceNewmark", "HHT", "GeneralizedAlpha", "ProjectedGauss", "Ida ggl", "HalfImplicit", "FullyImplicit", "Rattle",
    "Spark"]))
def test_a_run_ends_where_a_joint_jams(method):
    """The wedge turns back; its friction grows with `tanh(v/v_s)` and jams where that is 1/1.1."""
    s = wedge(11.0, lambda t: -1.0 * t + 2.0 * t * t, v_s=0.05, smooth=True, pendulum=True)
    jam = 0.25 + 0.05 * np.arctanh(1.0 / 1.1) / 4.0
    name, *form = method.split()
    fixed = {"NullSpaceNewmark": 2e-3, "GeneralizedAlpha": 2e-3, "ProjectedGauss": 2e-3, "HalfImplicit": 1e-3, "FullyImplicit": 1e-3,
             "Rattle": 1e-3, "Spark": 2e-3}
    chosen = {"DOP853": SolveIvp("DOP853"), "Ida": Ida()}.get(name) or getattr(mbdae, name)(**({"h": fixed[name]} if name in fixed else {}))
    x = mbdae.solve(s, chosen, (0.0, 0.5), formulation=form[0] if form else None, rtol=1e-6, atol=1e-6)
    assert not x.success and x.status in (Status.NEWTON_FAILED, Status.SOLVER_FAILED)
    assert "joint 'guide' jams at t = 0.2" in x.message
    assert jam - (5e-3 if name in fixed or name == "Ida" else 1e-6) < x.t[-1] <= jam + 1e-9
    assert np.isfinite(x.lam).all() and np.isfinite(x.v).all()


def test_functions_that_jam_are_named_by_their_constraint():
    def functions(mu):
        return mbdae.System.from_functions(
            nq=2, nc=2, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([0.0 * q[0], -9.81 + 0.0 * q[1]]),
            phi=lambda t, q: np.array([q[1], q[0] - 0.1 * q[1] - t]), friction=lambda t, q, v, lam: np.array([mu * lam[0], 0.0 * lam[0]]),
            labels=("guide", "push"), name="functions")

    assert mbdae.assemble(functions(7.0)).lam[0] == pytest.approx(wedge_force(7.0, 1.0), rel=1e-10)
    assert mbdae.assemble(functions(-30.0)).lam[0] == pytest.approx(wedge_force(30.0, -1.0), rel=1e-10)
    with pytest.raises(mbdae.AssemblyError, match="functions: the constraint 'guide' jams at t = 0"):
        mbdae.assemble(functions(11.0))


# --- motions ---------------------------------------------------------------------------------------------------------------------

METHODS = {"DOP853": (SolveIvp("DOP853"), "ode", 1e-8), "DOP853 partition": (SolveIvp("DOP853"), "partition", 1e-8),
           "RosenbrockNystrom": (mbdae.RosenbrockNystrom(), None, 1e-6), "SdirkDescriptor": (mbdae.SdirkDescriptor(), None, 1e-6),
           "SdirkFirstOrder": (mbdae.SdirkFirstOrder(), None, 1e-6), "TrapezoidalStateSpace": (mbdae.TrapezoidalStateSpace(), None, 1e-5),
           "NullSpaceHHT": (mbdae.NullSpaceHHT(), None, 1e-5), "HHT velocity": (mbdae.HHT(level="velocity"), None, 1e-5),
           "GeneralizedAlpha": (mbdae.GeneralizedAlpha(h=5e-4), None, 1e-5), "Ida": (Ida(), "ggl", 1e-7)}


@pytest.fixture(scope="module")
def sliding():
    system = light_slider()
    times = np.linspace(0.0, 0.3, 4)
    return system, mbdae.solve(system, Ida(), (0.0, 0.3), formulation="index1", rtol=1e-10, atol=1e-10, t_eval=times)


@pytest.mark.parametrize("method", thorough_but(QUICK, METHODS))
def test_a_light_slider_under_a_rod(sliding, method):
    """The fixed-point iteration would diverge with the factor 2.1; index 1 has the multipliers among its unknowns."""
    system, accurate = sliding
    chosen, form, tol = METHODS[method]
    x = mbdae.solve(system, chosen, (0.0, 0.3), formulation=form, rtol=tol, atol=tol, t_eval=accurate.t)
    assert x.success, x.message
    assert np.abs(x.q - accurate.q).max() < 100 * tol and relative(x.lam, accurate.lam) < 1e3 * tol


@pytest.mark.parametrize("method", [mbdae.HalfImplicit, mbdae.FullyImplicit])
def test_first_order_where_friction_raises_its_own_reaction(sliding, method):
    """Friction with the multipliers of the step before is a fixed-point iteration in time: it diverged, or was 5 % off."""
    system, accurate = sliding
    runs = [mbdae.solve(system, method(h=h), (0.0, 0.3), t_eval=accurate.t) for h in (2e-3, 1e-3)]
    assert all(x.success for x in runs)
    for block in ("q", "lam"):
        coarse, fine = (relative(getattr(x, block), getattr(accurate, block)) for x in runs)
        assert fine < 1e-2 and 1.9 < coarse / fine < 2.1


def slider_and_pendulum():
    bodies = [mbdae.PlanarBody("slider", 1.0, 0.01, (0.0, 0.0), 0.0, (1.0, 0.0), 0.0),
              mbdae.PlanarBody("rod", 1.0, 0.1, (0.5, 0.0), 0.0, (1.0, 0.0), 0.0)]
    joints = [mbdae.PlanarTranslational("guide", GROUND, "slider"), mbdae.PlanarRevolute("pin", "slider", "rod", (0.0, 0.0), (-0.5, 0.0))]
    friction = mbdae.Friction("rub", "guide", 0.1, v_s=0.05, smooth=True)
    return mbdae.System(mbdae.Mechanism("slider and pendulum", bodies, joints, forces=[friction], gravity=(0.0, -9.81, 0.0)))


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["position", "velocity", "stabilised"])
def test_controlled_steps_are_of_second_order_with_friction(level):
    """Multipliers for positions are of order one in steps that change their size, and friction took them: a factor of 5 was left."""
    system = slider_and_pendulum()
    accurate = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 0.6), formulation="ode", rtol=1e-11, atol=1e-12)
    coarse, fine = (np.abs(mbdae.solve(system, mbdae.HHT(level=level), (0.0, 0.6), rtol=tol, atol=tol).q[-1] - accurate.q[-1]).max()
                    for tol in (1e-6, 1e-8))
    assert fine < 1e-5 and coarse / fine > 15.0  # 100^(2/3) = 22


@pytest.mark.parametrize("seed", [19, 38, 52])
@pytest.mark.parametrize("method", thorough_but(QUICK, ["DOP853", "RosenbrockNystrom", "SdirkDescriptor", "NullSpaceHHT"]))
def test_random_trees_run_to_their_end(seed, method):
    """The multipliers came to rest at rounding only, which was taken for divergence; from then on they were NaN for good."""
    system = mbdae.System(tree(seed))
    times = np.linspace(0.0, 0.12, 3)
    accurate = mbdae.solve(system, Ida(), (0.0, 0.12), formulation="ggl", rtol=1e-9, atol=1e-9, t_eval=times)
    chosen, form, tol = METHODS[method]
    x = mbdae.solve(system, chosen, (0.0, 0.12), formulation=form, rtol=tol, atol=tol, t_eval=times)
    assert x.success, x.message
    assert np.abs(x.q - accurate.q).max() < 100 * tol


# --- guesses, derivatives --------------------------------------------------------------------------------------------------------


def test_an_evaluation_that_fails_spoils_none_after_it():
    system = light_slider()
    p = mbdae.UnderlyingODE(system)
    y = p.pack(system.start)[0]
    before = p.rhs(0.0, y).copy()
    assert not np.isfinite(p.rhs(0.0, np.full_like(y, np.nan))).any()
    np.testing.assert_allclose(p.rhs(0.0, y), before, rtol=1e-12, atol=1e-12)
    assert p.fault(0.0) is None


@pytest.mark.parametrize("guess", [0.0, 1e-8, -1.0, 1.0, 1e8, -1e8, np.nan])
def test_the_guess_of_the_multipliers_does_not_show(guess):
    """Two solutions exist, of which the one wanted has its normal force pointing upwards."""
    system = light_slider()
    p = mbdae.UnderlyingODE(system)
    y = p.pack(system.start)[0]
    p._lam[:] = guess
    assert relative(p.rhs(0.0, y)[system.nq:], system.start.a) < 1e-11


def slopes(f, y, h=1e-6):
    """`df/dy` by central differences of fourth order."""
    return np.array([(8.0 * (f(y + h * e) - f(y - h * e)) - (f(y + 2 * h * e) - f(y - 2 * h * e))) / (12.0 * h) for e in np.eye(len(y))]).T


@pytest.mark.parametrize("form", [mbdae.UnderlyingODE, mbdae.StateSpace, partial(mbdae.StateSpace, parametrisation="tangent")],
                         ids=["ode", "partition", "tangent"])
def test_derivatives_where_the_fixed_point_diverges(form):
    """By the complex step through Newton's method, and by linearised equations."""
    system = light_slider(speed=0.1, v_s=0.1)
    p = form(system)
    y = p.pack(system.start)[0]
    found = p.rhs_jacobian(0.0, y)
    expected = slopes(lambda x: p.rhs(0.0, x).copy(), y, 1e-4)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    if form is not mbdae.UnderlyingODE:
        system = light_slider(speed=0.1, v_s=0.1, mu=0.0)
        without = form(system)
        assert relative(without.rhs_jacobian(0.0, without.pack(system.start)[0]), found) > 0.1
