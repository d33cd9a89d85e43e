"""Providers whose keys people hand over: what their values must look like, in the words of a configuration file."""

from __future__ import annotations

from typing import Any

from elicit_flows.configure.faults import Wrong
from elicit_flows.configure.values import return_url
from elicit_flows.kinds.credentials import fields, rules
from elicit_flows.values import Json


def credential_fields(value: Any) -> list[Json]:
    """``[{ name, label, secret, help, pattern, example }]``. Raises Wrong."""
    for at, said in fields.faults(value, fields.OPERATORS):
        place = "".join([f"number {at[0] + 1}", *(f", {key}" for key in at[1:]), ": "]) if at else ""
        raise Wrong(f"{place}{said[:1].lower()}{said[1:]}".removesuffix("."))
    return [fields.complete(field, fields.OPERATORS) for field in value]


def find_url(value: Any) -> str:
    """Where people go, never we."""
    address = return_url(value)
    if len(address) > 1000:
        raise Wrong("must have at most 1000 characters")
    return address


def verify(value: Any) -> Json:
    """``{ url, headers, basic, accepted, refused }``; empty for no check. Raises Wrong."""
    try:
        return rules.checked_verify(value)
    except rules.Unfit as unfit:
        raise Wrong(str(unfit)) from None
