"""What the codes of HTTP and of mail servers mean. Pure."""

import re
from http import HTTPStatus
from typing import Final


def enhanced_code(text: str) -> str:
    """The enhanced status code (RFC 3463) in what a mail server said; "" without one."""
    found = _ENHANCED.search(text)
    return found[0] if found else ""


def enhanced_meaning(code: str) -> str:
    """What an enhanced status code says, such as 5.1.1; "" where nobody has said."""
    kind, _, rest = code.partition(".")
    subject = rest.partition(".")[0]
    means = _DETAILS.get(rest) or _SUBJECTS.get(subject, "")
    return f"{means}{_KINDS.get(kind, '')}" if means else ""


def http_meaning(code: str) -> str:
    """What a status of HTTP is called; "" for what is none."""
    if not (code.isascii() and code.isdecimal()) or not 100 <= int(code) <= 599:
        return ""
    try:
        return HTTPStatus(int(code)).phrase.lower()
    except ValueError:
        return ""


def smtp_meaning(code: str) -> str:
    """What a mail server means by its code; "" for what is no refusal."""
    known = _SMTP.get(code)
    if known or len(code) != 3 or not (code.isascii() and code.isdecimal()):
        return known or ""
    return {"4": "the mail server refused for the moment", "5": "the mail server refused"}.get(
        code[0], ""
    )


_SMTP: Final = {
    "421": "the mail server is closing or too busy",
    "450": "the mailbox is not available now",
    "451": "the mail server had a fault, or greylists",
    "452": "the mail server has no room, or too many recipients",
    "432": "the mail server wants another password first",
    "454": "the mail server cannot check the login now",
    "455": "the mail server cannot take these parameters now",
    "500": "the mail server did not understand a command",
    "501": "the mail server did not understand an address",
    "502": "the mail server does not do what was asked",
    "503": "the mail server wanted the commands in another order",
    "504": "the mail server does not know a parameter",
    "521": "the host takes no mail at all",
    "530": "the mail server wants a login first",
    "534": "the way to log in is too weak for the mail server",
    "535": "login refused",
    "550": "the mailbox does not exist, or the mail is refused by policy",
    "551": "the recipient is not at this server",
    "552": "the mailbox is full, or the mail too large",
    "553": "the address is not allowed",
    "554": "the mail server refused the mail",
    "555": "the mail server does not take an address like this",
    "556": "the domain takes no mail",
}

_ENHANCED: Final = re.compile(r"(?<![0-9.])[245]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9.])")
_KINDS: Final = {"4": ", for the moment", "5": ", for good"}
_SUBJECTS: Final = {
    "0": "no more is said",
    "1": "something is wrong with an address",
    "2": "something is wrong with the mailbox",
    "3": "something is wrong with the mail system there",
    "4": "something is wrong with the network or the route",
    "5": "the mail servers did not understand each other",
    "6": "the content of the mail is not taken",
    "7": "refused by policy or for security",
}
# By subject and detail, whatever the class (RFC 3463 and what was registered since).
_DETAILS: Final = {
    "1.1": "there is no such mailbox",
    "1.2": "the domain does not exist or takes no mail",
    "1.3": "the address is not written as one",
    "1.4": "the address fits more than one mailbox",
    "1.6": "the mailbox has moved, nobody knows where to",
    "1.7": "the sender's address is not written as one",
    "1.8": "the sender's domain does not exist",
    "1.10": "the domain says that it takes no mail",
    "2.1": "the mailbox is disabled",
    "2.2": "the mailbox is full",
    "2.3": "the mail is too large for this mailbox",
    "2.4": "the mailing list cannot be expanded",
    "3.1": "the mail system has no room left",
    "3.2": "the mail system takes nothing now",
    "3.3": "the mail system cannot do what was asked",
    "3.4": "the mail is too large for the mail system",
    "3.5": "the mail system is set up wrongly",
    "4.1": "the mail server there does not answer",
    "4.2": "the connection broke",
    "4.3": "a directory, such as DNS, does not answer",
    "4.4": "no route leads there",
    "4.5": "the mail system is congested",
    "4.6": "the mail went in a circle",
    "4.7": "the mail was too long on its way",
    "5.1": "the command is not known there",
    "5.2": "the command was not written as it should be",
    "5.3": "too many recipients at once",
    "5.4": "a parameter of the command is wrong",
    "6.1": "the kind of content is not taken",
    "6.7": "addresses beyond ASCII are not taken",
    "7.1": "this sender may not write to this recipient",
    "7.2": "this sender may not write to the mailing list",
    "7.5": "a cryptographic check failed",
    "7.7": "the mail was changed on its way",
    "7.8": "the login is wrong",
    "7.9": "the way to log in is too weak",
    "7.10": "the connection must be encrypted",
    "7.11": "the login must be encrypted",
    "7.13": "the account is disabled",
    "7.17": "the mailbox has another owner now",
    "7.18": "the domain has another owner now",
    "7.20": "no DKIM signature holds",
    "7.21": "no DKIM signature is acceptable",
    "7.22": "no DKIM signature is the author's",
    "7.23": "SPF does not allow our server to send for the sender",
    "7.24": "the sender's SPF record is wrong",
    "7.25": "our server's address has no proper name (reverse DNS)",
    "7.26": "neither SPF nor DKIM allow it",
    "7.27": "the sender's domain takes no mail itself",
    "7.28": "too much mail of this kind",
    "7.30": "the way there is not encrypted, which the mail asks for",
}
