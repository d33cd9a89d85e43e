"""The actions of the page and the API at /_control: the merchant's dashboard, the bank, the clock and faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from sandbox.doubles.faults import PRESETS
from sandbox.doubles.orders import Unfit, Values, one_of
from sandbox.stripe import disputes, invoices, off_session, paying, refunds, sessions, subscriptions
from sandbox.stripe.double import TEST_KEYS, Double
from sandbox.stripe.endpoints import FORMS, USUAL_EVENTS, Endpoint, Weather
from sandbox.stripe.errors import StripeError
from sandbox.stripe.shop import Shop, shown
from sandbox.stripe.store import USUAL_TAX, Account, Thing
from sandbox.stripe.webhooks import ORDERS, Delivery

Act = Callable[[Double, Values], Any]


def thing(double: Double, id: str, *kinds: str) -> tuple[Shop, Thing]:
    shop = double.shop_of(id)
    for kind in kinds:
        found = shop and shop.find(kind, id)
        if shop and found:
            return shop, found
    raise Unfit(f"there is no {' or '.join(kinds)} {id!r}")


def charge_of(double: Double, id: str) -> tuple[Shop, Thing]:
    """The charge of a session, a PaymentIntent or a subscription, or the charge itself."""
    shop, found = thing(double, id, "charge", "payment_intent", sessions.KIND, subscriptions.KIND)
    if found["object"] == sessions.KIND and found["subscription"]:
        found = shop.get(subscriptions.KIND, found["subscription"])
    if found["object"] == subscriptions.KIND:
        bills = [one["id"] for one in invoices.of(shop, found["id"]) if one["status"] == "paid"]
        paid = [one for one in shop.all("invoice_payment") if one["invoice"] in bills]
        if not paid:
            raise Unfit(f"nothing was paid for {id!r}")
        found = shop.get("payment_intent", paid[0]["payment"]["payment_intent"])
    if found["object"] == sessions.KIND:
        found = shop.find("payment_intent", found["payment_intent"]) or found
    if found["object"] == "payment_intent" and found["latest_charge"]:
        found = shop.get("charge", found["latest_charge"])
    if found["object"] != "charge":
        raise Unfit(f"nothing was paid for {id!r}")
    return shop, found


def saved_method(double: Double, values: Values) -> Thing:
    """What the bank says to off-session charges of a saved method from now on."""
    _, method = thing(double, values["payment_method"], "payment_method")
    method["_outcome"] = one_of(values, "outcome", off_session.OUTCOMES)
    return shown(method)


def settle_charge(double: Double, values: Values) -> Thing:
    shop, intent = thing(double, values["payment_intent"], off_session.KIND)
    return shown(off_session.settle(shop, intent, ok=one_of(values, "outcome", ["ok", "fail"]) == "ok"))


def settle(double: Double, values: Values) -> Thing:
    shop, session = thing(double, values["session"], sessions.KIND)
    paying.settle(shop, session, ok=one_of(values, "outcome", ["ok", "fail"]) == "ok")
    return shown(session)


def expire(double: Double, values: Values) -> Thing:
    shop, session = thing(double, values["session"], sessions.KIND)
    return shown(sessions.expire(shop, session))


def refund(double: Double, values: Values) -> Thing:
    """Without ``amount``: all that is left. ``pending``: the bank decides later, see refund_outcome."""
    shop, charge = charge_of(double, values["of"])
    asked = {"charge": charge["id"]} | ({"amount": values.whole("amount")} if "amount" in values else {})
    return shown(refunds.create(shop, asked, "pending" if values.get("pending") else "succeeded"))


def refund_outcome(double: Double, values: Values) -> Thing:
    shop, found = thing(double, values["refund"], refunds.KIND)
    return shown(refunds.finish(shop, found, ok=one_of(values, "outcome", ["done", "failed"]) == "done"))


def dispute(double: Double, values: Values) -> Thing:
    shop, charge = charge_of(double, values["of"])
    outcome = one_of(values, "outcome", ["open", "won", "lost"])
    if outcome == "open":
        return shown(disputes.open_one(shop, charge))
    known = next((one for one in shop.all(disputes.KIND) if one["charge"] == charge["id"]), None)
    if known is None:
        raise Unfit("nobody disputes this payment")
    return shown(disputes.decide(shop, known, won=outcome == "won"))


def renew(double: Double, values: Values) -> Thing:
    """``outcome``: what the bank says, ok or fail; ok if it is left out."""
    ok = "outcome" not in values or one_of(values, "outcome", ["ok", "fail"]) == "ok"
    return shown(subscriptions.renew(*thing(double, values["subscription"], subscriptions.KIND), ok=ok))


def collect(double: Double, values: Values) -> Thing:
    """Charge the oldest renewal that was refused once more."""
    shop, found = thing(double, values["subscription"], subscriptions.KIND)
    return shown(subscriptions.collect_again(shop, found, ok=one_of(values, "outcome", ["ok", "fail"]) == "ok"))


def cancel(double: Double, values: Values) -> Thing:
    """Cancel at the end of the paid period. ``dated``: by its date alone, as the dashboard and the portal may."""
    shop, found = thing(double, values["subscription"], subscriptions.KIND)
    last = max(one["current_period_end"] for one in found["items"]["data"])
    change = {"cancel_at": last} if values.get("dated") else {"cancel_at_period_end": True}
    return shown(subscriptions.change(shop, found, change))


def reprice(double: Double, values: Values) -> Thing:
    """Another price of a subscription, from the next period on."""
    shop, found = thing(double, values["subscription"], subscriptions.KIND)
    item = found["items"]["data"][0]
    data = {name: item["price"][name] for name in ("currency", "product", "recurring")}
    data |= {"recurring": {"interval": data["recurring"]["interval"]}, "unit_amount": values.whole("amount")}
    change = {"items": [{"id": item["id"], "price_data": data}], "proration_behavior": "none"}
    return shown(subscriptions.change(shop, found, change))


def use_default_method(double: Double, values: Values) -> Thing:
    """Take a subscription's own method from it, as if the customer's default were charged. The double has no default,
    so renew it no more.
    """
    _, subscription = thing(double, values["subscription"], subscriptions.KIND)
    subscription["default_payment_method"] = None
    return shown(subscription)


def end(double: Double, values: Values) -> Thing:
    return shown(subscriptions.end(*thing(double, values["subscription"], subscriptions.KIND)))


def clock(double: Double, values: Values) -> Thing:
    """Move the clock forward. It cannot go back, so that what has expired stays expired."""
    seconds = values.whole("seconds")
    if seconds < 0:
        raise Unfit("the clock goes forward only")
    double.store.offset += seconds
    double.expire_due()
    return {"now": double.store.now(), "offset": double.store.offset}


def weather(double: Double, values: Values) -> Thing:
    """Set the given values and keep the others. See Weather."""
    usual = asdict(Weather())
    for name, value in values.items():
        if name not in usual:
            raise Unfit(f"there is no such weather: {name}")
        if not isinstance(value, type(usual[name])) and not (name == "delay" and isinstance(value, int)):
            raise Unfit(f"{name} has to be a {type(usual[name]).__name__}")
    if "timing" in values:
        one_of(values, "timing", ["before", "after"])
    double.sender.weather = replace(double.sender.weather, **values)
    return values


def tax(double: Double, values: Values) -> Thing:
    """What tax buyers owe from now on, in ``basis_points``. Without: Stripe Tax is not set up."""
    double.store.tax_basis_points = values.whole("basis_points") if "basis_points" in values else None
    return dict(values)


def calm(double: Double, values: Values) -> Thing:
    double.sender.weather, double.store.tax_basis_points = Weather(), USUAL_TAX
    double.faults.forget()
    double.bent = {}
    return {}


def fault(double: Double, values: Values) -> Thing:
    """Order the preset ``name``, with other values for ``on``, ``times``, ``hang``, ``status``, … See Fault."""
    given = {name: value for name, value in values.items() if name != "name"}
    try:
        ordered = double.faults.order(one_of(values, "name", list(PRESETS)), given)
    except TypeError:
        raise Unfit(f"a fault has no such part: {', '.join(given)}") from None
    return {"name": ordered.name, "on": ordered.on, "times": ordered.times}


def bend(double: Double, values: Values) -> Thing:
    """Make payments differ from what was requested, from now on; without arguments, stop that."""
    names = {"amount": "amount_total", "currency": "currency", "livemode": "livemode", "customer": "customer"}
    unknown = values.keys() - names.keys()
    if unknown:
        raise Unfit(f"there is nothing to bend in {', '.join(sorted(unknown))}")
    double.bent = {names[name]: value for name, value in values.items()}
    return values


def endpoints(double: Double, values: Values) -> list[str]:
    """Replace all endpoints by a list of ``{url, secrets, account?, form?, connect?, events?}``."""
    usual = next(iter(double.store.accounts))
    double.sender.endpoints = [endpoint(Values(one), usual) for one in values["endpoints"]]
    return [one.url for one in double.sender.endpoints]


def endpoint(given: Values, usual: str) -> Endpoint:
    """``events``: "usual", "all" or a list of types."""
    events = given.get("events", "usual")
    wanted = {"usual": USUAL_EVENTS, "all": None}.get(events) if isinstance(events, str) else frozenset(events)
    form = one_of({"form": given.get("form", "snapshot")}, "form", list(FORMS))
    connect = bool(given.get("connect"))
    return Endpoint(given["url"], tuple(given["secrets"]), given.get("account", usual), form, connect, wanted)


def account(double: Double, values: Values) -> Thing:
    """Add an account: with a ``key`` of its own, or connected to a ``platform``."""
    key, platform = values.get("key"), values.get("platform")
    if bool(key) == bool(platform) or (key and not key.startswith(TEST_KEYS)):
        raise Unfit("an account has either a test key of its own or a platform")
    double.store.add_account(Account(values["id"], str(values.get("name") or values["id"]), key, platform))
    return {"id": values["id"]}


def reset(double: Double, values: Values) -> Thing:
    double.forget()
    return {}


def release(double: Double, values: Values) -> list[Thing]:
    return [tried(one) for one in double.sender.release(one_of(values, "order", ORDERS))]


def resend(double: Double, values: Values) -> list[Thing]:
    with double.store.lock:
        _, event = thing(double, values["event"], "event")
    return [tried(one) for one in double.sender.again(event, values.whole("times") if "times" in values else 1)]


def tried(delivery: Delivery) -> Thing:
    return {
        "event": delivery.event["id"],
        "type": delivery.event["type"],
        "url": delivery.endpoint.url,
        "form": delivery.form,
        "state": delivery.state,
        "tries": [{"at": one.at, "status": one.status, "error": one.error} for one in delivery.tries],
    }


# These change objects and hold the store's lock. The others wait for answers to webhooks, and must not hold it.
LOCKED: dict[str, Act] = {
    act.__name__: act
    for act in (
        *(saved_method, settle_charge, settle, expire, refund, refund_outcome, dispute, renew, collect),
        *(cancel, reprice, use_default_method, end, clock, weather, calm, fault, bend, tax),
    )
} | {"endpoints": endpoints, "account": account, "reset": reset}
FREE: dict[str, Act] = {"release": release, "resend": resend}


def perform(double: Double, name: str, given: dict[str, Any]) -> Any:
    """Raises Unfit."""
    values = Values(given)
    try:
        if name in FREE:
            return FREE[name](double, values)
        with double.store.lock:
            return LOCKED[name](double, values)
    except StripeError as error:
        raise Unfit(str(error)) from None
