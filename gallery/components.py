"""The parts that pages share: the template of each, and its context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.utils.translation import gettext

from elicit_flows.brands.page_brand import AgentCard, PageText
from elicit_flows.lib import clock
from gallery.account import (
    USES,
    a_connection,
    account_page,
    answered_page,
    authorizations,
    calls_page,
    mandates,
    payments,
    requests_page,
    sessions,
    told_page,
    untold,
    uses,
)
from gallery.asking import changed_page, request_page, steps
from gallery.brands import PICTURE
from gallery.everywhere import Context

_SCOPES = ["files.read", "files.write", "files.delete", "odd"]
_WORDS = {
    "files.read": {"ar": "الاطّلاع على ملفاتك"},
    "files.write": "Change your files",
    "files.delete": "Delete your files",
}


def _asking() -> Context:
    return {**request_page(), "agent": "Drive Bot"}


def _described() -> Context:
    card = AgentCard((PICTURE,), "https://drive-bot.example/about", "It sorts the files of a team.")
    return {**_asking(), "card": card}


def _scopes() -> Context:
    why = {"files.delete": "To empty the folder of old drafts."}
    return {"scopes": _SCOPES, "words": _WORDS, "reasons": why, "agent": "Drive Bot"}


def _faults() -> Context:
    return {"faults": {"typed": gettext("Type %(word)s to confirm.") % {"word": "CONFIRM"}}, "kind": "confirm"}


def _choice() -> Context:
    return {**changed_page(), "choice": "both", "label": gettext("Connect this one as well"), "look": "primary"}


def _said() -> Context:
    return {"said": PageText("Violet checks every assistant before it may ask you.", "en", right_to_left=False)}


def _provider() -> Context:
    return {"one": account_page()["providers"][0], "provider": "Acme Drive"}


def _request() -> Context:
    return {"one": requests_page()["requests"][0], "agent": "Drive Bot"}


def _payment() -> Context:
    return {"payment": payments()[0], "agent": "Shop Bot", "what": "A report"}


def _connection(**more: object) -> Context:
    return {"connection": a_connection(**more), "provider": "Acme Drive", "agent": "Drive Bot"}


def _ended() -> Context:
    return _connection(status="revoked", upstream="pending", revoked_at=clock.now() - timedelta(days=1))


def _just_ended() -> Context:
    return {**_ended(), "just_ended": a_connection(status="revoked", all_of="")}


def _use() -> Context:
    return {**_connection(), "use": uses(USES[1])["uses"][1]}


def _untold() -> Context:
    return _connection(status="revoked", **untold())


COMPONENTS: dict[str, tuple[str, Callable[[], Context]]] = {
    "the agent that asks": ("connect/_agent.html", _asking),
    "what the operator says of the agent": ("connect/_agent.html", _described),
    "words of the agent": ("connect/_message.html", _asking),
    "words of the operator": ("brand/_said.html", _said),
    "scopes": ("_scopes.html", _scopes),
    "steps": ("connect/_steps.html", lambda: {"steps": steps()}),
    "who is signed in, and until when": ("connect/_aside.html", _asking),
    "another account": ("connect/_switch.html", lambda: {**_asking(), "label": gettext("Not you?")}),
    "a choice": ("connect/_choice.html", _choice),
    "what was wrong": ("connect/_faults.html", _faults),
    "search": (
        "account/_search.html",
        lambda: {"q": "drive", "here_url": "/account", "label": gettext("Search by agent or words")},
    ),
    "a provider and its accounts": ("account/_provider.html", _provider),
    "a connection": ("account/_connection.html", _connection),
    "a connection's facts": ("account/_facts.html", _connection),
    "a connection's state": ("account/_state.html", lambda: _connection(status="reauthorization_required")),
    "a connection that ended": ("account/_ended.html", _ended),
    "disconnect": ("account/_disconnect.html", _connection),
    "replace the payment method": ("account/_replace.html", lambda: {"id": "pa_1", "what": "The news"}),
    "where to end it": ("account/_removal.html", _untold),
    "what was just disconnected": ("account/_answer.html", _just_ended),
    "what was done": ("account/_use.html", _use),
    "what was called": ("account/_calls.html", lambda: {**calls_page(), "agent": "Drive Bot", "provider": "Drive"}),
    "when it was done": ("account/_times.html", _use),
    "a request that waits": ("account/_waiting.html", _request),
    "a request that is over": (
        "account/_over.html",
        lambda: {"one": answered_page()["requests"][0], "agent": "Drive Bot"},
    ),
    "a session": ("account/_session.html", lambda: {"one": sessions()[1]}),
    "messages about requests": ("account/_notifications.html", told_page),
    "a payment": ("account/_payment.html", _payment),
    "a mandate": (
        "account/_mandate.html",
        lambda: {"mandate": mandates()[0], "agent": "Travel Bot", "what": "Train tickets"},
    ),
    "a payment by HTTP 402": ("account/_authorization.html", lambda: {"one": authorizations()[0]}),
    "more of a list": ("account/_more.html", lambda: {"more_url": "/account?after=1-cn_1", "start_url": "/account"}),
}
