"""Malformed calls of `solve`, methods, problems and systems of user functions: refused with a `ValueError` that names the culprit."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.problems import FORMULATIONS
from mbdae.registry import find

from .helpers import GROUND, double_pendulum, need

NAN, INF = float("nan"), float("inf")
STEP = HalfImplicit(h=1e-2)


@pytest.fixture(scope="module")
def system():
    return mbdae.System(double_pendulum())


@pytest.fixture(scope="module")
def state(system):
    return mbdae.assemble(system)


CALLS = {
    "span of nothing": ({"t_span": (0.0, 0.0)}, "t_span must be two different"),
    "span NaN": ({"t_span": (0.0, NAN)}, "t_span must be two different finite times.*nan"),
    "span infinite": ({"t_span": (0.0, INF)}, "t_span must be two different finite times.*inf"),
    "span a number": ({"t_span": 1.0}, "t_span must be two different finite times.*1.0"),
    "span a number, with its remedy": ({"t_span": 1.0}, r"got 1.0; write \(0, 1.0\)"),
    "span a number, without a method": ({"method": 2.0, "t_span": None}, r"t_span must be two.*got 2.0; write \(0, 2.0\)"),
    "span of three": ({"t_span": (0, 1, 2)}, "t_span must be two"),
    "span of all times": ({"t_span": np.linspace(0, 1, 5)}, "t_span must be two.*times of the output go into t_eval"),
    "method a class, with its remedy": ({"method": Ida}, r"not the class Ida; write Ida\(...\)"),
    "output times a number of them": ({"t_eval": 100}, r"t_eval must be times, got 100; write numpy.linspace\(0, 1, 100\)"),
    "event of other arguments": ({"events": lambda t, y: y[0]}, r"event '<lambda>' must take the arguments \(t, q, v\).*\(t, y\)"),
    "span of words": ({"t_span": ("start", "end")}, "t_span must be two.*start"),
    "span missing": ({"t_span": None}, "t_span must be two.*None"),
    "output times out of order": ({"t_eval": [0.2, 0.1]}, "t_eval must be finite times, strictly monotonic in the direction"),
    "output times twice": ({"t_eval": [0.1, 0.1]}, "t_eval.*strictly monotonic in the direction of integration"),
    "output times before the start": ({"t_eval": [-0.1, 0.1]}, "t_eval must lie within t_span.*-0.1"),
    "output times behind the end": ({"t_eval": [0.1, 1.1]}, "t_eval must lie within t_span.*1.1"),
    "output times NaN": ({"t_eval": [0.1, NAN]}, "t_eval must be finite"),
    "output times forward in a backward run": ({"t_span": (1.0, 0.0), "t_eval": [0.2, 0.4]}, "t_eval.*direction"),
    "output times in a table": ({"t_eval": [[0.1, 0.2]]}, "t_eval must be finite times"),
    "output times words": ({"t_eval": ["soon"]}, "t_eval.*soon"),
    "rtol negative": ({"rtol": -1e-6}, "rtol must be a positive number.*-1e-06"),
    "rtol zero": ({"rtol": 0.0}, "rtol must be a positive number"),
    "rtol NaN": ({"rtol": NAN}, "rtol must be a positive number"),
    "rtol a list": ({"rtol": [1e-6]}, "rtol must be a positive number"),
    "rtol a word": ({"rtol": "small"}, "rtol must be a positive number.*small"),
    "atol negative": ({"atol": -1e-6}, "atol must be finite and not negative"),
    "atol with NaN": ({"atol": [1e-6, NAN]}, "atol must be finite"),
    "atol a word": ({"atol": "small"}, "atol.*small"),
    "atol of wrong shape": ({"atol": [1e-6, 1e-6], "method": Ida()}, r"atol must be a number or have shape \(20,\), got \(2,\)"),
    "every zero": ({"every": 0}, "every must be a positive integer.*0"),
    "every a fraction": ({"every": 1.5}, "every must be a positive integer.*1.5"),
    "formulation unknown": ({"formulation": "index4"}, "unknown formulation 'index4'; there are index3, ggl"),
    "formulation not for one-step methods": ({"formulation": "ggl"}, r"HalfImplicit\(h=0.01\) cannot take the form 'ggl'"),
    "formulation not for IDA": ({"formulation": "ode", "method": Ida()}, "Ida cannot take the form 'ode': it integrates F.* it takes gear"),
    "formulation not for SciPy": ({"formulation": "index3", "method": SolveIvp()},
                                  "SciPy DOP853 cannot take the form 'index3': it integrates .*; it takes ode"),
    "formulation overdetermined": ({"formulation": "overdetermined", "method": Ida()}, "Ida cannot take the form 'overdetermined'"),
    "target a number": ({"target": 3.0}, "target must be a Mechanism, System or Problem, got float"),
    "target a body": ({"target": mbdae.Particle("p", 1.0)}, "target must be.*got Particle"),
    "target a class": ({"target": mbdae.Mechanism}, "target must be.*Mechanism"),
    "method a word": ({"method": "RK45"}, r"method must be.*'RK45'.*mbdae\.registry\.find"),
    "target a word": ({"target": "andrews"}, r"target must be.*'andrews'.*mbdae\.library\.mechanism"),
    "target and method swapped": ({"target": STEP, "method": double_pendulum()}, "target and method are swapped; write solve"),
    "method and span swapped": ({"method": (0.0, 1.0), "t_span": STEP}, "method and t_span are swapped; write solve"),
    "formulation in capitals": ({"formulation": "GGL"}, r"unknown formulation 'GGL'.*\(did you mean 'ggl'\?\)"),
    "formulation with a hyphen": ({"formulation": "Index-3"}, r"unknown formulation 'Index-3'.*\(did you mean 'index3'\?\)"),
    "formulation a number": ({"formulation": 3}, "unknown formulation 3; there are index3"),
    "formulation a list": ({"formulation": ["ggl"]}, "unknown formulation"),
    "method a class": ({"method": HalfImplicit}, "method must be.*HalfImplicit"),
    "method missing": ({"method": None}, "method must be.*None"),
    "method of another base": ({"method": SimpleNamespace(label="own", formulations=("ggl",), integrate=print)},
                               r"method must be.*subclass of mbdae\.Method"),
    "guess of wrong shape": ({"q0": np.zeros(5)}, r"q must have shape \(6,\), got \(5,\)"),
    "velocity guess of wrong shape": ({"v0": np.zeros(7)}, r"v must have shape \(6,\), got \(7,\)"),
    "guess NaN": ({"q0": np.full(6, NAN)}, "q must be finite"),
    "state a tuple": ({"state": (0, 0)}, "state must be a State.*tuple"),
    "events not callable": ({"events": 3.0}, "events must be callables.*3.0"),
    "one event not callable": ({"events": [lambda t, q, v: 1.0, "ground"]}, "events must be callables.*'ground'"),
    "progress not callable": ({"progress": "bar"}, "progress must be callable.*'bar'"),
}


@pytest.mark.parametrize(("options", "pattern"), CALLS.values(), ids=CALLS)
def test_malformed_calls_are_refused_by_name(system, options, pattern):
    arguments = {"target": system, "method": STEP, "t_span": (0.0, 1.0)} | options
    with pytest.raises(ValueError, match=pattern):
        mbdae.solve(**arguments)


def test_starts_that_do_not_fit_are_refused_by_name(system, state):
    with pytest.raises(ValueError, match=r"state belongs to t = 0, t_span begins at 0\.5"):
        mbdae.solve(system, STEP, (0.5, 1.0), state=state)
    for name, n in (("q", 6), ("v", 6), ("a", 6), ("lam", 4)):
        with pytest.raises(ValueError, match=rf"state\.{name} must have shape \({n},\), got \(3,\)"):
            mbdae.solve(system, STEP, (0.0, 1.0), state=replace(state, **{name: np.zeros(3)}))
        with pytest.raises(ValueError, match=rf"state\.{name} must be finite"):
            mbdae.solve(system, STEP, (0.0, 1.0), state=replace(state, **{name: np.full(n, NAN)}))


def test_states_and_guesses_exclude_each_other(system, state):
    with pytest.raises(ValueError, match=r"state.*q0"):
        mbdae.solve(system, STEP, (0.0, 1.0), state=state, q0=state.q)


def test_problems_keep_their_form(system):
    with pytest.raises(ValueError, match="form 'ggl', so formulation='gear' is not possible"):
        mbdae.solve(mbdae.GGL(system), Ida(), (0.0, 1.0), formulation="gear")
    with pytest.raises(ValueError, match="SciPy DOP853 cannot take the form 'ggl'"):
        mbdae.solve(mbdae.GGL(system), SolveIvp(), (0.0, 1.0))


def test_mechanisms_that_cannot_be_assembled_are_refused_by_name():
    bodies, joints = [mbdae.Particle("p", 1.0, (1, 0, 0))], [mbdae.Rod("a", GROUND, "p"), mbdae.Rod("b", GROUND, "p", length=2.0)]
    with pytest.raises(ValueError, match=r"impossible cannot be assembled.*(a|b)"):
        mbdae.solve(mbdae.Mechanism("impossible", bodies, joints), STEP, (0.0, 1.0))


OBJECTS = {
    "step zero": (lambda s: HalfImplicit(h=0), "HalfImplicit: h must be positive"),
    "step negative": (lambda s: FullyImplicit(h=-1e-3), "FullyImplicit: h must be positive"),
    "step NaN": (lambda s: HalfImplicit(h=NAN), "HalfImplicit: h must be"),
    "tolerance negative": (lambda s: HalfImplicit(tol=-1e-8), "HalfImplicit: tol must be positive"),
    "tolerance infinite": (lambda s: FullyImplicit(tol=INF), "FullyImplicit: tol must be"),
    "no iterations": (lambda s: HalfImplicit(max_iter=0), "HalfImplicit: max_iter must be at least 1"),
    "IDA's linear solver unknown": (lambda s: Ida(linsolver="lu"), "linsolver must be one of auto, dense.*'lu'"),
    "IDA's Jacobian unknown": (lambda s: Ida(jacobian="numeric"), "jacobian must be 'exact', .*got 'numeric'"),
    "IDA's order too high": (lambda s: Ida(max_order=6), "Ida: max_order must be.*6"),
    "IDA without steps": (lambda s: Ida(max_steps=0), "Ida: max_steps must be at least 1"),
    "IDA's first step negative": (lambda s: Ida(first_step=-1.0), "Ida: first_step must be finite and not negative"),
    "CVODE's linear solver sparse": (lambda s: Cvode(linsolver="sparse"), "Cvode: linsolver.*'sparse'"),
    "CVODE's formulas unknown": (lambda s: Cvode(multistep="RK"), "Cvode: multistep must be 'BDF' or 'Adams', got 'RK'"),
    "SciPy's method unknown": (lambda s: SolveIvp("Euler"), "SolveIvp: method must be one of RK23.*'Euler'"),
    "SciPy's Jacobian unknown": (lambda s: SolveIvp(jacobian="numeric"), "SolveIvp: jacobian must be.*'numeric'"),
    "SciPy's largest step zero": (lambda s: SolveIvp(max_step=0.0), "SolveIvp: max_step must be positive"),
    "SciPy without steps": (lambda s: SolveIvp(max_steps=0), "SolveIvp: max_steps must be at least 1"),
    "GGL in an unknown form": (lambda s: mbdae.GGL(s, "implicit"), "GGL: form must be 'residual' or 'explicit', got 'implicit'"),
    "Baumgarte negative": (lambda s: mbdae.Index1(s, alpha=-1.0), "Index1: alpha must be finite and not negative"),
    "Baumgarte NaN": (lambda s: mbdae.UnderlyingODE(s, beta=NAN), "UnderlyingODE: beta must be finite"),
    "system of a body": (lambda s: mbdae.System(mbdae.Particle("p", 1.0)), "System: .*Mechanism.*Particle"),
    **{f"{name} of a mechanism": (lambda s, c=c: c(s.mechanism), f"{c.__name__}: .*System.*Mechanism") for name, c in FORMULATIONS.items()},
}


@pytest.mark.parametrize(("make", "pattern"), OBJECTS.values(), ids=OBJECTS)
def test_malformed_objects_are_refused_by_name(system, make, pattern):
    with pytest.raises(ValueError, match=pattern):
        make(system)


def functions(**more):
    """A system of user functions, a particle on a circle, with something wrong."""
    right = {"nq": 2, "nc": 1, "mass": lambda t, q: np.eye(2), "force": lambda t, q, v: np.zeros(2),
             "phi": lambda t, q: np.array([q @ q - 1.0]), "q0": [1.0, 0.0]}
    return lambda: mbdae.System.from_functions(**(right | more))


FUNCTIONS = {
    "mass of wrong shape": (functions(mass=lambda t, q: np.eye(3)), r"mass must return shape \(2, 2\), got \(3, 3\)"),
    "mass a vector": (functions(mass=lambda t, q: np.ones(2)), r"mass must return shape \(2, 2\), got \(2,\)"),
    "mass not symmetric": (functions(mass=lambda t, q: np.array([[1, 0.1], [0, 1]])), "mass must be symmetric"),
    "mass not definite": (functions(mass=lambda t, q: np.diag([1.0, 0.0])), "mass must be positive definite.*0"),
    "mass not finite": (functions(mass=lambda t, q: np.diag([1.0, NAN])), "mass is not finite"),
    "mass complex": (functions(mass=lambda t, q: np.eye(2) * (1 + 1j)), "mass must be real"),
    "force of wrong shape": (functions(force=lambda t, q, v: np.zeros(3)), r"force must return shape \(2,\), got \(3,\)"),
    "force not finite": (functions(force=lambda t, q, v: np.full(2, INF)), "force is not finite"),
    "force nothing": (functions(force=lambda t, q, v: None), "force must return"),
    "force not callable": (functions(force=3.0), "force must be callable, got 3.0"),
    "phi of wrong shape": (functions(phi=lambda t, q: np.zeros(2)), r"phi must return shape \(1,\), got \(2,\)"),
    "phi a number": (functions(phi=lambda t, q: q @ q), r"phi must return shape \(1,\), got \(\)"),
    "phi not finite": (functions(phi=lambda t, q: np.array([NAN])), "phi is not finite"),
    "phi_q of wrong shape": (functions(phi_q=lambda t, q: q), r"phi_q must return shape \(1, 2\), got \(2,\)"),
    "nu of wrong shape": (functions(nu=lambda t, q: 0.0), r"nu must return shape \(1,\), got \(\)"),
    "gamma of wrong shape": (functions(gamma=lambda t, q, v: np.zeros(2)), r"gamma must return shape \(1,\), got \(2,\)"),
    "gamma not finite": (functions(gamma=lambda t, q, v: np.array([NAN])), "gamma is not finite"),
    "energy not callable": (functions(energy=1.0), "energy must be callable"),
    "retract not callable": (functions(retract=1.0), "retract must be callable"),
    "retract of wrong shape": (functions(retract=lambda q, d: q[:1]), r"retract must return shape \(2,\), got \(1,\)"),
    "kinematics missing": (functions(nv=1, mass=lambda t, q: np.eye(1), force=lambda t, q, v: np.zeros(1)),
                           "nq = 2 and nv = 1 differ.*kinematics"),
    "kinematics that depends on time": (functions(kinematics=lambda t, q, v: (1.0 + t) * v), "kinematics must not depend on the time"),
    "kinematics that is not linear": (functions(kinematics=lambda t, q, v: v * v), "kinematics must be linear in v"),
    "kinematics with a drift": (functions(kinematics=lambda t, q, v: v + 1.0), "kinematics must be linear in v"),
    "kinematics of wrong shape": (functions(kinematics=lambda t, q, v: v[:1]), r"kinematics must return shape \(2,\), got \(1,\)"),
    "q0 of wrong shape": (functions(q0=[1.0]), r"q0 must have shape \(2,\), got \(1,\)"),
    "v0 of wrong shape": (functions(v0=[1.0]), r"v0 must have shape \(2,\), got \(1,\)"),
    "q0 not finite": (functions(q0=[1.0, NAN]), "q0 must be finite"),
    "labels too few": (functions(labels=[]), "labels must name 1 constraints, got 0"),
    "number of coordinates negative": (functions(nq=-1), "nq must be.*-1"),
    "number of coordinates a fraction": (functions(nq=2.0), r"nq must be.*2\.0"),
    "number of constraints negative": (functions(nc=-1), "nc must be.*-1"),
}


@pytest.mark.parametrize(("make", "pattern"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_malformed_user_functions_are_refused_by_name(make, pattern):
    with pytest.raises(ValueError, match=rf"System\.from_functions: .*{pattern}"):
        make()


def test_the_functions_that_are_right_are_accepted():
    assert functions()().nc == 1


def test_exceptions_of_user_functions_are_not_dressed_up():
    def broken(t, q):
        raise KeyError("stiffness")

    with pytest.raises(KeyError, match="stiffness"):
        functions(phi=broken)()


# --- options of solvers, words instead of numbers, times that are the same -------------------------------------------------------

SOLVERS = ("Bdf", "Ida", "Cvode", "SolveIvp:DOP853", "Odes:ida", "Odes:dopri5", "Assimulo:IDA", "Assimulo:Dopri5", "SolveDae:Radau5",
           "Radau13", "HHT", "RosenbrockNystrom")
NONSENSE = ("a", NAN, -1.0, True, [1, 2], object())


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("field", ["first_step", "max_step", "max_order", "max_steps", "newton", "solver"])
def test_options_that_make_no_sense_are_refused_by_name(name, field):
    spec = find(name)
    if spec.family.availability() is not None:
        need(spec.family.method_class)
    if field not in {f.name for f in fields(spec.family.method_class)}:
        return
    allowed = getattr(spec.family.method_class, field) is None
    for value in NONSENSE if allowed else (*NONSENSE, None):
        with pytest.raises(ValueError, match=f"{field}|the order of|its first step"):
            spec.make(**{field: value})


def test_words_that_look_like_numbers_are_refused(system):
    for options, pattern in (({"rtol": "1e-6"}, "rtol must be a positive number.*'1e-6'"), ({"atol": "1e-6"}, "atol must.*'1e-6'"),
                             ({"rtol": True}, "rtol must be a positive number.*True"), ({"every": True}, "every must be.*True"),
                             ({"t_eval": ["0.05"]}, "t_eval must be finite times.*'0.05'"),
                             ({"t_span": ("0", "1")}, "t_span must be two different finite times")):
        with pytest.raises(ValueError, match=pattern):
            mbdae.solve(system, Ida(), **({"t_span": (0.0, 0.1)} | options))


@pytest.mark.parametrize("span", [(1.0, 1.0 + 2.3e-16), (0.0, 5e-324), (0.0, 1e-300), (1e9, 1e9 + 1.2e-7)])
def test_times_that_are_the_same_but_for_rounding_are_refused(system, span):
    for method in (Ida(), mbdae.Bdf(), SolveIvp("Radau"), STEP, mbdae.HHT()):
        with pytest.raises(ValueError, match=r"t_span is too short.*must be at least"):
            mbdae.solve(system, method, span)
    with pytest.raises(ValueError, match="solve_residual: t_span is too short"):
        mbdae.Bdf().solve_residual(lambda t, y, yd: yd + y, span, [1.0], [-1.0])


def test_tolerances_that_compare_with_nothing_are_refused(system):
    for rtol in (1e-300, 1e300):
        with pytest.raises(ValueError, match=r"rtol must be a positive number, from 1e-200 to 1e\+100"):
            mbdae.solve(system, SolveIvp("Radau"), (0.0, 0.1), rtol=rtol)
    for atol in (0.0, 1e-300):
        with pytest.raises(ValueError, match="SolveIvp: atol must be at least 1e-100"):
            mbdae.solve(system, SolveIvp("Radau"), (0.0, 0.1), atol=atol)


def test_names_and_steps_of_methods_are_checked():
    for h in (0, -1e-3, NAN, "a", None, True):
        with pytest.raises(ValueError, match="FullyImplicit: h must be positive"):
            find("FullyImplicit").make(h=h)
    for method in (find("FullyImplicit").make(h=1e-2), mbdae.FullyImplicit(h=1e-2)):
        assert method.newton_tolerance == pytest.approx(1e-6, rel=1e-12)
    for name in (None, 3, Ida):
        with pytest.raises(ValueError, match="name of a method must be a str"):
            find(name)


def test_names_of_files_are_checked(system):
    for path in (None, 3, b"a.json", ["a.json"]):
        with pytest.raises(ValueError, match="load: the name of a file must be a str or a Path, got"):
            mbdae.load(path)
        with pytest.raises(ValueError, match="save: the name of a file must be a str or a Path, got"):
            mbdae.save(system.mechanism, path)
