"""Whether the machines agree on what time it is."""

from collections.abc import Iterator

from notify.doctor.finding import Check, Finding, fine, note, warning


def clock(check: Check, what: str, skew: float | None, most: float) -> Iterator[Finding]:
    """Whether another machine's clock agrees with this one's; ``most`` seconds apart is fine."""
    if skew is None:
        yield note(check, f"{what} does not say what time it is")
    elif abs(skew) > most:
        way = "ahead of" if skew > 0 else "behind"
        yield warning(check, f"{what}'s clock is {abs(skew):.1f} s {way} this machine's")
    else:
        yield fine(check, f"{what}'s clock agrees with this machine's within {most:g} s")
