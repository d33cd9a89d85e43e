"""OAuth 1.0a against a provider that others wrote: the three steps, each signature method, and odd answers."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from elicit_flows import oauth
from elicit_flows.oauth import oauth1
from tests.doubles.oauth1 import CLIENT, ODD, SECRET
from tests.doubles.policy import loopback_allowed
from tests.doubles.raw import dripping, listening
from tests.doubles.server import Response, Server, json_response, redirect

KEY = RSAKey.generate_key(2048)
CALLBACK = "https://flows.example.com/callback/old?a=%2B"
CLIENTS = {
    "HMAC-SHA1": oauth1.Client1(CLIENT, SECRET),
    "RSA-SHA1": oauth1.Client1(CLIENT, KEY.as_pem(private=True).decode(), "RSA-SHA1"),
}
METHODS = pytest.mark.parametrize("method", list(CLIENTS))
Method = Literal["HMAC-SHA1", "RSA-SHA1"]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.doubles.oauth1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(KEY.as_pem(private=False).decode()) + "\n")
        process.stdin.flush()
        with loopback_allowed():
            yield process.stdout.readline().strip()
        process.communicate()


class _Browser(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def agree(url: str) -> dict[str, str]:
    """The person says yes; what the browser comes back with."""
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(_Browser()).open(url, timeout=10)
    with answer.value as said:
        back = said.headers["Location"]
    return {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}


def connect(provider: str, client: oauth1.Client1) -> oauth1.Token1:
    temporary = oauth1.request_token(f"{provider}/request_token", client, callback=CALLBACK)
    said = agree(oauth1.authorization_url(f"{provider}/authorize?lang=de", temporary))
    return oauth1.access_token(
        f"{provider}/access_token",
        client,
        temporary,
        answered=said["oauth_token"],
        verifier=said["oauth_verifier"],
    )


@METHODS
def test_an_account_is_connected_and_asked(provider: str, method: Method) -> None:
    client = CLIENTS[method]
    token = connect(provider, client)
    assert ODD.replace(" ", "") in token.token
    assert token.said == {"user_id": "42"}
    answer = oauth1.send_signed("GET", f"{provider}/account?q=a+b%26c", client, token)
    assert answer.json()["id"] == 42


@METHODS
@pytest.mark.parametrize(
    ("headers", "body"),
    [(FORM, b"a=1&a=2&b=%2B+x"), ({"Content-Type": "application/json"}, b'{"a": "b"}'), ({}, b"")],
    ids=["form", "json", "empty"],
)
def test_what_is_sent_arrives_whole(provider: str, method: Method, headers: dict[str, str], body: bytes) -> None:
    client = CLIENTS[method]
    answer = oauth1.send_signed(
        "POST", f"{provider}/account", client, connect(provider, client), headers=headers, body=body
    )
    assert answer.json()["heard"] == body.decode()


@METHODS
def test_a_wrong_secret_or_token_is_refused_and_not_repeated(provider: str, method: Method) -> None:
    good = CLIENTS[method]
    token = connect(provider, good)
    other = RSAKey.generate_key(2048).as_pem(private=True).decode() if method == "RSA-SHA1" else "another"
    for client, bad in ((replace(good, secret=other), token), (good, replace(token, token="another"))):
        with pytest.raises(oauth.ProviderError) as refused:
            oauth1.send_signed("GET", f"{provider}/account", client, bad)
        assert (refused.value.code, refused.value.status) == ("signature_invalid", 401)
    with pytest.raises(oauth.ProviderError):
        oauth1.request_token(f"{provider}/request_token", replace(good, secret=other), callback=CALLBACK)


def test_temporary_credentials_are_good_once(provider: str) -> None:
    client = CLIENTS["HMAC-SHA1"]
    temporary = oauth1.request_token(f"{provider}/request_token", client, callback=CALLBACK)
    said = agree(oauth1.authorization_url(f"{provider}/authorize", temporary))
    given = {"answered": said["oauth_token"], "verifier": said["oauth_verifier"]}
    assert oauth1.access_token(f"{provider}/access_token", client, temporary, **given).token
    with pytest.raises(oauth.ProviderError):
        oauth1.access_token(f"{provider}/access_token", client, temporary, **given)


@pytest.mark.parametrize(("answered", "verifier"), [("another", "v"), ("té", "v"), ("t", ""), ("", "v")])
def test_t18_an_answer_of_another_attempt_is_sent_nowhere(answered: str, verifier: str) -> None:
    with loopback_allowed(), Server() as server:
        temporary = oauth1.Token1("t", "s")
        with pytest.raises(oauth.InvalidGrant):
            oauth1.access_token(
                f"{server.url}/a", CLIENTS["HMAC-SHA1"], temporary, answered=answered, verifier=verifier
            )
        assert server.requests == []


GOOD = b"oauth_token=t&oauth_token_secret=s"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Response(200, GOOD, FORM), "not_allowed"),  # the first revision
        (Response(200, GOOD + b"&oauth_callback_confirmed=false", FORM), "not_allowed"),
        (Response(200, GOOD + b"&oauth_token=u&oauth_callback_confirmed=true", FORM), "bad_response"),
        (Response(200, b"oauth_token=t&oauth_callback_confirmed=true", FORM), "bad_response"),
        (Response(200, b"oauth_token=&oauth_token_secret=s&oauth_callback_confirmed=true", FORM), "bad_response"),
        (Response(200, b"oauth_token=a%0Ab&oauth_token_secret=s&oauth_callback_confirmed=true", FORM), "bad_response"),
        (json_response({"oauth_token": "t", "oauth_token_secret": "s"}), "bad_response"),
        (Response(200, b"<html>Please sign in</html>", {"Content-Type": "text/html"}), "bad_response"),
        (Response(200, b"\xff\xfe"), "bad_response"),
        (Response(200), "bad_response"),
        (Response(400, b"oauth_problem=<svg>"), "unknown_error"),
        (redirect("https://elsewhere.example.com"), "redirect"),
    ],
)
def test_t32_odd_answers_are_provider_errors(answer: Response, error: str) -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = answer
        with pytest.raises(oauth.ProviderError) as caught:
            oauth1.request_token(f"{server.url}/r", CLIENTS["HMAC-SHA1"], callback=CALLBACK)
        assert len(server.requests) == 1
    assert caught.value.code == error


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_provider_in_trouble_is_one_to_ask_later(status: int) -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = Response(status, GOOD, FORM)
        with pytest.raises(oauth.Transient):
            oauth1.request_token(f"{server.url}/r", CLIENTS["HMAC-SHA1"], callback=CALLBACK)


def test_a_silent_provider_is_given_up_at_the_deadline() -> None:
    with loopback_allowed(), listening(dripping(b"", b"", 0.05)) as silent, pytest.raises(oauth.Transient) as late:
        oauth1.request_token(f"{silent.url}r", CLIENTS["HMAC-SHA1"], callback=CALLBACK, deadline=0.3)
    assert late.value.sent


@pytest.mark.parametrize("url", ["https://10.0.0.1/r", "http://provider.example.com/r", "https://a.internal/r"])
def test_t36_nothing_goes_to_inner_addresses_or_unencrypted(url: str) -> None:
    with loopback_allowed(), pytest.raises(oauth.ProviderError) as caught:
        oauth1.request_token(url, CLIENTS["HMAC-SHA1"], callback=CALLBACK)
    assert caught.value.code == "not_allowed"


def test_a_key_that_is_none_signs_nothing() -> None:
    with pytest.raises(oauth.ProviderError, match="cannot be signed"):
        oauth1.request_token(
            "https://provider.example.com/r", oauth1.Client1(CLIENT, "no key", "RSA-SHA1"), callback=CALLBACK
        )


def test_t87_secrets_show_in_no_repr_and_no_message() -> None:
    client, token = CLIENTS["HMAC-SHA1"], oauth1.Token1("tok-en", "sec-ret", {"user_id": "id-42"})
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = json_response({"error": f"no {SECRET}", "message": f"no {SECRET} sec-ret"}, 400)
        with pytest.raises(oauth.ProviderError) as caught:
            oauth1.send_signed("GET", f"{server.url}/r", client, token)
    shown = repr(client) + repr(token) + str(caught.value) + caught.value.said
    assert not [secret for secret in (SECRET, "tok-en", "sec-ret", "id-42") if secret in shown]
