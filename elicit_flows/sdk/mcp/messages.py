"""The answer of a tool that was not run: words for the model, and a mark for programs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elicit_flows.domain.values import Json
from elicit_flows.sdk import words
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.words import Verdict

log = logging.getLogger(__name__)
MARK = "elicit-flows/outcome"  # the member of a result's ``_meta``
CODE = re.compile("[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class Words:
    """``text`` begins with the verdict, unless the author supplies the text. ``mark``: the outcome, and the
    elicitation's id, link or reason, if there is one. ``error``: whether the result must be an error for tools of every
    type.
    """

    text: str
    mark: Json
    error: bool = False

    @property
    def meta(self) -> Json:
        return {MARK: self.mark}

    @classmethod
    def of(cls, verdict: Verdict, text: str, elicitation: Elicitation | None = None, **more: object) -> Words:
        """``more``: further members of the mark."""
        about = {"elicitation": elicitation.id} if elicitation else {}
        error = verdict in {"refused", "unavailable", "failed"}
        return cls(f"{verdict}: {text}", {"outcome": verdict, **about, **more}, error)


class NotRun(Exception):
    """Ends a call with ``words``, from anywhere within it."""

    def __init__(self, words: Words) -> None:
        super().__init__(words.text)
        self.words = words


def waiting(questions: Sequence[Elicitation]) -> Words:
    """The words while the user has not answered."""
    if len(questions) > 1:
        urls = [one.url for one in questions]
        return Words.of("waiting", words.waiting_for(urls), urls=urls)
    return Words.of("waiting", words.waiting(questions[0]), questions[0], url=questions[0].url)


def waiting_for(message: str, urls: Iterable[str]) -> Words:
    """The words for a refusal whose links a library would lose."""
    links = [str(url) for url in urls]
    text, mark = f"waiting: {message} {', '.join(links)}", {"outcome": "waiting", "urls": links}
    return Words(text, mark, error=True)


def used(elicitation: Elicitation) -> Words:
    """The words for the second of two calls with one answer."""
    return Words.of("cancelled", words.USED, elicitation, reason="already_used")


def ended(settings: Settings, outcome: Outcome) -> Words:
    """The words for any kind of no, or the author's own text."""
    no = words.no(outcome)
    about = {} if no.reason is None else {"reason": no.reason}
    said = Words.of(no.verdict, no.text, outcome.elicitation, **about)
    return Words(settings.say(outcome), said.mark) if settings.say else said


def refused(text: str, reason: str) -> Words:
    return Words.of("refused", text, reason=reason)


def unavailable(error: ElicitError, tool: str, *, begun: bool) -> Words:
    """The words when the service refuses or cannot be reached. Its own message may contain addresses, so only the log
    has it.
    """
    log.error("%s: the service refused: %s %s", tool, error, error.errors, exc_info=error)
    code = error.code if CODE.fullmatch(error.code) else "error"
    if begun:
        text = f"The tool was begun and could not go on, because the service refused ({code}). It may be half done."
        return Words.of("failed", text, reason=code)
    return Words.of("unavailable", f"The user cannot be asked at the moment ({code}). Nothing was done.", reason=code)
