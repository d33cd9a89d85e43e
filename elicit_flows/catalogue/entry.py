"""One entry: what a file may say, and what of it goes into a provider's settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import StringConstraints, field_validator

from elicit_flows.catalogue.oauth import Endpoints, Line, Odd, Params, Scopes
from elicit_flows.catalogue.parts import Page, Part, Variable, filled
from elicit_flows.kinds.credentials import fields as rules_of_fields
from elicit_flows.kinds.credentials import own_client
from elicit_flows.lib.oauth import Quirks
from elicit_flows.values import Json

Kind = Literal["oauth", "api_key", "basic", "client_credentials"]
Checked = Literal["document", "library", "unverified"]
TokenAuth = Literal["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]


class Entry(Part):
    """``slug`` is the file's name. ``libraries`` are those that agree with it, where ``checked`` says library.

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
    # of kind oauth; of client_credentials: token_auth, token and revoke of endpoints, scopes, params.token, quirks
    token_auth: TokenAuth = "client_secret_post"
    pkce: Literal["S256", "off"] = "S256"
    endpoints: Endpoints = Endpoints()
    scopes: Scopes = Scopes()
    params: Params = Params()
    quirks: Odd = Odd()
    variables: tuple[Variable, ...] = ()
    # of the other kinds
    find_url: Page | None = None
    fields: list[Json] = []
    verify: Json = {}

    @field_validator("variables")
    @classmethod
    def _once(cls, given: tuple[Variable, ...]) -> tuple[Variable, ...]:
        if len({one.name for one in given}) < len(given):
            raise ValueError("two have the same name")
        return given

    @property
    def examples(self) -> dict[str, str]:
        """A value for each variable."""
        return {one.name: one.example for one in self.variables}

    @property
    def sort(self) -> str:
        """The kind of elicitation that it is for."""
        return "oauth" if self.kind == "oauth" else "credentials"

    def settings(self, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What it says under the names of the configuration file; ``variables`` fill in the addresses.

        Raises ValueError, whose text names the variable that is missing, unknown or unfit.
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
        }

    def _credentials(self, variables: Mapping[str, str]) -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": self.name,
            "fields": [rules_of_fields.complete(field, rules_of_fields.OPERATORS) for field in self.asked],
            "find_url": filled(self.find_url or "", variables),
            "verify": self._verify(variables),
        }
        if self.kind != "client_credentials":
            return said
        return said | {
            "token_url": filled(self.endpoints.token or "", variables),
            "revocation_url": filled(self.endpoints.revoke or "", variables),
            "token_auth": self.token_auth,
            "scopes": list(self.scopes.default),
        }

    @property
    def asked(self) -> list[Json]:
        """A client's id and secret are asked for everywhere alike, so an entry may leave them out."""
        return self.fields or (own_client.FIELDS if self.kind == "client_credentials" else [])

    def oddities(self, variables: Mapping[str, str] | None = None) -> Quirks:
        """Raises as ``settings``."""
        self._check(variables or {})
        return Quirks(
            scope_separator=self.scopes.separator,
            authorize_params=self.params.authorize,
            token_params=self.params.token,
            refresh_params=self.params.refresh,
            refresh_url=filled(self.endpoints.refresh or "", variables or {}),
            **self.quirks.model_dump(),
        )

    def _verify(self, variables: Mapping[str, str]) -> Json | None:
        return {**self.verify, "url": filled(self.verify["url"], variables)} if "url" in self.verify else None

    def _check(self, variables: Mapping[str, str]) -> None:
        for name in variables.keys() - {one.name for one in self.variables}:
            raise ValueError(f"the preset has no variable {name}")
        for one in self.variables:
            if not one.fits(variables.get(one.name, "")):
                raise ValueError(f"{one.name} is needed ({one.label}), such as {one.example}")
