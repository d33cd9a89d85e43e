"""What the client sends, as a fetch of its caller's gets it."""

from __future__ import annotations

import pytest

from tests.sdk.typescript.source import printed

pytestmark = pytest.mark.limit(120)

PROXIED = """
const { Elicit } = await import("SRC/client.ts");
const sent = [];
const fetch = async (url, { headers }) => {
  sent.push(headers);
  return new Response("{}", { headers: { "Elicit-Answered-By": "api" } });
};
const elicit = new Elicit({ apiKey: "k", fetch });
const type = "application/vnd.api+json";
const own = { accept: "text/csv", "content-type": type, "user-agent": "mine/1", authorization: "no" };
await elicit.request("cn_1", "POST", "/v1/me", { json: {}, headers: own });
await elicit.request("cn_1", "POST", "/v1/me", { json: {} });
const names = ["accept", "content-type", "user-agent", "authorization"];
console.log(JSON.stringify(sent.map((headers) => names.map((name) => headers.get(name)))));
"""


def test_headers_for_an_api_are_sent_as_they_were_given_in_whichever_case() -> None:
    own, none = printed(PROXIED)
    assert own == ["text/csv", "application/vnd.api+json", "mine/1", "Bearer k"]
    assert none[:2] == ["*/*", "application/json"]


CHANGED = """
const { Elicit } = await import("SRC/client.ts");
const elicit = new Elicit({ apiKey: "k", timeout: 30, retryFor: 9 });
const { timeout, retryFor } = elicit.withOptions({ timeout: undefined, retryFor: undefined, maxRetries: 1 }).transport;
console.log(JSON.stringify([timeout, retryFor]));
"""


def test_a_setting_that_is_not_said_is_not_changed() -> None:
    assert printed(CHANGED) == [30, 9]


TWICE = """
const { Elicit } = await import("SRC/client.ts");
async function* body() {
  yield new TextEncoder().encode("{}");
}
const sent = [];
const fetch = async (url) => {
  sent.push(String(url));
  return new Response(null, { status: 402 });
};
const elicit = new Elicit({ apiKey: "k" });
const request = { body: body(), duplex: "half" };
const asked = elicit.payRequest(["i", "s"], "POST", "https://a.example/", { onUrl: () => {}, request, fetch });
console.log(JSON.stringify([await asked.catch((error) => error.message), sent]));
"""


def test_a_body_that_cannot_be_sent_twice_is_not_sent_to_what_may_cost_something() -> None:
    assert printed(TWICE) == ["request.body: A stream cannot be sent twice. Give a text or bytes.", []]
