"""Names and units of components, and the tables of pandas and xarray."""

import sys

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.results.names import chosen, names_of

from .helpers import GROUND

TIMES = np.linspace(0.0, 0.3, 31)


def linkage(length=1.0, mass=1.0, gravity=9.81):
    """A rod on a revolute joint, a particle on a rod of it, a body that a driver turns, and one that slides on it."""
    L, inertia = length, mass * length**2
    bodies = [mbdae.RigidBody("arm", 2 * mass, (0.1 * inertia, 0.4 * inertia, 0.3 * inertia), (0.5 * L, 0.0, 0.0)),
              mbdae.Particle("bob", mass, (L, 0.0, -L)),
              mbdae.RigidBody("disc", mass, (0.2 * inertia, 0.2 * inertia, 0.1 * inertia), (0.0, 2 * L, 0.0)),
              mbdae.RigidBody("cube", mass, (0.2 * inertia, 0.3 * inertia, 0.2 * inertia), (0.3 * L, 2 * L, 0.0))]
    joints = [mbdae.Revolute("pin", GROUND, "arm", s_j=(-0.5 * L, 0.0, 0.0), a_i=(0, 1, 0), a_j=(0, 1, 0)),
              mbdae.Rod("cord", "arm", "bob", (0.5 * L, 0.0, 0.0), length=L),
              mbdae.Revolute("bearing", GROUND, "disc", s_i=(0.0, 2 * L, 0.0), a_i=(0, 0, 1), a_j=(0, 0, 1)),
              mbdae.Translational("guide", "disc", "cube", a_i=(1, 0, 0), a_j=(1, 0, 0))]
    drivers = [mbdae.AngleDriver("motor", GROUND, "disc", mbdae.Polynomial((0.0, 1.0, 2.0)), (0, 0, 1), (1, 0, 0), (1, 0, 0))]
    return mbdae.Mechanism("linkage", bodies, joints, drivers, gravity=(0.0, 0.3 * gravity, -gravity))


@pytest.fixture(scope="module")
def solution():
    return mbdae.solve(linkage(), SolveIvp("DOP853"), (0.0, 0.3), rtol=1e-9, atol=1e-11, t_eval=TIMES, formulation="ode")


@pytest.fixture(scope="module")
def in_joints():
    system = mbdae.System(linkage(), coordinates="joint")
    return mbdae.solve(system, SolveIvp("DOP853"), (0.0, 0.3), rtol=1e-9, atol=1e-11, t_eval=TIMES, formulation="ode")


def column(solution, block, name):
    names = [c.name for c in getattr(names_of(solution.system), block)]
    return getattr(solution, block)[:, names.index(name)]


def test_names_stand_in_the_order_of_the_components(solution, in_joints):
    for s in (solution.system, in_joints.system):
        names = names_of(s)
        assert [len(block) for block in names] == [s.nq, s.nv, s.nv, s.nc]
        assert all(len({c.name for c in block}) == len(block) for block in names)
    names = names_of(solution.system)
    for body in ("arm", "bob", "disc", "cube"):
        q, v = solution.system.coordinates(body)
        assert {c.owner for c in names.q[q]} == {c.owner for c in names.v[v]} == {body}
    for joint in ("pin", "cord", "guide", "motor"):
        assert [k for k, c in enumerate(names.lam) if c.owner == joint] == list(solution.system.rows(joint))


def test_velocities_are_the_derivatives_of_what_they_are_called_after(solution, in_joints):
    pairs = [(solution, "arm.x", "arm.vx"), (solution, "bob.z", "bob.vz"), (in_joints, "pin.angle", "pin.omega"),
             (in_joints, "bearing.angle", "bearing.omega"), (in_joints, "guide.s", "guide.v"), (in_joints, "bob.y", "bob.vy")]
    for s, q, v in pairs:
        slope = np.gradient(column(s, "q", q), TIMES, edge_order=2)
        assert np.ptp(column(s, "q", q)) > 1e-3
        np.testing.assert_allclose(slope[1:-1], column(s, "v", v)[1:-1], atol=3e-3 * max(1.0, np.abs(slope).max()))
        rate = np.gradient(column(s, "v", v), TIMES, edge_order=2)
        a = column(s, "a", v.replace(".v", ".a").replace(".omega", ".alpha"))
        np.testing.assert_allclose(rate[1:-1], a[1:-1], atol=1e-2 * max(1.0, np.abs(rate).max()))


def test_units_of_multipliers_scale_as_they_say():
    """In other units of length and mass each multiplier changes by the factor of its unit."""
    length, mass = 2.0, 3.0
    factor = {"N": mass * length, "N m": mass * length**2, "N/m": mass}
    plain, scaled = (mbdae.System(m).start for m in (linkage(), linkage(length, mass, 9.81 * length)))
    columns = names_of(mbdae.System(linkage())).lam
    assert {c.unit for c in columns} == set(factor)
    np.testing.assert_allclose(scaled.lam, [factor[c.unit] * x for c, x in zip(columns, plain.lam)], rtol=1e-9, atol=1e-9)
    assert all(np.abs([x for c, x in zip(columns, plain.lam) if c.unit == unit]).max() > 1e-3 for unit in factor)


def test_names_of_functions_are_numbers():
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.array([0.0, -9.81]),
                                    phi=lambda t, q: np.array([q @ q - 1.0]), q0=[1.0, 0.0], labels=["length"])
    assert [[c.name for c in block] for block in names_of(s)] == [["q[0]", "q[1]"], ["v[0]", "v[1]"], ["a[0]", "a[1]"], ["lam[length]"]]


def test_columns_are_chosen_by_name_owner_or_component(solution):
    q = names_of(solution.system).q
    assert [q[k].name for k in chosen(q, ["bob", "arm.z", "bob.x"], "q")] == ["bob.x", "bob.y", "bob.z", "arm.z"]
    assert [q[k].name for k in chosen(q, "y", "q")] == ["arm.y", "bob.y", "disc.y", "cube.y"]
    with pytest.raises(ValueError, match=r"no 'arn' \(did you mean 'arm'\?\); there are arm, bob"):
        chosen(q, "arn", "q")


# --- tables ------------------------------------------------------------------------------------------------------------------------


def test_a_table_has_names_values_units_and_their_origin(solution):
    pytest.importorskip("pandas")
    table = solution.to_pandas()
    assert table.shape == (31, solution.system.nq + 2 * solution.system.nv + solution.system.nc)
    assert table.index.name == "t" and np.array_equal(table.index, TIMES)
    assert np.array_equal(table["bob.z"], solution.body("bob")[0][:, 2])
    assert np.array_equal(table["lam[cord]"], solution.multipliers("cord")[:, 0])
    assert (table.attrs["units"]["arm.alpha_x"], table.attrs["method"], table.attrs["status"]) == ("rad/s^2", "SciPy DOP853", "SUCCESS")
    several = solution.to_pandas("lam", multi_index=True)
    assert next(iter(several["lam"]["pin"].columns)) == ("pin.x", "N") and several.columns.nlevels == 4
    with pytest.raises(ValueError, match="blocks must be of q, v, a, lam, got 'x'"):
        solution.to_pandas("x")


def test_a_data_set_has_labels_and_survives_a_file(solution, tmp_path):
    xarray = pytest.importorskip("xarray")
    data = solution.to_xarray()
    assert np.array_equal(data.q.sel(q_name="bob.z"), solution.body("bob")[0][:, 2])
    assert np.array_equal(data.a.sel(v_name="arm.omega_y"), column(solution, "a", "arm.alpha_y"))
    assert str(data.lam_unit.sel(lam_name="lam[cord]").values) == "N/m" and data.t.attrs["units"] == "s"
    assert data.attrs["mechanism"] == "linkage" and data.attrs["statistics_steps"] == solution.statistics.steps
    data.to_netcdf(tmp_path / "run.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as back:
        assert np.array_equal(back.lam, solution.lam) and back.attrs["message"] == solution.message
        assert [str(x) for x in back.q_name.values] == [c.name for c in names_of(solution.system).q]


def test_no_points_make_an_empty_table(solution):
    pytest.importorskip("pandas")
    empty = mbdae.solve(solution.system, SolveIvp("DOP853"), (0.0, 0.1), t_eval=[], formulation="ode")
    assert empty.to_pandas().shape == (0, solution.to_pandas().shape[1])
    assert empty.y.shape == (solution.system.nq + solution.system.nv, 0)


@pytest.mark.parametrize("package, call", [("pandas", "to_pandas"), ("xarray", "to_xarray")])
def test_a_missing_package_is_named_with_the_remedy(solution, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"Solution.{call} needs the package {package}: pip install 'mbdae\[data\]'"):
        getattr(solution, call)()


# --- SciPy's names -----------------------------------------------------------------------------------------------------------------


def bounce():
    """A ball that falls onto the ground, and its event."""
    ball = mbdae.Mechanism("ball", [mbdae.Particle("ball", 1.0, (0.0, 0.0, 1.0))], gravity=(0.0, 0.0, -9.81))

    def ground(t, q, v):
        return q[2]

    ground.direction = -1
    return ball, ground


def test_stacked_motion_is_that_of_scipy():
    from scipy.integrate import solve_ivp

    ball, ground = bounce()
    ours = mbdae.solve(ball, SolveIvp("RK45"), (0.0, 0.8), rtol=1e-8, atol=1e-8, t_eval=[0.2, 0.8], dense_output=True,
                       events=[ground, lambda t, q, v: t - 0.1])
    theirs = solve_ivp(lambda t, y: [*y[3:], 0.0, 0.0, -9.81], (0.0, 0.8), [0, 0, 1, 0, 0, 0], t_eval=[0.2, 0.8], rtol=1e-8, atol=1e-8,
                       events=[lambda t, y: y[2], lambda t, y: t - 0.1])
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-7)
    assert ours.y.shape == theirs.y.shape
    for a, b in zip(ours.y_events, theirs.y_events):
        np.testing.assert_allclose(a, b, atol=1e-7)
        assert a.shape == b.shape == (1, 6)
    assert np.array_equal(np.concatenate(ours.sol(ours.t_events[0][0])[:2]), ours.y_events[0][0])
    assert mbdae.solve(ball, SolveIvp("RK45"), (0.0, 0.1)).y_events is None


def test_states_at_events_are_those_before_a_change(tmp_path):
    ball, ground = bounce()
    ground.on_event = lambda t, state: (state.q, -0.5 * state.v)
    s = mbdae.solve(ball, SolveIvp("DOP853"), (0.0, 1.0), rtol=1e-9, atol=1e-9, events=ground)
    assert len(s.jumps) == len(s.y_events[0]) >= 2
    for jump, y in zip(s.jumps, s.y_events[0]):
        assert np.array_equal(y, np.concatenate([jump.before.q, jump.before.v])) and y[5] < 0.0 < jump.after.v[2]
    s.save(tmp_path / "ball.npz")
    back = mbdae.Solution.load(tmp_path / "ball.npz", ball)
    assert np.array_equal(back.y_events[0], s.y_events[0])


def test_states_at_events_go_on_with_a_run(tmp_path):
    ball, _ = bounce()
    events = [lambda t, q, v: np.cos(20.0 * t)]
    call = {"events": events}
    whole = mbdae.solve(ball, mbdae.HalfImplicit(h=0.01), (0.0, 1.0), **call)
    half = mbdae.solve(ball, mbdae.HalfImplicit(h=0.01), (0.0, 0.5), **call)
    half.save(tmp_path / "half.npz")
    longer = mbdae.solve(ball, mbdae.HalfImplicit(h=0.01), (0.0, 1.0), resume=tmp_path / "half.npz", **call)
    assert len(longer.y_events[0]) == 6 and np.array_equal(longer.t_events[0], whole.t_events[0])
    assert np.array_equal(longer.y_events[0], whole.y_events[0])
