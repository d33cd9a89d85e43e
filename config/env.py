"""Typed readers for environment variables. A wrong value stops the start with one sentence that names the variable."""

from __future__ import annotations

import importlib
import ipaddress
import os
import re
import secrets
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from elicit_flows.lib import egress_proxy, line_sinks, mail_server
from elicit_flows.lib import networks as allowed

ORIGIN = re.compile(r"(https?)://([a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
CONNECTION_AGE = 600  # seconds: the longest life of a connection, so that none outlives a failover for long


def text(name: str, default: str | None = None) -> str | None:
    """The value of ``NAME``, or the contents of the file that ``NAME_FILE`` names (container secrets)."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
            raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read ({why}).") from None
    return os.environ.get(name) or default


def flag(name: str, *, default: bool = False) -> bool:
    value = (text(name) or ("on" if default else "off")).lower()
    if value in {"1", "on", "true", "yes"}:
        return True
    if value in {"0", "off", "false", "no"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}: it must be on or off.")


def installed(name: str, module: str, packages: str) -> None:
    """Refuse a variable whose optional packages are not installed."""
    if os.environ.get(name):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ImproperlyConfigured(
                f"{name} is set, but {module} is not installed: pip install {packages}, or leave the variable out."
            ) from error


def number(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name)
    if value is None:
        return default
    if not value.isdecimal() or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be a whole number from {low} to {high}.")
    return int(value)


def one_of(name: str, default: str, values: Sequence[str]) -> str:
    """One of ``values``, in upper or lower case."""
    given = (text(name) or default).lower()
    if given not in values:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(values)}.")
    return given


def networks(name: str) -> list[str]:
    """Comma-separated addresses and networks, as in ``10.0.0.0/8, 2001:db8::1``; returned in canonical form."""
    found = []
    for part in (text(name) or "").split(","):
        one = part.strip()
        if not one:
            continue
        if one == "*":
            raise ImproperlyConfigured(
                f"{name} is '*': name the networks. To trust every address, write 0.0.0.0/0,::/0."
            )
        try:
            found.append(str(ipaddress.ip_network(one)))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} contains {one!r}, which is neither an address nor a network: {error}."
            ) from error
    return found


def allowed_networks(name: str) -> tuple[allowed.AllowedNetwork, ...]:
    """Networks with ports, as in ``10.20.0.0/16:443,8443, [fd12:3456::/48]``."""
    try:
        return allowed.read(text(name) or "")
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error


def proxy(name: str) -> egress_proxy.EgressProxy | None:
    value = text(name)
    try:
        return egress_proxy.read(value) if value else None
    except ValueError as error:  # the value is not repeated: it may hold a password
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def smtp(name: str, *, password: str | None) -> mail_server.MailServer | None:
    value = text(name)
    try:
        return mail_server.read(value, password) if value else None
    except ValueError as error:  # the value is not repeated: it may hold a password
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def sender(name: str, *, needed: bool) -> str:
    """An e-mail address; "" where it is not set and not needed."""
    value = text(name) or ""
    if value or needed:
        try:
            validate_email(value)
        except ValidationError as error:
            raise ImproperlyConfigured(
                f"{name} is {value!r}: it must be an e-mail address, as in flows@example.com."
            ) from error
    return value


def authorities(name: str) -> str | None:
    """The path of a PEM file with at least one certificate."""
    path = text(name)
    if path is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:  # ssl.SSLError is one, too
        raise ImproperlyConfigured(f"{name}: {path} cannot be read as certificates ({error.strerror}).") from error
    return path


def audit_log(name: str, ca: str | None) -> line_sinks.Sink | None:
    value = text(name)
    try:
        return line_sinks.read(value, ca) if value else None
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is {value!r}: {error}.") from None


def address(name: str) -> tuple[str, int] | None:
    """``HOST:PORT``, as in ``127.0.0.1:9300`` or ``[::1]:9300``; None where it is not set."""
    value = text(name)
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be HOST:PORT, as in 127.0.0.1:9300.")
    return host.strip("[]"), int(port)


def gone(name: str, instead: str) -> None:
    """Refuse a variable that was renamed, instead of ignoring it silently."""
    if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
        raise ImproperlyConfigured(f"{name} is no longer used: set {instead} instead.")


def origin(name: str, default: str, *, allow_http: bool) -> str:
    """An absolute URL without path: scheme, host and port, as browsers write it (RFC 6454, section 6.2). Django would
    take another form of it for another origin, and refuse what people send from the pages.
    """
    value = text(name) or default
    found = ORIGIN.fullmatch(value.lower().rstrip("/"))
    scheme, host, port = found.groups() if found else ("", "", "")
    if not host or not 0 < int(port or 1) < 65536:
        raise ImproperlyConfigured(
            f"{name} is {value!r}: it must be an address like https://flows.example.com, with a name of other letters "
            "than a to z in its form xn--."
        )
    if scheme == "http" and not (allow_http or host in {"127.0.0.1", "localhost", "[::1]"}):
        raise ImproperlyConfigured(f"{name} is {value!r}: only https is safe for a host that others can reach.")
    usual = {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{host}" if int(port or usual) == usual else f"{scheme}://{host}:{int(port)}"


def redis(name: str, *, password: str | None) -> str | None:
    """The address of a Redis. ``password`` replaces the one in it."""
    value = text(name)
    if not value:
        return None
    scheme, found = value.partition("://")[0], ports_are_numbers(value)
    if found and scheme != "unix":
        parts = urlsplit(value)
        found = scheme in {"redis", "rediss"} and bool(parts.hostname) and not parts.path.strip("/0123456789")
    if not found:  # the value is not repeated: it may hold a password
        raise ImproperlyConfigured(
            f"{name} must be redis://host:port/number, rediss:// with TLS, or unix:///path: put a password with "
            "characters such as / # ? @ % into REDIS_PASSWORD."
        )
    if dict(parse_qsl(urlsplit(value).query)).get("ssl_cert_reqs", "required") not in {"required", "optional", "none"}:
        raise ImproperlyConfigured(f"{name}: ssl_cert_reqs must be required, optional or none.")
    return with_password(value, password)


def broker(name: str, default: str | None) -> str | None:
    """The address of a message broker that Celery knows, or several with semicolons."""
    value = text(name, default)
    if not value:
        return None
    known = importlib.import_module("kombu.transport").TRANSPORT_ALIASES
    for one in value.split(";"):
        scheme, separator, _ = one.partition("://")
        if not separator or scheme.partition("+")[0] not in known or not ports_are_numbers(one):
            raise ImproperlyConfigured(
                f"{name} (or else REDIS_URL) must be redis://host:port/number, redis+socket:///path, "
                "amqp://user:password@host:port/name, or rediss:// or amqps:// with TLS."
            )
    return value


def ports_are_numbers(address: str) -> bool:
    """Whether the address can be read; a password that is not percent-encoded often makes its port no number."""
    with suppress(ValueError):
        return urlsplit(address).port != 0
    return False


def with_password(address: str | None, password: str | None) -> str | None:
    """Add a password from a variable of its own to ``redis://host:6379/0``, so that nobody has to percent-encode it."""
    if not (address and password):
        return address
    scheme, separator, rest = address.partition("://")
    user, _, host = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}:{quote(password, safe='')}@{host}"


def database(name: str, default: str, base: Path, password: str | None = None) -> dict[str, Any]:
    """Django's DATABASES entry for sqlite:///relative/path, sqlite:////absolute/path or postgres[ql]://…

    ``password`` replaces the one in the address.
    """
    value = text(name) or default
    try:
        parts = urlsplit(value)
        port = str(parts.port or "")
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} cannot be read: put a password with characters such as / # ? @ % into DATABASE_PASSWORD."
        ) from error
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
                # FULL: a commit survives a power cut, as on PostgreSQL. secure_delete: what is deleted, such as an
                # unsent answer, does not stay in the file until its page is used again.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
                "PRAGMA secure_delete=ON;",
            },
        }
    if parts.scheme in {"postgres", "postgresql"} and parts.path.strip("/"):
        return {
            "ENGINE": "elicit_flows.lib.postgresql",
            "NAME": parts.path.strip("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": password or unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": port,
            "CONN_MAX_AGE": CONNECTION_AGE,
            "CONN_HEALTH_CHECKS": True,
            # A cursor is there only on its own connection, and PgBouncer may give the next statement another one.
            "DISABLE_SERVER_SIDE_CURSORS": True,
            # Prepare at the first use, where a cursor prepares at all: elicit_flows/lib/postgresql.
            "OPTIONS": {"connect_timeout": 5, "prepare_threshold": 0, **query_options(name, parts.query)},
        }
    raise ImproperlyConfigured(f"{name} must be sqlite:///path or postgres://user:password@host:port/name.")


def prepare_nothing(database: dict[str, Any]) -> None:
    """For a PgBouncer that does not track prepared statements."""
    if not str(database["ENGINE"]).endswith("sqlite3"):
        database["OPTIONS"]["prepare_threshold"] = None


def limit_sessions(database: dict[str, Any], *, statement: int, lock: int, idle: int) -> None:
    """Set PostgreSQL's time limits, in seconds, for each connection; 0 sets none. Options in the URL win."""
    if str(database["ENGINE"]).endswith("sqlite3"):
        return
    limits = {"statement_timeout": statement, "lock_timeout": lock, "idle_in_transaction_session_timeout": idle}
    said = [f"-c {name}={seconds}s" for name, seconds in limits.items() if seconds]
    said.append(database["OPTIONS"].get("options", ""))
    if options := " ".join(filter(None, said)):
        database["OPTIONS"]["options"] = options


def query_options(name: str, query: str) -> dict[str, str]:
    """The options of PostgreSQL's library in an address."""
    options = {key: unquote(value) for key, _, value in (part.partition("=") for part in query.split("&") if part)}
    psycopg = importlib.import_module("psycopg")
    try:
        psycopg.conninfo.make_conninfo(**options)
        psycopg.conninfo.timeout_from_conninfo(options)
    except psycopg.ProgrammingError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error
    return options


def kept(name: str, path: Path, make: str) -> str:
    """The variable, or else the secret in the file ``path``, which is made on first use with mode 0600. The file gets
    its name once it is complete: another process, or a full disk, never leaves an empty secret.
    """
    value = text(name)
    if value:
        return value
    if value == "":  # of a file that was named: a secret in its place would go with the container
        raise ImproperlyConfigured(f"{name}_FILE: {os.environ[f'{name}_FILE']} is empty.")
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=path.parent, prefix=f".{path.name}-") as file:
                file.write(make)
                file.flush()
                with suppress(FileExistsError):  # another process was first
                    os.link(file.name, path)
        found = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is not set and {path} cannot be read or written ({error.strerror})."
        ) from error
    if not found:
        raise ImproperlyConfigured(f"{name} is not set and {path} is empty: delete it, and a new one is made.")
    return found


def new_secret() -> str:
    return secrets.token_urlsafe(48)
