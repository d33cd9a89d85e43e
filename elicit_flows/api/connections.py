"""/v1/connections: a user's accounts and their tokens."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows import elicitations, vault
from elicit_flows.api import schemas, token_exchange
from elicit_flows.api.connection_import import ImportConnection
from elicit_flows.api.dpop import Proof, ProofRequest
from elicit_flows.api.owned_rows import own_connection
from elicit_flows.api.responses import AgentRequest, answer, listed
from elicit_flows.domain.errors import Conflict, Forbidden, Invalid, UserTokenRequired
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.models import Connection, Provider

router = Router(tags=["connections"])


class Filter(schemas.OfUser, schemas.Paging):
    provider: str | None = Field(None, min_length=1, description="The provider's slug.")
    status: schemas.ConnectionStatus | None = None


@router.get("", response=schemas.ConnectionList, summary="List connections, newest first, no secrets")
def list_all(request: AgentRequest, query: Query[Filter]) -> HttpResponse:
    rows = vault.owned(request.auth)
    wanted = {"iss": query.iss, "sub": query.sub, "status": query.status}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    if query.provider is not None:  # by its key: what is joined by its slug is looked for among all
        rows = rows.filter(provider__in=list(Provider.objects.filter(slug=query.provider).values_list("pk", flat=True)))
    return listed(request, query, rows, Connection.summary)


@router.post("", response={201: schemas.Connection}, summary="Import tokens that were connected elsewhere")
def bring(request: AgentRequest, said: ImportConnection) -> HttpResponse:
    """Stores the tokens encrypted. 403 unless your operator allows imports. 409 if this account is connected already:
    its tokens may be newer, so they are not changed.
    """
    if not request.auth.import_connections:
        raise Forbidden("This agent may not import connections; its operator can allow it.")
    row = elicitations.import_connection(
        request.auth, said.claim(), said.provider, said.grant(), vault.ConnectionUse.Actor.AGENT
    )
    if row is None:
        raise Conflict("This account is connected already.")
    return answer(row.summary(), status=201)


@router.post("/{connection_id}/token", response=schemas.Token, summary="Get an access token")
@asks_outside
def token(request: AgentRequest, connection_id: str, ask: schemas.TokenRequest | None = None) -> HttpResponse:
    """Refreshes the token first if it expires within ``min_ttl`` seconds, or within half its lifetime if that is
    shorter. Without ``min_ttl``: within 60 seconds, or a tenth of its lifetime.

    409 ``reauthorization_required``: ask the user again. 410 ``connection_revoked``. 403 ``user_token_required``: this
    agent gets tokens by POST /v1/token only. Never returns a refresh token.

    With ``installation``: a token of an installed app, for repositories that the user reaches. 403 ``forbidden`` for
    what the user does not reach or may not do. 409 ``conflict`` where the operator has given no key of the app.

    With ``scope_set``: the token of these scopes, such as the user's beside the app's at Slack. 400 ``invalid_scope``
    if the user has not given any of them.
    """
    if request.auth.require_user_token:
        raise UserTokenRequired("Exchange the user's own token at POST /v1/token (RFC 8693).")
    if ask is None:
        return answer(vault.token(request.auth, connection_id))
    if ask.installation and ask.scope_set:
        raise Invalid.at("body.scope_set", "A token of an installation has no scopes; leave one of the two out.")
    if ask.installation:
        of, min_ttl = ask.installation, ask.min_ttl
        return answer(
            vault.installation_token(request.auth, connection_id, of.id, of.repositories, of.permissions, min_ttl)
        )
    return answer(vault.token(request.auth, connection_id, ask.min_ttl, ask.scope_set))


@router.post("/{connection_id}/secret", response=schemas.Credentials, summary="Get what the user typed")
@asks_outside
def secret(request: AgentRequest, connection_id: str, ask: token_exchange.MaybeUserToken = None) -> HttpResponse:
    """For kind credentials: the values by the names of their fields. 409 for a connection that gives tokens: of an
    OAuth provider, or of a client of the user's own. 410 ``connection_revoked``. 403 ``user_token_required``: this
    agent has to send the user's own token.
    """
    _check_holder(request, connection_id, ask)
    return answer(vault.open_credentials(request.auth, connection_id))


def _check_holder(request: AgentRequest, connection_id: str, shown: token_exchange.UserToken | None) -> None:
    """Check that the connection belongs to the user whose token the agent shows, if it shows one or has to."""
    if shown:
        holder = token_exchange.holder(request.auth, shown.subject_token, shown.subject_token_type)
        vault.of_person(request.auth, holder, connection_id=connection_id)
    elif request.auth.require_user_token:
        raise UserTokenRequired("Send the user's own token as subject_token.")


@router.post(
    "/{connection_id}/report", response=schemas.Connection, summary="Report that the provider refused the token"
)
@asks_outside
def report(request: AgentRequest, connection_id: str, said: schemas.Report) -> HttpResponse:
    """Refreshes the token at once, unless the token or the last attempt is younger than 30 seconds. Returns the
    connection: if it is ``active``, fetch the token and try again; if ``reauthorization_required``, ask the user again.
    """
    return answer(vault.report_rejected_token(request.auth, connection_id).summary())


@router.post("/{connection_id}/proof", response=Proof, summary="Get a DPoP proof")
@asks_outside
def proof(request: AgentRequest, connection_id: str, ask: ProofRequest) -> HttpResponse:
    """For a token whose ``token_type`` is DPoP (RFC 9449). The proof is signed here, so the key stays here. Each proof
    is for one request. 409 for a token that needs none. 403 ``user_token_required``: this agent has to send the user's
    own token.
    """
    _check_holder(request, connection_id, ask.user_token)
    return answer({"dpop": vault.proof(request.auth, connection_id, ask.method, ask.url, ask.nonce, ask.ath)})


@router.get("/{connection_id}", response=schemas.Connection, summary="Get one, no secrets")
def get(request: AgentRequest, connection_id: str) -> HttpResponse:
    """The connection as it is now, also after it was revoked. Reading does not refresh its token."""
    return answer(own_connection(request.auth, connection_id).summary())


@router.delete("/{connection_id}", response={204: None}, summary="Revoke")
def revoke(request: AgentRequest, connection_id: str) -> HttpResponse:
    """Ends it here at once. It is then revoked at the provider (RFC 7009), with retries."""
    vault.revoke(own_connection(request.auth, connection_id), vault.ConnectionUse.Actor.AGENT)
    return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
