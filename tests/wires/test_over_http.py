"""``GET /v1/elicitations/{id}/wire/{protocol}``: the complete message, as an agent without our SDK gets it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from elicit_flows.domain.values import Json
from elicit_flows.wires import MESSAGES, ahp_answers, mcp_2025_11_25
from elicit_flows.wires.forms import submitted
from tests.api.described import Described
from tests.kinds.form.asked import QUESTIONS, SCHEMA
from tests.support import rows
from tests.support.rows import Known, question
from tests.support.serving import Served
from tests.wires.bodies import PLAIN
from tests.wires.validator import Schema

OLD, NEW, ACP = Schema("mcp-2025-11-25.json"), Schema("mcp-2026-07-28.json"), Schema("acp.json")
AHP, TESSERON = Schema("ahp.json", "ahp-more.json"), Schema("tesseron.json")
ASKED: dict[str, Json] = {
    "oauth": {"provider": "drive"},
    "credentials": {"fields": [{"name": "key", "label": "API key"}]},
    "form": PLAIN,
    "confirm": {"detail": "All of it."},
    "link": {"url": "https://terms.test/", "completion": "by_agent"},
    "steps": {"steps": [{"kind": "confirm", "params": {}}, {"kind": "oauth", "params": {"provider": "drive"}}]},
}

CONTENT: Json = {
    "name": "Al Ice", "email": "a@b.test", "class": "biz", "extras": ["bag"], "news": False, "city": "Bern", "seats": 3,
    "budget": 2.5, "seat": ["a"], "meal": "v", "day": "2026-01-31",
}  # fmt: skip
ANSWERS: dict[str, Json] = {
    name: {"state": "submitted", "value": value}
    for name, value in {
        "title": {"kind": "text", "value": "Atlas"},
        "weight": {"kind": "number", "value": 1.5},
        "count": {"kind": "number", "value": 3},
        "keep": {"kind": "boolean", "value": True},
        "runtime": {"kind": "selected", "value": "", "freeformValues": ["bun"]},
        "checks": {"kind": "selected-many", "value": ["lint"], "freeformValues": ["tests"]},
        "region": {"kind": "selected", "value": "r3"},
        "size": {"kind": "selected", "value": "l"},
    }.items()
} | {"who": {"state": "skipped", "freeformValues": ["Nobody."]}}


@pytest.fixture
def known(served: Served) -> Known:
    rows.provider()
    return rows.agent()


@pytest.fixture
def api(served: Served, known: Known) -> Iterator[httpx2.Client]:
    """Every answer must be one that the description has."""
    described = Described.at(served.url)

    def check_description(response: httpx2.Response) -> None:
        response.read()
        described.check(response)

    with known.client(served.url, event_hooks={"response": [check_description]}) as client:
        yield client


def ask(api: httpx2.Client, kind: str, params: Json | None = None) -> Json:
    asked = api.post("/v1/elicitations", json=question(kind=kind, params=params or ASKED[kind]))
    assert asked.status_code == 201, asked.text
    return dict(asked.json())


def wire(api: httpx2.Client, asked: Json, protocol: str, **query: str) -> httpx2.Response:
    return api.get(f"/v1/elicitations/{asked['id']}/wire/{protocol}", params=query)


def check(protocol: str, message: Json) -> None:
    """As the agent would send it."""
    if protocol == "mcp-2025-11-25":
        OLD.check("ElicitRequest", {"jsonrpc": "2.0", "id": 1, **message})
        OLD.check("ElicitRequestURLParams", message["params"])
    elif protocol == "mcp-2026-07-28":
        NEW.check("InputRequiredResult", message)
    elif protocol == "acp":
        ACP.check("CreateElicitationRequest", {**message["params"], "sessionId": "s1"})
    elif protocol == "ahp":
        AHP.check("ChatInputRequestedAction", message)
    else:
        TESSERON.check("ElicitationRequest", {**message, "params": {**message["params"], "invocationId": "i1"}})


@pytest.mark.parametrize("protocol", MESSAGES)
def test_every_kind_has_a_message_in_every_protocol(api: httpx2.Client, protocol: str):
    for kind in ASKED:
        asked = ask(api, kind)
        answer = wire(api, asked, protocol)
        assert answer.status_code == 200, answer.text
        check(protocol, answer.json())
        assert asked["url"] in answer.text
        assert "alice" not in answer.text


def test_a_form_is_asked_by_the_client_itself_where_the_agent_says_so(api: httpx2.Client):
    asked = ask(api, "form")
    found = wire(api, asked, "mcp-2025-11-25", mode="form").json()
    OLD.check("ElicitRequestFormParams", found["params"])
    for protocol in MESSAGES:
        assert asked["url"] not in wire(api, asked, protocol, mode="form").text
    refused = wire(api, ask(api, "oauth"), "acp", mode="form")
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["mode"])
    assert wire(api, asked, "acp", mode="both").status_code == 422


def put(api: httpx2.Client, asked: Json, answers: dict[str, Json]) -> None:
    for name, answer in answers.items():
        done = api.put(f"/v1/elicitations/{asked['id']}/draft/{name}", json={"answer": answer})
        assert done.status_code == 200, (name, done.text)


def test_what_a_client_typed_in_form_mode_is_kept_as_if_typed_on_our_page(api: httpx2.Client):
    asked = ask(api, "form", {"schema": SCHEMA})
    reply = mcp_2025_11_25.reply({"action": "accept", "content": CONTENT})
    done = api.post(f"/v1/elicitations/{asked['id']}/complete", json={"answers": submitted(reply.content or {})})
    assert done.json()["result"] == {"content": CONTENT}


def test_answers_of_ahps_clients_reach_the_draft_and_come_back(api: httpx2.Client):
    asked = ask(api, "form", {"questions": QUESTIONS, "shared": True})
    questions = {one["id"]: one for one in wire(api, asked, "ahp").json()["request"]["questions"]}
    assert list(questions.values()) == QUESTIONS
    put(api, asked, {name: ahp_answers.from_ahp(questions[name], said) for name, said in ANSWERS.items()})
    draft = api.get(f"/v1/elicitations/{asked['id']}/draft").json()
    assert draft["missing"] == []
    assert ahp_answers.of_draft(QUESTIONS, draft["answers"]) == ANSWERS
    assert api.post(f"/v1/elicitations/{asked['id']}/complete").json()["status"] == "completed"
    action = wire(api, asked, "ahp").json()
    AHP.check("ChatInputCompletedAction", action)
    assert action == {
        "type": "chat/inputCompleted", "requestId": asked["id"], "response": "accept", "answers": ANSWERS,
    }  # fmt: skip


def test_once_it_is_over_the_message_says_so_and_no_link_is_given(api: httpx2.Client):
    asked = ask(api, "confirm")
    api.post(f"/v1/elicitations/{asked['id']}/cancel")
    params = {"elicitationId": asked["id"]}
    told = {name: wire(api, asked, name) for name in MESSAGES}
    assert told["mcp-2025-11-25"].json() == {"method": "notifications/elicitation/complete", "params": params}
    assert told["acp"].json() == {"method": "elicitation/complete", "params": params}
    assert told["ahp"].json() == {"type": "chat/inputCompleted", "requestId": asked["id"], "response": "cancel"}
    for name in ("mcp-2026-07-28", "tesseron"):
        assert (told[name].status_code, told[name].json()["code"]) == (409, "already_over")


def test_an_unknown_protocol_is_told_the_known_ones(api: httpx2.Client):
    for name in ("mcp", "mcp-2024-11-05", "MCP-2025-11-25", "lynq"):
        answer = wire(api, ask(api, "confirm"), name)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert all(known in answer.json()["detail"] for known in MESSAGES)


def test_t62_another_agents_elicitation_has_no_message(api: httpx2.Client, served: Served):
    asked = ask(api, "confirm")
    with rows.agent().client(served.url) as stranger:
        for protocol in (*MESSAGES, "unknown"):
            foreign = wire(stranger, asked, protocol)
            missing = wire(stranger, {"id": "el_" + "0" * 32}, protocol)
            assert (foreign.status_code, foreign.content) == (404, missing.content)
