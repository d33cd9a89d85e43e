"""Rules of ``[notifications]`` and ``[[recipient]]``, and how they are put on their rows."""

from __future__ import annotations

from typing import Any

from elicit_flows import http, vault
from elicit_flows.config_file.brands import email
from elicit_flows.config_file.values import InvalidValue
from elicit_flows.domain.values import Secret
from elicit_flows.lib import web_push
from elicit_flows.models import NotificationSettings, Recipient

MAX_CHAT = 10
MAX_PUSH_HOSTS = 20


def address(value: Any) -> str:
    """An e-mail address that every mail server takes."""
    found = email(value)
    if not found.isascii():
        raise InvalidValue("must be an e-mail address in ASCII; write a domain in its xn-- form")
    return found


def push_host(value: Any) -> str:
    """The host of a push service, without scheme, port and path."""
    try:
        target = http.check_url(f"https://{value}") if isinstance(value, str) else None
    except http.Refused:
        target = None
    if target is None or target.host != value:
        raise InvalidValue("must be the name of a host in lower case, such as push.example.com")
    return target.host


def check_chat_of_all(given: Secret) -> None:
    """An apprise URL for everybody, in which ``{email}`` stands for the person's address. Raises InvalidValue."""
    from elicit_flows.notifications import chat  # noqa: PLC0415  apprise takes long to import

    if chat.PLACE not in given.reveal():
        raise InvalidValue("must contain {email}, or everybody's messages would go to the same place")
    check_chat(given)


def check_chat(given: Secret) -> None:
    """An apprise URL. Raises InvalidValue, which does not repeat it: it holds a secret."""
    from elicit_flows.notifications import chat  # noqa: PLC0415

    if fault := chat.fault(given):
        raise InvalidValue(fault)


def set_chat(row: NotificationSettings | Recipient, urls: list[Secret]) -> dict[str, None]:
    """Put the sealed URLs on the row; the caller saves it. What differs, without its values."""
    if vault.contacts.open_chat(row) == urls:
        return {}
    vault.contacts.seal_chat(row, urls)
    return {"chat": None}


def set_signing_secret(row: NotificationSettings, secret: Secret | None) -> dict[str, None]:
    """Put the sealed secret on the row; the caller saves it."""
    if vault.contacts.open_signing_secret(row) == secret:
        return {}
    vault.contacts.seal_signing_secret(row, secret)
    return {"webhook_secret": None}


def make_push_key(row: NotificationSettings) -> None:
    """Give the row a key if it offers web push and has none. It stays: browsers subscribe to this key alone."""
    if row.push and not row.push_key:
        vault.contacts.seal_push_key(row, Secret(web_push.new_key()))


def set_email(row: Recipient, wanted: str) -> dict[str, tuple[Any, Any] | None]:
    """Put the sealed address on the row; the caller saves it."""
    before = vault.contacts.open_email(row)
    if before == wanted:
        return {}
    vault.contacts.seal_email(row, wanted)
    return {"email": (before, wanted)}
