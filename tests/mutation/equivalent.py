"""Changes that make no difference, listed by hand in `equivalent.toml`."""

import tomllib
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("equivalent.toml")


@cache
def equivalents() -> dict[tuple[str, str, str], str]:
    """File, line of text and change -> the reason."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8")).get("mutant", [])
    return {(e["file"], e["line"], e["change"]): e["reason"] for e in entries}
