"""Web push: to the browsers in which the person asked for it, through the push services of those (RFC 8030).

A push service learns nothing but that something was sent: the message is encrypted for the browser (RFC 8291).
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from django.conf import settings

from elicit_flows import http, vault
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock, web_push
from elicit_flows.models import NotificationSettings, PushSubscription
from elicit_flows.notifications.messages import Message, NoAddress, NotSent, Refused, Unknown, of_all
from elicit_flows.people.contacts import Addresses
from elicit_flows.people.push import takes

DEADLINE = 10.0
TTL = 24 * 3600  # seconds for which a push service keeps it for a browser that is not running
GONE = (404, 410)  # RFC 8030, section 7.3: the subscription has ended
BUSY = (408, 425, 429)


def send(message: Message, to: Addresses, offered: NotificationSettings) -> None:
    """Send to each browser. Raises NoAddress, NotSent, Refused and Unknown.

    Once one of several was sent, the others are not tried again: the person knows.
    """
    key = vault.contacts.open_push_key(offered)
    if key is None:
        raise Refused("there is no key to sign with; apply the configuration again")
    if not to.browsers:
        raise NoAddress
    failures = [failure for row in to.browsers if (failure := _send(message, row, offered, key))]
    if len(failures) < len(to.browsers):
        return
    raise of_all(failures)


def _send(
    message: Message, row: PushSubscription, offered: NotificationSettings, key: Secret
) -> NotSent | Unknown | None:
    """The failure, if it failed. A subscription that has ended is deleted."""
    address = vault.contacts.open_push(row)
    endpoint = str(address.get("endpoint", ""))
    if not takes(offered, endpoint):
        return Refused("its push service is not one that messages go to")
    signed = web_push.authorization(key.reveal(), endpoint, settings.ELICIT_PUBLIC_URL, clock.now().timestamp())
    headers = {
        "authorization": signed,
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        "ttl": str(TTL),
        "urgency": "normal",
    }
    sealed = web_push.encrypt(body(message), address["p256dh"], address["auth"])
    try:
        reply = http.send("POST", endpoint, headers=headers, body=sealed, deadline=DEADLINE)
    except http.Refused as error:
        return NotSent(str(error)[:200])
    except http.Unreachable as error:
        return (Unknown if error.sent else NotSent)(str(error)[:200])
    if 200 <= reply.status < 300:
        return None
    why = f"the push service answered {reply.status}"
    if reply.status in GONE:
        row.delete()
        return Refused(why)
    return (Refused if 400 <= reply.status < 500 and reply.status not in BUSY else NotSent)(why)


def body(message: Message) -> bytes:
    """What static/elicit/push-worker.js shows. ``path``: of the request or mandate, at this service. Messages about
    several charges have the same.
    """
    said = {
        "id": message.name,
        "title": message.brand,
        "body": message.subject,
        "language": message.language,
        "direction": message.direction,
        "path": urlsplit(message.url).path,
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
