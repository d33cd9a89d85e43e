"""The scripted person without a browser: quick, and able to do what a browser will not (stop, replay, race)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx2

from tests.support import forms
from tests.support.persona import Persona

MOST_REDIRECTS = 20
SITES = ["none", "same-origin", "same-site", "cross-site"]  # nearest first


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def fetch_site(source: str | None, target: str) -> str:
    """The value of Sec-Fetch-Site: ports make another origin, but not another site."""
    if source is None:
        return "none"
    if origin(source) == origin(target):
        return "same-origin"
    return "same-site" if urlsplit(source).hostname == urlsplit(target).hostname else "cross-site"


class HttpUser(Persona):
    """Follows redirects one by one, keeps cookies, sends the headers a browser sends (Origin, Sec-Fetch-Site).

    Takes any certificate: reading those of the machine costs more than most requests here.

    ``response`` is the last answer, ``trail`` every answer since the last ``open`` or ``press``. With ``stop_at`` set,
    a redirect to an address that begins with it is not followed: ``location`` then says where it would have gone.
    ``address``: of this machine's own (127.0.0.0/8), from which the requests come.
    """

    def __init__(self, *, headers: dict[str, str] | None = None, address: str | None = None) -> None:
        transport = httpx2.HTTPTransport(verify=False, trust_env=False, local_address=address)
        self.http = httpx2.Client(transport=transport, timeout=40, headers=headers)
        self.response: httpx2.Response | None = None
        self.trail: list[httpx2.Response] = []
        self.stop_at: str | None = None
        self._page: forms.Page | None = None
        self._left_from: str | None = None
        self._sites: list[str] = []

    @property
    def answer(self) -> httpx2.Response:
        assert self.response is not None, "nothing was opened yet"
        return self.response

    @property
    def page(self) -> forms.Page:
        if self._page is None:
            self._page = forms.read(self.answer.text)
        return self._page

    @property
    def url(self) -> str:
        return str(self.answer.url)

    @property
    def page_name(self) -> str:
        return self.page.name

    @property
    def page_status(self) -> str:
        return self.page.status

    @property
    def text(self) -> str:
        return self.page.text

    @property
    def location(self) -> str:
        """Where the last answer points, absolute; "" when it is no redirect."""
        header = self.answer.headers.get("location")
        return urljoin(self.url, header) if header and self.answer.is_redirect else ""

    @property
    def stopped(self) -> bool:
        return bool(self.stop_at) and self.location.startswith(self.stop_at or "")

    def actions(self) -> list[str]:
        return list(self.page.forms)

    def open(self, url: str) -> httpx2.Response:
        self.trail, self._left_from, self._sites = [], None, []
        return self._go(self._request("GET", url))

    def press(self, action: str, **fields: str) -> httpx2.Response:
        self.trail = []
        return self._go(self.form_request(action, **fields))

    def follow(self) -> httpx2.Response:
        """Goes on from where ``stop_at`` stopped."""
        self.stop_at, target = None, self.location
        assert target, f"{self.url} does not redirect"
        return self._go(self._request("GET", target))

    def form_request(self, action: str, **fields: str) -> httpx2.Request:
        """What pressing the button would send."""
        assert action in self.page.forms, f"{self.url} offers {self.actions()}, not {action!r}: {self.text[:500]}"
        form = self.page.forms[action]
        names = dict.fromkeys([*(name for name, _ in form.fields), *fields])
        values = {name: fields.get(name, [value for key, value in form.fields if key == name]) for name in names}
        target = urljoin(self.url, form.action)
        self._left_from, self._sites = self.url, []
        if form.method == "GET":
            return self._request("GET", target, params=values)
        return self._request("POST", target, data=values)

    def _request(self, method: str, url: str, **content: Any) -> httpx2.Request:
        """A navigation that began at ``_left_from``; a chain that once went to another site stays one."""
        self._sites.append(fetch_site(self._left_from, url))
        site = max(self._sites, key=SITES.index)
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        if method == "POST" and self._left_from:
            headers["origin"] = self._origin_for(url)
        return self.http.build_request(method, url, headers=headers, **content)

    def _origin_for(self, url: str) -> str:
        """A page that keeps the Referer to itself keeps its origin too (Fetch standard, section on "Origin")."""
        policy = self.page.referrer or self.answer.headers.get("referrer-policy", "").strip()
        here = origin(self._left_from or "")
        hidden = policy == "no-referrer" or (policy == "same-origin" and here != origin(url))
        return "null" if hidden else here

    def _go(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(MOST_REDIRECTS):
            self.response, self._page = self.http.send(request), None
            self.trail.append(self.response)
            if not self.location or self.stopped:
                return self.response
            again = self.response.status_code in {307, 308} and request.method != "GET"
            assert not again, f"{self.url} wants the form sent to {self.location}"
            request = self._request("GET", self.location)
        raise AssertionError(f"more than {MOST_REDIRECTS} redirects, now to {self.location}")

    @contextmanager
    def stopping_at(self, prefix: str) -> Iterator[Self]:
        """Within the block, redirects to ``prefix``… are not followed."""
        self.stop_at, before = prefix, self.stop_at
        try:
            yield self
        finally:
            self.stop_at = before

    def get(self, url: str, *, cookies: bool = True) -> httpx2.Response:
        """One plain request, no redirect followed; the page they are on stays. ``cookies=False`` sends none."""
        return self.send(self.http.build_request("GET", url, headers={"sec-fetch-site": "none"}), cookies=cookies)

    def send(self, request: httpx2.Request, *, cookies: bool = True) -> httpx2.Response:
        """Sends any request as it is, no redirect followed, with the cookies of now or with none."""
        headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() != "cookie"]
        kept = self.http.cookies if cookies else None
        with httpx2.Client(trust_env=False, verify=False, timeout=40, cookies=kept) as client:
            return client.send(
                client.build_request(request.method, request.url, headers=headers, content=request.read())
            )

    def replay(self, response: httpx2.Response, *, cookies: bool = True) -> httpx2.Response:
        """Sends the request behind ``response`` once more."""
        return self.send(response.request, cookies=cookies)

    def at_once(self, request: httpx2.Request, times: int) -> list[httpx2.Response]:
        """Sends the same request ``times`` times at the same moment, each on a connection of its own."""
        start = threading.Barrier(times)

        def one(_: int) -> httpx2.Response:
            start.wait(30)
            return self.send(request)

        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(one, range(times)))

    def close(self) -> None:
        self.http.close()
