"""Numbers in tables."""


def number(x: float | None) -> str:
    """An integer as it is, another number with two digits, `-` for `None`."""
    if x is None:
        return "-"
    if isinstance(x, int):
        return str(x)
    if x == 0.0:
        return "0"
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def short(x: float) -> str:
    """A step or tolerance: `1e-3`, `1.6e-5`."""
    return number(float(x)).replace(".0e", "e")


def milliseconds(seconds: float | None) -> str:
    """Milliseconds with three digits."""
    if seconds is None:
        return "-"
    ms = 1e3 * seconds
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}"


def percent(share: float | None) -> str:
    """A share in whole percent."""
    return "-" if share is None else f"{100.0 * share:.0f}"
