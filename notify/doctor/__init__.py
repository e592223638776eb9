"""``notify doctor``: looks at everything that Notify depends on, and says what is wrong."""

from notify.doctor.examine import ALL_CHECKS, counted, examine
from notify.doctor.finding import Check, Finding, Severity, worst

__all__ = ["ALL_CHECKS", "Check", "Finding", "Severity", "counted", "examine", "worst"]
