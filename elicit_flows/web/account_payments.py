"""What a person paid, subscribed to and saved: the list, signed receipts, renewals, ending or keeping what goes on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import elicitations
from elicit_flows.domain.errors import NotFound
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment import order
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import text
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Checkout, Payment, Renewal
from elicit_flows.payments import authorizations, queries
from elicit_flows.web import account, account_mandates, pages, paging, session

# The part of the list that the address names, by the mode of a payment.
PARTS = {"subscriptions": "subscribe", "saved": "save"}


@require_safe
@pages.for_person
def payments(request: HttpRequest, me: session.Person) -> HttpResponse:
    part = request.GET.get("show", "")
    if part == "mandates":
        return _mandates(request, me)
    if part == "x402":
        return _authorizations(request, me)
    rows = queries.made_by(me.claim).exclude(mode="mandate")  # they have a page of their own
    if part in PARTS:
        rows = rows.filter(mode=PARTS[part])
    page = paging.cut(request, paging.newest(rows, "created_at"), lambda row: row.created_at)
    # According to the address: what was just cancelled or removed, and what has just got another payment method.
    ended = replaced = None
    if "ended" in request.GET:
        named = queries.made_by(me.claim).filter(pk=paging.words(request, "ended"))
        ended = named.filter(cancellation__isnull=False).first()
    if "replaced" in request.GET:
        done = Checkout.objects.filter(pk=paging.words(request, "replaced"), replaces__isnull=False)
        done = done.filter(status=Checkout.Status.PAID)
        replaced = queries.made_by(me.claim).filter(checkouts__in=done).first()
    context = {
        "payments": [_paid(row) for row in page.rows],
        "part": part if part in PARTS else "",
        "just_ended": _paid(ended) if ended else None,
        "just_replaced": _paid(replaced) if replaced else None,
        **paging.search(request, page),
    }
    return account.show(request, me, "payments", context)


def _mandates(request: HttpRequest, me: session.Person) -> HttpResponse:
    page = paging.cut(request, paging.newest(queries.mandates_by(me.claim), "created_at"), lambda row: row.created_at)
    rows = [account_mandates.shown(row) for row in page.rows]
    context = {"mandates": rows, "part": "mandates", "just_ended": None, **paging.search(request, page)}
    return account.show(request, me, "payments", context)


def _authorizations(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What the operator's wallets paid for agents, because the person said yes."""
    rows = paging.newest(authorizations.by_person(me.claim), "created_at")
    page = paging.cut(request, rows, lambda row: row.created_at)
    shown = [
        {name: row.summary()[name] for name in ("url", "amount", "symbol", "decimals", "payee", "status", "livemode")}
        | {
            "id": row.pk,
            "host": text.ascii_host(row.url),
            "agent_name": row.agent.name,
            "network": NETWORKS[row.network].name,
            "date": row.created_at,
        }
        for row in page.rows
    ]
    context = {"authorizations": shown, "part": "x402", "just_ended": None, **paging.search(request, page)}
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


@require_POST
@asks_outside
@pages.for_person
def replace_method(request: HttpRequest, me: session.Person, payment_id: str) -> HttpResponse:
    """Leave for the provider's page, where another payment method is saved."""
    return pages.SeeOther(elicitations.replace_method(payment_id, me.claim))


@require_safe
@pages.for_person
def subscription(request: HttpRequest, me: session.Person, subscription_id: str) -> HttpResponse:
    """The periods of one subscription after the first."""
    row = queries.subscriptions_by(me.claim).filter(pk=subscription_id).first()
    if row is None:
        raise NotFound("You have no such subscription.")
    page = paging.cut(request, paging.newest(queries.renewals_of(row), "created_at"), lambda one: one.created_at)
    context = {
        "payment": _paid(queries.made_by(me.claim).get(pk=row.payment_id)),
        "renewals": [_renewal(one) for one in page.rows],
        "kept": request.GET.get("done") == "kept" and row.payment.status == Payment.Status.ACTIVE and not row.ends_at,
        "tab": "payments",
        **paging.search(request, page),
    }
    return account.show(request, me, "subscription", context)


@require_POST
@asks_outside
@pages.for_person
def keep(request: HttpRequest, me: session.Person, subscription_id: str) -> HttpResponse:
    """Take back a cancellation before it takes effect."""
    row = elicitations.resume_subscription(subscription_id, me.claim)
    return pages.SeeOther(f"/account/payments/subscriptions/{row.pk}?done=kept")


def _renewal(one: Renewal) -> Json:
    pay = one.status == Renewal.Status.FAILED and one.subscription.status == "past_due"
    return {
        "id": one.pk,
        "amount": one.amount,
        "currency": one.currency,
        "status": str(one.status),
        "start": one.period_start,
        "end": one.period_end,
        "receipt_url": pages.receipt_link(one.receipt_url) if one.status == Renewal.Status.PAID else "",
        "invoice_pdf": pages.receipt_link(one.invoice_pdf) if one.status == Renewal.Status.PAID else "",
        "pay_url": pages.receipt_link(one.receipt_url) if pay else "",
    }


def _paid(row: Payment) -> Json:
    said, cancellation, going = row.summary(), getattr(row, "cancellation", None), getattr(row, "subscription", None)
    names = ("description", "mode", "currency", "amount_refunded", "status", "dispute")
    return {name: said[name] for name in names} | {
        "id": row.pk,
        "amount": going.amount if going else row.amount,
        "agent_name": row.agent.name,
        "livemode": row.account.livemode,
        "date": row.paid_at or row.created_at,
        "signed": elicitations.has_receipt(row),
        "order": order.shown(row.order, row.tax) if row.order else None,
        "receipt_url": pages.receipt_link(row.receipt_url),
        "invoice_url": pages.receipt_link(row.invoice_url),
        "invoice_pdf": pages.receipt_link(row.invoice_pdf),
        "period_end": row.period_end,
        "ends_at": row.ends_at,
        "subscription": going.pk if going else "",
        "past_due": going is not None and going.status == "past_due",
        "grace_until": going.grace_until if going else None,
        "replaceable": elicitations.can_replace_method(row),
        "cancelling": cancellation is not None and cancellation.try_at is not None,
    }
