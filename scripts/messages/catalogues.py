"""Reads and writes catalogues: .po for translators, .mo for gettext."""

from __future__ import annotations

import io
import struct
import textwrap
from collections.abc import Mapping
from pathlib import Path

from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from scripts.messages.extract import ROOT, Found, Message, operators, pages, placeholders

# Folder names, as gettext and Django spell them.
LANGUAGES = ("de", "fr", "es", "pt_BR", "it", "nl", "pl", "ja", "ko", "zh_Hans", "ar")
FOR_OPERATORS = ("de", "fr", "es")
PAGES, ADMIN = ROOT / "locale", ROOT / "elicit_flows" / "admin" / "locale"
Key = tuple[str | None, str]
Translations = Mapping[Key, tuple[str, ...]]


def path_of(folder: Path, language: str) -> Path:
    return folder / language / "LC_MESSAGES" / "django.po"


def out_of_step() -> dict[Path, bytes]:
    """The files that are not as the sources and the translations make them, and what they should be."""
    changed = {}
    for folder, languages, found in ((PAGES, LANGUAGES, pages()), (ADMIN, FOR_OPERATORS, operators())):
        for language in languages:
            path = path_of(folder, language)
            translated = read(path) if path.exists() else {}
            compiled = mo(language, found, translated)
            for file, content in (
                (path, po(language, found, translated).encode()),
                (path.with_suffix(".mo"), compiled),
            ):
                if not file.exists() or file.read_bytes() != content:
                    changed[file] = content
    return changed


def read(path: Path) -> dict[Key, tuple[str, ...]]:
    """The translations in a .po file, without those that are empty or marked as fuzzy."""
    found: dict[Key, tuple[str, ...]] = {}
    for message in read_po(io.BytesIO(path.read_bytes())):
        if not message.id or message.fuzzy:
            continue
        text = message.id if isinstance(message.id, str) else message.id[0]
        said = (message.string,) if isinstance(message.string, str) else tuple(message.string or ())
        if any(said):
            found[message.context, text] = said
    return found


def _header(language: str) -> str:
    plural = get_plural(language)
    return (
        f"Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
        f"Content-Transfer-Encoding: 8bit\nPlural-Forms: nplurals={plural.num_plurals}; plural={plural.plural_expr};\n"
    )


def _said(language: str, message: Message, translated: Translations) -> tuple[str, ...]:
    """The translation, one text per plural form; empty texts where there is none."""
    forms = get_plural(language).num_plurals if message.plural else 1
    said = translated.get((message.context, message.text), ())
    return said if len(said) == forms else ("",) * forms


def po(language: str, found: Found, translated: Translations) -> str:
    """The .po file: sorted by text and context, without line numbers."""
    lines = ['msgid ""', 'msgstr ""', *(_quoted(line + "\n") for line in _header(language).splitlines()), ""]
    for message in sorted(found.values(), key=lambda one: (one.text, one.context or "")):
        lines += [f"#. {note}" for note in sorted(message.notes)]
        lines += [f"#: {places}" for places in textwrap.wrap(" ".join(sorted(message.places)), 110)]
        if placeholders(message.text + (message.plural or "")):
            lines.append("#, python-format")
        if message.context:
            lines.append(f"msgctxt {_quoted(message.context)}")
        lines.append(f"msgid {_quoted(message.text)}")
        said = _said(language, message, translated)
        if message.plural:
            lines.append(f"msgid_plural {_quoted(message.plural)}")
            lines += [f"msgstr[{form}] {_quoted(text)}" for form, text in enumerate(said)]
        else:
            lines.append(f"msgstr {_quoted(said[0])}")
        lines.append("")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def mo(language: str, found: Found, translated: Translations) -> bytes:
    """The .mo file (GNU gettext manual, "The Format of GNU MO Files"), without what is not translated."""
    entries = {b"": _header(language).encode()}
    for message in found.values():
        said = _said(language, message, translated)
        if all(said):
            key = f"{message.context}\x04{message.text}" if message.context else message.text
            whole = f"{key}\0{message.plural}" if message.plural else key
            entries[whole.encode()] = "\0".join(said).encode()
    ordered = sorted(entries.items())
    texts = 28 + 16 * len(ordered)
    tables: list[bytes] = []
    data = b""
    for column in (0, 1):
        for pair in ordered:
            tables.append(struct.pack("<2I", len(pair[column]), texts + len(data)))
            data += pair[column] + b"\0"
    header = struct.pack("<7I", 0x950412DE, 0, len(ordered), 28, 28 + 8 * len(ordered), 0, 0)
    return header + b"".join(tables) + data
