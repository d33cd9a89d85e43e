"""Finds the texts: in Python, in the templates, and in the providers' entries."""

from __future__ import annotations

import ast
import gettext
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import django
from babel.messages.pofile import read_po
from django.conf import settings
from django.template import Context, Node, NodeList, TemplateSyntaxError
from django.template.base import Template, Token
from django.template.engine import Engine
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import trim_whitespace

from elicit_flows import catalogue

ROOT = Path(__file__).resolve().parents[2]
# By the name of what is called: the places of its context, its text and its plural; a context may be fixed.
CALLS: dict[str, tuple[int | str | None, int, int | None]] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop", "sentence"), (None, 0, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy", "sentences"), (None, 0, 1)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (0, 1, None)),
    "scope_words": ("scope", 0, None),
    "field_text": ("field", 0, None),
}
# Errors whose sentence a page shows, and other makers of what it shows: the places of their sentences.
ERRORS = {
    **dict.fromkeys(("BadRequest", "BadCallback", "Forbidden", "NotFound", "Conflict", "StartAgain", "TooMany"), (0,)),
    **dict.fromkeys(
        ("ProviderUnavailable", "ProviderBroken", "Unavailable", "Transient", "InvalidGrant", "AccountMismatch"), (0,)
    ),
    **dict.fromkeys(("SignInRefused", "Again", "failed"), (1,)),
    "refused": (2, 3),
}
REFUSALS = {"Refused": (0,)}  # of addresses that operators write
TITLES = "elicit_flows/domain/errors.py"
# Errors that only agents get.
FOR_AGENTS = frozenset(
    {
        "BadCursor", "UserTokenRefused", "UnsupportedGrant", "InvalidScope", "Unauthenticated", "UserTokenRequired",
        "NotOver", "AlreadyConsumed", "InFlight", "IdempotencyMismatch", "DraftChanged", "DraftNotShared",
        "NotSubmitted", "UnsupportedMedia", "BadPath", "NoApi", "TokensNeverLeave",
        "OverLimit", "ReauthorizationRequired", "ConnectionRevoked",
    }
)  # fmt: skip
PACKAGE = "elicit_flows"
PEOPLE = ("web", "elicitations", "kinds", "identity", "people", "templatetags", "lib", "domain", "oauth")
OPERATORS = (
    "admin", "config_file", "http", "jobs", "models", "apps.py", "job_table.py",
    "kinds/credentials/verification_rules.py",
)  # fmt: skip
# What is said to agents or to operators, in packages that speak to people as well.
NOT_FOR_PEOPLE = (
    "elicitations/connection_import.py", "elicitations/creation.py", "elicitations/multi_step.py",
    "elicitations/notes.py", "elicitations/receipts.py", "identity/user_token.py",
    "kinds/credentials/verification_rules.py", "kinds/form/drafts.py",
)  # fmt: skip
ENGLISH = ("api/", "admin/")  # templates: those for developers, and those of the other catalogue


class Glued(Exception):
    """A text is put together from parts."""


@dataclass
class Message:
    context: str | None
    text: str
    plural: str | None
    places: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)


Found = dict[tuple[str | None, str], Message]


@cache
def pages() -> Found:
    """What people read."""
    found: Found = {}
    for part in PEOPLE:
        for path in sorted((ROOT / PACKAGE / part).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.endswith(NOT_FOR_PEOPLE):
                _python(path, name, found, errors=ERRORS)
    _titles(found)
    for name in templates():
        if not name.startswith(ENGLISH):
            _template(name, found)
    _entries(found)
    return found


@cache
def operators() -> Found:
    """What only operators read, in /admin; without what the pages have too."""
    found: Found = {}
    for part in OPERATORS:
        whole = ROOT / PACKAGE / part
        for path in [whole] if whole.is_file() else sorted(whole.rglob("*.py")):
            _python(path, path.relative_to(ROOT).as_posix(), found, errors=REFUSALS)
    for name in templates():
        if name.startswith("admin/"):
            _template(name, found)
    _django(found)
    known = pages()
    return {key: message for key, message in found.items() if key not in known}


class _Missing(gettext.NullTranslations):
    """Where a catalogue looks for what it does not have."""

    def gettext(self, message: str) -> str:
        return ""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return ""

    def pgettext(self, context: str, message: str) -> str:
        return ""


def _django(found: Found) -> None:
    """What Django's own pages of the admin say, and Django has not translated into each language of the admin."""
    for part in ("conf", "contrib/admin", "contrib/auth", "contrib/contenttypes"):
        folder = Path(django.__file__).parent / part / "locale"
        translated = []
        for language in sorted(settings.ELICIT_ADMIN_LANGUAGES - {"en"}):
            with (folder / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
                translated.append(gettext.GNUTranslations(file))
            translated[-1].add_fallback(_Missing())
        for message in read_po(io.BytesIO((folder / "en" / "LC_MESSAGES" / "django.po").read_bytes())):
            context, (text, plural) = message.context, (message.id, None) if isinstance(message.id, str) else message.id
            for one in translated:
                if plural:
                    said = one.ngettext(text, plural, 1)
                else:
                    said = one.pgettext(context, text) if context else one.gettext(text)
                if not said:
                    _add(found, f"django/{part}", context, text, plural, ())


def templates() -> list[str]:
    return sorted(
        path.relative_to(ROOT / "templates").as_posix()
        for suffix in ("html", "txt")
        for path in (ROOT / "templates").rglob(f"*.{suffix}")
    )


def _add(found: Found, place: str, context: str | None, text: str, plural: str | None, notes: Iterable[str]) -> None:
    if not text.strip():
        return
    message = found.setdefault((context, text), Message(context, text, plural))
    if message.plural != plural:  # languages with one form would say the number where there is none
        raise ValueError(f"{place}: {text!r} has another plural than in {', '.join(sorted(message.places))}")
    message.places.add(place)
    message.notes.update(notes)


def _python(path: Path, name: str, found: Found, *, errors: Mapping[str, tuple[int, ...]]) -> None:
    """``errors``: exceptions whose texts are shown, with the places of these texts."""
    source = path.read_text()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        notes = _notes(lines, node.lineno)
        if called in CALLS:
            context, text, plural = CALLS[called]
            said = _constant(node, text)
            if said is None:
                continue
            meant = _constant(node, context) if isinstance(context, int) else context
            _add(found, name, meant, said, None if plural is None else _constant(node, plural), notes)
        elif called in errors:
            for at in errors[called]:
                if said := _constant(node, at, strict=False):
                    _add(found, name, None, said, None, notes)


def _constant(call: ast.Call, place: int, *, strict: bool = True) -> str | None:
    """The text at that place of the call; None for a variable. One that is put together is refused: nobody can
    translate its halves.
    """
    if place >= len(call.args):
        return None
    given = call.args[place]
    if isinstance(given, ast.JoinedStr | ast.BinOp) and strict:
        raise Glued(f"line {given.lineno}: {ast.unparse(given)} is put together; use sentence() with named values")
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _notes(lines: list[str], number: int) -> list[str]:
    above = lines[number - 2].strip() if number > 1 else ""
    return [above.removeprefix("# ")] if above.startswith("# Translators:") else []


def _titles(found: Found) -> None:
    """The titles of the errors, which are attributes of their classes."""
    for node in ast.parse((ROOT / TITLES).read_text()).body:
        if not isinstance(node, ast.ClassDef) or node.name in FOR_AGENTS:
            continue
        for line in node.body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Tuple):
                names = [ast.unparse(name) for name in line.targets[0].elts]
                values = ast.literal_eval(line.value)
                if "title" in names:
                    _add(found, TITLES, None, values[names.index("title")], None, ())


def _template(name: str, found: Found) -> None:
    engine = Engine.get_default()
    source = (ROOT / "templates" / name).read_text()
    try:
        nodes = Template(source, engine=engine, name=name).nodelist
    except TemplateSyntaxError as error:
        raise ValueError(f"templates/{name}: {error}") from error
    for node in _walk(nodes):
        if isinstance(node, TranslateNode):
            said = node.filter_expression.var
            text = said if isinstance(said, str) else getattr(said, "literal", None)
            if isinstance(text, str):
                _add(found, f"templates/{name}", _context(node), text.replace("%", "%%"), None, ())
        elif isinstance(node, BlockTranslateNode):
            text, plural = _block(node, node.singular), _block(node, node.plural) if node.plural else None
            _add(found, f"templates/{name}", _context(node), text, plural, ())


def _walk(nodes: NodeList) -> Iterator[Node]:
    for node in nodes:
        yield node
        for inner in getattr(node, "child_nodelists", ()):
            yield from _walk(getattr(node, inner, None) or NodeList())
        if hasattr(node, "conditions_nodelists"):  # {% if %}
            for _, within in node.conditions_nodelists:
                yield from _walk(within)


def _context(node: TranslateNode | BlockTranslateNode) -> str | None:
    return str(node.message_context.resolve(Context())) if node.message_context else None


def _block(node: BlockTranslateNode, tokens: list[Token]) -> str:
    text, _ = node.render_token_list(tokens)
    return trim_whitespace(text) if node.trimmed else text


def _entries(found: Found) -> None:
    """What scopes allow, and what is asked for, in the providers' entries."""
    for entry in catalogue.entries().values():
        place = f"elicit_flows/catalogue/entries/{entry.slug}.toml"
        for words in entry.scopes.words.values():
            _add(found, place, "scope", words, None, ())
        for asked in entry.asked:
            for text in (asked.get("label"), asked.get("help")):
                _add(found, place, "field", text or "", None, ())


_NAMED = re.compile(r"%(?:\((\w+)\))?[sdr]")


def placeholders(text: str) -> list[str]:
    """The names that a translation has to keep; "" for one without a name."""
    return sorted(_NAMED.findall(text))
