"""What the installed release of Assimulo does in every trap that `mbdae.adapters.assimulo` guards against.

`python -m tests.benchmarks.assimulo_traps [--only TEXT] [--jobs 2] [--json FILE]` prints a table; `--compare A.json B.json` prints one in
Markdown with a column for each of two releases, and the defaults in which they differ.

The problems are plain ones of Assimulo. Each trial, a trap with one solver, has a process of its own: several hang or crash.
"""
