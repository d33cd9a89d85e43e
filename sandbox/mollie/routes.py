"""The supported calls. Every other call gets Mollie's 404, so that an unplanned call fails visibly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flask import request

from sandbox.mollie import back, payments
from sandbox.mollie.double import Double, Thing
from sandbox.mollie.errors import MollieError, missing, unfit

Handler = Callable[[Double, str, list[str], Any], Thing]  # the profile, the ids in the path, the body
EMBEDDABLE = {"refunds", "chargebacks"}
LIMIT, MOST = 50, 250


def create(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
    return payments.shown(double, payments.create(double, profile, given))


def get_one(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
    wanted = tuple(name for name in request.args.get("embed", "").split(",") if name)
    if not EMBEDDABLE.issuperset(wanted):
        raise unfit("embed", "SANDBOX: only refunds and chargebacks can be embedded")
    return payments.shown(double, double.find(profile, ids[0]), wanted)


def get_newest(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
    """A page of payments, newest first."""
    mine = [one for one in reversed(double.payments.values()) if one["_profile"] == profile]
    return paged(double, "payments", [payments.shown(double, one) for one in mine])


def all_gone(name: str) -> Handler:
    """A page of the refunds or chargebacks of all payments, newest first."""

    def handler(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
        mine = [one for one in double.payments.values() if one["_profile"] == profile]
        made = [payments.plain(one) for payment in mine for one in payment[f"_{name}"]]
        return paged(double, name, sorted(made, key=lambda one: str(one["createdAt"]), reverse=True))

    return handler


def cancel(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
    payment = double.find(profile, ids[0])
    payments.cancel(double, payment)
    return payments.shown(double, payment)


def refund(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
    return payments.plain(back.refund(double, double.find(profile, ids[0]), given))


def gone(name: str) -> Handler:
    """All refunds or chargebacks of a payment."""

    def handler(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
        found = double.find(profile, ids[0])[f"_{name}"][::-1]
        return listed(double, name, [payments.plain(one) for one in found])

    return handler


def gone_one(name: str) -> Handler:
    def handler(double: Double, profile: str, ids: list[str], given: Any) -> Thing:
        return payments.plain(back.one_of(double.find(profile, ids[0]), name, ids[1]))

    return handler


def paged(double: Double, name: str, things: list[Thing]) -> Thing:
    """Those from the id in ``from`` on, as many as ``limit`` says. Raises MollieError."""
    first = request.args.get("from", things[0]["id"] if things else "")
    places = [place for place, one in enumerate(things) if one["id"] == first]
    if "from" in request.args and not places:
        raise missing(name.removesuffix("s"), first)
    limit, start = whole(request.args.get("limit", str(LIMIT))), places[0] if places else 0
    more = things[start + limit :]
    following = f"{double.root}/v2/{name}?from={more[0]['id']}&limit={limit}" if more else None
    return listed(double, name, things[start : start + limit], following)


def listed(double: Double, name: str, things: list[Thing], following: str | None = None) -> Thing:
    here = {"href": f"{double.root}{request.full_path}", "type": "application/hal+json"}
    links = {"self": here, "previous": None, "next": here | {"href": following} if following else None}
    return {"count": len(things), "_embedded": {name: things}, "_links": links}


def whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise unfit("limit", f"The limit is no number from 1 to {MOST}")
    return int(text)


ROUTES: dict[str, Handler] = {
    "POST /payments": create,
    "GET /payments": get_newest,
    "GET /payments/:id": get_one,
    "DELETE /payments/:id": cancel,
    "POST /payments/:id/refunds": refund,
    **{f"GET /{name}": all_gone(name) for name in sorted(EMBEDDABLE)},
    **{f"GET /payments/:id/{name}": gone(name) for name in sorted(EMBEDDABLE)},
    **{f"GET /payments/:id/{name}/:id": gone_one(name) for name in sorted(EMBEDDABLE)},
}
QUERY = {
    **{f"GET /{name}": {"from", "limit"} for name in ("payments", *EMBEDDABLE)},
    "GET /payments/:id": {"embed"},
}


def find(method: str, path: str) -> tuple[str, list[str]]:
    """The call and the ids in its path. Raises MollieError."""
    for call in ROUTES:
        found = re.fullmatch(call.replace(":id", "([a-z]+_[A-Za-z0-9]+)"), f"{method} {path}")
        if found:
            return call, list(found.groups())
    raise MollieError(404, f"There is no {method} {path}. SANDBOX: only part of Mollie's API is here.")
