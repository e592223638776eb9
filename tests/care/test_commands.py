"""``notify care`` and the configured ``notify dead purge``: no server is needed for most."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from notify.outcomes import Reason
from notify.store import Store
from notify.store.care import CareBook, Case
from tests.archive.letters import ATTEMPT, NOW, dead
from tests.cli.conftest import Ran, offline, shell
from tests.deployment import Deployment

__all__ = ["offline", "shell"]

Shell = Callable[..., Ran]
PHONE = "+4915112345678"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Store]:
    """Three letters of this minute whose outcome is unknown."""
    with closing(Store(f"sqlite:///{tmp_path}/archive.sqlite3")) as opened:
        opened.create()
        now = datetime.now(UTC)
        letters = [dead(f"n-{n}", reason=Reason.UNKNOWN_OUTCOME, dead_at=now) for n in range(3)]
        opened.add(letters)
        yield opened


@pytest.fixture
def held(tmp_path: Path, archive: Store) -> None:
    with closing(CareBook(f"sqlite:///{tmp_path}/archive.sqlite3")) as book:
        case = Case(dead_seq=1, rule="unknown-sms", state="held", due_at=NOW, note="ask first")
        book.open([case])


def test_rules_and_what_is_held(held: None, offline: Shell) -> None:
    shown = offline("care", "show").out
    assert "provider-outage" in shown
    assert "held by unknown-sms: 1 (unknown_outcome, sms)" in shown
    assert "  notify dead list --state open --reason unknown_outcome --channel sms\n" in shown
    facts = json.loads(offline("care", "show", "--json").out)
    assert (facts["enabled"], facts["leader"]) == (True, None)
    assert [rule["rule"] for rule in facts["rules"]] == ["provider-outage", "unknown-sms"]
    assert facts["rules"][0]["match"] == {"reason": ["provider_outage"], "priority": ["normal"]}
    assert facts["held"][0]["letters"] == 1
    assert PHONE not in shown


def test_the_story_tells_what_a_rule_does(held: None, archive: Store, tmp_path: Path) -> None:
    from notify.care.rules import told

    with closing(CareBook(f"sqlite:///{tmp_path}/archive.sqlite3")) as book:
        assert told(book.case(1)) == "rule unknown-sms holds it for a person (ask first)"
        assert told(book.case(2)) == ""


def test_a_pause(archive: Store, offline: Shell) -> None:
    assert offline("care", "pause", "unknown-sms", "--by", "ann").code == 0
    rules = json.loads(offline("care", "show", "--json").out)["rules"]
    assert [rule["paused by"] for rule in rules] == [None, "ann"]
    assert offline("care", "pause").code == 0
    assert offline("care", "resume", "unknown-sms").out == "unknown-sms: resumed\n"
    again = offline("care", "resume", "unknown-sms")
    assert (again.code, again.err) == (1, "notify: unknown-sms is not paused\n")
    wrong = offline("care", "pause", "nobody")
    assert wrong.code == 2
    assert "RULE: must be one of provider-outage, unknown-sms" in wrong.err


def test_the_digest_of_now(archive: Store, offline: Shell) -> None:
    shown = offline("care", "digest").out
    assert shown.startswith("Notify: 3 new dead letters, 3 open\nFrom ")
    assert "3  unknown_outcome, sms, another" in shown
    assert PHONE not in shown
    assert json.loads(offline("care", "digest", "--json").out)["new"] == 3


def test_a_run_is_dry_until_it_is_told(deployment: Deployment, shell: Shell) -> None:
    now = datetime.now(UTC)
    busy = ATTEMPT | {"provider": "texts", "outcome": "temporary", "reason": "provider_error"}
    deployment.store.add(
        [
            dead(
                "old",
                reason=Reason.RETRIES_EXHAUSTED,
                dead_at=now - timedelta(hours=1),
                attempts=(busy,),
            ),
            dead("unsure", reason=Reason.UNKNOWN_OUTCOME, dead_at=now),
        ]
    )
    dry = shell("care", "run", "--dry-run")
    assert dry.code == 0
    assert "provider-outage: waiting" in dry.out
    assert "unknown-sms: held" in dry.out
    assert dry.out.endswith("nothing was sent; repeat with --yes\n")
    assert json.loads(shell("care", "run", "--json").out)["new"] == {
        "provider-outage: waiting": 1,
        "unknown-sms: held": 1,
    }
    done = json.loads(shell("care", "run", "--yes", "--json").out)
    assert (done["looked_at"], done["sent"]) == (2, {"provider-outage": 1})
    assert deployment.ready() == 1
    assert json.loads(shell("care", "run", "--yes", "--json").out)["sent"] == {}
    assert "there is nothing to do" in shell("care", "run").out
    assert shell("care", "run", "--yes", "--dry-run").code == 2


def test_a_run_by_hand_deletes_nothing(deployment: Deployment, shell: Shell) -> None:
    main = deployment.directory / "config" / "notify.toml"
    limits = '[archive]\nkeep = "20d"\nkeep_open = "20d"\n'
    main.write_text(main.read_text().replace("[archive]\n", limits))
    deployment.store.add([dead("old", dead_at=datetime.now(UTC) - timedelta(days=30))])
    assert shell("care", "run", "--yes").code == 0
    assert deployment.store.get("old")
    assert "1 would be deleted" in shell("dead", "purge").out


def test_another_leads(deployment: Deployment, shell: Shell) -> None:
    with closing(CareBook(deployment.settings.archive.url)) as book:
        assert book.lead("elsewhere:1", 60)
    ran = shell("care", "run", "--yes")
    assert (ran.code, ran.out) == (
        1,
        "another process does this at the moment; see notify care show\n",
    )


def test_a_purge_by_the_configuration(archive: Store, offline: Shell, tmp_path: Path) -> None:
    archive.add([dead("old", dead_at=datetime.now(UTC) - timedelta(days=200))])
    refused = offline("dead", "purge")
    assert refused.code == 2
    assert "archive.keep and archive.keep_most are not configured" in refused.err
    main = tmp_path / "notify.toml"
    main.write_text(
        f'[archive]\nkeep = "180d"\n[[archive.keep_less]]\nreason = "recipient_refused"\n'
        f'keep = "90d"\n{main.read_text()}'
    )
    dry = offline("dead", "purge")
    assert "1 would be deleted; repeat with --yes" in dry.out, "doomed twice, counted once"
    assert offline("dead", "purge", "--channel", "sms").code == 2
    done = json.loads(offline("dead", "purge", "--yes", "--json").out)
    assert done == {"done": True, "letters": 1, "by_reason": {"recipient_refused": 1}}
