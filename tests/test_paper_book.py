"""The paper book: manifests cover the papers, verdicts agree with the numbers, pages are what the generator makes of the kept outputs."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mbdae.cli.scripts import Shown, recording, scripts_of, show
from mbdae.pages.equations import numbers
from mbdae.pictures import curves
from mbdae.pictures.figures import new_figure

from .helpers import scripts_in

ROOT = Path(__file__).parents[1]
PAPERS, DOCS = ROOT / "examples" / "papers", ROOT / "docs" / "papers"
script = scripts_in(PAPERS, "module")
# numbers of the last table and figure of each paper
LAST = {"half_implicit": (2, 9), "corrector_iteration": (3, 8), "projected_rk": (1, 17), "null_space": (4, 27), "thesis": (31, 25)}
HELPERS = {"performance"}  # modules of the folders that are no scripts
FILE = "method,h,here,printed\nHI,0.01,3.68,3.68\nFI,0.01,6.42,7.27\nFI,0.001,4,\n"


@pytest.fixture(scope="module")
def book(script):
    return script("make_book")


@pytest.fixture(scope="module")
def records(script, book):
    return script("paper_book.records")


@pytest.fixture(scope="module")
def compare(script, book):
    return script("paper_book.compare")


@pytest.fixture(scope="module")
def capture(script, book):
    return script("paper_book.capture")


# --- manifests ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", LAST)
def test_every_table_and_figure_has_a_row(book, folder):
    tables, figures = LAST[folder]
    labels = [i.label for i in book.manifest(folder).items]
    wanted = {f"Table {n}" for n in range(1, tables + 1)} | {f"Figure {n}" for n in range(1, figures + 1)}
    assert len(labels) == len(set(labels)) and wanted == {x for x in labels if not x.startswith("Section")}
    for kind in ("Table", "Figure"):
        found = [int(x.split()[1]) for x in labels if x.startswith(kind)]
        assert (kind == "Table" and folder != "half_implicit") or found == sorted(found)


@pytest.mark.parametrize("folder", LAST)
def test_every_script_is_in_the_book(book, folder):
    paper = book.manifest(folder)
    assert set(paper.scripts) == set(scripts_of(PAPERS / folder)) - HELPERS
    assert set(paper.reduced) <= set(paper.scripts) and not set(paper.more) & {i.script for i in paper.items}


@pytest.mark.parametrize("folder", LAST)
def test_rows_are_complete(book, records, folder):
    """Equations exist, what differs or is not implemented has a reason, and a verdict about numbers has a script."""
    paper = book.manifest(folder)
    assert paper.folder == folder
    for item in paper.items:
        assert set(item.equations) <= set(numbers(paper.key)), item.label
        assert item.title and item.shows and not (item.figures and not item.script)
        assert item.remark or item.verdict is records.Verdict.REPRODUCED or item.title == "US Army HMMWV", item.label
        assert not item.values or item.script


# --- comparison --------------------------------------------------------------------------------------------------------------------------


def small(records, capture, verdict, band=(0.99, 1.01), where=(), text=FILE, **more):
    """An item, and the capture of its script."""
    values = records.Values("file.csv", "iterations", "here", "printed", ("method", "h"), where, band, **more)
    item = records.Item("Figure 4", "iterations", "Bars.", verdict, "why", ("12",), "fig4", (), (values,))
    return item, {"fig4": capture.Capture("fig4", "a line", csv={"file.csv": text})}


def test_lines_have_ratios(records, compare, capture):
    item, captures = small(records, capture, records.Verdict.DIFFERS)
    first, second = compare.lines(item.values[0], item, captures)
    assert first == compare.Line(("HI", "0.01"), "3.68", "3.68", 1.0, True)
    assert second.ratio == pytest.approx(6.42 / 7.27) and second.agrees is False


def test_zeros_agree_with_zeros_only(records, compare, capture):
    item, captures = small(records, capture, records.Verdict.DIFFERS, text="method,h,here,printed\na,1,0,0\na,2,3,0\n")
    assert [(x.ratio, x.agrees) for x in compare.lines(item.values[0], item, captures)] == [(1.0, True), (np.inf, False)]


def test_units_ranges_and_words(records, compare, capture):
    item, captures = small(records, capture, records.Verdict.REPRODUCED, None, text="method,h,here,printed,least,largest\na,1,3e-6,4,2,5\n",
                           span=("least", "largest"), printed_unit=1e-6)
    (line,) = compare.lines(item.values[0], item, captures)
    assert (line.ours, line.ratio, line.agrees) == ("3 (2 to 5)", pytest.approx(0.75), True)
    item, captures = small(records, capture, records.Verdict.REPRODUCED, None, text="method,h,here,printed\na,1,stable,stable\na,2,x,y\n")
    assert [(x.ratio, x.agrees) for x in compare.lines(item.values[0], item, captures)] == [(None, True), (None, False)]


@pytest.mark.parametrize(("verdict", "where", "wrong"), [
    ("REPRODUCED", (), "1 of 2 numbers are outside"), ("DIFFERS", (), None), ("STAND_IN", (), None),
    ("REPRODUCED", (("method", ("HI",)),), None), ("DIFFERS", (("h", (0.01,)), ("method", ("HI",))), "all 1 numbers are within")])
def test_the_verdict_must_agree_with_the_numbers(records, compare, capture, verdict, where, wrong):
    item, captures = small(records, capture, records.Verdict[verdict], where=where)
    found = compare.disagreement(item, captures)
    assert found is None if wrong is None else wrong in found


def test_missing_things_are_named(records, compare, capture):
    item, captures = small(records, capture, records.Verdict.REPRODUCED)
    assert compare.disagreement(item, {}) == "fig4.py has not been run"
    failed = {"fig4": capture.Capture("fig4", error="Traceback\nValueError: no")}
    assert compare.disagreement(item, failed) == "fig4.py failed: ValueError: no" and compare.lines(item.values[0], item, failed) == []
    for wrong, reason in ((replace(item.values[0], ours="hers"), "file.csv has no column 'hers', but method, h, here, printed"),
                          (replace(item.values[0], csv="other.csv"), "the kept output of fig4.py has no other.csv"),
                          (replace(item.values[0], where=(("method", ("XI",)),)), "file.csv: no line with a value of 'printed' where")):
        assert compare.disagreement(replace(item, values=(wrong,)), captures).startswith(reason)
        assert compare.lines(wrong, item, captures) == []


# --- captures ----------------------------------------------------------------------------------------------------------------------------


def test_recording_keeps_text_and_tables_in_order(capsys):
    with recording() as kept:
        print("first")
        show([("HI", 2.05), ("FI", None)], ("method", "iterations"))
        print("last")
    assert kept.blocks == ["first\n", Shown(["method", "iterations"], [["HI", "2.05"], ["FI", "-"]]), "last\n"]
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "first" and told[1].split() == ["method", "iterations"] and told[-1] == "last"


@pytest.mark.thorough
def test_a_script_is_run_and_kept(book, capture, tmp_path):
    paper = book.manifest("half_implicit")
    found = capture.run_script(paper, "tables1_2", tmp_path, {})
    assert found.error is None and found.line == "15 of 15 numbers as printed" and set(found.csv) == {"tables1_2.csv"}
    assert found.blocks[0]["head"] == ["table", "", "library", "printed"] and found.run["versions"]["mbdae"]
    found.save(tmp_path / "kept")
    assert capture.load(tmp_path / "kept", "tables1_2") == found and capture.load(tmp_path, "tables1_2") is None
    assert not list(tmp_path.glob("*.json"))


def test_a_script_that_fails_is_a_row_with_its_error(script, records, capture, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "fig1.py").write_text("def main(output):\n    raise RuntimeError('no convergence')\n")
    paper = records.Paper("bad", "Fang", "A paper", "Somebody.", (records.Item("Figure 1", "x", "A curve.", records.Verdict.REPRODUCED,
                                                                              script="fig1"),))
    found = capture.run_script(paper, "fig1", tmp_path, {}, tmp_path)
    assert found.error.endswith("RuntimeError: no convergence")
    text = script("paper_book.page").paper_page(paper, {"fig1": found})
    assert "**Failed:** `RuntimeError: no convergence`" in text and "**To be checked:** fig1.py failed" in text


# --- pages -------------------------------------------------------------------------------------------------------------------------------


def test_page_of_small_data(script, records, capture):
    page, verdict = script("paper_book.page"), records.Verdict.DIFFERS
    item, captures = small(records, capture, verdict)
    paper = records.Paper("half_implicit", "Fang", "A paper", "Somebody.", (item,), ("A note | with a bar.",))
    captures["fig4"].blocks.extend(["\n  text\n", {"head": ["a", "b"], "rows": [["x|y", "2"]]}])
    text = page.paper_page(paper, captures)
    assert "| FI | 0.01 | 7.27 | 6.42 | 0.883 | no |" in text and "| method | h | printed | ours | ratio | agrees |" in text
    assert "| [Figure 4](#figure-4) | iterations | differs | 2 | [fig4.py](../../examples/papers/half_implicit/fig4.py) | (12) |" in text
    assert "| x\\|y | 2 |" in text and "```text\n  text\n```" in text and "Summary: a line" in text
    index = page.index_page([(paper, captures)])
    assert "| [A paper](half_implicit.md) |   | 1 |   |   |   | 1 |" in index and "2 numbers have a band" in index
    assert "- [A paper, Figure 4](half_implicit.md#figure-4): why" in index


def test_pictures_are_made_small(script, tmp_path):
    noise = np.repeat(np.random.default_rng(0).integers(0, 255, (900, 1500, 1), dtype=np.uint8), 3, axis=2)
    noise[:, 400:] = 255
    noise[300:306, 500:540] = (0, 158, 115)  # a rare colour
    Image.fromarray(noise).save(tmp_path / "large.png")
    pictures = script("paper_book.pictures")
    pictures.small_copy(tmp_path / "large.png", tmp_path / "docs" / "small.png")
    size = (tmp_path / "docs" / "small.png").stat().st_size
    assert 1000 < size < 0.2 * (tmp_path / "large.png").stat().st_size
    with Image.open(tmp_path / "docs" / "small.png") as image:
        assert 600 <= image.width <= 1000 and image.height == round(image.width * 900 / 1500)
        found = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
        assert (np.abs(found - (0, 158, 115)).sum(axis=1) < 60).sum() > 10


@pytest.mark.parametrize("folder", [*LAST, "README"])
def test_pages_are_those_of_the_generator(script, book, folder):
    page = script("paper_book.page")
    if folder == "README":
        books = [(paper, book.kept(paper)) for paper in map(book.manifest, book.FOLDERS)]
        assert page.index_page(books) == (DOCS / "README.md").read_text(encoding="utf-8"), "run make_book.py --from-captures"
    else:
        paper = book.manifest(folder)
        assert page.paper_page(paper, book.kept(paper)) == (DOCS / f"{folder}.md").read_text(encoding="utf-8"), \
            "run make_book.py --from-captures"


@pytest.mark.parametrize("folder", LAST)
def test_verdicts_agree_with_the_kept_outputs(book, compare, folder):
    paper = book.manifest(folder)
    assert list(compare.problems(paper.items, book.kept(paper))) == []


@pytest.mark.parametrize("folder", [*LAST, "README"])
def test_links_and_pictures_are_there(folder):
    text = (DOCS / f"{folder}.md").read_text(encoding="utf-8")
    anchors = {name: set(re.findall(r'<a id="([^"]*)">', (DOCS / f"{name}.md").read_text(encoding="utf-8"))) for name in (*LAST, "README")}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if not path.startswith("http"):
            assert (DOCS / path).exists() if path else True, target
        assert not anchor or anchor in anchors[Path(path).stem or folder], target


def test_pictures_of_the_pages_are_small_and_used():
    text = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in LAST)
    for picture in (DOCS / "figures").iterdir():
        assert picture.stat().st_size <= 62_000 and f"figures/{picture.name}" in text, picture.name


# --- the data of figures -----------------------------------------------------------------------------------------------------------------


def test_curves_of_a_figure(tmp_path):
    figure = new_figure(3.0, 2.0)
    left, right = figure.subplots(1, 2)
    left.plot([0.0, 1.0], [2.0, 3.0], label="a, b")
    left.axhline(5.0)
    left.set_title("(a) left", loc="left")
    right.stairs([1.0, 2.0], [0.0, 0.5, 1.0], baseline=None, label="steps")
    right.scatter([1.0, 2.0], [3.0, 4.0])
    found = curves.points(figure)
    assert [(p.panel, p.curve, p.x, p.y) for p in found if p.panel == "(a) left"] == [
        ("(a) left", "a, b", 0.0, 2.0), ("(a) left", "a, b", 1.0, 3.0)]
    assert [(p.curve, p.x, p.y) for p in found if p.panel == "panel 2"][:2] == [("steps", 0.0, 1.0), ("steps", 0.5, 2.0)]
    assert len(found) == 6
    curves.save(figure, tmp_path / "x.png")
    assert (tmp_path / "x.curves.csv").read_text().splitlines()[:2] == ["panel,curve,x,y", '"(a) left","a, b",0.0,2.0']
