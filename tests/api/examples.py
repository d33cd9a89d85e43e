"""Records what is sent to the service and what it answers, as examples for its description: with ids, times, hosts and
secrets that are always the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import httpx2

from elicit_flows.api.openapi_examples import FILE
from tests.api.described import Described

ID = re.compile(r"\b([a-z]{2})_[A-Za-z0-9_-]{32}(?![A-Za-z0-9_-])")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
CHARGE = re.compile(r"\bch_[0-9a-f]{24}")  # the payment provider's
# What differs from run to run, by the member's name.
FIXED: dict[str, Any] = {
    "next_cursor": "V1sib25lIl0*c2lnbmVk", "cursor": "1.MzA", "access_token": "the-access-token",
    "subject_token": "the-users-own-token", "document": "eyJhbGciOiJFUzI1NiJ9.eyJtYW5kYXRlIjoiLi4uIn0.c2lnbmVk",
    "receipt": "eyJhbGciOiJFZERTQSJ9.eyJwYXltZW50IjoiLi4uIn0.c2lnbmVk",
    "dpop": "eyJ0eXAiOiJkcG9wK2p3dCJ9.eyJodG0iOiJHRVQifQ.c2lnbmVk", "user_code": "WDJB-MJHT", "milliseconds": 41,
    "value": "eyJ4NDAyVmVyc2lvbiI6Mn0=",
    "waiting": 8000, "waiting_of_all_agents": 10000, "slug": None, "expires_in": 3600,
}  # fmt: skip
SOONER, LATER = "2026-03-02T09:30:00Z", "2026-03-02T09:45:00Z"


class Recorder:
    """``hosts``: the addresses of this run, each with the one that stands for it."""

    def __init__(self, described: Described, client: httpx2.Client, hosts: dict[str, str]) -> None:
        self.described, self.client, self.hosts = described, client, hosts
        self.found: dict[str, Any] = {"parameters": {}, "requests": {}, "responses": {}, "events": {}}
        self._ids: dict[str, str] = {}

    def __call__(self, name: str, method: str, path: str, **sent: Any) -> Any:
        """Send it, and keep it as the example ``name`` of its call."""
        answer = self.client.request(method, path, **sent)
        assert answer.is_success, answer.text
        self.described.check(answer)
        operation = self.described.operation(answer.request)
        assert operation is not None
        key = operation["operationId"]
        body = sent.get("json", sent.get("data"))
        if body is not None:
            self._put("requests", key, name, body)
        said = self._parameters(operation, path, sent.get("params", {}))
        if said:
            self.found["parameters"].setdefault(key, self._plain(said))
        if answer.content:
            self._put("responses", f"{key} {answer.status_code}", name, answer.json())
        return answer.json() if answer.content else None

    def events(self) -> None:
        """Keep the first event of each type."""
        for event in self.client.get("/v1/events", params={"limit": 1000}).json()["data"]:
            self.described.fits({"$ref": "#/components/schemas/Event"}, event, event["type"])
            self.found["events"].setdefault(event["type"], self._plain(event))

    def _parameters(self, operation: dict[str, Any], path: str, query: dict[str, Any]) -> dict[str, Any]:
        [template] = [one for one, item in self.described.root["paths"].items() if operation in item.values()]
        names = re.findall(r"\{(\w+)\}", template)
        form = re.sub(r"\{(\w+)\}", "([^/]+)", template)
        match = re.fullmatch(form, path)
        assert match is not None
        return dict(zip(names, match.groups(), strict=True)) | query

    def _put(self, part: str, key: str, name: str, value: Any) -> None:
        self.found[part].setdefault(key, {}).setdefault(name, self._plain(value))

    def _plain(self, value: Any, member: str = "") -> Any:
        if isinstance(value, dict):
            return {self._plain(name): self._plain(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self._plain(one, member) for one in value]
        if value is not None and FIXED.get(member) is not None and isinstance(value, type(FIXED[member])):
            return FIXED[member]
        return self._text(value, member) if isinstance(value, str) else value

    def _text(self, value: str, member: str) -> str:
        if TIME.fullmatch(value):
            return LATER if member in {"expires_at", "next_refresh_at", "next_at", "period_end"} else SOONER
        for here, there in self.hosts.items():
            value = value.replace(here, there)
        value = CHARGE.sub("ch_3PMdCz2eZvKYlo2C", value)
        return ID.sub(lambda found: self._ids.setdefault(found[0], _id(found[1], len(self._ids))), value)


def _id(prefix: str, number: int) -> str:
    digest = hashlib.sha256(f"{prefix} {number}".encode()).digest()
    return f"{prefix}_{base64.urlsafe_b64encode(digest).decode()[:32]}"


def kept(found: dict[str, Any], part: str, *, write: bool) -> dict[str, Any]:
    """What the file has of this ``part``; with ``write``, it has ``found`` from now on."""
    path = Path(FILE)
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if write:
        whole[part] = found
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return dict(whole[part])
