"""What runs all the time or is asked for as often as an agent likes, by name, as the product does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from django.test import Client

from elicit_flows import elicitations, people, vault
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim, Question
from elicit_flows.events import webhooks
from elicit_flows.jobs import lag
from elicit_flows.models import Connection, Delivery, Payment
from elicit_flows.payments import queries, spend_limits
from elicit_flows.vault import refresh_job
from elicit_flows.web import account
from tests.support import rows
from tests.support.history import History
from tests.support.reading import Reads
from tests.support.rows import Known

LIMIT = Reads(200, 200)  # what a page of twenty rows with all that is joined to it may read, however few there are
Act = Callable[[], object]
PERSON = Claim(rows.ISSUER, "few-0")


def acts(of: History) -> dict[str, Act]:
    return {**dict(_calls(of)), **_jobs(of), **_asks(of)}


def allowed(without: Reads) -> Reads:
    """What may be read beside a long past by who reads ``without`` when there is none."""
    return Reads(2 * without.rows + LIMIT.rows, 2 * without.pages + LIMIT.pages)


def _calls(of: History) -> Iterator[tuple[str, Act]]:
    """Every list of the API by any filter, by the agent whose past is long and by the other."""
    for who, path in product((of.hot, of.other), _paths()):
        client = Client(SERVER_NAME="127.0.0.1", headers={"authorization": f"Bearer {who.who.api_key}"})
        yield f"{who.row.slug}: GET {path}", _get(client, path)


def _paths() -> Iterator[str]:
    person = f"iss={rows.ISSUER}&sub=few-0"
    yield from ("/v1/elicitations", f"/v1/elicitations?{person}", f"/v1/elicitations?{person}&status=failed")
    yield from ("/v1/elicitations?sub=few-0", "/v1/elicitations?sub=nobody", "/v1/elicitations?iss=https://nobody.test")
    yield from (f"/v1/elicitations?status={one}" for one in Status)
    yield from (f"/v1/elicitations?kind={one}" for one in ("oauth", "link", "payment"))
    yield from (f"/v1/elicitations?kind={one}&status=failed" for one in ("link", "form", "payment"))
    yield from ("/v1/elicitations?kind=oauth&status=cancelled", "/v1/elicitations?status=failed&sub=past-1")
    yield from ("/v1/connections", f"/v1/connections?{person}", "/v1/connections?sub=few-0", "/v1/connections?sub=x")
    yield from (f"/v1/connections?status={one}" for one in Connection.Status)
    yield from (f"/v1/connections?provider={one}" for one in ("drive", "rare", "none"))
    yield from (f"/v1/connections?provider=drive&status={one}" for one in Connection.Status)
    yield from ("/v1/connections?iss=https://nobody.test", "/v1/connections?provider=rare&status=active")
    yield from ("/v1/payments", f"/v1/payments?{person}", "/v1/payments?sub=few-0", "/v1/payments?sub=nobody")
    yield from (f"/v1/payments?status={one}" for one in (*Payment.Status, "refunded"))
    yield from (f"/v1/payments?mode={one}" for one in ("pay", "subscribe", "save"))
    yield from (f"/v1/payments?item={one}" for one in ("report", "seldom", "none"))
    yield from ("/v1/payments?elicitation=none", "/v1/payments?iss=https://nobody.test")
    yield from ("/v1/payments?mode=subscribe&status=active", "/v1/payments?mode=pay&status=ended")
    yield from ("/v1/entitlements", f"/v1/entitlements?{person}", "/v1/entitlements?sub=few-0")
    yield from (f"/v1/entitlements?item={one}" for one in ("report", "seldom", "none"))
    yield "/v1/entitlements?iss=https://nobody.test"
    yield "/v1/webhooks/deliveries"
    yield from (f"/v1/webhooks/deliveries?status={one}" for one in Delivery.Status)
    yield from ("/v1/events", "/v1/events?after=latest")


def _get(client: Client, path: str) -> Act:
    def get() -> None:
        answer = client.get(path)
        assert answer.status_code == 200, answer.content

    return get


def _jobs(of: History) -> dict[str, Act]:
    return {
        "sweep of elicitations": elicitations.sweep,
        "sweep of erasures": people.sweep_erasures,
        "lag": lag.oldest,
        "metrics": _get(Client(SERVER_NAME="127.0.0.1"), "/metrics"),
        "ready": _get(Client(SERVER_NAME="127.0.0.1"), "/readyz"),
        "claim of deliveries": lambda: webhooks.claim(64, {}, 4, failing=True),
        "refreshes that are due": lambda: list(refresh_job._due([], 64)),
        "codes to ask about": lambda: elicitations.Polls().begin_due(),
        "payment accounts with something due": lambda: elicitations.payment_accounts_due([]),
        "payments of one account": lambda: elicitations.payments_due(of.second.pk, 40),
        "providers to be told": lambda: vault.providers_due([]),
        "revocations of one provider": lambda: vault.revocations_due(of.rare.pk, 40),
        "grants to give back": lambda: vault.providers_of_rejected_grants([]),
    }


def _asks(of: History) -> dict[str, Act]:
    """What every question, answer and page of a person looks up."""
    return {
        "create": lambda: _create(of.hot),
        "a person's open questions": lambda: list(account.waiting(PERSON).order_by("-created_at", "-pk")[:11]),
        "a person's connections": lambda: list(vault.by_use(PERSON).order_by("-used", "-pk")[:11]),
        "how much a person connected": lambda: vault.count_held(PERSON),
        "what a person has disconnected": lambda: list(vault.ended(PERSON)[:11]),
        "a person's payments": lambda: list(queries.made_by(PERSON)[:11]),
        "what a person spent": lambda: spend_limits.spent(of.hot.row, PERSON, "eur"),
    }


def _create(who: Known) -> object:
    key = "a key of mine"
    return elicitations.create(who.row, Question("confirm", PERSON, "May I?", {}, idempotency_key=key))
