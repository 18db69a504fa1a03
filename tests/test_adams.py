"""Adams methods: formulas, orders, constraints, errors and tolerances, dense output, work, what they refuse and how they fail."""

from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Adams, DormandPrince, Status, library
from mbdae.integrators.adams.arrays import MAX_ORDER, new_memory
from mbdae.integrators.adams.errors import GAMMA, estimate, ratio
from mbdae.integrators.adams.formulas import put_coefficients, put_interpolation
from mbdae.integrators.adams.stepper import AdamsStepper
from mbdae.system.codes import ERROR_TEST, GOOD

from .explicit_cases import CASES, distances, system
from .helpers import thorough_but
from .test_explicit import run, violations
from .test_kinks import CONTACT, ball, error_in_tolerances, fallen

NODES = np.array([0.0, 0.3, 0.5, 1.1, 1.2, 1.9, 2.0, 2.4, 3.3, 3.4, 4.0, 4.7, 5.1])  # t_n - t_(n-j), uneven


# --- formulas ------------------------------------------------------------------------------------------------------------


def memory_at(k, since, h):
    """The memory of a step after steps of these lengths, with its coefficients."""
    m = new_memory(MAX_ORDER)
    m.order, m.known = k, len(since)
    m.since[:len(since)] = since
    put_coefficients(h, m)
    return m


def modified(values, times):
    """Modified divided differences of values at times, the latest first: `psi_1 ... psi_j f[t_0, ..., t_j]`."""
    divided, out, factor = np.array(values, dtype=float), [], 1.0
    for j in range(len(times)):
        out.append(factor * divided[0])
        divided = (divided[:-1] - divided[1:]) / (times[:len(divided) - 1] - times[j + 1:])
        if j + 1 < len(times):
            factor *= times[0] - times[j + 1]
    return np.array(out)


def power(n, h):
    """A polynomial of degree `n` that is at most one at the nodes, and its integral from 0 to `h`."""
    def f(t):
        return ((t + 2.0) / 7.2) ** n

    return f, 7.2 / (n + 1) * (f(h) * (h + 2.0) / 7.2 - f(0.0) * 2.0 / 7.2)


@pytest.mark.parametrize("k", range(1, MAX_ORDER + 1))
@pytest.mark.parametrize("h", [0.4, -0.4])
def test_predictor_and_corrector_are_exact_for_polynomials(k, h):
    """`p` for derivatives of degree `k - 1`, `y` for degree `k`, with uneven steps in both directions of time."""
    since = np.sign(h) * NODES
    m, times = memory_at(k, since, h), -since
    for degree in range(k + 1):
        f, integral = power(degree, h)
        scaled = m.beta[:k + 1] * modified(f(times), times)[:k + 1]
        p = h * (m.g[:k] @ scaled[:k])
        y = p + h * m.g[k] * (f(h) - scaled[:k].sum())
        assert y == pytest.approx(integral, rel=1e-8, abs=1e-8)
        assert degree == k or p == pytest.approx(integral, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("k", range(1, MAX_ORDER + 1))
def test_differences_follow_by_recurrence(k):
    """`phi_j(n+1) = phi_(j-1)(n+1) - beta_(j-1) phi_(j-1)(n)` are those of the derivatives at the later times."""
    h = 0.37
    m, times = memory_at(k, NODES, h), -NODES
    before, after = modified(np.exp(times), times), modified(np.exp(np.r_[h, times]), np.r_[h, times])
    phi = np.exp(h)
    for j in range(1, k + 1):
        phi -= m.beta[j - 1] * before[j - 1]
        assert phi == pytest.approx(after[j], rel=1e-8, abs=1e-11)
    np.testing.assert_allclose(m.nodes[:13], np.r_[0.0, h + NODES[:12]])


def test_differences_that_are_not_known_are_left_out():
    assert (memory_at(3, NODES[:3], 0.4).beta[:4] != 0.0).tolist() == [True, True, True, False]


def test_error_constants_are_those_of_equal_steps():
    m = memory_at(MAX_ORDER, np.arange(MAX_ORDER + 1.0), 1.0)
    np.testing.assert_allclose(-np.diff(m.g[:MAX_ORDER + 1]), GAMMA[:MAX_ORDER], rtol=1e-9)
    np.testing.assert_allclose(m.sigma[:MAX_ORDER + 1], 1.0)
    assert len(GAMMA) == MAX_ORDER + 1


@pytest.mark.parametrize("k", (1, 2, 5, 12))
def test_dense_output_integrates_the_polynomial(k):
    c, times = np.zeros(k + 1), -NODES[:k + 1]
    for s in (-0.25, -0.3, -0.01):
        put_interpolation(s, k, NODES, c)
        for degree in range(k + 1):
            f, exact = power(degree, s)
            assert s * (c @ modified(f(times), times)) == pytest.approx(exact, rel=1e-8, abs=1e-8)


# --- order and length of the next step -----------------------------------------------------------------------------------


@pytest.fixture
def stepper():
    s = system("driven pendulum")
    found = AdamsStepper(Adams(10), mbdae.UnderlyingODE(s), mbdae.assemble(s), 1.0, 1e-6, np.full(s.nq + s.nv, 1e-8))
    found.run.weights.q[:], found.run.weights.v[:] = 1.0, 1.0
    return found


def after(stepper, status, h=0.1, above=np.inf, **memory):
    """Order and ratio of the next step, after one with this memory and this error of the next higher order."""
    run, m = stepper.run, stepper.run.memory
    for name, value in ({"rising": 0, "lower": 0, "steady": 9, "present": 0.25, "below": 1.0} | memory).items():
        setattr(m, name, value)
    m.order = m.used
    if m.used < MAX_ORDER:
        run.differences.q[m.end + m.used + 1] = run.differences.v[m.end + m.used + 1] = min(above, 1e3) / (abs(h) * GAMMA[m.used])
    return ratio(status, 0.5, h, run), m.order


@pytest.mark.parametrize(("memory", "expected"), [
    ({"used": 3, "rising": 1}, (2.0, 4)),  # at the start
    ({"used": 10, "rising": 1}, (1.0, 10)),  # the largest order
    ({"used": 4, "rising": 1, "lower": 1, "below": 0.25}, (1.0, 3)),
    ({"used": 4}, (1.0, 4)),
    ({"used": 4, "present": 0.25 / 1.19**5}, (1.0, 4)),
    ({"used": 4, "present": 0.25 / 1.5**5}, (1.5, 4)),
    ({"used": 4, "present": 0.25 * 1.25**5}, (0.8, 4)),
    ({"used": 4, "present": 1e-9}, (2.0, 4)),
    ({"used": 4, "present": 1e2, "below": 2e2}, (0.5, 4)),
    ({"used": 4, "above": 0.25 / 1.5**6}, (1.5, 5)),
    ({"used": 4, "above": 0.25 / 1.5**6, "steady": 1}, (1.0, 4)),  # too early
    ({"used": 4, "below": 0.25 / 1.5**4}, (1.5, 3)),
    ({"used": 4, "below": 0.2, "above": 0.1}, (1.0, 5)),
    ({"used": 1, "below": 0.0, "above": 0.2}, (1.0, 1)),  # twice as small at least
    ({"used": 1, "below": 0.0, "above": 0.25 / 1.5**3}, (1.5, 2)),
    ({"used": 10, "above": 1e-9}, (1.0, 10))])
def test_the_order_follows_the_errors(stepper, memory, expected):
    found = after(stepper, GOOD, **memory)
    assert found == (pytest.approx(expected[0]), expected[1])
    if found[1] <= memory["used"]:
        assert stepper.run.memory.steady == (0 if found[1] < memory["used"] else memory.get("steady", 9) + 1)


def test_after_rejected_steps(stepper):
    m = stepper.run.memory
    assert after(stepper, ERROR_TEST, used=6, rising=1, present=0.25 * 2.0**7) == (pytest.approx(0.5), 6)
    assert not m.rising and m.failures == 1
    assert after(stepper, ERROR_TEST, used=6, lower=1, below=0.25 * 2.0**6, present=1e9) == (pytest.approx(0.5), 5)
    assert after(stepper, ERROR_TEST, used=5, present=0.3) == (0.25, 1)  # the third one
    assert after(stepper, GOOD, used=1)[1] == 1 and m.failures == 0
    assert after(stepper, ERROR_TEST, used=5, present=0.3) == (0.8, 5)
    assert after(stepper, ERROR_TEST, used=5, present=1e9) == (0.25, 5)


def test_steps_of_fixed_length_have_a_fixed_order(stepper):
    stepper.run.clock.fixed = 1
    assert after(stepper, GOOD, used=4, present=1e9) == (1.0, 4)


@pytest.mark.parametrize("h", (0.4, -0.4))
def test_errors_of_neighbouring_orders(stepper, h):
    """After uneven steps."""
    run, m, k, rng = stepper.run, stepper.run.memory, 5, np.random.default_rng(3)
    m.order, m.known, m.since[:13] = k, 13, np.sign(h) * NODES
    put_coefficients(h, m)
    ahead = np.cumprod(np.r_[1.0, np.arange(1, k + 1) * abs(h) / (abs(h) + NODES[:k])])  # over equal steps
    phi = {name: rng.standard_normal((k, getattr(run.change, name).size)) for name in "qv"}
    for name, rows in phi.items():
        getattr(run.differences, name)[m.at:m.at + k] = rows / m.beta[:k, None]
        getattr(run.change, name)[:] = 0.1 * rows[0]
    error, n = estimate(h, run), sum(x.shape[1] for x in phi.values())
    sizes = [abs(h) * np.sqrt(sum(((0.1 * x[0] + x[k - j:].sum(axis=0)) ** 2).sum() for x in phi.values()) / n) for j in range(3)]
    assert error == pytest.approx(sizes[0] * (m.g[k - 1] - m.g[k]))
    present, below, further = (sizes[j] * ahead[k - j] * GAMMA[k - 1 - j] for j in range(3))
    assert (m.present, m.below) == (pytest.approx(present), pytest.approx(below))
    assert m.lower == (max(below, further) <= present)


@pytest.mark.parametrize(("k", "errors", "expected"), [
    (2, (0.49, 1.0), 1), (2, (0.51, 1.0), 0), (3, (0.9, 0.9, 1.0), 1), (3, (1.1, 0.9, 1.0), 0), (3, (0.9, 1.1, 1.0), 0),
    (4, (1.1, 0.9, 1.0), 0), (4, (0.95, 0.95, 1.0), 1), (1, (1.0,), 0)])
def test_whether_a_lower_order_is_better(stepper, k, errors, expected):
    """Of order `k - 1` half the error for `k = 2`, otherwise both of the orders below at most that of order `k`; after uneven steps."""
    run, m, n = stepper.run, stepper.run.memory, len(errors)
    m.order, m.known, m.since[:13] = k, 13, NODES
    put_coefficients(0.4, m)
    ahead = np.cumprod(np.r_[1.0, np.arange(1, k + 1) * 0.4 / (0.4 + NODES[:k])])
    sizes = np.array(errors) / (ahead[k - n + 1:] * GAMMA[k - n:k])
    for x, rows in ((run.change.q, run.differences.q), (run.change.v, run.differences.v)):
        x[:] = sizes[-1]
        for j in range(1, n):
            rows[m.at + k - j] = (sizes[-1 - j] - sizes[-j]) / m.beta[k - j]
    assert estimate(0.4, run) == pytest.approx(0.4 * sizes[-1] * (m.g[k - 1] - m.g[k]))
    assert (m.present, m.lower) == (pytest.approx(0.4), expected)
    assert m.below == pytest.approx(0.4 * errors[-2] if n > 1 else 0.0)


def test_a_few_steps():
    """Of a pendulum on a driven arm; those of fixed length have their order at once."""
    s = system("driven pendulum")
    exact = run(s, DormandPrince(), (0.0, 0.05), rtol=1e-12, t_eval=[0.05])
    for method, tolerance in ((Adams(4, fixed_step=0.01), 3e-9), (Adams(2, fixed_step=0.01), 3e-6), (Adams(), 1e-6)):
        found = run(s, method, (0.0, 0.05), rtol=1e-5, t_eval=[0.05])
        assert np.abs(found.q - exact.q).max() < tolerance and np.abs(found.a - exact.a).max() < 1e3 * tolerance
        assert violations(s, found).max() < 1e-12
        assert 0 <= found.statistics.factorisations - found.statistics.steps <= 8 and found.statistics.solves >= 2 * found.statistics.steps


# --- orders --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("driven pendulum", "bricard"), CASES))
@pytest.mark.parametrize("k", (1, 2, 3, 4))
def test_observed_orders_of_positions_velocities_and_multipliers(name, k):
    """That of the corrector, `k + 1`; found within 0.1, and 0.21 where parts of the error cancel in long steps."""
    (t_end, numbers), finer = CASES[name].spans[5], 1
    cancel = name == "spatial-four-bar" and k % 2 == 1
    if name == "spatial-four-bar":
        finer = 12 if cancel else 8
    rows = np.array([(t_end / n, *distances(name, t_end, Adams(k, fixed_step=t_end / n))) for n in np.multiply(numbers, finer)])
    slopes = np.array([np.polyfit(np.log(rows[:, 0]), np.log(x), 1)[0] for x in rows[:, 1:].T])
    assert np.abs(slopes[np.isfinite(slopes)] - (k + 1)).max() < (0.25 if cancel else 0.12), (slopes, rows)


@pytest.mark.parametrize(("k", "expected"), [(2, 3), (4, 5)])
def test_dense_output_has_the_order_of_the_corrector(k, expected):
    s, t_end = system("double-spherical-pendulum"), 1.0
    times = np.linspace(0.0, t_end, 141)[1:-1]
    exact = run(s, DormandPrince(fixed_step=t_end / 400), (0.0, t_end), t_eval=times)
    found, numbers = [], np.array((100, 140, 200, 280))
    for n in numbers:
        q, v, _, lam = run(s, Adams(k, fixed_step=t_end / n), (0.0, t_end), dense_output=True).sol(times)
        found.append([np.sqrt(np.mean((x - y) ** 2)) for x, y in ((q, exact.q), (v, exact.v), (lam, exact.lam))])
    slopes = np.polyfit(np.log(t_end / numbers), np.log(np.array(found)), 1)[0]
    assert min(slopes) > expected - 0.3, (slopes, found)


def test_steps_of_fixed_length_begin_with_derivatives_before_the_start():
    """The first step has the order of the others, also backward in time and with a shorter last step."""
    s, exact = system("driven pendulum"), run(system("driven pendulum"), span=(0.3, 0.0), rtol=1e-12, t_eval=[0.2, 0.0])
    found = run(s, Adams(6, fixed_step=0.011), (0.3, 0.0), t_eval=[0.2, 0.0])
    assert np.abs(found.q - exact.q).max() < 1e-9 and found.statistics.steps == 28


# --- states --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("bricard", "driven pendulum", "random-tree"), CASES))
@pytest.mark.parametrize("rtol", (1e-2, 1e-5, 1e-9))
def test_every_step_ends_on_the_constraints_with_the_equations_of_motion_satisfied(name, rtol):
    """Violations at rounding; accelerations and multipliers, which are found by corrections, below a hundredth of the tolerance."""
    s = system(name)
    found = run(s, Adams(), (0.0, 0.5), rtol=rtol)
    phi, velocity, acceleration, motion = violations(s, found)
    assert phi < 5e-14 and velocity < 5e-14
    assert max(acceleration, motion) < 0.01 * rtol + 5e-14


@pytest.mark.parametrize("name", ["andrews", "spatial-four-bar", "stewart-platform", "slider-crank"])
@pytest.mark.parametrize("rtol", [1e-1, 1e-2, 1e-5])
def test_projections_by_factors_of_the_predicted_state_reach_rounding(name, rtol):
    """Long steps, whose predicted state is far from the corrected one, too."""
    found = run(library.system(name), Adams(), (0.0, 0.05), rtol=rtol, atol=rtol)
    scale = 1.0 + np.array([np.abs(x).max() for x in (found.q, found.v)])
    assert (found.constraint_residuals[1:, :2].max(axis=0) < 1e-14 * scale).all()


# --- errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thorough_but(("double-pendulum", "car-axis"), ("double-pendulum", "car-axis", "andrews", "heavy-top",
                                                                              "bricard", "random-tree", "slider-crank-free", "ladder")))
def test_errors_follow_the_tolerance(name):
    """Found: at most 50 tolerances."""
    s, t_end = library.system(name), {"andrews": 0.03, "random-tree": 0.5}.get(name, 1.0)
    exact = run(s, DormandPrince(), (0.0, t_end), rtol=1e-13, t_eval=np.linspace(0.0, t_end, 21))
    found = []
    for k in range(3, 11):
        x = run(s, Adams(), (0.0, t_end), rtol=10.0**-k, t_eval=exact.t)
        found.append(max(np.abs(a - b).max() / (np.abs(b).max() + 0.01) for a, b in ((x.q, exact.q), (x.v, exact.v))))
    assert max(np.array(found) * 10.0 ** np.arange(3, 11)) < 100.0, found
    assert all(b < max(a, 3.0 * 10.0**-k) for a, b, k in zip(found, found[1:], range(4, 11))), found  # the error may change its sign


@pytest.mark.parametrize("rtol", (1e-5, 1e-7, 1e-9))
def test_a_kink_costs_few_evaluations_and_no_accuracy(rtol):
    """A ball that falls onto an elastic floor from many heights, so that the kink lies anywhere in a step."""
    errors, work = [], []
    for height in np.linspace(0.2, 0.7, 40):
        found = mbdae.solve(ball(height), Adams(), (0.0, fallen(height)[0] + CONTACT), rtol=rtol, atol=rtol / 100.0)
        assert found.success, found.message
        errors.append(error_in_tolerances(found, height, rtol))
        work.append(found.statistics.residuals)
    assert max(errors) < 30.0 and np.median(errors) < 1.0, errors
    assert np.mean(work) < {1e-5: 120, 1e-7: 150, 1e-9: 190}[rtol]


def test_a_local_error_is_a_share_of_the_tolerances():
    """The same bits as with tolerances that are as much smaller."""
    s = library.system("double-pendulum")
    one, shared = (run(s, Adams(local_error=x), (0.0, 0.5), rtol=r, atol=r / 100) for x, r in ((1.0, 2.0**-16), (0.25, 2.0**-14)))
    assert (one.t == shared.t).all() and (one.q == shared.q).all()


# --- steps and output ------------------------------------------------------------------------------------------------------


def test_work_of_a_step():
    """Two evaluations and one factorisation; a rejected step costs one of both, or two where the projection changes too much."""
    c = run(library.system("andrews"), Adams(), (0.0, 0.03), rtol=1e-6).statistics
    assert c.rejected_error > 0 == c.rejected_newton == c.jacobians == c.newton_iterations
    assert 2 <= c.residuals - 2 * c.steps - c.rejected_error <= 2 + c.rejected_error
    assert c.factorisations <= 2 + 1.02 * c.steps + c.rejected_error
    explicit = run(library.system("andrews"), DormandPrince(), (0.0, 0.03), rtol=1e-8).statistics
    assert run(library.system("andrews"), Adams(), (0.0, 0.03), rtol=1e-8).statistics.factorisations < 0.5 * explicit.factorisations


def test_the_order_rises_to_its_bound():
    s = library.system("double-pendulum")
    steps = [run(s, Adams(k), (0.0, 1.0), rtol=1e-8).statistics.steps for k in (1, 2, 4, 8, 12)]
    assert steps[0] > 4 * steps[1] > 8 * steps[2] and steps[2] > steps[3] >= 0.8 * steps[4], steps


@pytest.mark.parametrize("name", ("double-pendulum", "andrews"))
def test_steps_join_in_dense_output(name):
    """Positions and velocities at both sides of the end of each step, with the derivative of the position."""
    s, t_end = library.system(name), 0.02
    found = run(s, Adams(), (0.0, t_end), rtol=1e-4, dense_output=True)
    t = found.t[1:-1]
    for k, known in ((0, found.q[1:-1]), (1, found.v[1:-1])):
        for side in (-1e-9, 1e-9):
            np.testing.assert_allclose(found.sol(t + side * t_end)[k], known, atol=2e-8 * max(1.0, np.abs(found.a).max() * t_end))


@pytest.mark.parametrize("span", [(0.0, -0.7), (-2.3, -1.6), (5.0, 4.1)])
def test_other_starts_and_backward_in_time(span):
    s = system("driven pendulum")
    state, times = mbdae.assemble(s, t=span[0]), np.linspace(*span, 11)
    exact = run(s, DormandPrince(), span, rtol=1e-12, state=state, t_eval=times)
    found = run(s, Adams(), span, rtol=1e-7, state=state, t_eval=times)
    assert np.abs(found.q - exact.q).max() < 1e-6 and np.abs(found.v - exact.v).max() < 1e-5


def test_stored_rows_do_not_change_the_run():
    s, times = library.system("bricard"), np.linspace(0.0, 1.0, 17)
    plain, evaluated, dense = run(s, Adams(), rtol=1e-6), run(s, Adams(), t_eval=times), run(s, Adams(), dense_output=True)
    assert (plain.q[-1] == evaluated.q[-1]).all() and (plain.t == dense.t).all() and (plain.q == dense.q).all()
    q, v, a, lam = dense.sol(times)
    for one, two in ((q, evaluated.q), (v, evaluated.v), (a, evaluated.a), (lam, evaluated.lam)):
        np.testing.assert_allclose(one, two, atol=1e-9 * (1.0 + np.abs(two).max()))


# --- what is refused, and failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", (0, 13, 2.0, True, "5", None))
def test_an_order_out_of_bounds_is_named(order):
    with pytest.raises(ValueError, match="Adams: max_order must be an integer from 1 to 12"):
        Adams(order)


@pytest.mark.parametrize("field", ("first_step", "fixed_step", "max_step", "max_steps", "local_error"))
def test_a_parameter_out_of_bounds_is_named(field):
    with pytest.raises(ValueError, match=f"Adams: {field}"):
        Adams(**{field: -1.0})


def test_what_it_does_not_take():
    s = library.system("double-pendulum")
    with pytest.raises(ValueError, match="'ode' is that form"):
        mbdae.solve(s, Adams(), (0.0, 0.1), formulation="ggl")
    with pytest.raises(ValueError, match="Adams: atol must be positive"):
        mbdae.solve(s, Adams(), (0.0, 0.1), atol=0.0)
    with pytest.raises(ValueError, match="Adams: it projects onto the constraints"):
        mbdae.solve(mbdae.UnderlyingODE(s, alpha=1.0, beta=1.0), Adams(), (0.0, 0.1))
    assert [Adams().label, Adams(4).label, Adams(4, fixed_step=0.01).label] == ["Adams", "Adams(4)", "Adams(4, fixed_step=0.01)"]


def test_stiff_equations_are_named():
    found = mbdae.solve(library.system("flexible-slider-crank"), replace(Adams(), max_steps=2000), (0.0, 1.0), rtol=1e-3)
    assert found.status is Status.TOO_MANY_STEPS and "the equations seem to be stiff" in found.message


def test_equations_that_are_not_stiff_are_not_called_so():
    for name in ("andrews", "heavy-top", "ladder", "hmmwv"):
        found = mbdae.solve(library.system(name), replace(Adams(), max_steps=120), (0.0, 10.0), rtol=1e-6)
        assert found.status is Status.TOO_MANY_STEPS and "stiff" not in found.message, found.message
