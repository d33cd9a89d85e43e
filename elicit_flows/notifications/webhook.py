"""The operator's own webhook: it gets who, in which language, who asks and the link, and does the telling.

It is signed as in Standard Webhooks 1.0.0, as the webhooks of agents are. Its id is the same at every try, so that a
receiver that has seen it can leave it.
"""

from __future__ import annotations

import json

from standardwebhooks import Webhook

from elicit_flows import http, vault
from elicit_flows.lib import clock
from elicit_flows.models import NotificationSettings
from elicit_flows.notifications.messages import Message, NotSent, Refused
from elicit_flows.people.contacts import Addresses

DEADLINE = 15.0
GONE = 410


def send(message: Message, to: Addresses, offered: NotificationSettings) -> None:
    """Raises NotSent and Refused."""
    secret = vault.contacts.open_signing_secret(offered)
    if secret is None or not offered.webhook_url:
        raise Refused("there is no webhook to send it to, or no secret to sign it with")
    now, text = clock.now(), json.dumps(body(message), separators=(",", ":"), ensure_ascii=False)
    headers = {
        "content-type": "application/json",
        "user-agent": "elicit-flows",
        "webhook-id": message.name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret.reveal()).sign(message.name, now, text),
    }
    try:
        reply = http.send("POST", offered.webhook_url, headers=headers, body=text.encode(), deadline=DEADLINE)
    except (http.Refused, http.Unreachable) as error:
        raise NotSent(str(error)[:200]) from None
    if reply.status == GONE:
        raise Refused("the webhook answered 410 Gone")
    if not 200 <= reply.status < 300:
        raise NotSent(f"the webhook answered {reply.status}")


def body(message: Message) -> dict[str, object]:
    """What it gets, as docs/how-to/notifications.md describes it."""
    return {
        "id": message.name,
        "type": f"notification.{message.about}",
        "data": {
            "subject": {"iss": message.claim.iss, "sub": message.claim.sub},
            "language": message.language,
            "agent": {"slug": message.agent_slug, "name": message.agent},
            "service": message.brand,
            "url": message.url,
            "unsubscribe_url": message.unsubscribe_url,
        },
    }
