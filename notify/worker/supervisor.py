"""What systemd is told: see ``notify.systemd``."""

from notify.systemd import tell_supervisor

__all__ = ["tell_supervisor"]
