"""What an entry says of OAuth: where, with which scopes and fixed parameters, and how it strays from the RFCs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from elicit_flows.catalogue.parts import Endpoint, Part
from elicit_flows.lib.oauth import SCOPE_TOKEN

Scope = Annotated[str, StringConstraints(pattern=SCOPE_TOKEN.pattern)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]

# What the flow itself says in these requests, and no entry may say instead.
_OURS = frozenset(
    """client_id client_secret redirect_uri response_type response_mode state nonce scope code code_verifier
    code_challenge code_challenge_method grant_type refresh_token resource request request_uri client_assertion
    client_assertion_type dpop_jkt device_code""".split()  # noqa: SIM905
)


def _not_ours(given: dict[str, str]) -> dict[str, str]:
    if ours := sorted(given.keys() & _OURS):
        raise ValueError(f"{ours[0]} is said by the flow itself")
    return given


Extra = Annotated[dict[Line, str], Field(max_length=10), AfterValidator(_not_ours)]


class Endpoints(Part):
    """Addresses may have ``{variable}`` in the host or the path. ``issuer`` is for discovery and for ``iss``."""

    issuer: Endpoint | None = None
    authorize: Endpoint | None = None
    token: Endpoint | None = None
    refresh: Endpoint | None = None
    revoke: Endpoint | None = None
    userinfo: Endpoint | None = None
    device: Endpoint | None = None


class Scopes(Part):
    """``words``: what a scope lets an agent do, as one line for the person who is asked."""

    separator: Annotated[str, StringConstraints(min_length=1, max_length=1)] = " "
    default: tuple[Scope, ...] = ()
    words: Annotated[dict[Scope, Line], Field(max_length=100)] = {}


class Params(Part):
    """Fixed parameters that this provider wants besides those of the RFCs."""

    authorize: Extra = {}
    token: Extra = {}
    refresh: Extra = {}


class Odd(Part):
    """The quirks that are neither scopes nor parameters, under the names of ``lib.oauth.Quirks``."""

    scope_param: Line = "scope"
    client_id_param: Line = "client_id"
    client_secret_param: Line = "client_secret"
    request_body: Literal["form", "json"] = "form"
    request_headers: dict[Line, Line] = {}
    answer_format: Literal["json", "untyped_json", "form"] = "json"
    answer_path: tuple[Line, ...] = ()
    token_type: Literal["bearer", "unsaid"] = "bearer"
    expires_field: Line = "expires_in"
    expires_unit: Literal["seconds", "milliseconds", "timestamp", "rfc3339"] = "seconds"
    nonce: bool = True
    account_source: Literal["userinfo", "token"] = "userinfo"
    account_id: tuple[Line, ...] = ()
    account_label: tuple[Line, ...] = ()
    userinfo_method: Literal["GET", "POST"] = "GET"
    userinfo_scheme: Line = "Bearer"
    userinfo_headers: dict[Line, Line] = {}
