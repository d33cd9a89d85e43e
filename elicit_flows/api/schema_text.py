"""Describes JSON Schema in words, as far as this API uses it."""

from __future__ import annotations

from collections.abc import Iterator

from elicit_flows.domain.values import Json

_WORDS = {"date-time": "time (RFC 3339)", "object": "object", "array": "list"}


def resolve(root: Json, schema: Json) -> Json:
    """``schema``, or the schema that its ``$ref`` or its only alternative to null points to."""
    if "$ref" in schema:
        found: Json = root["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    only = given(schema)
    return schema if only is schema else resolve(root, only)


def given(schema: Json) -> Json:
    """``schema`` without null, if that leaves one alternative."""
    others = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return others[0] if len(others) == 1 else schema


def type_name(root: Json, schema: Json) -> str:
    """For example ``string or null``, ``list of string``, ``"pay" or "save"``."""
    if "oneOf" in schema:
        return "object"
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


def alternatives(root: Json, schema: Json) -> list[Json]:
    """The objects of which ``schema`` allows one; itself, if it is an object; none for all else."""
    found = resolve(root, schema)
    several = found.get("oneOf", found.get("anyOf", []))
    if several:
        return [inner for one in several for inner in alternatives(root, one)]
    return [found] if "properties" in found else []


def names(root: Json, schema: Json) -> list[str]:
    """The names of all fields."""
    return list(dict.fromkeys(name for one in alternatives(root, schema) for name in one["properties"]))


def fields(root: Json, schema: Json, prefix: str = "", of: str = "") -> Iterator[Json]:
    """One row for each field: {name, type, required, description}. Nested fields have dotted names. ``of``: what the
    descriptions begin with.
    """
    among = alternatives(root, schema)
    by = resolve(root, schema).get("discriminator", {}).get("propertyName", "")
    for name in names(root, schema):
        having = [one for one in among if name in one["properties"]]
        found = [one["properties"][name] for one in having]
        required = len(having) == len(among) and all(name in one.get("required", []) for one in having)
        if name == by:
            found = [{"enum": [one["const"] for one in found]}]
        whole = found[0]
        if found.count(whole) < len(found):  # the alternatives differ
            whole = {"type": "object", "description": whole.get("description", "")}
        said = row(root, prefix + name, whole, required=required)
        yield said | {"description": f"{of} {said['description']}".strip()}
        if whole is found[0]:
            yield from fields(root, whole, f"{prefix}{name}.", of)
            continue
        for one, inner in zip(having, found, strict=True):
            only = f"For {by} {one['properties'][by]['const']}." if by else of
            yield from fields(root, inner, f"{prefix}{name}.", only)


def row(root: Json, name: str, schema: Json, *, required: bool) -> Json:
    said = schema.get("description", "")
    return {"name": name, "type": type_name(root, schema), "required": required, "description": said}
