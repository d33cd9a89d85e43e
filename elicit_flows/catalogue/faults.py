"""Checks across the fields of an entry: it has what its kind needs, and claims no more than was checked."""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import date
from urllib.parse import urlsplit

from elicit_flows.catalogue.entry import Entry
from elicit_flows.catalogue.oauth import INSTALLATION
from elicit_flows.catalogue.parts import PLACE
from elicit_flows.kinds.credentials import client_credentials, fields
from elicit_flows.kinds.credentials.verification_rules import InvalidRule, checked_verify, credentials_faults
from elicit_flows.kinds.oauth import connection_metadata

# Keys that only an entry of the kind oauth may have.
_OF_OAUTH = {
    "oauth1",
    "revoke_call",
    "long_token",
    "renew_token",
    "installation",
    "scope_sets",
    "pkce",
    "dead_grant",
    "refresh_tokens",
    "account_page",
    "metadata",
    "registration",
    "removal",
    "revoke_page",
    "undocumented",
}
# What a described call may be given.
_OF_CALLS = {"client_id", "client_secret", "access_token", "refresh_token", "token_secret"}


def fault(entry: Entry) -> str:
    """The first mistake, beginning with the key's name; "" if there is none."""
    of_kind = {"oauth": _oauth, "client_credentials": _client}
    return _claim(entry) or of_kind.get(entry.kind, _credentials)(entry)


def _claim(entry: Entry) -> str:
    """Whether the entry claims more than was checked, or says of what it has that it is documented nowhere."""
    today = date.today()  # noqa: DTZ011  a day, not a moment
    named = [one.fact for one in entry.undocumented]
    twice = min((fact for fact in named if named.count(fact) > 1), default="")
    known = next((fact for fact in named if entry.facts[fact]), "")
    wrong = {
        "checked_on is needed with checked = document, and not allowed without it": (
            (entry.checked == "document") != (entry.checked_on is not None)
        ),
        "checked_on is in the future": entry.checked_on is not None and entry.checked_on > today,
        "api.source_url is needed with api.urls, and not allowed without them": (
            bool(entry.api.urls) != bool(entry.api.source_url)
        ),
        "checked = library needs two libraries or more, and libraries is not allowed without it": (
            (entry.checked == "library") != (len(entry.libraries) >= 2)
        ),
        f"undocumented names {twice} twice": twice,
        f"undocumented names {known}, which the entry has": known,
        "undocumented.looked_on is in the future": any(one.looked_on > today for one in entry.undocumented),
    }
    return next((text for text, applies in wrong.items() if applies), "")


def _oauth(entry: Entry) -> str:
    ends = entry.endpoints
    if entry.fields or entry.verify or entry.find_url or entry.assertion or entry.token_call:
        return "fields, verify and find_url are for the kinds api_key and basic"
    if not ends.issuer and not (ends.authorize and ends.token):
        return "endpoints needs an issuer, or authorize and token"
    # OAuth 1.0a has no discovery, PKCE, refresh tokens or RFC 7009, and clients authenticate by their signature.
    beyond = ends.model_fields_set - {"authorize", "token", "userinfo", "metadata"}
    beyond |= {"pkce", "token_auth", "dead_grant"} & entry.model_fields_set
    beyond |= entry.params.model_fields_set - {"authorize"}
    if entry.oauth1 and (beyond or entry.refresh_tokens):
        return "oauth1 needs refresh_tokens = false, and has no issuer, refresh, revoke, device, pkce or token_auth"
    if entry.dead_grant and not entry.refresh_tokens:
        return "dead_grant is for refresh tokens, but refresh_tokens is false"
    named = [connection_metadata.Named.of(one.said) for one in entry.metadata]
    names = {one.name for one in named} - entry.examples.keys()
    names |= {name for call in entry.calls.values() for name in call.call({}).names} & _OF_CALLS
    names |= {INSTALLATION} if entry.installation else set()
    return _metadata(entry, named) or _calls(entry) or _variables(entry, entry.addresses, but=names)


def _calls(entry: Entry) -> str:
    """A described call gets only what its purpose needs, and none of it in its host."""
    if entry.revoke_call and entry.endpoints.revoke:
        return "revoke_call is for a provider without endpoints.revoke"
    if entry.renew_token and (not entry.long_token or entry.refresh_tokens):
        return "renew_token needs long_token and refresh_tokens = false"
    for name, call in entry.calls.items():
        said = call.call({})
        known = _OF_CALLS if name == "revoke_call" else _OF_CALLS - {"refresh_token", "token_secret"}
        in_host = set(PLACE.findall(urlsplit(said.url).netloc))
        wrong = {
            "has {%s}, which it does not get": said.names - known - entry.examples.keys(),
            "has {%s} in its host, and it is no variable": in_host - entry.examples.keys(),
            "names no token": set() if said.names & {"access_token", "refresh_token"} else {""},
            "auth oauth1 is for entries with [oauth1]": {""} if said.auth == "oauth1" and not entry.oauth1 else set(),
        }
        for text, of in wrong.items():
            if of:
                return f"{name} {text % min(of) if '%' in text else text}"
    return ""


def _metadata(entry: Entry, named: list[connection_metadata.Named]) -> str:
    if said := next(connection_metadata.faults(one.said for one in entry.metadata), ""):
        return f"metadata {said}"
    if twice := {one.name for one in named} & entry.examples.keys():
        return f"metadata has {min(twice)}, which is a variable"
    if entry.quirks.account_source == "metadata" and entry.quirks.account_id not in {(one.name,) for one in named}:
        return "quirks.account_id must be a name of the metadata"
    urls = {"endpoints.userinfo": entry.endpoints.userinfo, "endpoints.metadata": entry.endpoints.metadata}
    return connection_metadata.faults_of_addresses(
        urls, named, but=entry.examples.keys()
    ) or connection_metadata.faults_of_api("api.urls", entry.api.urls, named, but=entry.examples.keys())


def _client(entry: Entry) -> str:
    """People type a client of their own, so the entry has nothing about authorization, refreshing or accounts."""
    if said := _client_keys(entry):
        return said
    for at, said in fields.faults(entry.asked, fields.OPERATORS):
        return f"fields {at}: {said}"
    for key, message in client_credentials.faults(entry.settings(entry.examples) | {"resources": []}, entry.needs):
        return f"{key} {message}"
    named = [connection_metadata.Named.of(one.said) for one in entry.metadata]
    urls = [entry.endpoints.token or "", entry.endpoints.revoke or "", entry.find_url or "", *entry.api.urls]
    urls += [entry.token_call.url] if entry.token_call else []
    urls += [entry.assertion.audience] if entry.assertion else []
    but = ({one.name for one in named} | entry.needs) - entry.examples.keys()
    return _own_way(entry, named) or _variables(entry, urls, but=but)


def _client_keys(entry: Entry) -> str:
    others = (entry.endpoints.model_fields_set - {"token", "revoke"}) | (entry.params.model_fields_set - {"token"})
    if others or entry.model_fields_set & (_OF_OAUTH - {"metadata"} | {"verify"}):
        return "the kind client_credentials has endpoints.token (and revoke) and params.token, no pkce and no verify"
    if bool(entry.endpoints.token) == bool(entry.token_call):
        return "the kind client_credentials has endpoints.token, or token_call in place of it"
    if (entry.assertion or entry.token_call) and (not entry.fields or entry.endpoints.revoke):
        return "assertion and token_call need fields, and have no endpoints.revoke"
    return ""


def _own_way(entry: Entry, named: list[connection_metadata.Named]) -> str:
    """Only what the token's answer says is kept, and nothing that was typed stands in a host."""
    if any(one.source != connection_metadata.TOKEN for one in named):
        return "metadata is from the token's answer only"
    if said := next(connection_metadata.faults(one.said for one in entry.metadata), ""):
        return f"metadata {said}"
    call = entry.token_call
    if call and set(PLACE.findall(urlsplit(call.url).netloc)) - entry.examples.keys():
        return "token_call has something other than a variable in its host"
    if call and (call.auth in ("bearer", "oauth1") or not entry.needs):
        return "token_call names no field, or needs a token itself"
    if entry.assertion and not PLACE.fullmatch(entry.assertion.key):
        return "assertion.key is one {field}, or one {member} of the document"
    return connection_metadata.faults_of_api("api.urls", entry.api.urls, named, but=entry.examples.keys())


def _credentials(entry: Entry) -> str:
    given = entry.model_fields_set & (
        _OF_OAUTH | {"assertion", "token_call", "token_auth", "endpoints", "scopes", "params", "quirks"}
    )
    if given:
        return f"{min(given)} is for the kind oauth"
    for at, said in fields.faults(entry.fields, fields.OPERATORS):
        return f"fields {at}: {said}"
    verify = entry.settings(entry.examples)["verify"]
    try:
        checked_verify(verify or {})
    except InvalidRule as unfit:
        return f"verify {unfit}"
    for key, message in credentials_faults({"fields": entry.fields, "verify": verify}):
        return f"{key} {message}"
    names = {field["name"] for field in entry.fields}
    return _variables(entry, [entry.find_url or "", entry.verify.get("url", ""), *entry.api.urls], but=names)


def _variables(entry: Entry, urls: Iterable[str], but: Set[str] = frozenset()) -> str:
    used = {name for url in urls for name in PLACE.findall(url)}
    named = {one.name for one in entry.variables}
    if named & but or used - but != named:
        return "the variables and the {places} in its addresses are not the same"
    return ""
