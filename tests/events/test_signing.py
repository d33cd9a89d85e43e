"""T93, T94: receivers can verify webhooks with the official library."""

from __future__ import annotations

import base64
import dataclasses
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import WebhookVerificationError

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock
from tests.events.posting import Hooked, deliver
from tests.support.moving import MovingClock
from tests.support.sink import Delivery

NEW = "whsec_" + base64.b64encode(b"another secret of the same agent").decode()


def changed(delivery: Delivery, *, body: bytes | None = None, **headers: str) -> Delivery:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return dataclasses.replace(
        delivery, body=delivery.body if body is None else body, headers={**delivery.headers, **named}
    )


def rejects(delivery: Delivery, secret: str) -> None:
    with pytest.raises(WebhookVerificationError):
        delivery.verify(secret)


def test_t93_the_official_verifier_accepts_a_delivery(hooked: Hooked) -> None:
    event = hooked.tell(name="Zoë 🎈", quoted='"\\')
    deliver()
    [delivery] = hooked.received()
    assert delivery.verify(hooked.secret) == event.body()
    assert (delivery.method, delivery.id) == ("POST", event.id)
    assert delivery.headers["content-type"] == "application/json"
    assert "." not in event.id, "the id is joined by full stops to what is signed"


@pytest.mark.parametrize(("seconds", "accepted"), [(-301, False), (-290, True), (290, True), (310, False)])
def test_t93_a_delivery_is_good_for_five_minutes(
    hooked: Hooked, moving_clock: MovingClock, seconds: float, accepted: bool
) -> None:
    moving_clock.forward(seconds=seconds)
    hooked.tell()
    deliver()
    [delivery] = hooked.received()
    if accepted:
        delivery.verify(hooked.secret)
    else:
        rejects(delivery, hooked.secret)


def test_t93_a_single_altered_byte_is_noticed(hooked: Hooked) -> None:
    hooked.tell(amount=5)
    deliver()
    [delivery] = hooked.received()
    for place in range(len(delivery.body)):
        body = bytearray(delivery.body)
        body[place] ^= 1
        rejects(changed(delivery, body=bytes(body)), hooked.secret)


def test_t93_id_and_time_belong_to_the_signature(hooked: Hooked) -> None:
    first, second = hooked.tell(), hooked.tell()
    deliver()
    one, other = sorted(hooked.received(), key=lambda delivery: [first.id, second.id].index(delivery.id))
    rejects(changed(one, webhook_id=other.id), hooked.secret)
    rejects(changed(one, body=other.body), hooked.secret)
    rejects(changed(one, webhook_timestamp=str(int(one.headers["webhook-timestamp"]) + 1)), hooked.secret)
    one.verify(hooked.secret)


def test_t93_each_try_is_signed_anew_under_the_same_id(hooked: Hooked, everybodys_clock: MovingClock) -> None:
    hooked.receiver.status(hooked.path, 500, times=2)
    event = hooked.tell()
    for seconds in (0, 6, 301):
        everybodys_clock.forward(seconds=seconds)
        deliver()
        hooked.received()[-1].verify(hooked.secret)
    tries = hooked.received()
    assert [delivery.id for delivery in tries] == [event.id] * 3
    assert len({delivery.body for delivery in tries}) == 1
    for header in ("webhook-timestamp", "webhook-signature"):
        assert len({delivery.headers[header] for delivery in tries}) == 3, header
    rejects(tries[0], hooked.secret)


def rotate(hooked: Hooked, overlap: timedelta) -> None:
    row = hooked.row
    vault.seal_webhook_secret(row, Secret(NEW), overlap_until=clock.now() + overlap)
    row.save()


def test_t94_both_secrets_verify_during_the_overlap_and_only_the_new_one_after(
    hooked: Hooked, everybodys_clock: MovingClock
) -> None:
    rotate(hooked, timedelta(hours=24))
    everybodys_clock.forward(hours=23, minutes=59)
    hooked.tell()
    deliver()
    [during] = hooked.received()
    during.verify(hooked.secret)
    during.verify(NEW)
    everybodys_clock.forward(minutes=2)
    hooked.tell()
    deliver()
    [_, after] = hooked.received()
    after.verify(NEW)
    rejects(after, hooked.secret)


def test_t94_a_try_after_the_overlap_is_no_longer_signed_with_the_old_secret(
    hooked: Hooked, everybodys_clock: MovingClock
) -> None:
    """The signature is made for each try, not once for the event."""
    hooked.receiver.status(hooked.path, 500, times=1)
    hooked.tell()
    rotate(hooked, timedelta(seconds=3))
    deliver()
    everybodys_clock.forward(seconds=6)
    deliver()
    [_, second] = hooked.received()
    second.verify(NEW)
    rejects(second, hooked.secret)


def test_t94_a_secret_two_rotations_old_signs_nothing(hooked: Hooked) -> None:
    rotate(hooked, timedelta(hours=24))
    row = hooked.row
    newest = "whsec_" + base64.b64encode(b"the third secret of the agent...").decode()
    vault.seal_webhook_secret(row, Secret(newest), overlap_until=clock.now() + timedelta(hours=24))
    row.save()
    hooked.tell()
    deliver()
    [delivery] = hooked.received()
    delivery.verify(newest)
    delivery.verify(NEW)
    rejects(delivery, hooked.secret)
