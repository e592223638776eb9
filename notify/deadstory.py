"""A dead letter as a story that can be forwarded: what, to whom, when, and what to do."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from notify.explanations import explain
from notify.protocolcodes import enhanced_code, enhanced_meaning
from notify.store import ArchivedLetter, Replay
from notify.telemetry import mask

# All but tabs and line feeds, and what turns the direction of a text.
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
Meaning = Callable[[str | None, str, str], str]
"""Of a code, by channel and provider."""

_OUTCOMES: Final = {
    "sent": "was accepted",
    "temporary": "failed for the moment",
    "permanent": "was refused",
    "unknown": "ended without an answer, so that nobody knows whether it arrived",
}
_REPLAYS: Final = {
    "publishing": "was begun and not finished: replay it again",
    "published": "was sent again",
    "failed": "was not sent",
    "waiting": "waits for its turn",
    "left out": "left it out",
}


def list_facts(row: ArchivedLetter, reveal: bool) -> dict[str, Any]:
    """One letter of a list, for programs."""
    letter = row.letter
    return {
        "seq": row.seq,
        "id": letter.id,
        "generation": letter.generation,
        "channel": letter.channel,
        "priority": letter.priority,
        "recipient": shown(letter.recipient, reveal),
        "provider": None if letter.provider is None else _whole_text(letter.provider),
        "reason": letter.reason,
        "code": row.code,
        "detail": letter.detail,
        "template": row.template,
        "batch": row.batch,
        "schedule": row.schedule,
        "dead_at": _time(letter.dead_at),
        "state": row.state,
        "count": row.count,
    }


def export_facts(row: ArchivedLetter, reveal: bool) -> dict[str, Any]:
    """One letter of an export: with every attempt and, revealed, with its content."""
    letter = row.letter
    facts = list_facts(row, reveal) | {
        "labels": dict(letter.labels),
        "first_queued": _time(letter.first_queued),
        "archived_at": _time(row.archived_at),
        "attempts": list(letter.attempts),
    }
    return _printable(facts | (_content_of(row) if reveal else {}))


EXPORTED: Final = (
    *("seq", "id", "generation", "channel", "priority", "recipient", "provider", "reason"),
    *("code", "detail", "template", "batch", "schedule", "first_queued", "dead_at"),
    *("archived_at", "state", "count", "attempts", "answer", "labels", "subject", "body"),
)
"""The columns of an export as a table."""


def export_line(row: ArchivedLetter, reveal: bool) -> list[Any]:
    """One letter of such a table: the number of its attempts, and the last answer."""
    facts = export_facts(row, reveal)
    last = facts["attempts"][-1] if facts["attempts"] else {}
    facts |= {"answer": last.get("answer"), "attempts": len(facts["attempts"])}
    facts |= {"labels": json.dumps(facts["labels"]) if facts["labels"] else ""}
    facts |= {name: (facts.get("notification") or {}).get(name) for name in ("subject", "body")}
    return [facts[name] for name in EXPORTED]


def _content_of(row: ArchivedLetter) -> dict[str, Any]:
    letter = row.letter
    return {
        "notification": letter.notification,
        "headers": letter.headers,
        "raw": None if letter.raw is None else letter.raw.decode(errors="replace"),
    }


def story_facts(
    row: ArchivedLetter, replays: Sequence[Replay], meaning: Meaning, reveal: bool
) -> dict[str, Any]:
    """All that the archive knows of a letter, and what it means."""
    letter, explained = row.letter, explain(row.letter.reason)
    content = letter.notification or {}
    facts = list_facts(row, reveal) | {
        "labels": dict(letter.labels),
        "created_at": content.get("created_at"),
        "expires_at": content.get("expires_at"),
        "first_queued": _time(letter.first_queued),
        "archived_at": _time(row.archived_at),
        "attempts": [_attempt(each, letter.channel, meaning) for each in letter.attempts],
        "broker": _broker(letter.headers),
        "replays": [_replay(each) for each in replays],
        "means": explained.means,
        "todo": _todo(row, explained.todo),
        "runbook": explained.runbook,
        "trace": letter.trace,
    }
    return _printable(facts | (_content_of(row) if reveal else {}))


def shown(recipient: str | None, reveal: bool) -> str:
    if not recipient:
        return ""
    return recipient if reveal else mask(recipient)


def tell(facts: Mapping[str, Any]) -> str:
    """The facts of ``story_facts`` in words. No content can look like a line of the story, or
    do something to a terminal."""
    return "\n".join(_CONTROL.sub("�", line).replace("\n", "\n      ") for line in _lines(facts))


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"Dead letter {facts['seq']}, {facts['state']}: {_what(facts)} (times are UTC)"
    if facts.get("made_by"):
        yield f"  sent again by {facts['made_by']}"
    yield from _content(facts)
    if facts["first_queued"]:
        yield f"  {facts['first_queued']}  queued, priority {facts['priority']}"
    for attempt in facts["attempts"]:
        yield from _tell_attempt(attempt)
    if not facts["attempts"]:
        yield "  no attempt is known"
    detail = f" ({facts['detail']})" if facts["detail"] else ""
    yield f"  {facts['dead_at']}  given up as {facts['reason']}{detail}: {facts['means']}"
    yield from (_tell_death(death) for death in facts["broker"])
    yield f"  {facts['archived_at']}  archived{_times(facts['count'])}"
    yield from (_tell_replay(replay) for replay in facts["replays"])
    if facts.get("care"):
        yield f"  by itself: {facts['care']}"
    if facts.get("became"):
        yield f"  since then: {facts['became']}"
    yield f"What to do: {facts['todo']}"
    yield f"More: the runbook {facts['runbook']}"


def _what(facts: Mapping[str, Any]) -> str:
    channel, recipient = facts["channel"] or "a message", facts["recipient"] or "nobody known"
    generation = f", generation {facts['generation']}" if facts["generation"] > 1 else ""
    return f"{channel} to {recipient}, id {facts['id'] or 'unknown'}{generation}"


def _content(facts: Mapping[str, Any]) -> Iterator[str]:
    for name in ("template", "batch", "schedule"):
        if facts[name]:
            yield f"  {name} {facts[name]}"
    labels = ", ".join(f"{name}={value}" for name, value in facts["labels"].items())
    if labels:
        yield f"  labels {labels}"
    content = facts.get("notification") or {}
    for name in ("subject", "body", "data"):
        if content.get(name) is not None:
            yield f"  {name}: {content[name]}"
    if facts.get("raw"):
        yield f"  as it came: {facts['raw']!r}"


def _tell_attempt(attempt: Mapping[str, Any]) -> Iterator[str]:
    said = _OUTCOMES.get(str(attempt["outcome"]), attempt["outcome"])
    via = f" through {attempt['provider']}" if attempt["provider"] else ""
    detail = f" ({attempt['detail']})" if attempt["detail"] else ""
    outcome = f"{attempt['outcome']}, {attempt['reason']}" if attempt["reason"] else ""
    yield (
        f"  {_instant(attempt['at'])}  attempt {attempt['attempt']}{via} {said}"
        f" after {attempt['ms']} ms: {outcome or attempt['outcome']}{detail}"
    )
    if attempt["code"]:
        means = f", {attempt['code_means']}" if attempt["code_means"] else ""
        yield f"      its code: {attempt['code']}{means}"
    if attempt["enhanced_means"]:
        yield f"      in detail: {attempt['enhanced']}, {attempt['enhanced_means']}"
    if attempt["answer"]:
        yield f"      it said: {attempt['answer']}"
    if attempt["means"]:
        yield f"      that is: {attempt['means']}"


def _tell_death(death: Mapping[str, Any]) -> str:
    times = f" {death['count']} times" if (death["count"] or 1) > 1 else ""
    return f"      in RabbitMQ: left queue {death['queue']}{times}, {death['reason']}"


def _tell_replay(replay: Mapping[str, Any]) -> str:
    note = f": {replay['note']}" if replay["note"] else ""
    said = _REPLAYS.get(replay["state"], replay["state"])
    return f"  {replay['at']}  replay by {replay['actor'] or 'somebody'} {said}{note}"


def _times(count: int) -> str:
    return f", seen {count} times" if count > 1 else ""


def _attempt(attempt: Mapping[str, Any], channel: str | None, meaning: Meaning) -> dict[str, Any]:
    """What a stranger published as an attempt may lack anything."""
    names = ("generation", "attempt", "at", "provider", "outcome", "reason", "detail", "code")
    facts = {name: attempt.get(name, "") for name in (*names, "ms", "answer")}
    code, reason = str(facts["code"] or ""), str(facts["reason"] or "")
    said = f"{facts['detail']} {facts['answer']}"
    enhanced = enhanced_code(said) if channel == "email" else ""
    return facts | {
        "enhanced": enhanced,
        "enhanced_means": enhanced_meaning(enhanced),
        "code": code,
        "code_means": meaning(channel, str(facts["provider"]), code) if code else "",
        "means": explain(reason).means if reason else "",
    }


def _broker(headers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where it stood in RabbitMQ, the earliest first."""
    deaths = headers.get("x-death")
    found = [each for each in deaths if isinstance(each, dict)] if isinstance(deaths, list) else []
    names = ("queue", "reason", "time", "exchange")
    return [
        {name: each.get(name) for name in names} | {"count": _whole(each.get("count"))}
        for each in reversed(found)
    ]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _replay(replay: Replay) -> dict[str, Any]:
    return asdict(replay) | {"at": _time(replay.at)}


def _todo(row: ArchivedLetter, todo: str) -> str:
    if row.state == "erased":
        return "nothing: whom it was for has been erased, and this is what stays for statistics"
    if row.state == "replayed":
        return f"nothing: it was sent again; notify status {row.letter.id} tells what became of it"
    return todo


def _printable(facts: dict[str, Any]) -> dict[str, Any]:
    """Without halves of surrogate pairs, which strangers publish and no terminal takes."""
    found: dict[str, Any] = json.loads(_whole_text(json.dumps(facts, ensure_ascii=False)))
    return found


def _whole_text(text: str) -> str:
    return text.encode(errors="replace").decode()


def _instant(text: Any) -> Any:
    """As the other times; what a stranger wrote as it is."""
    try:
        return _time(datetime.fromisoformat(text).astimezone(UTC))
    except (TypeError, ValueError, OverflowError):
        return text


def _time(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%d %H:%M:%S}"
