"""People are told by e-mail: what it says, to whom, in which language, and what it does not say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from elicit_flows.lib import mail_server
from elicit_flows.models import Agent, Brand, Elicitation, Notification
from tests.doubles.certificate import by_an_authority
from tests.doubles.raw import listening
from tests.notifications.telling import MESSAGE, outcomes, signs_in
from tests.support import jobs
from tests.support.mail import MailServer, part
from tests.support.rows import Known

Ask = Callable[..., Elicitation]


def test_who_is_asked_gets_one_e_mail_with_the_link(mail: MailServer, ask: Ask) -> None:
    signs_in()
    row = ask()
    jobs.notify()
    [got] = mail.received()
    assert (got["X-From"], got["X-To"]) == ("flows@example.test", "alice@example.com")
    assert got["Subject"] == "Bot has a request for you"
    assert got["From"].addresses[0].display_name == "Elicit Flows"
    assert got["Auto-Submitted"] == "auto-generated"
    for kind in ("plain", "html"):
        assert f"{django_settings.ELICIT_PUBLIC_URL}/c/{row.pk}" in part(got, kind)
        assert "You sign in first, so that nobody else can answer for you." in part(got, kind)
    assert outcomes(row) == {"email": "sent"}
    jobs.notify()
    assert len(mail.received()) == 1


def test_t160_it_says_who_asks_and_nothing_of_the_request(mail: MailServer, ask: Ask) -> None:
    signs_in()
    secret = "hunter2-of-the-request"
    ask(params={"provider": "drive", "scopes": ["files.delete"]}, metadata={"call": secret}, message=MESSAGE)
    jobs.notify()
    [raw] = mail.raw()
    [got] = mail.received()
    said = raw.decode() + part(got, "plain") + part(got, "html")
    for word in ("contract", "Globex", "files.delete", secret, "drive", "alice\\b(?!@)"):
        assert not re.search(word, said), word


def test_it_is_in_the_language_of_the_last_sign_in(mail: MailServer, ask: Ask) -> None:
    signs_in(language="de")
    ask(locale="fr")
    jobs.notify()
    [got] = mail.received()
    assert got["Content-Language"] == "de"
    assert '<html lang="de" dir="ltr">' in part(got, "html")


@pytest.mark.parametrize(("suggested", "wanted"), [("ar-EG", "ar"), ("pt-BR", "pt-BR"), ("xx", "en"), (None, "en")])
def test_it_is_in_the_suggested_language_if_they_never_signed_in_with_one(
    mail: MailServer, ask: Ask, suggested: str | None, wanted: str
) -> None:
    signs_in(language="")
    ask(locale=suggested)
    jobs.notify()
    [got] = mail.received()
    assert got["Content-Language"] == wanted
    assert f'dir="{"rtl" if wanted == "ar" else "ltr"}"' in part(got, "html")


def test_it_has_the_name_of_the_operators_brand(mail: MailServer, ask: Ask) -> None:
    Brand.objects.create(name="Müller & Söhne")
    signs_in()
    ask()
    jobs.notify()
    [got] = mail.received()
    assert got["From"].addresses[0].display_name == "Müller & Söhne"
    assert "Müller &amp; Söhne" in part(got, "html")
    assert "Müller & Söhne" in part(got, "plain")


def test_a_name_does_not_change_the_order_of_the_words_around_it(mail: MailServer, ask: Ask, known: Known) -> None:
    """As `<bdi>` does on pages. The subject and the part that is text have no such signs: some programs draw them."""
    Agent.objects.filter(pk=known.row.pk).update(name="Wow!")
    signs_in(language="ar")
    ask()
    jobs.notify()
    [got] = mail.received()
    assert part(got, "html").count("Wow!") == part(got, "html").count("\u2068Wow!\u2069") == 4
    assert "\u2068" not in got["Subject"] + part(got, "plain")


@pytest.mark.parametrize(
    "name",
    [
        "Bot\r\nBcc: eve@example.com",
        "Bot\nX-Evil: 1\n\nSend me your password",
        "Bot\u2028Bcc: eve@example.com",
        "<script>alert(1)</script><a href='https://evil.example'>here</a>",
        "\u202egnp.toB",
        "Ünïcödé " * 20,
    ],
)
def test_t162_an_agents_name_adds_no_header_no_recipient_and_no_html(
    mail: MailServer, ask: Ask, known: Known, name: str
) -> None:
    Agent.objects.filter(pk=known.row.pk).update(name=name)
    signs_in()
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": "sent"}
    [got] = mail.received()
    assert got["X-To"] == "alice@example.com"
    assert got["Bcc"] is None
    assert got["X-Evil"] is None
    assert "\n" not in got["Subject"]
    page = part(got, "html")
    assert "<script" not in page
    assert page.count("<a ") == 2
    assert "\u202e" not in page + part(got, "plain") + got["Subject"]


def test_it_offers_to_unsubscribe_with_one_click(mail: MailServer, ask: Ask) -> None:
    signs_in()
    ask()
    jobs.notify()
    [got] = mail.received()
    assert got["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = re.fullmatch(r"<(\S+/unsubscribe/[\w.-]+)>", got["List-Unsubscribe"].strip())
    assert link, repr(got["List-Unsubscribe"])
    assert link[1] in part(got, "plain")
    assert "alice" not in link[1]
    longest = max(len(line) for line in mail.raw()[0].splitlines())
    assert longest <= 998  # RFC 5322, section 2.1.1


def test_a_refused_recipient_is_not_tried_again(mail: MailServer, ask: Ask) -> None:
    signs_in("refused@example.com")
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": "refused"}
    assert mail.received() == []


def test_a_recipient_that_is_put_off_is_tried_again_later(mail: MailServer, ask: Ask) -> None:
    signs_in("later@example.com")
    row = ask()
    jobs.notify()
    told = Notification.objects.get(elicitation=row)
    assert (told.outcome, told.tries, told.began_at) == ("", 1, None)
    assert told.next_at
    assert 0 < (told.next_at - told.created_at).total_seconds() <= 20


def test_a_connection_that_breaks_off_over_the_message_is_not_tried_again(mail: MailServer, ask: Ask) -> None:
    signs_in("cut@example.com")
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": "unknown"}
    assert len(mail.received()) == 1


def test_t160_nothing_is_sent_to_a_server_that_should_have_tls_and_has_none(
    mail: MailServer, ask: Ask, settings: Settings
) -> None:
    settings.ELICIT_SMTP = mail_server.MailServer("smtp", "127.0.0.1", mail.port)
    signs_in()
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": ""}
    assert mail.received() == []


@pytest.mark.parametrize("trusted", [True, False])
def test_t160_starttls_comes_first_and_the_certificate_has_to_be_trusted(
    ask: Ask, settings: Settings, tmp_path: Path, trusted: bool
) -> None:
    authority = by_an_authority(tmp_path, "localhost")
    files = f"certificate={tmp_path / 'server.pem'}", f"key={tmp_path / 'server.key'}"
    server = MailServer(tmp_path, *files).start()
    settings.ELICIT_SMTP = mail_server.MailServer("smtp", "localhost", server.port)
    settings.ELICIT_EMAIL_FROM = "flows@example.test"
    settings.ELICIT_CA_FILE = str(authority) if trusted else None
    signs_in()
    row = ask()
    try:
        jobs.notify()
        assert [one["X-Tls"] for one in server.received()] == (["True"] if trusted else [])
        assert outcomes(row) == {"email": "sent" if trusted else ""}
    finally:
        server.process.stop()


def test_a_server_that_is_not_there_is_tried_again(mail: MailServer, ask: Ask, settings: Settings) -> None:
    with listening(lambda listener, connection: None) as gone:
        port = gone.port
    settings.ELICIT_SMTP = mail_server.MailServer("smtp+plain", "127.0.0.1", port)
    signs_in()
    row = ask()
    jobs.notify()
    told = Notification.objects.get(elicitation=row)
    assert (told.outcome, told.tries) == ("", 1)
