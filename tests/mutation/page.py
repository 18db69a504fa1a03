"""The page of the documentation."""

from collections.abc import Sequence

from .groups import GROUPS
from .result import Result

HEAD = """\
# Mutation testing: does a test notice a wrong sign?

`python -m tests.mutation` changes the code in one place at a time and runs the fast tests that guard the place: a change that no test
notices has survived, and gets a test. The changes (`tests/mutation/operators.py`) are those that typing or deriving a formula goes wrong
by:

- sign: `a + b` for `a - b`, `x` for `-x`, `-a * b` for `a * b`;
- product: `a / b` for `a * b` and the reverse; factor: `a` or `b` for `a * b`;
- coefficient: a number times 1.001 or with the other sign, an entry of a tableau, 0.001 for 0;
- index: the next component, `k - 1` for `k + 1`, another end of a loop or exponent, body `j` for body `i`;
- comparison: `<` for `>=`, `==` for `!=`.

They are drawn at random, with the same probability for each change within a group of files; groups whose tests integrate motions have
fewer. Messages and documentation are not changed, nor are numbers for which any value nearby will do: tolerances, limits of iterations,
shares in tests of convergence. Changes that make no difference to any result are listed by hand in `tests/mutation/equivalent.toml`, with
the reason, and do not count. The tests run on kernels as plain Python (`NUMBA_DISABLE_JIT=1`) in a copy of the checkout: one mutant takes
some seconds, where compiling it would take a minute. A file of tests that takes two minutes of CPU time counts as killed by `timeout`; a
change with which the package cannot be imported, as of a tableau that fails its own check, as killed by `import`.

This page is written by

    python -m tests.mutation --count {count} --seed {seed} --output docs/mutation.md

in about {minutes:.0f} minutes of CPU time. Results are kept in `results/mutation.jsonl`, so that a run that was broken off goes on;
`--again` repeats the survivors, another `--seed` draws other changes, `--groups` and `--files` select a part, and `--baseline` times the
tests without a change.

"""


def page(results: Sequence[Result], count: int, seed: int) -> str:
    """The page in Markdown."""
    minutes = sum(r.seconds for r in results) / 60.0
    lines = [HEAD.format(count=count, seed=seed, minutes=minutes) + _totals(results), ""]
    lines += _table("group", {g.title: [r for r in results if r.group == g.title] for g in GROUPS})
    lines += ["", *_table("change", {k: [r for r in results if r.kind == k] for k in dict.fromkeys(r.kind for r in results)})]
    lines += ["", "Files and tests of the groups:", "", *(_described(g.title, g.files, g.tests) for g in GROUPS)]
    lines += ["", "## Survivors", "", *([_listed(r) for r in results if r.survived and not r.reason] or ["None."])]
    lines += ["", "## Changes that make no difference", "", *(f"{_listed(r)}: {r.reason}" for r in results if r.reason)]
    return "\n".join(lines) + "\n"


def _totals(results: Sequence[Result]) -> str:
    equivalent, killed = sum(bool(r.reason) for r in results), sum(bool(r.killer) for r in results)
    late = sum(r.killer in ("timeout", "import") for r in results)
    counted = len(results) - equivalent
    return (f"{len(results)} mutants, of which {equivalent} make no difference: {killed} of the other {counted} are killed, "
            f"{_percent(results)}; {late} of them by `timeout` or `import`.")


def _percent(results: Sequence[Result]) -> str:
    counted = [r for r in results if not r.reason]
    return f"{100.0 * sum(bool(r.killer) for r in counted) / len(counted):.1f} %" if counted else ""


def _table(title: str, rows: dict[str, list[Result]]) -> list[str]:
    lines = [_row(title, "mutants", "no difference", "killed", "survived", "killed"), _row(*["---"] * 6)]
    for name, results in rows.items():
        equivalent, killed = sum(bool(r.reason) for r in results), sum(bool(r.killer) for r in results)
        lines.append(_row(name, *map(str, (len(results), equivalent, killed, len(results) - equivalent - killed)), _percent(results)))
    return lines


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _described(title: str, files: Sequence[str], tests: Sequence[str]) -> str:
    return f"- {title}: {', '.join(f'`{f}`' for f in files)}; {', '.join(f'`{t}`' for t in tests)}"


def _listed(r: Result) -> str:
    return f"- `{r.file}`, line {r.line}: `{r.change}`"
