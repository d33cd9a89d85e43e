"""The API's reference as an HTML page. Problem documents link here: ``/v1/docs#error-<code>``."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from elicit_flows.api.openapi import all_errors, operations
from elicit_flows.api.routes import api
from elicit_flows.api.schema_text import fields, names, row
from elicit_flows.domain.values import Json


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The page. The template's first lines list its context."""
    schema = api.get_openapi_schema()
    calls = [_operation(schema, *found) for found in operations(schema)]
    errors = [
        {"code": kind.code, "status": kind.status, "title": kind.title, "anchor": f"error-{kind.code}"}
        for kind in sorted(all_errors(), key=lambda kind: (kind.status, kind.code))
    ]
    return render(request, "api/docs.html", {"api": schema["info"], "operations": calls, "errors": errors})


def _operation(root: Json, method: str, path: str, operation: Json) -> Json:
    answers: list[Json] = []
    for status, answer in operation["responses"].items():
        found = [names(root, media["schema"]) for media in answer.get("content", {}).values()]
        said = answer["description"] + (f": {', '.join(found[0])}" if found and found[0] else "")
        answers.append({"status": "other" if status == "default" else status, "description": said})
    return {
        "method": method,
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", "").replace("``", ""),
        "anchor": operation["operationId"],
        "tag": operation["tags"][0],
        "params": [
            {
                "where": param["in"],
                **row(
                    root,
                    param["name"],
                    param["schema"] | {"description": param.get("description", "")},
                    required=param["required"],
                ),
            }
            for param in operation["parameters"]
        ],
        "body": [
            line
            for media in operation.get("requestBody", {}).get("content", {}).values()
            for line in fields(root, media["schema"])
        ],
        "responses": answers,
    }
