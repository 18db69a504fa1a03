"""What a solution draws of itself: quantities over time, animations, the view in space in a browser; and legends, names, marks."""

import html
import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.scipy import SolveIvp
from mbdae.integrators.structural.formula import RULES, newmark
from mbdae.pictures.canvas import Drawing
from mbdae.pictures.figures import new_figure, style
from mbdae.pictures.film import usual_view
from mbdae.pictures.frequencies import draw_frequencies
from mbdae.pictures.legend import legend_below
from mbdae.pictures.naming import name_bodies
from mbdae.pictures.ticks import decade_ticks
from mbdae.pictures.timeline import draw_timeline

from .helpers import GROUND, double_pendulum
from .test_names import linkage

ROOT = Path(__file__).parent.parent
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def moved(target, t_end=0.3, points=31):
    return mbdae.solve(target, SolveIvp("DOP853"), (0.0, t_end), rtol=1e-7, atol=1e-9, t_eval=np.linspace(0.0, t_end, points),
                       formulation="ode")


@pytest.fixture(scope="module")
def solution():
    return moved(linkage())


@pytest.fixture(scope="module")
def pendulum():
    return moved(double_pendulum())


def curves(axis):
    return {line.get_label(): line.get_ydata() for line in axis.lines if not line.get_label().startswith("_")}


def labels(figure):
    return [axis.get_ylabel() for axis in figure.axes if axis.get_visible()]


# --- over time -----------------------------------------------------------------------------------------------------------------------


def test_the_overview_has_four_panels_with_units(solution):
    figure = solution.plot()
    assert labels(figure) == ["position  [m]", "energy  [J]", "largest residual", "force  [N]"]
    assert {axis.get_xlabel() for axis in figure.axes} == {"time  [s]"}
    energy, worst, force = (curves(axis) for axis in figure.axes[1:])
    np.testing.assert_allclose(energy["kinetic"] + energy["potential"], energy["total"])
    np.testing.assert_allclose(energy["total"], solution.energy)
    assert figure.axes[2].get_yscale() == "log" and list(worst) == ["positions", "velocities"]
    np.testing.assert_array_equal(np.nan_to_num(worst["positions"]), solution.constraint_residuals[:, 0])
    np.testing.assert_allclose(force["pin"], np.linalg.norm(solution.multipliers("pin")[:, :3], axis=1))
    np.testing.assert_allclose(force["cord"], 2.0 * solution.multipliers("cord")[:, 0])  # of length 1: the tension


def test_curves_of_few_steps_are_those_of_the_interpolant():
    """Constraint violations are shown at the steps: between them they would be those of the interpolant."""
    run = mbdae.solve(double_pendulum(), mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-6, dense_output=True)
    assert len(run.t) < 100
    axes = {axis.get_title(loc="left"): axis for axis in run.plot().axes}
    for title in ("coordinates", "energy", "forces in joints"):
        assert all(len(line.get_xdata()) >= 400 for line in axes[title].lines)
    line = axes["coordinates"].lines[0]
    names = [c.name for c in mbdae.results.names.names_of(run.system).q]
    found = [run.sol(t)[0][names.index(line.get_label())] for t in line.get_xdata()[::50]]
    assert line.get_ydata()[::50] == pytest.approx(found, abs=1e-12)
    assert list(axes["constraint violation"].lines[0].get_xdata()) == list(run.t)
    run.sol = None
    assert len(run.plot().axes[0].lines[0].get_xdata()) == len(run.t)


def test_the_axis_of_time_begins_at_the_start():
    """Also where the first violations are zero, which a logarithmic axis cannot show."""
    run = moved(double_pendulum())
    for axis in run.plot().axes:
        assert axis.get_xlim() == (run.t[0], run.t[-1])


def test_the_force_in_a_rod_is_its_tension():
    """A particle on a rod that swings: m (v^2 / l + g cos(angle))."""
    bob = mbdae.Mechanism("bob", [mbdae.Particle("bob", 2.0, (3.0, 0.0, 0.0))], [mbdae.Rod("cord", GROUND, "bob", length=3.0)],
                          gravity=(0.0, -9.81, 0.0))
    s = moved(bob, 0.9)
    (q, v) = s.body("bob")
    tension = 2.0 * ((v**2).sum(axis=1) / 3.0 - 9.81 * q[:, 1] / 3.0)
    found = curves(s.plot("reactions").axes[0])["cord"]
    np.testing.assert_allclose(np.abs(found), tension, rtol=1e-5, atol=1e-5)


def test_one_quantity_has_a_panel_for_each_unit(solution):
    figure = solution.plot("velocities")
    assert labels(figure) == ["velocity  [m/s]", "angular velocity  [rad/s]"]
    assert labels(solution.plot(["energy", "accelerations"])) == ["energy  [J]", "acceleration  [m/s²]"]
    assert labels(solution.plot("reactions", names=["cord", "pin"])) == ["multiplier  [N/m]", "force  [N]", "torque  [N m]"]


def test_bodies_and_names_are_chosen(solution):
    figure = solution.plot("coordinates", bodies="bob")
    assert list(curves(figure.axes[0])) == ["bob.x", "bob.y", "bob.z"] and len(figure.axes) == 1
    np.testing.assert_array_equal(curves(figure.axes[0])["bob.z"], solution.body("bob")[0][:, 2])
    assert list(curves(solution.plot("velocities", names=["arm.omega_y"]).axes[0])) == ["arm.omega_y"]
    for wrong, message in (({"what": "energies"}, "did you mean 'energy'"), ({"bodies": "bab"}, "did you mean 'bob'"),
                           ({"names": ["pni"]}, "did you mean 'pin'")):
        with pytest.raises(ValueError, match=message):
            solution.plot(**wrong)


def test_bodies_of_joint_coordinates_are_cartesian(solution):
    s = moved(mbdae.System(linkage(), coordinates="joint"))
    assert "pin.angle" in curves(s.plot("coordinates").axes[0]) | curves(s.plot("coordinates").axes[-1])
    np.testing.assert_allclose(curves(s.plot("coordinates", bodies="cube").axes[0])["cube.x"], solution.body("cube")[0][:, 0], atol=1e-6)


@pytest.mark.thorough
def test_forty_bodies_fit_the_screen():
    s = moved(library.mechanism("chain", links=40), 0.05, 6)
    figure = s.plot()
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert width < 11 and height < 7
    assert all(len(curves(axis)) <= 6 for axis in figure.axes)
    for axis in figure.axes:
        box = axis.get_tightbbox().transformed(figure.transFigure.inverted())
        assert box.x0 > -0.01 and box.x1 < 1.01 and box.y0 > -0.01 and box.y1 < 1.01
    assert all(text in {t.get_text() for axis in figure.axes for t in axis.texts + [axis.title, axis._right_title]}
               for text in ("the 6 of 40 that are largest",))


def test_what_has_no_constraints_or_energy_shows_the_rest():
    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -q, phi=lambda t, q: np.zeros(0),
                                    q0=[1.0])
    found = moved(s)
    titles = [axis.get_title("left") for axis in found.plot().axes if axis.get_visible()]
    assert titles == ["coordinates", "velocities", "accelerations", "energy"]
    assert list(curves(found.plot("energy").axes[0])) == ["kinetic"]
    with pytest.raises(ValueError, match="has no constraints, so there are no reactions"):
        found.plot("reactions")
    empty = mbdae.solve(s, SolveIvp("DOP853"), (0.0, 0.1), t_eval=[], formulation="ode")
    with pytest.raises(ValueError, match="no points"):
        empty.plot()


# --- animations ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_animation_is_a_file_or_a_picture_in_a_notebook(pendulum, tmp_path):
    film = pendulum.animate(fps=10)
    assert film.frames == 4 and film.path is None
    assert film._repr_html_().startswith('<img alt="animation" src="data:image/gif;base64,R0lGOD')
    film.save(tmp_path / "a.gif")
    assert (tmp_path / "a.gif").read_bytes()[:6] == b"GIF89a"
    assert pendulum.animate(tmp_path / "b.gif", fps=10).path == tmp_path / "b.gif"
    with pytest.raises(ValueError, match=r"ends in \.gif"):
        film.save(tmp_path / "a.mp4")


def test_the_usual_view_is_the_plane_of_the_motion(pendulum, solution):
    assert usual_view(pendulum) == "xy" and usual_view(solution) == "3d"
    bob = mbdae.Mechanism("bob", [mbdae.Particle("bob", 1.0, (1.0, 0.0, 0.0))], [mbdae.Rod("cord", GROUND, "bob")], gravity=(0, 0, -9.81))
    assert usual_view(moved(bob)) == "xz"


# --- the view in space ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def view(solution):
    pytest.importorskip("plotly")
    return solution.view(frames=7)


def test_a_view_has_all_positions_and_names(view, solution):
    figure = view.figure
    assert len(figure.frames) == 7 and {trace.name for trace in figure.data} >= {"bodies", "rods", "joints", "ground"}
    bodies = figure.data[0]
    assert {"arm", "disc", "cube"} <= set(bodies.text)
    picture = solution.system.geometry.at(0.3, solution.q[-1])
    last = np.array([figure.frames[-1].data[0][c] for c in "xyz"]).T
    np.testing.assert_allclose(last[~np.isnan(last[:, 0])], np.concatenate(picture.bodies), atol=1e-6)
    ranges = np.array([figure.layout.scene[f"{c}axis"].range for c in "xyz"])
    ratio = np.array([figure.layout.scene.aspectratio[c] for c in "xyz"])
    lengths = ranges[:, 1] - ranges[:, 0]
    np.testing.assert_allclose(ratio / ratio.max(), lengths / lengths.max())  # equal scales
    assert (last[~np.isnan(last[:, 0])] > ranges[:, 0]).all() and (last[~np.isnan(last[:, 0])] < ranges[:, 1]).all()


def test_a_view_needs_no_network(view, tmp_path):
    page = view.html()
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", page)
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', view._repr_html_())[1]) == page
    with pytest.raises(ValueError, match=r"ends in \.html"):
        view.save(tmp_path / "run.png")


def test_wrong_views_are_refused(solution, monkeypatch):
    pytest.importorskip("plotly")
    for wrong, message in (({"frames": 1}, "frames must be an integer of at least 2"), ({"speed": 0.0}, "speed must be positive")):
        with pytest.raises(ValueError, match=message):
            solution.view(**wrong)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"pip install 'mbdae\[view\]'"):
        solution.view()


PROBE = """<pre id="found"></pre><script>
const plot = document.querySelector(".plotly-graph-div");
async function look() {
  await Plotly.animate(plot, ["4"], {mode: "immediate", frame: {duration: 0, redraw: true}, transition: {duration: 0}});
  const shown = plot._fullData[0], all = {};
  for (const c of "xyz") all[c] = Array.from(shown[c]).map(v => Number.isNaN(v) || v == null ? null : v);
  all.buttons = plot._fullLayout.updatemenus[0].buttons.map(b => b.label);
  all.steps = plot._fullLayout.sliders[0].steps.length;
  all.gl = !!document.querySelector("canvas");
  document.getElementById("found").textContent = JSON.stringify(all);
}
window.addEventListener("load", look);
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the search path; Debian: apt-get install chromium")
def test_a_browser_shows_the_view_and_moves_it(view, solution, tmp_path):
    from PIL import Image

    page = tmp_path / "run.html"
    page.write_text(view.html().replace("</body>", PROBE), encoding="utf-8")
    picture = tmp_path / "shot.png"
    call = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=900,700",
            "--virtual-time-budget=6000"]
    call += ["--dump-dom", f"--screenshot={picture}", page.as_uri()]
    dom = subprocess.run(call, capture_output=True, text=True, timeout=100).stdout
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found["buttons"] == ["Play", "Pause"] and found["steps"] == 7 and found["gl"]
    shown = np.array([found[c] for c in "xyz"], dtype=float).T
    expected = np.concatenate(solution.system.geometry.at(0.2, solution.q[20]).bodies)
    np.testing.assert_allclose(shown[~np.isnan(shown[:, 0])], expected, atol=2e-4)  # the position between stored points
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=int)
    for colour in ((0, 114, 178), (0, 158, 115)):  # of the first and the third body
        assert (np.abs(pixels - colour).max(axis=2) < 30).sum() > 50


# --- parts of pictures ---------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("width", [4.0, 7.4])
def test_a_legend_of_nine_methods_fits(width):
    with style():
        figure = new_figure(width, 3.0)
        for axis in figure.subplots(1, 2):
            for k in range(9):
                axis.plot([0, 1], [k, k + 1], label=f"method number {k}, formulation ggl")
        legend = legend_below(figure)
        figure.draw_without_rendering()
        box = legend.get_window_extent().transformed(figure.transFigure.inverted())
        axes_box = figure.axes[0].get_window_extent().transformed(figure.transFigure.inverted())
    assert len(legend.get_texts()) == 9 and box.x0 >= 0.0 and box.x1 <= 1.0 and box.y0 >= -1e-3 and box.y1 < axes_box.y0
    assert axes_box.height * figure.get_figheight() > 1.8  # the axes keep their size


@pytest.mark.parametrize("low, high", [(1e-12, 1e-1), (1.3e-3, 4e-3), (2e-2, 9e-1), (3e-7, 2e-5), (0.5, 700.0), (2.1, 2.9), (1e-16, 1e4)])
def test_numbers_on_short_logarithmic_axes_do_not_overlap(low, high):
    with style():
        figure = new_figure(2.2, 2.0)
        axes = figure.add_subplot()
        axes.loglog([low, high], [1, 2])
        axes.set_xlim(low, high)
        decade_ticks(axes.xaxis)
        figure.draw_without_rendering()
        shown = [label for label in axes.get_xticklabels(which="both") if label.get_text()]
        boxes = [label.get_window_extent() for label in shown]
    assert 2 <= len(shown) <= 5
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    assert all(low * (1 - 1e-9) <= x <= high * (1 + 1e-9) for x in axes.get_xticks())


def test_names_of_bodies_do_not_cover_each_other(pendulum):
    s = moved(library.mechanism("ladder"), 0.3, 4)
    with style():
        figure = new_figure(5.0, 5.0)
        axes = figure.add_subplot()
        axes.set(xlim=(-3, 3), ylim=(-1, 9), aspect="equal")
        drawing = Drawing(s.system, axes, "xy")
        drawing.show(0.3, s.q[-1])
        name_bodies(axes, [s.system.geometry.at(0.3, s.q[-1])], "xy")
        figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert {t.get_text() for t in axes.texts} <= set(s.system.geometry.names) and len(boxes) >= 8
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_a_top_has_a_rim_that_shows_its_spin():
    system = library.system("heavy-top")
    geometry, start = system.geometry, system.start
    first = geometry.at(0.0, start.q).bodies[0]
    spin = system.retract(start.q, 0.5 * np.eye(6)[4])  # half a radian about the axis
    turned = geometry.at(0.0, spin).bodies[0]
    np.testing.assert_allclose(turned[:3], first[:3], atol=1e-12)  # the axis
    rim, moved_rim = (line[4:] - line[3] for line in (first, turned))
    np.testing.assert_allclose(np.linalg.norm(rim, axis=1), np.sqrt(2.0 * 0.46875 / 15.0))
    assert np.dot(rim[0], moved_rim[0]) / (rim[0] @ rim[0]) == pytest.approx(np.cos(0.5))


def test_a_body_with_many_points_is_their_shortest_tree():
    points = [(x, y, 0.0) for x in (-2.0, 2.0) for y in (-1.0, 0.0, 1.0)]
    m = mbdae.Mechanism("frame", [mbdae.RigidBody("frame", 1.0, (1, 1, 1))],
                        forces=[mbdae.TSDA(f"spring {k}", GROUND, "frame", (0, 0, -1.0), p, k=1.0, l0=1.0) for k, p in enumerate(points)])
    system = mbdae.System(m)
    line = system.geometry.at(0.0, system.start.q).bodies[0]
    edges = {frozenset((tuple(a), tuple(b))) for a, b in pairwise(line)}
    assert len(edges) == 6 and sum(np.linalg.norm(np.subtract(*edge)) for edge in edges) == pytest.approx(4 * 1.0 + 2 * 2.0)
    assert {tuple(p) for p in line} == {(0.0, 0.0, 0.0), *points}


def test_marks_of_a_timeline_leave_the_curve_free():
    t = np.linspace(0.0, 1.0, 50)
    figure = draw_timeline({"exact": [], "grouped": [(x, "jacobian") for x in t], "grouped:extended": [(0.0, "jacobian"), (0.5, "update")]},
                           (t, np.cos(9 * t), "u"))
    assert len(figure.axes) == 2
    for axis in figure.axes:
        top = max(segment[:, 1].max() for c in axis.collections for segment in c.get_segments())
        low = axis.transData.transform((0.0, -1.0))[1]
        assert axis.transAxes.transform((0.0, top))[1] <= low


def test_stable_steps_name_every_method():
    t = np.linspace(0.0, 1.0, 20)
    figure = draw_frequencies(t, 20.0 + t, {name: newmark(*rule).limit() for name, rule in RULES.items()})
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == len(RULES) and any(text == "trapezoidal: any step is stable" for text in texts)
    assert len([line for line in figure.axes[1].lines if len(line.get_xdata())]) == len(RULES) - 1


# --- summaries -----------------------------------------------------------------------------------------------------------------------


def test_summaries_fit_the_screen(solution):
    chain = library.mechanism("chain", links=40)
    found = [chain, mbdae.System(chain), mbdae.System(chain, coordinates="joint"), solution, solution.statistics, solution.system,
             mbdae.GGL(solution.system)]
    for x in found:
        lines = repr(x).splitlines()
        assert len(lines) <= 16 and max(map(len, lines)) <= 79, repr(x)
        assert x._repr_html_().count("<tr>") <= 12 and "<table>" in x._repr_html_()
    assert "bodies 40 RigidBody: link 1, link 2, link 3, link 4, link 5, link 6, ..., link 40" in " ".join(repr(chain).split())


def test_names_in_html_are_escaped():
    m = mbdae.Mechanism("a<b", [mbdae.Particle("p&q", 1.0, (0, 0, 0))])
    assert "a&lt;b" in m._repr_html_() and "p&amp;q" in m._repr_html_()


# --- the page ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_snippets_of_the_page_run(tmp_path, monkeypatch):
    for package in ("plotly", "pandas", "xarray"):
        pytest.importorskip(package)
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    for snippet in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(snippet, names)
    assert {"overview.png", "run.html", "run.gif", "run.nc"} == {path.name for path in tmp_path.iterdir()}
    assert all((ROOT / "docs" / name).exists() for name in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page))
    printed = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    assert [line.split()[0] for line in printed.splitlines()] == [line.split()[0] for line in repr(names["solution"]).splitlines()]
