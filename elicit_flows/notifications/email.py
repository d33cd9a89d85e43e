"""E-mail, by the operator's mail server (``ELICIT_SMTP_URL``) and no other."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from email.headerregistry import Address
from functools import cached_property
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.smtp import EmailBackend

from elicit_flows.lib.mail_server import MailServer
from elicit_flows.models import NotificationSettings
from elicit_flows.notifications.messages import Message, NoAddress, NotSent, Refused, Unknown
from elicit_flows.people.contacts import Addresses

SECONDS = 10.0  # for each step of the protocol


class Connection(EmailBackend):
    """A connection that trusts the operator's authorities, too."""

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if settings.ELICIT_CA_FILE:
            context.load_verify_locations(settings.ELICIT_CA_FILE)
        return context


def send(message: Message, to: Addresses, offered: NotificationSettings) -> None:
    """Raises NoAddress, NotSent, Refused and Unknown."""
    if not to.email:
        raise NoAddress
    server: MailServer | None = settings.ELICIT_SMTP
    if server is None:
        raise NotSent("ELICIT_SMTP_URL is not set")
    connection = Connection(
        host=server.host, port=server.port, username=server.user, password=server.password,
        use_tls=server.scheme == "smtp", use_ssl=server.scheme == "smtps", timeout=SECONDS,
    )  # fmt: skip
    try:
        _open(connection)
        connection.send_messages([mail(message, to.email)])
    except smtplib.SMTPResponseException as error:  # the server's no, to the sender or to the text
        raise (Refused if error.smtp_code >= 500 else NotSent)(_why(error)) from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise (Refused if min(codes) >= 500 else NotSent)(f"the recipient was refused with {codes[0]}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise Unknown(_why(error)) from None
    finally:
        with suppress(OSError, smtplib.SMTPException):  # it was sent, or it was not, and that is known
            connection.close()


def _open(connection: Connection) -> None:
    """Connect and sign in, before which nothing can have been sent."""
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(_why(error)) from None


def mail(message: Message, address: str) -> EmailMultiAlternatives:
    """The e-mail, with one-click unsubscription (RFC 8058). RFC 3834: nobody's absence note should answer it."""
    user, _, domain = settings.ELICIT_EMAIL_FROM.rpartition("@")
    found = EmailMultiAlternatives(
        subject=message.subject,
        body=message.text,
        from_email=str(Address(message.brand, user, domain)),
        to=[address],
        headers={
            "Message-ID": f"<{message.name}@{urlsplit(settings.ELICIT_PUBLIC_URL).hostname}>",
            "Content-Language": message.language,
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{message.unsubscribe_url}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
    found.attach_alternative(message.html, "text/html")
    return found


def _why(error: Exception) -> str:
    """The kind of error and the server's code, and not its words: they may repeat the address."""
    code = getattr(error, "smtp_code", "") or getattr(error, "errno", "") or ""
    return f"{type(error).__name__} {code}".strip()
