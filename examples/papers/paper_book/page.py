"""The pages in Markdown: one for each paper, and the index with the counts of verdicts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .capture import Capture
from .compare import Line, disagreement, judged, lines
from .records import Item, Paper, Values, Verdict

FOLDER = "../../examples/papers"  # from docs/papers
MADE_BY = "<!-- written by `make papers` (examples/papers/make_book.py) from the manifests and the outputs of the scripts -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] | None = None) -> list[str]:
    """A table in Markdown; columns of numbers to the right."""
    rows = [list(map(_cell, row)) for row in rows]
    right = numbers or [False] * len(head)
    return [_row(map(_cell, head)), _row("---:" if r else "---" for r in right), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", "<br>").replace("<f", "&lt;f").strip() or " "


def anchor(label: str) -> str:
    """Of an item or a script."""
    return "".join(c if c.isalnum() else "-" for c in label.lower())


# --- a paper -----------------------------------------------------------------------------------------------------------------------------


def paper_page(paper: Paper, captures: dict[str, Capture]) -> str:
    """The page of a paper."""
    parts = [MADE_BY, "", f"# {paper.title}", "", paper.source, "", *_opening(paper, captures), *_overview(paper, captures), ""]
    for item in paper.items:
        parts += _item(paper, item, captures)
    return "\n".join(parts + _outputs(paper, captures)).rstrip() + "\n"


def _opening(paper: Paper, captures: dict[str, Capture]) -> list[str]:
    counted = Counter(i.verdict for i in paper.items)
    told = ", ".join(f"{counted[v]} {v.value}" for v in Verdict if counted[v])
    checked = sum(len(judged(i, captures)) for i in paper.items)
    text = [f"{len(paper.items)} rows: {told}. The generator has checked the verdicts against {checked} numbers that have a band.", "",
            "Ratios are ours over printed. Times are those of other machines and codes, so only ratios of times tell something.", ""]
    return text + [f"- {note}" for note in paper.notes] + ([""] if paper.notes else [])


def _overview(paper: Paper, captures: dict[str, Capture]) -> list[str]:
    rows = [(f"[{i.label}](#{anchor(i.label)})", i.title, i.verdict.value, str(len(judged(i, captures)) or ""), _link(paper, i.script),
             _equations(i)) for i in paper.items]
    return table(("", "", "verdict", "numbers checked", "script", "equations"), rows, [False, False, False, True, False, False])


def _link(paper: Paper, script: str | None) -> str:
    return f"[{script}.py]({FOLDER}/{paper.folder}/{script}.py)" if script else ""


def _equations(item: Item) -> str:
    return ", ".join(f"({n})" for n in item.equations)


def _item(paper: Paper, item: Item, captures: dict[str, Capture]) -> list[str]:
    parts = [f'<a id="{anchor(item.label)}"></a>', "", f"## {item.label}: {item.title}", "", _headline(paper, item), ""]
    wrong, capture = disagreement(item, captures), captures.get(item.script or "")
    parts += [f"> **To be checked:** {wrong}.", ""] if wrong else []
    pictures = [f"![{item.label}](figures/{paper.folder}_{name})" for name in item.figures if capture and name in capture.pictures]
    parts += [*table(("the paper shows", "here"), [(item.shows, "<br>".join(pictures))]), ""] if pictures else [item.shows, ""]
    for values in item.values:
        found = lines(values, item, captures)
        parts += [*_values(values, found), ""] if found else []
    return parts + ([item.remark, ""] if item.remark else [])


def _headline(paper: Paper, item: Item) -> str:
    parts = [f"**{item.verdict.value}**", f"equations {_equations(item)}" if item.equations else ""]
    for script in dict.fromkeys([item.script, *(v.script for v in item.values)]):
        if script:
            parts.append(f"{_link(paper, script)} ([output](#{anchor('output-' + script)}))")
            parts += [f"run with {paper.reduced[script].note}"] if script in paper.reduced else []
    return "; ".join(p for p in parts if p) + "."


def _values(values: Values, found: list[Line]) -> list[str]:
    words, checked = all(x.ratio is None for x in found), bool(values.band or values.span)
    head = [*values.keys, values.beside, "ours (runs nearby)" if values.span else "ours", "same" if words else "ratio"]
    rows = [[*x.keys, x.printed, x.ours, *_last(x, words, checked)] for x in found]
    numeric = [*(all(_is_number(x.keys[k]) for x in found) for k in range(len(values.keys))), not words, not words, not words]
    head += ["agrees"] if checked and not words else []
    return [f"{values.what[:1].upper()}{values.what[1:]}{_rule(values)}:", "",
            *table(head, rows, numeric + [False] * (len(head) - len(numeric)))]


def _rule(values: Values) -> str:
    """When a number counts as reproduced."""
    if values.span:
        return "; the printed number agrees if it is within the range of the runs nearby"
    if values.band is None:
        return ""
    low, high = values.band
    if abs(high - low) < 1e-3:
        return "; ours agrees if it is the printed number"
    return f"; ours agrees if the ratio is {f'from {low:g} to' if low else 'at most'} {high:g}"


def _last(x: Line, words: bool, checked: bool) -> list[str]:
    if words:
        return ["yes" if x.agrees else "no"]
    ratio = "-" if x.ratio is None else f"{x.ratio:.3g}"
    return [ratio, "yes" if x.agrees else "no"] if checked else [ratio]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- what the scripts print --------------------------------------------------------------------------------------------------------------


def _outputs(paper: Paper, captures: dict[str, Capture]) -> list[str]:
    place = f"results/papers/{paper.folder}"
    parts = ["## Output of the scripts", "",
             f"After a run, `{place}` has the CSV files of the tables, and the curves of each figure as `*.curves.csv`.", ""]
    for script in paper.scripts:
        parts += _output(paper, script, captures.get(script))
    return parts


def _output(paper: Paper, script: str, capture: Capture | None) -> list[str]:
    parts = [f'<a id="{anchor("output-" + script)}"></a>', "", f"### {script}.py", ""]
    if script in paper.more:
        parts += [paper.more[script], ""]
    if capture is None:
        return [*parts, "Not run.", ""]
    if capture.error:
        return [*parts, f"**Failed:** `{capture.error.splitlines()[-1]}`", "", _provenance(paper, script, capture), ""]
    parts += [_provenance(paper, script, capture), "", f"Summary: {capture.line}", ""]
    content = [line for block in capture.blocks for line in _block(block)]
    return [*parts, "<details><summary>all that it prints</summary>", "", *content, "</details>", ""] if content else parts


def _block(block: str | dict[str, list[list[str]]]) -> Iterator[str]:
    if isinstance(block, str):
        text = [line.rstrip() for line in block.splitlines() if line.strip()]
        yield from ["```text", *text, "```", ""] if text else []
        return
    rows = block["rows"]
    numbers = [any(_is_number(row[k].split()[0]) for row in rows if row[k].strip()) for k in range(len(block["head"]))]
    yield from [*table([str(h) for h in block["head"]], rows, numbers), ""]


def _provenance(paper: Paper, script: str, capture: Capture) -> str:
    run, settings = capture.run, paper.reduced.get(script)
    versions = ", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items() if version)
    told = f"; {settings.note}" if settings else ""
    return (f"Run on {run.get('date')} on {run.get('machine', {}).get('processor')}, commit {run.get('commit')}, {versions}; "
            f"{capture.cpu:.0f} s of processor time{told}.")


# --- the index ---------------------------------------------------------------------------------------------------------------------------


def index_page(books: Sequence[tuple[Paper, dict[str, Capture]]]) -> str:
    """The index with the count of each verdict."""
    counts = {p.folder: Counter(i.verdict for i in p.items) for p, _ in books}
    rows = [(f"[{p.title}]({p.folder}.md)", *(str(counts[p.folder][v] or "") for v in Verdict), str(len(p.items))) for p, _ in books]
    total = [str(sum(c[v] for c in counts.values())) for v in Verdict]
    rows.append(("all", *total, str(sum(len(p.items) for p, _ in books))))
    checked = sum(len(judged(i, captures)) for p, captures in books for i in p.items)
    open_ = [f"- {p.title}, {i.label}: {wrong}" for p, captures in books for i in p.items
             if (wrong := disagreement(i, captures))]
    parts = [MADE_BY, "", "# The paper book", "", _INTRODUCTION, "", *table(("paper", *(v.value for v in Verdict), "rows"), rows,
             [False] + [True] * (len(Verdict) + 1)), "", f"{checked} numbers have a band and are checked against the verdicts.",
             f"The scripts took {_minutes(books):.0f} minutes of processor time, those whose settings are reduced included.", ""]
    parts += ["To be checked:", "", *open_, ""] if open_ else []
    for verdict, title in ((Verdict.DIFFERS, "What differs"), (Verdict.NOT_IMPLEMENTED, "What is not implemented")):
        parts += [f"## {title}", "", *_list(books, verdict), ""]
    return "\n".join(parts).rstrip() + "\n"


def _minutes(books: Sequence[tuple[Paper, dict[str, Capture]]]) -> float:
    return sum(capture.cpu for _, captures in books for capture in captures.values()) / 60.0


_INTRODUCTION = """\
Each table and figure of the five papers that mbdae is made from, in order: the printed value, ours, their ratio, a verdict, the script
and the equations it rests on. `make papers` runs all scripts and writes these pages; `examples/papers/make_book.py --only half_implicit`
does one paper, `--from-captures` writes the pages anew from the outputs kept in `docs/papers/captures`.

- *reproduced*: numbers within the stated band; where the paper has none, what its text says of the curves.
- *differs*: the remark says why, as far as it is known.
- *data not public, stand-in chosen*: the model or the start of the paper cannot be had; ours has the same topology or size.
- *not implemented*: no script, no code.
- *nothing to compute*: sketches, notation, pseudo-code; the row says where the thing is in mbdae."""


def _list(books: Sequence[tuple[Paper, dict[str, Capture]]], verdict: Verdict) -> list[str]:
    found = [f"- [{p.title}, {i.label}]({p.folder}.md#{anchor(i.label)}): {i.remark.splitlines()[0] if i.remark else i.title}"
             for p, _ in books for i in p.items if i.verdict is verdict]
    return found or ["- none"]
