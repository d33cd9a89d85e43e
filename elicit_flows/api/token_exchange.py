"""Token exchange (RFC 8693): the user's own token for an access token of a connection of that user."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import QueryDict
from ninja import Body, Router, Schema
from pydantic import ConfigDict, Field, ValidationError

from elicit_flows import identity, oauth, vault
from elicit_flows.api import auth, parsing
from elicit_flows.api.oauth_errors import OAUTH_ERRORS, refusal
from elicit_flows.api.responses import answer
from elicit_flows.api.schemas import Absent, Metadata, Strict
from elicit_flows.domain.errors import (
    BadRequest,
    Conflict,
    FlowError,
    InvalidScope,
    TooLarge,
    UnsupportedGrant,
    UnsupportedMedia,
)
from elicit_flows.domain.values import Claim, Json
from elicit_flows.lib import clock
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Agent, IdentityProvider

UserTokenType = Literal[
    "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:id_token"
]  # RFC 8693, section 3


class UserToken(Strict):
    """The user's own token, if the operator requires it of this agent. It is checked whenever it is given."""

    subject_token: str = Field(min_length=1, description="The user's own token.")
    subject_token_type: UserTokenType = identity.ACCESS


MaybeUserToken = Annotated[UserToken | None, parsing.NothingSaid, Body(None)]


class TokenExchange(Schema):
    """Give either ``audience`` or ``connection``. Unknown parameters are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    grant_type: Literal["urn:ietf:params:oauth:grant-type:token-exchange"]
    subject_token: str = Field(description="The user's own token.")
    subject_token_type: UserTokenType
    audience: str | Absent = Field(None, description="The provider's slug.")
    connection: str | Absent = Field(None, description="The id of a connection.")
    scope: str | Absent = Field(None, description="Scopes that the connection must have, separated by spaces.")
    requested_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"] | Absent = None


class Exchanged(Schema):
    """RFC 8693, section 2.2.1. ``expires_in`` is in seconds, and left out if the token's expiry is not known."""

    access_token: str
    issued_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"]
    token_type: str
    expires_in: int | Absent = None
    scope: str
    connection: str
    metadata: Metadata
    resource: str | None = Field(description="The only resource that the token is for, such as an MCP server.")


class OAuthError(Schema):
    error: Literal[OAUTH_ERRORS]  # type: ignore[valid-type]
    error_description: str
    code: str


router = Router(tags=["connections"])

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
FORM = "application/x-www-form-urlencoded"
# Parameters that would change the meaning of the request if they were ignored.
_NOT_OFFERED = ("resource", "actor_token", "actor_token_type")
_DESCRIBED: Json = {"requestBody": {"required": True, "content": {FORM: {"schema": TokenExchange.model_json_schema()}}}}


@router.post(
    "",
    auth=None,
    response={200: Exchanged, 400: OAuthError, 401: OAuthError, 503: OAuthError},
    openapi_extra=_DESCRIBED,
    summary="Exchange the user's own token for an access token",
)
@asks_outside
def create(request: HttpRequest) -> HttpResponse:
    """RFC 8693, form-encoded. Errors have OAuth's form (RFC 6749, section 5.2) with an additional ``code``:
    ``invalid_request`` for a user's token that is not accepted, ``invalid_target`` if that user has no such connection.
    """
    try:
        agent = auth.by_request(request)
        parsing.check_query(dict(request.GET.lists()), ())
        ask = _read(request)
        claim = holder(agent, ask.subject_token, ask.subject_token_type)
        scopes = (ask.scope or "").split()
        row = vault.of_person(
            agent, claim, connection_id=ask.connection or "", provider=ask.audience or "", scopes=scopes
        )
        sets = oauth.split_scopes(scopes, row.provider.quirks().scope_sets if row.provider else ())
        wanted = [name for name, some in sets.items() if some]
        if len(wanted) > 1:
            raise InvalidScope("These scopes are of several tokens. Ask for one token at a time.")
        given = vault.token(agent, row.pk, scope_set=wanted[0] if wanted else None)
        if given["token_secret"] is not None:
            raise Conflict("A token of OAuth 1.0a has two parts. Ask for the token of this connection.")
        lasting = (
            {}
            if given["expires_at"] is None
            else {
                "expires_in": max(0, int((datetime.fromisoformat(given["expires_at"]) - clock.now()).total_seconds()))
            }
        )
        return answer(
            {
                "access_token": given["access_token"],
                "issued_token_type": identity.ACCESS,
                "token_type": given["token_type"],
                **lasting,
                "scope": " ".join(given["scopes"]),
                "connection": row.pk,
                "metadata": given["metadata"],
                "resource": given["resource"],
            }
        )
    except FlowError as error:
        return refusal(error)


def _read(request: HttpRequest) -> TokenExchange:
    """The request. Unknown parameters are ignored (RFC 6749, section 3.2). Raises BadRequest and UnsupportedGrant."""
    fields = _fields(request)
    if fields.get("grant_type") != GRANT:
        raise UnsupportedGrant(f"Send grant_type={GRANT}.")
    for name in _NOT_OFFERED:
        if name in fields:
            raise BadRequest(f"{name} is not supported. Give the provider as audience, or a connection.")
    if bool(fields.get("audience")) == bool(fields.get("connection")):
        raise BadRequest("Send either audience (the provider's slug) or connection (its id).")
    try:
        return TokenExchange.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _fields(request: HttpRequest) -> dict[str, str]:
    if request.content_type != FORM:
        raise UnsupportedMedia(f"Send the parameters as {FORM}.")
    if len(request.body) > parsing.MAX_BYTES:
        raise TooLarge(f"A body may have at most {parsing.MAX_BYTES} bytes.")
    try:
        found = QueryDict(request.body.decode("ascii"))
    except UnicodeDecodeError:
        raise BadRequest("The body is not form-encoded.") from None
    for name, values in found.lists():
        if len(values) > 1:
            raise BadRequest(f"{name} is given twice.")
    return {name: values[0] for name, values in found.lists() if values[0] and "\0" not in values[0]}


def holder(agent: Agent, token: str, sort: str) -> Claim:
    """The user whose token it is. ``sort`` is a token type of RFC 8693, section 3.

    Raises UserTokenRefused and ProviderUnavailable.
    """
    rows = IdentityProvider.objects.filter(agent=agent, sort=IdentityProvider.Sort.OPENID, enabled=True).order_by("pk")
    trusted: list[identity.Trusted] = []
    for row in rows:
        op = vault.openid(row)
        # The token may be for the agent or for this service. One for another program is refused.
        audiences = tuple(agent.user_token_audiences) or (settings.ELICIT_PUBLIC_URL, op.client_id)
        trusted.append(identity.Trusted(op, audiences, row.introspect))
    return identity.holder(token, sort, trusted)
