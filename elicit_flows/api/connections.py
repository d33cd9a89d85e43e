"""What users have connected for this agent."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router

from elicit_flows import flow, vault
from elicit_flows.api import exchange_schemas, schemas, user_tokens
from elicit_flows.api.answers import AgentRequest, answer
from elicit_flows.api.importing import ImportConnection
from elicit_flows.api.proving import Proof, ProofRequest
from elicit_flows.errors import Conflict, Forbidden, NotFound, UserTokenRequired

router = Router(tags=["connections"])
MAX_LIST = 1000


class Filter(schemas.Strict):
    iss: str | None = None
    sub: str | None = None
    provider: str | None = None


@router.get("", response=schemas.ConnectionList, summary="List connections, newest first, no secrets")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = vault.owned(request.auth)
    wanted = {"iss": query.iss, "sub": query.sub, "provider__slug": query.provider}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return answer({"data": [row.summary() for row in rows.order_by("-created_at", "-pk")[:MAX_LIST]]})


@router.post("", response={201: schemas.Connection}, summary="Bring tokens that were connected elsewhere")
def bring(request: AgentRequest, said: ImportConnection) -> HttpResponse:
    """Sealed at once. Where your operator allows it, else 403. 409 where this account is connected already: its tokens
    may be newer, so it is left as it is.
    """
    if not request.auth.import_connections:
        raise Forbidden("This agent may not import connections; its operator can allow it.")
    row = flow.bring(request.auth, said.claim(), said.provider, said.grant(), vault.Use.Actor.AGENT)
    if row is None:
        raise Conflict("This account is connected already.")
    return answer(row.summary(), status=201)


@router.post("/{connection_id}/token", response=schemas.Token, summary="Get an access token")
def token(request: AgentRequest, connection_id: str, ask: schemas.TokenRequest | None = None) -> HttpResponse:
    """Refreshed when it expires within ``min_ttl`` seconds, or within half its life where that is shorter; without
    ``min_ttl`` within 60 seconds, or a tenth of its life.

    409 ``reauthorization_required``: ask the user again. 410 ``connection_revoked``. 403 ``user_token_required``: this
    agent gets tokens by POST /v1/token alone. Never a refresh token.
    """
    if request.auth.require_user_token:
        raise UserTokenRequired("Exchange the user's own token at POST /v1/token (RFC 8693).")
    return answer(vault.token(request.auth, connection_id, ask.min_ttl if ask else None))


@router.post("/{connection_id}/secret", response=schemas.Credentials, summary="Get what the user typed")
def secret(request: AgentRequest, connection_id: str, ask: exchange_schemas.UserToken | None = None) -> HttpResponse:
    """Of kind credentials: the values by the names of their fields. 409 for a connection that gives tokens: of an
    OAuth provider, or of a client of the user's own. 410 ``connection_revoked``. 403 ``user_token_required``: this
    agent has to send the user's own token.
    """
    if ask:
        holder = user_tokens.holder(request.auth, ask.subject_token, ask.subject_token_type)
        vault.of_person(request.auth, holder, connection_id=connection_id)
    elif request.auth.require_user_token:
        raise UserTokenRequired("Send the user's own token as subject_token.")
    return answer(vault.open_credentials(request.auth, connection_id))


@router.post("/{connection_id}/report", response=schemas.Connection, summary="Say that the provider refused the token")
def report(request: AgentRequest, connection_id: str, said: schemas.Report) -> HttpResponse:
    """Refreshed at once, unless the token or the last try is younger than 30 seconds. The answer is the connection:
    ``active``, fetch the token and try again; ``reauthorization_required``, ask the user again.
    """
    return answer(vault.report(request.auth, connection_id).summary())


@router.post("/{connection_id}/proof", response=Proof, summary="Get a DPoP proof")
def proof(request: AgentRequest, connection_id: str, ask: ProofRequest) -> HttpResponse:
    """For a token whose ``token_type`` is DPoP (RFC 9449): signed here, so that its key goes nowhere. Each proof is for
    one request. 409 for a token that needs none.
    """
    return answer({"dpop": vault.proof(request.auth, connection_id, ask.method, ask.url, ask.nonce, ask.ath)})


@router.delete("/{connection_id}", response={204: None}, summary="Revoke")
def revoke(request: AgentRequest, connection_id: str) -> HttpResponse:
    """At once here; the provider is told (RFC 7009) as soon as it listens."""
    row = vault.owned(request.auth).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("There is no connection with this id.")
    vault.revoke(row, vault.Use.Actor.AGENT)
    return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
