"""The cases of a payment (payments.md, section 5) at Mollie and at PayPal that ``test_mollie`` and ``test_paypal`` do
not have. ``docs/contributing/tests.md`` says which case arises where.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.kinds.payment import mollie_house, paypal_house
from tests.payments.other_tills import MollieTill, OtherTill, PayPalTill, make, paid
from tests.payments.racing import at_once
from tests.payments.test_hints import DONE, run_out, settled
from tests.payments.till import LONG_AGO
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

pytestmark = pytest.mark.slow

ASKED = ["19.99"]
LATER = (0.0, 0.01, 0.03, 0.08)  # seconds


@pytest.fixture(params=[MollieTill, PayPalTill], ids=["mollie", "paypal"])
def till(request: pytest.FixtureRequest, embedded_box: Box, corp: Op, drive: Op) -> OtherTill:
    prepare = request.getfixturevalue(f"{request.param.PROVIDER}s")
    return make(request.param, prepare, embedded_box, corp, drive)


def is_paid_once(till: OtherTill, asked: dict[str, Any], ref: str) -> None:
    till.becomes(asked, "completed")
    settled(till)
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert (till.charged(ref), till.given_back(ref)) == (ASKED, [])


def test_case_3_the_webhook_and_the_return_at_the_same_moment(till: OtherTill, http_user: HttpUser) -> None:
    for _ in range(3):
        till.stripe.order("weather", drop=True)
        asked = till.ask()
        ref = till.at_page(http_user, asked)
        back = till.go_away(http_user, "pay")
        till.stripe.order("weather", drop=False)
        at_once(partial(http_user.open, back), partial(till.at_provider, "hint", ref))
        is_paid_once(till, asked, ref)


def test_case_6_a_webhook_that_comes_again_is_done_once(till: OtherTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user)
    settled(till)
    for _ in range(3):
        till.at_provider("hint", ref)
    is_paid_once(till, asked, ref)


def test_case_19_somebody_else_is_refused_before_the_provider_is_asked(
    till: OtherTill, new_http_user: Callable[..., HttpUser]
) -> None:
    asked, before = till.ask(), till.started()
    bob, alice = new_http_user(), new_http_user()
    bob.connect(asked["url"], "bob")
    assert (bob.page_name, till.started()) == ("mismatch", before)
    assert till.stands(asked) == ("pending", "open", ["created"])
    ref = till.at_page(alice, asked)
    alice.press("pay")
    is_paid_once(till, asked, ref)


def test_case_20_a_return_in_another_persons_browser_shows_nothing_and_is_still_a_hint(
    till: OtherTill, new_http_user: Callable[..., HttpUser]
) -> None:
    till.stripe.order("weather", drop=True)
    asked, alice, bob = till.ask(), new_http_user(), new_http_user()
    ref = till.at_page(alice, asked)
    bob.open(till.go_away(alice, "pay"))
    assert asked["message"] not in bob.text
    assert "19.99" not in bob.text
    is_paid_once(till, asked, ref)


def test_case_21_two_presses_lead_to_one_page(till: OtherTill, new_http_user: Callable[..., HttpUser]) -> None:
    asked, one, other = till.ask(), new_http_user(), new_http_user()
    ref = till.at_page(one, asked)
    assert till.at_page(other, asked) == ref
    one.press("pay")
    is_paid_once(till, asked, ref)


def test_case_25_who_pays_while_the_agent_takes_it_back_has_paid_or_gets_it_back(
    till: OtherTill, http_user: HttpUser
) -> None:
    def take_back(asked: dict[str, Any], after: float) -> int:
        time.sleep(after)
        return till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").status_code

    for later in LATER:
        asked = till.ask()
        ref = till.at_page(http_user, asked)
        _, answered = at_once(partial(http_user.press, "pay"), partial(take_back, asked, later))
        assert answered in {200, 409}
        settled(till)
        if till.look(asked)["status"] == "cancelled":
            till.start()
            is_square(till, asked, ref)
        else:
            is_paid_once(till, asked, ref)


def is_square(till: OtherTill, asked: dict[str, Any], ref: str) -> None:
    until(lambda: till.charged(ref) == till.given_back(ref), "nothing was taken, or it goes back", timeout=20)
    till.finish_refunds(ref)
    until(lambda: till.payment(asked)["status"] in {"closed", "refunded"}, "it is over", timeout=20)


@pytest.mark.parametrize(("outcome", "end"), [("ok", "completed"), ("fail", "expired")])
def test_case_26_the_bank_may_take_longer_than_the_link_lasts(
    till: OtherTill, http_user: HttpUser, outcome: str, end: str
) -> None:
    asked = till.ask(more={"expires_in": 60})
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    run_out(till, asked)
    assert till.look(asked)["status"] == "settling"
    till.stripe.order("settle", **{till.NAMED: ref}, outcome=outcome)
    till.becomes(asked, end)
    assert (till.charged(ref), till.given_back(ref)) == (ASKED if outcome == "ok" else [], [])


def test_case_26_what_the_agent_took_back_meanwhile_goes_back_when_it_comes(
    till: OtherTill, http_user: HttpUser
) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    till.stripe.order("settle", **{till.NAMED: ref}, outcome="ok")
    until(lambda: till.given_back(ref) == ASKED, "it goes back", timeout=20)
    till.finish_refunds(ref)
    until(lambda: till.events(asked)[-1] == "payment.refunded", "the agent is told")
    assert till.look(asked)["status"] == "cancelled"


def test_case_33_of_two_pages_that_are_paid_one_counts(till: OtherTill, new_http_user: Callable[..., HttpUser]) -> None:
    """Both can be paid: we took the first for over, which the provider would have had to say."""
    asked, one, other = till.ask(), new_http_user(), new_http_user()
    first = till.at_page(one, asked)
    till.sql("UPDATE elicit_flows_checkout SET status = 'over', look_at = NULL WHERE ref = %s", first)
    second = till.at_page(other, asked)
    assert first != second
    other.press("pay")
    till.becomes(asked, "completed")
    one.press("pay")
    settled(till)
    until(lambda: till.charged(first) == till.given_back(first), "it went back, or was never taken", timeout=20)
    assert (till.charged(second), till.given_back(second)) == (ASKED, [])
    assert till.look(asked)["status"] == "completed"


def test_case_23_an_order_gives_way_to_another_before_paypal_forgets_it(
    paypals: Any, embedded_box: Box, corp: Op, drive: Op, http_user: HttpUser
) -> None:
    till = make(PayPalTill, paypals, embedded_box, corp, drive)
    asked = till.ask(more={"expires_in": 3600})
    first = till.at_page(http_user, asked)
    till.sql("UPDATE elicit_flows_checkout SET expires_at = %s WHERE ref = %s", LONG_AGO, first)
    till.start()
    until(lambda: till.at_page(http_user, asked) != first, "there is another page")
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert till.charged(first) == []
    till.stripe.order("clock", seconds=7 * 3600)
    settled(till)
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_case_30_a_hint_at_another_accounts_address_changes_nothing_at_mollie(
    mollies: Any, embedded_box: Box, corp: Op, drive: Op, http_user: HttpUser
) -> None:
    till = make(MollieTill, mollies, embedded_box, corp, drive)
    till.stripe.order("profile", key=mollie_house.OTHER_KEY, id="pfl_other")
    other = {"slug": "mollie-2", "provider": "mollie", "secret_key": mollie_house.OTHER_KEY}
    till.box.apply({"payment_account": [other | {"api_base": till.stripe.url}]})
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    fetches = till.fetches(ref)
    with httpx2.Client(trust_env=False, timeout=20) as anybody:
        assert anybody.post(f"{till.box.url}/inbound/mollie-2", data={"id": ref}).status_code == 200
    assert till.sql("SELECT count(*) FROM elicit_flows_inbound WHERE ref = %s", ref) == [(0,)]
    assert (till.stands(asked), till.fetches(ref)) == (("started", "open", ["created", "started"]), fetches)
    assert till.hint(f"id={ref}") == [200]
    is_paid_once(till, asked, ref)


def test_case_17_and_30_a_webhook_is_heard_under_each_of_an_accounts_ids_and_under_no_other_at_paypal(
    paypals: Any, embedded_box: Box, corp: Op, drive: Op, http_user: HttpUser
) -> None:
    till = make(PayPalTill, paypals, embedded_box, corp, drive)
    app = {"client_id": "client-of-rolling", "secret": "development-only-rolling", "merchant": "ROLLING"}
    account = {"slug": "rolling", "provider": "paypal", "client_id": app["client_id"], "secret_key": app["secret"]}
    account |= {"api_base": till.stripe.url}
    who = till.box.programs[till.agent.slug]
    more: dict[str, Any] = {"identity_providers": ["corp"], "payment_accounts": ["rolling"]}

    def known(*webhooks: str) -> None:
        till.box.apply({"payment_account": [account | {"webhook_secrets": list(webhooks)}]})

    def pays(signed: str, *, heard: bool) -> dict[str, Any]:
        """PayPal signs for the webhook with this id; the elicitation, to which nobody comes back."""
        till.stripe.order("app", **app, webhook=signed, listener=f"{till.box.url}/inbound/rolling")
        asked = till.ask()
        till.at_page(http_user, asked)
        till.go_away(http_user, "pay")
        tries = until(lambda: till.stripe.state()["deliveries"][-1]["tries"], "the webhook was sent")
        assert tries[0] == (200 if heard else 400)
        if heard:
            till.becomes(asked, "completed")
        return asked

    known("OLD")
    till.box.apply({"agent": [box_config.agent(who, None, **more)]})
    pays("OLD", heard=True)
    known("NEW", "OLD")
    pays("OLD", heard=True)
    pays("NEW", heard=True)
    known("NEW")
    unheard = [pays(signed, heard=False) for signed in ("OLD", paypal_house.WEBHOOK)]
    assert [till.look(asked)["status"] for asked in unheard] == ["started", "started"]
    known("NEW", "OLD", paypal_house.WEBHOOK)
    for asked in unheard:
        till.becomes(asked, "completed", timeout=60)  # PayPal sends them again


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"nan"])
@pytest.mark.parametrize("signature", ["", "garbage", "AAAA"])
def test_case_16_what_paypal_did_not_sign_is_refused_and_not_kept(
    paypals: Any, embedded_box: Box, corp: Op, drive: Op, body: bytes, signature: str
) -> None:
    till = make(PayPalTill, paypals, embedded_box, corp, drive)
    settled(till)
    before = till.sql("SELECT count(*) FROM elicit_flows_inbound")
    headers = {
        "paypal-auth-algo": "SHA256withRSA", "paypal-cert-url": f"{till.stripe.url}/certs/1",
        "paypal-transmission-id": "1", "paypal-transmission-sig": signature,
        "paypal-transmission-time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip
    answer = httpx2.post(f"{till.box.url}/inbound/paypal", content=body, headers=headers, trust_env=False, timeout=20)
    assert answer.status_code == 400, answer.text
    assert till.sql("SELECT count(*) FROM elicit_flows_inbound") == before
