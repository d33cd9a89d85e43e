"""What an agent, a payee, a server or a thief may try with payments by HTTP 402."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from elicit_flows import elicitations, kinds, people, vault
from elicit_flows.api.owned_rows import own_authorization
from elicit_flows.domain.errors import (
    AlreadyConsumed,
    Conflict,
    IdempotencyMismatch,
    Invalid,
    NotFound,
    Over,
    OverLimit,
    Unavailable,
)
from elicit_flows.domain.values import Answer, Json, Question, Secret
from elicit_flows.elicitations import agent_access
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.kinds.x402.wallet import refusal
from elicit_flows.lib import clock
from elicit_flows.models import Authorization, Elicitation, Event, PaymentAccount
from elicit_flows.payments import authorizations
from tests.support import money, rows
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known
from tests.x402.shop import OTHER, PAYEE
from tests.x402.test_kind import ACCEPTED, URL, accepting, challenge

YES = Answer({"pay": ["yes"]})


@pytest.fixture
def bot(request: pytest.FixtureRequest) -> Known:
    """An agent whose operator's wallet pays 1 USDC at most, and 5 in a day."""
    request.getfixturevalue(getattr(request, "param", "committed"))
    known = rows.agent()
    known.row.payment_accounts.add(money.wallet())
    agent_access.forget()
    return known


def set_wallet(**changes: Any) -> None:
    PaymentAccount.objects.filter(slug="wallet").update(**changes)
    agent_access.forget()


def ask(bot: Known, params: Json | None = None, **more: Any) -> Elicitation:
    question = Question("x402", ALICE_CLAIM, "I need the report.", params or challenge(), **more)
    return elicitations.create(bot.row, question)[0]


def agreed(row: Elicitation) -> Elicitation:
    """How it stands after Alice's yes."""
    elicitations.submit(row.pk, row.claim, YES)
    row.refresh_from_db()
    return row


def paid(bot: Known, params: Json | None = None) -> Authorization:
    """Alice has said yes, and nothing is signed."""
    row = agreed(ask(bot, params))
    assert row.status == "completed", row.error
    return Authorization.objects.get(elicitation=row)


def sent(header: Json) -> Json:
    """What the server gets."""
    return dict(json.loads(base64.b64decode(header["value"])))


def test_t250_a_402_that_is_sent_again_is_paid_only_by_another_yes(bot: Known) -> None:
    first, second = ask(bot), ask(bot)
    agreed(first)
    with pytest.raises(Over):
        agreed(first)
    (entry,) = Authorization.objects.all()
    assert entry.elicitation == first
    second.refresh_from_db()
    assert second.status == "pending"


def test_t250_one_yes_gives_one_header_and_the_same_one_to_a_call_that_lost_it(bot: Known) -> None:
    entry = paid(bot)
    header, known = authorizations.sign(entry, "call-1", vault.signed_transfer)
    assert not known
    assert authorizations.sign(entry, "call-1", vault.signed_transfer) == (header, True)
    for key in ("call-2", None):
        with pytest.raises(AlreadyConsumed):
            authorizations.sign(entry, key, vault.signed_transfer)
    assert Event.objects.filter(type="payment.authorized").count() == 1
    stored = json.dumps([*Event.objects.values_list("data", flat=True), entry.summary()])
    assert sent(header)["payload"]["signature"] not in stored
    assert entry.nonce not in stored


def test_t250_without_a_key_of_its_own_a_header_is_given_to_nobody_else(bot: Known) -> None:
    entry = paid(bot)
    authorizations.sign(entry, None, vault.signed_transfer)
    with pytest.raises(AlreadyConsumed):
        authorizations.sign(entry, None, vault.signed_transfer)


def test_t251_a_payee_that_the_operator_did_not_name_is_not_paid(bot: Known) -> None:
    set_wallet(payees=[PAYEE])
    assert ask(bot).status == "pending"
    with pytest.raises(Invalid) as refused:
        ask(bot, accepting(payTo=OTHER))
    assert refused.value.errors[0]["loc"] == ["params", "challenge"]
    assert f"the payee {OTHER} is not one that the operator allows" in str(refused.value.errors[0]["message"])


def test_t251_the_payee_on_the_page_is_the_one_that_is_paid(bot: Known) -> None:
    row = ask(bot)
    shown = kinds.get("x402").describe(row.params, None)
    agreed(row)
    header, _ = authorizations.sign(Authorization.objects.get(), "k", vault.signed_transfer)
    assert sent(header)["payload"]["authorization"]["to"] == shown["payee"] == PAYEE
    assert sent(header)["accepted"] == ACCEPTED


def test_t251_a_payee_that_is_no_longer_allowed_at_the_yes_is_not_paid(bot: Known) -> None:
    row, entry = ask(bot), paid(bot)
    set_wallet(payees=[OTHER])
    assert (agreed(row).status, row.error["code"]) == ("failed", "payment_refused")
    with pytest.raises(Conflict):
        authorizations.sign(entry, "k", vault.signed_transfer)
    assert Authorization.objects.count() == 1


@pytest.mark.parametrize("payee", ["0x" + "0" * 40, "alice.eth", "0x123", money.WALLET_ADDRESS])
def test_t251_what_is_no_address_of_somebody_else_is_not_paid(bot: Known, payee: str) -> None:
    with pytest.raises(Invalid, match="not an address that can be paid"):
        ask(bot, accepting(payTo=payee))


def test_t252_what_is_signed_is_the_price_that_the_person_read(bot: Known) -> None:
    row = ask(bot, idempotency_key="report-17", fingerprint="one")
    with pytest.raises(IdempotencyMismatch):
        ask(bot, accepting(amount="990000"), idempotency_key="report-17", fingerprint="two")
    agreed(row)
    header, _ = authorizations.sign(Authorization.objects.get(), "k", vault.signed_transfer)
    assert sent(header)["payload"]["authorization"]["value"] == "10000"


def test_t252_a_limit_that_was_lowered_before_the_yes_counts(bot: Known) -> None:
    row = ask(bot)
    set_wallet(max_per_payment=9_999)
    assert (agreed(row).status, row.error["code"]) == ("failed", "over_limit")
    assert not Authorization.objects.exists()


def test_t252_a_wallet_that_was_switched_off_pays_nothing_more(bot: Known) -> None:
    row, entry = ask(bot), paid(bot)
    set_wallet(enabled=False)
    assert (agreed(row).status, row.error["code"]) == ("failed", "payment_refused")
    with pytest.raises(Conflict):
        authorizations.sign(entry, "k", vault.signed_transfer)


def test_t252_a_wallet_that_was_taken_from_the_agent_pays_it_nothing_more(bot: Known) -> None:
    row, entry = ask(bot), paid(bot)
    bot.row.payment_accounts.clear()
    agent_access.forget()
    assert (agreed(row).status, row.error["code"]) == ("failed", "payment_refused")
    with pytest.raises(Conflict):
        authorizations.sign(entry, "k", vault.signed_transfer)


@pytest.mark.parametrize("extra", [{"decimals": 18}, {"decimals": 2}, {"decimals": "6"}])
def test_t253_a_challenge_with_other_decimals_is_refused(bot: Known, extra: Json) -> None:
    with pytest.raises(Invalid, match="describes USDC on Base Sepolia wrongly"):
        ask(bot, accepting(extra=extra))


def test_t253_the_page_reckons_with_the_tokens_own_decimals(bot: Known) -> None:
    shown = kinds.get("x402").describe(ask(bot, accepting(extra={"decimals": 6})).params, None)
    assert (shown["amount"], shown["decimals"], shown["symbol"]) == (10_000, 6, "USDC")


@pytest.mark.parametrize(
    ("accepted", "why"),
    [
        ({"asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7f"}, "is not USDC on Base Sepolia"),
        ({"asset": NETWORKS["eip155:8453"].asset}, "is not USDC on Base Sepolia"),
        ({"asset": "USDC"}, "is not USDC on Base Sepolia"),
        ({"network": "eip155:8453", "asset": NETWORKS["eip155:8453"].asset}, "the network eip155:8453 is not offered"),
        ({"network": "base-sepolia"}, "the network base-sepolia is not offered"),
        ({"network": "eip155:84532 "}, None),
        ({"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}, "is not offered"),
        ({"scheme": "upto"}, "the scheme upto is not known here"),
        ({"scheme": "batch-settlement"}, "is not known here"),
        ({"extra": {"assetTransferMethod": "permit2"}}, "only exact by EIP-3009 is"),
        ({"extra": {"name": "USD Coin", "version": "2"}}, "wrongly"),
        ({"extra": {"name": "USDC", "version": "1"}}, "wrongly"),
    ],
)
def test_t254_a_token_network_or_scheme_that_looks_alike_is_not_paid(
    bot: Known, accepted: Json, why: str | None
) -> None:
    with pytest.raises(Invalid, match=why):
        ask(bot, accepting(**accepted))
    assert why is None or why in refusal(authorizations.wallet_of(PaymentAccount.objects.get()), ACCEPTED | accepted)


def test_t254_of_several_ways_the_one_that_fits_is_paid(bot: Known) -> None:
    other = ACCEPTED | {"network": "eip155:8453", "asset": NETWORKS["eip155:8453"].asset}
    row = ask(bot, challenge(accepts=[other, ACCEPTED | {"amount": "2000000"}, ACCEPTED]))
    assert row.params["challenge"]["accepts"] == [ACCEPTED]
    assert row.params["account"] == "wallet"


def test_t255_each_payment_has_a_number_of_its_own_that_the_token_takes_once(bot: Known) -> None:
    headers = [sent(authorizations.sign(paid(bot), "k", vault.signed_transfer)[0]) for _ in range(3)]
    assert len({one["payload"]["authorization"]["nonce"] for one in headers}) == 3
    assert len({one["payload"]["signature"] for one in headers}) == 3


def test_t255_a_signature_is_for_minutes_and_none_comes_too_late(bot: Known, moving_clock: MovingClock) -> None:
    entry, late = paid(bot), paid(bot)
    header, _ = authorizations.sign(entry, "k", vault.signed_transfer)
    said = sent(header)["payload"]["authorization"]
    assert int(said["validBefore"]) - clock.now().timestamp() <= ACCEPTED["maxTimeoutSeconds"]
    moving_clock.forward(seconds=61)
    with pytest.raises(Conflict, match="too late"):
        authorizations.sign(entry, "k", vault.signed_transfer)
    moving_clock.forward(minutes=9)
    with pytest.raises(Conflict, match="too late"):
        authorizations.sign(late, "k", vault.signed_transfer)
    late.refresh_from_db()
    assert (late.status, late.signed_at) == ("lapsed", None)


def test_t255_another_agent_gets_no_header(bot: Known) -> None:
    entry = paid(bot)
    with pytest.raises(NotFound):
        own_authorization(rows.agent().row, entry.pk)
    assert own_authorization(bot.row, entry.pk) == entry


def test_t256_what_is_reserved_counts_before_it_is_signed(bot: Known, moving_clock: MovingClock) -> None:
    set_wallet(max_per_payment=900_000, max_per_day=1_000_000)
    first, second = ask(bot, accepting(amount="600000")), ask(bot, accepting(amount="600000"))
    assert agreed(first).status == "completed"
    assert (agreed(second).status, second.error["code"]) == ("failed", "over_limit")
    moving_clock.forward(minutes=11)  # what was not signed by now never is
    third = ask(bot, accepting(amount="600000"))
    assert agreed(third).status == "completed"
    authorizations.sign(Authorization.objects.get(elicitation=third), "k", vault.signed_transfer)
    moving_clock.forward(hours=23)
    assert agreed(ask(bot, accepting(amount="600000"))).status == "failed"
    moving_clock.forward(hours=2)
    assert agreed(ask(bot, accepting(amount="600000"))).status == "completed"


@pytest.mark.parametrize("bot", ["committed", "on_postgres"], indirect=True)
def test_t256_persons_who_agree_at_the_same_moment_never_exceed_the_day(bot: Known) -> None:
    set_wallet(max_per_payment=40_000, max_per_day=30_000)
    asked, start = [ask(bot) for _ in range(8)], Barrier(8)

    def says_yes(row: Elicitation) -> str:
        start.wait(30)
        try:
            return str(agreed(row).status)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(says_yes, asked))
    assert sorted(ended) == ["completed"] * 3 + ["failed"] * 5
    assert sum(Authorization.objects.values_list("amount", flat=True)) == 30_000


def test_t256_more_than_the_wallet_pays_at_a_time_asks_nobody_and_tells_the_owner(bot: Known) -> None:
    with pytest.raises(OverLimit, match="pays at most"):
        ask(bot, accepting(amount="1000001"))
    (told,) = Event.objects.filter(type="payment.over_limit")
    assert (told.data["amount"], told.data["currency"]) == (1_000_001, "USDC")
    assert not Elicitation.objects.exists()


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("https://bank.example/report", URL),
        ("https://weather.example.evil.test/report", URL),
        ("https://weather.example:8443/report", URL),
        ("https://weather.example/report", "https://weather.example:8443/report"),
        ("https://weather.example@evil.test/report", URL),
        ("https://we\u0430ther.example/report", URL),
    ],
)
def test_t257_a_challenge_that_names_another_host_is_refused(said: str, asked: str) -> None:
    with pytest.raises(Invalid) as refused:
        kinds.get("x402").clean(challenge(resource={"url": said}) | {"url": asked})
    assert refused.value.errors[0]["loc"] == ["params", "challenge", "resource", "url"]


def test_t257_the_page_names_the_host_that_was_asked(bot: Known) -> None:
    shown = kinds.get("x402").describe(ask(bot, challenge(resource={"url": "http://weather.example/x"})).params, None)
    assert (shown["host"], shown["url"], shown["title"]) == ("weather.example", URL, "weather.example")


def test_the_key_is_sealed_and_what_is_wrong_with_it_signs_nothing(bot: Known) -> None:
    entry, row = paid(bot), PaymentAccount.objects.get()
    assert money.WALLET_KEY not in row.secret_key
    vault.seal_account(row, Secret("0x" + "11" * 32), [])
    row.save()
    with pytest.raises(Unavailable, match="not that of its address"):
        authorizations.sign(entry, "k", vault.signed_transfer)
    entry.refresh_from_db()
    assert entry.status == "reserved"


def test_it_cannot_be_a_step(bot: Known) -> None:
    steps = [{"kind": "confirm", "params": {}}, {"kind": "x402", "params": challenge()}]
    with pytest.raises(Invalid) as refused:
        elicitations.create(bot.row, Question("steps", ALICE_CLAIM, "Both.", {"steps": steps}))
    assert refused.value.errors[0]["loc"] == ["params", "steps", 1, "kind"]


def test_a_wallet_takes_no_payments_and_an_account_pays_none(bot: Known) -> None:
    asked = {"amount": 500, "currency": "usd", "description": "A report", "account": "wallet"}
    with pytest.raises(Invalid, match="no account 'wallet'"):
        elicitations.create(bot.row, Question("payment", ALICE_CLAIM, "Pay.", asked))
    bot.row.payment_accounts.set([money.account()])
    agent_access.forget()
    with pytest.raises(Invalid, match="no wallet"):
        ask(bot)


def test_it_is_in_the_persons_export_and_without_them_after_their_erasure(
    bot: Known, moving_clock: MovingClock
) -> None:
    entry = paid(bot)
    authorizations.sign(entry, "k", vault.signed_transfer)
    (told,) = people.export_data(ALICE_CLAIM)["authorizations"]
    assert (told["id"], told["url"], told["agent"]["slug"]) == (entry.pk, URL, bot.row.slug)
    people.request_erasure(ALICE_CLAIM)
    people.sweep_erasures()
    moving_clock.forward(minutes=61)
    people.sweep_erasures()
    entry.refresh_from_db()
    assert (entry.iss, entry.url, entry.resource, entry.amount, entry.payee) == ("", "", {}, 10_000, PAYEE)
    (event,) = Event.objects.filter(type="payment.authorized")
    assert (event.data["authorization"]["url"], event.data["authorization"]["subject"]["iss"]) == ("", "")
    assert people.export_data(ALICE_CLAIM)["authorizations"] == []
