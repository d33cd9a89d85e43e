"""The sandbox's Stripe double for tests: the process, its control API with types, and a buyer without a screen."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import httpx2
import stripe

from tests.support.ports import free_port
from tests.support.process import Process

KEY = "sk_test_development_only_sandbox"  # what the sandbox takes where demo.toml has no payment account
SECRET = "whsec_development_only_sandbox"
NOBODY = "http://127.0.0.1:9"
Thing = dict[str, Any]
Order = Literal["fifo", "lifo", "random"]


class Refused(AssertionError):
    """The control API says why it did not do it."""


class StripeControl:
    """``POST /_control/<act>``, one method for each act; what comes back is the thing concerned, as Stripe shows it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(base_url=url, trust_env=False, timeout=60)

    def act(self, act: str, **values: Any) -> Any:
        answer = self.http.post(f"/_control/{act}", json=values)
        if answer.status_code == 400:
            raise Refused(answer.json()["error"])
        answer.raise_for_status()
        return answer.json()

    def state(self) -> Thing:
        """sessions, payment_intents, charges, refunds, disputes, subscriptions, customers, events, requests,
        deliveries, now, weather, faults, bent.

        Things are as Stripe shows them with ``_account`` beside, the oldest first. A request has request (its id),
        method, path, params, key, account, status, error, replayed, fault, at. A delivery has event, type, url, form,
        state, tries.
        """
        answer: Thing = self.http.get("/_control/state").raise_for_status().json()
        return answer

    def session(self, id: str) -> Thing:
        return next(one for one in self.state()["sessions"] if one["id"] == id)

    def requests(self, call: str = "") -> list[Thing]:
        """Those whose method and path match the pattern, as ``POST /v1/refunds``."""
        seen = self.state()["requests"]
        return [one for one in seen if re.search(call, f"{one['method']} {one['path']}")]

    # The bank, the dashboard, the clock.

    def settle(self, session: str, outcome: Literal["ok", "fail"] = "ok") -> Thing:
        return dict(self.act("settle", session=session, outcome=outcome))

    def expire(self, session: str) -> Thing:
        return dict(self.act("expire", session=session))

    def refund(self, of: str, amount: int | None = None, *, pending: bool = False) -> Thing:
        """``of``: a session, PaymentIntent, subscription or charge. ``amount`` in minor units; None is all."""
        more = {} if amount is None else {"amount": amount}
        return dict(self.act("refund", of=of, pending=pending, **more))

    def tax(self, basis_points: int | None = None) -> None:
        """What buyers owe from now on; None: Stripe Tax is not set up."""
        self.act("tax", **({} if basis_points is None else {"basis_points": basis_points}))

    def refund_outcome(self, refund: str, outcome: Literal["done", "failed"]) -> Thing:
        return dict(self.act("refund_outcome", refund=refund, outcome=outcome))

    def dispute(self, of: str, outcome: Literal["open", "won", "lost"] = "open") -> Thing:
        return dict(self.act("dispute", of=of, outcome=outcome))

    def renew(self, subscription: str) -> Thing:
        return dict(self.act("renew", subscription=subscription))

    def end(self, subscription: str) -> Thing:
        return dict(self.act("end", subscription=subscription))

    def forward(self, seconds: int) -> None:
        """Puts the clock forward: sessions expire by it, idempotency keys are forgotten after a day."""
        self.act("clock", seconds=seconds)

    # Webhooks.

    def endpoints(self, *endpoints: Thing) -> None:
        """In place of the service's: {url, secrets, account?, form?, connect?, events?}.

        ``form``: snapshot, thin, both. ``events``: usual, all, or a list of types. Deliveries under way go on.
        """
        self.act("endpoints", endpoints=endpoints)

    def weather(self, **fields: Any) -> None:
        """types, drop, delay (seconds), duplicate, hold, wrong_secret, signature_age, livemode, timing, retry_seconds.

        ``timing``: before or after the buyer is sent back. Those not named stay as they are.
        """
        self.act("weather", **fields)

    def release(self, order: Order = "fifo") -> list[Thing]:
        """Sends what was held, one after the other; each has been answered, or not, when this returns."""
        return list(self.act("release", order=order))

    def resend(self, event: str, times: int = 1) -> list[Thing]:
        return list(self.act("resend", event=event, times=times))

    # The API and the money.

    def fault(self, name: str, on: str = "*", times: int = 1, **more: Any) -> None:
        """lose_reply, lose_request, hang, late_reply, 429, 500, 500_executed, 503, should_retry, should_not_retry.

        ``on``: ``POST /v1/checkout/sessions``, with * for anything. ``more``: hang (seconds), status, executed, stored.
        """
        self.act("fault", name=name, on=on, times=times, **more)

    def bend(self, **fields: Any) -> None:
        """Payments from now on are of another amount, currency or livemode than asked; nothing: they are again."""
        self.act("bend", **fields)

    def account(self, id: str, key: str | None = None, platform: str | None = None) -> None:
        self.act("account", id=id, key=key, platform=platform)

    def calm(self) -> None:
        """No weather, no faults, nothing bent."""
        self.act("calm")

    def reset(self) -> None:
        """Everything forgotten but accounts; the endpoints are the service's again; the clock is right."""
        self.act("reset")

    # The buyer.

    def look(self, session: str) -> str:
        return self.http.get(f"/c/pay/{session}").raise_for_status().text

    def press(self, session: str, action: str = "pay") -> str:
        """A button of the pay page: pay, pay_bank, pay_3ds, complete_3ds, fail_3ds, pay_declined, back.

        Where the buyer is sent (nobody goes there), or "" when the page stays.
        """
        answer = self.http.post(f"/c/pay/{session}", data={"action": action})
        assert answer.status_code in {200, 303}, answer.text
        return str(answer.headers.get("location", ""))

    def close(self) -> None:
        self.http.close()


class StripeSandbox:
    """The sandbox on a port of its own, which it keeps when it is started again; it forgets everything then.

    ``service``: whose ``/inbound/sandbox`` hears the events, and where its forms may lead.
    """

    def __init__(self, service: str = NOBODY) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.home = Path(tempfile.mkdtemp(prefix="elicit-sandbox-"))
        place = ["--port", str(self.port), "--service-url", service, "--key-file", str(self.home / "key")]
        self.process = Process([sys.executable, "-m", "sandbox", *place], self.home / "log")
        self.control = StripeControl(self.url)

    def start(self) -> StripeSandbox:
        self.process.start()
        self.process.wait_for_output(r"Sandbox at \S+")
        return self

    def client(self, key: str = KEY, **options: Any) -> stripe.StripeClient:
        return stripe.StripeClient(key, base_addresses={"api": self.url}, **options)

    def stop(self) -> None:
        self.process.stop()

    def kill9(self) -> None:
        self.process.kill9()

    def remove(self) -> None:
        self.process.kill9()
        self.control.close()
        shutil.rmtree(self.home, ignore_errors=True)
