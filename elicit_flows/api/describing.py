"""JSON Schema in words, as far as this API uses it."""

from __future__ import annotations

from collections.abc import Iterator

from elicit_flows.values import Json

_WORDS = {"date-time": "time (RFC 3339)", "object": "object", "array": "list"}


def resolve(root: Json, schema: Json) -> Json:
    """``schema``, or what its ``$ref`` or its only alternative beside null points to."""
    if "$ref" in schema:
        found: Json = root["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    only = given(schema)
    return schema if only is schema else resolve(root, only)


def given(schema: Json) -> Json:
    """``schema`` without null, where that leaves one alternative."""
    others = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return others[0] if len(others) == 1 else schema


def type_name(root: Json, schema: Json) -> str:
    """Such as ``string or null``, ``list of string``, ``"pay" or "save"``."""
    if "anyOf" in schema:
        return " or ".join(type_name(root, one) for one in schema["anyOf"])
    if "$ref" in schema:
        found = resolve(root, schema)
        return type_name(root, found) if "enum" in found else str(found["title"])
    if "enum" in schema or "const" in schema:
        return " or ".join(f'"{value}"' for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {type_name(root, schema['items'])}"
    return _WORDS.get(schema.get("format", ""), str(schema.get("type", "any")))


def fields(root: Json, schema: Json, prefix: str = "") -> Iterator[Json]:
    """One row a field: {name, type, required, description}; what is nested has dotted names."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        yield row(root, prefix + name, field, required=name in required)
        inner = resolve(root, field)
        if "properties" in inner:
            yield from fields(root, inner, f"{prefix}{name}.")


def row(root: Json, name: str, schema: Json, *, required: bool) -> Json:
    said = schema.get("description", "")
    if not required and schema.get("default") not in (None, "", {}):
        said = f"{said} When left out: {schema['default']}.".strip()
    return {"name": name, "type": type_name(root, schema), "required": required, "description": said}
