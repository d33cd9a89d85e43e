"""What may become metadata of a connection, and which addresses may be made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows.kinds.oauth.connection_metadata import (
    MOST_LISTED,
    MOST_NAMES,
    MOST_TEXT,
    MOST_WHOLE,
    Named,
    Secrets,
    faults,
    faults_of_addresses,
    filled,
    merged,
    taken,
)
from tests.doubles.policy import loopback_allowed

HOSTS = ("*.example.com", "api.example.org", "127.0.0.1:8000")
TOKEN = "at-0123456789-abcdefghij"


@pytest.fixture
def near() -> Iterator[None]:
    """Peers on this machine are permitted, as in development."""
    with loopback_allowed():
        yield


def one(value: Any, kind: str, hosts: tuple[str, ...] = ()) -> Any:
    """What becomes of ``value``; None if it is left out."""
    secrets = Secrets(TOKEN, "s3cret-of-the-client")
    return taken([Named("it", "token", ("it",), kind, hosts)], "token", {"it": value}, secrets).get("it")


@pytest.mark.parametrize(
    ("value", "kind", "kept"),
    [
        ("Ünïted Ço.", "string", "Ünïted Ço."),
        (42, "string", "42"),
        (True, "string", None),
        ({"a": 1}, "string", None),
        (["a"], "string", None),
        (1.5, "string", None),
        ("", "string", None),
        ("x" * MOST_TEXT, "string", "x" * MOST_TEXT),
        ("x" * (MOST_TEXT + 1), "string", None),
        ("two\nlines", "string", None),
        ("moc.\u202eelpmaxe", "string", None),
        ("\ud800", "string", None),
        (42, "integer", 42),
        ("42", "integer", 42),
        ("-7", "integer", -7),
        (2**53, "integer", 2**53),
        (2**53 + 1, "integer", None),
        (2**64, "string", "18446744073709551616"),
        (2**200, "string", None),
        ("4e2", "integer", None),
        ("\u0664\u0662", "integer", None),
        (True, "integer", None),
        (True, "boolean", True),
        (False, "boolean", False),
        ("true", "boolean", True),
        (1, "boolean", None),
        ("yes", "boolean", None),
    ],
)
def test_a_value_has_its_type_and_a_size(value: Any, kind: str, kept: Any) -> None:
    found = one(value, kind)
    assert (found, type(found)) == (kept, type(kept))


URLS = [
    "https://a.example.com",
    "https://a.b.example.com/base/",
    "https://API.example.org/v1",
    "https://api.example.org:443/v1",
]
ELSEWHERE = [
    "https://example.com",
    "https://evil.com",
    "https://a.example.com.evil.com",
    "https://evil.com#.example.com",
    "https://evil.com?.example.com",
    "https://evil.com/.example.com",
    "https://evil.com\\.example.com",
    "https://a.b@evil.com",
    "https://a.example.com@evil.com",
    "https://a.example.com:8443@evil.com/",
    "//a.example.com",
    "https:a.example.com",
    "http://a.example.com",
    "ftp://a.example.com",
    "javascript:alert(1)//a.example.com",
    "https://a.example.com:8443",
    "https://a.example.com/?q=1",
    "https://a\u3002example.com",
    "https://evil\uff0ecom/.example.com",
    "https://\u0430.example.com",
    "https://.example.com",
    "https://a..example.com",
    "https://127.0.0.1",
    "https://127.0.0.1:8000",
    "https://[::1]/",
    "https://169.254.169.254/",
    "https://a.example.com/\r\nHost: evil.com",
    " https://a.example.com",
    "https://a.example.com\t.evil.com",
]


def test_a_number_that_cannot_be_written_out_is_left_out() -> None:
    assert one(10**5000, "integer") is None


@pytest.mark.parametrize("url", URLS)
def test_an_address_at_the_entrys_hosts_is_kept(url: str) -> None:
    assert one(url, "url", HOSTS) == url


@pytest.mark.parametrize("url", ELSEWHERE)
def test_t148_an_address_anywhere_else_is_left_out(url: str) -> None:
    assert one(url, "url", HOSTS) is None


def test_a_host_is_one_of_the_entrys_and_nothing_more() -> None:
    assert one("A.example.com", "host", HOSTS) == "a.example.com"
    for wrong in ("example.com", "a.example.com/x", "a.example.com:8443", "a.example.com#", "x@a.example.com", "a.b"):
        assert one(wrong, "host", HOSTS) is None, wrong


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        f"Bearer {TOKEN}",
        TOKEN[:18],
        "s3cret-of-the-client",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl",
        f"https://a.example.com/{TOKEN}",
    ],
)
@pytest.mark.parametrize("kind", ["string", "url"])
def test_t147_what_is_a_secret_or_has_one_in_it_is_left_out(value: str, kind: str) -> None:
    assert one(value, kind, HOSTS if kind == "url" else ()) is None


def test_t147_what_stands_under_a_secrets_name_in_the_answer_is_a_secret_wherever_it_is_repeated() -> None:
    said = {
        "bot": {"access_token": "xoxb-of-the-bot"},
        "keys": [{"client_secret": "another"}],
        "name": "xoxb-of-the-bot",
    }
    secrets = Secrets()
    secrets.see(said)
    wanted = [Named("name", path=("name",)), Named("fine", path=("fine",))]
    assert taken(wanted, "token", {**said, "fine": "bot"}, secrets) == {"fine": "bot"}
    assert secrets.has("another")


def test_a_list_is_kept_whole_or_not_at_all() -> None:
    named = Named("ids", "call", ("*", "id"))
    sites: list[Any] = [{"id": "a"}, {"name": "without"}, {"id": "b"}]
    assert taken([named], "call", sites, Secrets()) == {"ids": ["a", "b"]}
    assert taken([named], "call", [*sites, {"id": TOKEN}], Secrets(TOKEN)) == {}
    assert taken([named], "call", [{"id": "a"}] * (MOST_LISTED + 1), Secrets()) == {}
    assert taken([named], "call", {"id": "a"}, Secrets()) == {}
    inner = Named("urls", "call", ("orgs", "*", "sites", "*", "url"), "url", HOSTS)
    said = {"orgs": [{"sites": [{"url": URLS[0]}]}, {"sites": [{"url": URLS[1]}]}, {"sites": 7}]}
    assert taken([inner], "call", said, Secrets()) == {"urls": URLS[:2]}


def test_what_one_source_says_is_not_taken_from_another() -> None:
    wanted = [Named("realm", "callback", ("realmId",))]
    assert taken(wanted, "token", {"realmId": "1"}, Secrets()) == {}
    assert taken(wanted, "callback", {"realmId": "1"}, Secrets()) == {"realm": "1"}
    nothings: tuple[Any, ...] = (None, [], "text", 7)
    for nothing in nothings:
        assert taken(wanted, "callback", nothing, Secrets()) == {}


def test_the_whole_has_a_size() -> None:
    full = merged({}, {f"n{number}": "x" for number in range(MOST_NAMES + 5)})
    assert len(full) == MOST_NAMES
    large = merged({"first": "x" * 900}, {f"n{number}": "x" * 900 for number in range(MOST_NAMES)})
    assert "first" in large
    assert 2 < len(large) < MOST_NAMES
    assert len(json.dumps(large)) <= MOST_WHOLE
    assert merged({"a": 1, "b": 2}, {"b": 3}) == {"a": 1, "b": 3}
    assert len(merged({}, {f"n{number}": "客" * 900 for number in range(8)})) == 8


BASE = Named("base", "token", ("base",), "url", HOSTS)
REALM = Named("realm", "callback", ("realm",))


@pytest.mark.parametrize(
    ("url", "values", "made"),
    [
        ("https://api.example.org/me", {}, "https://api.example.org/me"),
        ("{base}/me", {"base": "https://a.example.com/x/"}, "https://a.example.com/x/me"),
        ("{base}/{realm}/me", {"base": "https://a.example.com", "realm": "7"}, "https://a.example.com/7/me"),
        ("https://api.example.org/{realm}", {"realm": 7}, "https://api.example.org/7"),
        ("{base}/me", {}, None),
        ("{base}/me", {"base": "https://evil.com"}, None),
        ("{base}/me", {"base": "https://a.example.com@evil.com"}, None),
        ("{base}/me", {"base": "https://a.example.com#"}, None),
        ("{base}/me", {"base": "http://169.254.169.254"}, None),
        ("https://api.example.org/{realm}/me", {"realm": "../.."}, None),
        ("https://api.example.org/{realm}/me", {"realm": "7?x=1"}, None),
        ("https://api.example.org/{realm}/me", {"realm": "{base}"}, None),
        ("https://api.example.org/{other}/me", {"other": "7"}, None),
    ],
)
def test_t148_an_address_made_of_metadata_leads_to_the_entrys_hosts_alone(
    url: str, values: dict[str, Any], made: str | None
) -> None:
    assert filled(url, [BASE, REALM], values) == made


def test_a_peer_on_this_machine_counts_in_development_alone(near: None) -> None:
    assert one("http://127.0.0.1:8000/api", "url", HOSTS) == "http://127.0.0.1:8000/api"
    assert one("http://127.0.0.1:8001/api", "url", HOSTS) is None
    assert filled("{base}/me", [BASE], {"base": "http://127.0.0.1:8000"}) == "http://127.0.0.1:8000/me"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"name": "access_token"}, "names access_token, which may be a secret"),
        ({"name": "key", "path": ["client_secret"]}, "names client_secret, which may be a secret"),
        ({"name": "it", "path": ["authed_user", "refresh_token"]}, "names refresh_token"),
        ({"name": "code", "from": "callback"}, "names code, which may be a secret"),
        ({"name": "it", "from": "callback", "path": ["state"]}, "names state"),
        ({"name": "Name"}, "has the name Name"),
        ({"name": "it", "from": "header"}, "from must be one of token, callback, userinfo, call"),
        ({"name": "it", "type": "date"}, "type one of string, integer, boolean, url, host"),
        ({"name": "it", "type": "url"}, "hosts is needed for the types url and host"),
        ({"name": "it", "hosts": ["a.example.com"]}, "hosts is needed for the types url and host, and for no other"),
        ({"name": "it", "type": "url", "hosts": ["*.com"]}, "*.com is not a host"),
        ({"name": "it", "type": "url", "hosts": ["*"]}, "is not a host"),
        ({"name": "it", "type": "url", "hosts": ["a.*.com"]}, "is not a host"),
        ({"name": "it", "type": "url", "hosts": ["https://a.example.com"]}, "is not a host"),
        ({"name": "it", "type": "url", "hosts": ["A.example.com"]}, "is not a host"),
        ({"name": "it", "from": "callback", "path": ["a", "b"]}, "has one name, and no path"),
    ],
)
def test_what_may_not_be_declared(said: dict[str, Any], problem: str) -> None:
    found = next(faults([said]))
    assert problem in found


def test_two_of_one_name_may_not_be_declared() -> None:
    assert list(faults([{"name": "a"}, {"name": "a", "from": "callback"}])) == ["must not have the same name twice"]
    assert list(faults([{"name": "a"}, {"name": "b", "type": "url", "hosts": ["*.example.com", "localhost:80"]}])) == []


@pytest.mark.parametrize(
    ("userinfo", "call", "problem"),
    [
        ("{base}/me", "", ""),
        ("{base}/{realm}/me", "", ""),
        ("https://a.example.com/{realm}", "", ""),
        ("{realm}/me", "", "userinfo has {realm}: metadata of type url begins the address, and no other does"),
        ("https://a.example.com/{base}", "", "userinfo has {base}: metadata of type url begins the address"),
        ("https://{realm}.example.com/me", "", "userinfo has {realm} in its host"),
        ("{nothing}/me", "", "userinfo has {nothing}, which is no metadata that is known before it is called"),
        ("{later}/me", "", "userinfo has {later}, which is no metadata that is known before it is called"),
        ("", "{base}/me", "call is needed with metadata from call, and only then"),
    ],
)
def test_what_an_address_may_be_made_of(userinfo: str, call: str, problem: str) -> None:
    later = Named("later", "userinfo", ("later",), "url", HOSTS)
    found = faults_of_addresses({"userinfo": userinfo, "call": call}, [BASE, REALM, later])
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_the_call_may_use_what_userinfo_said() -> None:
    later = Named("later", "userinfo", ("later",), "url", HOSTS)
    site = Named("site", "call", ("site",))
    assert faults_of_addresses({"userinfo": "", "call": "{later}/me"}, [later, site]) == ""
    assert "no metadata" in faults_of_addresses({"userinfo": "", "call": "{site}/me"}, [site])
    assert "only then" in faults_of_addresses({"userinfo": "", "call": ""}, [site])
