"""The HTTP API's reference, from the service's own OpenAPI document and ``api_examples.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from elicit_flows.api.openapi import operations
from elicit_flows.api.routes import api
from elicit_flows.api.schema_text import fields, names, row
from elicit_flows.domain.values import Json

EXAMPLES = Path(__file__).with_name("api_examples.md")


def part() -> str:
    schema = api.get_openapi_schema()
    shown = examples()
    by_tag: dict[str, list[str]] = {}
    for method, path, operation in operations(schema):
        parts = by_tag.setdefault(operation["tags"][0], [])
        parts.append("\n".join(call(schema, method, path, operation)))
        parts.append(shown[operation["operationId"]])
    return "\n".join(line for tag, parts in by_tag.items() for line in (f"## {tag.capitalize()}\n", *parts))


def examples() -> dict[str, str]:
    """By the operation's id: the section of api_examples.md below the heading of that name."""
    sections = re.split(r"^## (\w+)\n", EXAMPLES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))


def call(root: Json, method: str, path: str, operation: Json) -> Iterator[str]:
    yield f"### {operation['summary']} {{#{operation['operationId']}}}\n"
    yield f"`{method.upper()} {path}`\n"
    if "description" in operation:
        yield prose(operation["description"]) + "\n"
    params = [
        row(root, one["name"], one["schema"] | {"description": one.get("description", "")}, required=one["required"])
        | {"where": one["in"]}
        for one in operation["parameters"]
    ]
    if params:
        yield table(["parameter", "in", "type", "required", "description"], params, "name", "where", "type")
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"The body is `{media}`:\n"
        body = list(fields(root, content["schema"]))
        yield table(["field", "type", "required", "description"], body, "name", "type")
    yield "\n".join(answers(root, operation)) + "\n"


def answers(root: Json, operation: Json) -> Iterator[str]:
    """A line for each shape of an answer."""
    shapes: dict[str, list[str]] = {}
    for status, answer in operation["responses"].items():
        found = [name for content in answer.get("content", {}).values() for name in names(root, content["schema"])]
        if status != "default":
            shown = ", ".join(f"`{name}`" for name in found) or answer["description"]
            shapes.setdefault(shown, []).append(str(status))
    yield "The answer:\n"
    for shown, statuses in shapes.items():
        yield f"- {' or '.join(sorted(statuses))}: {shown}"
    yield "- any other status: a problem, see [errors](errors.md)"


def table(heads: list[str], rows: list[Json], *columns: str) -> str:
    """``columns`` are the keys of a row; whether it is required and its description come last."""
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    for one in rows:
        cells = [f"`{one[columns[0]]}`", *(cell(str(one[name])) for name in columns[1:])]
        cells += ["yes" if one["required"] else "", prose(cell(one["description"]))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text that stands in one cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def prose(text: str) -> str:
    """A docstring's double backticks are Markdown's single ones."""
    return text.replace("``", "`").strip()
