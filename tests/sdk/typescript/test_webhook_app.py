"""``WebhookApp`` of the TypeScript client, with deliveries signed here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from elicit_flows.sdk import verify_webhook
from tests.sdk.fake import COMPLETED, ELICITATION
from tests.sdk.test_webhooks import KEY, OLDER, secret, signed
from tests.sdk.typescript.conftest import Program
from tests.sdk.typescript.source import printed

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


def delivery(elicitation: str, run: str, state: dict[str, Any] = COMPLETED) -> dict[str, Any]:
    data = state | {"id": elicitation, "metadata": {"run": run}}
    event = {"id": "ev_1", "type": "elicitation.completed", "elicitation": elicitation, "seq": 4, "data": data}
    body = json.dumps(event)
    return {"headers": signed(KEY, body.encode(), time.time()), "body": body}


@pytest.fixture
def said(start: Callable[..., Program]) -> dict[str, Any]:
    given = {
        "one": delivery("el_1", "run-1"), "two": delivery("el_2", "run-1"), "other": delivery("el_3", "run-2"),
        "open": delivery("el_4", "run-1", ELICITATION), "secret": secret(KEY), "foreign": secret(OLDER),
    }  # fmt: skip
    return start("resumes", {"WEBHOOKS": json.dumps(given)}).end()


def test_t93_t204_what_is_signed_resumes_a_run_in_one_place_at_a_time(said: dict[str, Any]) -> None:
    assert said["signed"] == [204, 204, ["el_1", "el_2"]]
    assert said["refused"] == [400, 413, 405, []]
    assert said["open"] == [204, []]
    assert said["together"] == [1, 2]
    assert said["slow"] == [503, 503, ["el_1"], 204]
    assert said["failing"] == [500, 204, [["Error: The model is away.", "run-1"]]]
    assert said["locked"] == [204, ["run-1"], ["el_1"]]


UNBOUNDED = """
const { WebhookApp } = await import("SRC/webhook-app.ts");
const { headers, body } = GIVEN;
const goOn = () => new Promise((resolve) => setTimeout(resolve, 300));
const app = new WebhookApp({ secret: SECRET, goOn, waitMs: Infinity });
console.log(JSON.stringify(await app.receive(headers, new TextEncoder().encode(body))));
"""


def test_a_delivery_may_wait_for_its_run_for_as_long_as_that_takes() -> None:
    given, known = json.dumps(delivery("el_1", "run-1")), json.dumps(secret(KEY))
    assert printed(UNBOUNDED.replace("GIVEN", given).replace("SECRET", known)) == 204


VERIFIED = """
const { verifyWebhook } = await import("SRC/webhooks.ts");
const { headers, body } = GIVEN;
console.log(JSON.stringify((await verifyWebhook(headers, body, SECRET)).type));
"""


def test_a_secret_from_a_file_may_end_with_a_line_end_as_in_python() -> None:
    given, known = delivery("el_1", "run-1"), secret(KEY) + "\n"
    said = printed(VERIFIED.replace("GIVEN", json.dumps(given)).replace("SECRET", json.dumps(known)))
    assert said == verify_webhook(given["headers"], given["body"].encode(), known).type


REFUSED = """
const { WebhookApp } = await import("SRC/webhook-app.ts");
const { headers, body } = GIVEN;
const app = new WebhookApp({ secret: SECRET, goOn: () => {} });
const said = async (signature) =>
  await app.receive({ ...headers, "Webhook-Signature": signature }, new TextEncoder().encode(body));
console.log(JSON.stringify(await Promise.all(["v1,", "v1,==", "v1,AA=", "v1,AAAA="].map(said))));
"""


def test_a_signature_whose_padding_is_wrong_is_refused_and_no_error() -> None:
    given, known = json.dumps(delivery("el_1", "run-1")), json.dumps(secret(KEY))
    assert printed(REFUSED.replace("GIVEN", given).replace("SECRET", known)) == [400, 400, 400, 400]


ENDLESS = """
const { WebhookApp } = await import("SRC/webhook-app.ts");
let sent = 0;
const body = new ReadableStream({
  pull(controller) {
    sent += 1;
    if (sent > 64) controller.close();
    else controller.enqueue(new Uint8Array(1 << 18));
  },
});
const app = new WebhookApp({ secret: SECRET, goOn: () => {} });
const request = (body) => new Request("http://a.example/", { method: "POST", body, duplex: "half" });
const { status } = await app.fetch(request(body));
console.log(JSON.stringify([status, sent < 10, (await app.fetch(request(undefined))).status]));
"""


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    assert printed(ENDLESS.replace("SECRET", json.dumps(secret(KEY)))) == [413, True, 400]
