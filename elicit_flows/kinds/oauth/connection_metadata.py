"""What a provider says beside the tokens, and agents need to call it: the metadata of a connection.

An entry names each value, where it comes from, its type and, for addresses, the hosts that it may name. What does not
fit is left out: a connection works without it. Nothing here is a secret, because agents, events and lists show it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from elicit_flows import http, oauth
from elicit_flows.domain.values import Json
from elicit_flows.oauth.quirks import Steps

log = logging.getLogger(__name__)

TOKEN, CALLBACK, USERINFO, CALL = SOURCES = ("token", "callback", "userinfo", "call")
TYPES = ("string", "integer", "boolean", "url", "host")
MOST_NAMES, MOST_TEXT, MOST_LISTED, MOST_WHOLE = 20, 1000, 50, 8000  # the last in characters of JSON
ALL = "*"  # a step of a path: every item of a list
PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:[1-9][0-9]{0,4})?")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,15})")
_IN_PATH = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")
_MOST_BITS = 128
_MOST_INTEGER = 2**53  # larger ones are not exact in JavaScript
# Words of names under which providers and browsers send secrets.
_SECRET = re.compile(
    r"token|secret|passw|assertion|credential|private|api_?key|jwt|signature|cookie"
    r"|^(code|state|nonce|hmac|session|sid|auth|authorization|code_verifier|device_code)$",
    re.IGNORECASE,
)
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.")
_SHORTEST = 8  # a shorter part of a secret says nothing about it


@dataclass(frozen=True, slots=True)
class Named:
    """One value of the metadata. ``hosts``: for addresses, ``host``, ``*.domain`` or either with a port."""

    name: str
    source: str = TOKEN
    path: Steps = ()
    type: str = "string"
    hosts: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Named:
        """From the configuration file, an entry or a row, which were checked before."""
        path = tuple(said.get("path") or (said["name"],))
        return cls(
            said["name"], said.get("from", TOKEN), path, said.get("type", "string"), tuple(said.get("hosts", ()))
        )


def faults(given: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with declarations whose keys have the right types, each as the rest of a sentence."""
    wanted = [Named.of(one) for one in given]
    if len({one.name for one in wanted}) < len(wanted):
        yield "must not have the same name twice"
    for one in wanted:
        if not _NAME.fullmatch(one.name):
            yield f"has the name {one.name}: use a-z, 0-9 and _, at most 40 characters"
        if secret := next((step for step in (one.name, *one.path) if _SECRET.search(step)), None):
            yield f"names {secret}, which may be a secret; metadata is shown to agents and kept in the clear"
        if one.source not in SOURCES or one.type not in TYPES:
            yield f"{one.name}: from must be one of {', '.join(SOURCES)}, and type one of {', '.join(TYPES)}"
        if (one.type in ("url", "host")) != bool(one.hosts):
            yield f"{one.name}: hosts is needed for the types url and host, and for no other"
        if one.source == CALLBACK and len(one.path) > 1:
            yield f"{one.name}: a parameter of the callback has one name, and no path"
        for host in one.hosts:
            if not is_host_pattern(host):
                yield f"{one.name}: {host} is not a host; write api.example.com, or *.example.com for those below it"


def faults_of_addresses(urls: Mapping[str, str | None], wanted: Iterable[Named], but: Set[str] = frozenset()) -> str:
    """What is wrong with the ``{name}`` in the addresses of userinfo and of the follow-up call, beginning with the
    address's key; "" if nothing is. ``but``: names that stand for something else.
    """
    (userinfo, first), (call, second) = urls.items()
    known = [one for one in wanted if one.source in (TOKEN, CALLBACK)]
    if first and (said := _template_fault(first, known, but)):
        return f"{userinfo} {said}"
    known += [one for one in wanted if one.source == USERINFO]
    if second and (said := _template_fault(second, known, but)):
        return f"{call} {said}"
    if bool(second) != any(one.source == CALL for one in wanted):
        return f"{call} is needed with metadata from call, and only then"
    return ""


def faults_of_api(key: str, urls: Sequence[str], wanted: Iterable[Named], but: Set[str] = frozenset()) -> str:
    """The same for the addresses of the API. All metadata is known when it is called."""
    named = list(wanted)
    if said := next(filter(None, (_template_fault(url, named, but) for url in urls)), ""):
        return f"{key} {said}"
    hosts = {url.partition("://")[2].partition("/")[0].lower() or url.partition("/")[0] for url in urls}
    return f"{key} has two addresses at the same host" if len(hosts) < len(urls) else ""


def _template_fault(url: str, wanted: Iterable[Named], but: Set[str]) -> str:
    known = {one.name: one for one in wanted}
    for place in PLACE.finditer(url):
        found = known.get(place[1])
        if place[1] in but:
            continue
        if found is None:
            return f"has {place[0]}, which is no metadata that is known before it is called"
        if (found.type == "url") != (place.start() == 0):
            return f"has {place[0]}: metadata of type url begins the address, and no other does"
        if found.type == "host" or ALL in found.path:
            return f"has {place[0]}, which is a list or a host and cannot be part of an address"
        if not PLACE.match(url) and "/" not in url[: place.start()].partition("://")[2]:
            return f"has {place[0]} in its host"
    return ""


def hosts_of_template(url: str, wanted: Iterable[Mapping[str, Any]]) -> str:
    """The hosts that an address with ``{name}`` in place of its host may lead to, as one text to compare."""
    place = PLACE.match(url)
    patterns = [Named.of(one).hosts for one in wanted if place and one["name"] == place[1]]
    return " ".join(f"https://{host}" for hosts in patterns for host in sorted(hosts))


def filled(url: str | None, wanted: Iterable[Named], values: Mapping[str, Any]) -> str | None:
    """The address with ``values`` in its places. None if one is missing, or if the address would lead to a host that
    the entry does not name.
    """
    if url is None or not PLACE.search(url):
        return url or None
    parts = {one.name: one for one in wanted}
    made = url
    for place in PLACE.finditer(url):
        value = values.get(place[1])
        if value is None or place[1] not in parts:
            return None
        if parts[place[1]].type == "url":
            made = made.replace(place[0], str(value).rstrip("/"), 1)
        elif _IN_PATH.fullmatch(str(value)):
            made = made.replace(place[0], str(value))
        else:
            return None
    first = PLACE.match(url)
    # Read again as a whole: what it became must have the host that the entry names, or that was written in it.
    allowed = parts[first[1]].hosts if first else (urlsplit(url).netloc.lower(),)
    return made if _authority(made, query=True) and allowed_host(_authority(made, query=True), allowed) else None


class Secrets:
    """The secrets of an attempt. No value of the metadata may be one of them, contain one or be a part of one."""

    def __init__(self, *known: str | None) -> None:
        self._known = {one for one in known if one}

    def see(self, said: Any, deep: int = 6) -> None:
        """Remember every text that stands under a secret's name in an answer."""
        if not deep or not isinstance(said, dict | list):
            return
        for name, value in said.items() if isinstance(said, dict) else enumerate(said):
            if isinstance(value, str) and isinstance(name, str) and _SECRET.search(name):
                self._known.add(value)
            self.see(value, deep - 1)

    def has(self, value: str) -> bool:
        if value in self._known or _JWT.search(value):
            return True
        return any(
            (len(one) >= _SHORTEST and one in value) or (len(value) >= 2 * _SHORTEST and value in one)
            for one in self._known
        )


def taken(wanted: Iterable[Named], source: str, said: Any, secrets: Secrets) -> Json:
    """The values that ``source`` said, without those that do not fit."""
    found: Json = {}
    for one in wanted:
        if one.source != source:
            continue
        raw = _at(said, one.path)
        if raw in (None, "", []):
            continue
        value: Any = None
        if ALL not in one.path:
            value = _fitting(one, raw, secrets)
        elif len(raw) <= MOST_LISTED:
            value = [_fitting(one, item, secrets) for item in raw]
        if value in (None, []) or (isinstance(value, list) and None in value):
            log.warning("metadata %s was left out: it is not %s that may be kept", one.name, one.type)
        else:
            found[one.name] = value
    return found


def merged(kept: Mapping[str, Any], found: Mapping[str, Any]) -> Json:
    """``kept`` with ``found`` over it. What would make it too large is left out."""
    whole: Json = {}
    for name, value in {**kept, **found}.items():
        if len(whole) == MOST_NAMES or len(json.dumps({**whole, name: value}, ensure_ascii=False)) > MOST_WHOLE:
            log.warning("metadata %s was left out: there is too much of it", name)
        else:
            whole[name] = value
    return whole


def _at(value: Any, steps: Steps) -> Any:
    """As ``oauth.value_at``; the step * collects from every item of a list."""
    if ALL not in steps:
        return oauth.value_at(value, steps)
    split = steps.index(ALL)
    items = oauth.value_at(value, steps[:split])
    found = (_at(item, steps[split + 1 :]) for item in items) if isinstance(items, list) else ()
    return [inner for one in found for inner in (one if isinstance(one, list) else [one]) if inner is not None]


def _fitting(one: Named, raw: Any, secrets: Secrets) -> str | int | bool | None:
    """``raw`` as the type that the entry names; None if it is something else, too long, or a secret."""
    if isinstance(raw, bool):
        return raw if one.type == "boolean" else None
    if isinstance(raw, int) and raw.bit_length() > _MOST_BITS:  # Python does not write out every number
        return None
    text = str(raw) if isinstance(raw, str | int) else ""
    if not 0 < len(text) <= MOST_TEXT or not text.isprintable() or secrets.has(text):
        return None
    return _READERS[one.type](text, one.hosts)


def _integer(text: str, _: Iterable[str]) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and abs(number) <= _MOST_INTEGER else None


def _url(text: str, hosts: Iterable[str]) -> str | None:
    return text if allowed_host(_authority(text), hosts) else None


def _host(text: str, hosts: Iterable[str]) -> str | None:
    named = text.lower()
    return named if named == _authority(f"https://{named}") and allowed_host(named, hosts) else None


_READERS: Mapping[str, Callable[[str, Iterable[str]], str | int | bool | None]] = {
    "string": lambda text, _: text,
    "integer": _integer,
    "boolean": lambda text, _: {"true": True, "false": False}.get(text),
    "url": _url,
    "host": _host,
}


def _authority(url: str, *, query: bool = False) -> str:
    """The host, with the port unless it is the usual one; "" if the address may not be called."""
    try:
        target = http.check_url(url)
    except http.Refused:
        return ""
    return target.authority if query or "?" not in target.path else ""


def allowed_host(authority: str, hosts: Iterable[str]) -> bool:
    """Whether ``hosts`` names this host (with its port unless that is the default): ``host`` or ``*.domain``."""
    return any(
        authority.endswith(one[1:]) and len(authority) >= len(one) if one.startswith("*.") else authority == one
        for one in hosts
        if authority
    )


def is_host_pattern(host: str) -> bool:
    """A wildcard covers one domain, not all of a public suffix such as com."""
    return bool(_HOST.fullmatch(host)) and ("." in host.removeprefix("*.") or not host.startswith("*."))
