"""The API's description, OpenAPI 3.1: what ninja finds out, and what holds for every call."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from elicit_flows.api.problems import PROBLEM
from elicit_flows.api.schemas import Problem
from elicit_flows.values import Json

METHODS = ("get", "put", "post", "delete", "patch")

_KEY = {"type": "http", "scheme": "bearer", "description": "The agent's API key."}
_PROBLEM = {
    "description": "What went wrong (RFC 9457); code says which error it is",
    "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

# What ninja cannot see in the views.
IDEMPOTENT: Json = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "Your own name for this request: repeated with the same body it is done once.",
        }
    ]
}
STREAM: Json = {
    "parameters": [
        {
            "in": "header",
            "name": "Last-Event-ID",
            "required": False,
            "schema": {"type": "string"},
            "description": "For a stream: the cursor to go on behind, as browsers send it.",
        }
    ],
    "responses": {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
}


class DescribedAPI(NinjaAPI):
    """Every call needs the key and may answer a problem."""

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Json | None = None) -> OpenAPISchema:
        schema = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        schema["servers"] = [{"url": settings.ELICIT_PUBLIC_URL}]
        schema["security"] = [{"key": []}]
        schema["components"]["securitySchemes"] = {"key": _KEY}
        schema["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        for _, _, operation in operations(schema):
            operation["responses"]["default"] = _PROBLEM
        return schema

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """``elicitations_create``: the module's name and the view's."""
        view = operation.view_func
        return f"{view.__module__.rpartition('.')[2]}_{view.__name__}"


def operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    """Method, path and description of every call."""
    for path, item in schema["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]
