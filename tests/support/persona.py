"""The actions of a scripted person, with or without a browser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

MOST_PAGES = 15


class Persona(ABC):
    """Opens links and presses the buttons they are willing to press."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where they are."""

    @property
    @abstractmethod
    def page_name(self) -> str:
        """The body's data-page; "" on a page that has none."""

    @property
    @abstractmethod
    def page_status(self) -> str:
        """The body's data-status."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What can be read on the page."""

    @abstractmethod
    def actions(self) -> list[str]:
        """The data-actions of the page's forms."""

    @abstractmethod
    def open(self, url: str) -> object:
        """Goes to ``url`` and follows where it leads."""

    @abstractmethod
    def press(self, action: str, **fields: str) -> object:
        """Sends the form with that data-action, ``fields`` filled in, and follows where it leads."""

    @property
    def stopped(self) -> bool:
        """Whether they were stopped on the way, see ``HttpUser.stop_at``."""
        return False

    def carry_on(self, *willing: str) -> Self:
        """Presses, page after page, the first of ``willing`` that the page offers; ends where it offers none.

        ``carry_on("signin", "alice", "continue", "allow")`` takes Alice from the link to the end.
        """
        for _ in range(MOST_PAGES):
            offered = self.actions()
            action = next((one for one in willing if one in offered), None)
            # "Try again" on a page that says why it does not go on is for later.
            if action is None or self.stopped or (action == "continue" and self.page_name == "refused"):
                return self
            self.press(action)
        raise AssertionError(f"still going round after {MOST_PAGES} pages, at {self.url}: {self.text[:500]}")

    def connect(self, link: str, who: str, *, decide: str = "allow") -> Self:
        """Opens ``link``, signs in as ``who`` wherever asked, and answers the provider's question with ``decide``."""
        self.open(link)
        return self.carry_on("signin", who, "continue", decide)
