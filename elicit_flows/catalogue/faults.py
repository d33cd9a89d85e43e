"""What no single value of an entry shows: whether it says what its kind needs, and no more than was seen."""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import date

from elicit_flows.catalogue.entry import Entry
from elicit_flows.catalogue.parts import PLACE
from elicit_flows.kinds.credentials import fields, own_client
from elicit_flows.kinds.credentials.rules import Unfit, checked_verify, credentials_faults


def fault(entry: Entry) -> str:
    """What is wrong with it first of all, behind the name of the key; "" when nothing is."""
    of_kind = {"oauth": _oauth, "client_credentials": _client}
    return _claim(entry) or of_kind.get(entry.kind, _credentials)(entry)


def _claim(entry: Entry) -> str:
    """An entry never claims more than was seen."""
    if (entry.checked == "document") != (entry.checked_on is not None):
        return "checked_on stands beside checked = document, and nowhere else"
    if entry.checked_on and entry.checked_on > date.today():  # noqa: DTZ011  a day, not a moment
        return "checked_on is still to come"
    if (entry.checked == "library") != (len(entry.libraries) >= 2):
        return "checked = library needs two libraries or more, and they stand nowhere else"
    return ""


def _oauth(entry: Entry) -> str:
    ends = entry.endpoints
    if entry.fields or entry.verify or entry.find_url:
        return "fields, verify and find_url are for the kinds api_key and basic"
    if not ends.issuer and not (ends.authorize and ends.token):
        return "endpoints needs an issuer, or authorize and token"
    return _variables(entry, (url for url in ends.model_dump().values() if url))


def _client(entry: Entry) -> str:
    """People type a client of their own, so nothing is said of authorization, refreshing or accounts."""
    others = (entry.endpoints.model_fields_set - {"token", "revoke"}) | (entry.params.model_fields_set - {"token"})
    if others or entry.model_fields_set & {"pkce", "verify"} or not entry.endpoints.token:
        return "the kind client_credentials has endpoints.token (and revoke) and params.token, no pkce and no verify"
    for at, said in fields.faults(entry.asked, fields.OPERATORS):
        return f"fields {at}: {said}"
    for key, message in own_client.faults(entry.settings(entry.examples) | {"resources": []}):
        return f"{key} {message}"
    return _variables(entry, [entry.find_url or "", entry.endpoints.token, entry.endpoints.revoke or ""])


def _credentials(entry: Entry) -> str:
    given = entry.model_fields_set & {"token_auth", "pkce", "endpoints", "scopes", "params", "quirks"}
    if given:
        return f"{min(given)} is for the kind oauth"
    for at, said in fields.faults(entry.fields, fields.OPERATORS):
        return f"fields {at}: {said}"
    verify = entry.settings(entry.examples)["verify"]
    try:
        checked_verify(verify or {})
    except Unfit as unfit:
        return f"verify {unfit}"
    for key, message in credentials_faults({"fields": entry.fields, "verify": verify}):
        return f"{key} {message}"
    names = {field["name"] for field in entry.fields}
    return _variables(entry, [entry.find_url or "", entry.verify.get("url", "")], but=names)


def _variables(entry: Entry, urls: Iterable[str], but: Set[str] = frozenset()) -> str:
    used = {name for url in urls for name in PLACE.findall(url)}
    named = {one.name for one in entry.variables}
    if named & but or used - but != named:
        return "the variables and the {places} in its addresses are not the same"
    return ""
