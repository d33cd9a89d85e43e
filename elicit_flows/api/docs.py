"""The API's description as a page for people. Problems point here: ``/v1/docs#error-<code>``."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from elicit_flows.api.describing import fields, given, resolve, row
from elicit_flows.api.openapi import operations
from elicit_flows.api.routes import api
from elicit_flows.errors import FlowError
from elicit_flows.values import Json


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The template says at its top what it is given."""
    schema = api.get_openapi_schema()
    calls = [_operation(schema, *found) for found in operations(schema)]
    return render(request, "api/docs.html", {"api": schema["info"], "operations": calls, "errors": _errors()})


def _operation(root: Json, method: str, path: str, operation: Json) -> Json:
    return {
        "method": method,
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", "").replace("``", ""),
        "anchor": operation["operationId"],
        "tag": operation["tags"][0],
        "params": [_param(root, param) for param in operation["parameters"]],
        "body": list(_body(root, operation)),
        "responses": [_response(root, status, answer) for status, answer in operation["responses"].items()],
    }


def _param(root: Json, param: Json) -> Json:
    """Null is a way of leaving a parameter out, and none that can be written in a query."""
    said = {"description": param.get("description", ""), **given(param["schema"])}
    return {"where": param["in"], **row(root, param["name"], said, required=param["required"])}


def _body(root: Json, operation: Json) -> Iterator[Json]:
    content = operation.get("requestBody", {}).get("content", {})
    for media in content.values():
        yield from fields(root, resolve(root, media["schema"]))


def _response(root: Json, status: int | str, answer: Json) -> Json:
    """The names of the fields that come back."""
    schemas = [resolve(root, media["schema"]) for media in answer.get("content", {}).values()]
    names = [", ".join(schema["properties"]) for schema in schemas if "properties" in schema]
    said = answer["description"] + (f": {names[0]}" if names else "")
    return {"status": "other" if status == "default" else status, "description": said}


def _errors() -> list[Json]:
    """Every error that there is: {code, status, title, anchor}, by status."""
    found = sorted(_all_errors(), key=lambda kind: (kind.status, kind.code))
    return [
        {"code": kind.code, "status": kind.status, "title": kind.title, "anchor": f"error-{kind.code}"}
        for kind in found
    ]


def _all_errors(base: type[FlowError] = FlowError) -> Iterator[type[FlowError]]:
    yield base
    for child in base.__subclasses__():
        yield from _all_errors(child)
