"""The tools of the example's agent: each asks its user for something first, and then does its work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from elicit_flows.sdk import Completed, Elicit, Outcome, Questions

Asks = Questions[Awaitable[Outcome]]

PLAN = {
    "type": "object", "required": ["plan"],
    "properties": {"plan": {"type": "string", "title": "Plan", "enum": ["free", "pro"]}},
}  # fmt: skip
KEY = [{"name": "key", "label": "API key"}]


@dataclass(frozen=True)
class Tool:
    """``mcp``: the MCP server that it comes from, whose calls pause while an account is connected."""

    ask: Callable[..., Awaitable[Outcome]]
    work: Callable[[Elicit, Completed], Awaitable[str]]
    mcp: str | None = None


def tools(sandbox: str) -> dict[str, Tool]:
    """The tools by name. ``sandbox``: the address of Acme Drive and the terms."""

    async def list_files(elicit: Elicit, done: Completed) -> str:
        token = await elicit.token(done)
        async with httpx2.AsyncClient(trust_env=False) as acme:
            answer = await acme.get(f"{sandbox}/acme/api/files", headers={"Authorization": token.authorization})
        return ", ".join(file["name"] for file in answer.raise_for_status().json()["files"])

    def oauth(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.oauth("acme", scopes=["files.read"], message="Connect Acme Drive to list your files.", **more)

    def payment(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.payment(500, "usd", description="A report", message="The report costs 5.00 USD.", **more)

    def credentials(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.credentials(KEY, message="Hand over your API key.", **more)

    def confirm(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.confirm("May I wipe all your files?", **more)

    def form(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.form(PLAN, message="Choose your plan.", **more)

    def link(asks: Asks, **more: Any) -> Awaitable[Outcome]:
        return asks.url_action(f"{sandbox}/terms", message="Read our terms and come back.", **more)

    return {
        "list_files": Tool(oauth, list_files, mcp=f"{sandbox}/acme"),
        "buy_report": Tool(payment, _says("The report is yours.")),
        "store_api_key": Tool(credentials, _says("The key is kept.")),
        "wipe_files": Tool(confirm, _says("All files are wiped.")),
        "choose_plan": Tool(form, _chosen),
        "accept_terms": Tool(link, _says("The terms are accepted.")),
    }


def _says(text: str) -> Callable[[Elicit, Completed], Awaitable[str]]:
    async def work(elicit: Elicit, done: Completed) -> str:
        return text

    return work


async def _chosen(elicit: Elicit, done: Completed) -> str:
    return f"The plan is {done.result['content']['plan']}."
