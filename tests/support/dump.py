"""Everything that the stores hold, as one text: where a search for secrets looks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis


def database(url: str) -> str:
    """Every column of every row of every table, binary values as text and as hex."""
    return _postgres(url) if urlsplit(url).scheme.startswith("postgres") else _sqlite(urlsplit(url).path)


def _sqlite(path: str) -> str:
    # sqlite:////absolute/path leaves one slash too many; the service writes while we read.
    with sqlite3.connect(f"file:{path.replace('//', '/')}?mode=ro", uri=True, timeout=20) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(_rows(name, connection.execute(f'SELECT * FROM "{name}"')) for name in names)


def _postgres(url: str) -> str:
    listing = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    with psycopg.connect(url, autocommit=True) as connection:
        names = [name for (name,) in connection.execute(listing)]
        return "\n".join(_rows(name, connection.execute(f'SELECT * FROM "{name}"'.encode())) for name in names)


def _rows(name: str, rows: Iterable[tuple[object, ...]]) -> str:
    return "\n".join([f"[{name}]", *(" | ".join(map(_readable, row)) for row in rows)])


def _readable(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return f"{raw.decode('utf-8', 'replace')} {raw.hex()}"
    return str(value)


def redis_database(url: str) -> str:
    """Every key with what it holds, as text and as hex. Not by DUMP, which compresses."""
    with redis.Redis.from_url(url) as client:
        return "\n".join(" ".join(map(_readable, [key, *_held(client, key)])) for key in client.scan_iter())


def _held(client: redis.Redis, key: Any) -> list[Any]:
    """The values under ``key``, of whichever of the types that are in use here."""
    kind = client.type(key)
    if kind == b"string":
        return [client.get(key) or b""]
    if kind == b"list":
        return client.lrange(key, 0, -1)
    if kind == b"set":
        return list(client.smembers(key))
    if kind == b"zset":
        return client.zrange(key, 0, -1)
    if kind == b"hash":
        return [part for pair in client.hgetall(key).items() for part in pair]
    return [] if kind == b"none" else [client.dump(key) or b""]
