"""The paper book: run the scripts of the papers and write docs/papers, a page for each paper and an index. `make papers` runs this.

    python examples/papers/make_book.py                          all papers
    python examples/papers/make_book.py --only half_implicit     one paper
    python examples/papers/make_book.py --only half_implicit --script fig9_friction
    python examples/papers/make_book.py --from-captures          the pages again, from the outputs kept in docs/papers/captures

The manifests are `book.py` in the folders of the papers. The exit status is 1 if a script fails or a verdict of a manifest disagrees with
the numbers.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from paper_book.capture import Capture, load, run_script  # noqa: E402
from paper_book.compare import problems  # noqa: E402
from paper_book.page import index_page, paper_page  # noqa: E402
from paper_book.pictures import small_copy  # noqa: E402
from paper_book.records import Paper  # noqa: E402

ROOT = HERE.parents[1]
FOLDERS = ("half_implicit", "corrector_iteration", "projected_rk", "null_space", "thesis")  # in the order of their run times
DOCS, RESULTS = ROOT / "docs" / "papers", ROOT / "results" / "papers"


def manifest(folder: str) -> Paper:
    """The manifest of a paper."""
    spec = importlib.util.spec_from_file_location(f"book_of_{folder}", HERE / folder / "book.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAPER


def kept(paper: Paper, docs: Path = DOCS) -> dict[str, Capture]:
    """The captures of a paper that there are, by script."""
    found = {script: load(docs / "captures" / paper.folder, script) for script in paper.scripts}
    return {script: capture for script, capture in found.items() if capture}


def run(paper: Paper, scripts: tuple[str, ...], docs: Path, results: Path) -> None:
    """Run scripts of a paper, keep their captures and small copies of their pictures."""
    for script in scripts:
        print(f"\n{paper.folder}/{script}.py", flush=True)
        settings = paper.reduced[script].settings if script in paper.reduced else {}
        capture = run_script(paper, script, results / paper.folder, settings)
        capture.save(docs / "captures" / paper.folder)
        wanted = {name for item in paper.items if item.script == script for name in item.figures}
        for name in wanted & set(capture.pictures):
            small_copy(results / paper.folder / name, docs / "figures" / f"{paper.folder}_{name}")
        print(f"  {capture.error or capture.line}", flush=True)


def write(papers: tuple[Paper, ...], docs: Path = DOCS) -> list[str]:
    """Write the pages of papers and the index of all; returns what is wrong with the verdicts."""
    docs.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        (docs / f"{paper.folder}.md").write_text(paper_page(paper, kept(paper, docs)), encoding="utf-8")
    books = [(paper, kept(paper, docs)) for paper in map(manifest, FOLDERS)]
    (docs / "README.md").write_text(index_page(books), encoding="utf-8")
    return [f"{paper.folder}, {line}" for paper in papers for line in problems(paper.items, kept(paper, docs))]


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PAPER", choices=FOLDERS, help=f"one of {', '.join(FOLDERS)}")
    parser.add_argument("--script", metavar="NAME", action="append", help="only this script of the paper; may be repeated")
    parser.add_argument("--from-captures", action="store_true", help="run nothing")
    chosen = parser.parse_args(arguments)
    papers = tuple(manifest(folder) for folder in ([chosen.only] if chosen.only else FOLDERS))
    for paper in () if chosen.from_captures else papers:
        unknown = set(chosen.script or ()) - set(paper.scripts)
        if unknown:
            parser.error(f"{paper.folder} has no script {', '.join(sorted(unknown))}, but {', '.join(paper.scripts)}")
        run(paper, tuple(chosen.script or paper.scripts), DOCS, RESULTS)
    wrong = write(papers)
    print("\n".join(["", f"Pages are in {DOCS}.", *(f"  to be checked: {line}" for line in wrong)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
