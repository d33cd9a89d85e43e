"""F6, F7: a parameter that there is not was ignored, a list ended in silence, and one connection could not be read."""

from __future__ import annotations

import httpx2
import pytest

from elicit_flows.models import Connection, Provider
from tests.api import conftest as agents
from tests.api.described import Described
from tests.support import rows
from tests.support.rows import Known

drive_row, known, api, new_client = agents.drive_row, agents.known, agents.api, agents.new_client
described = agents.described


@pytest.fixture
def held(api: httpx2.Client, known: Known, drive_row: Provider) -> Connection:
    return rows.connection(known, drive_row)


def test_t141_a_mistyped_filter_shows_nobodys_rows(api: httpx2.Client, held: Connection) -> None:
    answer = api.get("/v1/connections", params={"user": "nobody", "subject": "carol"})
    assert (answer.status_code, held.pk in answer.text) == (422, False)


def test_t141_what_no_call_knows_is_refused_by_every_call_before_anything_is_done(
    api: httpx2.Client, described: Described
) -> None:
    lists = [path for method, path in described.calls() if method == "GET" and "{" not in path]
    assert len(lists) > 2
    ignored = [path for path in lists if api.get(path, params={"subject": "carol"}).status_code == 200]
    assert ignored == []


def test_a_list_of_more_than_a_thousand_has_no_silent_end(
    api: httpx2.Client, known: Known, drive_row: Provider
) -> None:
    many = [
        Connection(agent=known.row, provider=drive_row, iss=rows.ISSUER, sub=f"user-{n}", access_token="x")
        for n in range(1006)
    ]
    Connection.objects.bulk_create(many)
    page = api.get("/v1/connections").json()
    assert (len(page["data"]), sorted(page)) == (1000, ["data", "next_cursor"])


def test_one_connection_is_looked_at_without_a_list(api: httpx2.Client, held: Connection) -> None:
    assert api.get(f"/v1/connections/{held.pk}").status_code == 200
