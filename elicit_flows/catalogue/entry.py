"""One entry: what a file may say, and what of it goes into a provider's settings."""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import StringConstraints, field_validator, model_validator

from elicit_flows.catalogue.oauth import Endpoints, Line, Odd, Params, Scopes
from elicit_flows.catalogue.parts import PLACE, Page, Part, Variable, filled
from elicit_flows.kinds.credentials import fields as rules_of_fields
from elicit_flows.kinds.credentials import own_client
from elicit_flows.kinds.credentials.rules import Unfit, checked_verify, credentials_faults
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
    # of kind oauth; token_auth, endpoints.token, scopes, params.token and quirks also of kind client_credentials
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

    @model_validator(mode="after")
    def _whole(self) -> Self:
        of_kind = {"oauth": self._oauth_fault, "client_credentials": self._client_fault}
        if fault := self._claim_fault() or of_kind.get(self.kind, self._credentials_fault)():
            raise ValueError(fault)
        return self

    def _claim_fault(self) -> str:
        """An entry never claims more than was seen."""
        if (self.checked == "document") != (self.checked_on is not None):
            return "checked_on stands beside checked = document, and nowhere else"
        if self.checked_on and self.checked_on > date.today():  # noqa: DTZ011  a day, not a moment
            return "checked_on is still to come"
        if (self.checked == "library") != (len(self.libraries) >= 2):
            return "checked = library needs two libraries or more, and they stand nowhere else"
        return ""

    def _oauth_fault(self) -> str:
        ends = self.endpoints
        if self.fields or self.verify or self.find_url:
            return "fields, verify and find_url are for the kinds api_key and basic"
        if not ends.issuer and not (ends.authorize and ends.token):
            return "endpoints needs an issuer, or authorize and token"
        return self._variables_fault([url for url in ends.model_dump().values() if url])

    def _client_fault(self) -> str:
        """People type a client of their own, so nothing is said of authorization, refreshing or accounts."""
        others = set(self.endpoints.model_fields_set) | set(self.params.model_fields_set)
        if self.model_fields_set & {"pkce", "verify"} or others - {"token"} or not self.endpoints.token:
            return "the kind client_credentials has endpoints.token and params.token, no others, no pkce and no verify"
        for at, said in rules_of_fields.faults(self._asked, rules_of_fields.OPERATORS):
            return f"fields {at}: {said}"
        for key, message in own_client.faults(self.settings(self.examples) | {"resources": []}):
            return f"{key} {message}"
        return self._variables_fault([self.find_url or "", self.endpoints.token])

    def _credentials_fault(self) -> str:
        given = self.model_fields_set & {"token_auth", "pkce", "endpoints", "scopes", "params", "quirks"}
        if given:
            return f"{min(given)} is for the kind oauth"
        for at, said in rules_of_fields.faults(self.fields, rules_of_fields.OPERATORS):
            return f"fields {at}: {said}"
        try:
            checked_verify(self._verify(self.examples) or {})
        except Unfit as unfit:
            return f"verify {unfit}"
        for key, message in credentials_faults({"fields": self.fields, "verify": self._verify(self.examples)}):
            return f"{key} {message}"
        names = {field["name"] for field in self.fields}
        return self._variables_fault([self.find_url or "", self.verify.get("url", "")], but=names)

    def _variables_fault(self, urls: list[str], but: Set[str] = frozenset()) -> str:
        used = {name for url in urls for name in PLACE.findall(url)}
        named = {one.name for one in self.variables}
        if named & but or used - but != named:
            return "the variables and the {places} in its addresses are not the same"
        return ""

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
            "token_auth": self.token_auth,
            "scopes": list(self.scopes.default),
            "pkce": self.pkce,
        }

    def _credentials(self, variables: Mapping[str, str]) -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": self.name,
            "fields": [rules_of_fields.complete(field, rules_of_fields.OPERATORS) for field in self._asked],
            "find_url": filled(self.find_url or "", variables),
            "verify": self._verify(variables),
        }
        if self.kind != "client_credentials":
            return said
        token_url = filled(self.endpoints.token or "", variables)
        return said | {"token_url": token_url, "token_auth": self.token_auth, "scopes": list(self.scopes.default)}

    @property
    def _asked(self) -> list[Json]:
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
