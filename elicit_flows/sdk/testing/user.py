"""A user without a browser, who opens the agent's link, signs in at the sandbox, and does what the test says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from urllib.parse import urljoin

import httpx2

from elicit_flows.domain.values import Claim
from elicit_flows.sdk.testing.pages import Form, Page

MOST_PAGES = 15
Answer = str | bool | int | float | list[str]


class ActingUser(ABC):
    """What a person does behind a link. Each method takes a link from the first page to the last.

    It raises AssertionError if the question does not offer the action.
    """

    def allow(self, url: str) -> None:
        """Connect the account at the provider."""
        self.go(url, "continue", "allow")

    def deny(self, url: str) -> None:
        """Go to the provider and say no there."""
        self.go(url, "continue", "deny")

    def pay(self, url: str, how: str = "pay") -> None:
        """Pay. ``how`` is a button of the sandbox's payment page: pay, pay_3ds, pay_bank, pay_declined or back."""
        self.go(url, "continue", how)

    def decline(self, url: str) -> None:
        """Say no on the page behind the link."""
        self.go(url, "decline")

    def submit(self, url: str, **answers: Answer) -> None:
        """Answer a form, give credentials, or say yes (``typed`` is the word that a dangerous confirmation asks for).

        ``answers`` are named after properties, questions or fields. Choices are given by their labels, a yes or no as a
        bool.
        """
        self.go(url, "submit", **answers)

    @abstractmethod
    def go(self, url: str, *actions: str, **answers: Answer) -> None:
        """Do ``actions`` behind ``url`` one after the other, the last one with ``answers``."""


class ScriptedUser(ActingUser):
    """A user of the sandbox, with cookies of their own. ``name``: alice or bob.

    The AssertionError for an action that a page does not offer has the page's text.
    """

    def __init__(self, sandbox_url: str, name: str) -> None:
        self.name = name
        self.claim = Claim(sandbox_url, name)
        self.http = httpx2.Client(trust_env=False, follow_redirects=True, timeout=30)
        self.url = ""
        self.page = Page("")

    def go(self, url: str, *actions: str, **answers: Answer) -> None:
        """Open ``url`` and send ``actions`` one after the other, the last one with ``answers``."""
        self.open(url)
        *earlier, last = actions
        for action in earlier:
            self.press(action)
        self.press(last, **answers)

    def open(self, url: str) -> None:
        """Open ``url``, and sign in if asked. ``page`` is then the page that is shown."""
        self._arrive(self.http.get(url))
        self._sign_in()

    def press(self, action: str, **answers: Answer) -> None:
        """Send the form with that data-action, with ``answers`` filled in, and sign in if asked."""
        self._send(action, answers)
        self._sign_in()

    def _sign_in(self) -> None:
        for _ in range(MOST_PAGES):
            action = next((one for one in ("signin", self.name) if one in self.page.forms), None)
            if action is None:
                return
            self._send(action, {})
        raise AssertionError(f"The sign-in does not end, at {self.url}")

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
        """Close the connections."""
        self.http.close()


def _control(form: Form, name: str, answer: Answer) -> tuple[str, list[str]]:
    """The name of the form control for the question ``name``, and the values it sends."""
    control = form.names.get(name, name)
    options = form.options.get(control)
    if not options and control not in form.fields:
        raise AssertionError(f"There is no {name!r} in the form")
    given = answer if isinstance(answer, list) else [answer]
    said = [("Yes" if one else "No") if isinstance(one, bool) else str(one) for one in given]
    if not options:
        return control, said
    values = {label: value for value, label in reversed(options)}  # of two options with one label, the first
    if unknown := [one for one in said if one not in values]:
        raise AssertionError(f"There is no {unknown[0]!r} among {[label for _, label in options]}")
    return control, [values[one] for one in said]
