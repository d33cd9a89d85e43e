"""One person's way through the line, inside the test process, without pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from elicit_flows import elicitations
from elicit_flows.domain.values import Answer, Claim, Question
from elicit_flows.elicitations import agent_access
from elicit_flows.models import Elicitation, Event
from tests.doubles.provider import Provider
from tests.support.rows import ALICE_CLAIM, Known

BROWSER = "the-browser's-own-secret"


def ask(
    known: Known, *, claim: Claim = ALICE_CLAIM, reuse: str = "if_valid", expires_in: int = 900, **params: Any
) -> Elicitation:
    agent_access.forget()
    said = {"provider": "drive", "scopes": ["files.read"], **params}
    row, _ = elicitations.create(
        known.row, Question("oauth", claim, "Connect your drive.", said, reuse=reuse, expires_in=expires_in)
    )
    return row


def press(row: Elicitation, button: str = "a-press") -> str:
    url = elicitations.begin(row.pk, row.claim, BROWSER, button)
    assert url
    return url


def come_back(double: Provider, row: Elicitation, url: str) -> Elicitation:
    elicitations.resume("drive", Answer(double.visit(url)), row.claim, BROWSER)
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
