"""Whether a question asks for a secret (T70). Such a question belongs to kind ``credentials``: no agent sees that.

This reads words, so it is a net for honest mistakes and for models that improvise; who wants to fool it will, which is
why the page says besides to whom the answers go. It looks at what can carry a secret: texts, own answers beside
options, and for numbers the secrets that are numbers. Yes or no, and choosing from a list, are never one.

Some words are secrets wherever they stand ("password", "api key"), unless the next word makes them something else
("password policy"). Others are one only as the thing that is asked for ("Your GitHub token", "PIN for the card"), at
the end or before a preposition: "token budget", "max tokens" and "pin to top" pass. A help text is searched for the
first sort alone, for it explains much. What is refused wrongly ("Do not write your password here", the "PIN code" that
is a postal code) is a 422 that the agent's author sees before any user does: say it in other words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from elicit_flows.kinds.form.fields import NUMERIC, Field, Sort
from elicit_flows.kinds.form.secret_words import (
    ABOUT,
    ANYWHERE,
    AS_ITSELF,
    NOT_AFTER,
    NUMBERS,
    PREPOSITIONS,
    UNSPACED,
)  # fmt: skip
from elicit_flows.lib import text

ADVICE = (
    "This asks for a secret, which a form would show to you. Use kind credentials: the user writes it on our page, and "
    "you get a connection. If it is none, say it in other words."
)

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PART = re.compile(r"[.,;:!?()\[\]{}/|\n–—]+|\s-\s")
_BARRED = str.maketrans("łøđħ", "lodh")  # letters that have no accent to take off
_WORD = re.compile(r"[^\W_]+")

Words = tuple[str, ...]


def asks(field: Field) -> bool:
    """Whether what ``field`` says asks for a secret that its sort of answer could carry."""
    if field.sort == Sort.BOOLEAN or (field.sort in (Sort.SINGLE, Sort.MANY) and not field.freeform):
        return False
    numbers = field.sort in NUMERIC
    return any(_named(said, numbers=numbers) for said in (field.key, field.label)) or (
        not numbers and speaks(field.help)
    )


def speaks(said: str) -> bool:
    """Whether a longer text speaks of a secret that is one wherever it stands."""
    return any(_anywhere(words, ANYWHERE) for words in _parts(said)) or _unspaced(said)


def _named(said: str, *, numbers: bool) -> bool:
    if numbers:
        return any(_anywhere(words, NUMBERS) or _as_itself(words, NUMBERS) for words in _parts(said))
    return speaks(said) or any(_as_itself(words, AS_ITSELF) for words in _parts(said))


def _anywhere(words: Words, secrets: frozenset[Words]) -> bool:
    return any(_next(words, end) not in ABOUT for _, end in _found(words, secrets - AS_ITSELF))


def _as_itself(words: Words, secrets: frozenset[Words]) -> bool:
    return any(
        (end == len(words) or words[end] in PREPOSITIONS) and (start == 0 or words[start - 1] not in NOT_AFTER)
        for start, end in _found(words, secrets & AS_ITSELF)
    )


def _found(words: Words, secrets: frozenset[Words]) -> Iterator[tuple[int, int]]:
    for start in range(len(words)):
        for length in (1, 2, 3):
            if words[start : start + length] in secrets and start + length <= len(words):
                yield start, start + length


def _next(words: Words, end: int) -> str:
    return words[end] if end < len(words) else ""


def _unspaced(said: str) -> bool:
    """For scripts that put no blanks between words."""
    folded = unicodedata.normalize("NFKC", text.visible(said)).casefold()
    return any(word in folded for word in UNSPACED)


def _parts(said: str) -> Iterator[Words]:
    """The words of each part of a text, folded: no case, no accents, ``apiKey`` and ``api_key`` are two words."""
    for part in _PART.split(text.visible(said)):
        folded = unicodedata.normalize("NFKD", _CAMEL.sub(" ", part)).casefold()
        plain = "".join(char for char in folded if not unicodedata.combining(char)).translate(_BARRED)
        yield tuple(_WORD.findall(plain))
