"""Natural frequencies of mechanisms in motion: closed forms, brute force, published values, the steps they allow, refusals."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy.linalg import block_diag, null_space

import mbdae
from mbdae import library, studies
from mbdae.cli.main import main
from mbdae.integrators.structural.formula import CENTRAL_DIFFERENCES, FOX_GOODWIN, RULES, TRAPEZOIDAL, newmark
from mbdae.pictures.figures import save
from mbdae.results.diagnosis import ChartError
from mbdae.studies.stability import _Reduced, eigenvalues, largest_frequencies, natural_frequencies, plot_frequencies, stability_limit

from .chart_cases import case
from .helpers import GROUND, central, double_pendulum, relative, thorough_but

FOX, CENTRAL = newmark(*FOX_GOODWIN), newmark(*CENTRAL_DIFFERENCES)
G = 9.81


def frequencies(system, x=None):
    x = system.start if x is None else x
    return natural_frequencies(system, x.t, x.q, x.v, x.lam)


def hanging(n, plane=True, up=False, damping=0.0):
    """`n` equal masses on rods of 1 m below each other; `damping` turns the first about the support."""
    sign = 1.0 if up else -1.0
    masses = [mbdae.Particle(f"{k}", 1.0, (0.0, sign * k, 0.0), (0.0, 0.0, 0.0)) for k in range(1, n + 1)]
    rods = [mbdae.Rod(f"rod {k}", str(k - 1) if k > 1 else GROUND, str(k), length=1.0) for k in range(1, n + 1)]
    planes = [mbdae.CD(f"plane {k}", GROUND, str(k), (0.0, 0.0, 1.0)) for k in range(1, n + 1)] if plane else []
    forces = [mbdae.TSDA("damper", GROUND, "1", (1.0, sign, 0.0), c=damping)] if damping else []
    return mbdae.System(mbdae.Mechanism("hanging", masses, [*rods, *planes], forces=forces, gravity=(0.0, -G, 0.0)))


# --- closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_hanging_masses_have_the_zeros_of_laguerre_polynomials(n):
    expected = np.sqrt(G * np.polynomial.laguerre.lagroots([0.0] * n + [1.0]))[::-1]
    found = frequencies(hanging(n))
    assert found.dtype == float and found == pytest.approx(expected, rel=1e-12)


def test_frequencies_in_two_planes_are_pairs_and_stay_real():
    found = frequencies(hanging(3, plane=False))
    assert found.dtype == float and found == pytest.approx(np.repeat(frequencies(hanging(3)), 2), rel=1e-12)


def test_unstable_positions_have_imaginary_frequencies_and_no_limit():
    system = hanging(2, up=True)
    found = frequencies(system)
    assert found.dtype == complex and (found.real == 0.0).all()
    assert found.imag == pytest.approx(frequencies(hanging(2)), rel=1e-12)
    assert stability_limit(system, 0.0, system.start.q, system.start.v, FOX) == np.inf


def test_eigenvalues_have_the_damping():
    """A damper along the velocity: `x'' + c x' + g x = 0`."""
    for c in (0.5, 20.0):
        system = hanging(1, damping=c)
        x = system.start
        expected = sorted(np.roots([1.0, c, G]), key=lambda z: (-abs(z), -z.imag))
        assert eigenvalues(system, x.t, x.q, x.v) == pytest.approx(expected, rel=1e-12)
        assert frequencies(system) == pytest.approx([np.sqrt(G)], rel=1e-12)


def test_eigenvalues_are_the_frequencies_without_damping():
    system = hanging(2)
    w = frequencies(system)
    found = eigenvalues(system, 0.0, system.start.q, system.start.v)
    assert np.abs(found.real).max() < 1e-12 and np.sort(found.imag) == pytest.approx(np.sort([*w, *-w]), rel=1e-12)


def test_redundant_constraints_change_nothing():
    rod = mbdae.RigidBody("rod", 1.0, (0.11, 0.1, 0.2), (0.0, 0.0, -0.5), omega=(0.0, 1.0, 0.0))
    pins = [mbdae.Revolute(f"pin {k}", GROUND, "rod", (0.0, k, 0.0), (0.0, k, 0.5), (0, 1, 0), (0, 1, 0)) for k in range(2)]
    one, two = (mbdae.System(mbdae.Mechanism("rod", [rod], pins[:k], gravity=(0.0, 0.0, -G))) for k in (1, 2))
    assert not len(one.dependent) and len(two.dependent) == 5
    assert frequencies(two) == pytest.approx(frequencies(one), rel=1e-12)
    rest = mbdae.assemble(two, v=np.zeros(6))
    assert frequencies(two, rest) == pytest.approx([np.sqrt(0.5 * G / (0.1 + 0.25))], rel=1e-12)


# --- the definition, by brute force ----------------------------------------------------------------------------------------


def by_definition(s, x):
    """Eigenvalues of `M_R^-1 K_R` from dense matrices `N`, `K`, `C`, `X_p` (40) and `X_p1` (47), by difference quotients."""
    def motion(d, v, a):
        q = s.retract(x.q, d)
        return s.mass(x.t, q) @ a + s.phi_q(x.t, q).T @ x.lam - s.force(x.t, q, v, x.lam)

    def rates(d):
        q = s.retract(x.q, d)
        return s.phi_q(x.t, q) @ x.v - s.nu(x.t, q)

    def second_rates(d, v):
        q = s.retract(x.q, d)
        return s.phi_q(x.t, q) @ x.a - s.gamma(x.t, q, v)

    zero, phi_q = np.zeros(s.nv), s.phi_q(x.t, x.q).toarray()
    N, inverse = null_space(phi_q, rcond=1e-9), np.linalg.pinv(phi_q, rcond=1e-9)
    K, C = central(lambda d: motion(d, x.v, x.a), s.nv), central(lambda d: motion(zero, x.v + d, x.a), s.nv)
    X_p = -inverse @ central(rates, s.nv) @ N
    X_p1 = -inverse @ (central(lambda d: second_rates(d, x.v), s.nv) @ N + central(lambda d: second_rates(zero, x.v + d), s.nv) @ X_p)
    M = s.mass(x.t, x.q)
    return np.linalg.eigvals(np.linalg.solve(N.T @ M @ N, N.T @ (K @ N + C @ X_p + M @ X_p1)))


@pytest.mark.parametrize("name", ["double pendulum", "andrews", "particles", "chain", "top", "redundant", "rheonomic",
                                  "all elements", "functions"])
def test_frequencies_are_those_of_the_reduced_matrices(name):
    s, x = case(name)
    if s.has_friction:  # the multipliers that enter the forces move, too; see below
        s, x = frictionless(s, x)
    expected, found = by_definition(s, x), frequencies(s, x) ** 2
    assert relative(np.poly(found / np.abs(expected).max()), np.poly(expected / np.abs(expected).max())) < 1e-6
    assert np.abs(expected).max() == pytest.approx(np.abs(found[0]), rel=1e-6)


def frictionless(s, x):
    m = s.mechanism
    s = mbdae.System(replace(m, forces=[f for f in m.forces if not isinstance(f, mbdae.Friction)]))
    return s, mbdae.assemble(s, x.t, x.q, x.v)


@pytest.mark.parametrize("name", thorough_but(("friction", "all elements"), ["friction", "all elements", "wheelset"]))
def test_friction_is_in_the_stiffness_through_the_multipliers(name):
    """By difference quotients of the accelerations on the constraints, along displacements and the velocities that must follow them."""
    s, x = case(name)
    phi_q = s.phi_q(x.t, x.q).toarray()
    N, inverse = null_space(phi_q, rcond=1e-9), np.linalg.pinv(phi_q, rcond=1e-9)

    def reduced(c):
        y = mbdae.assemble(s, x.t, s.retract(x.q, N @ c), x.v)
        d, v = s.difference(y.q, x.q), x.v.copy()
        for _ in range(20):  # velocities on the constraints with nothing added along N
            v += inverse @ (s.nu(x.t, y.q) - s.phi_q(x.t, y.q) @ v)
        return N.T @ mbdae.assemble(s, x.t, y.q, v).a, N.T @ d

    h, n = 1e-5, N.shape[1]
    pairs = [(reduced(h * e), reduced(-h * e)) for e in np.eye(n)]
    A, D = (np.array([p[k] - m[k] for p, m in pairs]).T for k in range(2))
    expected = np.linalg.eigvals(-A @ np.linalg.inv(D))
    found = frequencies(s, x) ** 2
    assert relative(np.poly(found / np.abs(expected).max()), np.poly(expected / np.abs(expected).max())) < 1e-4


def test_the_chart_of_a_planar_mechanism_at_its_centre_is_the_definition():
    s, x = case("double pendulum")
    problem = mbdae.StateSpace(s, "tangent")
    y, _ = problem.pack(x)
    J = problem.rhs_jacobian(x.t, y)[2:, :2]
    assert np.sort(np.linalg.eigvals(-J)) == pytest.approx(np.sort(frequencies(s, x) ** 2), rel=1e-10)


@pytest.mark.parametrize("name", ["double pendulum", "chain", "redundant"])
def test_frequencies_do_not_depend_on_the_chart(name):
    s, x = case(name)
    reduced = _Reduced(s).at(s.start.t, s.start.q, s.start.v)
    reduced.chart.first = np.inf  # never ill-conditioned
    y = mbdae.assemble(s, x.t, x.q, x.v)
    found, expected = reduced.at(y.t, y.q, y.v).frequencies() ** 2, frequencies(s, y) ** 2
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-13 * np.abs(expected).max())


def test_planar_and_spatial_bodies_have_the_same_frequencies_in_motion():
    planar = double_pendulum(springs=False)
    bodies = [mbdae.RigidBody(b.name, b.mass, (0.7 * b.inertia, 0.8 * b.inertia, b.inertia), (*b.position, 0.0),
                              (np.cos(b.angle / 2), 0, 0, np.sin(b.angle / 2))) for b in planar.bodies]
    axis = {"a_i": (0, 0, 1), "a_j": (0, 0, 1)}
    joints = [mbdae.Revolute("top", GROUND, "upper", s_j=(-0.5, 0, 0), **axis),
              mbdae.Revolute("knee", "upper", "lower", (0.5, 0, 0), (-0.5, 0, 0), **axis)]
    spatial = mbdae.System(mbdae.Mechanism("spatial", bodies, joints, gravity=(0.0, -G, 0.0)))
    planar = mbdae.System(planar)
    v = np.array([1.0, 2.0, 3.0, -1.0, 0.5, 4.0])
    x = mbdae.assemble(planar, v=v)
    y = mbdae.assemble(spatial, v=block_diag(*[np.eye(6)[[0, 1, 5]]] * 2).T @ x.v)
    assert frequencies(spatial, y) == pytest.approx(frequencies(planar, x), rel=1e-11)
    assert not np.allclose(frequencies(planar), frequencies(planar, x), rtol=1e-2)  # the motion matters


# --- the paper's examples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", thorough_but(["cartesian"], ["cartesian", "classical"]))
def test_stiff_pendulum(coordinates):
    system = library.system("stiff-pendulum", coordinates=coordinates)
    x = system.start
    assert frequencies(system) == pytest.approx([3.1304951], abs=1e-7)
    told = {name: stability_limit(system, x.t, x.q, x.v, newmark(*rule)) for name, rule in RULES.items()}
    assert told["fox-goodwin"] == pytest.approx(0.78246, abs=1e-5) and told["central-differences"] == pytest.approx(0.6388765, abs=1e-7)
    assert told["trapezoidal"] == np.inf


@pytest.fixture(scope="module")
def andrews():
    system = library.system("andrews", start="iftomm")
    run = mbdae.solve(system, mbdae.RosenbrockNystrom(), (0.0, 0.05), rtol=1e-9, atol=1e-9, t_eval=np.linspace(0.0, 0.05, 1001))
    return system, run, *largest_frequencies(system, run)


def test_andrews_largest_frequency(andrews):
    """Below the 4503 rad/s that the paper gives, and as by its own definition at the same states; see docs/stability.md."""
    system, run, t, omega = andrews
    assert omega.max() == pytest.approx(1147.5, abs=1.0) and t[omega.argmax()] == pytest.approx(0.0443, abs=1e-4)
    for k in (200, 500, omega.argmax()):
        x = mbdae.State(t[k], run.q[k], run.v[k], run.a[k], run.lam[k])
        assert frequencies(system, x)[0] ** 2 == pytest.approx(by_definition(system, x)[0], rel=1e-5)
        assert omega[k] == pytest.approx(frequencies(system, x)[0].real, rel=1e-7, abs=1e-3)
    assert FOX.limit() / omega.max() == pytest.approx(2.134e-3, rel=1e-2)


def test_a_history_has_the_times_of_the_run(andrews):
    _, run, t, omega = andrews
    assert (t == run.t).all() and t is not run.t and omega.shape == t.shape and (omega >= 0.0).all() and (omega == 0.0).any()


def test_stiff_double_pendulum():
    system = library.system("stiff-double-pendulum")
    run = mbdae.solve(system, mbdae.RosenbrockNystrom(), (0.0, 1.0), rtol=1e-8, atol=1e-8, t_eval=np.linspace(0.0, 1.0, 51))
    _, omega = largest_frequencies(system, run)
    x = system.start
    assert frequencies(system)[0] == pytest.approx(omega[0], rel=1e-12)
    assert (omega > 730.0).all() and (omega < 805.0).all()
    assert eigenvalues(system, x.t, x.q, x.v)[0].real == pytest.approx(-1e5, rel=0.2)


@pytest.mark.thorough
def test_the_limit_is_the_step_at_which_runs_in_the_angle_become_unstable():
    """Fox-Goodwin in the angle of the stiff pendulum, Newton's method to the end, as in fig. 4."""
    system = library.system("stiff-pendulum", coordinates="classical")
    limit = stability_limit(system, 0.0, system.start.q, system.start.v, FOX)
    ends = []
    for h in (0.78, 0.79):
        x, v, a, largest = 0.0, 0.0, 0.0, 0.0
        for k in range(1, 400):
            y = x + h * v + h * h * (5.0 / 12.0) * a
            new = a
            for _ in range(50):
                new -= (new - 0.1 * np.sin(0.1 * k * h) + 9.8 * np.sin(y + h * h / 12.0 * new)) / (1 + 9.8 * h * h / 12.0)
            x, v, a = y + h * h / 12.0 * new, v + 0.5 * h * (a + new), new
            largest = max(largest, abs(x))
        ends.append(largest)
    assert 0.78 < limit < 0.79 and ends[0] < 0.1 and ends[1] > 0.3


# --- states off the constraints, methods, figures ------------------------------------------------------------------------


def test_states_slightly_off_the_constraints_are_put_right():
    system = mbdae.System(double_pendulum())
    x, rng = system.start, np.random.default_rng(1)
    noise = [1e-6 * rng.normal(size=n) for n in (system.nq, system.nv)]
    q, v = x.q + noise[0], x.v + noise[1]
    before = q.copy(), v.copy()
    assert natural_frequencies(system, 0.0, q, v) == pytest.approx(frequencies(system), rel=1e-4)
    assert (q == before[0]).all() and (v == before[1]).all()


def test_methods_are_asked_for_their_formula():
    system = hanging(1)
    x = system.start
    method = SimpleNamespace(label="some method", formula=FOX)
    assert stability_limit(system, x.t, x.q, x.v, method) == stability_limit(system, x.t, x.q, x.v, FOX) == FOX.limit() / np.sqrt(G)
    assert stability_limit(system, x.t, x.q, x.v, newmark(0.25, 0.4)) == 0.0
    for wrong in (mbdae.HalfImplicit(1e-3), 3.0):
        with pytest.raises(ValueError, match=r"has no stability limit: give .* or its Formula"):
            stability_limit(system, x.t, x.q, x.v, wrong)


@pytest.mark.thorough
def test_figure(tmp_path, andrews):
    _, _, t, omega = andrews
    figure = plot_frequencies(t, omega, title="Andrews")
    left, right = figure.axes
    assert (left.lines[0].get_ydata() == omega).all() and [line.get_label().split(":")[0] for line in right.lines] == list(RULES)
    assert right.lines[0].get_label().endswith("any step is stable") and len(right.lines[0].get_ydata()) == 0
    assert np.nanmin(right.lines[2].get_ydata()) == pytest.approx(FOX.limit() / omega.max())
    save(figure, tmp_path / "frequencies.png")
    with Image.open(tmp_path / "frequencies.png") as image:
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50


@pytest.mark.thorough
def test_figure_where_every_step_is_stable(tmp_path):
    t = np.linspace(0.0, 1.0, 5)
    for omega, methods in ((np.zeros(5), None), (np.ones(5), {"rule": newmark(*TRAPEZOIDAL)})):
        figure = plot_frequencies(t, omega, methods)
        assert all(len(line.get_ydata()) == 0 and "any step is stable" in line.get_label() for line in figure.axes[1].lines)
        save(figure, tmp_path / "any.png")
    with pytest.raises(ValueError, match="has no stability limit"):
        plot_frequencies(t, t, {"half": mbdae.HalfImplicit(1e-3)})


# --- refusals ------------------------------------------------------------------------------------------------------------


def test_prescribed_motion_is_refused():
    system = library.system("four-link")
    with pytest.raises(ValueError, match=r"four-link has no degree of freedom: .* remove a driver"):
        frequencies(system)


def test_singular_positions_are_told():
    """A parallelogram whose bars and coupler lie on one line."""
    system = library.system("n-four-bar", windows=1)
    flat = np.array([0.5, 0.0, 0.0, 1.5, 0.0, 0.0, 1.5, 0.0, 0.0])
    with pytest.raises(ChartError, match=r"n-four-bar at t = 0\.7: the constraints lose rank"):
        natural_frequencies(system, 0.7, flat, np.zeros(9))


@pytest.mark.parametrize(("what", "t", "q", "v", "lam"), [
    ("q must have shape", 0.0, np.zeros(2), np.zeros(6), None),
    ("v must have shape", 0.0, None, np.zeros((6, 1)), None),
    ("lam must have shape", 0.0, None, None, np.zeros(3)),
    ("t must have shape", [0.0, 1.0], None, None, None),
    ("t must be finite", np.nan, None, None, None),
    ("v must be finite", 0.0, None, np.full(6, np.inf), None),
])
def test_wrong_input_is_refused(what, t, q, v, lam):
    system = mbdae.System(double_pendulum())
    q, v = system.start.q if q is None else q, system.start.v if v is None else v
    for function in (natural_frequencies, eigenvalues):
        with pytest.raises(ValueError, match=what):
            function(system, t, q, v, lam)


# --- command line --------------------------------------------------------------------------------------------------------


def test_command(capsys, tmp_path):
    picture = tmp_path / "figure.png"
    assert main(["stability", "stiff-pendulum", "--t-end", "5", "--points", "11", "--h", "1e-2", "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    row = next(line for line in told.splitlines() if "fox-goodwin" in line)
    assert "3.1305 rad/s at the start" in told and row.split() == ["fox-goodwin", "2.4495", "0.78246", "0.78246"]
    assert "stable throughout [s]" in told and next(x for x in told.splitlines() if "trapezoidal" in x).split()[1:] == ["any"] * 3
    with Image.open(picture) as image:
        assert image.format == "PNG"


@pytest.mark.parametrize(("argv", "told"), [
    (["four-link", "--t-end", "0.1"], "no degree of freedom"),
    (["stiff-pendulum", "--points", "1"], "--points must be at least 2"),
    (["stiff-pendulum", "--plot", "x.txt"], "must end in"),
    (["nothing"], "nothing"),
])
def test_command_refuses(capsys, argv, told):
    assert main(["stability", *argv]) == 2
    assert told in capsys.readouterr().err


def test_command_fits_a_terminal(capsys):
    assert main(["stability", "--help"]) == 0
    text = capsys.readouterr().out
    assert "examples:" in text and max(len(line) for line in text.splitlines()) <= 100


def test_public_names():
    assert {"natural_frequencies", "eigenvalues", "stability_limit", "largest_frequencies", "plot_frequencies"} <= set(studies.__all__)
