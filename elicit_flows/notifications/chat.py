"""Slack, Teams and others, by apprise: only to URLs of the operator's, and by our guarded HTTP client.

apprise has no way to be given a transport: each of its plug-ins calls the functions of its module's ``requests``. So
the modules of the few plug-ins that may be used get ours in its place (``_Requests``). It has no other functions: a
plug-in that needs more fails, and reaches nobody.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests
from apprise import AppriseAsset, NotifyFormat
from apprise.exception import AppriseException
from apprise.plugins.base import NotifyBase
from apprise.plugins.custom_json import NotifyJSON
from apprise.plugins.google_chat import NotifyGoogleChat
from apprise.plugins.mattermost import NotifyMattermost
from apprise.plugins.ntfy import NotifyNtfy
from apprise.plugins.rocketchat import NotifyRocketChat
from apprise.plugins.slack import NotifySlack
from apprise.plugins.webexteams import NotifyWebexTeams
from apprise.plugins.workflows import NotifyWorkflows

from elicit_flows import http, vault
from elicit_flows.domain.values import Secret
from elicit_flows.http import for_requests
from elicit_flows.models import NotificationSettings
from elicit_flows.notifications.messages import Message, NoAddress, NotSent, Refused, Unknown, of_all
from elicit_flows.people.contacts import Addresses

PLACE = "{email}"
SECONDS = 15.0  # for all requests of one URL
REPLY_BYTES = 1024 * 1024
# By the beginning of its URLs, the plug-ins that may be used: over https, and none that reads files or speaks to this
# machine. They are named one by one because apprise's own registry imports all of its hundred and thirty.
PLUG_INS: Mapping[str, type[NotifyBase]] = {
    "slack": NotifySlack,
    "workflows": NotifyWorkflows,
    "gchat": NotifyGoogleChat,
    "wxteams": NotifyWebexTeams,
    "mmosts": NotifyMattermost,
    "rockets": NotifyRocketChat,
    "ntfys": NotifyNtfy,
    "jsons": NotifyJSON,
}
LOOPBACK: Mapping[str, type[NotifyBase]] = {"json": NotifyJSON}  # plain http, where ELICIT_ALLOW_LOOPBACK is on


@dataclass(slots=True)
class Call:
    """What became of the requests of one URL. ``status``: of the last answer, 0 for none. ``lost``: an answer was."""

    ends: float
    status: int = 0
    lost: bool = False
    why: str = ""


_call: ContextVar[Call] = ContextVar("chat_call")


class ToChats(for_requests.Transport):
    def answer_to(self, request: requests.PreparedRequest) -> http.Reply:
        """The way out for apprise. Redirects are answers like any other."""
        call = _call.get()
        call.status = 0
        try:
            reply = for_requests.sent(request, deadline=max(0.1, call.ends - time.monotonic()), limit=REPLY_BYTES)
        except (http.Refused, http.Unreachable) as error:
            call.lost |= isinstance(error, http.Unreachable) and error.sent
            call.why = str(error)[:200]
            raise requests.ConnectionError(call.why) from None
        call.status = reply.status
        return reply


class _Requests:
    """What the plug-ins call as ``requests``."""

    exceptions, codes, Response = requests.exceptions, requests.codes, requests.Response
    RequestException, ConnectionError, Timeout = requests.RequestException, requests.ConnectionError, requests.Timeout

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """``verify`` and ``timeout`` are the guarded client's to decide."""
        given = {name: options[name] for name in ("data", "json", "params", "headers", "auth") if name in options}
        with for_requests.guarded_session(ToChats()) as session:
            return session.request(method, url, allow_redirects=False, **given)

    def post(self, url: str, **options: Any) -> requests.Response:
        return self.request("POST", url, **options)

    def get(self, url: str, **options: Any) -> requests.Response:
        return self.request("GET", url, **options)

    def put(self, url: str, **options: Any) -> requests.Response:
        return self.request("PUT", url, **options)


def _guard() -> None:
    """Give the plug-ins that may be used our ``requests``."""
    ours = _Requests()
    for plug_in in PLUG_INS.values():
        module: Any = sys.modules[plug_in.__module__]
        module.requests = ours


_guard()


def fault(given: Secret) -> str:
    """What is wrong with an apprise URL, or "". It is not repeated: it holds a secret."""
    scheme, found, _ = given.reveal().partition("://")
    allowed = _allowed()
    if not found or scheme not in allowed:
        return f"must be an apprise URL that begins with one of: {', '.join(f'{one}://' for one in allowed)}"
    return "" if _client(_filled(given, "someone@example.com")) else f"is not a complete apprise URL of {scheme}://"


def send(message: Message, to: Addresses, offered: NotificationSettings) -> None:
    """Send to each URL of the person's and of everybody's. Raises NoAddress, NotSent, Refused and Unknown.

    Once one of several was sent, the others are not tried again: the person knows.
    """
    urls = [*to.chat, *(vault.contacts.open_chat(offered) if to.email else [])]
    if not urls:
        raise NoAddress
    failures = [failure for url in urls if (failure := _send(message, _filled(url, to.email)))]
    if len(failures) < len(urls):
        return
    raise of_all(failures)


def _send(message: Message, url: str) -> NotSent | Unknown | None:
    """The failure, if it failed."""
    client = _client(url)
    if client is None:
        return Refused("apprise cannot read the URL")
    call = Call(time.monotonic() + SECONDS)
    token = _call.set(call)
    try:
        sent = client.notify(title=message.subject, body=message.body, body_format=NotifyFormat.TEXT)
    finally:
        _call.reset(token)
    if sent:
        return None
    if call.lost:
        return Unknown(call.why)
    if 400 <= call.status < 500 and call.status not in {408, 425, 429}:
        return Refused(f"it answered {call.status}")
    return NotSent(f"it answered {call.status}" if call.status else call.why or "apprise did not send it")


def _filled(url: Secret, email: str) -> str:
    return url.reveal().replace(PLACE, quote(email, safe=""))


def _client(url: str) -> NotifyBase | None:
    """The plug-in that sends to this URL; None if there is none, or if it cannot read the URL."""
    plug_in = _allowed().get(url.partition("://")[0])
    found = plug_in.parse_url(url) if plug_in else None
    if plug_in is None or not found:
        return None
    # No address of a picture, which readers' programs would fetch from apprise's project.
    asset = AppriseAsset(app_id="Elicit Flows", app_desc="", app_url="", image_url_mask="", image_url_logo="")
    try:
        return plug_in(**{**found, "asset": asset})
    except (TypeError, ValueError, AppriseException):  # what plug-ins raise for a part that is missing or wrong
        return None


def _allowed() -> Mapping[str, type[NotifyBase]]:
    return {**PLUG_INS, **(LOOPBACK if http.policy().allow_loopback else {})}
