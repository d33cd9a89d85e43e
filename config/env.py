"""Typed readers for environment variables. A wrong value stops the start with one sentence that names the variable."""

from __future__ import annotations

import importlib
import os
import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str | None = None) -> str | None:
    """The value of ``NAME``, or the contents of the file that ``NAME_FILE`` names (container secrets)."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read ({error.strerror}).") from error
    return os.environ.get(name) or default


def flag(name: str, *, default: bool = False) -> bool:
    value = (text(name) or ("on" if default else "off")).lower()
    if value in {"1", "on", "true", "yes"}:
        return True
    if value in {"0", "off", "false", "no"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}: say on or off.")


def installed(name: str, module: str, extra: str) -> None:
    """What the variable asks for is there, where it is set."""
    if os.environ.get(name):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ImproperlyConfigured(
                f"{name} is set, but {module} is not installed: pip install '{extra}', or leave the variable out."
            ) from error


def number(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name)
    if value is None:
        return default
    if not value.isdecimal() or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be a whole number from {low} to {high}.")
    return int(value)


def origin(name: str, default: str, *, allow_http: bool) -> str:
    """An absolute URL without path: scheme, host and port."""
    value = (text(name) or default).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.username:
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be an address like https://flows.example.com.")
    if parts.scheme == "http" and not (allow_http or parts.hostname in {"127.0.0.1", "localhost", "::1"}):
        raise ImproperlyConfigured(f"{name} is {value!r}: only https is safe for a host that others can reach.")
    return value


def database(name: str, default: str, base: Path) -> dict[str, object]:
    """Django's DATABASES entry for sqlite:///relative/path, sqlite:////absolute/path or postgres[ql]://…"""
    value = text(name) or default
    parts = urlsplit(value)
    if parts.scheme == "sqlite":
        path = parts.path[1:] if parts.path.startswith("/") else parts.path
        if not path:
            raise ImproperlyConfigured(f"{name}: sqlite needs a file, as in sqlite:///var/elicit.sqlite3.")
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(base / path),
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # FULL: an acknowledged commit survives a power cut, as on PostgreSQL.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
            },
        }
    if parts.scheme in {"postgres", "postgresql"} and parts.path.strip("/"):
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.path.strip("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {"connect_timeout": 5, **query_options(parts.query)},
        }
    raise ImproperlyConfigured(f"{name} must be sqlite:///path or postgres://user:password@host:port/name.")


def query_options(query: str) -> dict[str, str]:
    return {key: unquote(value) for key, _, value in (part.partition("=") for part in query.split("&") if part)}


def kept(name: str, path: Path, make: str) -> str:
    """The variable, else the secret kept in ``path``, made on first use with mode 0600."""
    value = text(name)
    if value:
        return value
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name} is not set and {path} cannot be made ({error.strerror}).") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(make)
    return make


def new_secret() -> str:
    return secrets.token_urlsafe(48)
