"""An HTML page as a scripted user sees it: its text, and its forms by their data-action."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

SENT_AS_THEY_ARE = {"text", "hidden", "password", "email", "url", "number", "date", "datetime-local"}


@dataclass
class Form:
    """``fields``: what is sent if nothing is changed. ``names``: a question's control. ``options``: [value, label] of
    each.
    """

    action: str
    method: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[list[str]]] = field(default_factory=dict)


class Page(HTMLParser):
    """The parsed page. ``text`` is what a reader sees, ``forms`` has the forms by their data-action."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.forms: dict[str, Form] = {}
        self._form = Form("", "")
        self._select = self._area = ""
        self._option: list[str] | None = None
        self._silent = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "data-question" in given:
            self._form.names[given["data-question"]] = given["data-name"]
        name = given.get("name", "")
        if tag == "form":
            self._form = Form(given.get("action", ""), given.get("method", "get").upper())
            if label := given.get("data-action"):
                self.forms.setdefault(label, self._form)
        elif tag == "button":
            self._start_button(given)
        elif tag == "input" and name:
            self._start_input(name, given)
        elif tag == "select":
            self._select = name
        elif tag == "option":
            self._offer(self._select, given.get("value", ""), chosen="selected" in given)
        elif tag == "textarea":
            self._area = name
            self._form.fields[name] = [""]
        self._silent = tag in {"script", "style", "title"}

    def _start_button(self, given: dict[str, str]) -> None:
        """A form may have several buttons with a data-action each; without one, its first button is the one that is
        pressed.
        """
        own = {given["name"]: [given.get("value", "")]} if given.get("name") else {}
        if label := given.get("data-action"):
            self.forms.setdefault(label, Form(self._form.action, self._form.method, self._form.fields | own))
        else:
            self._form.fields = own | self._form.fields

    def _start_input(self, name: str, given: dict[str, str]) -> None:
        kind = given.get("type", "text")
        if kind in {"checkbox", "radio"}:
            self._offer(name, given.get("value", "on"), chosen="checked" in given)
        elif kind in SENT_AS_THEY_ARE:
            self._form.fields[name] = [given.get("value", "")]

    def _offer(self, name: str, value: str, *, chosen: bool) -> None:
        self._option = [value, ""]
        self._form.options.setdefault(name, []).append(self._option)
        if chosen:
            self._form.fields.setdefault(name, []).append(value)

    def handle_data(self, data: str) -> None:
        if self._area:
            self._form.fields[self._area][0] += data
        elif self._option is not None and not self._option[1]:
            self._option[1] = " ".join(data.split())
        if data.strip() and not self._silent:
            self.text += " ".join(data.split()) + "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._form.fields[self._area][0] = self._form.fields[self._area][0].removeprefix("\n")
            self._area = ""
        elif tag in {"label", "option"}:
            self._option = None
        elif tag == "form":
            self._form = Form("", "")
        self._silent = False
