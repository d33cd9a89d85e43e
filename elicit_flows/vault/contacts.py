"""Seals and opens where people are told that something waits for them, and the links with which they unsubscribe."""

from __future__ import annotations

import json
from collections.abc import Sequence

from elicit_flows.domain.values import Json, Secret
from elicit_flows.lib import web_push
from elicit_flows.models import Contact, NotificationSettings, PushSubscription, Recipient
from elicit_flows.vault.seal import SealBroken, place, reveal, ring, seal

_UNSUBSCRIBE = place("unsubscribe", "link")


def seal_email(row: Contact | Recipient, address: str) -> None:
    """Seal the address into the row; the caller saves it."""
    row.email = seal(Secret(address) if address else None, email_place(row))


def open_email(row: Contact | Recipient) -> str:
    """The address, or "". Raises Unavailable if it cannot be opened."""
    found = reveal(row.email, email_place(row))
    return found.reveal() if found else ""


def seal_chat(row: NotificationSettings | Recipient, urls: Sequence[Secret]) -> None:
    """Seal these apprise URLs into the row; the caller saves it."""
    texts = [url.reveal() for url in urls]
    row.chat = seal(Secret(json.dumps(texts)) if texts else None, chat_place(row))


def open_chat(row: NotificationSettings | Recipient) -> list[Secret]:
    """The apprise URLs. Raises Unavailable if they cannot be opened."""
    found = reveal(row.chat, chat_place(row))
    return [Secret(url) for url in json.loads(found.reveal())] if found else []


def seal_signing_secret(row: NotificationSettings, secret: Secret | None) -> None:
    """Seal the secret that signs the operator's webhook into the row; the caller saves it."""
    row.webhook_secret = seal(secret, signing_place(row))


def open_signing_secret(row: NotificationSettings) -> Secret | None:
    return reveal(row.webhook_secret, signing_place(row))


def seal_push_key(row: NotificationSettings, key: Secret) -> None:
    """Seal the key that signs web pushes into the row; the caller saves it."""
    row.push_key = seal(key, push_key_place(row))


def open_push_key(row: NotificationSettings) -> Secret | None:
    """The key; None if there is none. Raises Unavailable if it cannot be opened."""
    return reveal(row.push_key, push_key_place(row))


def push_public_key(row: NotificationSettings) -> str:
    """What browsers subscribe to; "" if there is no key."""
    key = open_push_key(row)
    return web_push.public_key(key.reveal()) if key else ""


def seal_push(row: PushSubscription, address: Json) -> None:
    """Seal what a browser gave into the row, which has its person and name; the caller saves it."""
    row.address = seal(Secret(json.dumps(address)), push_place(row))


def open_push(row: PushSubscription) -> Json:
    """``{endpoint, p256dh, auth}``. Raises Unavailable if it cannot be opened."""
    found = reveal(row.address, push_place(row))
    return dict(json.loads(found.reveal())) if found else {}


def seal_unsubscribe(person: str, agent: int) -> str:
    """What an unsubscribe link ends with. It names nobody to those who read it, and nobody else can make one
    (threat T162). ``person``: see ``models.OptOut``; ``agent``: the number of the agent that the message was about.
    """
    # Without padding, which mail programs may take for the end of the link.
    return ring().seal(json.dumps([person, agent]).encode(), _UNSUBSCRIBE).rstrip("=")


def open_unsubscribe(text: str) -> tuple[str, int] | None:
    """The person and the agent; None if this service did not make it, or no longer has the key. ``text`` may be
    anything.
    """
    try:
        padding = "=" * (-len(text.rpartition(".")[2]) % 4)
        person, agent = json.loads(ring().open(text + padding, _UNSUBSCRIBE))
    except SealBroken:
        return None
    return person, agent


def email_place(row: Contact | Recipient) -> str:
    return place(*_name(row), "email")


def chat_place(row: NotificationSettings | Recipient) -> str:
    return place(*_name(row), "chat")


def signing_place(row: NotificationSettings) -> str:
    return place(*_name(row), "webhook_secret")


def push_key_place(row: NotificationSettings) -> str:
    return place(*_name(row), "push_key")


def push_place(row: PushSubscription) -> str:
    return place("pushsubscription", row.name, row.iss, row.sub)


def _name(row: Contact | Recipient | NotificationSettings) -> tuple[str, ...]:
    """The table, and whose row it is."""
    if isinstance(row, NotificationSettings):
        return "notificationsettings", "only"
    return ("recipient", row.slug, row.iss, row.sub) if isinstance(row, Recipient) else ("contact", row.iss, row.sub)
