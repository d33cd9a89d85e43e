"""The catalogues: in step with the sources, compiled, and with the same placeholders as the English."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.translation import to_locale

from scripts.messages import catalogues, extract

TAG = re.compile(r"</?[a-z]+[^>]*>")
CATALOGUES = [
    *((catalogues.PAGES, language) for language in catalogues.LANGUAGES),
    *((catalogues.ADMIN, language) for language in catalogues.FOR_OPERATORS),
]
every_catalogue = pytest.mark.parametrize(
    ("folder", "language"), CATALOGUES, ids=[f"{folder.parent.name}-{language}" for folder, language in CATALOGUES]
)


def test_every_catalogue_is_in_step_and_compiled() -> None:
    assert not [str(path.relative_to(extract.ROOT)) for path in catalogues.out_of_step()], "run `make messages`"


def test_there_is_one_for_every_language_that_is_offered() -> None:
    assert {to_locale(code) for code, _ in settings.LANGUAGES} == {"en", *catalogues.LANGUAGES}
    assert {"en", *catalogues.FOR_OPERATORS} == settings.ELICIT_ADMIN_LANGUAGES


@every_catalogue
def test_a_translation_has_the_placeholders_and_the_markup_of_the_english(folder: Path, language: str) -> None:
    path = catalogues.path_of(folder, language)
    found = extract.pages() if folder == catalogues.PAGES else extract.operators()
    for key, said in catalogues.read(path).items():
        message = found[key]
        allowed = {*extract.placeholders(message.text), *extract.placeholders(message.plural or "")}
        needed = allowed if message.plural is None else set()
        for text in said:
            assert needed <= set(extract.placeholders(text)) <= allowed, (language, message.text, text)
            assert sorted(TAG.findall(text)) in (
                sorted(TAG.findall(message.text)),
                sorted(TAG.findall(message.plural or message.text)),
            ), (language, message.text, text)
            assert "%" not in re.sub(r"%(?:\(\w+\))?[sdr]|%%", "", text), (language, text)


def test_in_japanese_no_space_stands_beside_a_day_which_ends_in_a_character_of_its_own() -> None:
    said = [text for found in catalogues.read(catalogues.path_of(catalogues.PAGES, "ja")).values() for text in found]
    dated = [text for text in said if "%(day)s" in text]
    assert len(dated) > 5
    assert [text for text in dated if re.search(r"%\(day\)s (?!<|%|[A-Za-z0-9])", text)] == []


@every_catalogue
def test_a_button_that_a_sentence_names_is_named_as_it_is_written(folder: Path, language: str) -> None:
    said = {text: found[0] for (_, text), found in catalogues.read(catalogues.path_of(folder, language)).items()}
    named = [(name, text) for text in said for name in re.findall("“([A-Z][^”]*)”", text) if name in said]
    assert named
    assert [text for name, text in named if said[name] not in said[text]] == []


def without_a_number(folder: Path, language: str) -> Iterator[tuple[catalogues.Key, str]]:
    """The texts that do not depend on how many there are: gettext finds those that do only from Python 3.11.3 on."""
    found = extract.pages() if folder == catalogues.PAGES else extract.operators()
    for key, said in catalogues.read(catalogues.path_of(folder, language)).items():
        if found[key].plural is None:
            yield key, said[0]


@every_catalogue
def test_gettext_reads_the_compiled_file_as_the_text_file_has_it(folder: Path, language: str) -> None:
    path = catalogues.path_of(folder, language)
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for (context, text), said in without_a_number(folder, language):
        assert (compiled.pgettext(context, text) if context else compiled.gettext(text)) == said


@every_catalogue
def test_pages_and_the_admin_have_every_text_of_the_catalogue(folder: Path, language: str) -> None:
    """That Django finds the file, and that no other catalogue goes before it."""
    with translation.override(translation.to_language(language)):
        for (context, text), said in without_a_number(folder, language):
            found = translation.pgettext(context, text) if context else translation.gettext(text)
            assert found == said, (language, text)


def test_a_text_that_is_put_together_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "glued.py"
    source.write_text('sentence(f"There are {count} of them.")\n')
    with pytest.raises(extract.Glued, match="line 1"):
        extract._python(source, "glued.py", {}, errors={})


def test_a_translation_is_kept_when_the_catalogue_is_written_anew() -> None:
    found: extract.Found = {
        (None, "One"): extract.Message(None, "One", None, {"a.py"}),
        ("scope", "One"): extract.Message("scope", "One", None, {"b.py"}),
        (None, "%(count)s thing"): extract.Message(None, "%(count)s thing", "%(count)s things", {"a.py"}),
    }
    said: dict[catalogues.Key, tuple[str, ...]] = {
        (None, "One"): ("Eins",),
        (None, "%(count)s thing"): ("%(count)s Ding", "%(count)s Dinge"),
        (None, "Gone"): ("x",),
    }
    text = catalogues.po("de", found, said)
    assert 'msgid "One"\nmsgstr "Eins"' in text
    assert 'msgctxt "scope"\nmsgid "One"\nmsgstr ""' in text
    assert (
        '#, python-format\nmsgid "%(count)s thing"\nmsgid_plural "%(count)s things"\nmsgstr[0] "%(count)s Ding"' in text
    )
    assert "Gone" not in text
    assert not re.search(r"^#: \S+:\d", text, re.MULTILINE)
