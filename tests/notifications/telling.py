"""Asking with ``notify``, and running the job that tells."""

from __future__ import annotations

from typing import Any

from elicit_flows import elicitations
from elicit_flows.domain.values import Claim, Question
from elicit_flows.identity import SignedIn
from elicit_flows.models import Elicitation, Notification
from elicit_flows.people import contacts
from tests.support.rows import ALICE_CLAIM, Known

MESSAGE = "Connect your drive, so that I can find the contract with Globex."


def ask(known: Known, claim: Claim = ALICE_CLAIM, **more: Any) -> Elicitation:
    usual: dict[str, Any] = {"kind": "oauth", "message": MESSAGE, "params": {"provider": "drive"}, "notify": True}
    row, _ = elicitations.create(known.row, Question(claim=claim, **{**usual, **more}))
    return row


def signs_in(email: str = "alice@example.com", language: str = "en", claim: Claim = ALICE_CLAIM) -> None:
    contacts.remember(SignedIn(claim, None, "Alice", email), language)


def outcomes(row: Elicitation) -> dict[str, str]:
    """By channel; "" for what is still to be done."""
    return dict(Notification.objects.filter(elicitation=row).values_list("channel", "outcome"))
