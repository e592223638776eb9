"""Providers in code of others, as a configuration names them."""

from collections.abc import Mapping
from typing import Any

from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason, Receipt


class Pigeon:
    def __init__(self, name: str, values: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        if values.get("lost"):
            raise ValueError(f"no way with {secrets}")
        self.name = "another" if values.get("renamed") else name
        self.values = values
        self.secrets = secrets

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        if notification.body == "stone":
            raise PermanentFailure(Reason.REFUSED, "too heavy")
        return Receipt(provider=self.name, provider_id=f"feather-{self.values['loft']}")


class Mute:
    def __init__(self, name: str, values: object, secrets: object) -> None:
        self.name = name


class Hasty(Mute):
    def send(self, notification: Notification) -> None:
        """Knows no deadline."""


class Modest:
    """Takes no secrets."""

    def __init__(self, name: str) -> None:
        self.name = name


NOT_A_CLASS = 5
