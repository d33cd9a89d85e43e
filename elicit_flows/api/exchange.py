"""Token exchange (RFC 8693): the user's own token for a token of what that user has connected."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.http.request import QueryDict
from ninja import Router
from pydantic import ValidationError

from elicit_flows import identity, vault
from elicit_flows.api import auth, user_tokens
from elicit_flows.api import exchange_schemas as shapes
from elicit_flows.api.answers import answer
from elicit_flows.api.body import MAX_BYTES
from elicit_flows.api.oauth_errors import refusal
from elicit_flows.errors import BadRequest, FlowError, TooLarge, UnsupportedGrant, UnsupportedMedia
from elicit_flows.lib import clock
from elicit_flows.models import Agent
from elicit_flows.values import Json

router = Router(tags=["connections"])

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
FORM = "application/x-www-form-urlencoded"
# What cannot be left out without meaning something else.
_NOT_OFFERED = ("resource", "actor_token", "actor_token_type")
_DESCRIBED: Json = {
    "requestBody": {"required": True, "content": {FORM: {"schema": shapes.TokenExchange.model_json_schema()}}}
}


@router.post(
    "",
    auth=None,
    response={200: shapes.Exchanged, 400: shapes.OAuthError, 401: shapes.OAuthError, 503: shapes.OAuthError},
    openapi_extra=_DESCRIBED,
    summary="Exchange the user's own token for an access token",
)
def token(request: HttpRequest) -> HttpResponse:
    """RFC 8693, form-encoded. Errors are OAuth's (RFC 6749, section 5.2) with ``code`` beside them: ``invalid_request``
    for a user's token that does not count, ``invalid_target`` where that user has no such connection.
    """
    try:
        agent = auth.by_request(request)
        return answer(_exchanged(agent, _read(request)))
    except FlowError as error:
        return refusal(error)


def _exchanged(agent: Agent, ask: shapes.TokenExchange) -> Json:
    claim = user_tokens.holder(agent, ask.subject_token, ask.subject_token_type)
    scopes = (ask.scope or "").split()
    row = vault.of_person(agent, claim, connection_id=ask.connection or "", provider=ask.audience or "", scopes=scopes)
    given = vault.token(agent, row.pk)
    lasting = {} if given["expires_at"] is None else {"expires_in": _seconds_until(given["expires_at"])}
    return {
        "access_token": given["access_token"],
        "issued_token_type": identity.ACCESS,
        "token_type": given["token_type"],
        **lasting,
        "scope": " ".join(given["scopes"]),
        "connection": row.pk,
    }


def _seconds_until(moment: str) -> int:
    return max(0, int((datetime.fromisoformat(moment) - clock.now()).total_seconds()))


def _read(request: HttpRequest) -> shapes.TokenExchange:
    """Raises BadRequest, UnsupportedGrant. What is not known is ignored (RFC 6749, section 3.2)."""
    fields = _fields(request)
    if fields.get("grant_type") != GRANT:
        raise UnsupportedGrant(f"Send grant_type={GRANT}.")
    for name in _NOT_OFFERED:
        if name in fields:
            raise BadRequest(f"{name} is not offered here: name the provider by audience, or a connection.")
    if bool(fields.get("audience")) == bool(fields.get("connection")):
        raise BadRequest("Send audience, the provider's slug, or connection, the id; one of the two.")
    try:
        return shapes.TokenExchange.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _fields(request: HttpRequest) -> dict[str, str]:
    if request.content_type != FORM:
        raise UnsupportedMedia(f"Send the parameters as {FORM}.")
    if len(request.body) > MAX_BYTES:
        raise TooLarge(f"A body may have {MAX_BYTES} bytes.")
    try:
        found = QueryDict(request.body.decode("ascii"))
    except UnicodeDecodeError:
        raise BadRequest("The body is not form-encoded.") from None
    for name, values in found.lists():
        if len(values) > 1:
            raise BadRequest(f"{name} is given twice.")
    return {name: values[0] for name, values in found.lists() if values[0] and "\0" not in values[0]}
