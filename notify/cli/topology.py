"""``notify topology``."""

from dataclasses import asdict

import click

from notify import provision
from notify.cli.context import (
    FAILED,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
)
from notify.cli.tables import print_table


@click.group()
def topology() -> None:
    """Exchanges, queues, bindings and policies in RabbitMQ."""


@topology.command()
@json_option
@pass_context
def show(context: Context, as_json: bool) -> None:
    """Prints the topology for this configuration, without asking the broker."""
    plan = provision.wanted(context.settings)
    if as_json:
        policies = [asdict(policy) for policy in plan.policies((4, 0))]
        print_json(asdict(plan) | {"policies": policies})
        return
    print_table(["exchange", "type"], [(e.name, e.type) for e in plan.exchanges])
    say("")
    arguments = [
        (q.name, " ".join(f"{k}={v}" for k, v in q.arguments.items())) for q in plan.queues
    ]
    print_table(["queue", "arguments"], arguments)
    say("")
    bindings = [(b.exchange, b.routing_key, b.queue) for b in plan.bindings]
    print_table(["exchange", "routing key", "queue"], bindings)


@topology.command()
@json_option
@pass_context
@click.pass_context
def diff(command: click.Context, context: Context, as_json: bool) -> None:
    """Compares RabbitMQ with the topology; exit code 1 where they differ."""
    api = provision.management(context.settings)
    differences = api.differences(provision.wanted(context.settings))
    if as_json:
        print_json({"differences": differences})
    else:
        say("\n".join(differences) or "RabbitMQ has the topology that Notify needs")
    command.exit(FAILED if differences else 0)


@topology.command()
@pass_context
def declare(context: Context) -> None:
    """Declares what is missing and sets the policies; never changes a living queue."""
    provision.declare_all(context.settings)
    plan = provision.wanted(context.settings)
    say(f"declared {len(plan.exchanges)} exchanges and {len(plan.queues)} queues")
