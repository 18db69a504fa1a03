"""`python -m tests.mutation [--count N] [--seed S] [--groups A,B] [--files GLOB] [--found FILE] [--again] [--output docs/mutation.md]`.

Changes the code in one place, runs the tests of `groups.py` that guard it, and lists what they do not notice. Results in the FILE are not
computed again as long as the changed file is the same, except those of survivors with `--again`: a run that was broken off goes on.
"""

import argparse
import fnmatch
import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from .equivalent import equivalents
from .groups import GROUPS, ROOT, Group
from .operators import Mutation, mutations
from .page import page
from .result import Result
from .runner import Copy, Run


def main() -> int:
    """Run mutants, print the survivors."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=230, help="number of mutants")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--groups", help="titles of some groups")
    p.add_argument("--files", default="*", help="only files that match")
    p.add_argument("--timeout", type=float, default=120.0, help="seconds of CPU time for one file of tests")
    p.add_argument("--found", type=Path, default=ROOT / "results" / "mutation.jsonl", help="results, also those of an earlier run")
    p.add_argument("--again", action="store_true", help="run those again that have survived")
    p.add_argument("--baseline", action="store_true", help="only run the tests without a change, and print their times")
    p.add_argument("--output", type=Path, help="write the page")
    arguments = p.parse_args()
    by_title = {g.title: g for g in GROUPS}
    wanted = [by_title[title] for title in arguments.groups.split(",")] if arguments.groups else list(GROUPS)
    share = arguments.count / sum(g.share for g in GROUPS)
    chosen = {g.title: list(choose(g, round(share * g.share), arguments.seed, arguments.files)) for g in wanted}
    arguments.found.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Copy(ROOT, Path(folder))
        if arguments.baseline:
            return _baseline(copy, wanted)
        results = list(_run(copy, wanted, chosen, arguments))
    for r in results:
        if r.survived and not r.reason:
            print(f"{r.file}:{r.line}: {r.change}")
    print(_summary(results))
    if arguments.output:
        arguments.output.write_text(page(results, arguments.count, arguments.seed), encoding="utf-8")
    return 0


def choose(group: Group, count: int, seed: int, files: str = "*") -> Iterator[tuple[str, Mutation]]:
    """Some of the changes of a group at random, all with the same probability."""
    every = [(name, m) for name in group.sources() if fnmatch.fnmatch(name, files)
             for m in mutations((ROOT / name).read_text(encoding="utf-8"))]
    random.Random(f"{seed} {group.title}").shuffle(every)
    yield from every[:count]


def _baseline(copy: Copy, groups: list[Group]) -> int:
    """Whether the tests pass without a change, and how long they take."""
    failed = ""
    for test in dict.fromkeys(test for group in groups for test in group.tests):
        run = copy.run([test], 600.0)
        failed = failed or run.failed
        print(f"{run.seconds:6.1f} s {run.failed or 'passed'} {test}", flush=True)
    return int(bool(failed))


def _run(copy: Copy, groups: list[Group], chosen: dict[str, list[tuple[str, Mutation]]], arguments: argparse.Namespace) -> Iterator[Result]:
    known, total, done = _kept(arguments.found, arguments.again), sum(map(len, chosen.values())), 0
    for group in groups:
        for name, m in chosen[group.title]:
            result = known.get(_key(name, m)) or _tried(copy, group, name, m, arguments)
            done += 1
            verdict = f"killed by {result.killer}" if result.killer else "equivalent" if result.reason else "SURVIVED"
            print(f"{done}/{total} {result.seconds:5.1f} s {name}:{m.line} {m.change[:90]}: {verdict[:100]}", flush=True)
            yield result


def _tried(copy: Copy, group: Group, name: str, m: Mutation, arguments: argparse.Namespace) -> Result:
    """The result of one change, appended to the file; those known to be equivalent are not run."""
    source = (ROOT / name).read_text(encoding="utf-8")
    line = source.splitlines()[m.line - 1].strip()
    reason = equivalents().get((name, line, m.change), "")
    run = Run("", 0.0) if reason else copy.run_changed(name, m.apply(source), group.tests, arguments.timeout)
    if run.failed:
        copy.check(run.tests, 600.0)
    result = Result(_key(name, m), group.title, name, m.line, m.kind, line, m.change, run.failed, run.seconds)
    if not reason:
        with arguments.found.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
    return result


def _key(name: str, m: Mutation) -> str:
    """Names a change of a file with this content."""
    return sha256(f"{name} {m.start} {m.end} {m.text} {(ROOT / name).read_text(encoding='utf-8')}".encode()).hexdigest()[:16]


def _kept(path: Path, again: bool) -> dict[str, Result]:
    """Results of an earlier run; the last one of each change counts."""
    if not path.exists():
        return {}
    found = {r.key: r for r in (Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())}
    return {key: r for key, r in found.items() if r.killer or not (again or r.reason)}


def _summary(results: list[Result]) -> str:
    killed, equivalent = sum(bool(r.killer) for r in results), sum(r.survived and bool(r.reason) for r in results)
    return f"{len(results)} mutants, {equivalent} equivalent, {killed} killed, {len(results) - equivalent - killed} survived"


if __name__ == "__main__":
    raise SystemExit(main())
