"""Asking for credentials of an operator's provider: who may name it, and when an existing connection is enough."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.db import connection, transaction
from joserfc.jwk import ECKey

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import ProviderUnavailable
from elicit_flows.domain.values import Answer, Grant, Secret
from elicit_flows.elicitations import agent_access
from elicit_flows.kinds.credentials import client_credentials, fields
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Provider
from tests.api.described import Described
from tests.support import rows
from tests.support.rows import ALICE_CLAIM, Known, question

FIELDS = [fields.complete({"name": "key", "label": "Key"}, fields.OPERATORS)]


@pytest.fixture
def house(drive_row: Provider) -> Provider:
    """Beside the OAuth provider drive."""
    return Provider.objects.create(slug="house", name="Key House", sort="credentials", fields=FIELDS)


@pytest.fixture
def other(house: Provider) -> Provider:
    return Provider.objects.create(slug="other", name="Other", sort="credentials", fields=FIELDS)


def ask(api: httpx2.Client, params: dict[str, Any], **more: Any) -> httpx2.Response:
    agent_access.forget()
    return api.post("/v1/elicitations", json=question(**{"kind": "credentials", **more, "params": params}))


def hand_over(known: Known, provider: Provider, **typed: str) -> Connection:
    named = {name: Secret(value) for name, value in (typed or {"key": "typed"}).items()}
    with transaction.atomic():
        return vault.keep_credentials(known.row, ALICE_CLAIM, provider, "", named)


def refused(answer: httpx2.Response) -> list[list[str | int]]:
    assert answer.status_code == 422, answer.text
    return [error["loc"] for error in answer.json()["errors"]]


def test_a_provider_or_fields_but_not_both_and_not_neither(api: httpx2.Client, house: Provider) -> None:
    own = [{"name": "key", "label": "Key", "pattern": "^sk-"}]
    asked = ask(api, {"provider": "house"})
    assert asked.status_code == 201
    assert asked.json()["params"] == {"fields": None, "provider": "house", "seal_to": None}
    assert ask(api, {"fields": own}).status_code == 201
    assert refused(ask(api, {"fields": own, "provider": "house"})) == [["params", "provider"]]
    assert refused(ask(api, {})) == [["params", "fields"]]
    assert refused(ask(api, {"fields": [own[0] | {"pattern": "(?=a)"}]})) == [["params", "fields", 0, "pattern"]]


def test_t62_an_agent_names_only_providers_that_it_may_use(
    new_client: Callable[..., httpx2.Client], house: Provider, other: Provider
) -> None:
    known = rows.agent(all_providers=False)
    known.row.providers.add(house)
    api = new_client(known)
    assert ask(api, {"provider": "house"}).status_code == 201
    for slug in ("other", "nowhere", "credentials"):
        assert refused(ask(api, {"provider": slug})) == [["params", "provider"]]
    Provider.objects.filter(pk=house.pk).update(enabled=False)
    assert refused(ask(api, {"provider": "house"})) == [["params", "provider"]]


def test_a_provider_serves_the_kind_that_it_is_for(api: httpx2.Client, house: Provider) -> None:
    for kind, slug in (("credentials", "drive"), ("oauth", "house")):
        answer = ask(api, {"provider": slug}, kind=kind)
        assert refused(answer) == [["params", "provider"]]
        assert "is one for kind" in answer.json()["errors"][0]["message"]


def test_own_fields_go_through_no_provider_whatever_one_is_called(api: httpx2.Client, drive_row: Provider) -> None:
    Provider.objects.create(slug="credentials", name="Trap", sort="credentials", fields=FIELDS)
    asked = ask(api, {"fields": [{"name": "key", "label": "Key"}]}).json()
    assert (asked["status"], asked["params"]["provider"]) == ("pending", None)
    elicitations.submit(asked["id"], ALICE_CLAIM, Answer({"key": ["typed"]}))
    assert api.get(f"/v1/elicitations/{asked['id']}").json()["result"].keys() == {"connection"}
    assert Connection.objects.get().provider is None


def test_a_provider_that_is_switched_off_meanwhile_takes_nothing(
    known: Known, api: httpx2.Client, house: Provider
) -> None:
    asked = ask(api, {"provider": "house"}).json()["id"]
    Provider.objects.filter(pk=house.pk).update(enabled=False)
    assert elicitations.look(asked, ALICE_CLAIM).what["fields"] == []
    with pytest.raises(ProviderUnavailable):
        elicitations.submit(asked, ALICE_CLAIM, Answer({"key": ["typed"]}))
    Provider.objects.filter(pk=house.pk).update(enabled=True)
    elicitations.submit(asked, ALICE_CLAIM, Answer({"key": ["typed"]}))
    assert Connection.objects.get().provider == house


def test_who_has_handed_it_over_is_not_asked_again(known: Known, api: httpx2.Client, house: Provider) -> None:
    assert ask(api, {"provider": "house"}).json()["status"] == "pending"
    row = hand_over(known, house)
    asked = ask(api, {"provider": "house"}).json()
    assert (asked["status"], asked["reused"]) == ("completed", True)
    assert asked["result"] == {"connection": row.pk}
    assert ask(api, {"provider": "house"}, reuse="never").json()["status"] == "pending"
    bob = question()["subject"] | {"sub": "bob"}
    assert ask(api, {"provider": "house"}, subject=bob).json()["status"] == "pending"
    vault.revoke(row)
    assert ask(api, {"provider": "house"}).json()["status"] == "pending"


def test_t62_what_another_agent_was_given_answers_nothing(
    known: Known, stranger: httpx2.Client, house: Provider, other: Provider, api: httpx2.Client
) -> None:
    hand_over(known, house)
    assert ask(stranger, {"provider": "house"}).json()["status"] == "pending"
    assert ask(api, {"provider": "other"}).json()["status"] == "pending"


def test_what_the_provider_asks_for_by_now_is_asked_for(known: Known, api: httpx2.Client, house: Provider) -> None:
    hand_over(known, house)
    more = [*FIELDS, fields.complete({"name": "site", "label": "Site"}, fields.OPERATORS)]
    Provider.objects.filter(pk=house.pk).update(fields=more)
    assert ask(api, {"provider": "house"}).json()["status"] == "pending"
    hand_over(known, house, key="typed", site="blue")
    assert ask(api, {"provider": "house"}).json()["status"] == "completed"


def test_what_is_to_be_sealed_or_was_sealed_is_asked_for_anew(
    known: Known, api: httpx2.Client, house: Provider
) -> None:
    public = ECKey.generate_key("P-256", private=True).as_dict(private=False)
    hand_over(known, house)
    assert ask(api, {"provider": "house", "seal_to": public}).json()["status"] == "pending"
    hand_over(known, house, sealed="a.jwe.of.the.agent's")
    assert ask(api, {"provider": "house"}).json()["status"] == "pending"


def test_new_values_take_the_place_of_the_old_in_the_same_connection(
    known: Known, api: httpx2.Client, house: Provider, other: Provider
) -> None:
    row, elsewhere = hand_over(known, house, key="old"), hand_over(known, other, key="untouched")
    again = hand_over(known, house, key="new")
    assert (again.pk, again.generation) == (row.pk, 2)
    for one, value in ((row, "new"), (elsewhere, "untouched")):
        assert api.post(f"/v1/connections/{one.pk}/secret").json() == {"fields": {"key": value}}
    vault.revoke(Connection.objects.get(pk=row.pk))
    assert hand_over(known, house).pk != row.pk


def test_a_typed_connection_has_no_token_and_nobody_is_told_of_its_end(
    known: Known, api: httpx2.Client, house: Provider
) -> None:
    row = hand_over(known, house)
    listed = api.get("/v1/connections", params={"provider": "house"}).json()["data"]
    assert [(one["id"], one["provider"], one["expires_at"]) for one in listed] == [(row.pk, "house", None)]
    token = api.post(f"/v1/connections/{row.pk}/token")
    assert (token.status_code, token.json()["code"]) == (409, "conflict")
    assert api.delete(f"/v1/connections/{row.pk}").status_code == 204
    assert api.post(f"/v1/connections/{row.pk}/secret").status_code == 410
    ended = Connection.objects.get(pk=row.pk)
    assert (ended.secrets, ended.upstream, ended.upstream_next_at) == ("", "none", None)


def test_a_process_of_the_former_version_still_makes_providers(house: Provider) -> None:
    columns = "slug, name, preset, issuer, authorize_url, token_url, revocation_url, userinfo_url, client_id,"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO elicit_flows_provider ({columns} client_secret, token_auth, scopes, pkce, enabled)"
            " VALUES ('old', 'Old', '', '', '', '', '', '', 'x', '', 'none', '[]', 'S256', true)"
        )
    row = Provider.objects.get(slug="old")
    assert (row.sort, row.fields, row.find_url, row.verify) == ("oauth", [], "", None)


@pytest.fixture
def tokens(house: Provider) -> Provider:
    """A provider whose people type a client of their own."""
    return Provider.objects.create(
        slug="tokens", name="Token House", sort="credentials", fields=client_credentials.FIELDS, scopes=["meters.read"],
        token_url="https://id.example.com/token",
    )  # fmt: skip


def own(known: Known, provider: Provider) -> Connection:
    named = {"client_id": Secret("mine"), "client_secret": Secret("own-secret")}
    given = Grant(Secret("at-1"), None, "Bearer", clock.now() + timedelta(hours=1), ("meters.read",))
    with transaction.atomic():
        return vault.keep_credentials(known.row, ALICE_CLAIM, provider, "", named, given)


def test_a_client_of_the_persons_own_answers_with_a_token_and_never_with_its_secret(
    known: Known, api: httpx2.Client, tokens: Provider, described: Described
) -> None:
    assert ask(api, {"provider": "tokens"}).json()["status"] == "pending"
    row = own(known, tokens)
    asked = ask(api, {"provider": "tokens"}).json()
    result = {"connection": row.pk, "provider": "tokens", "scopes": ["meters.read"], "account": None}
    assert (asked["status"], asked["reused"], asked["result"]) == ("completed", True, result)
    token, secret, proof = (
        api.post(f"/v1/connections/{row.pk}/{what}", json=body)
        for what, body in (("token", {}), ("secret", None), ("proof", {"method": "GET", "url": "https://a.example/"}))
    )
    for answer in (token, secret, proof):
        described.check(answer)
    assert (token.status_code, token.json()["access_token"], token.json()["scopes"]) == (200, "at-1", ["meters.read"])
    assert (secret.status_code, secret.json()["code"]) == (409, "conflict")
    assert "Ask for the token" in secret.json()["detail"]
    assert proof.status_code == 409
    listed = api.get("/v1/connections", params={"provider": "tokens"})
    described.check(listed)
    assert [(one["health"], one["next_refresh_at"]) for one in listed.json()["data"]] == [("ok", None)]
    assert not any("own-secret" in one.text for one in (token, secret, proof, listed))


def test_what_gives_tokens_is_sealed_to_nobodys_key(api: httpx2.Client, tokens: Provider) -> None:
    public = ECKey.generate_key("P-256", private=True).as_dict(private=False)
    answer = ask(api, {"provider": "tokens", "seal_to": public})
    assert refused(answer) == [["params", "seal_to"]]
    assert "gives tokens for what is typed" in answer.json()["errors"][0]["message"]


def test_who_typed_a_client_before_there_were_tokens_for_it_is_asked_again(
    known: Known, api: httpx2.Client, tokens: Provider
) -> None:
    """The reverse: nobody can read credentials that were typed to fetch tokens."""
    hand_over(known, tokens, client_id="mine", client_secret="own-secret")
    assert ask(api, {"provider": "tokens"}).json()["status"] == "pending"
    row = own(known, tokens)
    assert ask(api, {"provider": "tokens"}).json()["status"] == "completed"
    Provider.objects.filter(pk=tokens.pk).update(token_url="", scopes=[])
    assert ask(api, {"provider": "tokens"}).json()["status"] == "pending"
    assert api.post(f"/v1/connections/{row.pk}/secret").status_code == 409
