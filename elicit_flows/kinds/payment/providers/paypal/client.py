"""PayPal's library, which writes the requests. Our guarded client sends them, and we read the answers.

The library decodes answers with jsonpickle, which makes any object and calls any function that an answer names. So it
gets none to decode: of each answer it sees ``{}``, of a token only the checked parts. ``asked`` returns what came.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import requests
from paypalserversdk.configuration import Configuration, Server
from paypalserversdk.http.auth.o_auth_2 import ClientCredentialsAuthCredentials
from paypalserversdk.paypal_serversdk_client import PaypalServersdkClient

from elicit_flows import http
from elicit_flows.http import for_requests
from elicit_flows.kinds.payment.providers.attempts import Attempts, calling
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.paypal import errors
from elicit_flows.kinds.payment.values import Account

LIVE, SANDBOX = "https://api-m.paypal.com", "https://api-m.sandbox.paypal.com"
EARLY = 60  # seconds before its end that a token is replaced
TOKEN_PATH = "/v1/oauth2/token"
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_TOKEN = re.compile(r"[!-~]{1,4000}")
_came: ContextVar[list[http.Reply]] = ContextVar("paypal_answers")


class ToPayPal(Attempts):
    def answer_to(self, request: requests.PreparedRequest) -> http.Reply:
        """What the library may see of the answer."""
        request.headers["User-Agent"] = "elicit-flows"  # by default the library names this machine's system
        if urlsplit(str(request.url)).path.endswith(TOKEN_PATH):
            with calling(changes=False):
                return self._token(request)
        reply = super().answer_to(request)
        _came.get().append(reply)
        return dataclasses.replace(reply, body=b"{}")

    def _token(self, request: requests.PreparedRequest) -> http.Reply:
        try:
            reply = super().answer_to(request)
        except Refused as refusal:
            raise Refused("authentication_failed", str(refusal)) from None
        said = reply.json()
        token, seconds = said.get("access_token"), said.get("expires_in")
        if not (isinstance(token, str) and _TOKEN.fullmatch(token) and type(seconds) is int):
            raise self.failure()
        checked = {"access_token": token, "token_type": "Bearer", "expires_in": seconds}
        return dataclasses.replace(reply, body=json.dumps(checked).encode())


_to_paypal = ToPayPal(errors)


class Addressed(Configuration):
    """The library knows two addresses by itself. This one is the account's."""

    def __init__(self, base: str, **more: Any) -> None:
        self.base = base
        super().__init__(**more)  # type: ignore[no-untyped-call]

    def get_base_uri(self, server: Server = Server.DEFAULT) -> str:
        return self.base


@lru_cache(maxsize=64)
def _client(account: Account) -> PaypalServersdkClient:
    """One client for each account, safe for threads, which keeps its token. Raises Refused."""
    secret = account.secret_key.reveal()
    if not (_CLIENT_ID.fullmatch(account.client_id) and secret):
        raise Refused("authentication_failed", "The account's client id is not one of PayPal's.")
    named = ClientCredentialsAuthCredentials(account.client_id, secret, o_auth_clock_skew=EARLY)
    base = account.api_base or (LIVE if account.livemode else SANDBOX)
    session = for_requests.guarded_session(_to_paypal)
    made = Addressed(base, http_client_instance=session, client_credentials_auth_credentials=named)
    return PaypalServersdkClient(config=made)


def asked(account: Account, call: Callable[[PaypalServersdkClient], object], *names: str) -> dict[str, Any]:
    """What PayPal answers, as plain JSON. If one of ``names`` is missing, the result is unknown.

    A token that PayPal no longer takes is replaced once. Use it within ``attempts.calling``.
    """
    came: list[http.Reply] = []
    token = _came.set(came)
    try:
        try:
            call(_client(account))
        except Refused as refusal:
            if refusal.code != "unauthorized":
                raise
            _client.cache_clear()  # with the tokens; a new one is a request for each account
            call(_client(account))
    finally:
        _came.reset(token)
    found = came[-1].json() if came else {}
    if any(name not in found for name in names):
        raise _to_paypal.failure()
    return dict(found)
