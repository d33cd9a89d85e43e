"""A question in the form that the page and the check of answers use, whichever way it was given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Sort(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    SINGLE = "single"
    MANY = "many"


NUMERIC = (Sort.NUMBER, Sort.INTEGER)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a choice. ``value`` is what the agent gets: 1 to 200 visible characters."""

    value: str
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One question. ``key`` is its name in the agent's content, ``name`` its name on the page.

    ``low`` and ``high`` bound a text's length, a number, or how many options are chosen; None: no bound. ``default`` is
    a typed value or None. ``vacant`` is what the content contains if nothing was answered; None: nothing. With
    ``freeform``, a person may write an answer of their own, and the value is ``{value, freeformValues}``.
    ``skippable``: a person may say why they do not answer.
    """

    key: str
    sort: Sort
    label: str
    name: str = ""
    help: str = ""
    required: bool = False
    low: float | None = None
    high: float | None = None
    format: str = ""
    pattern: str = ""
    options: tuple[Option, ...] = ()
    default: Any = None
    vacant: Any = None
    freeform: bool = False
    skippable: bool = False

    @property
    def values(self) -> frozenset[str]:
        return frozenset(option.value for option in self.options)


@dataclass(frozen=True, slots=True)
class Questions:
    """A whole form. ``title`` and ``description`` may be empty."""

    fields: tuple[Field, ...]
    title: str = ""
    description: str = ""


def named(fields: list[Field]) -> tuple[Field, ...]:
    """The fields with names for the page by their position, so that an agent cannot choose the names of controls."""
    return tuple(replace(field, name=f"q{place}") for place, field in enumerate(fields))
