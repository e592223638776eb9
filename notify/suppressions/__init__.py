"""Suppressions, in Redis: recipients that get nothing until somebody says otherwise."""

from notify.suppressions.suppressions import Suppressions
from notify.suppressions.values import ENDPOINT_FAILING, Failing, Suppression

__all__ = ["ENDPOINT_FAILING", "Failing", "Suppression", "Suppressions"]
