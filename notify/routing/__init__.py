"""Which provider gets a notification next, and when: order, weights, limits, breakers."""

from notify.routing.choice import Availability, Barred, NoProvider
from notify.routing.fleet import Fleet, Opening
from notify.routing.router import Router, Turn

__all__ = ["Availability", "Barred", "Fleet", "NoProvider", "Opening", "Router", "Turn"]
