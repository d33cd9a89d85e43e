"""A remote MCP server as its clients find it: a challenge, and the metadata that it leads to. The vendor's own server
is in tests/journey/test_mcp_servers.py.
"""

from __future__ import annotations

from typing import Any

from tests.doubles.server import Request, Response, Route, Server, json_response

WELL_KNOWN = "/.well-known/oauth-protected-resource"


class McpServer(Server):
    """``issuers``: the authorization servers that it names. In ``metadata`` a test's values replace the usual ones.

    ``challenge``: the parameters of its challenge beside ``resource_metadata``, which ``points`` leaves out if it is
    False. Its servers are at /mcp and at /other.
    """

    def __init__(self, *issuers: str) -> None:
        self.issuers = list(issuers)
        self.metadata: dict[str, Any] = {}
        self.challenge = ""
        self.points = True
        super().__init__()

    @property
    def address(self) -> str:
        return f"{self.url}/mcp"

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {
            "/mcp": ("mcp", self._refused),
            "/other": ("mcp", self._refused),
            f"{WELL_KNOWN}/mcp": ("metadata", self._metadata),
            f"{WELL_KNOWN}/other": ("metadata", self._metadata),
            WELL_KNOWN: ("root", lambda _: Response(404)),
        }

    def _refused(self, request: Request) -> Response:
        where = f'resource_metadata="{self.url}{WELL_KNOWN}{request.path}"' if self.points else ""
        said = ", ".join(part for part in (where, self.challenge) if part)
        return Response(401, b"", {"WWW-Authenticate": f"Bearer {said}"})

    def _metadata(self, request: Request) -> Response:
        usual = {
            "resource": f"{self.url}{request.path.removeprefix(WELL_KNOWN)}",
            "authorization_servers": self.issuers,
        }
        return json_response({name: value for name, value in (usual | self.metadata).items() if value is not None})
