"""What entries are made of: addresses, templates of addresses, and the variables in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, model_validator

from elicit_flows.kinds.credentials.fields import compiled
from elicit_flows.lib import http
from elicit_flows.lib.pattern import PatternError

PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_VISIBLE = re.compile(r"https://[!-~]{1,990}")
# Whatever a variable's pattern allows, it stays in the part of the address in which it stands.
_IN_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_IN_PATH = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")


class Part(BaseModel):
    """Nothing may be said that we do not know, and nothing is changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _address(url: str) -> str:
    if not _VISIBLE.fullmatch(url):
        raise ValueError("must be an https address of visible ASCII characters, at most 1000")
    if "@" in urlsplit(url).netloc:
        raise ValueError("must have no user name")
    return url


def _endpoint(url: str) -> str:
    """We send requests or browsers there: on the public internet, whatever stands in the places."""
    if "#" in _address(url):
        raise ValueError("must have no fragment")
    if re.search(r"[{}]", PLACE.sub("", url)):
        raise ValueError("has a brace that stands around no variable")
    if PLACE.search(urlsplit(url).query):
        raise ValueError("has a variable in the query")
    try:
        http.check_url(PLACE.sub("x.example", url))
    except http.Refused as refusal:
        raise ValueError(str(refusal)) from None
    return url


Page = Annotated[str, AfterValidator(_address)]
Endpoint = Annotated[str, AfterValidator(_endpoint)]


class Variable(Part):
    """What differs from one customer of the provider to the next. ``pattern`` is ECMA-262, as those of fields are."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    label: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    example: Annotated[str, StringConstraints(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not (self.pattern.startswith("^") and self.pattern.endswith("$")):
            raise ValueError("the pattern must begin with ^ and end with $")
        try:
            fits = self.fits(self.example)
        except PatternError as error:
            raise ValueError(f"pattern: {error}") from None
        if not fits:
            raise ValueError("the example does not fit the pattern")
        return self

    def fits(self, value: str) -> bool:
        return compiled(self.pattern).search(value)


def filled(template: str, variables: Mapping[str, str]) -> str:
    """The address with ``variables`` in their places; other places are left. Raises ValueError for one that could lead
    elsewhere.
    """
    begin, mark, rest = template.partition("://")
    host, slash, path = rest.partition("/")
    return begin + mark + _put(host, variables, _IN_HOST) + slash + _put(path, variables, _IN_PATH)


def _put(part: str, variables: Mapping[str, str], safe: re.Pattern[str]) -> str:
    def put(place: re.Match[str]) -> str:
        value = variables.get(place[1])
        if value is None:
            return place[0]
        if not safe.fullmatch(value):
            raise ValueError(f"{place[1]} has a character that cannot stand there")
        return value

    return PLACE.sub(put, part)
