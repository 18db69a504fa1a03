"""The index of equations: complete, expanded, and up to date in docs/equations.md."""

import re
from pathlib import Path

import pytest

from mbdae.cli.main import main
from mbdae.pages.equations import _of_text, citations, equations_page, missing, numbers, where

ROOT = Path(__file__).parent.parent


def cited(text):
    return [(c.paper, c.equation, c.line) for c in _of_text(text, "file.py")]


def test_ranges_are_expanded_and_letters_left_out():
    assert cited("[Fang, eqs. (9d), (11a)-(13)]") == [("Fang", k, 1) for k in ("9", "11", "12", "13")]
    assert cited("[Negrut, eqs. (2.29)-(3.2) and (B.4)]") == [("Negrut", k, 1) for k in ("2.29", "3.1", "3.2", "B.4")]


def test_lines_are_those_of_the_numbers():
    assert cited("a\n[Arnold, eqs. (3),\n    (5)]\nb\neq. (7)") == [("Arnold", "3", 2), ("Arnold", "5", 3), ("Arnold", "7", 5)]


def test_an_equation_belongs_to_the_source_cited_last():
    assert cited("eq. (1)\n[Wei, eq. (2)]\neq. (3)\n[Fang, section 3]\neq. (4)") == [
        ("Wei", "1", 1), ("Wei", "2", 2), ("Wei", "3", 3), ("Fang", "4", 5)]


@pytest.mark.parametrize(("text", "part"), [("[Fang, eq. (99)]", "has no equation"), ("see eq. (3)", "without a source")])
def test_citations_of_nothing_are_refused(text, part):
    with pytest.raises(ValueError, match=part):
        cited(text)


def test_every_citation_is_where_it_is_said_to_be():
    for c in citations():
        line = (ROOT / c.file).read_text().splitlines()[c.line - 1]
        assert re.search(r"\([A-Z\d][\d.]*[a-d]?\)", line), c


def test_what_is_not_cited_has_an_answer():
    assert missing("Negrut", "3.157") == "not implemented: parallel factorisation in joint coordinates"
    assert missing("Fang", "1") == "not cited"
    assert len(numbers("Negrut")) == 29 + 157 + 91 + 6 + 13 + 35


def test_an_equation_is_found_by_its_number_with_or_without_its_paper():
    assert [paper for paper, _, _ in where("12")] == ["Fang", "Arnold", "Wei", "Bustos"]
    [(paper, number, found)] = where("fang (12)")
    assert (paper, number, found[0].file) == ("Fang", "12", "mbdae/integrators/half_implicit.py")
    with pytest.raises(ValueError, match=r"no equation .7\.1."):
        where("7.1")


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "equations.md").read_text() == equations_page(), "run: mbdae equations --output docs/equations.md"


def test_command(capsys):
    assert main(["equations", "Negrut 3.126", "3.157"]) == 0
    out = capsys.readouterr().out
    assert "Negrut (3.126)  mbdae/system/" in out
    assert "Negrut (3.157)  not implemented" in out
    assert main(["equations", "7.1"]) == 2
    assert main(["equations"]) == 2
