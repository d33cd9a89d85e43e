"""What Celery's worker does with messages of a broker connection that was lost."""

from __future__ import annotations

import logging
from typing import Any

from kombu import Connection, Consumer, Exchange, Producer, Queue

from tests.support.services import Redis

QUEUE = Queue("acknowledging", Exchange("acknowledging"), routing_key="acknowledging", no_ack=True)


def test_f9_a_message_of_a_lost_connection_is_acknowledged_later_and_the_worker_goes_on(redis: Redis) -> None:
    """Celery acknowledges in its loop, and so may do it when the connection of the message is gone already."""
    received: list[Any] = []
    with Connection(redis.database(), transport="config.broker:Transport") as lost:
        channel = lost.channel()
        Producer(channel, exchange=QUEUE.exchange, routing_key="acknowledging").publish({}, declare=[QUEUE])
        with Consumer(channel, [QUEUE], callbacks=[lambda body, message: received.append(message)], no_ack=True):
            lost.drain_events(timeout=10)
        channel.close()
    [message] = received
    message.ack_log_error(logging.getLogger(__name__), lost.connection_errors)
    assert message.acknowledged
