"""A service that takes payments at the sandbox's Stripe, Mollie or PayPal, which is a process of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.cast import Program
from tests.payments.other_tills import MOLLIE, PAYPAL, Prepare, prepared
from tests.payments.till import KEY, SECRET, Json, Stripe, Till, start, unused
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import Process
from tests.support.sink import Sink

ADDRESSES = (f"127.1.{number // 250}.{number % 250 + 1}" for number in itertools.count())


@pytest.fixture
def http_user(new_http_user: Callable[..., HttpUser]) -> HttpUser:
    """At an address of their own: a minute has more payments than one address may come back from."""
    return new_http_user(address=next(ADDRESSES))


@pytest.fixture(scope="session")
def tills(
    tmp_path_factory: pytest.TempPathFactory, sink: Sink
) -> Iterator[Callable[..., tuple[Stripe, Iterator[Program]]]]:
    """The Stripe and the unused agents of a box, which is made ready to take payments on first use."""
    running: list[Process] = []
    known: dict[str, tuple[Stripe, Iterator[Program]]] = {}

    def prepare(box: Box, provider: str = "stripe") -> tuple[Stripe, Iterator[Program]]:
        if box.url not in known:
            stripe = Stripe(start(box.url, tmp_path_factory.mktemp("stripe") / "log", running))
            account = {
                "slug": "sandbox", "provider": provider, "secret_key": KEY, "webhook_secrets": [SECRET],
                "api_base": stripe.url, "livemode": False, "allow_save": provider == "stripe",
                "allow_mandates": provider == "stripe", "computes_tax": provider == "stripe",
                "makes_invoices": provider == "stripe",
            }  # fmt: skip

            def table(one: Program) -> Json:
                return box_config.agent(one, sink.url(f"/{one.slug}"), payment_accounts=["sandbox"])

            known[box.url] = stripe, unused(box, table, beside={"payment_account": [account]})
        return known[box.url]

    yield prepare
    for process in running:
        process.stop()


@pytest.fixture
def new_till(
    tills: Callable[..., tuple[Stripe, Iterator[Program]]], corp: Op, drive: Op
) -> Iterator[Callable[..., Till]]:
    """``provider``: which plug-in the box's account uses, from its first till on."""
    used: list[Stripe] = []

    def make(box: Box, provider: str = "stripe") -> Till:
        stripe, agents = tills(box, provider)
        used.append(stripe)
        return Till(box, box.agent(next(agents).slug), stripe, corp, drive)

    yield make
    for stripe in used:
        stripe.order("calm")


@pytest.fixture
def till(new_till: Callable[..., Till], embedded_box: Box) -> Till:
    return new_till(embedded_box)


@pytest.fixture
def each_till(new_till: Callable[..., Till], box: Box) -> Till:
    """On either shape in turn."""
    return new_till(box)


@pytest.fixture(scope="session")
def mollies(tmp_path_factory: pytest.TempPathFactory, sink: Sink) -> Iterator[Prepare]:
    """The Mollie and the unused agents of a box, which is made ready to take payments there on first use."""
    with prepared("mollie", MOLLIE, tmp_path_factory, sink) as prepare:
        yield prepare


@pytest.fixture(scope="session")
def paypals(tmp_path_factory: pytest.TempPathFactory, sink: Sink) -> Iterator[Prepare]:
    """The same with PayPal."""
    with prepared("paypal", PAYPAL, tmp_path_factory, sink) as prepare:
        yield prepare
