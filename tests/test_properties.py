"""Properties that hold for any mechanism, model file and order of calls; the examples are drawn by hypothesis.

A few examples by default, derandomised. Many: `MBDAE_EXAMPLES=1000 pytest -m slow tests/test_properties.py -s`, which prints seconds and
rate; `python -m tests.random_mechanisms SEED COUNT mixed|linkage|planar|spatial` runs more methods on each mechanism.
"""

import copy
import json
import os
import time
from functools import cache

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.io.write import describe

from .linkages import GROUND
from .properties import linkage, mixed, table
from .random_mechanisms import planar, spatial, thrown

MANY = int(os.environ.get("MBDAE_EXAMPLES", "200"))
MAKERS = {"mixed": mixed, "linkage": linkage, "planar": planar, "spatial": spatial}
SEEDS = st.integers(0, 2**32 - 1)
RTOL, T_END = 1e-7, 0.2
ALLOWED = 300 * RTOL  # difference of two methods, relative to positions and velocities
FALL = 5.0  # of a larger difference, at least, with tolerances a hundred times smaller
SENSITIVE = 1e3  # growth of errors beyond which a motion is not judged


def few(n):
    """The settings of the default part."""
    return settings(max_examples=n, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def many(n=MANY):
    return settings(max_examples=n, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def rate():
    """Counts examples, and prints their number, seconds and rate."""
    counted, begin = [], time.perf_counter()
    yield counted
    seconds = time.perf_counter() - begin
    print(f"\n{len(counted)} examples, {sum(counted)} judged or loaded, in {seconds:.0f} s: {len(counted) / seconds:.2f} per second")


# methods against each other ------------------------------------------------------------------------------------------------------

KINDS = {"explicit": [(SolveIvp("DOP853"), "ode"), (SolveIvp("DOP853"), "partition"), (SolveIvp("RK45"), "tangent"),
                      (mbdae.DormandPrince(), "ode"), (mbdae.DormandPrince(5), "ode")],
         "multistep": [(mbdae.Bdf(), form) for form in ("ggl", "gear", "index2", "index1")]
         + [(Ida(), form) for form in ("ggl", "gear", "index1")],
         "implicit": [(mbdae.RosenbrockNystrom(), "partition"), (mbdae.RosenbrockNystrom(), "tangent"),
                      (mbdae.SdirkFirstOrder(), "partition"), (mbdae.ProjectedGauss(h=1e-3), "index3")]}
TRIPLES = st.tuples(*(st.sampled_from(kind) for kind in KINDS.values()))


def disagreement(s, start, methods, rtol):
    """The largest difference of the ends of two runs, relative to positions and velocities."""
    ends = []
    for method, form in methods:
        found = mbdae.solve(s, method, (0.0, T_END), formulation=form, state=start, rtol=rtol, atol=rtol)
        assert found.success, (method.label, form, found.message)
        assert found.constraint_residuals[-1, 0] < 1e-3 * (1.0 + np.abs(found.q).max()), (method.label, form)
        ends.append(found)
    scale = 1.0 + max(np.abs(x.q[-1]).max() for x in ends) + max(np.abs(x.v[-1]).max() for x in ends)
    return max(np.abs(s.difference(a.q[-1], b.q[-1])).max() for a in ends for b in ends) / scale


def sensitive(s, start, seed):
    """Whether the motion amplifies small changes of its start, or meets a singular position."""
    rng = np.random.default_rng(seed)
    ends = []
    for size in (0.0, 1e-7):
        state = mbdae.assemble(s, q=start.q, v=start.v + size * rng.normal(size=s.nv))
        found = mbdae.solve(s, SolveIvp("DOP853"), (0.0, T_END), formulation="ode", state=state, rtol=1e-10, atol=1e-10)
        if not found.success:
            return True
        ends.append(found.q[-1])
    return np.abs(s.difference(*ends)).max() > SENSITIVE * 1e-7


def methods_agree(kind, seed, methods):
    """Three methods of different kinds end at the same place; whether the mechanism could be judged."""
    rng = np.random.default_rng(seed)
    found = thrown(MAKERS[kind](rng), rng)
    if found is None or sensitive(*found, seed):
        return False
    first = disagreement(*found, methods, RTOL)
    assert first <= ALLOWED or disagreement(*found, methods, 1e-2 * RTOL) < first / FALL, (kind, seed, [m.label for m, _ in methods], first)
    return True


@pytest.mark.thorough
@few(6)
@given(st.sampled_from(list(MAKERS)), SEEDS, TRIPLES)
def test_methods_of_three_kinds_agree(kind, seed, methods):
    methods_agree(kind, seed, methods)


@pytest.mark.slow
def test_methods_of_three_kinds_agree_often(rate):
    @many()
    @given(st.sampled_from(list(MAKERS)), SEEDS, TRIPLES)
    def check(kind, seed, methods):
        rate.append(methods_agree(kind, seed, methods))

    check()


# tables as motions of drivers ----------------------------------------------------------------------------------------------------


def driven(seed, points):
    """An arm that a driver turns, and a pendulum on it."""
    rng = np.random.default_rng(seed)
    arm = mbdae.RigidBody("arm", 1.0, (0.02, 0.1, 0.1), (0.4, 0.0, 0.0))
    bob = mbdae.RigidBody("bob", 0.5, (0.01, 0.04, 0.04), (1.1, 0.0, 0.0))
    joints = [mbdae.Revolute("axle", GROUND, "arm", s_j=(-0.4, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0)),
              mbdae.Revolute("pin", "arm", "bob", s_i=(0.4, 0, 0), s_j=(-0.3, 0, 0), a_i=(0, 1, 0), a_j=(0, 1, 0))]
    turn = table(rng, 0.0, points)
    drive = mbdae.AngleDriver("drive", GROUND, "arm", f=turn, a_i=(0, 1, 0), b_i=(0, 0, 1), b_j=(0, 0, 1))
    return mbdae.System(mbdae.Mechanism("driven", [arm, bob], joints, [drive], gravity=(0, 0, -9.81))), turn


@few(5)
@given(SEEDS, st.integers(6, 20), TRIPLES)
def test_a_driver_follows_its_table(seed, points, methods):
    s, turn = driven(seed, points)
    for method, form in methods:
        found = mbdae.solve(s, method, (0.0, T_END), formulation=form, rtol=RTOL, atol=RTOL)
        assert found.success, (method.label, form, found.message)
        q, v = found.body("arm")
        angles, rates = (np.array([of(t) for t in found.t]) for of in (turn.value, turn.first))
        assert np.abs(np.sin(np.arctan2(q[:, 5], q[:, 3]) - 0.5 * angles)).max() < 1e-5, (method.label, form)
        assert np.abs(v[:, 4] - rates).max() < 1e-3 * (1.0 + np.abs(rates).max()), (method.label, form)
    assert disagreement(s, s.start, methods, RTOL) < ALLOWED


# files ---------------------------------------------------------------------------------------------------------------------------

NAMES = ("double-pendulum", "four-link", "slider-crank", "stewart-platform")
JUNK = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(
    ["ground", "Revolute", "type", "bodies", "Harmonic", 1e400, -0.0, 10**30, "\x00"]), lambda x: st.lists(x, max_size=4) | st.dictionaries(
    st.text(max_size=6) | st.sampled_from(["type", "name", "mass", "f", "value"]), x, max_size=4), max_leaves=8)


@cache
def described(name):
    return describe(library.mechanism(name))


def places(tree, path=()):
    """The paths to all values of a tree."""
    yield path
    for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(x, (*path, key))


def changed(tree, path, value, how):
    """A copy with another value at a path, without it, or with it twice."""
    tree = copy.deepcopy(tree)
    if not path:
        return value
    at = tree
    for key in path[:-1]:
        at = at[key]
    if how == "remove":
        del at[path[-1]]
    elif how == "twice" and isinstance(at, list):
        at.insert(path[-1], copy.deepcopy(at[path[-1]]))
    else:
        at[path[-1]] = value
    return tree


def is_a_mechanism_or_refused(path):
    """A file is loaded, or refused with an error that names it."""
    try:
        made = mbdae.load(path)
    except mbdae.DescriptionError as error:
        assert str(path) in str(error), error
        return False
    assert isinstance(made, mbdae.Mechanism)
    return True


def damage(data, folder):
    """A model file with one to three changes; whether it was loaded."""
    tree = described(data.draw(st.sampled_from(NAMES)))
    for _ in range(data.draw(st.integers(1, 3))):
        found = list(places(tree))
        how = data.draw(st.sampled_from(["set", "set", "remove", "twice"]))
        tree = changed(tree, data.draw(st.sampled_from(found)), data.draw(JUNK), how)
        if not isinstance(tree, (dict, list)):
            break
    text = json.dumps(tree)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 3)):]
    path = folder / f"model.{data.draw(st.sampled_from(['json', 'yaml']))}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return is_a_mechanism_or_refused(path)


@pytest.mark.thorough
@few(150)
@given(st.data())
def test_a_damaged_file_is_loaded_or_refused(tmp_path_factory, data):
    damage(data, tmp_path_factory.getbasetemp())


@pytest.mark.slow
def test_damaged_files_are_loaded_or_refused_often(rate, tmp_path):
    @many(20 * MANY)
    @given(st.data())
    def check(data):
        rate.append(damage(data, tmp_path))

    check()


# the order of calls --------------------------------------------------------------------------------------------------------------


def _solved(method, **options):
    def call(s):
        found = mbdae.solve(s, method, (0.0, 0.02), **options)
        return np.concatenate([found.t, found.q.ravel(), found.v.ravel(), found.a.ravel(), found.lam.ravel()])

    return call


def _moved(s):
    return s.retract(s.start.q, 1e-2 * np.cos(np.arange(s.nv)))


CALLS = {
    "start": lambda s: np.concatenate([s.start.q, s.start.v, s.start.a, s.start.lam]),
    "mass": lambda s: s.mass(0.3, _moved(s)).ravel(), "force": lambda s: s.force(0.1, _moved(s), np.ones(s.nv)),
    "phi": lambda s: s.phi(0.2, _moved(s)), "phi_q": lambda s: s.phi_q(0.2, _moved(s)).toarray().ravel(),
    "gamma": lambda s: s.gamma(0.1, _moved(s), np.ones(s.nv)), "kkt": lambda s: np.concatenate(
        s.solve_kkt(0.0, _moved(s), np.ones(s.nv), np.ones(s.nc))[:2]),
    "assemble": lambda s: mbdae.assemble(s, t=0.1, q=_moved(s)).q, "energy": lambda s: np.array([s.energy(0.0, _moved(s), np.ones(s.nv))]),
    "another start": lambda s: mbdae.assemble(s, t=0.0, v=np.cos(np.arange(s.nv))).a,
    "jacobian": lambda s: (lambda p: p.jacobian(0.0, p.y0, p.yd0, 10.0).toarray().ravel())(mbdae.GGL(s)),
    "half-implicit": _solved(mbdae.HalfImplicit(h=1e-3)), "bdf": _solved(mbdae.Bdf(), formulation="ggl"),
    "rosenbrock": _solved(mbdae.RosenbrockNystrom()), "explicit": _solved(mbdae.DormandPrince()),
    "dop853": _solved(SolveIvp("DOP853"), formulation="ode"),
    "ida": _solved(Ida(), formulation="gear"), "events": _solved(mbdae.HHT(), events=lambda t, q, v: float(q[0])),
    "dense": _solved(mbdae.ProjectedGauss(h=2e-3), dense_output=True)}
SYSTEMS = ("bricard", "double-pendulum", "flyball-governor", "andrews")


@cache
def alone(name, call):
    """The answer of a call on a system of its own."""
    return CALLS[call](mbdae.System(library.mechanism(name)))


def order_does_not_matter(name, calls):
    """Each call gives the bits that it gives on a system of its own."""
    s = mbdae.System(library.mechanism(name))
    for k, call in enumerate(calls):
        np.testing.assert_array_equal(CALLS[call](s), alone(name, call), f"{call} after {', '.join(calls[:k])}")


SEQUENCES = st.lists(st.sampled_from(list(CALLS)), min_size=2, max_size=12)


@few(8)
@given(st.sampled_from(SYSTEMS[:2]), SEQUENCES)
def test_no_call_changes_the_answer_of_another(name, calls):
    order_does_not_matter(name, calls)


@pytest.mark.slow
def test_no_call_changes_the_answer_of_another_often(rate):
    @many()
    @given(st.sampled_from(SYSTEMS), SEQUENCES)
    def check(name, calls):
        order_does_not_matter(name, calls)
        rate.append(True)

    check()
