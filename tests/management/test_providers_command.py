"""``manage.py providers``: what there is, what it says, and whether the provider is as its entry says."""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from elicit_flows import catalogue, oauth
from elicit_flows.catalogue import Entry
from elicit_flows.catalogue.most_used import MOST_USED, answered
from elicit_flows.catalogue.oauth import Endpoints
from elicit_flows.catalogue.probe import probe
from elicit_flows.management import provider_entries
from elicit_flows.management.progress import Stopped
from tests.doubles.key_provider import KeyProvider
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response


def said(*words: str) -> str:
    out = StringIO()
    call_command("providers", *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def provider() -> Iterator[Provider]:
    oauth.forget()
    with loopback_allowed(), Provider() as provider:
        yield provider


def at(provider: Provider) -> Entry:
    """An entry of ours whose addresses are those of a double, which no file could say."""
    ends = {name: f"{provider.url}/{name}" for name in ("authorize", "token", "revoke", "userinfo")}
    usual = catalogue.entries()["gitlab"]
    return usual.model_copy(update={"endpoints": Endpoints.model_construct(issuer=provider.issuer, **ends)})


def test_the_list_has_every_entry_and_counts_them() -> None:
    lines = said().splitlines()
    entries = catalogue.entries()
    assert [line.split()[0] for line in lines[: len(entries)]] == list(entries)
    assert sum(int(line.split()[1]) for line in lines[len(entries) :]) == len(entries)
    assert {line.split()[1] for line in said("--kind", "basic").splitlines()[:-1]} == {"basic"}
    assert " unverified " not in said("--checked", "library")


def test_an_entry_is_shown_with_what_it_rests_on_and_a_table_to_begin_with() -> None:
    shown = said("show", "shopify")
    assert "checked: " in shown
    assert "source_url: https://" in shown
    table = tomllib.loads(shown[shown.index("[[provider]]") :])["provider"][0]
    assert "variables" not in table, "each user has a shop of their own"
    assert '# Users are asked for what is left out. To set it for all: variables = { shop = "example-shop" }' in shown
    assert '# with its redirect URI in the field "Allowed redirection URL(s)".\n[[provider]]' in shown
    needed = said("show", "okta")
    host = tomllib.loads(needed[needed.index("[[provider]]") :])["provider"][0]["variables"]
    assert host == catalogue.entries()["okta"].examples, "a host of anybody's own is the operator's to name"
    assert f"agrees with: grant {catalogue.libraries()['grant']['version']}" in said("show", "notion")


@pytest.mark.parametrize("word", ["show", "test"])
def test_what_is_not_there_is_said(word: str) -> None:
    with pytest.raises(CommandError, match="There is no entry nowhere"):
        said(word, "nowhere")


def test_a_provider_that_is_where_its_entry_says_is_fine(provider: Provider) -> None:
    found = list(probe(at(provider), {}))
    assert [(one.fine, one.what) for one in found] == [
        (True, "issuer"), (True, "authorize"), (True, "token"), (True, "revoke"), (True, "userinfo"),
    ]  # fmt: skip


def test_a_provider_that_moved_is_not(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    for route in ("authorize", "token", "revoke", "userinfo"):
        provider.scripted[route] = Response(404, b"gone")
    provider.metadata = {"issuer": "https://elsewhere.example.com"}
    assert [one.fine for one in probe(at(provider), {})] == [False] * 5
    monkeypatch.setattr(catalogue, "find", lambda slug: at(provider))
    with pytest.raises(CommandError, match="does not match its entry"):
        said("test", "gitlab")


def test_one_that_gives_tokens_to_anybody_is_not(provider: Provider) -> None:
    provider.scripted["token"] = json_response({"access_token": "x", "token_type": "bearer"})
    found = {one.what: one for one in probe(at(provider), {})}
    assert (found["token"].fine, found["token"].answer) == (False, f"{provider.url}/token: gives tokens to anybody")


def test_all_are_asked_one_after_the_other_and_the_rest_when_it_was_stopped(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine, moved = at(provider), at(provider).model_copy(update={"token_auth": "none"})
    named = {"a": fine, "b": moved, "c": fine, "shop": catalogue.entries()["shopify"]}
    entries = {slug: entry.model_copy(update={"slug": slug}) for slug, entry in named.items()}
    monkeypatch.setattr(catalogue, "entries", lambda: entries)
    assert said("test") == "fine     a\nfine     b\nfine     c\n"
    assert said("test", "--after", "a") == "fine     b\nfine     c\n"
    provider.scripted["token"] = stopping
    with pytest.raises(Stopped, match=r"done so far: 1 entries. `manage.py providers test --after a` continues"):
        said("test")
    del provider.scripted["token"]
    provider.scripted["revoke"] = Response(404)
    with pytest.raises(CommandError, match="2 do not match their entries"):
        said("test", "--after", "a")


def stopping(request: Request) -> Response:
    """Somebody presses Ctrl-C while the provider is asked."""
    os.kill(os.getpid(), signal.SIGINT)
    return json_response({"error": "invalid_client"}, 401)


def test_an_entry_is_compared_with_the_metadata_of_its_provider(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = at(provider)
    monkeypatch.setattr(catalogue, "find", lambda slug: entry)
    assert "gitlab                   agrees   metadata\n" in said("check", "gitlab")
    oauth.forget()
    provider.metadata = {
        "token_endpoint": f"{provider.url}/elsewhere", "code_challenge_methods_supported": ["plain"],
        "token_endpoint_auth_methods_supported": ["private_key_jwt"], "scopes_supported": ["else"],
    }  # fmt: skip
    out = StringIO()
    with pytest.raises(CommandError, match="1 entries are not as the provider's own metadata say"):
        call_command("providers", "check", "gitlab", stdout=out)
    line = next(line for line in out.getvalue().splitlines() if "DIFFERS  metadata" in line)
    assert f"token: {provider.url}/token, there {provider.url}/elsewhere" in line
    assert "pkce: S256, there plain" in line
    assert "token_auth: client_secret_basic, there private_key_jwt" in line
    assert "scopes.default: " in line
    assert "authorize" not in line


def test_what_could_not_be_reached_is_said_and_the_libraries_are_compared_all_the_same(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = catalogue.entries()["gitlab"].model_copy(update={"endpoints": catalogue.entries()["discord"].endpoints})
    away = away.model_copy(
        update={"endpoints": away.endpoints.model_copy(update={"issuer": f"{provider.url}/gone"}), "slug": "discord"}
    )
    monkeypatch.setattr(catalogue, "find", lambda slug: away)
    shown = said("check", "discord")
    assert f"no word  metadata                     could not be reached or read: {provider.url}/gone: " in shown
    assert "discord                  agrees   arctic " in shown
    assert "DIFFERS  grant 5.4.24 (discord)       authorize: https://discord.com/oauth2/authorize, there " in shown
    assert "1 could not be compared with any; libraries agree 1 times and differ 4 times." in shown


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (("--offline", "gitlab", "typeform"), "`manage.py providers check --offline typeform` continues"),
        (
            ("--offline", "--set", "domain=a b.example", "auth0", "auth0"),
            "`manage.py providers check --offline --set 'domain=a b.example' auth0` continues",
        ),
    ],
)
def test_a_check_that_was_stopped_goes_on_as_it_began(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], again: str
) -> None:
    """Without --offline it would ask the providers."""

    def stopped(*args: object) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGTERM)
        return iter(())

    monkeypatch.setattr("elicit_flows.management.provider_check.compared", stopped)
    with pytest.raises(Stopped) as raised:
        said("check", *words)
    assert again in str(raised.value)


def test_offline_nobody_is_asked(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = at(provider)
    monkeypatch.setattr(catalogue, "find", lambda slug: entry)
    assert "nobody was asked for metadata" in said("check", "--offline", "gitlab")
    assert provider.requests == []


def test_what_a_provider_does_not_document_is_said_apart_from_what_was_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = said("check", "--offline", "typeform", "gitlab").splitlines()
    nowhere = [line for line in lines if " documentation " in line]
    assert [line.split()[0] for line in nowhere] == ["typeform", "typeform"]
    assert "no word  documentation                nothing about dead_grant at https://developers.typeform" in nowhere[0]
    assert nowhere[1].endswith("(2026-11-29)")
    assert not any("most used" in line for line in lines), "these two alone were asked about"
    most_used = {slug: catalogue.entries()[slug] for slug in MOST_USED}
    monkeypatch.setattr(catalogue, "entries", lambda: most_used)
    assert said("check", "--offline").endswith(f"{answered(most_used.values())}\n")


def test_a_comparison_needs_what_the_address_needs() -> None:
    assert "not asked: domain is needed" in said("check", "okta")
    assert "not asked: " in said("check", "okta", "--set", "domain=evil.com/")
    with pytest.raises(CommandError, match="okta has no variable shop"):
        said("check", "okta", "--set", "shop=x")
    with pytest.raises(CommandError, match="openai is for api_key"):
        said("check", "openai")


def test_a_check_of_keys_has_to_refuse_one_that_is_none() -> None:
    usual = catalogue.entries()["openai"]
    with loopback_allowed(), KeyProvider() as provider:
        verify = {"url": f"{provider.url}/check", "headers": {"x-key": "{api_key}"}}
        (found,) = probe(usual.model_copy(update={"verify": verify}), {})
        assert found.fine
        provider.scripted["check"] = json_response({})
        (found,) = probe(usual.model_copy(update={"verify": verify}), {})
        assert (found.fine, found.answer) == (False, f"{provider.url}/check: accepts any key")


def test_a_provider_of_clients_that_people_make_is_asked_with_one_that_nobody_has(provider: Provider) -> None:
    usual = catalogue.entries()["spotify-app"]
    moved = usual.model_copy(update={"endpoints": Endpoints.model_construct(token=f"{provider.url}/token")})
    for scripted, fine in (
        (None, True), (json_response({"access_token": "x", "token_type": "bearer"}), False), (Response(404), False),
    ):  # fmt: skip
        if scripted:
            provider.scripted["token"] = scripted
        (found,) = probe(moved, {})
        assert (found.fine, found.what) == (fine, "token"), found.answer


def test_a_variable_that_is_missing_is_asked_for() -> None:
    with pytest.raises(CommandError, match=r"shop is needed .* --set NAME=VALUE"):
        said("test", "shopify")


def test_an_entry_comes_from_a_discovery_document(provider: Provider) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post", "none"]}
    found = oauth.discover(provider.issuer)
    public = {name: f"https://id.example.com/{name}" for name in ("authorization_endpoint", "token_endpoint")}
    none = dict.fromkeys(("revocation_endpoint", "userinfo_endpoint"))
    text = provider_entries.entry_from_discovery(
        "corp", 'The "Corp"', replace(found, issuer="https://id.example.com", **public, **none), date(2026, 1, 2)
    )
    entry = catalogue.read(text, "corp", "corp.toml")
    assert (entry.name, entry.token_auth, entry.pkce) == ('The "Corp"', "client_secret_post", "S256")
    assert (entry.checked, entry.checked_on) == ("document", date(2026, 1, 2))
    assert entry.endpoints.token == "https://id.example.com/token_endpoint"


def test_a_server_without_a_discovery_document_makes_no_entry(provider: Provider) -> None:
    provider.scripted["metadata"] = Response(404)
    with pytest.raises(CommandError, match="publishes no metadata"):
        said("from-discovery", provider.issuer, "--slug", "corp")
    oauth.forget()
    del provider.scripted["metadata"]
    with pytest.raises(CommandError, match=r"corp.toml: source_url: must be an https address"):
        said("from-discovery", provider.issuer, "--slug", "corp")
