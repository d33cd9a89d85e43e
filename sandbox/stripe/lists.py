"""Pages of lists, and the expansion of ids into objects."""

from __future__ import annotations

from typing import Any

from sandbox.stripe.errors import invalid
from sandbox.stripe.shop import Shop, shown
from sandbox.stripe.store import Thing

USUAL, MOST = 10, 100
DEEPEST = 4
_FILTERS = {"created", "limit", "starting_after", "ending_before", "expand"}
# id prefix -> the value of ``object``
KINDS = {
    "pi": "payment_intent",
    "ch": "charge",
    "py": "charge",
    "pm": "payment_method",
    "cus": "customer",
    "sub": "subscription",
    "in": "invoice",
    "seti": "setup_intent",
    "re": "refund",
    "du": "dispute",
}


def listed(url: str, data: list[Thing], more: bool = False) -> Thing:
    return {"object": "list", "data": data, "has_more": more, "url": url}


def page(found: list[Thing], url: str, params: Thing) -> Thing:
    """``found`` is the whole list, newest first. Filters other than those of every list compare a field."""
    limit = params.get("limit", USUAL)
    if not 1 <= limit <= MOST:
        raise invalid("limit", f"The limit must be between 1 and {MOST}.")
    wanted = [one for one in found if matches(one, params)]
    if "starting_after" in params:
        wanted = wanted[place(wanted, params["starting_after"], "starting_after") + 1 :]
    elif "ending_before" in params:
        before = wanted[: place(wanted, params["ending_before"], "ending_before")]
        return listed(url, before[-limit:], len(before) > limit)
    return listed(url, wanted[:limit], len(wanted) > limit)


def place(found: list[Thing], id: str, param: str) -> int:
    for number, one in enumerate(found):
        if one["id"] == id:
            return number
    raise invalid(param, f"No such object: '{id}'", "resource_missing")


def matches(thing: Thing, params: Thing) -> bool:
    if "created" in params and not in_range(thing["created"], params["created"]):
        return False
    if "types" in params and thing["type"] not in params["types"]:
        return False
    return all(thing.get(name) == value for name, value in params.items() if name not in _FILTERS | {"types"})


def in_range(moment: int, asked: Any) -> bool:
    if isinstance(asked, int):
        return moment == asked
    checks = {"gt": moment.__gt__, "gte": moment.__ge__, "lt": moment.__lt__, "lte": moment.__le__}
    return all(checks[name](int(limit)) for name, limit in asked.items())


def rendered(shop: Shop, thing: Thing, paths: list[str]) -> Thing:
    """A copy for the answer, with the fields in ``paths`` (``payment_intent.latest_charge``) expanded."""
    answer = shown(thing)
    for path in paths:
        names = path.split(".")
        if len(names) > DEEPEST:
            raise invalid("expand", f"You cannot expand more than {DEEPEST} levels of a property: {path}.")
        expand(shop, answer, names, path)
    return answer


def expand(shop: Shop, thing: Any, names: list[str], path: str) -> None:
    """Expand in place. A list is expanded with ``data`` as the name of its items; null stays null."""
    if isinstance(thing, list):
        for one in thing:
            expand(shop, one, names, path)
        return
    if not names or thing is None:
        return
    name = names[0]
    if not isinstance(thing, dict) or (name not in thing and not is_included(thing, name)):
        raise invalid("expand", f"This property cannot be expanded ({path}).")
    if is_included(thing, name) and not thing.get(name):
        thing[name] = included(shop, thing, name)
    elif isinstance(thing[name], str):
        thing[name] = named(shop, thing[name], path)
    expand(shop, thing[name], names[1:], path)


def named(shop: Shop, id: str, path: str) -> Thing:
    thing = shop.find(KINDS.get(id.partition("_")[0], ""), id)
    if thing is None:
        raise invalid("expand", f"This property cannot be expanded ({path}).")
    return shown(thing)


def is_included(thing: Thing, name: str) -> bool:
    return (thing.get("object"), name) in {("checkout.session", "line_items"), ("charge", "refunds")}


def included(shop: Shop, thing: Thing, name: str) -> Thing:
    """Lists that are shown only on request."""
    if name == "line_items":
        items = shop.get("checkout.session", thing["id"])["_items"]
        return page(items, f"/v1/checkout/sessions/{thing['id']}/line_items", {})
    refunds = [shown(one) for one in shop.all("refund") if one["charge"] == thing["id"]]
    return page(refunds, f"/v1/charges/{thing['id']}/refunds", {})
