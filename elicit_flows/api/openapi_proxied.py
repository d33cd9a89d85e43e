"""The calls of providers' APIs in the OpenAPI document. They have no view: the event loop answers them
(api/streaming/api_proxy.py).
"""

from __future__ import annotations

from typing import Final

from elicit_flows.domain.values import Json

PATH: Final = "/v1/connections/{connection_id}/proxy/{path}"
_WITH_BODY = ("post", "put", "patch")
_TEXT = (
    "Sends the request on to the provider's API, with the credential, and returns the API's answer as it is: status, "
    "headers and body, also of an error. Such an answer has `Elicit-Answered-By` with the API's host; one without "
    "it is this service's own. HEAD is offered too. Redirects are not followed. A token that the API answers with 401 "
    "is refreshed once, and the request is sent again if its body has at most 64 KiB."
)


def _in_path(name: str, said: str, example: str) -> Json:
    schema = {"type": "string"}
    return {"in": "path", "name": name, "required": True, "schema": schema, "description": said, "example": example}


def _header(name: str, said: str) -> Json:
    return {"in": "header", "name": name, "required": False, "schema": {"type": "string"}, "description": said}


def _operation(method: str) -> Json:
    said: Json = {
        "operationId": f"connections_proxy_{method}",
        "summary": f"Call the provider's API ({method.upper()})",
        "tags": ["connections"],
        "description": _TEXT,
        "parameters": [
            _in_path("connection_id", "The connection's id.", "cn_6rXvQpT2mY8LkW4hB9sEfZ"),
            _in_path("path", "The path below the API's address; it may have slashes.", "files/17"),
            _header("Elicit-Api-Host", "Which of the API's hosts, if it has several."),
            _header("Elicit-User-Token", "The user's own access token, if the operator requires it."),
        ],
        "responses": {
            "200": {
                "description": "The API's answer, whatever its status.",
                "headers": {
                    "Elicit-Answered-By": {"schema": {"type": "string"}, "description": "The host that answered."}
                },
                "content": {"*/*": {"schema": {}}},
            }
        },
    }
    if method in _WITH_BODY:
        said["requestBody"] = {"required": False, "content": {"*/*": {"schema": {}}}}
    return said


def add(schema: Json) -> None:
    """Put the calls into the document."""
    schema["paths"][PATH] = {method: _operation(method) for method in ("get", *_WITH_BODY, "delete")}
