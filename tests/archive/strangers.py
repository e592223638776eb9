"""Bodies and headers that a stranger might publish, for hypothesis."""

import json
from datetime import UTC

from hypothesis import strategies as st

from notify.deadletter import encode
from tests.archive.letters import NOW, dead, sms

amqp = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.datetimes(timezones=st.none() | st.just(UTC)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
names = st.sampled_from(
    ["task", "x-death", "x-last-death-queue", "notify-id", "notify-generation", "traceparent"]
)
headers = st.dictionaries(names | st.text(), amqp | st.just("notify.deliver"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
fields = st.fixed_dictionaries(
    {}, optional=dict.fromkeys([*sms().to_dict(), "reason", "dead_at", "attempts"], values)
)
own = fields.map(lambda change: json.loads(encode(dead(), now=NOW).body) | change)
work = fields.map(lambda change: [[], {"notification": sms().to_dict() | change}, {}])
bodies = st.binary() | (own | work | values).map(lambda value: json.dumps(value).encode())
