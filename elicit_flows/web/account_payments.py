"""What a person paid, subscribed to and saved: the list, the signed receipt, and ending what goes on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import elicitations
from elicit_flows.domain.errors import NotFound
from elicit_flows.domain.values import Claim, Json
from elicit_flows.kinds.payment import order
from elicit_flows.models import Payment
from elicit_flows.payments import queries
from elicit_flows.web import account, account_mandates, pages, paging, session

# The part of the list that the address names, by the mode of a payment.
PARTS = {"subscriptions": "subscribe", "saved": "save"}


@require_safe
@pages.for_person
def payments(request: HttpRequest, me: session.Person) -> HttpResponse:
    part = request.GET.get("show", "")
    if part == "mandates":
        return _mandates(request, me)
    rows = queries.made_by(me.claim).exclude(mode="mandate")  # they have a page of their own
    if part in PARTS:
        rows = rows.filter(mode=PARTS[part])
    page = paging.cut(request, paging.newest(rows, "created_at"), lambda row: row.created_at)
    context = {
        "payments": [_paid(row) for row in page.rows],
        "part": part if part in PARTS else "",
        "just_ended": _just_ended(request, me.claim),
        **paging.search(request, page),
    }
    return account.show(request, me, "payments", context)


def _mandates(request: HttpRequest, me: session.Person) -> HttpResponse:
    page = paging.cut(request, paging.newest(queries.mandates_by(me.claim), "created_at"), lambda row: row.created_at)
    rows = [account_mandates.shown(row) for row in page.rows]
    context = {"mandates": rows, "part": "mandates", "just_ended": None, **paging.search(request, page)}
    return account.show(request, me, "payments", context)


@require_safe
@pages.errors_as_pages
def receipt(request: HttpRequest, payment_id: str) -> HttpResponse:
    """The signed receipt as a file, for the person who paid."""
    me = session.signed_in(request, following="/account/payments")
    row = queries.made_by(me.claim).filter(pk=payment_id).first()
    if row is None:
        raise NotFound("You have no such payment.")
    named = {"Content-Disposition": f'attachment; filename="receipt-{row.pk}.jwt"'}
    return HttpResponse(elicitations.receipt(row), content_type="application/jwt", headers=named)


@require_POST
@pages.for_person
def cancel(request: HttpRequest, me: session.Person, payment_id: str) -> HttpResponse:
    """End a subscription with the paid period, or remove a saved method."""
    elicitations.cancel_payment(payment_id, me.claim)
    return pages.SeeOther(f"/account/payments?ended={payment_id}")


def _just_ended(request: HttpRequest, claim: Claim) -> Json | None:
    """What the person has just cancelled or removed, according to the address; None if that is not true."""
    if "ended" not in request.GET:
        return None
    row = queries.made_by(claim).filter(pk=paging.words(request, "ended"), cancellation__isnull=False).first()
    return _paid(row) if row else None


def _paid(row: Payment) -> Json:
    said, cancellation = row.summary(), getattr(row, "cancellation", None)
    names = ("description", "mode", "amount", "currency", "amount_refunded", "status", "dispute")
    return {name: said[name] for name in names} | {
        "id": row.pk,
        "agent_name": row.agent.name,
        "livemode": row.account.livemode,
        "date": row.paid_at or row.created_at,
        "signed": row.status in elicitations.PAID,
        "order": order.shown(row.order) if row.order else None,
        "receipt_url": pages.receipt_link(row.receipt_url),
        "period_end": row.period_end,
        "ends_at": row.ends_at,
        "cancelling": cancellation is not None and cancellation.try_at is not None,
    }
