"""What scripts that repeat a paper share: tables in a pipe, the folder for files, several scripts with a summary, files of dictionaries."""

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import mbdae
from mbdae.cli.scripts import output_folder, run_all, scripts_of, show
from mbdae.studies import write_csv

from .helpers import scripts_in

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "examples" / "papers"
HEAD = ("method", "h [s]", "error", "published", "status")
ROWS = [("half-implicit", "0.001", "1.5e-12", "2 (1-4)", "ends"), ("IDA", 0, None, "10.25", "[red]fails[/red] :smile:"),
        ("", "12.5", "inf", "", "")]


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def test_table_in_a_pipe():
    """Plain text, as a file gets it, whatever the width of a terminal is said to be."""
    wide = "w" * 300
    code = (f"from mbdae.cli.scripts import show; show({ROWS!r}, {HEAD!r}); "
            f"show([['a', {wide!r}, '1']], ['', 'wide', 'n'])")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=300, check=True,
                         env=os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"})
    assert [line.rstrip() for line in run.stdout.splitlines()] == [
        "  method         h [s]    error  published  status",
        "  half-implicit  0.001  1.5e-12    2 (1-4)  ends",
        "  IDA                0        -      10.25  [red]fails[/red] :smile:",
        "                  12.5      inf",
        "     wide" + 298 * " " + "n",
        f"  a  {wide}  1"]


def test_columns_of_numbers_end_together_and_texts_begin_together(capsys):
    show([("i7 3740QM", "1e-3", "variable", "C2duo"), ("3D", "-12.5", "0.01", "Ryzen 5")], ("processor", "drift", "step", "machine"))
    lines = capsys.readouterr().out.splitlines()
    assert [line.index(text) for line, text in zip(lines, ("processor", "i7 3740QM", "3D"))] == [2, 2, 2]
    assert len({line.index(text) + len(text) for line, text in zip(lines, ("drift", "1e-3", "-12.5"))}) == 1
    assert len({line.index(text) + len(text) for line, text in zip(lines, ("step", "variable", "0.01"))}) == 1
    assert len({line.index(text) for line, text in zip(lines, ("machine", "C2duo", "Ryzen 5"))}) == 1


def test_a_table_without_rows_is_its_head(capsys):
    show([], ("a", "b [s]"))
    assert capsys.readouterr().out == "  a  b [s]\n"


@pytest.mark.parametrize("row", [("1",), ("1", "2", "3")])
def test_rows_that_do_not_fit_the_head_are_refused(row, capsys):
    with pytest.raises(ValueError, match=rf"row 1 of the table has {len(row)} cells, .* the head has 2, \['a', 'b'\]"):
        show([("1", "2"), row], ("a", "b"))
    assert capsys.readouterr().out == ""


# --- files -------------------------------------------------------------------------------------------------------------------------------


def test_dictionaries_as_csv(tmp_path):
    write_csv(tmp_path / "t.csv", [{"a": 1, "b": None, "h=0.1": 1e-300}, {"b": "x, y", "h=0.1": True, "a": 0.1}])
    assert (tmp_path / "t.csv").read_bytes() == b'a,b,h=0.1\r\n1,,1e-300\r\n0.1,"x, y",True\r\n'


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    a: int
    b: str | None


def test_dictionaries_and_dataclasses_give_the_same_file(tmp_path):
    write_csv(tmp_path / "1.csv", [Row(1, None), Row(2, "b")])
    write_csv(tmp_path / "2.csv", [{"a": 1, "b": None}, {"a": 2, "b": "b"}])
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    with open(tmp_path / "1.csv", encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "1", "b": ""}, {"a": "2", "b": "b"}]


@pytest.mark.parametrize("other", [{"a": 2}, {"a": 2, "b": 3, "c": 4}, {"a": 2, "c": 4}])
def test_rows_with_other_fields_are_refused(tmp_path, other):
    with pytest.raises(ValueError, match=rf"row 1 has the fields {', '.join(other)} where the first one has a, b"):
        write_csv(tmp_path / "t.csv", [{"a": 1, "b": 2}, other])
    assert not list(tmp_path.iterdir())


def test_output_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["script.py"])
    assert output_folder("A script.", "results/papers/x") == Path("results/papers/x") and Path("results/papers/x").is_dir()
    monkeypatch.setattr(sys, "argv", ["script.py", "--output", str(tmp_path / "a" / "b")])
    for _ in range(2):  # what is there already is taken
        assert output_folder("A script.", "unused") == tmp_path / "a" / "b" and (tmp_path / "a" / "b").is_dir()
    assert not Path("unused").exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["script.py", "--output", "file"])
    with pytest.raises(SystemExit, match="2"):
        output_folder("A script.", "unused")
    assert "cannot make the folder file: File exists; name another one by --output" in capsys.readouterr().err


# --- several scripts ---------------------------------------------------------------------------------------------------------------------

SCRIPT = '''
def main(output, n=1, **more):
    """Write a file, print, tell."""
    (output / "{name}.txt").write_text(str(n))
    print("  numbers of {name}")
    return f"{name} has [s] {{n}}"
'''


@pytest.fixture
def folder(tmp_path):
    """A folder of scripts, and one for their files in it."""
    for name in ("script_short", "script_that_is_long", "script_other"):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(name=name))
    (tmp_path / "script_bad.py").write_text("def main(output):\n    raise RuntimeError('no motion')\n")
    for name in ("all", "book", "common", "common_motion", "_one_thread"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.fixture
def importable(folder, monkeypatch):
    """The scripts can be imported, and are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in [n for n in sys.modules if n.startswith("script_")]:
        del sys.modules[name]


def test_scripts_of_a_folder(folder):
    assert scripts_of(folder) == ("script_bad", "script_other", "script_short", "script_that_is_long")


def test_scripts_run_in_turn_and_are_told_at_the_end(importable, capsys):
    out = importable / "out"
    run_all(("script_that_is_long", "script_short"), out, {"script_short": {"n": 7}})
    assert {p.name: p.read_text() for p in out.iterdir()} == {"script_that_is_long.txt": "1", "script_short.txt": "7"}
    assert capsys.readouterr().out.splitlines() == [
        "", "script_that_is_long", "  numbers of script_that_is_long", "", "script_short", "  numbers of script_short",
        "", f"Files are in {out}.", "",
        "  script_that_is_long     0 s  script_that_is_long has [s] 1",
        "  script_short            0 s  script_short has [s] 7"]


def test_what_a_script_raises_goes_through(importable, capsys):
    with pytest.raises(RuntimeError, match="no motion"):
        run_all(("script_short", "script_bad", "script_other"), importable / "out")
    assert [p.name for p in (importable / "out").iterdir()] == ["script_short.txt"]
    assert "Files are in" not in capsys.readouterr().out


def test_settings_of_a_script_that_does_not_run_are_refused(importable):
    with pytest.raises(ValueError, match="settings are given for 'script_shrot', which is not among the scripts to run: script_short"):
        run_all(("script_short",), importable / "out", {"script_shrot": {}})
    assert not list((importable / "out").iterdir())


# --- the papers --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", sorted(p.name for p in PAPERS.iterdir() if (p / "all.py").exists()))
def test_every_paper_has_a_folder_of_its_own_for_its_files(paper, tmp_path):
    run = subprocess.run([sys.executable, str(PAPERS / paper / "all.py"), "--help"], cwd=tmp_path, capture_output=True, text=True,
                         timeout=300, env=os.environ | {"COLUMNS": "200"}, check=True)
    assert f"(default {Path('results', 'papers', paper)})" in run.stdout and "make papers" in run.stdout
    assert not list(tmp_path.iterdir())


halves = scripts_in(PAPERS / "half_implicit")


def test_settings_choose_the_scripts_of_a_paper(halves, tmp_path, capsys):
    halves("all").main(tmp_path, {"fig7_setup": {"links": 2, "times": (0.0, 0.1)}})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fig7_setup.csv", "fig7_setup.curves.csv", "fig7_setup.png"]
    assert "\n  fig7_setup" in capsys.readouterr().out


def test_python_m_is_the_command():
    run = subprocess.run([sys.executable, "-m", "mbdae", "--version"], capture_output=True, text=True, timeout=300, check=True)
    assert run.stdout.strip().endswith(mbdae.__version__)
    run = subprocess.run([sys.executable, "-m", "mbdae", "solve", "no-such-mechanism"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 2 and run.stderr.startswith("mbdae: there is no mechanism 'no-such-mechanism'")
