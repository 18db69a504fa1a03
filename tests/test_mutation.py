"""The operators of mutation testing: each change is one node of the syntax tree, and what only tunes or tells is left alone."""

import ast
from collections import Counter

import pytest

from .mutation.equivalent import equivalents
from .mutation.groups import GROUPS, ROOT
from .mutation.operators import mutations
from .mutation.page import page
from .mutation.result import Result

TOY = '''"""A toy."""

MAX_ITER = 30
TABLE = 0.25, 0.5


def f(a, e, q, n):
    """`2.0 * a`, in a text."""
    if n < 2:
        raise ValueError(f"n is {n + 1}, not {2 * n}")
    s = (0.0, -1.5 * a["s_i"])
    for k in range(1, n):
        q[k + 1] += (a - n) * e[2] / 4.0  # a * b
    return s, min(a, 0.5 * n), "1/4 -17/50", [0.0] * 3
'''


def changed(kind):
    return {m.change for m in mutations(TOY) if m.kind == kind}


def nodes(source):
    return Counter(ast.dump(n) for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.operator, ast.cmpop, ast.unaryop, ast.Constant)))


def test_each_change_is_one_node_of_a_source_that_parses():
    found = mutations(TOY)
    assert len({m.apply(TOY) for m in found}) == len(found) > 30
    before, lines = nodes(TOY), TOY.splitlines()
    for m in found:
        after = nodes(m.apply(TOY))
        gone, new = (before - after).total(), (after - before).total()
        assert (gone, new) in ((1, 1), (0, 1), (1, 0)) or (m.kind == "factor" and new == 0), m
        assert [k + 1 for k, (x, y) in enumerate(zip(lines, m.apply(TOY).splitlines(), strict=True)) if x != y] == [m.line], m


def test_the_changes():
    assert changed("sign") == {"-1.5 -> 1.5", "a - n -> a + n", "q[k + 1] += (a - n) * e[2] / 4.0 -> q[k + 1] -= (a - n) * e[2] / 4.0",
                               "0.5 * n -> -0.5 * n"}
    assert changed("product") == {'-1.5 * a["s_i"] -> -1.5 / a["s_i"]', "(a - n) * e[2] -> (a - n) / e[2]",
                                  "(a - n) * e[2] / 4.0 -> (a - n) * e[2] * 4.0", "0.5 * n -> 0.5 / n"}
    assert changed("comparison") == {"n < 2 -> n >= 2"}
    assert {'"1/4 -17/50" -> "1/4 -17017/50000"', '"1/4 -17/50" -> "-1/4 -17/50"', "0.25, 0.5 -> 0.25, (-0.5)",
            "4.0 -> 4.004"} <= {c.replace("(a - n) * e[2] / ", "") for c in changed("coefficient")}
    assert {'a["s_i"] -> a["s_j"]', "k + 1 -> k - 1", "k + 1 -> k + 2", "e[2] -> e[3]", "range(1, n) -> range(2, n)"} == changed("index")


def test_what_tunes_or_tells_is_left_alone():
    lines = {m.line for m in mutations(TOY)}
    assert lines.isdisjoint({1, 3, 8, 10})
    compared = "def f(x, y):\n    return x <= 1e3 * TOL * y\n"
    assert {m.change for m in mutations(compared)} == {"x <= 1e3 * TOL * y -> x > 1e3 * TOL * y"}
    assert not mutations("x: Array[float, 3]\n_F = types.float64[::1]\nRATE = 0.5\n")


@pytest.mark.thorough
def test_every_group_has_files_and_tests():
    for group in GROUPS:
        files = list(group.sources())
        assert len(files) >= len(group.files) and mutations((ROOT / files[0]).read_text(encoding="utf-8"))
        assert all((ROOT / test.split(" ")[0]).is_file() for test in group.tests)


@pytest.mark.thorough
def test_changes_that_make_no_difference_exist():
    for (file, line, change), reason in equivalents().items():
        source = (ROOT / file).read_text(encoding="utf-8")
        texts = source.splitlines()
        assert any(m.change == change and texts[m.line - 1].strip() == line for m in mutations(source)), (file, line, change)
        assert len(reason) > 10


def test_the_page_counts():
    results = [Result(str(k), GROUPS[0].title, "f.py", k, "sign", "x", f"{k}", killer, 1.0) for k, killer in enumerate(["a", "import", ""])]
    text = page(results, 3, 1)
    assert "3 mutants, of which 0 make no difference: 2 of the other 3 are killed, 66.7 %" in text
    assert f"| {GROUPS[0].title} | 3 | 0 | 2 | 1 | 66.7 % |" in text and "- `f.py`, line 2: `2`" in text

