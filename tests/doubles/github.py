"""GitHub as an app sees it: people authorize the app, and its key gets tokens of its installations.

The paths, the fields and the refusals are those of docs.github.com, "REST API endpoints for GitHub App installations"
and "Generating an installation access token for a GitHub App".
"""

from __future__ import annotations

import json
import re
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response

APP_KEY = RSAKey.generate_key(2048)
ADMIN, WRITER, READER = ("admin", "push", "pull"), ("push", "pull"), ("pull",)


class GitHub(Provider):
    """``installations``: by id, the repositories of each, by name with their ids. ``reach``: what each user may do in
    which repository of which installation. ``more``: what a minted token may do beside what was asked.
    """

    def __init__(self) -> None:
        self.installations = {7: {f"repo-{number}": 700 + number for number in range(130)} | {"api": 1, "site": 2},
                              8: {"secret-plans": 3}}  # fmt: skip
        self.reach: dict[str, dict[int, dict[str, tuple[str, ...]]]] = {
            "alice": {7: {"api": WRITER, "site": READER, **{f"repo-{number}": READER for number in range(130)}}},
            "bob": {8: {"secret-plans": ADMIN}},
        }
        self.more: dict[str, Any] = {}
        self.life = timedelta(hours=1)
        self.minted: dict[str, dict[str, Any]] = {}
        self.refused_by: str = ""  # why the last assertion was refused
        super().__init__(client_secret="the-app's-client-secret")

    def respond(self, request: Request) -> Response:
        if found := re.fullmatch(r"/user/installations/(\d+)/repositories", request.path):
            return self._counted("reach", request, self._reached(int(found[1]), request))
        if found := re.fullmatch(r"/app/installations/(\d+)/access_tokens", request.path):
            return self._counted("mint", request, self._mint(int(found[1]), request))
        if (request.method, request.path) == ("DELETE", "/installation/token"):
            gone = self.minted.pop(request.headers["authorization"].removeprefix("Bearer "), None)
            return self._counted("end", request, Response(204 if gone else 401))
        return super().respond(request)

    def _counted(self, name: str, request: Request, answer: Response) -> Response:
        self.calls[name] += 1
        self.requests.append((name, request))
        return answer

    def _reached(self, number: int, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.live(token):
            return json_response({"message": "Bad credentials"}, 401)
        mine = self.reach.get(self.tokens[token].user["sub"], {}).get(number)
        if mine is None:
            return json_response({"message": "Not Found"}, 404)
        size, page = int(request.query.get("per_page", "30")), int(request.query.get("page", "1"))
        names = list(mine)[(page - 1) * size : page * size]
        listed = [self._repository(number, name) | {
            "permissions": {role: role in mine[name] for role in ("admin", "push", "pull")}
        } for name in names]  # fmt: skip
        return json_response({"total_count": len(mine), "repositories": listed})

    def _repository(self, number: int, name: str) -> dict[str, Any]:
        return {"id": self.installations[number][name], "name": name, "full_name": f"octo-org/{name}", "private": True}

    def _mint(self, number: int, request: Request) -> Response:
        if not self._is_app(request.headers.get("authorization", "").removeprefix("Bearer ")):
            return json_response({"message": "A JSON web token could not be decoded"}, 401)
        said = json.loads(request.body)
        repositories = self.installations.get(number, {})
        by_id = {one: name for name, one in repositories.items()}
        wanted = said.get("repository_ids", list(by_id))
        if not set(wanted) <= by_id.keys():
            return json_response({"message": "There is at least one repository that does not exist."}, 422)
        token = f"ghs_{secrets.token_hex(18)}"
        self.minted[token] = said
        ends = (datetime.now(UTC) + self.life).strftime("%Y-%m-%dT%H:%M:%SZ")
        return json_response({
            "token": token, "expires_at": ends, "repository_selection": "selected",
            "permissions": {"metadata": "read", **said.get("permissions", {})},
            "repositories": [self._repository(number, by_id[one]) for one in wanted], **self.more,
        }, 201)  # fmt: skip

    def _is_app(self, assertion: str) -> bool:
        """RS256, at most ten minutes, for this app."""
        try:
            claims = jwt.decode(assertion, APP_KEY, algorithms=["RS256"]).claims
        except (JoseError, ValueError) as error:
            self.refused_by = str(error)
            return False
        now = time.time()
        return bool(claims["iss"] == self.client_id and claims["iat"] <= now < claims["exp"] <= now + 600)


def pem() -> str:
    return APP_KEY.as_pem(private=True).decode()
