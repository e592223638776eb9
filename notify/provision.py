"""Brings RabbitMQ and Redis into the state that Notify needs, or says what is missing."""

from contextlib import closing, suppress

from notify import topology
from notify.blocklist import Blocklist
from notify.broker import declare, reach
from notify.config import Settings
from notify.errors import ConfigError, LedgerUnavailable
from notify.ledger import Ledger
from notify.limits import Limits
from notify.management import Management
from notify.sending import GRACE
from notify.suppressions import Suppressions
from notify.systemd import stop_timeout
from notify.topology import Topology


def wanted(settings: Settings) -> Topology:
    """The topology for this configuration."""
    broker = settings.broker
    return topology.build(settings.queues(), broker.rungs, broker.delivery_limit)


def management(settings: Settings) -> Management:
    broker = settings.broker
    return Management.from_urls(broker.management_url, broker.urls[0], trusted=broker.ca_file)


def ledger(settings: Settings) -> Ledger:
    redis = settings.redis
    return Ledger(redis.url, prefix=redis.prefix, timeout=redis.timeout, replicas=redis.replicas)


def limits(settings: Settings) -> Limits:
    redis = settings.redis
    return Limits(redis.url, prefix=redis.prefix, timeout=redis.timeout)


def suppressions(settings: Settings) -> Suppressions:
    redis = settings.redis
    return Suppressions(redis.url, prefix=redis.prefix, timeout=redis.timeout)


def blocklist(settings: Settings) -> Blocklist:
    return Blocklist(suppressions(settings), settings.endpoints)


def declare_all(settings: Settings) -> None:
    """Creates the virtual host where missing, then exchanges, queues, bindings, policies.

    Repeating it changes nothing. Raises ``TopologyMismatch`` for a queue that exists with
    other arguments, ``BrokerUnavailable`` and ``ManagementUnavailable``.
    """
    api, plan, broker = management(settings), wanted(settings), settings.broker
    try:
        if not api.virtual_host_exists():
            api.create_virtual_host()
        for policy in plan.policies(api.version()):
            api.set_policy(policy)
    finally:
        api.close()
    with suppress(LedgerUnavailable), closing(ledger(settings)) as opened:
        opened.mark()
    declare(plan, broker.urls, timeout=broker.confirm_timeout, trusted=broker.ca_file)


def stop_problem(settings: Settings, channel: str) -> str:
    """Why a worker of that channel could be killed while it stops; empty where it has the time.

    It finishes what it sends, then makes sure of what follows.
    """
    deadline, allowed = settings.channel(channel).send.deadline, stop_timeout()
    needed = deadline + GRACE + settings.broker.confirm_timeout
    if needed < allowed:
        return ""
    return (
        f"channels/{channel}.toml: send.deadline: stopping may take {needed:g} s, and systemd"
        f" waits {allowed:g} s: raise TimeoutStopSec and NOTIFY_STOP_TIMEOUT in a drop-in"
    )


def check_services(settings: Settings, channel: str, priority: str) -> Settings:
    """The settings with a broker first that answers; raises unless RabbitMQ and Redis are as the
    worker of one queue needs them.

    ``TopologyMismatch`` lists the differences of the topology, ``ConfigError`` those of
    Redis's settings; ``Unavailable`` where one does not answer.
    """
    api, broker = management(settings), settings.broker
    try:
        api.require(topology.build([(channel, priority)], broker.rungs, broker.delivery_limit))
    finally:
        api.close()
    urls = reach(broker.urls, timeout=broker.connect_timeout, trusted=broker.ca_file)
    with closing(ledger(settings)) as opened:
        problems = opened.check()
    if problems:
        raise ConfigError(problems)
    return settings.model_copy(update={"broker": broker.model_copy(update={"urls": urls})})
