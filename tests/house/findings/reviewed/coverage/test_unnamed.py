"""F3: where a provider does not say whose account it is, a second one took the place of the first."""

from __future__ import annotations

from elicit_flows import vault
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.oauth import conftest as providers
from tests.oauth.journey import ask, come_back, press
from tests.support.rows import Known

double, drive_row, known = providers.double, providers.drive_row, providers.known


def test_t137_of_two_that_come_back_at_once_one_is_asked(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    """Nobody was asked: the agent got the second account's token for the first one's connection."""
    double.user = {"plan": "free"}
    first, second = (ask(known, reuse="never") for _ in range(2))
    urls = press(first), press(second)
    done = come_back(double, first, urls[0])
    assert (done.status, done.result["account"]) == ("completed", None)
    held = Connection.objects.get()
    before = vault.token(known.row, held.pk)["access_token"]
    late = come_back(double, second, urls[1])
    kept = vault.token(known.row, held.pk)["access_token"] == before
    assert (str(late.status), kept) == ("started", True)
