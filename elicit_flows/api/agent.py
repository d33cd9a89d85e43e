"""GET /v1/agent: the calling agent, and what it may ask."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.http import HttpResponse
from ninja import Router, Schema
from pydantic import Field

from elicit_flows import kinds
from elicit_flows.api import schemas
from elicit_flows.api.responses import AgentRequest, answer
from elicit_flows.domain.values import Json
from elicit_flows.elicitations import agent_access, creation, notify
from elicit_flows.elicitations.transitions import STEPS
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.models import Agent, Provider
from elicit_flows.payments import queries

router = Router(tags=["agent"])


class UsableProvider(Schema):
    slug: str
    name: str
    type: Literal["oauth", "credentials"] = Field(description="The kind that it is for.")


class UsableAccount(Schema):
    slug: str
    provider: str = Field(examples=["stripe"])
    livemode: bool = Field(description="Whether real money moves.")
    modes: list[schemas.AskedMode]
    computes_tax: bool = Field(description="Whether you may leave the tax of an order to the provider.")


class UsableWallet(Schema):
    """An account that pays by HTTP 402. The amounts are in the token's smallest unit."""

    slug: str
    livemode: bool = Field(description="Whether real money moves.")
    network: str = Field(description="Its CAIP-2 name.", examples=["eip155:8453"])
    asset: str = Field(description="The contract of the token that it pays with.")
    symbol: str = Field(examples=["USDC"])
    max_per_payment: int
    max_per_day: int = Field(description="In any 24 hours, for all agents together.")
    payees: list[str] = Field(description="Empty: anybody may be paid.")


class Spending(Schema):
    """In minor units of ``currency``; null: no limit of that kind. Both limits are for one person."""

    currency: str
    per_payment: int | None
    per_day: int | None = Field(description="In any 24 hours.")


class Limits(Schema):
    """Beyond these limits, requests are refused: 429 for open questions and waiting requests, 503 for a full process,
    403 for money.
    """

    open_per_user: int = Field(description="How many open elicitations you may have for one user.")
    open_per_user_of_all_agents: int
    max_wait: int = Field(description="The longest time that a request waits, in seconds.")
    waiting: int = Field(description="How many of your requests may wait at once in one process of the service.")
    waiting_of_all_agents: int
    requests_per_minute: int = Field(description="For each process; the RateLimit headers say how many are left.")
    in_flight: int = Field(
        description="How many of your requests one process handles at once, without those that wait."
    )
    spending: list[Spending] = Field(description="Empty: no limits. Otherwise you may ask for these currencies only.")


class ThisAgent(Schema):
    """``kinds`` are those that you may ask now: payment needs a payment account, x402 a wallet, oauth a provider."""

    object: Literal["agent"]
    slug: str
    name: str
    kinds: list[schemas.Kind]
    issuers: list[str] = Field(description="The allowed values of subject.iss, whose users you may ask.")
    providers: list[UsableProvider]
    mcp_servers: list[str] = Field(
        description="The hosts whose MCP servers you may ask for by their address; * is any host."
    )
    payment_accounts: list[UsableAccount]
    wallets: list[UsableWallet]
    return_urls: list[str]
    webhook_url: str | None
    webhook_disabled: bool = Field(description="Whether deliveries were stopped because it answered 410 Gone.")
    import_connections: bool = Field(
        description="Whether you may import tokens of accounts that were connected elsewhere."
    )
    notify: bool = Field(description="Whether you may have users notified that you ask.")
    require_user_token: bool = Field(description="Whether you have to show a user's own token to get their tokens.")
    tokens_never_leave: bool = Field(
        description="Whether you get no tokens and no typed secrets, and call APIs through the service instead."
    )
    limits: Limits


@router.get("", response=ThisAgent, summary="Who you are and what you may ask")
def get(request: AgentRequest) -> HttpResponse:
    """What your operator has configured. A change takes effect within a second."""
    who, allowed = request.auth, agent_access.of(request.auth)
    by_slug = sorted(allowed.providers.values(), key=lambda row: row.slug)
    accounts = sorted(allowed.accounts.values(), key=lambda row: row.slug)
    wallets = sorted(allowed.wallets.values(), key=lambda row: row.slug)
    lacking = {kind for kind, usable in (("payment", accounts), ("x402", wallets)) if not usable}
    if not who.mcp_servers and not any(row.sort == Provider.Sort.OAUTH for row in by_slug):
        lacking.add("oauth")
    said = {
        "object": "agent",
        "slug": who.slug,
        "name": who.name,
        "kinds": [kind for kind in (*kinds.REGISTRY, STEPS) if kind not in lacking],
        "issuers": sorted(allowed.issuers),
        "providers": [{"slug": row.slug, "name": row.settings()["name"], "type": row.sort} for row in by_slug],
        "mcp_servers": who.mcp_servers,
        "payment_accounts": [
            {
                "slug": row.slug,
                "provider": row.provider,
                "livemode": row.livemode,
                "modes": creation.modes_of(row),
                "computes_tax": row.computes_tax,
            }
            for row in accounts
        ],
        "wallets": [
            {
                "slug": row.slug,
                "livemode": row.livemode,
                "network": row.network,
                "max_per_payment": row.max_per_payment,
                "max_per_day": row.max_per_day,
                "payees": row.payees,
                "asset": NETWORKS[row.network].asset,
                "symbol": NETWORKS[row.network].symbol,
            }
            for row in wallets
        ],
        "return_urls": who.return_urls,
        "webhook_url": who.webhook_url or None,
        "webhook_disabled": who.webhook_disabled_at is not None,
        "import_connections": who.import_connections,
        "notify": notify.may(who),
        "require_user_token": who.require_user_token,
        "tokens_never_leave": who.tokens_never_leave,
        "limits": _limits(who),
    }
    return answer(said)


def _limits(who: Agent) -> Json:
    spending = queries.spend_limits_of(who).order_by("currency").values("currency", "per_payment", "per_day")
    return {
        "open_per_user": creation.OPEN_PER_PERSON,
        "open_per_user_of_all_agents": creation.OPEN_OF_ALL,
        "max_wait": settings.ELICIT_MAX_WAIT,
        "waiting": settings.ELICIT_MAX_WAITERS_PER_AGENT,
        "waiting_of_all_agents": settings.ELICIT_MAX_WAITERS,
        "requests_per_minute": who.requests_per_minute or settings.ELICIT_AGENT_REQUESTS_PER_MINUTE,
        "in_flight": settings.ELICIT_AGENT_IN_FLIGHT,
        "spending": list(spending),
    }
