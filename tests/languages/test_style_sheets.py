"""The style sheet of each language: it has what translators need, and the sentences that were read are still those."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.messages import catalogues, extract

SHEETS = extract.ROOT / "docs" / "contributing" / "languages"
# A tag, or a word joiner, which keeps a line from being broken.
NOT_READ = re.compile("<[^>]+>|\u2060")
# What the typography of a sheet rules out, as far as a program can see it.
RULED_OUT = {
    "ar": "[\u0621-\u064a][,;?]",
    "fr": r" [?!;:»]|« |\w[?!;»]",
    "ja": "[\u3040-\u9fff][,.;?!]|：| [、。？（）「」]|[、。？（）「」] ",
    "ko": "[\uac00-\ud7a3] [.,?!:]|[。？]",
    "zh_Hans": "[\u4e00-\u9fff] ?[,.;:?!]|[「」]|[，。；：？！“] ",
}
every_language = pytest.mark.parametrize("language", ["en", *catalogues.LANGUAGES])


def shown(forms: Iterable[str]) -> str:
    """As in a table of a sheet. Forms that are alike are there once."""
    return " / ".join(dict.fromkeys(NOT_READ.sub("", form) for form in forms))


def part(language: str, heading: str) -> str:
    [found] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", sheet(language), re.DOTALL | re.MULTILINE)
    return found


def sheet(language: str) -> str:
    return (SHEETS / f"{language}.md").read_text(encoding="utf-8")


def rows(table: str) -> list[tuple[str, ...]]:
    lines = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if "|" in line]
    return lines[2:]


def sentences(language: str) -> set[tuple[str, ...]]:
    """Each with its translation, as the catalogue has it."""
    found = catalogues.read(catalogues.path_of(catalogues.PAGES, "de" if language == "en" else language))
    said = {(shown([text]), shown(forms)) for (_, text), forms in found.items()}
    return {(text,) for text, _ in said} if language == "en" else said


def test_there_is_a_sheet_for_each_language_and_no_other() -> None:
    assert {Path(one).stem for one in SHEETS.iterdir()} == {"en", *catalogues.LANGUAGES}


@every_language
def test_a_sheet_has_tone_typography_plurals_a_glossary_and_a_checklist(language: str) -> None:
    text = sheet(language)
    assert re.search(r"^## (Form of address|Address).*tone$", text, re.MULTILINE)
    for heading in ("Typography", "Plural forms"):
        assert part(language, heading).strip()
    assert len(rows(part(language, "Glossary"))) >= 12
    assert len(re.findall(r"^\d\. ", part(language, "Checklist"), re.MULTILINE)) >= 7


@every_language
def test_forty_sentences_were_read_and_none_has_changed_since(language: str) -> None:
    read = rows(part(language, "Forty sentences"))
    assert len(set(read)) >= 40
    assert set(read) - sentences(language) == set(), "read what it is now against the checklist, and write it there"


@pytest.mark.parametrize(
    ("folder", "language"), [(catalogues.ADMIN, "fr"), *((catalogues.PAGES, one) for one in RULED_OUT)]
)
def test_signs_and_the_spaces_beside_them_are_those_of_the_sheet(folder: Path, language: str) -> None:
    said = [text for forms in catalogues.read(catalogues.path_of(folder, language)).values() for text in forms]
    assert [text for text in said if re.search(RULED_OUT[language], NOT_READ.sub("", text))] == []
