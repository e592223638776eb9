"""What is done about dead letters without anybody: sent again, held for a person, told daily."""

from notify.care.carer import Carer, Done, Resend, preview
from notify.care.leading import Care, caring
from notify.care.rules import Decision, decide

__all__ = ["Care", "Carer", "Decision", "Done", "Resend", "caring", "decide", "preview"]
