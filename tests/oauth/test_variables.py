"""What only the person knows of a provider's addresses: proposed by agents, chosen by people, bound by the entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import catalogue, elicitations, vault
from elicit_flows.catalogue import Entry
from elicit_flows.domain.errors import Invalid, ReauthorizationRequired, StartAgain
from elicit_flows.domain.values import Answer, Secret
from elicit_flows.elicitations import Given
from elicit_flows.models import Connection, Elicitation, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider, shop_entry
from tests.oauth.journey import BROWSER, ask, query
from tests.oauth.test_importing import line, run
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known

# What would leave the shop's part of the address, were it not refused.
INJECTED = [
    "", " ", "evil.com#", "evil.com/", "evil.com?", "a.b@evil", "a@evil.com:80", "//evil.com", "\\\\evil.com",
    "evil.com:1", "a/../b", "..", "a..b", ".a", "a.", "%2e", "a%00", "a\u3002evil", "a\uff0eevil", "\u0430bc",
    "A", "a\nb", "{shop}",
    "a" * 64, "a" * 300,
]  # fmt: skip


@pytest.fixture
def shops(tmp_path: Path, double: Provider, committed: None) -> Iterator[ProviderRow]:
    """A preset of the operator's own, whose shop is left to each person."""
    (tmp_path / "shops.toml").write_text(shop_entry(double.port))
    catalogue.configure(tmp_path)
    entry = catalogue.entries()["shops"]
    row = ProviderRow(slug="drive", preset="shops", client_id="elicit", given=[], **entry.settings())
    row.scopes = []
    vault.seal_client_secret(row, Secret(double.client_secret or ""))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def known(shops: ProviderRow) -> Known:
    return rows.agent()


def go(row: Elicitation, shop: str, shown: str | None = None, press: str = "a") -> str:
    host = f"{shop}.shops.localhost" if shown is None else shown
    url = elicitations.begin(row.pk, row.claim, BROWSER, press, Given({"shop": shop}, host))
    assert url
    return url


def connect(double: Provider, known: Known, shop: str, **asked: Any) -> Elicitation:
    row = ask(known, reuse="never", scopes=[], **asked)
    elicitations.resume("drive", Answer(double.visit(go(row, shop))), row.claim, BROWSER)
    row.refresh_from_db()
    return row


def test_the_person_says_which_shop_and_everything_goes_there(
    known: Known, double: Provider, shops: ProviderRow
) -> None:
    double.callback = {"shop": "hers.myshops.example.com"}
    done: Any = connect(double, known, "hers")
    row = Connection.objects.get()
    assert (done.status, done.result["variables"], row.summary()["variables"]) == (
        "completed", {"shop": "hers"}, {"shop": "hers"},
    )  # fmt: skip
    assert row.metadata == {"shop_domain": "hers.myshops.example.com"}
    at = {request.headers["host"] for name, request in double.requests if name in ("token", "userinfo")}
    assert at == {f"hers.shops.localhost:{double.port}"}
    rows.expire(row)
    assert double.live(vault.token(known.row, row.pk)["access_token"])
    rows.expire(row)
    Connection.objects.filter(pk=row.pk).update(refresh_due_at=row.created_at)
    jobs.refresh()
    row.refresh_from_db()
    assert row.generation == 3
    vault.revoke(row, vault.ConnectionUse.Actor.AGENT)
    jobs.tell_due_providers()
    row.refresh_from_db()
    assert row.upstream == "done"
    assert {request.headers["host"] for name, request in double.requests if name != "authorize"} == at


@pytest.mark.parametrize("shop", INJECTED)
def test_t149_no_value_leads_to_another_host(known: Known, double: Provider, shops: ProviderRow, shop: str) -> None:
    row = ask(known, scopes=[])
    with pytest.raises(Invalid) as refused:
        go(row, shop, "evil.com")
    assert refused.value.place() == "variable.shop"
    assert (Connection.objects.count(), row.attempts.count(), double.requests) == (0, 0, [])
    if shop:
        with pytest.raises(Invalid) as proposed:
            ask(known, scopes=[], variables={"shop": shop})
        assert proposed.value.place() == "params.variables.shop"


def test_t149_a_rule_that_is_too_wide_still_does_not_lead_out(
    tmp_path: Path, known: Known, shops: ProviderRow, double: Provider
) -> None:
    wide = shop_entry(double.port).replace('"^[a-z0-9][a-z0-9.-]{0,62}$"', '"^.*$"')
    (tmp_path / "shops.toml").write_text(wide)
    catalogue.configure(tmp_path)
    row = ask(known, scopes=[])
    for shop in INJECTED[2:]:
        made = vault.for_person(shops, {"shop": shop})
        assert "evil" not in str(vault.hosts_of(made)).replace("evil.com.shops", ""), shop
        if shop not in ("A", "a" * 64):  # which are names too
            with pytest.raises(Invalid):
                go(row, shop, "evil.com")


def test_t150_nobody_is_sent_to_a_host_that_the_page_has_not_shown(known: Known, shops: ProviderRow) -> None:
    row = ask(known, scopes=[])
    for shown in ("", "other.shops.localhost"):
        with pytest.raises(elicitations.NotShownYet):
            go(row, "hers", shown)
    assert row.attempts.count() == 0
    assert go(row, "hers").startswith("http://hers.shops.localhost:")


def test_the_page_begins_with_what_the_agent_proposes_and_people_may_change_it(
    known: Known, double: Provider, shops: ProviderRow
) -> None:
    row = ask(known, scopes=[], variables={"shop": "proposed"})
    view = elicitations.look(row.pk, ALICE_CLAIM)
    (field,) = view.what["variables"]
    assert (field.name, field.value, view.what["host"]) == ("shop", "proposed", "proposed.shops.localhost")
    assert query(go(row, "changed", press="b"))["client_id"] == "elicit"
    typed = elicitations.look(row.pk, ALICE_CLAIM, {"shop": "typed"})
    assert typed.what["host"] == "typed.shops.localhost"
    assert elicitations.look(row.pk, ALICE_CLAIM, {"shop": "evil.com#"}).what["host"] == ""
    assert elicitations.look(ask(known, scopes=[]).pk, ALICE_CLAIM).what["host"] == ""


@pytest.mark.parametrize(
    ("given", "place"),
    [({"other": "x"}, "params.variables.other"), ({"shop": 7}, "params.variables.shop"), (["x"], "params.variables")],
)
def test_t149_an_agent_proposes_only_what_is_left_to_the_person(
    known: Known, shops: ProviderRow, given: Any, place: str
) -> None:
    with pytest.raises(Invalid) as refused:
        ask(known, scopes=[], variables=given)
    assert refused.value.place() == place
    ProviderRow.objects.update(variables={"shop": "fixed"})
    with pytest.raises(Invalid) as fixed:
        ask(known, scopes=[], variables={"shop": "x"})
    assert "leaves no 'shop' to the person" in str(fixed.value.errors)


def test_connecting_again_begins_with_the_shop_of_that_connection(
    known: Known, double: Provider, shops: ProviderRow
) -> None:
    connect(double, known, "hers")
    held = Connection.objects.get()
    again = ask(known, scopes=[], connection=held.pk, reuse="never")
    (field,) = elicitations.look(again.pk, ALICE_CLAIM).what["variables"]
    assert field.value == "hers"


def test_a_connection_at_another_shop_is_no_answer(known: Known, double: Provider, shops: ProviderRow) -> None:
    connect(double, known, "hers")
    assert ask(known, scopes=[], variables={"shop": "hers"}).status == "completed"
    assert ask(known, scopes=[], variables={"shop": "his"}).status == "pending"
    assert ask(known, scopes=[]).status == "completed"


def test_t149_a_code_of_one_shop_goes_to_no_other(known: Known, double: Provider, shops: ProviderRow) -> None:
    row = ask(known, scopes=[])
    url = go(row, "hers")
    attempt = row.attempts.get()
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    stash["kind"]["variables"] = {"shop": "evil"}
    attempt.stash = vault.seal_stash(stash, attempt.state_hash)
    attempt.save()
    fields = double.visit(url)
    double.requests.clear()
    with pytest.raises(StartAgain):
        elicitations.resume("drive", Answer(fields), row.claim, BROWSER)
    assert double.requests == []


def test_t131_a_refresh_token_goes_to_its_own_shop_alone(known: Known, double: Provider, shops: ProviderRow) -> None:
    connect(double, known, "hers")
    row = Connection.objects.get()
    Connection.objects.update(variables={"shop": "evil"})
    rows.expire(row)
    double.requests.clear()
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, row.pk)
    row.refresh_from_db()
    assert (row.status, row.last_refresh_error, double.requests) == ("reauthorization_required", "provider_moved", [])


def test_a_grant_that_waits_and_is_rejected_is_given_back_at_its_shop(
    known: Known, double: Provider, shops: ProviderRow
) -> None:
    connect(double, known, "hers")
    held = Connection.objects.get()
    double.user = {"sub": "bob", "name": "Bob"}
    row = connect(double, known, "his", connection=held.pk)
    assert row.status == "started"
    waiting = PendingGrant.objects.get()
    elicitations.choose(row.pk, ALICE_CLAIM, "back", waiting.pk)
    double.requests.clear()
    jobs.revoke_rejected_grants()
    (told,) = double.seen("revoke")
    assert told.headers["host"] == f"his.shops.localhost:{double.port}"


SALES = """\
name = "Any"
kind = "oauth"
source_url = "https://example.com/docs"
checked = "unverified"

[endpoints]
authorize = "{authorize}"
token = "https://id.example.com/token"

[[variables]]
name = "it"
label = "It"
pattern = "^[a-z.]+$"
example = "a.example.com"
"""


@pytest.mark.parametrize(
    ("authorize", "may"),
    [
        ("https://{it}.example.com/a", True),
        ("https://{it}.api.example.com/a", True),
        ("https://login.example.com/{it}/a", True),
        ("https://api-{it}.example.com/a", True),
        ("https://{it}/a", False),
        ("https://{it}.com/a", False),
        ("https://example.{it}/a", False),
        ("https://{it}:8443/a", False),
    ],
)
def test_t149_only_what_cannot_choose_the_site_may_be_left_to_people(tmp_path: Path, authorize: str, may: bool) -> None:
    (tmp_path / "any.toml").write_text(SALES.replace("{authorize}", authorize))
    catalogue.configure(tmp_path)
    try:
        entry: Entry = catalogue.entries()["any"]
        assert entry.may_be_asked("it") == may
        if may:
            assert entry.settings()["authorize_url"] == authorize
        else:
            with pytest.raises(ValueError, match="it is needed"):
                entry.settings()
    finally:
        catalogue.configure(None)


def test_t29_an_account_at_another_shop_is_another_one_though_its_id_is_the_same(
    known: Known, double: Provider, shops: ProviderRow
) -> None:
    """Sites that count their users for themselves have the same ids, as Egnyte's domains do."""
    first: Any = connect(double, known, "hers").result
    second: Any = connect(double, known, "his").result
    found = {row.pk: row.variables for row in Connection.objects.all()}
    assert first["connection"] != second["connection"]
    assert found == {first["connection"]: {"shop": "hers"}, second["connection"]: {"shop": "his"}}
    for shop, result in (("hers", first), ("his", second)):
        again: Any = connect(double, known, shop).result
        assert again["connection"] == result["connection"]
    swapped = connect(double, known, "his", connection=first["connection"])
    assert swapped.status == "started", "the person is asked"
    assert {row.pk: row.variables for row in Connection.objects.all()} == found
    brought = replace(rows.grant(account="alice"), variables={"shop": "theirs"})
    actor = vault.ConnectionUse.Actor.AGENT
    assert elicitations.import_connection(known.row, ALICE_CLAIM, "drive", brought, actor)
    assert elicitations.import_connection(known.row, ALICE_CLAIM, "drive", brought, actor) is None


def test_a_file_brings_accounts_with_one_id_at_several_shops(known: Known, shops: ProviderRow, tmp_path: Path) -> None:
    account = {"id": "1", "label": "Admin"}
    lines = [line(known, account=account, variables={"shop": shop}) for shop in ("hers", "his", "his")]
    assert "Line 2 has this account already" in run(tmp_path / "tokens.jsonl", *lines)[1]
    run(tmp_path / "tokens.jsonl", *lines[:2])
    assert sorted(row.variables["shop"] for row in Connection.objects.all()) == ["hers", "his"]


def test_t86_a_grant_at_one_shop_is_given_back_though_its_account_is_connected_at_another(
    known: Known, double: Provider, shops: ProviderRow, moving_clock: MovingClock
) -> None:
    vault.revoke(Connection.objects.get(pk=(connect(double, known, "hers").result or {})["connection"]))
    moving_clock.forward(seconds=1)
    his = connect(double, known, "his").result or {}
    jobs.tell_due_providers()
    assert Connection.objects.get(status="revoked").upstream == "done"
    double.requests.clear()
    row = connect(double, known, "theirs", connection=his["connection"])
    elicitations.choose(row.pk, row.claim, "back", PendingGrant.objects.get().pk)
    assert jobs.revoke_rejected_grants() == 1
    assert [request.headers["host"] for name, request in double.requests if name == "revoke"] == [
        f"theirs.shops.localhost:{double.port}"
    ]
