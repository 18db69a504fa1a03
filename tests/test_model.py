"""Mechanisms as data: bodies, joints, forces, functions of time, Taylor arithmetic, rotations."""

import math
from dataclasses import FrozenInstanceError, fields, replace

import numba
import numpy as np
import pytest

import mbdae
from mbdae.model import rotations, taylor
from mbdae.model.motions import as_motion

from .helpers import GROUND, all_elements, double_pendulum, inertia, quaternion, slider_crank, unit

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def law(x, rate, t):
    return x


def load(t, r, A, v, omega, F, T):
    F[0] = 1.0


ELEMENTS = [
    mbdae.Particle("e", 1.5, (1, 2, 3), (4, 5, 6)), mbdae.PlanarBody("e", 1.5, 0.2, (1, 2), 0.3, (4, 5), 0.6),
    mbdae.RigidBody("e", 1.5, (1, 2, 2.5), (1, 2, 3), (0.6, 0.8, 0, 0), (4, 5, 6), (7, 8, 9)),
    mbdae.Spherical("e", "a", "b", X, Y), mbdae.Revolute("e", "a", "b", X, Y, Z, X), mbdae.Universal("e", "a", "b", X, Y, Z, X),
    mbdae.Cylindrical("e", "a", "b", X, Y, Z, X), mbdae.RevoluteCylindrical("e", "a", "b", X, Y, Z, X),
    mbdae.Translational("e", "a", "b", X, Y, Z, X, X, Y), mbdae.Fixed("e", "a", "b", X, Y), mbdae.Rod("e", "a", "b", X, Y, 2.5),
    mbdae.Free("e", "a", "b", X, Y),
    mbdae.PlanarRevolute("e", "a", "b", (1, 2), (3, 4)), mbdae.PlanarTranslational("e", "a", "b", (1, 2), (3, 4), (0.6, 0.8)),
    mbdae.DP1("e", "a", "b", X, Y, 0.5), mbdae.DP2("e", "a", "b", X, Y, Z, 0.5), mbdae.D("e", "a", "b", X, Y, 0.5),
    mbdae.CD("e", "a", "b", X, Y, Z, 0.5),
    mbdae.Coincident("e", "a", "b", X, Y), mbdae.Turn("e", "a", "b", X, Y, Z, 0.5), mbdae.PlanarAngle("e", "a", "b", 0.5),
    mbdae.AngleDriver("e", "a", "b", mbdae.Polynomial((0, 1)), Z, X, Y), mbdae.PlanarAngleDriver("e", "a", "b", mbdae.Harmonic(1, 2)),
    mbdae.DistanceDriver("e", "a", "b", 2.0, X, Y), mbdae.CoordinateDriver("e", "a", "b", 2.0, X, Y, Z),
    mbdae.TSDA("e", "a", "b", X, Y, 1.0, 2.0, 3.0, law), mbdae.RSDA("e", "a", "b", 1.0, 2.0, 3.0, law, Z, X, Y),
    mbdae.PointForce("e", "a", (1, 2, 3), X, "body"), mbdae.PointTorque("e", "a", (1, 2, 3), "global"),
    mbdae.UserForce("e", ("a", "b"), load),
    mbdae.Friction("e", "joint", 0.3, 0.1, 1e-3, True, ("row",)),
]


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: type(e).__name__)
def test_elements_print_compare_and_cannot_change(element):
    text = repr(element)
    assert text.startswith(type(element).__name__ + "(name='e'")
    assert all(f.name + "=" in text for f in fields(element))
    assert replace(element) == element  # what was checked once is accepted again
    assert hash(replace(element)) == hash(element)
    assert replace(element, name="other") != element
    with pytest.raises(FrozenInstanceError):
        element.name = "other"


def test_vectors_become_tuples_of_floats():
    body = mbdae.RigidBody("b", 1, np.diag([1, 2, 2]), np.array([1, 2, 3]), np.eye(3), velocity=[1, 2, 3])
    assert body.position == body.velocity == (1.0, 2.0, 3.0)
    assert body.inertia == (1.0, 0, 0, 0, 2.0, 0, 0, 0, 2.0)
    assert body.orientation == (1.0, 0.0, 0.0, 0.0)
    assert body.omega is None
    assert isinstance(body.mass, float)


@pytest.mark.parametrize("make", [all_elements, lambda seed: slider_crank(), lambda seed: double_pendulum()])
def test_mechanisms_print_and_compare(make):
    m = make(3)
    assert m == replace(m)
    assert m != replace(m, name="other")
    text = " ".join(repr(m).split())
    assert text.startswith(f"Mechanism {m.name!r} bodies ")
    assert all(f"{sum(type(e) is kind for e in found)} {kind.__name__}" in text
               for found in (m.bodies, m.joints, m.forces) for kind in {type(e) for e in found})
    assert f"{m.dof + len(m.labels)} velocity coordinates, {len(m.labels)} constraint equations" in text


def test_mechanisms_know_their_elements():
    m = slider_crank()
    assert m.dof == 1
    assert m.labels == ("bearing.x", "bearing.y", "crank pin.x", "crank pin.y", "piston pin.x", "piston pin.y",
                        "guide.normal", "guide.angle")
    assert m.body("rod") is m.bodies[1]
    assert m.body(GROUND) is None
    assert m.constraints == m.joints
    assert len(m.primitives) == 5


def test_drivers_come_after_joints():
    drive = mbdae.PlanarAngleDriver("drive", GROUND, "crank", 0.5)
    m = replace(slider_crank(), drivers=[drive])
    assert m.labels[-1] == "drive"
    assert m.constraints[-1] is drive
    assert m.dof == 0


def test_lists_become_tuples():
    m = mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], [], [], [], [0, 0, -9.81])
    assert m.bodies == (mbdae.Particle("p", 1.0),)
    assert m.joints == m.drivers == m.forces == ()
    assert m.gravity == (0.0, 0.0, -9.81)


def test_equations_can_be_left_out_by_label():
    m = slider_crank(friction=False)
    fewer = m.without("guide.angle", "bearing.x")
    assert fewer.labels == tuple(x for x in m.labels if x not in ("guide.angle", "bearing.x"))
    assert fewer.dof == 3
    assert fewer.joints[1:3] == (m.joints[1], m.joints[2])  # whole joints stay joints
    with pytest.raises(ValueError, match="there is no constraint equation 'nothing'"):
        m.without("nothing")


def test_one_equation_of_three_can_be_left_out():
    body = mbdae.RigidBody("b", 1.0, (1, 1, 1))
    m = mbdae.Mechanism("m", [body], [mbdae.Spherical("ball", GROUND, "b", X, X)]).without("ball.y")
    assert m.labels == ("ball.x", "ball.z")
    full, part = mbdae.System(mbdae.Mechanism("m", [body], [mbdae.Spherical("ball", GROUND, "b", X, X)])), mbdae.System(m)
    q = np.array([1, 2, 3, 0.5, 0.5, -0.5, 0.5])
    np.testing.assert_allclose(part.phi(0.0, q), full.phi(0.0, q)[[0, 2]])


# --- functions of time ---------------------------------------------------------------------------------------------------

# function, first and second derivative
KNOWN = [
    (lambda t: 3.0 + 0 * t, lambda t: 0.0, lambda t: 0.0),
    (lambda t: 2 * t**3 - t + 1, lambda t: 6 * t**2 - 1, lambda t: 12 * t),
    (lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2, lambda t: 2 / (1 + t) ** 3),
    (lambda t: t / (2.0 - t), lambda t: 2 / (2 - t) ** 2, lambda t: 4 / (2 - t) ** 3),
    (lambda t: np.sin(2 * t), lambda t: 2 * np.cos(2 * t), lambda t: -4 * np.sin(2 * t)),
    (lambda t: np.cos(t * t), lambda t: -2 * t * np.sin(t * t), lambda t: -2 * np.sin(t * t) - 4 * t * t * np.cos(t * t)),
    (lambda t: np.tan(t), lambda t: 1 / np.cos(t) ** 2, lambda t: 2 * np.tan(t) / np.cos(t) ** 2),
    (lambda t: np.exp(-t) * t, lambda t: (1 - t) * np.exp(-t), lambda t: (t - 2) * np.exp(-t)),
    (lambda t: np.log(1 + t), lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2),
    (lambda t: np.sqrt(1 + t), lambda t: 0.5 / np.sqrt(1 + t), lambda t: -0.25 * (1 + t) ** -1.5),
    (lambda t: np.square(t + 1), lambda t: 2 * (t + 1), lambda t: 2.0),
    (lambda t: np.sinh(t), np.cosh, np.sinh), (lambda t: np.cosh(t), np.sinh, np.cosh),
    (lambda t: np.tanh(3 * t), lambda t: 3 / np.cosh(3 * t) ** 2, lambda t: -18 * np.tanh(3 * t) / np.cosh(3 * t) ** 2),
    (lambda t: np.arctan(2 * t), lambda t: 2 / (1 + 4 * t * t), lambda t: -16 * t / (1 + 4 * t * t) ** 2),
    (lambda t: np.arcsin(t), lambda t: 1 / np.sqrt(1 - t * t), lambda t: t / (1 - t * t) ** 1.5),
    (lambda t: np.arccos(t), lambda t: -1 / np.sqrt(1 - t * t), lambda t: -t / (1 - t * t) ** 1.5),
    (lambda t: abs(t - 0.5), lambda t: np.sign(t - 0.5), lambda t: 0.0),
    (lambda t: np.negative(t) - (-t) * 3, lambda t: 2.0, lambda t: 0.0),
    (lambda t: 2.0**t, lambda t: np.log(2) * 2.0**t, lambda t: np.log(2) ** 2 * 2.0**t),
    (lambda t: (1 + t) ** (t + 0.5), None, None),
    (lambda t: np.add(1, t) + np.subtract(2, t) * np.multiply(t, 3) + np.divide(1, t + 1) + np.power(t, 3) + np.power(2.0, t), None, None),
    (lambda t: 1.0 if t < 0.2 else 1.0 + (t - 0.2) ** 2, lambda t: max(0.0, 2 * (t - 0.2)), lambda t: 2.0 if t > 0.2 else 0.0),
    (lambda t: t if t <= 0.3 else 2 * t if t >= 0.7 else 3 * t, lambda t: 1.0 if t <= 0.3 else 2.0 if t >= 0.7 else 3.0, lambda t: 0.0),
]


@pytest.mark.parametrize("t", [0.1, 0.37, 0.8])
@pytest.mark.parametrize("k", range(len(KNOWN)))
def test_taylor_arithmetic_gives_known_derivatives(k, t):
    f, df, d2f = KNOWN[k]
    if df is None:  # by differences of sixth order
        h, d = 1e-2, (1, 2, 3)
        ends = [(f(t + m * h), f(t - m * h)) for m in d]
        first = sum(w * (a - b) for w, (a, b) in zip((45, -9, 1), ends)) / (60 * h)
        second = (sum(w * (a + b) for w, (a, b) in zip((270, -27, 2), ends)) - 490 * f(t)) / (180 * h * h)
        np.testing.assert_allclose(taylor.derivatives(f, t), (f(t), first, second), rtol=1e-8)
    else:
        np.testing.assert_allclose(taylor.derivatives(f, t), (f(t), df(t), d2f(t)), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [math.sin, lambda t: np.interp(t, [0, 1], [0, 1]), lambda t: np.hypot(t, 1), lambda t: np.floor(t), float])
def test_taylor_arithmetic_refuses_what_it_does_not_know(f):
    with pytest.raises((TypeError, ValueError)):
        taylor.derivatives(f, 0.3)


@pytest.mark.parametrize("t", [-0.3, 0.0, 1.2, 50.0])
def test_functions_that_taylor_arithmetic_does_not_know_are_differentiated_by_differences(t):
    f = mbdae.Function(lambda t: math.sin(t))
    np.testing.assert_allclose(f(t), (math.sin(t), math.cos(t), -math.sin(t)), rtol=1e-8, atol=1e-9)


def test_functions_that_leave_taylor_arithmetic_later_are_still_differentiated():
    f = mbdae.Function(lambda t: t * t if t < 1 else 1 + math.sin(2 * (t - 1)))
    assert f(0.5) == (0.25, 1.0, 2.0)
    np.testing.assert_allclose(f(2.0), (1 + math.sin(2), 2 * math.cos(2), -4 * math.sin(2)), rtol=1e-8)


def test_given_derivatives_are_used():
    f = mbdae.Function(lambda t: t**3, lambda t: 10.0, lambda t: 20.0)
    assert f(2.0) == (8.0, 10.0, 20.0)
    f = mbdae.Function(lambda t: math.sin(t), lambda t: np.cos(t))
    np.testing.assert_allclose(f(0.3), (math.sin(0.3), math.cos(0.3), -math.sin(0.3)), rtol=1e-15)
    f = mbdae.Function(lambda t: math.sin(t), lambda t: math.cos(t))
    np.testing.assert_allclose(f(0.3), (math.sin(0.3), math.cos(0.3), -math.sin(0.3)), rtol=1e-9)


def test_compiled_functions_are_differentiated_too():
    f = mbdae.Function(numba.njit(lambda t: np.sin(2 * t)))
    np.testing.assert_allclose(f(0.3), (math.sin(0.6), 2 * math.cos(0.6), -4 * math.sin(0.6)), rtol=1e-14)


def test_exceptions_of_a_function_are_not_swallowed():
    def broken(t):
        if t > 1:
            raise RuntimeError("no value")
        return t

    f = mbdae.Function(broken)
    assert f(0.5) == (0.5, 1.0, 0.0)
    for evaluate in (f.value, f.first, f.second):
        with pytest.raises(RuntimeError, match="no value"):
            evaluate(2.0)


@pytest.mark.parametrize("coefficients", [(2.0,), (1, 2), (1, 2, 3), (0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8)])
def test_polynomials(coefficients):
    p, t = np.polynomial.Polynomial(coefficients), 1.3
    np.testing.assert_allclose(mbdae.Polynomial(coefficients)(t), (p(t), p.deriv()(t), p.deriv(2)(t)), rtol=1e-14, atol=1e-15)


def test_constants_and_harmonics():
    assert mbdae.Constant(3.5)(7.0) == (3.5, 0.0, 0.0)
    s, c = math.sin(2 * 0.4 + 0.3), math.cos(2 * 0.4 + 0.3)
    np.testing.assert_allclose(mbdae.Harmonic(1.5, 2.0, 0.3, 4.0)(0.4), (4 + 1.5 * s, 3 * c, -6 * s), rtol=1e-15)


@pytest.mark.parametrize("motion",
                         [mbdae.Constant(0.7), mbdae.Harmonic(1.5, 2.0, 0.3, 4.0),
                          mbdae.Polynomial((0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8)),
                                    mbdae.Function(lambda t: np.exp(-t) * np.sin(t))], ids=lambda m: type(m).__name__)
def test_kernels_evaluate_motions_like_python(motion):
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], [mbdae.CD("cd", GROUND, "p", X, f=motion)]))
    q, t = np.zeros(3), 1.3
    found = -s.phi(t, q)[0], s.nu(t, q)[0], s.gamma(t, q, q)[0]
    np.testing.assert_allclose(found, motion(t), rtol=1e-14, atol=1e-15)


def test_numbers_and_callables_become_motions():
    assert as_motion(2, "element 'e'", "f") == mbdae.Constant(2.0)
    assert as_motion(math.sin, "element 'e'", "f") == mbdae.Function(math.sin)
    p = mbdae.Polynomial((1, 2))
    assert as_motion(p, "element 'e'", "f") is p


# --- rotations -----------------------------------------------------------------------------------------------------------


def test_quaternions_and_matrices_are_converted_both_ways(rng):
    for _ in range(50):
        p = quaternion(rng)
        A = rotations.to_matrix(p)
        np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-15)
        assert np.linalg.det(A) == pytest.approx(1.0)
        np.testing.assert_allclose(rotations.from_matrix(A), p * np.sign(p[0]), atol=1e-14)


@pytest.mark.parametrize("p", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0.6, 0.8, 0), (1e-9, 0, 0, 1)])
def test_half_turns_are_no_special_case(p):
    p = np.array(p) / np.linalg.norm(p)
    found = rotations.from_matrix(rotations.to_matrix(p))
    np.testing.assert_allclose(np.outer(found, found), np.outer(p, p), atol=1e-14)


def test_a_quarter_turn_about_z():
    np.testing.assert_allclose(rotations.to_matrix((np.sqrt(0.5), 0, 0, np.sqrt(0.5))), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_orientations_with_few_digits_are_cleaned():
    A = np.round(rotations.to_matrix((0.5, 0.5, -0.5, 0.5001)), 6)
    p = mbdae.RigidBody("b", 1.0, (1, 1, 1), orientation=A).orientation
    assert np.linalg.norm(p) == pytest.approx(1.0, abs=1e-15)


def test_perpendicular_vectors_and_triads(rng):
    for a in (*np.eye(3), -np.eye(3)[1], *(3.0 * unit(rng) for _ in range(20))):
        b, c = rotations.triad(a)
        A = np.column_stack([b, c, a / np.linalg.norm(a)])
        np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(np.cross(b, c), a / np.linalg.norm(a), atol=1e-15)


def test_full_tensors_of_inertia_are_kept(rng):
    J = inertia(rng)
    np.testing.assert_allclose(np.reshape(mbdae.RigidBody("b", 1.0, J, any_inertia=True).inertia, (3, 3)), J, rtol=1e-15)
