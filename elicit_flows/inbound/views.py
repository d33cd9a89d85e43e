"""A payment provider's webhook: verified over its raw bytes, kept, then answered 200. Nothing else is done here.

Some providers sign nothing. What they send is no more than a hint whom to ask, so anybody may give it.
"""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from elicit_flows import vault
from elicit_flows.api import problems
from elicit_flows.errors import BadRequest, FlowError, NotFound, Unavailable
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import BadNotice
from elicit_flows.ledger import inbound
from elicit_flows.models import PaymentAccount

log = logging.getLogger(__name__)


@csrf_exempt
@require_POST
def receive(request: HttpRequest, slug: str) -> HttpResponse:
    """200 when it is kept, or is none of ours; 400 for what the provider did not send, or not just now; 503 without a
    secret to tell that by, where the provider signs.
    """
    try:
        _receive(request, slug)
    except FlowError as error:
        return problems.response(error)
    return HttpResponse(status=200)


def _receive(request: HttpRequest, slug: str) -> None:
    row = PaymentAccount.objects.filter(slug=slug, enabled=True).first()
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
    ours = [notice for notice in notices if notice.livemode == account.livemode]
    if len(ours) < len(notices):
        inbound.ignored(row, len(notices) - len(ours))
        log.warning("payment account %s: a webhook of the other mode (livemode) was ignored", slug)
    if ours:
        (inbound.keep if provider.signed else inbound.hint)(row, ours)
