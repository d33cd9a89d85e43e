"""The OpenAPI 3.1 document: what django-ninja generates, and what it cannot know: the shapes of each kind, the codes of
errors, webhooks and examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from ninja import NinjaAPI
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from pydantic.json_schema import models_json_schema

from elicit_flows.api import openapi_examples, openapi_proxied
from elicit_flows.api.elicitation_shapes import Create
from elicit_flows.api.event_shapes import EVENT_TYPES, Event, name_of
from elicit_flows.api.form_shapes import FormParams
from elicit_flows.api.responses import PROBLEM
from elicit_flows.api.schemas import Problem
from elicit_flows.domain.errors import FlowError
from elicit_flows.domain.values import Json
from elicit_flows.events.publish import LIVE
from elicit_flows.wires import MESSAGES

METHODS = ("get", "put", "post", "delete", "patch")

_KEY = {"type": "http", "scheme": "bearer", "description": "The agent's API key."}
_PROBLEM: Final = {
    "description": "What went wrong (RFC 9457); code says which error it is",
    "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

# What ninja cannot find out from the views.
IDEMPOTENT: Json = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "Your own id for this request: repeated with the same body, it is done once.",
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
            "description": "For a stream: the cursor to resume after, as browsers send it.",
        }
    ],
    "responses": {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
}
# The headers of a webhook, by https://www.standardwebhooks.com.
_SIGNED: Final = {
    "webhook-id": "The event's id: the same in every attempt.",
    "webhook-timestamp": "When this attempt was signed, in seconds since 1970.",
    "webhook-signature": "`v1,` and base64 of the HMAC-SHA256 of id, timestamp and body, joined by dots. While the "
    "secret is being changed: one for each secret, separated by spaces.",
}


class DescribedAPI(NinjaAPI):
    """Every call needs the key, and may answer with a problem document."""

    _made: OpenAPISchema | None = None

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Json | None = None) -> OpenAPISchema:
        """The document, made once: it takes a second, and anybody may ask for it. Do not change it."""
        if self._made is not None:
            return self._made
        schema = super().get_openapi_schema()
        schema["servers"] = [{"url": settings.ELICIT_PUBLIC_URL}]
        schema["security"] = [{"key": []}]
        schema["components"]["securitySchemes"] = {"key": _KEY}
        _add_shapes(schema["components"]["schemas"])
        openapi_proxied.add(schema)
        schema["webhooks"] = {kind: {"post": _webhook(kind)} for kind in EVENT_TYPES if kind not in LIVE}
        for _, _, operation in operations(schema):
            operation["responses"]["default"] = _PROBLEM
            for parameter in operation["parameters"]:
                # Without null, which an address cannot say, and without the default.
                said = dict(parameter["schema"])
                others = [one for one in said.get("anyOf", []) if one.get("type") != "null"]
                if others:
                    del said["anyOf"]
                    said |= others[0]
                _move_default(said, parameter)
                parameter["schema"] = said
                if parameter["name"] == "protocol":
                    parameter["schema"]["enum"] = list(MESSAGES)
            for content in operation.get("requestBody", {}).get("content", {}).values():
                _say_defaults(content["schema"])
        for one in schema["components"]["schemas"].values():
            _say_defaults(one)
        openapi_examples.add(schema)
        self._made = schema
        return schema

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """``elicitations_create``: the names of the module and the view."""
        view = operation.view_func
        return f"{view.__module__.rpartition('.')[2]}_{view.__name__}"


def _add_shapes(schemas: Json) -> None:
    """The shapes that no view declares, because it reads them itself or writes them as they are."""
    models: list[Any] = [(Create, "validation"), (FormParams, "validation"), (Event, "serialization")]
    models.append((Problem, "serialization"))
    schemas |= models_json_schema(models, ref_template=REF_TEMPLATE)[1]["$defs"]
    for name in ("Filter", "Paging"):  # only parameters of the lists
        del schemas[name]
    schemas["CreateElicitation"] = schemas.pop("Create") | {"title": "CreateElicitation"}
    schemas["AskAgain"]["properties"]["params"] = {
        "anyOf": [_ref("FormParams"), {"type": "null"}],
        "description": schemas["AskAgain"]["properties"]["params"]["description"],
    }
    codes = sorted({kind.code for kind in all_errors()})
    for name, values in (("ErrorCode", codes), ("EventType", list(EVENT_TYPES))):
        schemas[name] = {"title": name, "type": "string", "enum": values, "description": "There may be more."}
    for name in ("Problem", "OAuthError"):
        schemas[name]["properties"]["code"] = _ref("ErrorCode")
    schemas["Delivery"]["properties"]["type"] = _ref("EventType")


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _say_defaults(schema: Json) -> None:
    """Say defaults in words: generated clients would take a field with a ``default`` for one that is always there."""
    for name, field in schema.get("properties", {}).items():
        if name not in schema.get("required", []):
            _move_default(field, field)


def _move_default(schema: Json, described: Json) -> None:
    default = schema.pop("default", None)
    if default not in (None, "", {}, []):
        described["description"] = f"{described.get('description', '')} When left out: {default}.".strip()


def _webhook(kind: str) -> Json:
    """The request that the agent's endpoint gets for an event."""
    return {
        "operationId": f"webhook_{kind.replace('.', '_')}",
        "summary": kind,
        "tags": ["webhooks"],
        "security": [],
        "parameters": [
            {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": said}
            for name, said in _SIGNED.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(name_of(kind))}}},
        "responses": {
            "2XX": {"description": "It was taken."},
            "410": {"description": "The endpoint is gone, and is not called any more."},
            "default": {"description": "It is sent again later."},
        },
    }


def all_errors(base: type[FlowError] = FlowError) -> Iterator[type[FlowError]]:
    """All error classes."""
    yield base
    for child in base.__subclasses__():
        yield from all_errors(child)


def operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    """Method, path and description of every call."""
    for path, item in schema["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]
