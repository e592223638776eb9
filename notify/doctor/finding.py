"""What the doctor says about one thing that it looked at."""

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """``NOTE``: could not be looked at, or is good to know; nobody must act."""

    FINE = 0
    NOTE = 1
    WARNING = 2
    CRITICAL = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """``name`` stands for it in JSON, in monitoring and in the runbooks, and stays.

    ``why`` says what happens where nothing is done; ``runbook`` is a file of ops/runbooks
    without its ending.
    """

    name: str
    why: str
    runbook: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """``what`` was found, in one line without secrets and personal data."""

    check: Check
    severity: Severity
    what: str

    def to_dict(self) -> dict[str, str]:
        severe = self.severity >= Severity.WARNING
        return {
            "check": self.check.name,
            "severity": self.severity.name.lower(),
            "what": self.what,
            "why": self.check.why if severe else "",
            "runbook": f"ops/runbooks/{self.check.runbook}.md" if severe else "",
        }


def fine(check: Check, what: str) -> Finding:
    return Finding(check=check, severity=Severity.FINE, what=what)


def note(check: Check, what: str) -> Finding:
    return Finding(check=check, severity=Severity.NOTE, what=what)


def warning(check: Check, what: str) -> Finding:
    return Finding(check=check, severity=Severity.WARNING, what=what)


def critical(check: Check, what: str) -> Finding:
    return Finding(check=check, severity=Severity.CRITICAL, what=what)


def worst(findings: list[Finding]) -> Severity:
    """Of nothing: fine."""
    return max((finding.severity for finding in findings), default=Severity.FINE)
