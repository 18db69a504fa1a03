"""Scripts of the gallery: they are short, have a title and a description, run, and save one picture; their pages contain them."""

import importlib.util
import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.image
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "gallery"
SCRIPTS = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)


@pytest.fixture(scope="module")
def gallery():
    """The generator of the pages."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "tools" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_thirty():
    assert len(SCRIPTS) >= 30
    assert len({p.name[:2] for p in SCRIPTS}) == len(SCRIPTS)


@every_script
def test_scripts_are_short_and_described(script, gallery):
    title, text = gallery.texts(script)
    assert 3 < len(title) < 45 and len(text) > 40
    code = script.read_text().partition('"""\n\n')[2]
    assert 5 <= len(code.strip().splitlines()) <= 40
    assert gallery.group(script)


def test_pages_contain_the_scripts(gallery):
    pages = gallery.pages()
    assert set(pages) == {"gallery/index.md", *(f"gallery/{p.stem}.md" for p in SCRIPTS)}
    for script in SCRIPTS:
        assert script.read_text().partition('"""\n\n')[2].rstrip() in pages[f"gallery/{script.stem}.md"]
        assert f"({script.stem}.md)" in pages["gallery/index.md"]


def test_pictures_are_made_again_when_the_code_changes(gallery, tmp_path):
    script = tmp_path / "01_one.py"
    script.write_text('"""One.\n\nText.\n"""\n\nx = 1\n')
    first = gallery.stamp(script)
    script.write_text('"""Two.\n\nOther text.\n"""\n\nx = 1\n')
    assert gallery.stamp(script) == first
    script.write_text('"""Two.\n\nOther text.\n"""\n\nx = 2\n')
    assert gallery.stamp(script) != first


@pytest.mark.thorough
@every_script
def test_scripts_run(script, tmp_path, monkeypatch):
    monkeypatch.setenv("MBDAE_PICTURES", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.syspath_prepend(FOLDER)
    matplotlib.use("Agg")
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    picture, = tmp_path.iterdir()
    assert picture.stem == script.stem and picture.suffix in (".png", ".gif")
    if picture.suffix == ".png":
        pixels = matplotlib.image.imread(picture)[:, :, :3]
        assert min(pixels.shape[:2]) > 250
        assert 0.005 < (pixels.min(axis=2) < 0.8).mean() < 0.5
