"""Redundant constraints: named, without a flag, with forces of minimal norm, in every form and with every kind of solver."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.registry import FAMILIES, find

from .forms import FORMS, by_complex_step, open_levels, random_point, random_state
from .helpers import double_pendulum

GROUND = "ground"


def bar(name, start, end, mass=1.0):
    """A rigid bar between two points of the x-y plane, its x-axis along it."""
    (x, y), (u, w) = start, end
    length, half = np.hypot(u - x, w - y), 0.5 * np.arctan2(w - y, u - x)
    J = mass * length**2 / 12
    middle, turned = (0.5 * (x + u), 0.5 * (y + w), 0), (np.cos(half), 0, 0, np.sin(half))
    return mbdae.RigidBody(name, mass, (0.01 * J, J, J), middle, turned), 0.5 * length


def four_bar(points=((0, 0), (0.1, 0.3), (0.9, 0.6), (1.0, 0.0)), friction=False):
    """A planar four-bar linkage of spatial bodies and spatial revolute joints: three of its twenty equations are redundant."""
    A, B, C, D = points
    (crank, a), (coupler, b), (rocker, c) = (bar(n, p, q) for n, p, q in (("crank", A, B), ("coupler", B, C), ("rocker", C, D)))
    joints = [mbdae.Revolute("A", GROUND, "crank", (*A, 0), (-a, 0, 0)), mbdae.Revolute("B", "crank", "coupler", (a, 0, 0), (-b, 0, 0)),
              mbdae.Revolute("C", "coupler", "rocker", (b, 0, 0), (-c, 0, 0)), mbdae.Revolute("D", GROUND, "rocker", (*D, 0), (c, 0, 0))]
    forces = [mbdae.Friction("rub", "D", 0.2, radius=0.05, v_s=0.1, smooth=True)] if friction else []
    return mbdae.System(mbdae.Mechanism("four-bar", [crank, coupler, rocker], joints, forces=forces, gravity=(0.0, -9.81, 1.0)))


def planar_four_bar():
    """The same linkage of planar bodies, without redundancy."""
    points = ((0, 0), (0.1, 0.3), (0.9, 0.6), (1.0, 0.0))
    bodies, half = [], []
    for name, p, q in zip(("crank", "coupler", "rocker"), points, points[1:]):
        body, h = bar(name, p, q)
        angle = 2 * np.arctan2(body.orientation[3], body.orientation[0])
        bodies.append(mbdae.PlanarBody(name, 1.0, (2 * h) ** 2 / 12, body.position[:2], angle))
        half.append(h)
    a, b, c = half
    pin = mbdae.PlanarRevolute
    joints = [pin("A", GROUND, "crank", points[0], (-a, 0)), pin("B", "crank", "coupler", (a, 0), (-b, 0)),
              pin("C", "coupler", "rocker", (b, 0), (-c, 0)), pin("D", GROUND, "rocker", points[3], (c, 0))]
    return mbdae.System(mbdae.Mechanism("planar", bodies, joints, gravity=(0.0, -9.81, 0.0)))


@pytest.fixture(scope="module")
def linkage():
    return four_bar()


def test_redundant_equations_are_counted_and_named(linkage):
    x = linkage.start
    assert len(x.redundant) == 3 == linkage.nc - np.linalg.matrix_rank(linkage.phi_q(0.0, x.q).toarray())
    assert [linkage.labels[k] for k in linkage.dependent] == sorted(x.redundant, key=linkage.labels.index)


def test_a_singular_position_is_not_a_redundancy():
    """A parallelogram with its bars in one line: rank is lost in this position only."""
    s = four_bar(((0, 0), (0.3, 0), (1.3, 0), (1.0, 0)))
    assert len(s.start.redundant) > 3
    assert len(s.dependent) == 3


def test_nothing_is_redundant_in_the_plane():
    s = planar_four_bar()
    assert s.start.redundant == () and len(s.dependent) == 0
    assert np.array_equal(mbdae.GGL(s).model, s.model)


def test_multipliers_have_minimal_norm(linkage):
    x = linkage.start
    N = null_space(linkage.phi_q(0.0, x.q).toarray().T)
    assert N.shape[1] == 3 and np.abs(N.T @ x.lam).max() < 1e-13 * np.abs(x.lam).max()
    assert max(open_levels(linkage, x).values()) < 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_the_matrix_of_every_form_is_regular_and_exact(linkage, form, rng):
    p = FORMS[form](linkage)
    y, yd = random_point(p, random_state(linkage, rng, 0.02), rng)
    J = p.jacobian(0.0, y, yd, 7.0).toarray()
    np.testing.assert_allclose(J, by_complex_step(p, 0.0, y, yd, 7.0), rtol=1e-12, atol=1e-12)
    assert np.linalg.matrix_rank(J) == p.n
    assert np.abs(p.residual(0.0, p.y0, p.yd0)).max() < 1e-11


ROUTES = [("index3", Ida()), ("ggl", Ida()), ("gear", Ida()), ("index2", Ida()), ("index1", Ida()), ("ggl", Ida(linsolver="sparse")),
          ("ode", SolveIvp("DOP853")), ("ode", SolveIvp("Radau"))]


@pytest.mark.parametrize(("form", "method"), ROUTES, ids=lambda x: getattr(x, "label", x))
def test_no_solver_notices(linkage, form, method):
    """The motion is that of the planar linkage; multipliers keep their minimal norm along it."""
    flat = mbdae.solve(planar_four_bar(), SolveIvp("DOP853"), (0.0, 0.5), t_eval=[0.5], rtol=1e-11, atol=1e-12)
    found = mbdae.solve(linkage, method, (0.0, 0.5), formulation=form, t_eval=[0.5], rtol=1e-8, atol=1e-10)
    assert found.success, found.message
    np.testing.assert_allclose(found.q[0].reshape(3, 7)[:, :2], flat.q[0].reshape(3, 3)[:, :2], atol=2e-6)
    N = null_space(linkage.phi_q(0.5, found.q[0]).toarray().T, rcond=1e-6)
    assert np.abs(N.T @ found.lam[0]).max() < 1e-9 * np.abs(found.lam[0]).max()


FOREIGN = [spec for family in FAMILIES if family.forms() for variant in (family.variants or (None,))
           for spec in [f"{family.name}:{variant}" if variant else family.name]]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_joint_given_twice_disturbs_no_solver(name):
    m = double_pendulum()
    twice = mbdae.System(replace(m, joints=[*m.joints, mbdae.PlanarRevolute("top again", GROUND, "upper", s_j=(-0.5, 0.0))]))
    try:
        method = find(name).make()
    except ValueError as e:
        pytest.skip(str(e))
    once = mbdae.solve(m, SolveIvp("DOP853"), (0.0, 0.1), t_eval=[0.1], rtol=1e-10, atol=1e-11)
    for form in method.formulations:
        found = mbdae.solve(twice, method, (0.0, 0.1), formulation=form, t_eval=[0.1], rtol=1e-6, atol=1e-8)
        assert found.success, f"{form}: {found.message}"
        np.testing.assert_allclose(found.q[0], once.q[0], atol=1e-4, err_msg=form)
        np.testing.assert_allclose(found.lam[0, :2], found.lam[0, 4:], atol=1e-9 * np.abs(found.lam).max(), err_msg=form)  # shared evenly


@pytest.mark.parametrize("make", [mbdae.HalfImplicit, mbdae.FullyImplicit, mbdae.NullSpaceNewmark, mbdae.GeneralizedAlpha,
                                  mbdae.Rattle, mbdae.Spark])
def test_one_step_integrators_pass_too(linkage, make):
    flat = mbdae.solve(planar_four_bar(), SolveIvp("DOP853"), (0.0, 0.5), t_eval=[0.5], rtol=1e-11, atol=1e-12)
    found = mbdae.solve(linkage, make(h=1e-4), (0.0, 0.5), t_eval=[0.5])
    assert found.success, found.message
    np.testing.assert_allclose(found.q[0].reshape(3, 7)[:, :2], flat.q[0].reshape(3, 3)[:, :2], atol=1e-3)


def test_friction_in_a_joint_with_redundant_equations():
    s = four_bar(friction=True)
    ends = [mbdae.solve(s, method, (0.0, 0.3), formulation=form, rtol=1e-8, atol=1e-10).q[-1]
            for form, method in (("ggl", Ida()), ("ode", SolveIvp("DOP853")))]
    assert np.abs(ends[0] - ends[1]).max() < 1e-5
