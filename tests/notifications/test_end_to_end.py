"""From the agent's call to the button behind the link, in the real processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cast import ALICE, program
from tests.support import box_config
from tests.support.box import Box
from tests.support.box_config import to_toml
from tests.support.http_user import HttpUser
from tests.support.mail import MailServer, part
from tests.support.op import Op

BOT = program("telling-bot")


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[MailServer]:
    server = MailServer(tmp_path).start()
    yield server
    server.process.stop()


@pytest.fixture
def box(new_box: Callable[..., Box], mail: MailServer, corp: Op) -> Box:
    box = new_box(settings={"ELICIT_SMTP_URL": mail.url, "ELICIT_EMAIL_FROM": "flows@example.test"})
    file = box.home / "telling.toml"
    alice = {"slug": "alice", "iss": corp.issuer, "sub": ALICE.sub, "email": "alice@example.com"}
    tables = to_toml({"agent": [box_config.agent(BOT, notify=True)], "recipient": [alice]})
    file.write_text(f"[notifications]\nemail = true\n\n{tables}", encoding="utf-8")
    box.manage("apply", "--yes", "--skip-checks", str(file))
    box.programs[BOT.slug] = BOT
    return box


@pytest.mark.slow
@pytest.mark.limit(180)
def test_a_person_is_told_signs_in_behind_the_link_and_answers(
    box: Box, mail: MailServer, corp: Op, http_user: HttpUser
) -> None:
    agent = box.agent(BOT.slug)
    body = {"kind": "confirm", "subject": ALICE.subject(corp.issuer), "message": "Delete the report?", "params": {}}
    asked = agent.post("/v1/elicitations", json={**body, "notify": True})
    assert asked.status_code == 201, asked.text
    [got] = mail.wait_for()
    assert got["X-To"] == "alice@example.com"
    assert "report" not in part(got, "plain")
    [link] = re.findall(r"\S+/c/el_\S+", part(got, "plain"))
    assert link == asked.json()["url"]
    http_user.open(link)
    assert http_user.page_name == "signin", "the link alone is worth nothing"
    http_user.carry_on("signin", ALICE.sub, "continue", "submit")
    done = agent.get(f"/v1/elicitations/{asked.json()['id']}", params={"wait": 20}).json()
    assert done["status"] == "completed"
    again = agent.post("/v1/elicitations", json=body)
    assert again.status_code == 201
    assert len(mail.received()) == 1, "nobody asked for a message about that one"
