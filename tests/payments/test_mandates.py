"""Mandates: a person says yes once, and the agent charges within what they said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from tests.payments.conftest import Json, Till
from tests.support.http_user import HttpUser


def limits(**more: object) -> Json:
    until = datetime.now(UTC) + timedelta(days=90)
    return {"per_charge": 2000, "total": 5000, "until": until.isoformat()} | more


def given(till: Till, user: HttpUser, **more: object) -> Json:
    """A mandate that alice has agreed to on the page."""
    asked = till.ask(mode="mandate", amount=None, description="Train tickets", mandate=limits(**more))
    till.pay(user, asked)
    found = till.becomes(asked, "completed")["result"]
    return dict(till.agent.get(f"/v1/mandates/{found['mandate']}").json())


def charge(till: Till, mandate: Json, amount: int, key: str, **more: object) -> httpx2.Response:
    body = {"amount": amount, "description": "A ticket to Bern", **more}
    return till.agent.post(f"/v1/mandates/{mandate['id']}/charges", json=body, headers={"idempotency-key": key})


def test_a_person_agrees_once_and_the_agent_charges_until_a_limit_refuses(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    mandate = given(till, http_user)
    assert {name: mandate[name] for name in ("status", "per_charge", "per_day", "total", "currency")} == {
        "status": "active", "per_charge": 2000, "per_day": None, "total": 5000, "currency": "eur",
    }  # fmt: skip
    first = charge(till, mandate, 2000, "one")
    assert first.status_code == 201, first.text
    assert (first.json()["status"], first.json()["failure"]) == ("paid", None)
    again = charge(till, mandate, 2000, "one")
    assert (again.status_code, again.headers["idempotency-replayed"], again.json()) == (200, "true", first.json())
    assert charge(till, mandate, 2001, "big").json()["code"] == "over_limit"
    assert charge(till, mandate, 2000, "two").json()["status"] == "paid"
    refused = charge(till, mandate, 1001, "three")
    assert (refused.status_code, refused.json()["code"]) == (403, "over_limit")
    assert "€10.00 is left" in refused.json()["detail"]
    assert charge(till, mandate, 1000, "four").json()["status"] == "paid"
    assert till.agent.get(f"/v1/mandates/{mandate['id']}").json()["used"]["total"] == 5000
    made = till.stripe.state()["payment_intents"]
    assert sorted(one["amount_received"] for one in made if one["description"] == "A ticket to Bern")[-3:] == [
        1000, 2000, 2000,
    ]  # fmt: skip
    payment = till.agent.get(f"/v1/payments/{first.json()['payment']}").json()
    assert (payment["status"], payment["amount"], payment["mode"]) == ("paid", 2000, "charge")
    told = [one["type"] for one in till.agent.get("/v1/events", params={"limit": 100}).json()["data"]]
    assert [one for one in told if one.startswith("mandate.")] == ["mandate.created", *["mandate.charged"] * 3]
