"""The Redis that the processes of one service share. Its client is imported when it is used: many services have none.

It takes 10 MB, and a tenth of the time in which the server starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redis import Redis


def client() -> Redis:
    """The client of REDIS_URL, with the connections that Django's cache uses."""
    from django_redis import get_redis_connection  # noqa: PLC0415

    return get_redis_connection("default")


def client_of(url: str, **options: int) -> Redis:
    """A client of another Redis, which is closed as a context. ``options``: as redis-py has them."""
    from redis import Redis  # noqa: PLC0415

    return Redis.from_url(url, **options)


def errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a call of a client raises when Redis cannot be reached or refuses, for an ``except`` clause that catches
    ``others`` too.
    """
    from redis.exceptions import RedisError  # noqa: PLC0415

    return RedisError, OSError, *others
