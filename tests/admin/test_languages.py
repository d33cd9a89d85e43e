"""The admin in the operator's language: no English is left on any of its pages, and each page has the switch."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import django
import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from elicit_flows import catalogue
from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.admin.connections import EXPORT_COLUMNS
from elicit_flows.brands.theme import FONTS
from elicit_flows.config_file.schema import DPOPS, GRANTS, PARS, REGISTRATIONS, TABLES, TOKEN_AUTHS
from elicit_flows.config_file.values import DEAD_GRANT_EXAMPLE
from elicit_flows.kinds.payment.providers import PROVIDERS
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import counters, health
from elicit_flows.models import (
    Agent,
    Attempt,
    Cancellation,
    Connection,
    Delivery,
    Elicitation,
    IdentityProvider,
    Member,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    SpendLimit,
)
from elicit_flows.vault import two_factor
from scripts.messages import catalogues, extract
from tests.admin.rows import NO_LIMITS, Rows
from tests.admin.test_accessibility import is_new
from tests.admin.test_front import trouble
from tests.admin.test_gate import enrolled
from tests.admin.test_secrets import crawl
from tests.languages import pseudo
from tests.languages.test_choice import Switch

pytestmark = pytest.mark.slow

# The same in every language.
NAMES = {
    "Elicit Flows", "UTC", "URL", "JSON", "JWKS", "OAuth", "PKCE", "DPoP", "ID", "LDAP", "Control", "Command", "Mac",
    "rem",
}  # fmt: skip
# What Django itself says in English in every language.
DJANGO = {"Group-permission relationship", "Group_permissions object", "md5"}
CODES = {
    *Connection.Status, *Provider.Sort, *IdentityProvider.Sort, *PROVIDERS, *TOKEN_AUTHS, *GRANTS, *PARS,
    *REGISTRATIONS, *DPOPS, *FONTS, *EXPORT_COLUMNS, *(key for keys in TABLES.values() for key in keys),
    *(one.name for one in NETWORKS.values()), "ok", "failing", "expired", "created", "fail", "EUR",
}  # fmt: skip
SPOKEN = ("aria-label", "placeholder", "title", "alt")
UNSPOKEN = {"script", "style", "code", "textarea"}
# Addresses, the sub that a new person gets, runbooks, and the start of a password's hash.
NO_TEXT = re.compile(r"\bhttps?://\S+|\bus_[\w-]{32}|\bElicit\w+|\w+\*{8,}")
VOID = {"meta", "link", "input", "br", "hr", "img", "path", "use", "rect", "circle", "col"}


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    """The charts would name kinds and errors that earlier tests of this process counted."""
    counters.drain()
    health.drain()


class Spoken(HTMLParser):
    """What a page says. Left out is the switch of the language, in which each language has its own name."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.said += [given[name] for name in SPOKEN if given.get(name)]
        if given.get("type") == "submit":
            self.said.append(given.get("value", ""))
        if tag not in VOID:
            self.open.append("switch" if given.get("id") == "language" else tag)

    def handle_endtag(self, tag: str) -> None:
        opened = "switch" if tag == "select" and "switch" in self.open else tag
        while opened in self.open and self.open.pop() != opened:
            pass

    def handle_data(self, data: str) -> None:
        said = NO_TEXT.sub("", data).strip()
        if said and not {*UNSPOKEN, "switch"} & set(self.open):
            self.said.append(said)


def stored() -> set[str]:
    """Every text in the database: names, codes, and the audit log, which is in English whoever reads it."""
    found: set[str] = set()
    for model in apps.get_models():
        for values in model._default_manager.values():
            found |= {text for value in values.values() for text in pseudo.data_of(value)}
    return found


def texts_of(page: str) -> set[str]:
    """A title without the service's name, a label without its colon, a step of a path without its sign."""
    return {part.strip(" \n:›") for text in Spoken(page).said for part in re.split(r" [·|] ", text)}


def translations(language: str) -> set[str]:
    """All that Django's catalogues and ours say."""
    found: set[str] = set()
    for part in ("conf", "contrib/admin", "contrib/auth", "contrib/contenttypes"):
        path = Path(django.__file__).parent / part / "locale" / language / "LC_MESSAGES" / "django.mo"
        with path.open("rb") as file:
            found |= set(gettext.GNUTranslations(file)._catalog.values())  # type: ignore[attr-defined]
    for folder in (catalogues.PAGES, catalogues.ADMIN):
        for said in catalogues.read(catalogues.path_of(folder, language)).values():
            found |= set(said)
    return {text.casefold() for text in found}


@pytest.fixture(scope="module")
def pseudo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locale")
    pseudo.write(folder, extract.pages() | extract.operators())
    return folder


@pytest.fixture
def foreign(admin: Client, pseudo_folder: Path, settings: Settings) -> Iterator[Client]:
    """Olga's browser, in the language that does not exist; Django's own texts are Japanese."""
    settings.ELICIT_ADMIN_LANGUAGES = {"en", pseudo.LANGUAGE}
    admin.cookies[settings.LANGUAGE_COOKIE_NAME] = pseudo.LANGUAGE
    speaking, _ = pseudo.speaking(pseudo_folder)
    with speaking:
        yield admin


def english_on(pages: dict[str, str], *data: str) -> dict[str, set[str]]:
    """The texts with English in them, by the address of the page."""
    presets = (entry.name for entry in catalogue.entries().values())
    words = {*NAMES, *DJANGO, *CODES, *data, *stored(), *presets}
    said = {address: set(Spoken(page).said) for address, page in pages.items()}
    english = {text for text in set().union(*said.values()) if pseudo.english_in(text, words)}
    return {address: texts & english for address, texts in said.items() if texts & english}


def test_no_english_is_left_on_a_page_that_a_link_leads_to(foreign: Client, rows: Rows) -> None:
    """Every list, every form to add, to change and to delete, every history, and the front page."""
    Member.objects.create(name="Mia")
    Cancellation.objects.create(payment=rows.payment)
    SpendLimit.objects.create(agent=rows.agent, currency="eur", per_day=5)
    pages = crawl(foreign, queries=False)
    for name in ("agent", "connection", "payment", "refund", "delivery", "event", "elicitation", "member"):
        assert f"/admin/elicit_flows/{name}/" in pages
    assert len(pages) > 60
    assert english_on(pages) == {}


@pytest.mark.limit(200)
def test_django_says_nothing_in_english_in_a_language_of_the_admin(
    admin: Client, rows: Rows, settings: Settings
) -> None:
    """The language that does not exist has Django's Japanese, which lacks other texts than these do."""
    seen: set[str] = set()
    addresses = [address for address in crawl(admin, queries=False) if is_new(address, seen)]
    assert len(addresses) > 50
    said: dict[str, dict[str, set[str]]] = {}
    for language in ("en", *catalogues.FOR_OPERATORS):
        admin.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        said[language] = {address: texts_of(admin.get(address).text) for address in addresses}
    words = {*NAMES, *DJANGO, *CODES, *stored(), *(entry.name for entry in catalogue.entries().values())}
    for language in catalogues.FOR_OPERATORS:
        # Words like "Status" are the same there, so they are in a catalogue.
        known = translations(language)
        same = set().union(*said["en"].values()) & set().union(*said[language].values())
        english = {text for text in same if text.casefold() not in known and pseudo.english_in(text, words)}
        left = {address: texts & english for address, texts in said[language].items() if texts & english}
        assert left == {}, language


def test_no_english_is_left_in_an_alert(foreign: Client, rows: Rows) -> None:
    pages = {}
    for said, happens in trouble(rows).items():
        happens()
        pages[said] = foreign.get("/admin/").text
    assert english_on(pages) == {}


def test_no_english_is_left_on_a_page_that_a_form_leads_to(foreign: Client, rows: Rows) -> None:
    mia = Member.objects.create(name="Mia")
    agent, drive = admin_url(rows.agent), admin_url(rows.provider)
    posted = {
        "found": ("/admin/search/", {"q": "alice"}),
        "an agent": ("/admin/search/", {"q": "drive-bot"}),
        "not found": ("/admin/search/", {"q": "zzz"}),
        "a new key": (admin_url(rows.agent, "key"), {}),
        "an invitation": (admin_url(mia, "invite"), {}),
        "switched off": (admin_url(rows.provider, "switch"), {"to": "off"}),
        "to switch on": (admin_url(rows.provider, "switch"), {}),
        "revoked": (list_url(Connection), {"action": "revoke", "_selected_action": rows.connection.pk}),
        "sent again": (list_url(Delivery), {"action": "replay", "_selected_action": rows.delivery.pk}),
        "refunded": (list_url(Payment), {"action": "refund", "_selected_action": rows.payment.pk}),
        "nothing chosen": (list_url(Payment), {"action": "refund"}),
        "nothing written in an agent": (agent, NO_LIMITS),
        "nothing written in a provider": (drive, {}),
        "a wrong password": ("/admin/password_change/", {"old_password": "x"}),
    }
    wrong = {
        "slug": "a b", "name": "x" * 500, "issuer": "nowhere", "sort": "zzz", "preset": "zzz", "variables": "[]",
        "token_url": "http://127.0.0.1/", "scopes": "a b\nc d", "keys": "{}", "dead_grant": "[1]", "fields": "[",
        "resources": "#", "new_secret_key": "pk_x", "new_webhook_secret": " ", "api_base": "x", "provider": "zzz",
        "requests_per_minute": "0", "return_urls": "nowhere", "webhook_url": "nowhere", "header": "cookie",
        "audiences": "", "max_age": "-1", "jwks_url": "ftp://x", "sign_in_url": "nowhere", "verify": "[1]",
        "spend_limits-TOTAL_FORMS": "1", "spend_limits-INITIAL_FORMS": "0", "spend_limits-0-currency": "zz",
    }  # fmt: skip
    for model in (Agent, Provider, IdentityProvider, PaymentAccount, Member):
        posted[f"a wrong {model.__name__}"] = (f"{list_url(model)}add/", wrong)
    pages = {name: foreign.post(path, form, follow=True).text for name, (path, form) in posted.items()}
    data = {"alice", "drive-bot", "zzz", *wrong.values(), DEAD_GRANT_EXAMPLE, "accepted, basic, headers, refused, url"}
    assert english_on(pages, *data) == {}


def test_no_english_is_left_between_the_password_and_the_admin(foreign: Client, olga: User, settings: Settings) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = True
    row = two_factor.operator(olga)
    pages = {"to set up": foreign.get("/admin/second-factor/").text}
    pages["set up wrongly"] = foreign.post("/admin/second-factor/", {"code": "x"}).text
    secret, codes = enrolled(foreign)
    row.given_password = True
    row.save(update_fields=["given_password"])
    pages["a given password"] = foreign.get("/admin/first-password/").text
    pages["a bad password"] = foreign.post("/admin/first-password/", {"new_password1": "x", "new_password2": "y"}).text
    pages["signed out"] = foreign.post("/admin/logout/").text
    pages["to sign in"] = foreign.get("/admin/login/").text
    pages["a wrong password"] = foreign.post("/admin/login/", {"username": "nobody", "password": "x"}).text
    assert english_on(pages, secret, *codes) == {}


@pytest.mark.parametrize(
    "path", ["/admin/login/?next=/admin/", "/admin/", "/admin/elicit_flows/connection/?status__exact=active", "agent"]
)
def test_the_switch_needs_no_script_and_stays_on_the_page(olga: User, rows: Rows, path: str) -> None:
    path = admin_url(rows.agent) if path == "agent" else path
    browser = Client(enforce_csrf_checks=True)
    if "login" not in path:
        browser.force_login(olga)
    switch = Switch(browser.get(path).text)
    assert set(switch.offered) == {"en", "de", "fr", "es"}
    answer = browser.post(switch.action, {**switch.fields, "language": "fr"})
    assert (answer.status_code, answer["Location"]) == (303, path)
    assert browser.get(path, headers={"accept-language": "de"})["Content-Language"] == "fr"


def test_a_language_that_the_admin_lacks_is_kept_for_the_pages(admin: Client, settings: Settings) -> None:
    admin.cookies[settings.LANGUAGE_COOKIE_NAME] = "ja"
    assert admin.get("/admin/", headers={"accept-language": "es"})["Content-Language"] == "es"
    assert admin.get("/")["Content-Language"] == "ja"


@pytest.mark.parametrize(
    ("language", "time", "amount"),
    [
        ("en", "Nov. 22, 2026, 8:15 p.m.", "€12.50"),
        ("de", "22. November 2026 20:15", "12,50\xa0€"),
        ("fr", "22 novembre 2026 20:15", "12,50\xa0€"),
        ("es", "22 de noviembre de 2026 a las 20:15", "12,50\xa0€"),
    ],
)
def test_dates_and_amounts_are_in_the_language_and_times_are_utc(
    admin: Client, rows: Rows, settings: Settings, language: str, time: str, amount: str
) -> None:
    Payment.objects.update(created_at=datetime(2026, 11, 22, 20, 15, tzinfo=UTC))
    admin.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    admin.cookies[settings.ELICIT_TIMEZONE_COOKIE] = "Asia/Kathmandu"
    for page in (list_url(Payment), admin_url(rows.payment)):
        shown = admin.get(page).text
        assert time in shown
        assert amount in shown
    assert time in admin.post("/admin/search/", {"q": "alice"}, follow=True).text


@pytest.mark.parametrize(
    ("language", "kind", "mode"),
    [("en", "Connection", "Subscription"), ("de", "Verbindung", "Abonnement"), ("fr", "Compte associé", "Abonnement"),
     ("es", "Conexión", "Suscripción")],
)  # fmt: skip
def test_kinds_and_modes_are_named_in_words(
    admin: Client, rows: Rows, settings: Settings, language: str, kind: str, mode: str
) -> None:
    """As data they stay what the API says."""
    admin.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    Attempt.objects.filter(pk=rows.attempt.pk).update(context="oauth")
    pages = {
        f"/admin/request/{rows.elicitation.pk}": kind, f"/admin/person/{rows.elicitation.pk}": kind,
        list_url(Elicitation): kind, list_url(Payment): mode,
    }  # fmt: skip
    for path, word in pages.items():
        words = re.sub(r"<[^>]+>", " ", admin.get(path, follow=True).text)
        assert word in words, path
        assert not re.search(r"\b(oauth|subscribe)\b", words), path


def test_charges_of_mandates_are_found_by_their_mode(admin: Client, rows: Rows) -> None:
    Payment.objects.filter(pk=rows.payment.pk).update(mode="charge")
    shown = admin.get(list_url(Payment)).text
    assert "Charge of a mandate" in shown
    assert f"{rows.payment.pk}" in admin.get(list_url(Payment), {"mode__exact": "charge"}).text


def test_the_audit_log_and_the_name_of_an_export_are_in_english(admin: Client, rows: Rows, settings: Settings) -> None:
    admin.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    mia = Member.objects.create(name="Mia", enabled=True)
    admin.post(admin_url(mia), {"name": "Maria", "enabled": "on"})
    assert LogEntry.objects.get(object_id=str(mia.pk)).get_change_message() == 'Changed Name from "Mia" to "Maria".'
    chosen = {"action": "export_csv", "_selected_action": rows.delivery.pk}
    assert admin.post(list_url(Delivery), chosen)["Content-Disposition"] == 'attachment; filename="deliveries.csv"'


def test_incidents_are_in_english_since_programs_read_them(rows: Rows) -> None:
    Refund.objects.update(status="failed")
    answer = Client().get("/incidents", headers={"accept-language": "de"})
    assert "Refunds failed: 1" in [one["title"] for one in answer.json()["incidents"]]
