"""An HTML page as a program sees it: what it says it is, and the forms that act."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

Fields = list[tuple[str, str]]


@dataclass
class Form:
    """``action`` as written in the page ("" is the page itself); ``fields`` as a browser would send them untouched."""

    action: str
    method: str
    fields: Fields = field(default_factory=list)


@dataclass
class Page:
    """``name`` and ``status`` are the body's data-page and data-status; ``forms`` by their data-action.

    ``referrer`` is the policy that the page itself declares; it goes before the header's.
    """

    name: str = ""
    status: str = ""
    title: str = ""
    text: str = ""
    referrer: str = ""
    forms: dict[str, Form] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads one page. A button may carry the data-action instead of its form, as where one form has two buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._form: Form | None = None
        self._label = ""
        self._submits: list[tuple[str, Fields]] = []
        self._select: str | None = None
        self._textarea: list[str] | None = None
        self._silent = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        reader = getattr(self, f"_start_{tag}", None)
        if reader:
            reader(given)

    def _start_body(self, given: dict[str, str]) -> None:
        self.page.name, self.page.status = given.get("data-page", ""), given.get("data-status", "")

    def _start_meta(self, given: dict[str, str]) -> None:
        if given.get("name", "").lower() == "referrer":
            self.page.referrer = given.get("content", "")

    def _start_a(self, given: dict[str, str]) -> None:
        if "href" in given:
            self.page.links.append(given["href"])

    def _start_title(self, _: dict[str, str]) -> None:
        self._in_title = True

    def _start_script(self, _: dict[str, str]) -> None:
        self._silent += 1

    _start_style = _start_script

    def _start_form(self, given: dict[str, str]) -> None:
        self._form = Form(given.get("action", ""), given.get("method", "get").upper())
        self._label, self._submits = given.get("data-action", ""), []

    def _start_input(self, given: dict[str, str]) -> None:
        kind = given.get("type", "text").lower()
        if self._form is None or "disabled" in given:
            return
        if kind in {"submit", "image"}:
            self._start_button({"type": "submit", **given})
            return
        unticked = kind in {"checkbox", "radio"} and "checked" not in given
        if "name" in given and kind not in {"button", "reset"} and not unticked:
            self._form.fields.append((given["name"], given.get("value", "on" if kind == "checkbox" else "")))

    def _start_button(self, given: dict[str, str]) -> None:
        if self._form is not None and given.get("type", "submit") == "submit":
            own = [(given["name"], given.get("value", ""))] if given.get("name") else []
            self._submits.append((given.get("data-action", ""), own))

    def _start_select(self, given: dict[str, str]) -> None:
        self._select = given.get("name")

    def _start_option(self, given: dict[str, str]) -> None:
        if self._form is not None and self._select and "selected" in given:
            self._form.fields.append((self._select, given.get("value", "")))

    def _start_textarea(self, given: dict[str, str]) -> None:
        self._textarea = [given.get("name", "")]

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            self._textarea.append(data)
        elif self._in_title:
            self.page.title += data
        elif not self._silent and data.strip():
            self.page.text += " ".join(data.split()) + "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._silent -= 1
        elif tag == "title":
            self._in_title = False
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._textarea is not None:
            name, *text = self._textarea
            self._textarea = None
            if self._form is not None and name:
                self._form.fields.append((name, "".join(text).removeprefix("\n")))
        elif tag == "form" and self._form is not None:
            self._keep(self._form)
            self._form = None

    def _keep(self, form: Form) -> None:
        named = [(label, own) for label, own in self._submits if label]
        if self._label and self._label not in self.page.forms:
            own = self._submits[0][1] if self._submits else []
            self.page.forms[self._label] = Form(form.action, form.method, form.fields + own)
        for label, own in named:
            self.page.forms.setdefault(label, Form(form.action, form.method, form.fields + own))


def read(html: str) -> Page:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page
