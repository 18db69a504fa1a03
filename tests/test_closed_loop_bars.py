"""Four bars in a closed loop: two routes to the motion, its symmetry, and what the loads leave behind."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import closed_loop_bars

ENTRY = closed_loop_bars.ENTRY
TIMES = [1.0, 2.0, 5.0, 10.0]


@pytest.fixture(scope="module")
def system():
    return mbdae.System(ENTRY.build())


@pytest.fixture(scope="module")
def found(system):
    """Outputs by time of DOP853, started anew at the kinks of the loads and at the times of the references."""
    states, state = {}, mbdae.assemble(system)
    for t in (0.5, *TIMES):
        x = mbdae.solve(system, SolveIvp("DOP853"), (state.t, t), state=state, t_eval=[t], rtol=1e-13, atol=1e-13)
        assert x.success, x.message
        state = mbdae.assemble(system, t, x.q[0], x.v[0])
        states[t] = ENTRY.observe(system, t, state.q, state.v, state.a, state.lam)
    return states


def worst(found, references):
    """Largest error, relative to values above one."""
    return max(abs(found[r.t][name] - value) / max(1.0, abs(value)) for r in references for name, value in r.values.items())


def test_an_explicit_method_started_anew_at_the_kinks_reaches_the_references(found):
    assert worst(found, ENTRY.references) < 1e-12  # 2e-13, the rounding of the references


def test_ida_reaches_the_references_across_the_kinks(system):
    x = mbdae.solve(system, Ida(), (0.0, 10.0), formulation="gear", t_eval=TIMES, rtol=1e-11, atol=1e-12)
    assert x.success, x.message
    found = {t: ENTRY.observe(system, t, *state) for t, *state in zip(x.t, x.q, x.v, x.a, x.lam)}
    assert worst(found, ENTRY.references) < 5e-9  # 5e-10


def test_half_a_turn_about_the_x_axis_maps_the_motion_onto_itself(found):
    for out in found.values():
        for axis, sign in (("x", 1), ("y", -1), ("z", -1), ("e0_", 1), ("e1_", 1), ("e2_", -1), ("e3_", -1)):
            assert out[f"{axis}4"] == pytest.approx(sign * out[f"{axis}2"], abs=1e-12)
        for bar in (1, 3):
            assert [out[f"{name}{bar}"] for name in ("y", "z", "e2_", "e3_")] == pytest.approx([0.0] * 4, abs=1e-12)


def test_the_loads_leave_momentum_and_angular_momentum_and_move_the_centre(found):
    half = found[0.5]
    assert (half["momentum_x"], half["angular_momentum_x"]) == pytest.approx((200.0, 150.0), rel=1e-13)
    for t in TIMES:
        out = found[t]
        assert [out[f"momentum_{axis}"] for axis in "xyz"] == pytest.approx([400.0, 0.0, 0.0], abs=1e-10)
        assert [out[f"angular_momentum_{axis}"] for axis in "xyz"] == pytest.approx([300.0, 0.0, 0.0], abs=1e-9)
        assert out["energy"] == pytest.approx(2096.16784226673, rel=1e-13)
        assert np.mean([out[f"x{k}"] for k in (1, 2, 3, 4)]) == pytest.approx(10.0 * (t - 0.5), rel=1e-13)
        assert out["x2"] == pytest.approx(10.0 * (t - 0.5), rel=1e-13)  # symmetry: the joints hold bars 2 and 4 at the centre


def test_the_start_is_a_square_with_twelve_independent_equations(system):
    x = mbdae.assemble(system)
    assert (system.nc, system.dof, x.redundant) == (12, 12, ())
    np.testing.assert_array_equal(system.phi(0.0, x.q), 0.0)
    np.testing.assert_array_equal(x.q, system.initial_guess()[0])
    assert not x.v.any()


def test_the_loads_act_on_the_first_bar_and_move_the_whole(system):
    x = mbdae.assemble(system, 0.25)
    assert system.force(0.25, x.q, x.v)[:6] == pytest.approx([400.0, 0.0, 0.0, 300.0, 0.0, 0.0], abs=1e-12)
    np.testing.assert_allclose(system.force(1.5, x.q, x.v), 0.0, atol=1e-12)
    total = (system.mass_times(0.25, x.q, x.a)).reshape(4, 6)[:, :3].sum(axis=0)
    np.testing.assert_allclose(total, [400.0, 0.0, 0.0], atol=1e-11)
