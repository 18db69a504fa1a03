"""Names that are looked up: an unknown one is answered with the one that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 60  # longer names are not compared


def closest(name: object, known: Iterable[str]) -> str | None:
    """The known name that differs in upper and lower case, hyphens, underscores or spaces only, or else by a few characters."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return None
    names = list(known)
    for simplified in (_letters, str.lower):
        spelled = {simplified(k): k for k in reversed(names)}
        found = get_close_matches(simplified(name), spelled, 1)
        if found:
            return spelled[found[0]]
    return None


def guess(name: object, known: Iterable[str]) -> str:
    """What a message adds: ` (did you mean 'andrews'?)`, or nothing.

    Examples
    --------
    >>> guess("slider_crank", ["slider-crank", "four-link"])
    " (did you mean 'slider-crank'?)"
    """
    found = closest(name, known)
    return "" if found is None else f" (did you mean {found!r}?)"


def _letters(name: str) -> str:
    """A name without what is easily confused."""
    return "".join(c for c in name.lower() if c not in "-_ .")
