"""The pages of the other ways in, through a browser's requests: OAuth 1.0a, and a key that somebody types."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.test import Client

from elicit_flows import vault
from elicit_flows.models import Connection, Elicitation
from elicit_flows.models import Provider as ProviderRow
from tests.catalogue.test_ways import PEM, SERVICE_ACCOUNT
from tests.doubles.oauth1 import OAuth1Provider
from tests.doubles.server import Server
from tests.oauth.journey import ask
from tests.oauth.test_oauth1 import known, old, old_row, visit
from tests.support import rows
from tests.support.rows import Known
from tests.vault.test_service_accounts import ask as ask_for_key
from tests.vault.test_service_accounts import google, robot
from tests.web.test_room import browser, page

__all__ = ["google", "known", "old", "old_row", "robot"]


def sent(client: Client, row: Elicitation, **typed: str) -> str:
    """Send the form of the page; where the browser goes then."""
    shown = page(client, f"/c/{row.pk}")
    hidden = {
        str(one["name"]): str(one.get("value") or "") for one in shown.all("input") if one.get("type") == "hidden"
    }
    [form] = [one for one in shown.forms() if one.get("method") == "post" and "switch" not in str(one.get("action"))][
        :1
    ]
    answer = client.post(str(form.get("action") or f"/c/{row.pk}"), hidden | typed)
    assert answer.status_code in (302, 303), answer.text
    return str(answer["location"])


def test_an_account_is_connected_with_oauth_1_on_our_pages(known: Known, old: OAuth1Provider) -> None:
    row, alice = ask(known, scopes=[]), browser()
    shown = page(alice, f"/c/{row.pk}").text()
    assert "Old Drive" in shown
    assert urlsplit(old.url).hostname in shown
    there = sent(alice, row)
    assert there.startswith(f"{old.url}/authorize?")
    back = {name: values[0] for name, values in visit(there).items()}
    answer = alice.get(f"/callback/drive?{urlencode(back)}")
    assert answer.status_code in (302, 303), answer.text
    row.refresh_from_db()
    assert (row.status, Connection.objects.get().account_id) == ("completed", "42")
    assert "oauth" not in str(answer["location"])


def test_a_key_file_is_pasted_and_the_page_says_what_the_agent_gets(robot: ProviderRow, google: Server) -> None:
    bot = rows.agent()
    row, alice = ask_for_key(bot), browser()
    shown = page(alice, f"/c/{row.pk}")
    assert "gets access tokens, never the secret" in shown.text()
    assert urlsplit(google.url).hostname in shown.text()
    pasted = SERVICE_ACCOUNT.replace("\n", "")
    sent(alice, row, service_account=pasted)
    row.refresh_from_db()
    held = Connection.objects.get()
    assert (row.status, vault.token(bot.row, held.pk)["access_token"]) == ("completed", "token-0")
    room = page(alice, f"/account/connections/{held.pk}")
    assert PEM[40:80] not in room.source
