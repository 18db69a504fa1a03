"""The library: consistent starts, reference values by integration and by pure kinematics, multipliers, bad parameters."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import mbdae
from mbdae import library, studies
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.studies.confirm import CREDIBLE, EXPLICIT, LESS, compare, confirm

VARIANTS = [(name, given) for name in library.names() for given in ({}, *library.entry(name).variants)]

# largest relative error of DOP853 at rtol 1e-10, atol 1e-12, and the last time compared. The plain underlying ODE lets energy and
# rod length of the pendulum drift, so its phase error grows with the square of time: 4e-7 at 20 s, 1e-2 at 1000 s. The double pendulum
# is chaotic and loses a digit every few seconds. The stiff pendulum is left at 0.3 s, where an explicit method has spent 60000
# evaluations; Radau takes it to the end.
INTEGRATED = {
    ("single-pendulum", ()): (1e-6, 20.0),
    ("double-pendulum", ()): (5e-8, 10.0),
    ("slider-crank", ()): (1e-12, 2.0),
    ("slider-crank", (("mu", 0.2),)): (1e-12, 2.0),
    ("slider-crank", (("mu", 0.4),)): (1e-12, 2.0),
    ("slider-crank-free", ()): (5e-8, 5.0),
    ("four-link", ()): (1e-12, 3.0),
    ("chain", ()): (2e-9, 3.0),
    ("chain", (("links", 2),)): (2e-9, 3.0),
    ("stiff-double-pendulum", ()): (2e-8, 0.3),
    ("andrews", ()): (5e-8, 0.05),
    ("andrews", (("start", "iftomm"),)): (1e-10, 0.05),
}
# outputs that follow from accelerations and multipliers; in the Gear form these are difference quotients, good to some 1e-5 at worst
REACTIONS = ("lam", "dd_", "tension", "normal_force", "friction_force", "driving_torque")
# references for IDA at rtol 1e-8: its global error grows with the number of turns and, in index 1 and 2, with the drift off the
# constraints, so the comparison is made early enough for six digits in all forms. Rounding alone changes its choice of steps: in twenty
# runs with tolerances that differ in the seventh digit the motion was off by 2e-7 typically and by 8e-7 at worst (double pendulum, GGL).
# With friction the slider has turned back before.
EARLY = {
    ("single-pendulum", ()): 0.5,
    ("double-pendulum", ()): 1.0,
    ("slider-crank", ()): 0.25,
    ("slider-crank", (("mu", 0.2),)): 0.25,
    ("slider-crank", (("mu", 0.4),)): 0.95,
    ("slider-crank-free", ()): 0.25,
    ("four-link", ()): 0.25,
    ("chain", ()): 1.0,
    ("stiff-double-pendulum", ()): 0.5,
    ("andrews", ()): 0.01,
    ("andrews", (("start", "iftomm"),)): 0.01,
}


def label(key):
    """Name of a test case."""
    return " ".join([key[0], *(f"{k}={v}" for k, v in key[1])]) if isinstance(key, tuple) else str(key)


def build(name, parameters):
    """Entry and system of a mechanism."""
    return library.entry(name), library.system(name, **parameters)


def references(entry, parameters, t_min=0.0, t_max=math.inf):
    """References for the given parameters within a time interval."""
    return [r for r in entry.references_for(parameters) if t_min <= r.t <= t_max]


def check(entry, system, reference, state, bound, bound_of_reactions=0.0):
    """Outputs of a state `(q, v, a, lam)` agree with a reference to its own digits or to `bound`, whichever is wider."""
    found = entry.observe(system, reference.t, *state)
    for name, expected in reference.values.items():
        tolerance = max(bound, 10.0**-reference.digits, bound_of_reactions if name.startswith(REACTIONS) else 0.0)
        error = abs(found[name] - expected) / max(1.0, abs(expected))
        assert error <= tolerance, f"{entry.name}, {reference.label}, t = {reference.t:g}: {name} is off by {error:.2e}"


def solved(system, method, times, **options):
    """A successful solution at the given times, starting at 0."""
    times = sorted(set(times))
    solution = mbdae.solve(system, method, (0.0, times[-1]), t_eval=times, **options)
    assert solution.success, solution.message
    return {t: tuple(getattr(solution, x)[k] for x in ("q", "v", "a", "lam")) for k, t in enumerate(solution.t)}


def swept(system, times, step=0.01):
    """States at the given times by kinematics alone, each assembled from its neighbour."""
    state, found = mbdae.assemble(system), {}
    for t in sorted(set(times)):
        for s in np.linspace(state.t, t, max(1, math.ceil((t - state.t) / step - 1e-9)) + 1)[1:]:
            state = mbdae.assemble(system, s, state.q, state.v)
        found[t] = state
    return found


# --- the entries themselves ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_catalogue_is_complete_and_consistent():
    assert len(set(library.names())) == len(library.names()) >= 32
    for name in library.names():
        entry = library.entry(name)
        assert library.system(name).name.startswith(name) and entry.name == name
        assert entry.view == "3d" or (len(entry.view) == 2 and set(entry.view) < set("xyz"))
        assert entry.hardness and entry.film > 0.0
        assert entry.references and entry.t_end > entry.step > 0.0
        assert {r.kind for r in entry.references} <= {"published", "closed form", "recomputed"}


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_outputs_are_finite_numbers_and_include_all_that_is_listed(name, parameters):
    entry, s = build(name, parameters)
    out = entry.observe(s, 0.0, s.start.q, s.start.v, s.start.a, s.start.lam)
    assert all(isinstance(value, float) and math.isfinite(value) for value in out.values())
    assert all(set(r.values) <= set(out) for r in entry.references_for(parameters))


@pytest.mark.parametrize(("name", "parameters", "message"), [
    ("slider-crank", {"mu": -0.1}, "mu must not be negative"),
    ("slider-crank", {"mu": math.nan}, "mu must be finite"),
    ("slider-crank", {"mu": "rough"}, "mu must be a number"),
    ("four-link", {"masses": "heavy"}, "masses must be 'code' or 'density'"),
    ("andrews", {"start": "rest"}, "start must be 'ivp' or 'iftomm'"),
    ("chain", {"links": 0}, "from 1 to 4096"),
    ("chain", {"links": 4097}, "from 1 to 4096"),
    ("chain", {"links": 2.0}, "from 1 to 4096"),
    ("chain", {"links": "2"}, "from 1 to 4096"),
    ("chain", {"links": True}, "from 1 to 4096"),
    ("chain", {"length": 2.0}, "has no parameter 'length'; it has links"),
    ("single-pendulum", {"mu": 0.1}, "has no parameter 'mu'; it has none"),
    ("triple-pendulum", {}, "there is no mechanism 'triple-pendulum'"),
])
def test_bad_parameters_are_refused(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        library.mechanism(name, **parameters)


def test_numpy_integers_count_links():
    assert len(library.mechanism("chain", links=np.int64(3)).bodies) == 3


# --- reference values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", INTEGRATED, ids=label)
def test_integration_reaches_the_references(key):
    bound, t_max = INTEGRATED[key]
    entry, s = build(key[0], dict(key[1]))
    wanted = references(entry, dict(key[1]), t_max=t_max)
    states = solved(s, SolveIvp("DOP853"), [r.t for r in wanted], rtol=1e-10, atol=1e-12)
    for r in wanted:
        check(entry, s, r, states[r.t], bound)


OWN_TESTS = {  # mechanisms whose references are reached in tests of their own, by two routes each
    "n-four-bar": "iftomm", "bricard": "iftomm", "flyball-governor": "iftomm", "spatial-four-bar": "spatial_four_bar", "heavy-top": "tops",
    "precessing-top": "tops", "four-particles": "point_masses", "double-spherical-pendulum": "point_masses",
    "particle-pendulum": "point_masses", "tethered-satellites": "point_masses", "closed-loop-bars": "closed_loop_bars",
    "stiff-pendulum": "stiff_pendulum", "pendulum-chain": "pendulum_chain", "fekete": "fekete", "car-axis": "car_axis", "truck": "truck",
    "flexible-slider-crank": "flexible_slider_crank", "wheelset": "wheelset", "iltis": "iltis", "stewart-platform": "stewart_platform",
    "hmmwv": "hmmwv", "rail-carriage": "rail_carriage", "passenger-car": "passenger_car",
    "tree": "families", "random-tree": "families", "ring": "families", "ladder": "families",
}


def test_every_reference_belongs_to_a_test():
    for name in library.names():
        if name not in OWN_TESTS:
            entry = library.entry(name)
            given = [tuple(r.parameters.items()) for r in entry.references if r.parameters.get("joints", "spherical") == "spherical"]
            assert {(name, g) for g in given} <= set(INTEGRATED)
    assert set(OWN_TESTS) <= set(library.names())
    assert all((Path(__file__).parent / f"test_{module}.py").exists() for module in OWN_TESTS.values())


SLOW = ("iltis", "hmmwv", "passenger-car", "rail-carriage", "wheelset", "pendulum-chain", "truck", "fekete", "random-tree")
QUICK = [n for n in library.names() if n not in SLOW]


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUICK)
def test_two_routes_confirm_the_first_reference(name):
    """The defaults, up to the first instant that is listed; `mbdae confirm` goes on to the end."""
    entry = library.entry(name)
    wanted = [r for r in entry.references_for({}) if r.t > 0.0]
    for c in confirm(entry, {}, t_max=min(r.t for r in wanted)):
        assert not c.message
        assert c.found is None or c.found > min(c.digits, 7) - 0.5, c


def test_a_third_method_where_the_second_does_not_reproduce_the_first(monkeypatch):
    sloppy = replace(studies.confirm.MULTISTEP, rtol=1e-4, atol=1e-6)
    for name in ("COLLOCATION", "MULTISTEP"):
        monkeypatch.setattr(studies.confirm, name, sloppy)
    entry = library.entry("double-pendulum")
    (first, *_, last) = (c for c in confirm(entry, {}, t_max=min(r.t for r in entry.references_for({}) if r.t > 0.0)) if c.found)
    assert first.found > CREDIBLE and last.route == "IDA, index 2" and last.found > CREDIBLE - LESS


@pytest.mark.thorough
def test_absolute_tolerances_are_relative_to_the_size_of_the_coordinates(monkeypatch):
    """By default the largest one at the start; coordinates of the rail carriage count from its way of 150 m and start at zero."""
    seen = []

    def run(*given, atol, **more):
        seen.append(atol)
        raise FloatingPointError("far enough")

    monkeypatch.setattr("mbdae.studies.confirm.solve", run)
    assert library.entry("rail-carriage").size == pytest.approx(150.0)
    for entry in (library.entry("rail-carriage"), library.entry("truck")):
        assert all(c.message == "far enough" for c in compare(entry, {}, EXPLICIT))
    start = library.system("truck").start
    assert seen == [pytest.approx(EXPLICIT.atol * size) for size in (150.0, np.abs(start.q).max())]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_two_routes_confirm_all_references(name, parameters):
    entry = library.entry(name)
    tables = {}
    for c in confirm(entry, parameters):
        tables.setdefault((c.label, c.kind), []).append(c)
    most = 4 if name == "pendulum-chain" else 7  # its angles are tiny beside its lengths
    for found in (t for t in tables.values() if t[0].instants):
        assert max((c.found or 0.0) for c in found) > min(found[0].digits, most) - 0.5, found


@pytest.mark.thorough
def test_a_stiff_method_takes_the_stiff_pendulum_to_its_end():
    entry, s = build("stiff-double-pendulum", {})
    states = solved(s, SolveIvp("Radau"), [r.t for r in entry.references], rtol=1e-10, atol=1e-12)
    for r in entry.references:
        check(entry, s, r, states[r.t], 1e-10)


@pytest.mark.parametrize(("name", "parameters"), [
    ("slider-crank", {}), ("slider-crank", {"mu": 0.2}), ("slider-crank", {"mu": 0.4}), ("four-link", {})])
def test_kinematics_reaches_the_references(name, parameters):
    entry, s = build(name, parameters)
    wanted = references(entry, parameters)
    states = swept(s, [r.t for r in wanted])
    for r in wanted:
        x = states[r.t]
        check(entry, s, r, (x.q, x.v, x.a, x.lam), 5e-12)  # assembly stops at 1e-13 of the coordinates


@pytest.mark.parametrize("jacobian", ["exact", "difference"])
@pytest.mark.parametrize("form", ["gear", "ggl", "index2", "index1"])
@pytest.mark.parametrize("key", EARLY, ids=label)
def test_ida_reaches_the_references_in_every_form(key, form, jacobian):
    entry, s = build(key[0], dict(key[1]))
    t = EARLY[key]
    solution = mbdae.solve(s, Ida(jacobian=jacobian), (0.0, t), formulation=form, t_eval=[t], rtol=1e-8, atol=1e-10)
    assert solution.success, solution.message
    wanted = references(entry, dict(key[1]), t, t)
    assert wanted
    for r in wanted:
        check(entry, s, r, (solution.q[0], solution.v[0], solution.a[0], solution.lam[0]), 2e-6, 1e-4)
    assert solution.nfev < 6000  # some hundred to three thousand; an unwanted block in the error test costs a hundred times as many


# --- single mechanisms ---------------------------------------------------------------------------------------------------


def test_the_slider_crank_has_the_published_constraints_in_their_order():
    m = library.mechanism("slider-crank")
    assert m.labels == ("A.x", "A.y", "A.z", "A.b", "A.c", "B.x", "B.y", "B.z", "C.cross", "C.y", "C.z",
                        "D.b", "D.c", "D.db", "D.dc", "D.turn", "C.along", "drive")
    ground, slider, end = mbdae.GROUND, "slider", (0.2, 0, 0)
    published = [
        mbdae.DP1("A.b", ground, "crank", (0, 1, 0), (1, 0, 0)), mbdae.DP1("A.c", ground, "crank", (0, 0, 1), (1, 0, 0)),
        mbdae.DP1("D.b", slider, ground, (-1, 0, 0), (1, 0, 0)), mbdae.DP1("D.c", slider, ground, (0, 1, 0), (1, 0, 0)),
        mbdae.DP2("D.db", slider, ground, (-1, 0, 0), s_j=end), mbdae.DP2("D.dc", slider, ground, (0, 1, 0), s_j=end),
        mbdae.DP1("D.turn", slider, ground, (-1, 0, 0), (0, 1, 0)),
    ]
    found = {p.name: p for p in m.primitives}
    assert [found[p.name] for p in published] == published


@pytest.mark.thorough
@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("t", [0.07, 0.3, 0.8])
def test_the_drive_of_the_slider_crank_pays_for_energy_and_friction(mu, t):
    entry, s = build("slider-crank", {"mu": mu})
    h = 1e-4
    before, now, after = (swept(s, [x], 0.005)[x] for x in (t - h, t, t + h))
    out = entry.observe(s, t, now.q, now.v, now.a, now.lam)
    power = (s.energy(t + h, after.q, after.v) - s.energy(t - h, before.q, before.v)) / (2 * h)
    assert -2 * math.pi * out["driving_torque"] + out["friction_force"] * out["d_slider_x"] == pytest.approx(power, abs=1e-5)
    assert out["friction_force"] == pytest.approx(-mu * out["normal_force"] * np.sign(out["d_slider_x"]), abs=1e-10)


def test_the_published_start_of_the_four_link_is_open_and_closes_nearby():
    _, s = build("four-link", {})
    q0, v0 = s.initial_guess()
    assert np.abs(s.phi(0.0, q0)).max() == pytest.approx(8.7e-3, abs=1e-4)
    x = mbdae.assemble(s)
    assert np.abs(s.difference(x.q, q0)).max() < 5e-3
    assert (v0[5], x.v[5]) == (0.0, pytest.approx(math.pi, abs=1e-12))


def test_masses_change_the_forces_of_the_four_link_but_not_its_motion():
    code, density = (mbdae.assemble(build("four-link", {"masses": m})[1]) for m in ("code", "density"))
    np.testing.assert_allclose(density.q, code.q, atol=1e-12)
    np.testing.assert_allclose(density.a, code.a, atol=1e-10)
    assert np.abs(density.lam).max() > 100 * np.abs(code.lam).max()


def test_the_chain_keeps_its_spins_and_its_energy():
    _, s = build("chain", {"links": 6})
    times = [0.0, 0.5, 1.0]
    states = solved(s, SolveIvp("DOP853"), times, rtol=1e-10, atol=1e-12)
    for t in times:
        q, v, _, _ = states[t]
        np.testing.assert_allclose(v[3::6], [6, -4, 8, -2, 6, -4], atol=1e-9)
        assert s.energy(t, q, v) == pytest.approx(s.energy(0.0, *states[0.0][:2]), rel=1e-9)


@pytest.mark.parametrize(("name", "t"), [("single-pendulum", 10.0), ("double-pendulum", 8.0), ("slider-crank-free", 5.0)])
def test_energy_is_conserved(name, t):
    _, s = build(name, {})
    (q0, v0, *_), (q, v, *_) = solved(s, SolveIvp("DOP853"), [0.0, t], rtol=1e-10, atol=1e-12).values()
    assert s.energy(t, q, v) == pytest.approx(s.energy(0.0, q0, v0), abs=1e-7 * s.kinetic_energy(t, q, v))


def test_the_simple_pendulum_follows_the_elliptic_functions_for_two_thousand_seconds():
    """`sin(phi/2) = k cd(w t)` with `k = sin(45 deg)`, `phi` from the vertical: a second route beyond what integration reaches."""
    for r in library.entry("single-pendulum").references:
        _, cn, dn, _ = ellipj(np.remainder(math.sqrt(9.81) * r.t, 4.0 * ellipk(0.5)), 0.5)
        phi = 2.0 * math.asin(math.sqrt(0.5) * cn / dn)
        found = {"x": -math.sin(phi), "y": -math.cos(phi), "tension": 3.0 * 9.81 * math.cos(phi)}
        for name in set(found) & set(r.values):
            assert found[name] == pytest.approx(r.values[name], abs=6e-7 if r.kind == "published" else 1e-12)  # found: 3e-14
