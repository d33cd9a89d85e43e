"""Kind link: the user visits a page. It is completed when they come back from it, or when the agent says so."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from elicit_flows import http
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.params import fault, unknown
from elicit_flows.lib import text

COMPLETIONS = ("on_return", "by_agent")
MAX_URL = 2000
BACK = "elicit_return"  # the parameter that tells the page where to send the browser afterwards
_NAMES = ("url", "completion")


class Link:
    """Send the user to an address of the agent's. The result is ``{}``."""

    context: str | None = None
    takes_money = False
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{url, completion}``. Raises Invalid."""
        asked = {name: given.get(name) for name in _NAMES}
        faults = unknown(given, _NAMES)
        wrong = problem(asked["url"])
        if wrong:
            faults.append(fault("url", wrong))
        if asked["completion"] not in COMPLETIONS:
            faults.append(fault("completion", f"Use one of {', '.join(COMPLETIONS)}."))
        if faults:
            raise Invalid(faults)
        return asked

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, url, completion}``."""
        host, warning = text.ascii_host(asked["url"]), text.host_warning(asked["url"])
        return {"title": host, "host": host, "host_warning": warning, **asked}

    def begin(self, visit: Visit) -> Leave:
        """The page itself. With ``on_return`` it gets an address to come back to, whose state only this browser can
        use.
        """
        if visit.params["completion"] == "by_agent":
            return Leave(visit.params["url"], {})
        url = urlsplit(visit.params["url"])
        back = urlencode({BACK: f"{visit.redirect_uri}?{urlencode({'state': visit.state})}"})
        return Leave(urlunsplit(url._replace(query=f"{url.query}&{back}" if url.query else back)), {})

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Nothing to check: coming back is the answer."""

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        return Finish("completed", result={})


def problem(url: Any) -> str:
    """Why nobody may be sent there; "" for a web address without tricks."""
    if not isinstance(url, str) or not 0 < len(url) <= MAX_URL or text.safe_url(url) != url or url.startswith("/"):
        return f"Give an https address of at most {MAX_URL} characters."
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "This address cannot be read."
    near = http.policy().allow_loopback and http.is_loopback_name(host)
    if parts.scheme != "https" and not near:
        return "The address must begin with https://."
    if "@" in parts.netloc or not host or not text.ascii_host(url):
        return "The address must name a host, and no user."
    return ""
