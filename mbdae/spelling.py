"""Suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_LENGTH = 60  # of names that are compared


def closest(name: object, known: Iterable[str]) -> str | None:
    """The known name that differs only in case, hyphens, underscores or spaces, or else by a few characters."""
    if not isinstance(name, str) or len(name) > MAX_LENGTH:
        return None
    names = list(known)
    for simplified in (_letters, str.lower):
        spelled = {simplified(k): k for k in reversed(names)}
        found = get_close_matches(simplified(name), spelled, 1)
        if found:
            return spelled[found[0]]
    return None


def guess(name: object, known: Iterable[str]) -> str:
    """Suffix of an error message: ` (did you mean 'andrews'?)`, or nothing.

    Examples
    --------
    >>> guess("slider_crank", ["slider-crank", "four-link"])
    " (did you mean 'slider-crank'?)"
    """
    found = closest(name, known)
    return "" if found is None else f" (did you mean {found!r}?)"


def _letters(name: str) -> str:
    """The name in lower case without separators."""
    return "".join(c for c in name.lower() if c not in "-_ .")
