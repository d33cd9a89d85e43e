"""verify_webhook, against signatures made here by hand from the Standard Webhooks text."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest

from elicit_flows.sdk import ElicitError, verify_webhook

KEY, OLDER = b"k" * 32, b"o" * 32
BODY = json.dumps({"id": "ev_1", "type": "elicitation.completed", "elicitation": "el_1", "seq": 4, "data": {}}).encode()


def secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


def signed(key: bytes, body: bytes, at: float) -> dict[str, str]:
    content = b"ev_1.%d." % at + body
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"Webhook-Id": "ev_1", "Webhook-Timestamp": str(int(at)), "Webhook-Signature": f"v1,{signature}"}


def test_a_signed_webhook_is_an_event() -> None:
    event = verify_webhook(signed(KEY, BODY, time.time()), BODY, secret(KEY))
    assert (event.id, event.type, event.elicitation, event.seq) == ("ev_1", "elicitation.completed", "el_1", 4)


def test_while_one_secret_replaces_another_either_signs() -> None:
    for key in (KEY, OLDER):
        assert verify_webhook(signed(key, BODY, time.time()), BODY, [secret(KEY), secret(OLDER)]).id == "ev_1"


# Signed when the tests are collected, so "early" is early enough to still be so when its turn comes.
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (signed(KEY, BODY, time.time()), BODY.replace(b"completed", b"declined")),
        (signed(OLDER, BODY, time.time()), BODY),
        (signed(KEY, BODY, time.time() - 4_000), BODY),
        (signed(KEY, BODY, time.time() + 40_000), BODY),
        (signed(KEY, BODY, time.time()) | {"Webhook-Id": "ev_2"}, BODY),
        (signed(KEY, BODY, time.time()) | {"Webhook-Signature": "garbage"}, BODY),
        (signed(KEY, BODY, time.time()) | {"Webhook-Signature": "v1,å"}, BODY),
        (signed(KEY, BODY, time.time()) | {"Webhook-Timestamp": "soon"}, BODY),
        (signed(KEY, b"\xff", time.time()), b"\xff"),
        ({}, BODY),
    ],
    ids=[
        "changed",
        "foreign",
        "old",
        "early",
        "other id",
        "malformed",
        "not ascii",
        "no time",
        "not utf-8",
        "unsigned",
    ],
)
def test_anything_else_is_refused(headers: dict[str, str], body: bytes) -> None:
    with pytest.raises(ElicitError) as refused:
        verify_webhook(headers, body, secret(KEY))
    assert refused.value.code == "bad_signature"
