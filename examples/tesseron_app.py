"""A Tesseron app whose actions ask its user. A gateway finds it, and asks for the claim code that it prints.

    python examples/tesseron_app.py --user https://id.example alice

ELICIT_URL and ELICIT_API_KEY say where the service is, SANDBOX_URL where Acme Drive and the terms are.
"""

import argparse
import asyncio
import os
import signal
import webbrowser
from collections.abc import Awaitable, Callable

import httpx2
from tesseron import ActionContext, JsonValue, TesseronApp, WelcomeEvent

from elicit_flows.sdk import Cancelled, Completed, Elicit, Expired, Failed, Outcome, Token
from elicit_flows.sdk.tesseron import ActionQuestions, Pending, TesseronFlows

PLAN = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}}, "required": ["plan"]}
KEY = [{"name": "api_key", "label": "API key"}]
Action = Callable[[ActionQuestions, Elicit], Awaitable[str]]
SANDBOX = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8001")


def said(outcome: Outcome, done: Callable[[Completed], str]) -> str:
    match outcome:
        case Completed():
            return f"done: {done(outcome)}"
        case Failed(message=message):
            return f"cancelled: it could not be done ({message})"
        case Cancelled() | Expired():
            return "cancelled: nobody answered"
        case _:
            return "declined: the user said no"


async def list_files(ask: ActionQuestions, elicit: Elicit) -> str:
    """List the user's files."""
    account = await ask.oauth("acme", scopes=["files.read"], message="To list your files.")
    files = await names(await elicit.token(account)) if isinstance(account, Completed) else ""
    return said(account, lambda _: files)


async def buy_report(ask: ActionQuestions, elicit: Elicit) -> str:
    """Sell the user a report for 5.00 USD."""
    paid = await ask.payment(500, "usd", description="A report")
    return said(paid, lambda done: f"the report is yours, by payment {done.payment}")


async def store_api_key(ask: ActionQuestions, elicit: Elicit) -> str:
    """Let the user hand over an API key."""
    kept = await ask.credentials(KEY, message="The key is kept for you; no model sees it.")
    return said(kept, lambda done: f"kept as {done.connection}")


async def wipe_files(ask: ActionQuestions, elicit: Elicit) -> str:
    """Delete all of the user's files."""
    agreed = await ask.agreed("Delete all your files?")
    return "done: all files are deleted" if agreed else "declined: the files are kept"


async def choose_plan(ask: ActionQuestions, elicit: Elicit) -> str:
    """Let the user choose a plan."""
    chosen = await ask.form(PLAN, message="Which plan would you like?")
    return said(chosen, lambda done: f"the plan is {done.result['content']['plan']}")


async def accept_terms(ask: ActionQuestions, elicit: Elicit) -> str:
    """Let the user read and accept the terms."""
    read = await ask.url_action(f"{SANDBOX}/terms", message="Please read and accept the terms.")
    return said(read, lambda _: "the terms are accepted")


ACTIONS = [list_files, buy_report, store_api_key, wipe_files, choose_plan, accept_terms]


async def names(token: Token) -> str:
    async with httpx2.AsyncClient(headers={"Authorization": token.authorization}) as acme:
        answer = (await acme.get(f"{SANDBOX}/acme/api/files")).raise_for_status()
    return ", ".join(file["name"] for file in answer.json()["files"])


def app(user: tuple[str, str], timeout_ms: int, *, in_browser: bool) -> TesseronApp:
    made = TesseronApp(id="files", name="Files")
    elicit = Elicit()
    flows = TesseronFlows(user, elicit, app="files", show=webbrowser.open if in_browser else None)

    def add(action: Action) -> None:
        @made.action(action.__name__, description=action.__doc__ or "", timeout_ms=timeout_ms)
        async def run(given: JsonValue, ctx: ActionContext) -> str:
            try:
                return await action(flows.on(ctx, given, timeout_ms=timeout_ms), elicit)
            except Pending as pending:
                return pending.message  # begins with "waiting:"

    for action in ACTIONS:
        add(action)
    made.add_event_listener(told)
    return made


def told(event: object) -> None:
    if isinstance(event, WelcomeEvent) and event.welcome.claim_code:
        print(f"Give your agent this claim code: {event.welcome.claim_code}", flush=True)


async def main(made: TesseronApp) -> None:
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    host = await made.listen()
    print(f"Waiting for a gateway at {host.url}", flush=True)
    await over.wait()
    await host.shutdown()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--user", nargs=2, metavar=("ISS", "SUB"), default=(SANDBOX, "alice"))
    options.add_argument("--timeout-ms", type=int, default=60_000, help="of each action, default: %(default)s")
    options.add_argument("--browser", action="store_true", help="open links in the browser of this machine")
    args = options.parse_args()
    asyncio.run(main(app((args.user[0], args.user[1]), args.timeout_ms, in_browser=args.browser)))
