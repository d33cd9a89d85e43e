"""The blocks of docs/how-to/notifications.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config import env
from elicit_flows.config_file import reader
from elicit_flows.domain.values import Claim
from elicit_flows.notifications import webhook
from elicit_flows.notifications.messages import Message
from tests.docs.page import found

PAGE = "how-to/notifications.md"
URLS = {
    "SLACK_URL": "slack://xoxb-1234-1234-abc124/{email}",
    "BOBS_TEAMS_WORKFLOW": "workflows://prod-27.westus.logic.azure.com/643e69f83c8944438d68119179a10a64/KODuebWbDGYFr0z0eu/",
}


def test_the_mail_server_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    [block] = found(PAGE, "mail")
    password = tmp_path / "smtp-password"
    password.write_text("s3cret/with#all?")
    for line in block.text.replace("/run/secrets/smtp-password", str(password)).splitlines():
        monkeypatch.setenv(*line.split("=", 1))
    server = env.smtp("ELICIT_SMTP_URL", password=env.text("ELICIT_SMTP_PASSWORD"))
    assert server
    assert (server.scheme, server.host, server.port, server.user) == ("smtp", "mail.example.com", 587, "flows")
    assert server.password == password.read_text()
    assert env.sender("ELICIT_EMAIL_FROM", needed=True) == "flows@example.com"


def test_the_chats_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = found(PAGE, "chat")
    for name, url in URLS.items():
        monkeypatch.setenv(name, url)
    tables = reader.read(block.text.encode())
    assert tables.faults == []
    assert [[one.reveal() for one in entry.values["chat"]] for entry in tables.entries] == [
        [url] for url in URLS.values()
    ]


def test_the_webhook_gets_what_the_page_says() -> None:
    [block] = found(PAGE, "telling")
    said = json.loads(block.text)
    told = said["data"]
    message = Message(
        name=said["id"], about=said["type"].removeprefix("notification."), claim=Claim(**told["subject"]),
        agent=told["agent"]["name"], agent_slug=told["agent"]["slug"],
        brand=told["service"], language=told["language"], direction="", subject="", body="", text="", html="",
        url=told["url"], unsubscribe_url=told["unsubscribe_url"],
    )  # fmt: skip
    body: dict[str, Any] = webhook.body(message)
    assert body == said
