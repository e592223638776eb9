"""One way to Redis for all that is kept there: bounded waits, no repeats, one error."""

from notify.redisclient.line import Line
from notify.redisclient.opening import open_redis, translated
from notify.redisclient.questions import Question, Script, whatever

__all__ = ["Line", "Question", "Script", "open_redis", "translated", "whatever"]
