"""What a person allowed agents to charge: the limits, each charge, lowering and ending it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import elicitations
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.lib import locales, money
from elicit_flows.lib.sentences import sentence
from elicit_flows.lib.text import bare
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Mandate
from elicit_flows.models.mandate import LIMITS
from elicit_flows.payments import mandates, queries
from elicit_flows.web import account, pages, paging, session

DONE = ("lowered", "ended", "refused")
_TYPED = re.compile(r"([0-9]{1,12})(?:[.,]([0-9]{1,2}))?")


@require_safe
@pages.for_person
def show(request: HttpRequest, me: session.Person, mandate_id: str) -> HttpResponse:
    return _page(request, me, elicitations.own_mandate(me.claim, mandate_id))


@require_POST
@pages.for_person
def lower(request: HttpRequest, me: session.Person, mandate_id: str) -> HttpResponse:
    """Lower the limits that were changed. An empty field leaves its limit as it is."""
    row = elicitations.own_mandate(me.claim, mandate_id)
    typed = {name: bare(request.POST.get(name, "")) for name in LIMITS}
    try:
        wanted = {name: _minor(name, text, row.currency) for name, text in typed.items() if text}
    except Invalid as unread:
        return _page(request, me, row, typed=typed, wrong=unread.by_field(), status=422)
    try:
        mandates.lower(row, wanted)
    except Invalid as raised:
        more = sentence("Give less than before: only a new request can raise a limit.")
        return _page(request, me, row, typed=typed, wrong={raised.place(): more}, status=422)
    return pages.SeeOther(f"/account/payments/mandates/{row.pk}?done=lowered")


@require_POST
@asks_outside
@pages.for_person
def end(request: HttpRequest, me: session.Person, mandate_id: str) -> HttpResponse:
    row = elicitations.own_mandate(me.claim, mandate_id)
    elicitations.end_mandate(row, Mandate.By.PERSON)
    return pages.SeeOther(f"/account/payments/mandates/{row.pk}?done=ended")


@require_POST
@pages.for_person
def refuse(request: HttpRequest, me: session.Person, mandate_id: str, charge_id: str) -> HttpResponse:
    """Refuse a charge that was announced."""
    row = elicitations.own_mandate(me.claim, mandate_id)
    elicitations.refuse_charge(row, charge_id)
    return pages.SeeOther(f"/account/payments/mandates/{row.pk}?done=refused")


def _page(
    request: HttpRequest,
    me: session.Person,
    row: Mandate,
    *,
    typed: Mapping[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """``typed`` and ``wrong``: what was sent as limits, and what is wrong with it, by the name of the limit."""
    page = paging.cut(request, paging.newest(queries.charges_of(row), "created_at"), lambda one: one.created_at)
    done = request.GET.get("done", "")
    # Each limit as it was typed just now, or as the reader writes it.
    written = {
        name: "" if limit is None else money.decimal(limit, row.currency).replace(".", locales.decimal_mark())
        for name, limit in row.limits.items()
    }
    charges: list[Json] = []
    for one in page.rows:
        said = one.summary()
        kept = {name: said[name] for name in ("id", "description", "amount", "currency", "amount_refunded", "status")}
        waits = one.status == "requires_action" and one.payment.elicitation is not None
        charges.append(kept | {"at": one.at, "url": f"/c/{one.payment.elicitation_id}" if waits else ""})
    context = {
        "mandate": shown(row)
        | {
            "fields": [{"name": name, "value": value} for name, value in {**written, **(typed or {})}.items()],
            "payment": row.payment_id,
            "replaceable": elicitations.can_replace_method(row.payment),
        },
        "charges": charges,
        "just": done if done in DONE else "",
        "wrong": wrong or {},
        **paging.search(request, page),
    }
    answer = account.show(request, me, "mandate", context | {"tab": "payments"})
    answer.status_code = status
    return answer


def shown(row: Mandate) -> Json:
    """A mandate as the templates want it."""
    return {
        "id": row.pk,
        "description": row.description,
        "agent_name": row.agent.name,
        "livemode": row.account.livemode,
        "currency": row.currency,
        **row.limits,
        "until": row.until,
        "notice": "before" if row.notice else "after",
        "status": str(row.status),
        "method": row.method,
        "used": mandates.used(row),
    }


def _minor(name: str, typed: str, currency: str) -> int:
    """Minor units of what was typed: 12, 12.5 or 12,50. Raises Invalid."""
    found, places = _TYPED.fullmatch(locales.in_ascii(typed)), money.digits(currency) or 0
    decimals = (found[2] or "") if found else ""
    if found is None or len(decimals) > places:
        raise Invalid.at(name, sentence("Give an amount such as 12.50, in the currency of the limit."))
    return int(found[1] + decimals.ljust(places, "0"))
