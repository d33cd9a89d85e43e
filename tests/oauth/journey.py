"""One person's way through the line, inside the test process, without pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from elicit_flows import flow
from elicit_flows.flow import permits
from elicit_flows.models import Elicitation, Event
from elicit_flows.values import Answer, Claim, Question
from tests.doubles.provider import Provider
from tests.support.rows import ALICE_CLAIM, Known

BROWSER = "the-browser's-own-secret"


def ask(known: Known, *, claim: Claim = ALICE_CLAIM, reuse: str = "if_valid", **params: Any) -> Elicitation:
    permits.forget()
    said = {"provider": "drive", "scopes": ["files.read"], **params}
    row, _ = flow.create(known.row, Question("oauth", claim, "Connect your drive.", said, reuse=reuse))
    return row


def press(row: Elicitation, button: str = "a-press") -> str:
    url = flow.begin(row.pk, row.claim, BROWSER, button)
    assert url
    return url


def come_back(double: Provider, row: Elicitation, url: str) -> Elicitation:
    flow.resume("drive", Answer(double.visit(url)), row.claim, BROWSER)
    row.refresh_from_db()
    return row


def connect(double: Provider, known: Known, *, user: str = "alice", **asked: Any) -> Elicitation:
    """The whole way, as ``user`` of the provider."""
    row = ask(known, **asked)
    double.user = {"sub": user, "name": user.title()}
    return come_back(double, row, press(row))


def told(known: Known) -> list[str]:
    """The types of the agent's events, in order."""
    return list(Event.objects.filter(agent=known.row).order_by("position").values_list("type", flat=True))


def query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))
