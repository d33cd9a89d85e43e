"""The parts of entries: addresses, templates of addresses, and their variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, model_validator

from elicit_flows import http
from elicit_flows.kinds.credentials.fields import compiled
from elicit_flows.lib.pattern import PatternError

PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_VISIBLE = re.compile(r"https?://[!-~]{1,990}")
# A value must not leave its part of the address, whatever the variable's pattern allows.
_IN_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_IN_PATH = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")


_BELOW = re.compile(r"(\.[A-Za-z0-9-]+){2,}(:[0-9]+)?")


class Part(BaseModel):
    """Unknown keys are refused, and values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _address(url: str, near: bool = False) -> str:
    """``near``: http is permitted to this machine, where the service permits it (development)."""
    if not _VISIBLE.fullmatch(url) or not (near or url.startswith("https://")):
        raise ValueError("must be an https address of visible ASCII characters, at most 1000")
    if "@" in urlsplit(url).netloc:
        raise ValueError("must have no user name")
    return url


def _endpoint(url: str) -> str:
    """An address that we, or browsers, call: it must be on the public internet, whatever the variables are."""
    if "#" in _address(url, near=http.policy().allow_loopback):
        raise ValueError("must have no fragment")
    if re.search(r"[{}]", PLACE.sub("", url)):
        raise ValueError("has a brace that does not enclose a variable")
    if PLACE.search(urlsplit(url).query):
        raise ValueError("has a variable in the query")
    try:
        http.check_url(PLACE.sub("x.example", url))
    except http.Refused as refusal:
        raise ValueError(str(refusal)) from None
    return url


def _lookup(url: str) -> str:
    """An address that we call with a token. It may begin with ``{name}``: an address that the provider named."""
    place = PLACE.match(url)
    if place and not url[place.end() :].startswith("/"):
        raise ValueError("has no / after the address that it begins with")
    _endpoint(f"https://x.example{url[place.end() :]}" if place else url)
    return url


Page = Annotated[str, AfterValidator(partial(_address, near=False))]
Endpoint = Annotated[str, AfterValidator(_endpoint)]
Lookup = Annotated[str, AfterValidator(_lookup)]


class Variable(Part):
    """A part that differs between the provider's customers. ``pattern`` is ECMA-262, like the patterns of fields."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    label: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    example: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    help: Annotated[str, StringConstraints(max_length=300)] = ""  # for the person who is asked for it

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not (self.pattern.startswith("^") and self.pattern.endswith("$")):
            raise ValueError("the pattern must begin with ^ and end with $")
        try:
            fits = self.fits(self.example)
        except PatternError as error:
            raise ValueError(f"pattern: {error}") from None
        if not fits:
            raise ValueError("the example does not match the pattern")
        return self

    @property
    def needed(self) -> str:
        """What is said where it is missing or not valid."""
        return f"{self.name} is needed ({self.label}), such as {self.example}"

    def fits(self, value: str) -> bool:
        return compiled(self.pattern).search(value)


def filled(template: str, variables: Mapping[str, str]) -> str:
    """The address with ``variables`` filled in; unknown places are left. Raises ValueError for a value that could
    change the host or path.
    """
    begin, mark, rest = template.partition("://")
    host, slash, path = rest.partition("/")
    made = begin + mark + _put(host, variables, _IN_HOST) + slash + _put(path, variables, _IN_PATH)
    # Read what it became, as a client reads it: its host must be the template's.
    if mark and not PLACE.search(made):
        hosts = _IN_HOST.pattern.join(re.escape(text) for text in PLACE.split(host)[::2])
        if not re.fullmatch(hosts, urlsplit(made).netloc):
            raise ValueError("leads to another host")
    return made


def is_fixed(template: str, name: str) -> bool:
    """Whether no value of this variable chooses the site: it is in the path, or below a domain of the provider's."""
    host = template.partition("://")[2].partition("/")[0]
    return f"{{{name}}}" not in host or _BELOW.fullmatch(host.rpartition("}")[2]) is not None


def _put(part: str, variables: Mapping[str, str], safe: re.Pattern[str]) -> str:
    def put(place: re.Match[str]) -> str:
        value = variables.get(place[1])
        if value is None:
            return place[0]
        if not safe.fullmatch(value):
            raise ValueError(f"{place[1]} has a character that is not allowed there")
        return value

    return PLACE.sub(put, part)
