"""What the double remembers: elicitations, connections and events, in memory."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from elicit_flows.domain.errors import (
    AlreadyConsumed,
    AlreadyOver,
    Conflict,
    IdempotencyMismatch,
    Invalid,
    NotFound,
    NotOver,
)
from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk.testing.double import forms, wallet
from elicit_flows.sdk.testing.double.questions import check_question, cleaned

ACTIONS = {"completed": "accept", "declined": "decline", "cancelled": "cancel", "expired": "cancel"}
TERMS = ("item", "account", "mode", "currency", "amount", "interval", "uses", "order")
MADE = (("subscribe", "subscription", "su"), ("mandate", "mandate", "ma"))  # by mode
EXPIRES_IN = 900
WHERE = ("provider", "mcp")
EVERY_SECONDS = 0.2  # how often those who wait look at the clock


def now() -> str:
    return datetime.now(UTC).isoformat()


def number(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


@dataclass
class Asked:
    """One elicitation: ``body`` is what the API says of it. ``done``: the results of the steps that are done."""

    body: Json
    key: str
    given: Json
    note: dict[str, str] = field(default_factory=dict)
    done: list[Json] = field(default_factory=list)
    consumed_by: str | None = None

    @property
    def over(self) -> bool:
        return self.body["status"] in TERMINAL

    @property
    def steps(self) -> list[Json]:
        """What is asked, one after the other, as ``{kind, params}``."""
        return self.body["params"]["steps"] if self.body["kind"] == "steps" else [self.body]

    @property
    def step(self) -> Json:
        """The one that is asked, the last one once all are done."""
        return self.steps[min(len(self.done), len(self.steps) - 1)]


class State:
    """All of it. Whoever reads or changes it holds ``changed``, which tells those who wait."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.changed = threading.Condition(threading.RLock())
        self.asked: dict[str, Asked] = {}
        self.connections: dict[str, Json] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.authorizations: dict[str, wallet.Agreed] = {}
        self.paid: list[tuple[Json, Json, Json]] = []  # by whom, on which terms, and the result
        self.events: list[Json] = []

    def find(self, id: str) -> Asked:
        """Raises NotFound."""
        if id not in self.asked:
            raise NotFound("There is no such elicitation.")
        self.expire()
        return self.asked[id]

    def expire(self) -> None:
        """Expire what is overdue, as the service's worker does."""
        for one in list(self.asked.values()):
            if not one.over and datetime.fromisoformat(one.body["expires_at"]) <= datetime.now(UTC):
                self.end(one, "expired")

    def wait(self, seconds: float) -> None:
        """Until something has changed, or for a moment."""
        self.changed.wait(min(seconds, EVERY_SECONDS))
        self.expire()

    def create(self, given: Json, key: str) -> tuple[Asked, bool]:
        """The question under this key, and whether it is an earlier one. Raises Invalid."""
        check_question(given)
        for earlier in self.asked.values():
            if earlier.key == key and earlier.consumed_by is None:
                if earlier.given != given:
                    raise IdempotencyMismatch(detail="Use another Idempotency-Key for another question.")
                return self.find(earlier.body["id"]), True
        this, begun = number("el"), datetime.now(UTC)
        body = {
            "id": this, "object": "elicitation", "status": "pending", "action": None, "url": f"{self.url}/c/{this}",
            "message": given["message"], "subject": given["subject"], "result": None, "error": None, "reused": False,
            "seq": 0, "created_at": begun.isoformat(), "finished_at": None, "consumed_at": None,
            "expires_at": (begun + timedelta(seconds=given.get("expires_in") or EXPIRES_IN)).isoformat(),
            "return_url": given.get("return_url"), "return": given.get("return") or "auto",
            "locale": given.get("locale"), "metadata": given.get("metadata") or {},
            **cleaned(given["kind"], given["params"]),
        }  # fmt: skip
        asked = self.asked[this] = Asked(body, key, given)
        standing = self._standing(asked) if given.get("reuse", "if_valid") == "if_valid" else None
        if standing:  # nobody is asked, so its first event is its last
            body["reused"] = True
            self.end(asked, "completed", standing)
        else:
            self._change(asked, "created")
        return asked, False

    def _standing(self, asked: Asked) -> Json | None:
        """The result, if a connection or a paid item answers it already."""
        body, wanted = asked.body, set(asked.body["params"].get("scopes") or ())
        if body["kind"] == "payment":
            same_terms = (one for one in self.paid if one[:2] == (body["subject"], _terms(body["params"])))
            return next((result for *_, result in same_terms if "entitlement" in result), None)
        for one in self.connections.values():
            same = one["subject"] == body["subject"] and all(one[name] == body["params"].get(name) for name in WHERE)
            if body["kind"] == "oauth" and same and one["status"] == "active" and wanted <= set(one["scopes"]):
                return connected(one)
        return None

    def start(self, asked: Asked) -> None:
        if asked.body["status"] == Status.PENDING:
            self._change(asked, "started", status=Status.STARTED)

    def settle(self, asked: Asked) -> None:
        self._change(asked, "settling", status=Status.SETTLING)

    def advance(self, asked: Asked, result: Json) -> None:
        """The step that is asked is done; after the last one it is completed."""
        asked.done.append({"kind": asked.step["kind"], "result": result})
        if len(asked.done) == len(asked.steps):
            self.settle(asked)
            self.end(asked, "completed", result)

    def complete(self, asked: Asked, answers: Json) -> None:
        """Complete it for the agent. Raises Conflict, AlreadyOver, Invalid, NotSubmitted."""
        kind, params = asked.step["kind"], asked.step["params"]
        if kind == "form":
            result = forms.handed_in(params, answers)
        elif answers:
            raise Invalid.at("answers", "Only an elicitation of kind form takes these answers.")
        elif params.get("completion") != "by_agent":
            raise Conflict(f"This elicitation of kind {kind} is completed by its user, not by its agent.")
        elif asked.body["status"] == Status.COMPLETED:
            return
        else:
            result = {}
        if asked.over:
            raise AlreadyOver(f"The elicitation is {asked.body['status']} already.")
        self.start(asked)
        self.advance(asked, result)

    def end(self, asked: Asked, status: str, result: Json | None = None) -> None:
        if asked.body["kind"] == "steps":  # what was done counts, however it ends
            result = {"steps": asked.done}
        over = {"status": status, "action": ACTIONS.get(status), "result": result, "finished_at": now()}
        self._change(asked, status, **over)

    def cancel(self, asked: Asked) -> None:
        if asked.over and asked.body["status"] != "cancelled":
            raise AlreadyOver(f"This elicitation is {asked.body['status']}.")
        if not asked.over:
            self.end(asked, "cancelled")

    def consume(self, asked: Asked, key: str) -> None:
        if not asked.over:
            raise NotOver("Wait until it is over.")
        if asked.consumed_by not in (None, key):
            raise AlreadyConsumed("Another call has claimed it.")
        asked.consumed_by, asked.body["consumed_at"] = key, asked.body["consumed_at"] or now()

    def connection(self, id: str) -> Json:
        if id not in self.connections:
            raise NotFound("There is no such connection.")
        return self.connections[id]

    def connect(self, asked: Asked, secret: dict[str, str] | None = None) -> Json:
        """The connection of its user for the step that is asked, the earlier one of an account."""
        params, this = asked.step["params"], number("cn")
        for one in self.connections.values():
            same = one["subject"] == asked.body["subject"] and all(one[name] == params.get(name) for name in WHERE)
            if one["account"] and not secret and same and one["status"] == "active":
                one["scopes"] = list(dict.fromkeys(one["scopes"] + list(params.get("scopes") or ())))
                return one
        account = {"id": asked.body["subject"]["sub"], "label": f"{asked.body['subject']['sub']}@example.org"}
        self.connections[this] = {
            "id": this, "object": "connection", "provider": params.get("provider"), "subject": asked.body["subject"],
            "scopes": list(params.get("scopes") or ()), "status": "active", "account": None if secret else account,
            "label": params.get("provider") or "Keys", "metadata": {}, "variables": {}, "mcp": params.get("mcp"),
            "resource": None, "health": "ok", "next_refresh_at": None, "last_refresh_error": None, "created_at": now(),
            "expires_at": None, "last_used_at": None, "revoked_at": None,
        }  # fmt: skip
        if secret:
            self.secrets[this] = secret
        return self.connections[this]

    def pay(self, asked: Asked) -> Json:
        """The result of a payment for the step that is asked."""
        params = asked.step["params"]
        result = {"payment": number("pa"), "livemode": False, "amount": params["amount"]}
        result |= {"currency": params["currency"], "status": "paid", "receipt_url": None}
        result |= {"entitlement": number("en")} if params["item"] else {}
        result |= {name: number(prefix) for mode, name, prefix in MADE if params["mode"] == mode}
        ordered = (params.get("order") or {}).get("number")
        result |= {"order_number": ordered} if ordered else {}
        self.paid.append((asked.body["subject"], _terms(params), result))
        return result

    def agree(self, asked: Asked) -> wallet.Agreed:
        """A new payment by HTTP 402, for the step that is asked."""
        made = wallet.agreed(number("xa"), asked.body, asked.step["params"])
        self.authorizations[made.body["id"]] = made
        return made

    def authorization(self, id: str) -> wallet.Agreed:
        if id not in self.authorizations:
            raise NotFound("There is no such payment.")
        return self.authorizations[id]

    def sign(self, id: str, key: str) -> Json:
        """The header that pays. Raises NotFound, AlreadyConsumed."""
        made = self.authorization(id)
        known, header = made.header is not None, made.sign(key)
        if not known:
            asked = self.asked[made.body["elicitation"]]
            self.publish(asked, "payment.authorized", {"authorization": dict(made.body)})
        return header

    def _change(self, asked: Asked, what: str, **to: Any) -> None:
        asked.body.update(to, seq=asked.body["seq"] + 1)
        self.publish(asked, f"elicitation.{what}", dict(asked.body))

    def publish(self, asked: Asked, type_: str, data: Json) -> None:
        self.events.append({
            "id": number("ev"), "type": type_, "created_at": now(), "elicitation": asked.body["id"],
            "seq": asked.body["seq"], "data": data,
        })  # fmt: skip
        self.changed.notify_all()


def _terms(params: Json) -> Json:
    """What has to be the same if an item is not to be paid for again."""
    return {name: params.get(name) for name in TERMS}


def connected(connection: Json) -> Json:
    """The result of a question that led to a connection."""
    names = ("provider", "scopes", "account", "label", "metadata", "variables")
    return {"connection": connection["id"], **{name: connection[name] for name in names}}
