"""One entry of the catalogue, and the provider settings that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from elicit_flows import oauth
from elicit_flows.catalogue.oauth import (
    Api,
    Assertion,
    Call,
    DeadGrant,
    Endpoints,
    Installation,
    Line,
    Metadata,
    OAuth1,
    OtherQuirks,
    Params,
    Registration,
    Removal,
    Scopes,
    ScopeSet,
    Undocumented,
)
from elicit_flows.catalogue.parts import Page, Part, Variable, filled, is_fixed
from elicit_flows.domain.values import Json
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.credentials import fields as rules_of_fields
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.oauth import Quirks

Kind = Literal["oauth", "api_key", "basic", "client_credentials"]
Checked = Literal["document", "library", "unverified"]
TokenAuth = Literal["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]


class Entry(Part):
    """``slug`` is the file's name. ``libraries`` are those that agree with the entry, if ``checked`` is library.

    ``checked`` document: ``checked_on`` is the day on which somebody read ``source_url``, or a stored copy of it.
    """

    slug: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    name: Line
    kind: Kind
    source_url: Page
    checked: Checked
    checked_on: date | None = None
    libraries: tuple[Line, ...] = ()
    note: Annotated[str, StringConstraints(max_length=500)] = ""
    # For the kind oauth. client_credentials uses token_auth, endpoints.token and .revoke, scopes, params.token, quirks.
    token_auth: TokenAuth = "client_secret_post"
    pkce: Literal["S256", "off"] = "S256"
    oauth1: OAuth1 | None = None
    revoke_call: Call | None = None
    long_token: Call | None = None
    renew_token: Call | None = None
    installation: Installation | None = None
    endpoints: Endpoints = Endpoints()
    scopes: Scopes = Scopes()
    scope_sets: Annotated[tuple[ScopeSet, ...], Field(max_length=5)] = ()
    params: Params = Params()
    quirks: OtherQuirks = OtherQuirks()
    account_page: Page | None = None  # the page that documents how to ask for the account
    revoke_page: Page | None = None  # the page that documents how access is ended, by whatever means
    removal: Removal | None = None
    registration: Registration | None = None
    refresh_tokens: bool = True  # False: it issues none, and an access token is valid until it is revoked
    dead_grant: tuple[DeadGrant, ...] = ()
    undocumented: tuple[Undocumented, ...] = ()
    metadata: Annotated[tuple[Metadata, ...], Field(max_length=connection_metadata.MOST_NAMES)] = ()
    variables: tuple[Variable, ...] = ()
    api: Api = Api()
    # For client_credentials: another way to tokens than a client's id and secret.
    assertion: Assertion | None = None
    token_call: Call | None = None
    # For the other kinds.
    find_url: Page | None = None
    fields: list[Json] = []
    verify: Json = {}

    @field_validator("variables")
    @classmethod
    def _once(cls, given: tuple[Variable, ...]) -> tuple[Variable, ...]:
        if len({one.name for one in given}) < len(given):
            raise ValueError("two variables have the same name")
        return given

    @model_validator(mode="after")
    def _sets_have_types(self) -> Self:
        if self.scope_sets and self.quirks.token_type != "unsaid":
            raise ValueError('scope_sets are told apart by the token_type of the answer: quirks.token_type is "unsaid"')
        return self

    @property
    def facts(self) -> dict[str, bool]:
        """Which of the facts that a provider may leave undocumented the entry has."""
        ends = self.endpoints
        return {
            "endpoints": self.checked != "unverified",
            "dead_grant": bool(self.dead_grant) or not self.refresh_tokens,
            "revocation": bool(ends.revoke or self.revoke_call or self.revoke_page or self.removal),
        }

    @property
    def examples(self) -> dict[str, str]:
        """The example value of each variable."""
        return {one.name: one.example for one in self.variables}

    @property
    def sort(self) -> str:
        """The kind of elicitation that the provider is for."""
        return "oauth" if self.kind == "oauth" else "credentials"

    def settings(self, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The settings, under the names of the configuration file. ``variables`` fill in the addresses; the places of
        those that each person is asked for stay.

        Raises ValueError, which names the variable that is missing, unknown or not valid.
        """
        self._check(variables or {})
        if self.kind != "oauth":
            return self._credentials(variables or {})
        ends = {name: filled(url or "", variables or {}) for name, url in self.endpoints.model_dump().items()}
        return {
            "name": self.name,
            "issuer": ends["issuer"],
            "authorize_url": ends["authorize"],
            "token_url": ends["token"],
            "revocation_url": ends["revoke"],
            "userinfo_url": ends["userinfo"],
            "device_authorization_url": ends["device"],
            "token_auth": self.token_auth,
            "scopes": list(self.scopes.default),
            "pkce": self.pkce,
            "dead_grant": [one.said for one in self.dead_grant],
            "metadata": [one.said for one in self.metadata],
            "metadata_url": ends["metadata"],
            "api_urls": [filled(url, variables or {}) for url in self.api.urls],
        }

    def _credentials(self, variables: Mapping[str, str]) -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": self.name,
            "fields": [rules_of_fields.complete(field, rules_of_fields.OPERATORS) for field in self.asked],
            "find_url": filled(self.find_url or "", variables),
            "api_urls": [filled(url, variables) for url in self.api.urls],
            "verify": {**self.verify, "url": filled(self.verify["url"], variables)} if "url" in self.verify else None,
        }
        if self.kind != "client_credentials":
            return said
        return said | {
            "token_url": filled(self.token_call.url if self.token_call else self.endpoints.token or "", variables),
            "revocation_url": filled(self.endpoints.revoke or "", variables),
            "metadata": [one.said for one in self.metadata],
            "token_auth": self.token_auth,
            "scopes": list(self.scopes.default),
        }

    @property
    def asked(self) -> list[Json]:
        """The fields. An entry for client_credentials may leave them out, since they are the same everywhere."""
        return self.fields or (client_credentials.FIELDS if self.kind == "client_credentials" else [])

    def oddities(self, variables: Mapping[str, str] | None = None) -> Quirks:
        """The provider's deviations from the RFCs. Raises like ``settings``."""
        self._check(variables or {})
        old = self.oauth1
        calls: dict[str, Any] = {name: call.call(variables or {}) for name, call in self.calls.items()}
        return Quirks(
            oauth1=oauth.OAuth1(filled(old.request, variables or {}), old.signature) if old else None,
            assertion=self.assertion.assertion(variables or {}) if self.assertion else None,
            installation=self.installation.installation(variables or {}) if self.installation else None,
            scope_sets=tuple(oauth.ScopeSet(one.name, one.param, one.path, one.type) for one in self.scope_sets),
            **calls,
            scope_separator=self.scopes.separator,
            authorize_params=self.params.authorize,
            token_params=self.params.token,
            refresh_params=self.params.refresh,
            refresh_url=filled(self.endpoints.refresh or "", variables or {}),
            dead_grant=tuple(oauth.DeadGrant(one.words, one.path, one.status) for one in self.dead_grant),
            **self.quirks.model_dump(),
        )

    def _check(self, variables: Mapping[str, str]) -> None:
        for name in variables.keys() - {one.name for one in self.variables}:
            raise ValueError(f"the preset has no variable {name}")
        for one in self.variables:
            if one.name not in variables and self.may_be_asked(one.name):
                continue  # its place stays in the addresses, and each person is asked for it
            if not one.fits(variables.get(one.name, "")):
                raise ValueError(one.needed)

    def may_be_asked(self, name: str) -> bool:
        """Whether the operator may leave this variable to the person: no value of it leads to a site of another's."""
        return self.kind == "oauth" and all(is_fixed(url, name) for url in self.addresses)

    @property
    def calls(self) -> dict[str, Call]:
        """The requests that it describes, under the names of ``oauth.Quirks``."""
        said = {"revoke_call": self.revoke_call, "long_token": self.long_token, "renew_token": self.renew_token}
        said["token_call"] = self.token_call
        return {name: call for name, call in said.items() if call}

    @property
    def needs(self) -> set[str]:
        """The fields that its own way to tokens needs; empty for a client's id and secret."""
        if self.token_call:
            return self.token_call.call({}).names - self.examples.keys()
        said = self.assertion
        return ({said.document} if said.document else said.assertion({}).names) if said else set()

    @property
    def addresses(self) -> list[str]:
        """All that may be called for a grant, with the places of variables."""
        first = [self.oauth1.request] if self.oauth1 else []
        first += [call.url for call in self.calls.values()]
        first += [self.installation.mint] if self.installation else []
        return [*first, *filter(None, self.endpoints.model_dump().values()), *self.api.urls]
