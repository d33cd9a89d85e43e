"""A user without a browser: opens the link that an agent shows, signs in at the sandbox, and does what a test says."""

from __future__ import annotations

from urllib.parse import urljoin

import httpx2

from elicit_flows.sdk.testing.pages import Form, Page
from elicit_flows.values import Claim

MOST_PAGES = 15
Answer = str | bool | int | float | list[str]


class ScriptedUser:
    """``name``: alice or bob. Each has cookies of their own; each method takes a link from its opening to the end.

    All of them raise AssertionError, with what the page says, where the page does not offer what is to be pressed.
    """

    def __init__(self, sandbox_url: str, name: str) -> None:
        self.name = name
        self.claim = Claim(sandbox_url, name)
        self.http = httpx2.Client(trust_env=False, follow_redirects=True, timeout=30)
        self.url = ""
        self.page = Page("")

    def allow(self, url: str) -> None:
        """Connects the account at Acme Drive."""
        self.go(url, "continue", "allow")

    def deny(self, url: str) -> None:
        """Goes to Acme Drive and says no there."""
        self.go(url, "continue", "deny")

    def pay(self, url: str, how: str = "pay") -> None:
        """``how`` names the button of the sandbox's pay page: pay, pay_3ds, pay_bank, pay_declined or back."""
        self.go(url, "continue", how)

    def decline(self, url: str) -> None:
        """Says no on the page behind the link."""
        self.go(url, "decline")

    def submit(self, url: str, **answers: Answer) -> None:
        """Answers a form, hands over credentials, or says yes (``typed`` is the word that a dangerous one asks for).

        By the names of properties, questions or fields; choices by what stands beside them, True and False as well.
        """
        self.go(url, "submit", **answers)

    def go(self, url: str, *actions: str, **answers: Answer) -> None:
        """Opens ``url`` and presses ``actions`` one after the other, the last with ``answers``."""
        self.open(url)
        *earlier, last = actions
        for action in earlier:
            self.press(action)
        self.press(last, **answers)

    def open(self, url: str) -> None:
        """Opens ``url``, and signs in where asked; ``page`` is what then stands there."""
        self._arrive(self.http.get(url))
        self._sign_in()

    def press(self, action: str, **answers: Answer) -> None:
        """Sends the form with that data-action, as it stands but for ``answers``; signs in where it leads to that."""
        self._send(action, answers)
        self._sign_in()

    def _sign_in(self) -> None:
        for _ in range(MOST_PAGES):
            action = next((one for one in ("signin", self.name) if one in self.page.forms), None)
            if action is None:
                return
            self._send(action, {})
        raise AssertionError(f"The sign-in goes round in circles at {self.url}")

    def _send(self, action: str, answers: dict[str, Answer]) -> None:
        if action not in self.page.forms:
            offered = ", ".join(self.page.forms) or "nothing"
            raise AssertionError(f"{self.url} offers {offered}, not {action}:\n{self.page.text}")
        form = self.page.forms[action]
        fields = form.fields | dict(_control(form, name, answer) for name, answer in answers.items())
        target = urljoin(self.url, form.action)
        if form.method == "GET":
            self._arrive(self.http.get(target, params=fields))
        else:
            self._arrive(self.http.post(target, data=fields))

    def _arrive(self, answer: httpx2.Response) -> None:
        self.url, self.page = str(answer.url), Page(answer.text)

    def close(self) -> None:
        self.http.close()


def _control(form: Form, name: str, answer: Answer) -> tuple[str, list[str]]:
    """The name of the control that answers the question ``name``, and what it sends."""
    control = form.names.get(name, name)
    options = form.options.get(control)
    if not options and control not in form.fields:
        raise AssertionError(f"There is no {name!r} in the form")
    said = [_said(one) for one in (answer if isinstance(answer, list) else [answer])]
    return control, [_value(options, one) for one in said] if options else said


def _said(answer: str | float) -> str:
    if isinstance(answer, bool):
        return "Yes" if answer else "No"
    return str(answer)


def _value(options: list[list[str]], said: str) -> str:
    """Of the option that is labelled so."""
    for value, label in options:
        if label == said:
            return value
    raise AssertionError(f"There is no {said!r} among {[label for _, label in options]}")
