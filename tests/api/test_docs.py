"""The API's description is valid, and its page for people names only what exists (T114)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from openapi_spec_validator import validate

from elicit_flows import kinds
from elicit_flows.api.openapi import METHODS
from elicit_flows.api.openapi_proxied import PATH
from elicit_flows.api.responses import problem
from elicit_flows.domain.errors import FlowError, NotFound
from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import STEPS
from tests.support.process import PROJECT

# The calls of the contract (section 4) that this version has.
CALLS = {
    "POST /v1/elicitations",
    "GET /v1/elicitations",
    "GET /v1/elicitations/{elicitation_id}",
    "POST /v1/elicitations/{elicitation_id}/code",
    "POST /v1/elicitations/{elicitation_id}/cancel",
    "POST /v1/elicitations/{elicitation_id}/complete",
    "POST /v1/elicitations/{elicitation_id}/consume",
    "PATCH /v1/elicitations/{elicitation_id}",
    "GET /v1/elicitations/{elicitation_id}/draft",
    "PUT /v1/elicitations/{elicitation_id}/draft/{question}",
    "GET /v1/elicitations/{elicitation_id}/wire/{protocol}",
    "GET /v1/elicitations/{elicitation_id}/note",
    "PATCH /v1/elicitations/{elicitation_id}/note",
    "GET /v1/events",
    "GET /v1/agent",
    "GET /v1/connections",
    "GET /v1/connections/{connection_id}",
    "POST /v1/connections",
    "POST /v1/connections/{connection_id}/token",
    "POST /v1/connections/{connection_id}/report",
    "POST /v1/connections/{connection_id}/proof",
    "POST /v1/connections/{connection_id}/secret",
    "DELETE /v1/connections/{connection_id}",
    *(f"{method} {PATH}" for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    "POST /v1/token",
    "GET /v1/payments",
    "GET /v1/payments/{payment_id}",
    "GET /v1/payments/{payment_id}/receipt",
    "GET /v1/payments/{payment_id}/refunds",
    "POST /v1/payments/{payment_id}/refunds",
    "GET /v1/mandates",
    "GET /v1/mandates/{mandate_id}",
    "GET /v1/mandates/{mandate_id}/document",
    "GET /v1/mandates/{mandate_id}/charges",
    "POST /v1/mandates/{mandate_id}/charges",
    "GET /v1/mandates/{mandate_id}/charges/{charge_id}",
    "POST /v1/mandates/{mandate_id}/end",
    "GET /v1/authorizations",
    "GET /v1/authorizations/{authorization_id}",
    "POST /v1/authorizations/{authorization_id}/sign",
    "GET /v1/subscriptions",
    "GET /v1/subscriptions/{subscription_id}",
    "GET /v1/subscriptions/{subscription_id}/renewals",
    "POST /v1/subscriptions/{subscription_id}/cancel",
    "GET /v1/entitlements",
    "POST /v1/entitlements/{entitlement_id}/consume",
    "GET /v1/webhooks/deliveries",
    "POST /v1/webhooks/deliveries/{delivery_id}/replay",
}
TYPES = {"string", "integer", "boolean", "array", "object", "null"}


def everything(kind: type[FlowError] = FlowError) -> Iterator[type[FlowError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from everything(child)


class Page(HTMLParser):
    """``ids`` of the page and, by id, the text below it; ``links`` to places on the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self._inside: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if identifier := given.get("id"):
            self.ids.append(identifier)
            self.texts[identifier] = ""
        if (given.get("href") or "").startswith("#"):
            self.links.append((given["href"] or "")[1:])
        if tag not in {"br", "meta", "link", "input", "img"}:
            self._inside.append((tag, given.get("id") or ""))

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, identifier in self._inside:
            if identifier:
                self.texts[identifier] += f" {data}"


@pytest.fixture
def page(db: None, client: Client) -> Page:
    answer = client.get("/v1/docs", headers={"host": "127.0.0.1"})
    assert answer.status_code == 200
    return Page(answer.text)


@pytest.fixture
def described(client: Client) -> dict[str, Any]:
    """Without a key."""
    answer = client.get("/v1/openapi.json", headers={"host": "127.0.0.1"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/json")
    assert answer["Cache-Control"] == "no-store"
    found: dict[str, Any] = json.loads(answer.content)
    return found


def operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, item[method])
        for path, item in described["paths"].items()
        for method in METHODS
        if method in item
    ]


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    """Every object below, so every schema among them."""
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from schemas(child)
    elif isinstance(node, list):
        for child in node:
            yield from schemas(child)


def kinds_of(described: dict[str, Any], name: str, by: str = "kind") -> dict[str, dict[str, Any]]:
    """The alternatives of a union, by the value that tells them apart."""
    components = described["components"]["schemas"]
    union = components[name]
    assert union["discriminator"]["propertyName"] == by
    found = {value: ref.rpartition("/")[2] for value, ref in union["discriminator"]["mapping"].items()}
    assert {f"#/components/schemas/{one}" for one in found.values()} == {one["$ref"] for one in union["oneOf"]}
    for value, one in found.items():
        assert components[one]["properties"][by]["const"] == value
        assert by in components[one]["required"]
    return {value: components[one] for value, one in found.items()}


def test_the_page_promises_every_error_with_its_status(page: Page) -> None:
    for kind in everything():
        text = page.texts[f"error-{kind.code}"].split()
        assert kind.code in text
        assert str(kind.status) in text


def test_the_type_of_a_problem_leads_to_its_place_on_the_page(page: Page) -> None:
    address, _, anchor = problem(NotFound())["type"].partition("#")
    assert address.endswith("/v1/docs")
    assert anchor in page.ids


def test_no_two_errors_share_a_code_with_different_statuses() -> None:
    statuses: dict[str, set[tuple[int, str]]] = {}
    for kind in everything():
        statuses.setdefault(kind.code, set()).add((kind.status, kind.title))
    assert {code: found for code, found in statuses.items() if len(found) > 1} == {}


def test_the_page_tells_of_every_call_and_every_parameter_and_field(page: Page, described: dict[str, Any]) -> None:
    for method, path, operation in operations(described):
        text = page.texts[operation["operationId"]]
        assert f"{method.upper()} {path}" in " ".join(text.split())
        assert operation["summary"] in text
        for parameter in operation["parameters"]:
            assert parameter["name"] in text
    body = page.texts["elicitations_create"]
    for schema in kinds_of(described, "CreateElicitation").values():
        for name in schema["properties"]:
            assert name in body
    assert {"params.provider", "params.amount", "params.questions", "params.steps"} <= set(body.split())
    assert "subject.iss" in body
    assert "min_ttl" in page.texts["connections_token"]
    assert {"amount", "reason"} <= set(page.texts["payments_refund"].split())
    assert "key" in page.texts["entitlements_consume"].split()


def test_the_page_is_one_that_links_within_itself_rightly(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)
    assert len(page.links) >= len(CALLS)


def test_the_description_has_these_calls_and_no_others(described: dict[str, Any]) -> None:
    assert {f"{method.upper()} {path}" for method, path, _ in operations(described)} == CALLS


def test_the_description_names_every_code_of_an_error(described: dict[str, Any]) -> None:
    assert described["components"]["schemas"]["Problem"]["properties"]["code"] == {
        "$ref": "#/components/schemas/ErrorCode"
    }
    assert set(described["components"]["schemas"]["ErrorCode"]["enum"]) == {kind.code for kind in everything()}


def test_the_description_is_openapi_3_1(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    assert described["info"].keys() >= {"title", "version"}
    assert described["servers"][0]["url"].startswith("http")
    names = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(names) == len(set(names))
    for _, path, operation in operations(described):
        in_path = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path))
        assert all(one["required"] for one in operation["parameters"] if one["in"] == "path")
        places = [(one["in"], one["name"]) for one in operation["parameters"]]
        assert len(places) == len(set(places))
        assert all(re.fullmatch(r"[1-5]\d\d|default", status) for status in operation["responses"])
        assert all("description" in answer for answer in operation["responses"].values())


def test_every_reference_leads_somewhere_and_every_type_is_one_of_json_schema(described: dict[str, Any]) -> None:
    validate(described)
    for schema in schemas(described):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            assert reference.removeprefix("#/components/schemas/") in described["components"]["schemas"]
    for name, schema in described["components"]["schemas"].items():
        assert schema.get("type") in TYPES or "oneOf" in schema or "anyOf" in schema, name
        assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
        assert "nullable" not in json.dumps(schema)  # that was OpenAPI 3.0


def test_every_call_needs_the_key_and_may_answer_a_problem(described: dict[str, Any]) -> None:
    assert described["security"] == [{"key": []}]
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for _, _, operation in operations(described):
        content = operation["responses"]["default"]["content"]
        assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_a_problem_has_the_fields_that_the_description_says(described: dict[str, Any]) -> None:
    said = described["components"]["schemas"]["Problem"]
    assert set(said["required"]) == set(problem(NotFound()))


def test_every_kind_has_its_parameters_and_its_result(described: dict[str, Any]) -> None:
    every = {*kinds.REGISTRY, STEPS}
    for name in ("CreateElicitation", "Elicitation"):
        assert kinds_of(described, name).keys() == every
    for name in ("Step", "StepAsked", "StepDone"):
        assert kinds_of(described, name).keys() == every - {STEPS, "x402"}
    for kind, schema in kinds_of(described, "Elicitation").items():
        [result, null] = schema["properties"]["result"]["anyOf"]
        assert result["$ref"].lower().endswith(f"/{kind}result")
        assert null == {"type": "null"}
        assert schema["properties"].keys() == set(schema["required"]), "an answer has all fields, null or not"


def test_every_webhook_says_what_it_carries_and_how_it_is_signed(described: dict[str, Any]) -> None:
    events = kinds_of(described, "Event", "type")
    for name, item in described["webhooks"].items():
        content = item["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert described["components"]["schemas"][content.rpartition("/")[2]] is events[name]
        headers = [one["name"] for one in item["post"]["parameters"] if one["in"] == "header" and one["required"]]
        assert headers == ["webhook-id", "webhook-timestamp", "webhook-signature"]
        assert item["post"]["security"] == []


def test_every_reason_of_a_failed_elicitation_is_named(described: dict[str, Any]) -> None:
    source = "".join(path.read_text() for path in (PROJECT / "elicit_flows").rglob("*.py"))
    said = set(re.findall(r'Finish\.failed\("(\w+)"', source))
    for name in ("payment", "price_change"):
        said |= set(re.findall(r'"code": "(\w+)"', (PROJECT / f"elicit_flows/elicitations/{name}.py").read_text()))
    assert said == set(described["components"]["schemas"]["ElicitationError"]["properties"]["code"]["enum"])
    assert len(said) == 9


def test_no_field_has_a_default(described: dict[str, Any]) -> None:
    """Generators take such a field for one that is always there, and then want it in a request, too."""
    for schema in described["components"]["schemas"].values():
        for field in schema.get("properties", {}).values():
            assert "default" not in field
    exchange = described["paths"]["/v1/token"]["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"]
    assert '"default"' not in json.dumps(exchange["schema"])
    assert '"null"' not in json.dumps(exchange["schema"]), "a form has no null"
    create = kinds_of(described, "CreateElicitation")["link"]
    assert create["required"] == ["kind", "subject", "message", "params"]
    assert create["properties"]["expires_in"]["description"].endswith("When left out: 900.")


def test_unknown_fields_are_described_as_refused(described: dict[str, Any]) -> None:
    ours = [operation for _, path, operation in operations(described) if path != PATH]
    bodies = [operation["requestBody"] for operation in ours if "requestBody" in operation]
    assert len(bodies) == 15
    assert all(one["additionalProperties"] is False for one in kinds_of(described, "CreateElicitation").values())
    strict = ("Complete", "Subject", "TokenRequest", "ProofRequest", "Report", "RefundRequest", "CancelRequest")
    for name in (*strict, "ConsumeRequest", "ImportConnection", "ChargeRequest"):
        assert described["components"]["schemas"][name]["additionalProperties"] is False


def test_the_stream_and_the_idempotency_key_are_described(described: dict[str, Any]) -> None:
    paths = described["paths"]
    assert "text/event-stream" in paths["/v1/events"]["get"]["responses"]["200"]["content"]
    assert "Last-Event-ID" in [one["name"] for one in paths["/v1/events"]["get"]["parameters"]]
    keyed = "/v1/elicitations", "/v1/elicitations/{elicitation_id}/consume", "/v1/payments/{payment_id}/refunds"
    for path in keyed:
        assert "Idempotency-Key" in [one["name"] for one in paths[path]["post"]["parameters"]]


def test_every_type_of_event_that_the_code_publishes_is_named(described: dict[str, Any]) -> None:
    source = "".join(path.read_text() for path in (PROJECT / "elicit_flows").rglob("*.py"))
    published = set(re.findall(r'"((?:elicitation|connection|payment|subscription|webhook)\.[a-z_]+)"', source))
    # Constraints of a mandate's document, which are no events.
    published -= {f"payment.{name}" for name in ("budget", "amount_range", "execution_date", "agent_recurrence")}
    published.remove("subscription.latest_invoice")  # which Stripe is asked for
    published |= {f"mandate.{what}" for what in ("created", "changed", "ended", "charged", "charge_failed")}
    published |= {f"elicitation.{status}" for status in Status if status != Status.PENDING}
    assert {"payment.mismatch", "payment.refund_failed", "elicitation.refused"} <= published
    assert set(described["components"]["schemas"]["EventType"]["enum"]) == published
    assert kinds_of(described, "Event", "type").keys() == published
    assert described["webhooks"].keys() == published - {"elicitation.draft"}
    assert all(f'"{name}"' in (PROJECT / "docs/generate/meanings.toml").read_text() for name in published)


def test_the_description_is_the_same_every_time(client: Client) -> None:
    first, second = (client.get("/v1/openapi.json", headers={"host": "127.0.0.1"}).content for _ in range(2))
    assert first == second
