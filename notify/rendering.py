"""A notification from a template: rendered once, before it is published."""

from collections.abc import Mapping
from typing import Any, Final

from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.templates import Templates

_CONTENT: Final = ("subject", "body", "html", "data", "template_version")


def from_template(
    templates: Templates,
    name: str,
    variables: Mapping[str, Any],
    *,
    channel: str,
    recipient: str,
    **fields: Any,
) -> Notification:
    """Name and version of the template are recorded; ``fields`` are a notification's others.

    Raises ``InvalidNotification``, for a variable as ``variables.NAME``; ``ConfigError`` for
    a template that is not valid.
    """
    for field in _CONTENT:
        if fields.get(field) is not None:
            raise InvalidNotification(field, "comes from the template")
    rendered = templates.get(name).render(channel, variables)
    return Notification(
        channel=channel,
        recipient=recipient,
        subject=rendered.subject,
        body=rendered.body,
        html=rendered.html,
        data=rendered.data,
        template=rendered.name,
        template_version=rendered.version,
        **{key: value for key, value in fields.items() if key not in _CONTENT},
    )


def from_texts(
    templates: Templates, name: str, texts: Mapping[str, str], **fields: Any
) -> Notification:
    """The same with values that come as text, from an option or a file."""
    return from_template(templates, name, templates.get(name).read(texts), **fields)
