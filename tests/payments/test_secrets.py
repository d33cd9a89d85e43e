"""Webhooks as bytes: who signed them, with which secret, and what was changed on the way (section 5, case 17)."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
import stripe

from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.till import KEY, SECRET, Json, Till
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser

pytestmark = pytest.mark.slow

NEW = "whsec_the_next_one"


def post(url: str, body: bytes, secret: str, *, signed: bytes | None = None) -> httpx2.Response:
    """As Stripe would send ``body``, with the signature of ``signed`` where that is something else."""
    stamp = int(time.time())
    over = (body if signed is None else signed).decode()
    signature = stripe.WebhookSignature.generate_signature_header(over, secret, stamp)
    headers = {"stripe-signature": signature, "content-type": "application/json"}
    return httpx2.post(f"{url}/inbound/sandbox", content=body, headers=headers, trust_env=False, timeout=20)


def last_event(till: Till) -> Json:
    """The one that says that the newest payment went through."""
    events = [one for one in till.stripe.state()["events"] if one["type"] == "checkout.session.completed"]
    return {name: value for name, value in events[-1].items() if not name.startswith("_")}


def paid_in_silence(till: Till, user: HttpUser) -> tuple[Json, Json]:
    """Somebody has paid and nobody was told yet; the elicitation, and the event that would tell."""
    till.stripe.order("weather", drop=True)
    asked = till.ask(description="A report — “naïve” 報告")
    till.at_stripe(user, asked)
    go_away(till, user)
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    return asked, last_event(till)


def kept(till: Till, event: str) -> int:
    return int(till.sql("SELECT count(*) FROM elicit_flows_inbound WHERE event_id = %s", event)[0][0])


FORMS: dict[str, Callable[[Json], bytes]] = {
    "as it is": lambda event: json.dumps(event, indent=2, ensure_ascii=False).encode(),
    "without a blank": lambda event: json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode(),
    "in ASCII": lambda event: json.dumps(event).encode(),
    "sorted": lambda event: json.dumps(event, sort_keys=True, indent=1, ensure_ascii=False).encode(),
    "blanks around": lambda event: b" \r\n\t" + json.dumps(event, ensure_ascii=False).encode() + b"\n\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_t101_however_the_signed_bytes_are_written_they_are_taken(till: Till, http_user: HttpUser, form: str) -> None:
    asked, event = paid_in_silence(till, http_user)
    assert post(till.box.url, FORMS[form](event), SECRET).status_code == 200
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_t101_bytes_that_were_written_anew_on_the_way_are_refused(till: Till, http_user: HttpUser) -> None:
    """The same JSON in other bytes: a middleware that parses and writes it again breaks every signature."""
    asked, event = paid_in_silence(till, http_user)
    written = [make(event) for make in FORMS.values()]
    for signed in written:
        for sent in written:
            if sent != signed:
                answer = post(till.box.url, sent, SECRET, signed=signed)
                assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    changed = {**event, "created": event["created"] + 1}
    assert post(till.box.url, FORMS["in ASCII"](changed), SECRET, signed=FORMS["in ASCII"](event)).status_code == 400
    assert kept(till, event["id"]) == 0
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    assert post(till.box.url, written[0], SECRET).status_code == 200
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b'{"a": 1}', b'{"object": "event"}', b"nan"])
def test_case_16_what_is_signed_and_is_no_event_is_refused(till: Till, body: bytes) -> None:
    settled(till)  # what other tests left on its way
    before = till.sql("SELECT count(*) FROM elicit_flows_inbound")
    stamp = str(int(time.time()))
    mark = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    headers = {"stripe-signature": f"t={stamp},v1={mark}", "content-type": "application/json"}
    url = f"{till.box.url}/inbound/sandbox"
    assert httpx2.post(url, content=body, headers=headers, trust_env=False).status_code == 400
    assert till.sql("SELECT count(*) FROM elicit_flows_inbound") == before


def set_secrets(till: Till, *secrets: str) -> None:
    """The operator applies the account with these."""
    account = {
        "slug": "sandbox", "provider": "stripe", "secret_key": KEY, "webhook_secrets": list(secrets),
        "api_base": till.stripe.url, "livemode": False,
    }  # fmt: skip
    till.box.apply({"payment_account": [account]})


@pytest.fixture(scope="module")
def rolling_box(new_box: Callable[..., Box]) -> Iterator[Box]:
    """One of its own: its account's secrets change."""
    box = new_box("embedded")
    yield box
    box.remove()


@pytest.fixture
def rolling(new_till: Callable[..., Till], rolling_box: Box) -> Till:
    till = new_till(rolling_box)
    set_secrets(till, SECRET)
    return till


@pytest.mark.slow
@pytest.mark.limit(180)
def test_case_17_a_webhook_secret_is_changed_without_losing_a_webhook(
    rolling: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    till = rolling

    def pays(*secrets: str, answered: int) -> Json:
        """Stripe signs with these; what the elicitation becomes when nobody comes back."""
        endpoint = {"url": f"{till.box.url}/inbound/sandbox", "secrets": list(secrets)}
        till.stripe.order("endpoints", endpoints=[endpoint])
        till.stripe.order("weather", retry_seconds=[])
        user, asked = new_http_user(), till.ask()
        till.at_stripe(user, asked)
        go_away(till, user)
        settled(till)
        sent = [one for one in till.stripe.state()["deliveries"] if one["type"] == "checkout.session.completed"]
        assert [one["status"] for one in sent[-1]["tries"]] == [answered]
        if answered == 200:
            till.becomes(asked, "completed")
            assert till.stands(asked) == ("completed", "paid", DONE)
        return asked

    pays(SECRET, answered=200)
    set_secrets(till, NEW, SECRET)
    pays(SECRET, answered=200)
    pays(NEW, SECRET, answered=200)
    pays(NEW, answered=200)
    set_secrets(till, NEW)
    unheard = pays(SECRET, answered=400)
    pays(NEW, answered=200)
    assert till.stands(unheard) == ("started", "open", ["created", "started"])
    till.start()
    till.becomes(unheard, "completed", timeout=15)
    assert till.stands(unheard) == ("completed", "paid", DONE)


@pytest.mark.limit(120)
def test_t99_an_account_without_a_secret_takes_no_webhook_and_still_sees_what_was_paid(
    rolling: Till, http_user: HttpUser
) -> None:
    till = rolling
    set_secrets(till)
    asked, event = paid_in_silence(till, http_user)
    for secret in (SECRET, ""):
        assert post(till.box.url, FORMS["as it is"](event), secret).status_code == 503
    assert kept(till, event["id"]) == 0
    till.start()
    till.becomes(asked, "completed", timeout=15)
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.limit(120)
def test_case_30_a_webhook_of_one_account_is_none_of_another(rolling: Till, http_user: HttpUser) -> None:
    """The same bytes, well signed for their own account, at the address of another."""
    till = rolling
    other = {"slug": "other", "provider": "stripe", "secret_key": "sk_test_of_the_other", "livemode": False,
             "webhook_secrets": ["whsec_of_the_other"], "api_base": till.stripe.url}  # fmt: skip
    both: Json = {"identity_providers": ["corp"], "payment_accounts": ["sandbox", "other"]}
    agent = box_config.agent(till.box.programs[till.agent.slug], **both)
    till.box.apply({"payment_account": [other], "agent": [agent]})
    till.stripe.order("weather", drop=True)
    asked = till.ask(account="sandbox")
    page = till.at_stripe(http_user, asked).rpartition("/")[2]
    go_away(till, http_user)
    event = last_event(till)
    body, stamp = FORMS["as it is"](event), int(time.time())
    for secret, status in ((SECRET, 400), ("whsec_of_the_other", 200)):
        signature = stripe.WebhookSignature.generate_signature_header(body.decode(), secret, stamp)
        answer = httpx2.post(
            f"{till.box.url}/inbound/other", content=body, headers={"stripe-signature": signature}, trust_env=False
        )
        assert answer.status_code == status
    asked_about = [one for one in till.stripe.state()["requests"] if one["path"].endswith(page)]
    assert post(till.box.url, FORMS["in ASCII"]({**event, "account": "acct_connected"}), SECRET).status_code == 200
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    seen = [one for one in till.stripe.state()["requests"] if one["path"].endswith(page)]
    assert seen == asked_about, "nobody was asked about another account's checkout"
    assert post(till.box.url, body, SECRET).status_code == 200
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
