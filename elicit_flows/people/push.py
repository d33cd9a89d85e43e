"""The browsers in which a person wants to be told (web push). Nothing is kept unless the operator offers it.

A browser names the address of its push service, and who is signed in could name any other. So only known push services
are taken, and those that the operator adds (threat T218).
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows import http, vault
from elicit_flows.domain.errors import BadRequest, Conflict
from elicit_flows.domain.values import Claim, Json
from elicit_flows.lib import ids, web_push
from elicit_flows.models import NotificationSettings, PushSubscription
from elicit_flows.models.upsert import upsert

# Those of Chrome and what is made from it, Firefox, Safari and Edge, with the hosts below them.
SERVICES = ("fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com")
MAX_ENDPOINT = 1000
MAX_BROWSERS = 10  # of one person; the oldest makes room


def takes(offered: NotificationSettings, endpoint: str) -> bool:
    """Whether messages may go there: to a known push service, over https and to its usual port."""
    try:
        target = http.check_url(endpoint)
    except http.Refused:
        return False
    if http.policy().allow_loopback and http.is_loopback_name(target.host):
        return True
    known = (*SERVICES, *offered.push_hosts)
    return target.port == 443 and any(target.host == one or target.host.endswith(f".{one}") for one in known)


def subscribe(claim: Claim, address: Json, browser: str, system: str) -> None:
    """Tell the person in this browser from now on, and nobody else there. ``address``: ``{endpoint, p256dh, auth}``.

    Raises BadRequest and Conflict.
    """
    offered = NotificationSettings.objects.filter(push=True).first()
    if offered is None:
        raise Conflict("Messages in the browser are switched off.")
    endpoint = address["endpoint"]
    if len(endpoint) > MAX_ENDPOINT or not takes(offered, endpoint):
        raise BadRequest("This browser's push service is not known here. Ask whoever runs this service to add it.")
    try:
        web_push.check(address["p256dh"], address["auth"])
    except web_push.BadSubscription:
        raise BadRequest("Your browser gave no keys for messages.") from None
    row = PushSubscription(
        iss=claim.iss, sub=claim.sub, name=ids.digest(endpoint), browser=browser[:20], system=system[:20]
    )
    vault.contacts.seal_push(row, address)
    with transaction.atomic():
        upsert(row, "name")
        kept = of(claim).order_by("-created_at", "-pk").values("pk")[:MAX_BROWSERS]
        of(claim).exclude(pk__in=[one["pk"] for one in kept]).delete()


def end(claim: Claim, number: int) -> None:
    """Tell the person no longer in one browser of theirs."""
    of(claim).filter(pk=number).delete()


def of(claim: Claim) -> QuerySet[PushSubscription]:
    return PushSubscription.objects.filter(iss=claim.iss, sub=claim.sub)
