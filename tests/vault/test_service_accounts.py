"""A private key that somebody typed: the service signs with it, agents get short tokens, and it stays in the vault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import Conflict, Invalid, ReauthorizationRequired
from elicit_flows.domain.values import Answer, Question
from elicit_flows.elicitations import agent_access
from elicit_flows.models import Connection, Elicitation
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import provider_settings
from tests.catalogue.test_ways import PEM, SERVICE_ACCOUNT
from tests.doubles.policy import loopback_allowed
from tests.doubles.server import Request, Response, Server, json_response
from tests.support import dump, jobs, rows
from tests.support.rows import ALICE_CLAIM, Known


@pytest.fixture
def google() -> Iterator[Server]:
    with loopback_allowed(), Server() as running:
        issued = iter(range(100))

        def answer(request: Request) -> Response:
            token = f"token-{next(issued)}"
            return json_response({"access_token": token, "token_type": "Bearer", "expires_in": 3599})

        running.scripted["unknown"] = answer
        yield running


@pytest.fixture
def robot(committed: None, google: Server) -> ProviderRow:
    """As an operator has it from the preset, its token endpoint that of the double."""
    row = ProviderRow(slug="robot", sort="credentials", preset="google-service-account", given=["token_url"])
    row.token_url = f"{google.url}/token"
    row.save()
    return row


@pytest.fixture
def known(robot: ProviderRow) -> Known:
    agent_access.forget()
    return rows.agent()


def ask(known: Known) -> Elicitation:
    said = {"provider": "robot"}
    row, _ = elicitations.create(known.row, Question("credentials", ALICE_CLAIM, "Give the key.", said, reuse="never"))
    return row


def give(row: Elicitation, key: str = SERVICE_ACCOUNT) -> Connection:
    elicitations.submit(row.pk, ALICE_CLAIM, Answer({"service_account": [key], "for-tokens": ["yes"]}))
    return Connection.objects.get()


def test_t173_the_key_never_leaves_and_tokens_are_got_with_it_anew(
    known: Known, google: Server, robot: ProviderRow, committed_database: str
) -> None:
    row = give(ask(known))
    assert (row.own_client, row.renewable, row.account_id) == (True, True, "")
    given = vault.token(known.row, row.pk)
    assert (given["access_token"], given["token_type"]) == ("token-0", "Bearer")
    assert given["scopes"] == ["https://www.googleapis.com/auth/cloud-platform"]
    rows.expire(row)
    assert vault.token(known.row, row.pk)["access_token"] == "token-1"
    with pytest.raises(Conflict):
        vault.open_credentials(known.row, row.pk)
    kept = dump.database(committed_database)
    assert not [secret for secret in (PEM[40:90], "robot@project", "token-1") if secret in kept]
    vault.revoke(row)
    jobs.tell_due_providers()
    row.refresh_from_db()
    assert (row.status, row.secrets, row.access_token) == ("revoked", "", "")
    assert len(google.requests) == 2


def test_t173_a_key_goes_to_no_host_that_was_configured_later(known: Known, google: Server, robot: ProviderRow) -> None:
    row = give(ask(known))
    with Server() as elsewhere:
        robot.token_url = f"{elsewhere.url}/token"
        robot.save()
        rows.expire(row)
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, row.pk)
        assert elsewhere.requests == []
    assert provider_settings.hosts_of(robot)["token"] == elsewhere.url


def test_what_is_no_key_is_shown_beside_its_field_and_nothing_is_saved(known: Known, google: Server) -> None:
    row = ask(known)
    for wrong in ("hello", "{}", SERVICE_ACCOUNT[:-40]):
        with pytest.raises(Invalid) as refused:
            give(row, wrong)
        assert [error["loc"] for error in refused.value.errors] == [["service_account"]]
        assert wrong not in str(refused.value.errors)
    assert google.requests == []
    google.scripted["unknown"] = json_response({"error": "invalid_grant"}, 400)
    with pytest.raises(Invalid) as refused:
        give(row)
    assert [error["loc"] for error in refused.value.errors] == [["service_account"]]
    assert not Connection.objects.exists()
    del google.scripted["unknown"]
    google.scripted["unknown"] = json_response({"access_token": "a", "token_type": "Bearer"})
    assert give(row).expires_at is None
