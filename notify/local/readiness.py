"""Whether a server answers, asked in its own protocol."""

import base64
import http.client
import socket
from collections.abc import Callable

from notify.local.identity import Identity
from notify.local.ports import LOOPBACK

Check = Callable[[Identity], bool]

ASK_SECONDS = 2.0
AMQP_HEADER = b"AMQP\x00\x00\x09\x01"
AMQP_METHOD_FRAME = b"\x01"


def epmd_answers(identity: Identity) -> bool:
    try:
        with socket.create_connection((LOOPBACK, identity.ports["epmd"]), ASK_SECONDS):
            return True
    except OSError:
        return False


def rabbitmq_answers(identity: Identity) -> bool:
    return _amqp_answers(identity) and _management_answers(identity)


def redis_answers(identity: Identity) -> bool:
    return _exchange(identity.ports["redis"], b"PING\r\n", b"+PONG")


def _amqp_answers(identity: Identity) -> bool:
    return _exchange(identity.ports["amqp"], AMQP_HEADER, AMQP_METHOD_FRAME)


def _exchange(port: int, question: bytes, answer: bytes) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), ASK_SECONDS) as connection:
            connection.sendall(question)
            return connection.recv(64).startswith(answer)
    except OSError:
        return False


def _management_answers(identity: Identity) -> bool:
    """With the password: the first start creates the user late."""
    login = base64.b64encode(f"{identity.user}:{identity.password}".encode()).decode()
    connection = http.client.HTTPConnection(
        LOOPBACK, identity.ports["management"], timeout=ASK_SECONDS
    )
    try:
        connection.request("GET", "/api/overview", headers={"Authorization": f"Basic {login}"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
