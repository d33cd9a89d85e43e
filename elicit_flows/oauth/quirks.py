"""Deviations of providers from the RFCs, as data, and the compliance hooks of Authlib's client that handle them.

A request that follows the RFCs is changed to what the provider wants when it is sent. An answer is changed to the form
of RFC 6749, section 5.1, before it is read. No other module needs to know about quirks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from authlib.oauth2.client import OAuth2Client

from elicit_flows import http
from elicit_flows.oauth.ways import Assertion, DescribedCall, Installation, OAuth1, ScopeSet

Unit = Literal[
    "seconds", "milliseconds", "timestamp", "rfc3339"
]  # the last two are points in time: seconds since 1970, or a text
Headers = dict[str, str]
Steps = tuple[str, ...]  # the path to a value in JSON: names, and indexes of lists


@dataclass(frozen=True, slots=True)
class DeadGrant:
    """How a provider says that a grant has ended: one of ``words`` at ``path`` in its JSON answer.

    Words are compared exactly, a number as its digits. With ``status``, only under that HTTP status.
    """

    words: tuple[str, ...]
    path: Steps = ("error",)
    status: int | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> DeadGrant:
        """From the configuration file or a row, which were checked before."""
        return cls(tuple(said["words"]), tuple(said.get("path") or ("error",)), said.get("status"))


@dataclass(frozen=True, slots=True)
class Quirks:
    """Every default is what the RFCs say."""

    oauth1: OAuth1 | None = None  # it is not OAuth 2.0 at all

    scope_separator: str = " "
    scope_param: str = "scope"
    scope_field: str = "scope"
    scope_names: Mapping[str, str] = field(default_factory=dict)  # its answers' names for scopes, by what is asked
    scope_prefix: str = ""  # may stand before a scope, which is the same with it
    implied_scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # left out of its answers, by the wider
    client_id_param: str = "client_id"
    client_secret_param: str = "client_secret"
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    token_params: Mapping[str, str] = field(default_factory=dict)
    refresh_params: Mapping[str, str] = field(default_factory=dict)
    refresh_url: str = ""  # "" is the token endpoint
    request_body: Literal["form", "json"] = "form"
    request_headers: Mapping[str, str] = field(default_factory=dict)  # to the token endpoint
    answer_format: Literal["json", "untyped_json", "form"] = "json"  # untyped_json: JSON whatever the content type is
    answer_path: Steps = ()  # where in the answer the tokens are
    token_field: str = "access_token"
    token_type: Literal["bearer", "unsaid"] = "bearer"  # unsaid: no type, or one of its own; used as a bearer token
    expires_field: str = "expires_in"
    expires_unit: Unit = "seconds"
    expires_after: int = 0  # seconds for which its tokens are valid, if it does not say so
    nonce: bool = True  # False: its ID tokens do not repeat the nonce, so none is sent
    ui_locales: bool = True  # False: it refuses parameters that it does not know, so the language is not sent
    account_source: Literal["userinfo", "token", "metadata"] = "userinfo"  # token: the token response
    account_id: Steps = ()
    account_label: Steps = ()
    userinfo_method: Literal["GET", "POST"] = "GET"
    userinfo_scheme: str = "Bearer"
    userinfo_body: str = ""  # JSON, such as a question in GraphQL
    userinfo_headers: Mapping[str, str] = field(default_factory=dict)  # "{client_id}" stands for ours
    # Instead of Authorization and userinfo_headers where the API is called; "{access_token}" stands for the token.
    api_headers: Mapping[str, str] = field(default_factory=dict)
    revoke_call: DescribedCall | None = None  # ends a grant where there is no RFC 7009
    long_token: DescribedCall | None = None  # asked at once for a longer token in place of the first one
    renew_token: DescribedCall | None = None  # makes the longer token last, in place of a refresh token
    assertion: Assertion | None = None  # how a token is got with a private key that somebody typed
    token_call: DescribedCall | None = None  # how a token is got with what somebody typed
    installation: Installation | None = None  # how tokens of an installed app are issued
    scope_sets: tuple[ScopeSet, ...] = ()  # beside the scopes of the usual parameter
    dead_grant: tuple[DeadGrant, ...] = ()  # in addition to invalid_grant (RFC 6749, section 5.2)

    def scope_name(self, scope: str) -> str:
        """The one name of a scope that has several."""
        return self.scope_names.get(scope, scope).removeprefix(self.scope_prefix)


R = TypeVar("R", bound=http.Reply)
PLAIN = Quirks()
TYPE_SAID = "token_type_said"  # where the provider's own word stands, if it is not one of OAuth's
_JSON = {"content-type": "application/json"}
_LATER_STATUS = frozenset({408, 425, 429})


def register_hooks(client: OAuth2Client, quirks: Quirks, *, scheme: str) -> None:
    """Register the compliance hooks that ``quirks`` need. ``scheme`` is the authorization scheme of the access tokens.

    Where the client's credentials go is decided by ``adapt_request``, which is part of authenticating the client.
    """
    if quirks == PLAIN and scheme == "Bearer":
        return

    def refresh_request(url: str, headers: Headers, body: str) -> tuple[str, Headers, str]:
        form = {**dict(parse_qsl(body, keep_blank_values=True)), **quirks.refresh_params}
        return quirks.refresh_url or url, headers, urlencode(form)

    def userinfo_request(url: str, headers: Headers, body: bytes) -> tuple[str, Headers, bytes]:
        token = headers["Authorization"].removeprefix("Bearer ")
        said = {name: value.replace("{client_id}", client.client_id) for name, value in quirks.userinfo_headers.items()}
        typed = {"content-type": "application/json"} if body else {}
        return url, {**headers, "Authorization": f"{scheme} {token}", **said, **typed}, body

    for hook in ("access_token_response", "refresh_token_response"):
        client.register_compliance_hook(hook, lambda reply: normalize_response(reply, quirks))
    client.register_compliance_hook("refresh_token_request", refresh_request)
    client.register_compliance_hook("protected_request", userinfo_request)


def adapt_url(url: str, quirks: Quirks) -> str:
    """The authorization request as this provider wants it."""
    if quirks == PLAIN:
        return url
    parts = urlsplit(url)
    names = {"client_id": quirks.client_id_param, "scope": quirks.scope_param}
    asked = parse_qsl(parts.query, keep_blank_values=True)
    sets = split_scopes(dict(asked).get("scope", "").split(), quirks.scope_sets)
    usual = quirks.scope_separator.join(sets[""])
    bent = [(names.get(name, name), usual if name == "scope" else value) for name, value in asked]
    bent += [(one.param, quirks.scope_separator.join(sets[one.name])) for one in quirks.scope_sets if sets[one.name]]
    said = {name for name, _ in asked}  # parameters in the address itself are not overwritten
    bent += [(name, value) for name, value in quirks.authorize_params.items() if name not in said]
    return urlunsplit(parts._replace(query=urlencode(bent)))


def split_scopes(scopes: Iterable[str], sets: Sequence[ScopeSet]) -> dict[str, list[str]]:
    """The scopes by the name of their set, without its prefix; under "" those of the usual parameter."""
    found: dict[str, list[str]] = {"": [], **{one.name: [] for one in sets}}
    for scope in scopes:
        name = next((one.name for one in sets if scope.startswith(one.prefix)), "")
        found[name].append(scope.removeprefix(f"{name}/") if name else scope)
    return found


def adapt_request(headers: Mapping[str, str], body: str, quirks: Quirks) -> tuple[dict[str, str], bytes]:
    """A form for the token endpoint, credentials included, as this provider wants it."""
    bent = dict(headers)
    if quirks == PLAIN:
        return bent, body.encode()
    names = {"client_id": quirks.client_id_param, "client_secret": quirks.client_secret_param}
    form = [(names.get(name, name), value) for name, value in parse_qsl(body, keep_blank_values=True)]
    bent |= quirks.request_headers
    if quirks.request_body == "json":
        return bent | {"content-type": "application/json"}, json.dumps(dict(form)).encode()
    return bent, urlencode(form).encode()


def normalize_response(reply: R, quirks: Quirks) -> R:
    """A token response in the form of RFC 6749, section 5.1. What cannot be read is left as it is."""
    if quirks == PLAIN:
        return reply
    if _says_dead(reply, quirks):
        body: Any = {"error": "invalid_grant"}
        return replace(reply, status=400, headers=_JSON, body=json.dumps(body).encode())
    body = _body(reply, quirks.answer_format)
    if not isinstance(body, dict):
        return reply
    inner = value_at(body, quirks.answer_path)
    tokens = {**body, **inner} if isinstance(inner, dict) else dict(body)
    if quirks.token_field != "access_token":
        tokens["access_token"] = tokens.pop(quirks.token_field, None)
    if quirks.scope_field != "scope":
        tokens["scope"] = tokens.pop(quirks.scope_field, None)
    if quirks.token_type == "unsaid":
        tokens[TYPE_SAID] = tokens.get("token_type")
        tokens["token_type"] = "Bearer"
    life = _seconds(tokens.pop(quirks.expires_field, None), quirks.expires_unit)
    if life is None and quirks.expires_after:
        life = quirks.expires_after
    if life is not None:
        tokens["expires_in"] = life
    if isinstance(tokens.get("scope"), str):
        tokens["scope"] = tokens["scope"].replace(quirks.scope_separator, " ")
    written = json.dumps(tokens, ensure_ascii=False).encode()
    return replace(reply, headers={**reply.headers, **_JSON}, body=written)


def _says_dead(reply: http.Reply, quirks: Quirks) -> bool:
    """Whether the provider says that the grant has ended. A temporary error does not count.

    The content type is ignored, because errors are often labelled wrongly.
    """
    if not quirks.dead_grant or trouble(reply) or 300 <= reply.status < 400:
        return False
    try:
        body = reply.json()
    except ValueError:
        return False
    for sign in quirks.dead_grant:
        value = value_at(body, sign.path)
        word = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if sign.status in (None, reply.status) and isinstance(word, str) and word in sign.words:
            return True
    return False


def trouble(reply: http.Reply) -> bool:
    """Whether it is a temporary error: by its status, or a refusal with Retry-After (RFC 9110, 10.2.3)."""
    return (
        reply.status >= 500 or reply.status in _LATER_STATUS or (reply.status >= 400 and "retry-after" in reply.headers)
    )


def value_at(value: Any, steps: Steps) -> Any:
    """The value that ``steps`` lead to in JSON, or None."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _body(reply: http.Reply, form: str) -> Any:
    """The body, or None if it is not in the provider's format."""
    typed = "json" in reply.headers.get("content-type", "").partition(";")[0].lower()
    try:
        if form == "form" and not typed:
            return dict(parse_qsl(reply.body.decode(), keep_blank_values=True, strict_parsing=True))
        return reply.json() if typed or form == "untyped_json" else None
    except ValueError:
        return None


def _seconds(value: Any, unit: str) -> Any:
    """A lifetime in seconds. What is not a number is returned as it is, and ``responses`` decides."""
    if unit == "rfc3339":
        try:
            return max(1, int(datetime.fromisoformat(value).timestamp() - time.time()))
        except (TypeError, ValueError, OverflowError):
            return None
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
    if not isinstance(number, int | float) or isinstance(number, bool):
        return value
    if unit == "milliseconds":
        return int(number // 1000)
    return max(1, int(number - time.time())) if unit == "timestamp" else number
