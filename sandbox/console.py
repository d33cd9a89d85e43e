"""The front page, which acts as an agent and uses the SDK like any other."""

from __future__ import annotations

from collections import deque
from typing import Any

import httpx2
from flask import Blueprint, abort, redirect, render_template, request, session, url_for
from werkzeug import Response

from elicit_flows.sdk import Elicit, Elicitation, ElicitError
from sandbox.settings import ACME_SCOPES, USERS, Settings
from sandbox.stripe import money

WAIT_SECONDS = 20
KEPT = 10
MESSAGES = {
    "oauth": "Connect Acme Drive so that I can list your files.",
    "payment": "The report is ready. Pay, and I send it to you.",
    "credentials": "Give me the key of your blog so that I can post for you.",
    "acme_key": "Give me a key of your Acme Drive so that I can count your files at night.",
    "form": "Tell me how you want your reports.",
    "confirm": "I found 12 files that nobody has opened for a year.",
    "link": "Read our terms and come back.",
    "steps": "Three things, and your reports come every Monday.",
}
KINDS = {"acme_key": "credentials"}  # buttons that are not kinds themselves
REPORT = {"amount": 500, "currency": "usd", "description": "Quarterly report"}
BLOG = {
    "fields": [
        {"name": "api_key", "label": "API key", "help": "Any text will do: nothing here is real."},
        {"name": "blog", "label": "Name of your blog", "secret": False},
    ]
}
PLAN = {
    "schema": {
        "type": "object",
        "properties": {
            "plan": {"type": "string", "title": "Plan", "enum": ["free", "pro"], "enumNames": ["Free", "Pro"]},
            "email": {"type": "string", "title": "Where to send them", "format": "email"},
            "copies": {"type": "integer", "title": "How many copies", "minimum": 1, "maximum": 9, "default": 1},
        },
        "required": ["plan", "email"],
    },
    "order": ["plan", "email", "copies"],
}
WIPE = {"detail": "Delete the 12 files.", "danger": True, "confirm_label": "Delete", "decline_label": "Keep them"}


class Console:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.asked: deque[Elicitation] = deque(maxlen=KEPT)

    def blueprint(self) -> Blueprint:
        pages = Blueprint("console", __name__)
        pages.get("/")(self.front)
        pages.post("/ask")(self.ask)
        pages.get("/asked/<question>")(self.watch)
        pages.get("/back")(self.back)
        pages.post("/asked/<question>/cancel")(self.cancel)
        pages.post("/connections/<connection>/files")(self.files)
        pages.post("/connections/<connection>/revoke")(self.revoke)
        pages.post("/connections/<connection>/secret")(self.secret)
        pages.post("/payments/<payment>/refund")(self.refund)
        pages.get("/terms")(self.terms)
        pages.app_context_processor(self.shared)
        pages.register_error_handler(ElicitError, refused)
        return pages

    def shared(self) -> dict[str, Any]:
        return {"users": USERS, "service": self.settings.service_url, "money": money.shown}

    def elicit(self) -> Elicit:
        return Elicit(self.settings.service_url, self.settings.api_key(), retry_for=2.0)

    async def front(self) -> str:
        if self.settings.api_key() is None:
            return render_template("no_key.html", path=self.settings.key_file)
        async with self.elicit() as elicit:
            connections = [one for one in await elicit.connections() if one.status != "revoked"]
        return render_template("front.html", asked=list(self.asked), connections=connections, scopes=ACME_SCOPES)

    async def ask(self) -> Response:
        user = request.form.get("user", "")
        if user not in USERS:
            abort(400, "Choose alice or bob.")
        kind = request.form.get("kind", "oauth")
        if kind not in MESSAGES:
            abort(400, f"Choose one of {', '.join(MESSAGES)}.")
        async with self.elicit() as elicit:
            question = await elicit.create(
                KINDS.get(kind, kind),
                (self.settings.root, user),
                self.params(kind),
                message=MESSAGES[kind],
                return_url=self.settings.back_url,
                reuse="never" if "again" in request.form else "if_valid",
            )
        self.asked.appendleft(question)
        session["asked"] = question.id
        return redirect(url_for("console.watch", question=question.id), 303)

    def params(self, kind: str) -> dict[str, Any]:
        asked: dict[str, dict[str, Any]] = {
            "oauth": {"provider": "acme", "scopes": request.form.getlist("scope")},
            "payment": REPORT,
            "credentials": BLOG,
            "acme_key": {"provider": "acme-key"},
            "form": PLAN,
            "confirm": WIPE,
            "link": {"url": f"{self.settings.root}/terms", "completion": "on_return"},
            "steps": {
                "steps": [
                    {"kind": "oauth", "params": {"provider": "acme", "scopes": ["files.read"]}},
                    {"kind": "payment", "params": REPORT},
                    {"kind": "form", "params": PLAN},
                ]
            },
        }
        return asked[kind]

    async def watch(self, question: str) -> str:
        """The question as it is now; with ``after_seq``, as soon as it has changed, or unchanged after a while."""
        after_seq = request.args.get("after_seq", type=int)
        wait = None if after_seq is None else WAIT_SECONDS
        async with self.elicit() as elicit:
            found = await elicit.get(question, wait=wait, after_seq=after_seq)
        return render_template("asked.html", question=found)

    def back(self) -> Response:
        """The page to which the service sends the user back."""
        question = session.get("asked")
        return redirect(url_for("console.watch", question=question) if question else url_for("console.front"), 303)

    async def cancel(self, question: str) -> Response:
        async with self.elicit() as elicit:
            await elicit.cancel(question)
        return redirect(url_for("console.watch", question=question), 303)

    async def files(self, connection: str) -> str:
        """What an agent does with a token: call the provider's API."""
        async with self.elicit() as elicit, httpx2.AsyncClient(trust_env=False) as acme:
            token = await elicit.token(connection)
            url = f"{self.settings.root}/acme/api/files"
            answer = await acme.get(url, headers={"Authorization": token.authorization})
        files = answer.json()["files"] if answer.is_success else []
        return render_template("files.html", token=token, files=files, status=answer.status_code, connection=connection)

    async def secret(self, connection: str) -> str:
        """What an agent does with credentials. It does not show them on the page."""
        async with self.elicit() as elicit:
            fields = await elicit.secret(connection)
        lengths = {name: len(secret.reveal()) for name, secret in fields.items()}
        return render_template("secret.html", lengths=lengths)

    def terms(self) -> str:
        """The agent's page that kind link leads to. It leads back to the service only."""
        back = request.args.get("elicit_return", "")
        fine = back.startswith(f"{self.settings.service_url}/")
        return render_template("terms.html", back=back if fine else "")

    async def revoke(self, connection: str) -> Response:
        async with self.elicit() as elicit:
            await elicit.revoke(connection)
        return redirect(url_for("console.front"), 303)

    async def refund(self, payment: str) -> Response:
        async with self.elicit() as elicit:
            await elicit.refund(payment, reason="Asked for on the sandbox's front page.")
        return redirect(url_for("console.front"), 303)


def refused(error: ElicitError) -> tuple[str, int]:
    title = "The service cannot be asked" if error.status is None else "The service refused"
    return render_template("problem.html", title=title, detail=error.detail, code=error.code), 502
