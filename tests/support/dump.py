"""Everything that the stores hold, as one text: where a search for secrets looks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
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
    """Every key with its serialised value, as text and as hex."""
    with redis.Redis.from_url(url) as client:
        return "\n".join(_readable(key) + " " + _readable(client.dump(key) or b"") for key in client.scan_iter())
