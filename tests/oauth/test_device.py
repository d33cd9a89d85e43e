"""A code that is typed at the provider, on any device (RFC 8628): asked for once, polled by one, kept after a yes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import Over, ProviderUnavailable, StartAgain, WrongUser
from elicit_flows.domain.values import Claim, Question
from elicit_flows.elicitations import agent_access
from elicit_flows.lib import counters, ids
from elicit_flows.models import Attempt, Connection, Elicitation, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.oauth.journey import BROWSER, ask, told
from tests.support import dump, jobs
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known

NO_ANSWER = Response(503)


@pytest.fixture(autouse=True)
def by_device(drive_row: ProviderRow, double: Provider) -> None:
    double.metadata = {"device_authorization_endpoint": f"{double.url}/device"}
    ProviderRow.objects.filter(pk=drive_row.pk).update(grant="device_code")


def press(row: Elicitation, button: str = "a-press") -> None:
    assert elicitations.begin(row.pk, row.claim, BROWSER, button) is None
    row.refresh_from_db()


def code_of(row: Elicitation) -> str:
    on_page = elicitations.device_prompt(row, BROWSER)
    assert on_page
    assert not on_page.over
    return str(on_page.what["code"])


def over(row: Elicitation) -> str:
    on_page = elicitations.device_prompt(row, BROWSER)
    return on_page.over if on_page else ""


def poll(clock: MovingClock, seconds: float = 1.1) -> int:
    """Whether it was time to ask after so many seconds."""
    clock.forward(seconds=seconds)
    return jobs.poll_due()


def answer(row: Elicitation, choice: str) -> Elicitation:
    change = elicitations.look(row.pk, row.claim).change
    assert change
    return elicitations.choose(row.pk, row.claim, choice, change.held)


@pytest.fixture
def begun(known: Known) -> Elicitation:
    row = ask(known)
    press(row)
    return row


def test_the_code_is_typed_the_account_is_theirs_and_the_token_works(
    known: Known, double: Provider, begun: Elicitation, moving_clock: MovingClock, committed_database: str
) -> None:
    assert begun.status == "started"
    asked = double.seen("device")[0].form
    assert (asked["scope"], "redirect_uri" in asked) == ("files.read", False)
    assert jobs.poll_due() == 0  # not before its time
    assert poll(moving_clock) == 1
    double.enter(code_of(begun))
    assert poll(moving_clock) == 1
    begun.refresh_from_db()
    assert (begun.status, begun.result, Connection.objects.count()) == ("started", None, 0)
    text = dump.database(committed_database)
    secrets = [*double.tokens, *double.devices, *(one.user_code for one in double.devices.values())]
    assert not [one for one in secrets if one in text]
    row = answer(begun, "yes")
    assert (row.status, row.result["account"]) == ("completed", {"id": "alice", "label": "Alice"})
    assert double.live(vault.token(known.row, row.result["connection"])["access_token"])
    assert told(known) == [f"elicitation.{status}" for status in ("created", "started", "settling", "completed")]
    assert poll(moving_clock, 100) == 0


def test_t120_nothing_is_kept_of_an_account_that_is_not_theirs(
    known: Known, double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    double.enter(code_of(begun), "mallory")
    poll(moving_clock)
    change = elicitations.look(begun.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, change.meant) == ("Mallory", None)
    assert answer(begun, "no").status == "started"
    assert jobs.revoke_rejected_grants() == 1
    assert not any(issued.live for issued in double.tokens.values())
    assert (Connection.objects.count(), PendingGrant.objects.count()) == (0, 0)
    assert told(known) == ["elicitation.created", "elicitation.started"]
    with pytest.raises(StartAgain):
        elicitations.choose(begun.pk, ALICE_CLAIM, "yes", change.held)


def test_t120_a_yes_is_for_the_account_that_the_page_showed(
    double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    double.enter(code_of(begun))
    poll(moving_clock)
    before = elicitations.look(begun.pk, ALICE_CLAIM).change
    press(begun, "another")
    double.enter(code_of(begun), "mallory")
    poll(moving_clock)
    assert before
    with pytest.raises(StartAgain):
        elicitations.choose(begun.pk, ALICE_CLAIM, "yes", before.held)
    assert not Connection.objects.exists()
    with pytest.raises(WrongUser):
        elicitations.choose(begun.pk, Claim(ALICE_CLAIM.iss, "bob"), "yes", before.held)


def test_t120_where_no_account_is_named_it_is_asked_all_the_same(
    drive_row: ProviderRow, double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    double.scripted["userinfo"] = Response(404)
    double.enter(code_of(begun))
    poll(moving_clock)
    change = elicitations.look(begun.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, Connection.objects.count()) == ("", 0)
    assert answer(begun, "yes").result["account"] is None


def test_t29_connecting_again_with_another_account_is_a_choice(
    known: Known, double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    double.enter(code_of(begun))
    poll(moving_clock)
    first = answer(begun, "yes").result["connection"]
    again = ask(known, connection=first, reuse="never")
    press(again)
    double.enter(code_of(again), "bob")
    poll(moving_clock)
    change = elicitations.look(again.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, change.meant) == ("Bob", "Alice")
    assert answer(again, "replace").result["account"]["id"] == "bob"
    assert Connection.objects.get(pk=first).status == "revoked"


def test_t120_nobody_but_who_pressed_sees_the_code(begun: Elicitation) -> None:
    assert code_of(begun)
    assert elicitations.device_prompt(begun, "another-browser") is None
    assert code_of(begun) not in str(begun.snapshot())


def test_slow_down_is_kept_and_no_answer_doubles_the_pause(
    double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = json_response({"error": "slow_down"}, 400)
    assert poll(moving_clock) == 1  # 1 + 5 from now on
    del double.scripted["token"]
    assert (poll(moving_clock, 5), poll(moving_clock, 1.1)) == (0, 1)
    double.scripted["token"] = NO_ANSWER
    counters.drain()
    assert (poll(moving_clock, 5), poll(moving_clock, 1.1)) == (0, 1)
    assert (poll(moving_clock, 11), poll(moving_clock, 1.1)) == (0, 1)
    assert (poll(moving_clock, 23), poll(moving_clock, 1.1)) == (0, 1)
    assert counters.drain()["provider_errors", ("drive", "poll")].count == 3
    del double.scripted["token"]
    assert poll(moving_clock, 48.1) == 1
    assert (poll(moving_clock, 5), poll(moving_clock, 1.1)) == (0, 1)  # as before
    assert code_of(begun)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        ("access_denied", "declined", ""),
        ("authorization_declined", "declined", ""),  # Microsoft's
        ("expired_token", "started", "expired before it was entered"),
        ("invalid_grant", "started", "no longer knows the code"),
        ("unauthorized_client", "failed", ""),
    ],
)
def test_what_else_a_provider_answers_ends_the_polling(
    double: Provider, begun: Elicitation, moving_clock: MovingClock, error: str, status: str, said: str
) -> None:
    double.enter(code_of(begun), error=error)
    assert poll(moving_clock) == 1
    begun.refresh_from_db()
    assert (begun.status, said in over(begun)) == (status, True)
    assert poll(moving_clock, 100) == 0
    if status == "started":
        press(begun, "another")
        assert code_of(begun)


def test_what_was_typed_in_the_last_interval_is_fetched(
    double: Provider, known: Known, moving_clock: MovingClock
) -> None:
    double.device_reply = {"expires_in": 30, "interval": 31}
    row = ask(known)
    press(row)
    double.enter(code_of(row))
    assert poll(moving_clock, 32) == 1
    assert answer(row, "yes").status == "completed"


@pytest.mark.parametrize("said", ["authorization_pending", None])
def test_after_its_time_one_poll_is_the_last_and_the_page_says_so(
    double: Provider, known: Known, moving_clock: MovingClock, said: str | None
) -> None:
    double.device_reply = {"expires_in": 30, "interval": 31}
    row = ask(known)
    press(row)
    double.scripted["token"] = json_response({"error": said}, 400) if said else NO_ANSWER
    moving_clock.forward(seconds=30)
    assert over(row) == "The time for it ran out."
    assert poll(moving_clock, 2) == 1
    assert (poll(moving_clock, 100), double.calls["token"], over(row)) == (0, 1, "The time for it ran out.")
    press(row, "another")
    assert code_of(row)


@pytest.mark.parametrize("end", ["cancel", "decline", "press", "expire"])
def test_t25_tokens_that_come_after_the_end_are_given_back(
    double: Provider, begun: Elicitation, moving_clock: MovingClock, end: str
) -> None:
    double.enter(code_of(begun))

    def meanwhile(request: Request) -> Response:
        if end == "cancel":
            elicitations.cancel(begun)
        elif end == "decline":
            elicitations.decline(begun.pk, ALICE_CLAIM)
        elif end == "press":
            press(begun, "another")
        else:
            moving_clock.forward(hours=1)
        connections.close_all()
        return double._token(request)

    double.scripted["token"] = meanwhile
    assert poll(moving_clock) == 1
    assert not any(issued.live for issued in double.tokens.values())
    assert double.calls["revoke"] == 1
    assert not PendingGrant.objects.exists()


@pytest.mark.parametrize("end", ["cancel", "decline", "expire"])
def test_what_is_over_is_asked_about_no_more(
    double: Provider, begun: Elicitation, moving_clock: MovingClock, end: str
) -> None:
    if end == "cancel":
        elicitations.cancel(begun)
    elif end == "decline":
        elicitations.decline(begun.pk, ALICE_CLAIM)
    assert poll(moving_clock, 3600) == 0
    assert double.calls["token"] == 0


def test_f7_a_worker_that_died_over_it_leaves_a_plain_sentence(
    double: Provider, begun: Elicitation, moving_clock: MovingClock
) -> None:
    """The worker had asked and the provider had answered with tokens. Then the worker died before it stored them."""
    double.enter(code_of(begun))
    moving_clock.forward(seconds=1.1)
    attempt = Attempt.objects.get()
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    double._entered({"device_code": stash["kind"]["device_code"]})
    Attempt.objects.update(poll_at=attempt.poll_at + timedelta(seconds=60))  # its lease
    assert jobs.poll_due() == 0
    assert poll(moving_clock, 60) == 1
    assert "no longer knows the code" in over(begun)
    press(begun, "another")
    double.enter(code_of(begun))
    poll(moving_clock)
    assert answer(begun, "yes").status == "completed"


def test_t26_of_two_workers_one_asks(double: Provider, begun: Elicitation, moving_clock: MovingClock) -> None:
    moving_clock.forward(seconds=1.1)

    def one(_: int) -> int:
        try:
            return jobs.poll_due()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(one, range(4))) == 1
    assert double.calls["token"] == 1


def test_t26_two_presses_of_one_button_come_to_one_code(known: Known, double: Provider) -> None:
    row = ask(known)

    def another(request: Request) -> Response:
        del double.scripted["device"]
        press(row)
        connections.close_all()
        return double._device(request)

    double.scripted["device"] = another
    press(row)
    first = next(iter(double.devices.values()))
    assert (code_of(row), Attempt.objects.count()) == (first.user_code, 1)
    press(row)
    assert double.calls["device"] == 2


def test_a_press_that_was_cut_off_goes_on(known: Known, double: Provider) -> None:
    row = ask(known)
    double.scripted["device"] = NO_ANSWER
    with pytest.raises(ProviderUnavailable):
        press(row)
    row.refresh_from_db()
    assert (row.status, elicitations.device_prompt(row, BROWSER)) == ("pending", None)
    del double.scripted["device"]
    press(row)
    assert (row.status, Attempt.objects.count()) == ("started", 1)


def test_what_ended_meanwhile_shows_no_code(known: Known, double: Provider) -> None:
    row = ask(known)

    def cancel(request: Request) -> Response:
        elicitations.cancel(row)
        connections.close_all()
        return double._device(request)

    double.scripted["device"] = cancel
    with pytest.raises(Over):
        press(row)
    row.refresh_from_db()
    assert elicitations.device_prompt(row, BROWSER) is None


@pytest.mark.parametrize(
    "reply",
    [
        {"device_code": None},
        {"user_code": None},
        {"user_code": "x" * 65},
        {"verification_uri": None},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "https://10.0.0.1/enter"},
        {"expires_in": None},
        {"expires_in": -1},
    ],
)
def test_t32_an_answer_without_a_code_shows_none(known: Known, double: Provider, reply: dict[str, Any]) -> None:
    row = ask(known)
    double.device_reply = reply
    with pytest.raises(ProviderUnavailable):
        press(row)
    assert elicitations.device_prompt(row, BROWSER) is None


def test_t53_the_link_leads_to_the_host_that_is_named(known: Known, double: Provider) -> None:
    double.device_reply = {"verification_uri_complete": "https://elsewhere.example.com/?user_code=x"}
    row = ask(known)
    press(row)
    on_page = elicitations.device_prompt(row, BROWSER)
    assert on_page
    assert on_page.what["complete"] == on_page.what["address"]


def test_a_step_is_done_by_a_code_as_well(known: Known, double: Provider, moving_clock: MovingClock) -> None:
    link = {"kind": "link", "params": {"url": "https://x.example/way", "completion": "by_agent"}}
    steps = {"steps": [{"kind": "oauth", "params": {"provider": "drive"}}, link]}
    agent_access.forget()
    whole, _ = elicitations.create(known.row, Question("steps", ALICE_CLAIM, "Two things.", steps))
    step = whole.steps.get(place=0)
    press(step)
    double.enter(code_of(elicitations.look(whole.pk, ALICE_CLAIM).elicitation))
    assert poll(moving_clock) == 1
    answer(step, "yes")
    whole.refresh_from_db()
    assert (whole.status, len(whole.result["steps"])) == ("started", 1)


@pytest.mark.parametrize(("said", "held"), [(None, 5), (0, 5), (1, 1), ("2", 2), (3600, 60)])
def test_the_interval_is_the_providers_within_reason(
    known: Known, double: Provider, moving_clock: MovingClock, said: object, held: int
) -> None:
    double.device_reply = {"interval": said, "verification_uri_complete": None}
    row = ask(known)
    press(row)
    assert (poll(moving_clock, held - 0.5), poll(moving_clock, 0.6)) == (0, 1)
    on_page = elicitations.device_prompt(row, BROWSER)
    assert on_page
    assert on_page.what["complete"] == on_page.what["address"] == f"{double.url}/enter"
    assert ids.digest(BROWSER) == Attempt.objects.get().browser_hash
