"""The OAuth part of an entry: endpoints, scopes, fixed parameters, and deviations from the RFCs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from elicit_flows import oauth
from elicit_flows.catalogue.parts import Endpoint, Lookup, Page, Part, filled
from elicit_flows.domain.values import Json
from elicit_flows.oauth import SCOPE_TOKEN, DescribedCall

INSTALLATION = "installation"  # stands for the id of an installation in an address
Scope = Annotated[str, StringConstraints(pattern=SCOPE_TOKEN.pattern)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]

# Parameters that the service itself sets in these requests; an entry must not set them.
_OURS = frozenset(
    """client_id client_secret redirect_uri response_type response_mode state nonce scope code code_verifier
    code_challenge code_challenge_method grant_type refresh_token resource request request_uri client_assertion
    client_assertion_type dpop_jkt device_code""".split()  # noqa: SIM905
)


def _not_ours(given: dict[str, str]) -> dict[str, str]:
    if ours := sorted(given.keys() & _OURS):
        raise ValueError(f"{ours[0]} is set by the service itself")
    return given


Extra = Annotated[dict[Line, str], Field(max_length=10), AfterValidator(_not_ours)]


class Endpoints(Part):
    """Addresses may have ``{variable}`` in the host or the path. ``issuer`` is for discovery and for ``iss``."""

    issuer: Endpoint | None = None
    authorize: Endpoint | None = None
    token: Endpoint | None = None
    refresh: Endpoint | None = None
    revoke: Endpoint | None = None
    userinfo: Lookup | None = None
    device: Endpoint | None = None
    metadata: Lookup | None = None  # asked once, with the token, for metadata from "call"


def _base(url: str) -> str:
    if "?" in url:
        raise ValueError("must have no query")
    return url


class Api(Part):
    """``urls``: where the API is, the usual one first, each at a host of its own. Agents' calls are sent below these
    addresses (docs/how-to/call-an-api.md). ``source_url``: the page that says so.
    """

    urls: Annotated[tuple[Annotated[Lookup, AfterValidator(_base)], ...], Field(max_length=20)] = ()
    source_url: Page | None = None


class Registration(Part):
    """Where an operator registers the client: the provider's ``page``, and what it calls the ``field`` for the redirect
    URI. ``source_url``: the page that says so.
    """

    page: Page
    field: Line
    source_url: Page


class Removal(Part):
    """Where people end the access themselves: the provider's page ``url``. ``source_url``: the page that says so."""

    url: Page
    source_url: Page


class Undocumented(Part):
    """A fact of which the provider's public documentation says nothing: it was looked for at ``looked_at``."""

    fact: Literal["endpoints", "dead_grant", "revocation"]
    looked_at: Annotated[tuple[Page, ...], Field(min_length=1, max_length=5)]
    looked_on: date


class OAuth1(Part):
    """OAuth 1.0a (RFC 5849). ``request``: where temporary credentials are issued. endpoints.authorize and .token are
    the other two addresses of the protocol.
    """

    request: Endpoint
    signature: Literal["HMAC-SHA1", "RSA-SHA1"] = "HMAC-SHA1"


class Call(Part):
    """One request that no RFC defines. ``{name}`` in the path and in values of ``params`` and ``headers`` stands for
    client_id, client_secret, access_token, refresh_token or token_secret, or for a field that was typed.
    """

    url: Endpoint
    method: Literal["GET", "POST", "PUT", "DELETE"] = "POST"
    auth: Literal["none", "client_secret_basic", "bearer", "oauth1"] = "none"
    send: Literal["query", "form", "json"] = "form"
    params: Annotated[dict[Line, Any], Field(max_length=20)] = {}
    headers: Annotated[dict[Line, Line], Field(max_length=10)] = {}
    done: Annotated[tuple[Annotated[int, Field(ge=400, le=499)], ...], Field(max_length=10)] = ()
    source_url: Page

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.params and self.send != "query" and self.method == "GET":
            raise ValueError('params of a GET are sent with send = "query"')
        if self.send != "json" and not all(isinstance(value, str) for value in self.params.values()):
            raise ValueError("params are texts, unless they are sent as JSON")
        return self

    def call(self, variables: Mapping[str, str]) -> DescribedCall:
        """The request with the variables of the entry in its address."""
        said = self.model_dump(exclude={"source_url", "url"})
        return DescribedCall(url=filled(self.url, variables), **said)


class Assertion(Part):
    """A signed assertion (RFC 7523). ``{name}`` is a field, or a member of the JSON in the field ``document``."""

    issuer: Line
    key: Line
    audience: Endpoint
    subject: Annotated[str, StringConstraints(max_length=200)] = ""
    key_id: Annotated[str, StringConstraints(max_length=200)] = ""
    document: Annotated[str, StringConstraints(max_length=40)] = ""
    scope: Literal["claim", "param"] = "param"
    life: Annotated[int, Field(ge=30, le=3600)] = 300
    source_url: Page

    def assertion(self, variables: Mapping[str, str]) -> oauth.Assertion:
        """The same with the variables of the entry in the audience."""
        said = self.model_dump(exclude={"source_url", "audience"})
        return oauth.Assertion(audience=filled(self.audience, variables), **said)


class Installation(Part):
    """Tokens of an installation of the provider's apps, see ``oauth.Installation``. ``{installation}`` in ``mint`` and
    ``repositories`` is its id.
    """

    mint: Endpoint
    repositories: Endpoint
    end: Endpoint
    usual: Annotated[tuple[Line, ...], Field(min_length=1, max_length=50)]
    admin: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    source_url: Page

    @model_validator(mode="after")
    def _at_one_host(self) -> Self:
        if len({urlsplit(url).netloc for url in (self.mint, self.repositories, self.end)}) > 1:
            raise ValueError("the addresses of an installation must be at one host")
        if not all(f"{{{INSTALLATION}}}" in urlsplit(url).path for url in (self.mint, self.repositories)):
            raise ValueError("mint and repositories need {installation} in their path")
        return self

    def installation(self, variables: Mapping[str, str]) -> oauth.Installation:
        """The same with the variables of the entry in the addresses."""
        ends = {name: filled(getattr(self, name), variables) for name in ("mint", "repositories", "end")}
        return oauth.Installation(**ends, usual=self.usual, admin=self.admin)


class ScopeSet(Part):
    """Scopes with a parameter and a token of their own, see ``oauth.ScopeSet``."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,19}$")]
    param: Annotated[Line, AfterValidator(lambda name: next(iter(_not_ours({name: ""}))))]
    path: Annotated[tuple[Line, ...], Field(min_length=1, max_length=8)]
    type: Line
    source_url: Page


class Scopes(Part):
    """``words``: what each scope allows, as one line for the person who is asked. ``source_url``: the provider's list
    of its scopes; without words, the page that says that none are asked for.
    """

    separator: Annotated[str, StringConstraints(min_length=1, max_length=1)] = " "
    default: tuple[Scope, ...] = ()
    words: Annotated[dict[Scope, Line], Field(max_length=100)] = {}
    source_url: Page | None = None


class Params(Part):
    """Fixed parameters that this provider needs in addition to those of the RFCs."""

    authorize: Extra = {}
    token: Extra = {}
    refresh: Extra = {}


Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class DeadGrant(Part):
    """The provider's answer to a refresh token of a grant that has ended: one of ``words`` at ``path``.

    ``invalid_grant`` of RFC 6749 counts for every provider; an entry that lists it says that this provider uses it.
    """

    words: Annotated[tuple[Word, ...], Field(min_length=1, max_length=20)]
    path: Annotated[tuple[Line, ...], Field(min_length=1, max_length=8)] = ("error",)
    status: Annotated[int, Field(ge=200, le=499)] | None = None
    source_url: Page

    @property
    def said(self) -> Json:
        """The form that the configuration uses."""
        return self.model_dump(mode="json", exclude={"source_url"}, exclude_none=True)


class Metadata(Part):
    """A value that the provider says beside the tokens, and that agents get with the connection."""

    name: Line
    source: Annotated[Literal["token", "callback", "userinfo", "call"], Field(alias="from")] = "token"
    path: Annotated[tuple[Line, ...], Field(max_length=8)] = ()
    type: Literal["string", "integer", "boolean", "url", "host"] = "string"
    hosts: Annotated[tuple[Line, ...], Field(max_length=20)] = ()
    source_url: Page

    @property
    def said(self) -> Json:
        """The form that the configuration uses."""
        return self.model_dump(mode="json", by_alias=True, exclude={"source_url"}, exclude_defaults=True)


def _json(given: str) -> str:
    try:
        json.loads(given or "{}")
    except ValueError:
        raise ValueError("is not JSON") from None
    return given


class OtherQuirks(Part):
    """The quirks that are neither scopes nor parameters, under the names of ``oauth.Quirks``."""

    scope_param: Line = "scope"
    scope_field: Line = "scope"
    scope_names: Annotated[dict[Scope, Scope], Field(max_length=20)] = {}
    scope_prefix: Annotated[str, StringConstraints(max_length=100)] = ""
    implied_scopes: Annotated[dict[Scope, tuple[Scope, ...]], Field(max_length=50)] = {}
    client_id_param: Line = "client_id"
    client_secret_param: Line = "client_secret"
    request_body: Literal["form", "json"] = "form"
    request_headers: dict[Line, Line] = {}
    answer_format: Literal["json", "untyped_json", "form"] = "json"
    answer_path: tuple[Line, ...] = ()
    token_field: Line = "access_token"
    token_type: Literal["bearer", "unsaid"] = "bearer"
    expires_field: Line = "expires_in"
    expires_unit: Literal["seconds", "milliseconds", "timestamp", "rfc3339"] = "seconds"
    expires_after: Annotated[int, Field(ge=0, le=31_536_000)] = 0
    nonce: bool = True
    ui_locales: bool = True
    account_source: Literal["userinfo", "token", "metadata"] = "userinfo"
    account_id: tuple[Line, ...] = ()
    account_label: tuple[Line, ...] = ()
    userinfo_method: Literal["GET", "POST"] = "GET"
    userinfo_scheme: Line = "Bearer"
    userinfo_body: Annotated[str, StringConstraints(max_length=500), AfterValidator(_json)] = ""
    userinfo_headers: dict[Line, Line] = {}
    api_headers: dict[Line, Line] = {}
