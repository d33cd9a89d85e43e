"""Receives a payment provider's webhook: verify its raw bytes, store it, answer 200. Nothing else happens here.

Some providers do not sign their webhooks. Those are only hints where to look, so anybody may send them.
"""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from elicit_flows import vault
from elicit_flows.api import responses
from elicit_flows.domain.errors import BadRequest, FlowError, NotFound, Unavailable
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import BadNotice, Busy
from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import PaymentAccount
from elicit_flows.payments import inbound_webhooks

log = logging.getLogger(__name__)


@asks_outside
@csrf_exempt
@require_POST
def receive(request: HttpRequest, slug: str) -> HttpResponse:
    """200 if it is stored, or not about us. 400 if the provider did not send it, or not just now. 503 if it cannot be
    verified: the account has no secret to check with, or the provider's key cannot be had now.
    """
    try:
        _receive(request, slug)
    except FlowError as error:
        return responses.response(error)
    return HttpResponse(status=200)


def _receive(request: HttpRequest, slug: str) -> None:
    row = PaymentAccount.objects.filter(slug=slug, enabled=True, network="").first()
    if row is None:
        raise NotFound("There is no such payment account.")
    account, provider = vault.account(row), providers.get(row.provider)
    if provider.signed and not account.webhook_secrets:
        raise Unavailable("This payment account has no webhook secret yet.")
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        notices = provider.receive(account, headers, request.body)
    except BadNotice as bad:
        log.warning("payment account %s: a webhook was refused: %s", slug, bad)
        raise BadRequest(str(bad)) from None
    except Busy as busy:
        log.warning("payment account %s: a webhook could not be verified: %s", slug, busy)
        raise Unavailable("The webhook cannot be verified now. Send it again.") from None
    for notice in notices:
        for one in _whose(row, notice):
            if notice.livemode != one.livemode:
                inbound_webhooks.ignored(one, 1)
                log.warning("payment account %s: a webhook of the other mode (livemode) was ignored", one.slug)
            else:
                (inbound_webhooks.keep if provider.signed else inbound_webhooks.hint)(one, [notice])


def _whose(row: PaymentAccount, notice: Notice) -> list[PaymentAccount]:
    """The rows that the notice is for. A platform has one endpoint for all its connected accounts, so an event of
    another one comes here as well. It is only a hint: each row asks the provider with its own key (threat T244).
    """
    if notice.connected_account == row.connected_account:
        return [row]
    if not notice.connected_account:
        return []
    theirs = PaymentAccount.objects.filter(provider=row.provider, connected_account=notice.connected_account)
    return list(theirs.filter(enabled=True))
