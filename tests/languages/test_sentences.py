"""Sentences of the lower layers are English for agents, and in the page's language for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template import Context, Template

from elicit_flows.domain.errors import FlowError, Invalid, StartAgain
from elicit_flows.domain.values import Answer
from elicit_flows.kinds.form import params, submission
from elicit_flows.lib.sentences import Sentence, sentence, sentences, spoken
from elicit_flows.web import pages
from scripts.messages import extract
from tests.languages import pseudo

QUESTIONS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 3},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
        "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2},
        "must": {"type": "string"},
    },
    "required": ["must"],
}
TYPED = {"q0": ["x"], "q1": ["tomorrow"], "q2": ["1"], "q3": ["no"], "q4": ["a"], "q5": [""]}


@pytest.fixture
def pseudo_language(tmp_path: Path) -> Iterator[None]:
    pseudo.write(tmp_path, extract.pages())
    settings, language = pseudo.speaking(tmp_path)
    with settings, language:
        yield


def faults() -> dict[str, str]:
    asked = params.read({"schema": QUESTIONS})[0]
    return submission.read(params.known(asked), Answer(TYPED)).wrong


def shown(said: object) -> str:
    return Template("{% load elicit %}{{ said|visible }}").render(Context({"said": said}))


@pytest.mark.usefixtures("pseudo_language")
def test_every_fault_of_a_form_is_in_the_language_of_the_page() -> None:
    told = faults()
    assert len(told) == len(TYPED)
    for said in told.values():
        assert isinstance(said, Sentence)
        assert shown(said).startswith("[¡"), said


def test_for_an_agent_the_same_is_english() -> None:
    said = faults()["q0"]
    assert said == "Write at least 2 characters; this has 1."
    assert json.loads(json.dumps({"message": said})) == {"message": said}


@pytest.mark.usefixtures("pseudo_language")
@pytest.mark.parametrize("kind", FlowError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_the_title_of_every_error_that_a_page_may_show_is_translated(kind: type[FlowError]) -> None:
    if kind.__name__ not in extract.FOR_AGENTS:
        assert pages.said(kind.title) != kind.title


@pytest.mark.usefixtures("pseudo_language")
def test_what_no_catalogue_has_is_marked_as_english() -> None:
    assert pages.told("The provider answered server_error.") == {
        "detail": "", "technical": "The provider answered server_error.",
    }  # fmt: skip
    assert pages.told("This provider is switched off.")["technical"] == ""


def test_on_an_english_page_everything_is_said_as_it_is() -> None:
    assert pages.told("The provider answered server_error.") == {
        "detail": "The provider answered server_error.", "technical": "",
    }  # fmt: skip


def test_a_sentence_comes_back_whole_from_an_exception() -> None:
    said = sentence("Type %(word)s to confirm.", word="DELETE")
    for kept in (str(ValueError(said)), StartAgain(said).detail, Invalid.at("typed", said).by_field()["typed"]):
        assert isinstance(kept, Sentence)
        assert kept.template == "Type %(word)s to confirm."


def test_the_number_decides_the_plural_and_a_sentence_within_a_sentence_is_translated() -> None:
    german = {"One thing": "Ein Ding", "%(count)s things": "%(count)s Dinge", "See %(what)s": "Siehe %(what)s"}

    def several(one: str, many: str, number: int) -> str:
        return german[one if number == 1 else many]

    things = [sentences("One thing", "%(count)s things", number) for number in (1, 1234)]
    assert things == ["One thing", "1234 things"]
    assert [spoken(one, german.__getitem__, several) for one in things] == ["Ein Ding", "1234 Dinge"]
    assert spoken(sentence("See %(what)s", what=things[1]), german.__getitem__, several) == "Siehe 1234 Dinge"


def test_a_persons_percent_sign_stays_one() -> None:
    assert sentence("Write it like “%(example)s”.", example="100 %s") == "Write it like “100 %s”."
