"""The TypeScript client's calls of a provider's API through the service."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from elicit_flows.models import Connection
from tests.doubles.server import json_response
from tests.proxied.conftest import Api
from tests.sdk.typescript.conftest import PACKAGE, PROGRAMS
from tests.support import op
from tests.support.process import clean_env
from tests.support.rows import Known
from tests.support.serving import Served


def test_a_request_returns_the_apis_answer_and_what_the_service_refuses_is_an_error(
    served: Served, known: Known, held: Connection, upstream: Api, token: str, tmp_path: Path
) -> None:
    upstream.scripted["/v2/gone"] = json_response({"message": "gone"}, 404)
    source = (PROGRAMS / "proxied.ts").read_text().replace('"elicit-flows"', json.dumps(str(PACKAGE / "src/index.ts")))
    (tmp_path / "proxied.mts").write_text(source)
    env = {"ELICIT_URL": served.url, "ELICIT_API_KEY": known.who.api_key, "OF": held.pk, "HOST": upstream.host}
    command = [str(op.node()), "--experimental-strip-types", "--no-warnings", "proxied.mts"]
    ran = subprocess.run(command, cwd=tmp_path, env=clean_env(env), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    said = {word: value for line in ran.stdout.splitlines() for word, value in json.loads(line).items()}
    assert said["got"] == {"path": "/v2/me", "query": {"a": "1"}, "method": "GET"}
    assert said["gone"] == [404, {"message": "gone"}]
    assert said["posted"]["method"] == said["streamed"]["method"] == "POST"
    bodies = [request.body for _, request in upstream.requests if request.method == "POST"]
    assert bodies == [b'{"name":"x"}', b"in pieces"]
    assert {request.headers["authorization"] for _, request in upstream.requests} == {f"Bearer {token}"}
    assert said["refused"] == ["not_found", "bad_path"]
    assert said["away"] == ["TypeError"] * 4
    assert len(upstream.requests) == 4
