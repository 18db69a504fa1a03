"""Coefficients of the implicit methods: order conditions, stability, the printed tables, observed orders, forms that must agree."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

from mbdae.integrators.state_space.rosenbrock_tableau import ROSENBROCK_NYSTROM_4, RosenbrockTableau
from mbdae.integrators.state_space.sdirk_tableau import SDIRK_4_15, SDIRK_4_16, _conditions

ROS = ROSENBROCK_NYSTROM_4
SDIRKS = pytest.mark.parametrize("sdirk", [SDIRK_4_16, SDIRK_4_15], ids=lambda m: m.name)
METHODS = pytest.mark.parametrize("method", [SDIRK_4_16, SDIRK_4_15, ROS], ids=lambda m: m.name)
INSIDE = (0.15, 0.4, 0.8)


def implicit(method):
    """The matrix of the linear part: `A`, or `A + E` of a Rosenbrock method."""
    return method.A + getattr(method, "E", 0.0)


def trees(method):
    """Order, density and elementary weights of the stages for the eight rooted trees with up to four nodes.

    An edge to an only child counts with the matrix of the linear part, any other with `A`.
    """
    A, B = method.A, implicit(method)
    a, beta = A.sum(axis=1), B.sum(axis=1)
    return [(1, 1, a**0), (2, 2, beta), (3, 3, a**2), (3, 6, B @ beta),
            (4, 4, a**3), (4, 8, a * (A @ beta)), (4, 12, B @ a**2), (4, 24, B @ B @ beta)]


def defects(method, weights, order, theta=1.0):
    """What is missing in the conditions of one order."""
    return np.array([weights @ phi - theta**r / density for r, density, phi in trees(method) if r == order])


# --- order conditions ----------------------------------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_method_has_order_four(method, order):
    np.testing.assert_allclose(defects(method, method.b, order), 0.0, atol=4e-15)


@SDIRKS
def test_formulas_of_users_are_judged_by_the_conditions_of_all_trees(sdirk):
    """Order, density and weights of each tree in the check of `extend.sdirk`, which has them in fractions."""
    for (order, density, phi), expected in zip(_conditions(sdirk.A), trees(sdirk), strict=True):
        assert (order, density) == expected[:2]
        np.testing.assert_allclose(phi, expected[2], atol=1e-13)


@METHODS
def test_the_embedded_formula_has_order_three_and_no_more(method):
    for order in (1, 2, 3):
        np.testing.assert_allclose(defects(method, method.b_hat, order), 0.0, atol=4e-15)
    assert np.abs(defects(method, method.b_hat, 4)).min() > 5e-3


@SDIRKS
@pytest.mark.parametrize("theta", INSIDE)
def test_dense_output_has_order_three_inside_the_step(sdirk, theta):
    weights = sdirk.dense @ theta ** np.arange(1, 5)
    for order in (1, 2, 3):
        np.testing.assert_allclose(defects(sdirk, weights, order, theta), 0.0, atol=2e-14)
    missing = np.abs(defects(sdirk, weights, 4, theta))
    assert missing[0] < 2e-14 < 1e-4 < missing[1:].max()


@SDIRKS
def test_dense_output_ends_in_the_solution(sdirk):
    for polynomials, end in ((sdirk.dense, sdirk.b), (sdirk.dense_position, sdirk.bA), (sdirk.dense_z, sdirk.d)):
        np.testing.assert_allclose(polynomials.sum(axis=1), end, rtol=0.0, atol=1e-12)


def test_simplified_conditions_of_the_rosenbrock_method():
    """[Negrut, eqs. (4.55)-(4.62), (4.64), (4.66)-(4.68)], stages counted from zero."""
    e, b, A, B = ROS.e, ROS.b, ROS.A, ROS.A + ROS.E
    a, beta = A.sum(axis=1), B.sum(axis=1) - e
    last = B[3, 1] * beta[1] + B[3, 2] * beta[2]
    left = [b.sum(), b @ beta, b @ a**2, b[2] * B[2, 1] * beta[1] + b[3] * last, b @ a**3, (b * a) @ (A @ beta),
            b[2] * B[2, 1] * a[1] ** 2 + b[3] * (B[3, 1] * a[1] ** 2 + B[3, 2] * a[2] ** 2), b[3] * B[3, 2] * B[2, 1] * beta[1],
            (beta[1] * a[3] ** 2 - beta[3] * a[1] ** 2) * B[2, 1] * beta[1], a[2], b[3] * B[3, 2] * a[2] ** 2 * (a[2] - a[1]), b[2], a[1]]
    right = [1, 1 / 2 - e, 1 / 3, 1 / 6 - e + e**2, 1 / 4, 1 / 8 - e / 3, 1 / 12 - e / 3, 1 / 24 - e / 2 + 1.5 * e**2 - e**3,
             (beta[1] * a[2] ** 2 - beta[2] * a[1] ** 2) * last, (1 / 5 - a[1] / 4) / (1 / 4 - a[1] / 3),
             1 / 20 - e / 4 - a[1] * (1 / 12 - e / 3), 0, 2 * e]
    np.testing.assert_allclose(left, right, rtol=0.0, atol=4e-15)


# --- structure and stability ---------------------------------------------------------------------------------------------


@SDIRKS
def test_structure_of_the_sdirk_formulas(sdirk):
    assert np.array_equal(sdirk.A, np.tril(sdirk.A)) and (np.diag(sdirk.A) == sdirk.gamma).all()
    assert np.array_equal(sdirk.b, sdirk.A[-1]) and sdirk.b_hat[-1] == 0.0 and sdirk.c[-1] == 1.0


def test_structure_of_the_rosenbrock_method():
    assert np.array_equal(ROS.A[2], ROS.A[3])  # one evaluation of f serves two stages
    for rows in (ROS.w, ROS.t, ROS.c, ROS.d):
        assert np.array_equal(rows, np.tril(rows, -1)) and rows.any()


@METHODS
def test_arrays_are_ready_for_compiled_code(method):
    names = ["A", "b", "b_hat"] + (["c", "dense", "error", "AA", "bA", "error_A", "dense_position", "d", "d_error", "dense_z", "start"]
             if method is not ROS else ["E", "w", "c", "d", "t", "s", "s_error", "p", "p_error", "e_sum", "a_sum"])
    for name in names:
        array = getattr(method, name)
        assert array.dtype == np.float64 and array.flags.c_contiguous and array.flags.writeable, name


@METHODS
def test_stability_function_is_the_one_of_its_order_and_poles(method):
    """A numerator of degree four and the poles fix it: it is the beginning of the series of `(1 - gamma z)^s exp z`."""
    gamma, s = implicit(method)[0, 0], len(method.b)
    power = np.polynomial.polynomial.polypow([1.0, -gamma], s)
    numerator = np.polynomial.polynomial.polymul(power, [1, 1, 1 / 2, 1 / 6, 1 / 24])[:5]
    z = np.array([[0.3, -2.0, 5j], [-40.0 + 30j, 2.0 - 1j, 0.0]])
    np.testing.assert_allclose(method.stability(z), np.polynomial.polynomial.polyval(z, numerator) / (1.0 - gamma * z) ** s, rtol=1e-12)
    limit = numerator[4] / gamma**4 if s == 4 else 0.0  # degree five in the denominator makes it vanish
    np.testing.assert_allclose(method.stability_at_infinity(), limit, rtol=1e-6, atol=0.0)


@METHODS
def test_stability_on_the_imaginary_axis_and_at_infinity(method):
    """All poles are at `1/gamma > 0`, so the axis decides on the whole left half plane."""
    assert implicit(method)[0, 0] > 0.0
    assert np.abs(method.stability(1j * np.logspace(-3, 9, 4001))).max() < 1.0 + 1e-12
    assert abs(method.stability_at_infinity()) < (1e-8 if method is ROS else 1e-300)


# --- the printed tables --------------------------------------------------------------------------------------------------


def test_printed_dense_output_of_sdirk_4_16():
    """[Negrut, eq. (4.12)]."""
    rows = ["11/3 -463/72 217/36 -20/9", "11/2 -385/16 661/24 -10", "-125/18 20125/432 -8875/216 250/27", "0 -85/4 85/6 0",
            "-11/9 557/108 -359/54 80/27"]
    np.testing.assert_array_equal(SDIRK_4_16.dense, [[float(Fraction(x)) for x in row.split()] for row in rows])


def test_printed_error_weights_of_sdirk_4_15():
    """[Negrut, eq. (4.87)]."""
    printed = "-7752107607/11393456128 17881415427/11470078208 -2433277665/179459416 96203066666797/6212571137048 1"
    np.testing.assert_array_equal(SDIRK_4_15.d_error, [float(Fraction(x)) for x in printed.split()])


def test_printed_dense_output_of_sdirk_4_15():
    """[Negrut, section 4.5.1]."""
    printed = [[24.74416644927758, -4.325375951824688, 41.39683763286316, -61.04144619901784, -3.391332232917013],
               [-51.98245719616925, 10.52501981094525, -154.2067922191855, 214.3082125319825, 14.71166018088679],
               [33.14347947522142, -19.72986789558523, 230.4878502285804, -287.6629744338197, -18.99932366302254],
               [-5.905188728329743, 13.53022403646467, -117.6778956422581, 134.3962081008550, 8.678995715052762]]
    np.testing.assert_allclose(SDIRK_4_15.dense_z.T, printed, rtol=1e-13)  # the printed ones carry the rounding of their own computation


def test_printed_coefficients_of_the_rosenbrock_method():
    """[Negrut, eqs. (4.72)-(4.81)] with the misprints put right."""
    printed = {
        "w": [2.0,  # printed as 0.2
              1.86794814949823713234476, 0.234445568517238850023220, 1.86794814949823713234476, 0.234445568517238850023220, 0.0],
        "c": [-7.13764994334997983036926, 2.58092366650965771448805, 0.651629887302032023387417, -2.13711526650661911680637,
              -0.321469531339951070769241, -0.694966049282445225157329],
        "d": [-1.19636100711201394917052, 1.47028025440978071463387, 0.348105837679204490016704,
              0.003765094355556165798974,  # printed with a fifth 5
              -0.109762486758103255675398, -0.228031035973133829477744],
        "t": [1.14563212, 0.789509162815638629626980, 0.134294186842504800149232, 0.789509162815638629626980, 0.134294186842504800149232,
              0.0],
        "s": [2.25556622860456524372884, 0.287055063194157607662630, 0.435311963379983213402707, 1.09350765640324780321482],
        "s_error": [0.187167068076981509470170, 0.048373711126624809706137, 0.071938617944591505140960, 0.726950528467092658905657],
        "p": [1.59275081940958534207490, 0.195938266310250609693329, 0.0, 0.626378747320742177841171],
        "p_error": [0.15784684756137586944780, -0.027040406278447759351824, -0.124559686414702049774897, 0.416408937531437856529265],
        "e_sum": [0.57281606, -1.76917706711201394917052, 0.759293964293209853670967, -0.104894621490955803206743],
        "a_sum": [0.0, 1.14563212, 0.655214975973133829477748, 0.655214975973133829477748],  # numbers 2 to 4, printed as 1 to 3
    }
    for name, values in printed.items():
        ours = getattr(ROS, name)
        ours = ours[np.tril_indices(4, -1)] if ours.ndim == 2 else ours
        np.testing.assert_allclose(ours, values, rtol=2e-15, atol=5e-16, err_msg=name)


@pytest.mark.parametrize(("matrix", "entry"), [("E", (0, 1)), ("E", (2, 2)), ("A", (1, 1)), ("A", (0, 3))])
def test_a_rosenbrock_method_with_matrices_of_another_form_is_refused(matrix, entry):
    changed = {"E": ROS.E.copy(), "A": ROS.A.copy()}
    changed[matrix][entry] = 0.7
    with pytest.raises(ValueError, match=f"mine: {matrix} must be"):
        RosenbrockTableau("mine", b=ROS.b, b_hat=ROS.b_hat, **changed)


# --- forms that must agree -----------------------------------------------------------------------------------------------


@SDIRKS
def test_increments_positions_and_slopes_give_the_same(sdirk):
    rng = np.random.default_rng(1)
    x, h = rng.normal(size=(5, 3)), 0.3
    v = rng.normal(size=3) + h * sdirk.A @ x  # slopes of the positions, if x are those of the velocities
    z, v0 = h * sdirk.A @ v, v[0] - h * sdirk.gamma * x[0]
    np.testing.assert_allclose(z, h * sdirk.c[:, None] * v0 + h**2 * sdirk.AA @ x, rtol=0.0, atol=1e-14)
    for weights, position, increment in ((sdirk.b, sdirk.bA, sdirk.d), (sdirk.error, sdirk.error_A, sdirk.d_error),
                                         (sdirk.dense.T, sdirk.dense_position.T, sdirk.dense_z.T)):
        expected, drift = h * weights @ v, np.multiply.outer(weights.sum(axis=-1), h * v0)
        np.testing.assert_allclose(increment @ z, expected, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(drift + h**2 * position @ x, expected, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sdirk.error, sdirk.b - sdirk.b_hat, rtol=0.0, atol=1e-15)


@SDIRKS
def test_the_derivative_at_the_start_follows_from_the_stages(sdirk):
    """For `1`, `c`, `c^2`, `A c`, by increments of least norm."""
    conditions = np.array([np.ones(5), sdirk.c, sdirk.c**2, sdirk.A @ sdirk.c])
    np.testing.assert_allclose(conditions @ sdirk.begin, [1.0, 0.0, 0.0, 0.0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sdirk.begin_z @ sdirk.A, sdirk.begin, rtol=0.0, atol=1e-13)
    free = null_space(conditions @ sdirk.A.T)
    assert free.shape == (5, 1) and np.abs(sdirk.begin_z @ free).max() < 1e-11


@SDIRKS
def test_starting_values_end_in_the_embedded_formula(sdirk):
    assert np.array_equal(sdirk.start, np.tril(sdirk.start, -1))
    np.testing.assert_allclose(sdirk.start[-1] @ sdirk.A, sdirk.b_hat, rtol=0.0, atol=1e-14)


# --- observed orders on a second-order problem ---------------------------------------------------------------------------


Y0, V0, END = np.array([0.4, -0.7]), np.array([0.9, 0.3]), 1.2


def force(t, y, v):
    return np.array([np.cos(2 * t) * y[1] - np.sin(2 * y[0]) - 0.4 * v[0] * (1 + y[1] ** 2),
                     np.exp(-t) * v[0] - 2 * y[1] + 0.5 * y[0] * v[1] - 0.3 * v[0] ** 2])


def linearised(t, y, v):
    """Derivatives of `force` with respect to `t`, `y`, `v`, by the complex step."""
    point = np.concatenate([[t], y, v])
    J = np.array([force(x[0], x[1:3], x[3:]).imag for x in point + 1e-30j * np.eye(5)]).T / 1e-30
    return J[:, 0], J[:, 1:3], J[:, 3:]


def sdirk_stages(sdirk, t, h, y, v):
    """Accelerations of the stages, by Newton's method [Negrut, eqs. (3.63)-(3.71)]."""
    x = np.zeros((5, 2))
    for i in range(5):
        for _ in range(12):
            Y, V = y + h * sdirk.c[i] * v + h**2 * sdirk.AA[i] @ x, v + h * sdirk.A[i] @ x
            _, J1, J2 = linearised(t + sdirk.c[i] * h, Y, V)
            residual = x[i] - force(t + sdirk.c[i] * h, Y, V)
            x[i] -= np.linalg.solve(np.eye(2) - h * sdirk.gamma * J2 - (h * sdirk.gamma) ** 2 * J1, residual)
        assert np.abs(residual).max() < 1e-13
    return x


def sdirk_step(sdirk, t, h, y, v):
    """`y1`, `y1'` and their error estimates."""
    x = sdirk_stages(sdirk, t, h, y, v)
    return y + h * v + h**2 * sdirk.bA @ x, v + h * sdirk.b @ x, h**2 * sdirk.error_A @ x, h * sdirk.error @ x


def rosenbrock_step(m, t, h, y, v):
    """The method for equations of first order, on `(y, y')` [Negrut, eq. (4.19)]."""
    f_t, J1, J2 = linearised(t, y, v)
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [J1, J2]])
    k, w = np.zeros((4, 4)), np.concatenate([y, v])
    for i in range(4):
        W = w + m.A[i] @ k
        f = np.concatenate([W[2:], force(t + h * m.A[i].sum(), W[:2], W[2:])])
        right = h * f + h**2 * m.E[i].sum() * np.concatenate([np.zeros(2), f_t]) + h * J @ (m.E[i] @ k)
        k[i] = np.linalg.solve(np.eye(4) - h * m.E[i, i] * J, right)
    w1, error = w + m.b @ k, (m.b - m.b_hat) @ k
    return w1[:2], w1[2:], error[:2], error[2:]


def nystrom_step(m, t, h, y, v):
    """The form for equations of second order [Negrut, eqs. (4.49)-(4.53)]."""
    f_t, J1, J2 = linearised(t, y, v)
    S = np.eye(2) - h * m.e * J2 - (h * m.e) ** 2 * J1
    u = np.zeros((4, 2))
    for i in range(4):
        f = force(t + h * m.a_sum[i], y + h * m.a_sum[i] * v + h * m.t[i] @ u, v + m.w[i] @ u)
        right = h * f + h**2 * m.e_sum[i] * (f_t + J1 @ v) + m.c[i] @ u + h**2 * J1 @ (m.d[i] @ u)
        u[i] = np.linalg.solve(S, m.e * right)
    return y + h * v + h * m.p @ u, v + m.s @ u, h * m.p_error @ u, m.s_error @ u


def slope(errors):
    """Observed order of errors at steps that are halved."""
    return -np.polyfit(np.arange(len(errors)), np.log2(errors), 1)[0]


@pytest.fixture(scope="module")
def exact():
    """The motion as a function of time, from an explicit method of order 8."""
    return solve_ivp(lambda t, w: np.concatenate([w[2:], force(t, w[:2], w[2:])]), (0.0, END), np.concatenate([Y0, V0]), method="DOP853",
                     rtol=1e-13, atol=1e-14, max_step=0.02, dense_output=True).sol


@pytest.mark.parametrize("h", [0.02, 0.3, 2.0])
def test_the_nystrom_form_is_the_rosenbrock_method(h):
    for ours, theirs in zip(nystrom_step(ROS, 0.2, h, Y0, V0), rosenbrock_step(ROS, 0.2, h, Y0, V0)):
        assert np.abs(theirs).max() > 1e-9
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=4e-15)


def errors_at_the_end(step, method, embedded, exact):
    """Errors of positions and velocities at the end of the time span, with one more halving of the step in each row."""
    errors = []
    for n in (12, 24, 48, 96):
        y, v, h = Y0, V0, END / n
        for k in range(n):
            y, v, y_error, v_error = step(method, k * h, h, y, v)
            if embedded:
                y, v = y - y_error, v - v_error
        errors.append([np.linalg.norm(y - exact(END)[:2]), np.linalg.norm(v - exact(END)[2:])])
    return np.array(errors)


@METHODS
@pytest.mark.parametrize("embedded", [False, True])
def test_observed_orders(method, embedded, exact):
    errors = errors_at_the_end(nystrom_step if method is ROS else sdirk_step, method, embedded, exact)
    order = 3 if embedded else 4
    for column in errors.T:
        assert order - 0.2 < slope(column) < order + 0.5


STEPS = 0.2 / 2.0 ** np.arange(5)


@SDIRKS
@pytest.mark.parametrize("theta", [*INSIDE, 1.0])
def test_observed_orders_of_dense_output(sdirk, theta, exact):
    """Errors after one step: one order more than that of the method."""
    positions, velocities = sdirk.dense_position @ theta ** np.arange(1, 5), sdirk.dense @ theta ** np.arange(1, 5)
    errors = []
    for h in STEPS:
        x, sol = sdirk_stages(sdirk, 0.0, h, Y0, V0), exact(theta * h)
        errors.append([np.linalg.norm(Y0 + theta * h * V0 + h**2 * positions @ x - sol[:2]),
                       np.linalg.norm(V0 + h * velocities @ x - sol[2:])])
    expected = 5 if theta == 1.0 else 4
    for column in np.transpose(errors):
        assert expected - 0.25 < slope(column) < expected + 0.5


@SDIRKS
@pytest.mark.parametrize(("stage", "orders"), [(1, (1, 1)), (2, (2, 2)), (3, (3, 2)), (4, (3, 3))])
def test_observed_orders_of_starting_values(sdirk, stage, orders):
    """Orders of positions and of velocities, `stage` counted from zero."""
    errors = []
    for h in STEPS:
        x = sdirk_stages(sdirk, 0.0, h, Y0, V0)
        z = np.hstack([h * sdirk.c[:, None] * V0 + h**2 * sdirk.AA @ x, h * sdirk.A @ x])
        missing = sdirk.start[stage] @ z - z[stage]
        errors.append([np.linalg.norm(missing[:2]), np.linalg.norm(missing[2:])])
    for order, column in zip(orders, np.transpose(errors)):
        assert order + 0.75 < slope(column) < order + 1.4
