"""Exports everything that is stored about a person."""

from __future__ import annotations

from typing import Any

from elicit_flows import vault
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations.receipts import has_receipt
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Connection,
    Customer,
    Elicitation,
    Entitlement,
    IdentityAssertion,
    Payment,
    Subscription,
)
from elicit_flows.payments import authorizations, entitlements, queries
from elicit_flows.people import contacts, local_accounts
from elicit_flows.people.sessions import sessions_of


def count_data(claim: Claim) -> dict[str, int]:
    """How many connections and elicitations ``export_data`` has, without reading them."""
    elicitations = Elicitation.objects.filter(iss=claim.iss, sub=claim.sub, parent=None)
    return {"connections": vault.ever_held_by(claim).count(), "elicitations": elicitations.count()}


def export_data(claim: Claim) -> Json:
    """One object, as docs/reference/account-pages.md describes it, without secrets and without agents' metadata."""
    mine: Any = {"iss": claim.iss, "sub": claim.sub}
    elicitations = Elicitation.objects.filter(**mine, parent=None).prefetch_related("drafts", "steps", "event_set")
    payments = Payment.objects.filter(**mine).prefetch_related("refunds").select_related("elicitation", "account")
    return {
        "object": "export",
        "created_at": clock.rfc3339(clock.now()),
        "subject": mine,
        "account": local_accounts.about(claim),
        "elicitations": [_elicitation(row) for row in _in_order(elicitations)],
        "connections": [
            _connection(row) for row in _in_order(vault.ever_held_by(claim).prefetch_related("uses", "calls"))
        ],
        "payments": [_payment(row) for row in _in_order(payments)],
        "mandates": [
            _of_agent(
                row,
                charges=[
                    _without(one.summary(), "mandate", "metadata")
                    for one in queries.charges_of(row).order_by("created_at")
                ],
            )
            for row in _in_order(queries.mandates_by(claim))
        ],
        "subscriptions": [_subscription(row) for row in _in_order(queries.subscriptions_by(claim))],
        "authorizations": [_of_agent(row) for row in _in_order(authorizations.by_person(claim))],
        "entitlements": [
            {**_by(row.agent), **_without(row.summary(live_only=entitlements.live_only(row.agent)), "subject")}
            for row in _in_order(Entitlement.objects.filter(**mine).select_related("payment__account"))
        ],
        "customers": [
            {"payment_account": row.account.slug, "id": row.ref}
            for row in Customer.objects.filter(**mine).select_related("account")
        ],
        "notifications": contacts.about(claim),
        "sessions": [row.said() for row in sessions_of(claim)],
        "identity_assertions": [
            row.said() for row in IdentityAssertion.objects.filter(**mine).select_related("identity_provider")
        ],
    }


def _in_order(rows: Any) -> Any:
    return rows.select_related("agent").order_by("created_at")


def _by(agent: Agent) -> Json:
    return {"agent": {"slug": agent.slug, "name": agent.name}}


def _of_agent(row: Any, **more: Json | list[Json]) -> Json:
    return {**_by(row.agent), **_without(row.summary(), "subject"), **more}


def _without(said: Json, *names: str) -> Json:
    return {name: value for name, value in said.items() if name not in names}


def _elicitation(row: Elicitation) -> Json:
    """Without ``metadata``, which belongs to the agent."""
    steps = sorted(row.steps.all(), key=lambda step: step.place)
    drafts = [draft for one in (row, *steps) for draft in one.drafts.all()]
    return {
        **_by(row.agent),
        **_without(row.snapshot(), "subject", "metadata"),
        "steps": [{"kind": step.kind, "status": str(step.status), "params": step.params} for step in steps],
        "drafts": [{"question": draft.question, **draft.said()} for draft in drafts],
        "events": [
            {"type": event.type, "created_at": clock.rfc3339(event.created_at)}
            for event in sorted(row.event_set.all(), key=lambda event: event.position)
        ],
    }


def _subscription(row: Subscription) -> Json:
    renewals = queries.renewals_of(row).order_by("created_at")
    changes = row.price_changes.filter(agreed_at__isnull=False).order_by("agreed_at")
    return _of_agent(
        row,
        renewals=[_without(one.summary(), "subscription") for one in renewals],
        price_changes=[one.summary() for one in changes],
    )


def _connection(row: Connection) -> Json:
    uses = sorted(row.uses.all(), key=lambda use: use.first_at)
    calls = sorted(row.calls.all(), key=lambda call: call.first_at)
    said = {"uses": [use.said() for use in uses], "calls": [call.said() for call in calls]}
    return {**_by(row.agent), **_without(row.summary(), "subject"), **said}


def _payment(row: Payment) -> Json:
    refunds = [_without(refund.summary(), "payment") for refund in row.refunds.all()]
    return {
        **_by(row.agent),
        **_without(row.summary(), "subject"),
        "refunds": refunds,
        "signed_receipt": f"/account/payments/{row.pk}/receipt" if has_receipt(row) else None,
    }
