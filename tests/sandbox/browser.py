"""A browser without a screen: keeps cookies, follows nothing by itself, presses the button of a form by data-action."""

from __future__ import annotations

from html.parser import HTMLParser
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2


class Forms(HTMLParser):
    """``found``: data-action -> (where to, fields)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, tuple[str, dict[str, str]]] = {}
        self._current: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._current = {}
            self.found[given["data-action"]] = (given.get("action", ""), self._current)
        elif tag in ("input", "button") and "name" in given and is_sent(given):
            self._current[given["name"]] = given["value"]


def is_sent(given: dict[str, str]) -> bool:
    return given.get("type") not in ("radio", "checkbox") or "checked" in given


class Browser:
    def __init__(self) -> None:
        self.http = httpx2.Client()
        self.page = httpx2.Response(200)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    @property
    def actions(self) -> list[str]:
        return list(Forms(self.page.text).found)

    def open(self, url: str) -> httpx2.Response:
        self.page = self.http.get(url)
        return self.page

    def press(self, action: str, **fields: str) -> httpx2.Response:
        """Send the form with that data-action; a 303 is followed, as a page of the same site."""
        where, given = Forms(self.page.text).found[action]
        url = urljoin(str(self.page.url), where or str(self.page.url))
        self.page = self.http.post(url, data=given | fields)
        if self.page.status_code == 303:
            self.open(urljoin(url, self.page.headers["Location"]))
        return self.page


def landed(response: httpx2.Response) -> dict[str, str]:
    """The parameters with which the browser was sent back to the client."""
    assert response.status_code == 302, response.text
    query = parse_qs(urlsplit(response.headers["Location"]).query)
    assert all(len(values) == 1 for values in query.values())
    return {name: values[0] for name, values in query.items()}
