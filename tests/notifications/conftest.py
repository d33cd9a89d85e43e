from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from elicit_flows.lib import mail_server
from elicit_flows.models import Elicitation, NotificationSettings
from tests.doubles.policy import loopback_allowed
from tests.notifications import telling
from tests.support import rows
from tests.support.mail import MailServer
from tests.support.rows import Known
from tests.support.sink import Sink


@pytest.fixture(autouse=True)
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


@pytest.fixture(scope="module")
def mail_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    server = MailServer(tmp_path_factory.mktemp("mail"))
    server.start()
    yield server
    server.process.stop()


@pytest.fixture
def mail(mail_process: MailServer, settings: Settings) -> MailServer:
    """The operator's mail server, with nothing in it yet."""
    mail_process.forget()
    settings.ELICIT_SMTP = mail_server.read(mail_process.url)
    settings.ELICIT_EMAIL_FROM = "flows@example.test"
    return mail_process


@pytest.fixture
def offered(committed: None) -> NotificationSettings:
    """The operator offers e-mail."""
    return NotificationSettings.objects.create(email=True)


@pytest.fixture
def known(offered: NotificationSettings) -> Known:
    """An agent that may have people told."""
    rows.provider()
    return rows.agent("bot", notify=True)


@pytest.fixture
def ask(known: Known) -> Callable[..., Elicitation]:
    """A request of theirs to alice, who is to be told."""

    def make(**more: Any) -> Elicitation:
        return telling.ask(more.pop("of", known), **more)

    return make


@pytest.fixture
def receiver() -> Iterator[Sink]:
    sink = Sink()
    yield sink
    sink.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path
