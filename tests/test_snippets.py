"""Every snippet of README and docs runs, prints what the page says, and every command line in them is one that mbdae takes."""

import contextlib
import os
import re
import shlex
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from mbdae.cli.main import parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)(?P<title>[^\n]*)\n(?P<body>.*?)^ *```", re.S | re.M)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
TOLERANCE, ONE_DIGIT = 0.05, 0.5  # of printed numbers, and of those with one digit, such as 3e-06
# pages of many steps that rounding decides: the factor between errors on two processors (22 seen) and the counts' (14 % seen)
SCATTERED = {"docs/howto/formulation", "docs/howto/ida", "docs/howto/jacobian", "docs/howto/radau5", "docs/howto/scipy", "docs/jacobians"}
FACTOR, COUNTS = 50.0, 0.25
ROUNDING = 1e-9  # smaller numbers are rounding errors, of which the size is not compared

# pages that take more than some seconds
THOROUGH = {"checkpoints", "joint-coordinates", "projections", "scaling", "stability", "state-space", "structural", "events", "jacobian",
            "jacobians", "redundant-constraints", "method", "formulation", "mechanism", "equations", "results", "studies", "scipy"}
SLOW = {"rail-carriage", "passenger-car"}  # minutes


def name(page):
    """A page by its path."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


def snippets(page):
    """Pairs of code in Python and the output that follows it on the page, or `None`."""
    found = []
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["language"] == "python":
            found.append([re.sub(f"^{block['indent']}", "", block["body"], flags=re.M), None])
        elif "output" in block["title"] and found:
            found[-1][1] = re.sub(f"^{block['indent']}", "", block["body"], flags=re.M)
    return found


def commands(page):
    """Commands of mbdae in blocks of a shell, as lists of arguments."""
    text = page.read_text(encoding="utf-8")
    blocks = (b["body"] for b in BLOCK.finditer(text) if b["language"] == "sh")
    return [shlex.split(line, comments=True)[1:] for b in blocks for line in b.splitlines() if line.strip().startswith("mbdae ")]


def cases():
    """Pages with snippets, the longer ones marked."""
    return [pytest.param(p, id=name(p), marks=mark(p)) for p in PAGES if snippets(p)]


def mark(page):
    """The mark of a page by its duration."""
    if page.stem in SLOW:
        return pytest.mark.slow
    return pytest.mark.thorough if page.stem in THOROUGH or page.parent.name == "mechanisms" else ()


def assert_agrees(printed, promised, scattered=False):
    """The same words, and numbers that agree within `TOLERANCE` unless both are rounding errors; `scattered` errors in their size."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", promised).split()
    for found, wanted in zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True):
        one_digit = re.fullmatch(r"\de[-+]\d+", wanted)
        if one_digit and scattered:
            smaller, larger = sorted(max(abs(float(number)), ROUNDING) for number in (found, wanted))
            assert np.isfinite(float(found)) and larger <= FACTOR * smaller, (found, wanted)
        else:
            rel = ONE_DIGIT if one_digit else COUNTS if scattered else TOLERANCE
            assert float(found) == pytest.approx(float(wanted), rel=rel, abs=ROUNDING), (found, wanted)


@contextlib.contextmanager
def skipped_without_its_package():
    """A page of a solver that is not installed ends there; with `MBDAE_REQUIRE_SOLVERS=all`, as in `make test`, it fails."""
    try:
        yield
    except ImportError as error:
        if "needs the package" not in str(error) or os.environ.get("MBDAE_REQUIRE_SOLVERS") == "all":
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("page", cases())
def test_snippets_run(page, tmp_path, monkeypatch, capsys):
    """In the order of the page, in one namespace, from a folder with the examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    matplotlib.use("Agg")
    space = {"__name__": "snippets"}
    try:
        for code, promised in snippets(page):
            capsys.readouterr()
            with skipped_without_its_package():
                exec(compile(code, name(page), "exec"), space)
            if promised is not None:
                assert_agrees(capsys.readouterr().out, promised, name(page) in SCATTERED)
    finally:
        plt.close("all")


@pytest.mark.parametrize("page", [pytest.param(p, id=name(p)) for p in PAGES if commands(p)])
def test_commands_are_taken(page):
    """Every command parses; none is run."""
    for arguments in commands(page):
        if "--help" not in arguments:
            assert parser().parse_args(arguments).command is not None, arguments


def test_numbers_are_compared():
    assert_agrees("a 1.00 b 2e-15", "a 1.01 b 3e-14")
    for wrong in ("a 1.20 b 2e-15", "c 1.00 b 2e-15", "a 1.00 b 2e-3", "a 1.00"):
        with pytest.raises((AssertionError, ValueError)):
            assert_agrees(wrong, "a 1.01 b 3e-14")


def test_scattered_errors_are_compared_by_their_size():
    assert_agrees("error 9e-06", "error 2e-04", scattered=True)
    for printed in ("error 2e-02", "error nan", "error 3e-06"):
        with pytest.raises(AssertionError):
            assert_agrees(printed, "error 2e-04", scattered=True)
