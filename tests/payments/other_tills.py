"""Payments at Mollie and at PayPal, as the tests of both see them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import httpx2
import pytest

from tests.cast import Program
from tests.kinds.payment import mollie_house, paypal_house
from tests.payments.till import Json, Stripe, Till, start, unused
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import Process
from tests.support.sink import Sink

Prepared = tuple[Stripe, Iterator[Program]]
Prepare = Callable[[Box], Prepared]
Other = TypeVar("Other", bound="OtherTill")


@dataclass
class OtherTill(Till):
    """``stripe`` is the sandbox of another provider here, which takes its orders alike. ``ref``: the provider's id of a
    payment or an order.
    """

    PROVIDER: ClassVar[str]
    PAGE: ClassVar[str]  # where the provider's page begins, after its address
    START: ClassVar[str]  # the request that opens one
    NAMED: ClassVar[str]  # what a control order calls a ref

    def at_page(self, user: HttpUser, asked: Json, who: str = "alice") -> str:
        """Takes the user to the provider's page; the ref there."""
        with user.stopping_at(self.stripe.url + self.PAGE):
            user.connect(asked["url"], who)
            assert user.stopped, f"{user.url}: {user.text[:300]}"
            page = user.location
        user.follow()
        return page.replace("=", "/").rpartition("/")[2]

    def go_away(self, user: HttpUser, how: str) -> str:
        """Presses a button of the provider's page and never comes back: where the browser would have gone."""
        with user.stopping_at(f"{self.box.url}/payments/"):
            user.press(how)
            return user.location

    def at_provider(self, what: str, ref: str) -> Any:
        """An order to the control page about this ref."""
        return self.stripe.order(what, **{self.NAMED: ref})

    def started(self) -> int:
        """How many pages the provider was asked for so far."""
        method, path = self.START.split()
        seen = self.stripe.state()["requests"]
        return len([one for one in seen if (one["method"], one["path"]) == (method, path)])

    @abstractmethod
    def charged(self, ref: str) -> list[str]:
        """The amounts that the provider took."""

    @abstractmethod
    def given_back(self, ref: str) -> list[str]:
        """The amounts that it gave back, or is about to."""

    def finish_refunds(self, ref: str) -> None:
        """The bank has done them, where that takes longer."""


class MollieTill(OtherTill):
    PROVIDER, PAGE, START, NAMED = "mollie", "/checkout/", "POST /payments", "payment"

    def at_mollie(self, ref: str) -> Json:
        return next(one for one in self.stripe.state()["payments"] if one["id"] == ref)

    def charged(self, ref: str) -> list[str]:
        found = self.at_mollie(ref)
        return [found["amount"]["value"]] if found["status"] == "paid" else []

    def given_back(self, ref: str) -> list[str]:
        return [one["amount"]["value"] for one in self.at_mollie(ref)["_embedded"]["refunds"]]

    def finish_refunds(self, ref: str) -> None:
        for one in self.at_mollie(ref)["_embedded"]["refunds"]:
            self.stripe.order("refund_outcome", refund=one["id"], outcome="refunded")

    def fetches(self, ref: str) -> int:
        seen = self.stripe.state()["requests"]
        return len([one for one in seen if (one["method"], one["path"]) == ("GET", f"/payments/{ref}")])

    def hint(self, *bodies: str) -> list[int]:
        """As Mollie, or anybody else, sends them; the statuses."""
        headers = {"content-type": "application/x-www-form-urlencoded"}
        with httpx2.Client(trust_env=False, timeout=20, headers=headers) as anybody:
            return [anybody.post(f"{self.box.url}/inbound/mollie", content=body).status_code for body in bodies]


class PayPalTill(OtherTill):
    PROVIDER, PAGE, START, NAMED = "paypal", "/checkoutnow", "POST /v2/checkout/orders", "order"

    def order(self, ref: str) -> Json:
        return next(one for one in self.stripe.state()["orders"] if one["id"] == ref)

    def parts(self, ref: str, name: str) -> list[Json]:
        """The captures or refunds of an order."""
        return list(self.order(ref)["purchase_units"][0].get("payments", {}).get(name, []))

    def charged(self, ref: str) -> list[str]:
        return [one["amount"]["value"] for one in self.parts(ref, "captures") if one["status"] != "DECLINED"]

    def given_back(self, ref: str) -> list[str]:
        return [one["amount"]["value"] for one in self.parts(ref, "refunds")]


MOLLIE = {"secret_key": mollie_house.KEY}
PAYPAL = {
    "client_id": paypal_house.CLIENT_ID, "secret_key": paypal_house.SECRET, "webhook_secrets": [paypal_house.WEBHOOK],
}  # fmt: skip


@contextmanager
def prepared(provider: str, keys: Json, tmp_path_factory: pytest.TempPathFactory, sink: Sink) -> Iterator[Prepare]:
    """Makes boxes ready to take payments at the sandbox's ``provider``, each on first use. ``keys``: of its account."""
    running: list[Process] = []
    known: dict[str, Prepared] = {}

    def prepare(box: Box) -> Prepared:
        if box.url not in known:
            there = Stripe(start(box.url, tmp_path_factory.mktemp(provider) / "log", running) + f"/{provider}")
            account = {"slug": provider, "provider": provider, "api_base": there.url, **keys}

            def table(one: Program) -> Json:
                more: Json = {"identity_providers": ["corp"], "payment_accounts": [provider]}
                return box_config.agent(one, sink.url(f"/{one.slug}"), **more)

            beside: box_config.Tables = {"payment_account": [account]}
            known[box.url] = there, unused(box, table, beside=beside, name=provider)
        return known[box.url]

    yield prepare
    for process in running:
        process.stop()


def make(kind: type[Other], prepare: Prepare, box: Box, corp: Op, drive: Op) -> Other:
    there, agents = prepare(box)
    there.order("calm")
    return kind(box, box.agent(next(agents).slug), there, corp, drive)


def paid(till: OtherTill, user: HttpUser, **params: object) -> tuple[Json, str]:
    """A completed elicitation, and its ref at the provider."""
    asked = till.ask(**params)
    ref = till.at_page(user, asked)
    user.press("pay")
    return till.becomes(asked, "completed"), ref
