"""The mail server of a test, and what it got."""

from __future__ import annotations

import email
import email.policy
import sys
from email.message import EmailMessage
from pathlib import Path

from tests.support.ports import free_port
from tests.support.process import Process, until


class MailServer:
    """A process that listens on ``port`` and keeps what it gets below ``home``. ``options``: see the double."""

    def __init__(self, home: Path, *options: str) -> None:
        self.port, self._folder = free_port(), home / "mail"
        self._folder.mkdir()
        command = [sys.executable, "-m", "tests.doubles.mail_server", str(self.port), str(self._folder), *options]
        self.process = Process(command, home / "mail.log")

    def start(self) -> MailServer:
        self.process.start()
        self.process.wait_for_output("listening")
        return self

    @property
    def url(self) -> str:
        return f"smtp+plain://127.0.0.1:{self.port}"

    def received(self) -> list[EmailMessage]:
        """All messages, the first one first."""
        found = []
        for path in sorted(self._folder.glob("*.eml")):
            found.append(email.message_from_bytes(path.read_bytes(), policy=email.policy.default))
        return found

    def raw(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self._folder.glob("*.eml"))]

    def forget(self) -> None:
        for path in self._folder.iterdir():
            path.unlink()

    def wait_for(self, count: int = 1) -> list[EmailMessage]:
        return until(
            lambda: found if len(found := self.received()) >= count else None, f"{count} e-mails came", timeout=60
        )


def part(message: EmailMessage, kind: str) -> str:
    """The text of the ``plain`` or ``html`` part."""
    found = message.get_body((kind,))
    assert found is not None
    return str(found.get_content())
