"""What may be asked of the double, as the service reads it: the members of a question and the params of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.confirm import params as confirm
from elicit_flows.kinds.form import params as form
from elicit_flows.kinds.payment import params as payment
from elicit_flows.sdk.checks import check
from elicit_flows.sdk.errors import InvalidQuestionError
from elicit_flows.sdk.testing.double import wallet

MEMBERS = ("kind", "subject", "message", "params")
OPTIONS = ("expires_in", "return_url", "return", "locale", "reuse", "notify", "metadata")
MOST_FIELDS, MOST_STEPS = 20, 10
ALONE = ("steps", "x402")  # are no steps
COMPLETIONS = ("on_return", "by_agent")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def check_question(given: Json) -> None:
    """Raises Invalid for what the service would not take. The params are read by ``cleaned``."""
    for name in given:
        if name not in MEMBERS + OPTIONS:
            raise Invalid.at(name, "Extra inputs are not permitted")
    subject, options = given.get("subject"), {name: given[name] for name in OPTIONS if name in given}
    if not isinstance(subject, dict) or not all(isinstance(subject.get(one), str) for one in ("iss", "sub")):
        raise Invalid.at("subject", "Give iss and sub.")
    for name, value in (("params", given.get("params")), ("metadata", given.get("metadata", {}))):
        if not isinstance(value, dict):
            raise Invalid.at(name, "Give an object.")
    try:
        check(str(given.get("kind")), given["params"], given.get("message", ""), options, OPTIONS)
    except InvalidQuestionError as wrong:
        raise Invalid(wrong.errors, wrong.detail) from wrong


def cleaned(kind: Any, params: Any) -> Json:
    """``{kind, params}`` as the service keeps them. Raises Invalid."""
    if kind not in CLEAN:
        raise Invalid.at("kind", f"Use one of {', '.join(CLEAN)}.")
    return {"kind": kind, "params": CLEAN[kind](params)}


def _oauth(given: Json) -> Json:
    _only(given, ("provider", "mcp", "scopes", "reasons", "connection", "variables"))
    if not any(isinstance(given.get(name), str) and given[name] for name in ("provider", "mcp")):
        raise Invalid.at("params.provider", "Name the provider by its slug, a non-empty string.")
    if not isinstance(given.get("scopes", []), list):
        raise Invalid.at("params.scopes", "Give a list of scopes.")
    return dict(given)


def _credentials(given: Json) -> Json:
    _only(given, ("fields", "provider", "seal_to"))
    fields = given.get("fields")
    if given.get("provider") and fields is None:
        return dict(given)
    if not isinstance(fields, list) or not 0 < len(fields) <= MOST_FIELDS:
        raise Invalid.at("params.fields", f"Give a list of 1 to {MOST_FIELDS} fields.")
    for place, field in enumerate(fields):
        for name in ("name", "label"):
            if not isinstance(field, dict) or not isinstance(field.get(name), str) or not field[name]:
                raise Invalid.at(f"params.fields.{place}.{name}", f"Give a {name}.")
    return dict(given)


def _link(given: Json) -> Json:
    _only(given, ("url", "completion"))
    url = urlsplit(given["url"]) if isinstance(given.get("url"), str) else urlsplit("")
    if not url.hostname or (url.scheme != "https" and url.hostname not in LOOPBACK):
        raise Invalid.at("params.url", "Give an https address of at most 2000 characters.")
    if given.get("completion") not in COMPLETIONS:
        raise Invalid.at("params.completion", f"Use one of {', '.join(COMPLETIONS)}.")
    return dict(given)


def _steps(given: Json) -> Json:
    steps = given.get("steps")
    if not isinstance(steps, list) or not 2 <= len(steps) <= MOST_STEPS:
        raise Invalid.at("params.steps", f"Give a list of 2 to {MOST_STEPS} steps.")
    for place, one in enumerate(steps):
        if not isinstance(one, dict) or one.get("kind") in ALONE or not isinstance(one.get("params", {}), dict):
            raise Invalid.at(f"params.steps.{place}", "Give a kind and its params.")
    return {"steps": [cleaned(one.get("kind"), one.get("params", {})) for one in steps]}


def _only(given: Json, known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise Invalid.at(f"params.{name}", f"There is no such parameter; use {', '.join(known)}.")


CLEAN: dict[str, Callable[[Json], Json]] = {
    "confirm": confirm.clean,
    "form": lambda given: form.read(given)[0],
    "payment": payment.clean,
    "x402": wallet.cleaned,
    "oauth": _oauth,
    "credentials": _credentials,
    "link": _link,
    "steps": _steps,
}
