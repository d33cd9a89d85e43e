"""What may happen between the person's way back and the record of what was granted."""

from __future__ import annotations

from django.db import connections as databases
from django.db import transaction

from elicit_flows import vault
from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import move
from elicit_flows.models import Connection, Elicitation
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.oauth.journey import ask, come_back, press, told
from tests.support.rows import Known


def test_what_is_granted_while_its_provider_is_switched_off_is_kept_and_serves_when_it_is_on(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    def switch_off(request: Request) -> Response:
        ProviderRow.objects.filter(pk=drive_row.pk).update(enabled=False)
        databases.close_all()  # of the double's thread
        return json_response({"sub": "alice"})

    double.scripted["userinfo"] = switch_off
    row = ask(known)
    done = come_back(double, row, press(row))
    kept = Connection.objects.get()
    assert done.result
    assert (done.status, done.result["connection"], kept.status) == ("completed", kept.pk, "active")
    ProviderRow.objects.filter(pk=drive_row.pk).update(enabled=True)
    assert vault.token(known.row, kept.pk)["access_token"]


def test_a_move_reads_what_others_wrote_and_moves_nothing_that_they_ended(known: Known, drive_row: ProviderRow) -> None:
    mine = ask(known)
    Elicitation.objects.filter(pk=mine.pk).update(seq=7, error={"code": "older"})
    with transaction.atomic():
        assert move(mine, Status.STARTED)
    assert (mine.status, mine.seq, mine.error, mine.finished_at) == ("started", 8, {"code": "older"}, None)
    late = Elicitation.objects.get(pk=mine.pk)
    with transaction.atomic():
        assert move(mine, Status.FAILED, error={"code": "x"})
    with transaction.atomic():
        assert not move(late, Status.SETTLING, only=[Status.STARTED])
    assert (late.status, late.seq, late.error, late.finished_at) == ("failed", 9, {"code": "x"}, mine.finished_at)
    assert mine.finished_at
    assert told(known) == ["elicitation.created", "elicitation.started", "elicitation.failed"]
