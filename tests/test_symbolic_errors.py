"""What `from_sympy` refuses, at once and by name."""

import re

import numpy as np
import pytest

from mbdae.symbolic import from_sympy

sp = pytest.importorskip("sympy")
me = pytest.importorskip("sympy.physics.mechanics")

t = me.dynamicsymbols._t
x, y, r, theta, u1, u2, F = me.dynamicsymbols("x y r theta u1 u2 F")
m, g, l, X = sp.symbols("m g l X")
positive = sp.Symbol("m", positive=True)
PENDULUM = {"q": [x, y], "mass": sp.diag(m, m), "force": [0, -m * g], "phi": [x**2 + y**2 - l**2],
            "parameters": {m: 2.0, g: 9.81, l: 1.5}, "q0": [0.9, -1.2], "name": "pendulum"}
WRONG = [
    ("q is missing", {"q": None}),
    ("q is empty", {"q": []}),
    ("q must be a sequence of symbols, got x", {"q": x}),
    ("q must consist of symbols or functions of t, got x(t)**2", {"q": [x, x**2]}),
    ("q must consist of symbols or functions of t, got 3", {"q": [x, 3], "v": [u1, u2]}),
    ("coordinates that are plain symbols need velocities v", {"q": [x, X]}),
    ("x(t) stands for two things", {"q": [x, x]}),
    ("t stands for two things", {"parameters": {m: 1, g: 1, l: 1, t: 1}}),
    ("time must be a Symbol", {"time": 3}),
    ("mass is missing", {"mass": None}),
    ("mass must have shape (2, 2), got rows of lengths 1, 1", {"mass": [m, m]}),
    ("mass must have shape (2, 2), got rows of lengths 3, 3, 3", {"mass": sp.eye(3)}),
    ("mass must have shape (2, 2), got rows of lengths 2, 1", {"mass": [[1, 2], [3]]}),
    ("mass must be a matrix or a sequence, got m", {"mass": m}),
    ("mass must be symmetric, but entry [1, 0] is sin(x(t)), and [0, 1] is 0", {"mass": [[m, 0], [sp.sin(x), m]]}),
    ("mass must not depend on velocities: m*Derivative", {"mass": sp.diag(m, m * x.diff())}),
    ("mass must not contain Derivative(x(t), (t, 2))", {"mass": sp.diag(m, m * x.diff(t, 2))}),
    ("System.from_functions: mass must be positive definite", {"mass": sp.diag(m, -m)}),
    ("force must be a vector of length 2, got shape (3, 1)", {"force": [0, 0, -m * g]}),
    ("force[1] must be an expression, got 'm*g'", {"force": [0, "m*g"]}),
    ("force[0] must be an expression, got None", {"force": [None, 0]}),
    ("force[1] must be finite and real, got zoo", {"force": [0, sp.zoo]}),
    ("force[1] must be finite and real, got I*m", {"force": [0, sp.I * m]}),
    ("force must not contain Derivative(y(t), (t, 2))", {"force": [0, m * y.diff(t, 2)]}),
    ("phi[0] must be an expression", {"phi": [sp.Eq(x**2 + y**2, l**2)]}),
    ("phi must be a matrix or a sequence", {"phi": x - y}),
    ("phi must be a vector, got shape (2, 2)", {"phi": [[x, y], [x, y]]}),
    ("phi must not depend on velocities", {"phi": [x.diff() - y]}),
    ("phi[1] = l - 1 does not depend on the coordinates", {"phi": [x - y, l - 1]}),
    ("parameters must have a value for g, l (did you mean ll?)", {"parameters": {m: 1, sp.Symbol("ll"): 2}}),
    ("parameters must have a value for F(t)", {"force": [0, F]}),
    ("parameters must have a value for f(x(t))", {"force": [0, sp.Function("f")(x)]}),
    ("a value for m (there is one, for another symbol m: its assumptions differ)", {"parameters": {positive: 1, g: 1, l: 1}}),
    ("parameters has a value for mm, which does not occur (did you mean m?)", {"parameters": {m: 1, g: 1, l: 1, sp.Symbol("mm"): 2}}),
    ("parameters must have symbols for keys, got 'm'", {"parameters": {"m": 1}}),
    ("parameters must be a dict", {"parameters": [1, 2]}),
    ("the value of m must be a number, got 'one'", {"parameters": {m: "one"}}),
    ("the value of m must be a number, got 2*g", {"parameters": {m: 2 * g}}),
    ("the value of m must be a number, got 1j", {"parameters": {m: 1j}}),
    ("the value of m must be finite, got nan", {"parameters": {m: np.nan}}),
    ("m was declared positive, but its value is -1", {"parameters": {positive: -1}}),
    ("there are 2 coordinates and 1 velocities, so kinematics must be given", {"v": [u1]}),
    ("kinematics[1] must be linear in v, got u1(t)**2", {"v": [u1], "kinematics": [u1, u1**2]}),
    ("kinematics[0] must be linear in v, got u1(t) + 1", {"v": [u1], "kinematics": [u1 + 1, u1]}),
    ("kinematics must not depend on the time", {"v": [u1], "kinematics": [t * u1, u1]}),
    ("give either the energy or the potential", {"energy": x, "potential": x}),
    ("potential must not depend on velocities", {"potential": x.diff()}),
    ("phi_q cannot be evaluated: ", {"phi": [sp.floor(x) - y * l]}),
    ("energy must be an expression, got 'm*g*y'", {"energy": "m*g*y"}),
    ("q0 must have shape (2,)", {"q0": [1.0]}),
]


@pytest.mark.parametrize(("message", "change"), WRONG, ids=[m for m, _ in WRONG])
def test_mistakes_are_named(message, change):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_sympy(**PENDULUM | change)


def test_methods_that_do_not_fit_are_refused():
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2
    with pytest.raises(ValueError, match="non-holonomic constraints are not supported"):
        from_sympy(me.LagrangesMethod(L, [x, y], nonhol_coneqs=[y * x.diff() - y.diff()]), parameters={m: 1.0})
    with pytest.raises(ValueError, match="the method brings its own q and mass"):
        from_sympy(me.LagrangesMethod(L, [x, y]), q=[x, y], mass=sp.eye(2))
    with pytest.raises(ValueError, match="must be a LagrangesMethod or a KanesMethod, got Particle"):
        from_sympy(me.Particle("p"))
    with pytest.raises(ValueError, match="parameters must have a value for m"):
        from_sympy(me.LagrangesMethod(L, [x, y]))
    N = me.ReferenceFrame("N")
    with pytest.raises(ValueError, match="call kanes_equations"):
        from_sympy(me.KanesMethod(N, [r], [u1], [u1 - r.diff()]))
    rates = [u1 - r.diff(), u2 - theta.diff()]
    with pytest.raises(ValueError, match="and the forces of the constraints with them"):
        from_sympy(me.KanesMethod(N, [r], [u1], rates, q_dependent=[theta], configuration_constraints=[r - theta], u_dependent=[u2],
                                  velocity_constraints=[u1 - u2]))
