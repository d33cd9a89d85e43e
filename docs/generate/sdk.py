"""The SDK's reference, from its docstrings and signatures."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from docs.generate.api import prose

MODULES = {
    "elicit_flows.sdk": "What every agent imports.",
    "elicit_flows.sdk.mcp": "For the tools of an MCP server.",
    "elicit_flows.sdk.acp": "For an ACP agent.",
    "elicit_flows.sdk.frameworks": "For the tools of agent frameworks.",
    "elicit_flows.sdk.ahp": "For an AHP host.",
    "elicit_flows.sdk.tesseron": "For an app on Tesseron.",
    "elicit_flows.sdk.hosts": "For MCP clients, and for tests of MCP servers.",
    "elicit_flows.sdk.testing": "For the tests of your agent.",
}
# Their methods are the other client's, without `await`.
SAME = {"SyncElicit": "Elicit"}


def part() -> str:
    return "\n".join(line for name, about in MODULES.items() for line in module(importlib.import_module(name), about))


def module(found: ModuleType, about: str) -> Iterator[str]:
    yield f"## {found.__name__}\n"
    yield about + "\n"
    for name in found.__all__:
        thing = getattr(found, name)
        if inspect.isclass(thing):
            yield from class_(name, thing)
        elif callable(thing) and hasattr(thing, "__name__"):
            yield from function(name, thing, "###")
        elif hasattr(thing, "_fixture_function"):  # pytest's wrapper of a fixture
            yield from said(f"### {name}", thing._fixture_function)
        else:
            yield f"### {name}\n"
            yield f"`{name} = {short(str(thing))}`\n"


def class_(name: str, found: type) -> Iterator[str]:
    yield from said(f"### {name}", found)
    if issubclass(found, BaseException):
        yield f"A subclass of {' and '.join(f'`{base.__name__}`' for base in found.__bases__)}.\n"
    if name in SAME:
        yield f"It has the methods of `{SAME[name]}`, which block instead of being awaited.\n"
        return
    if not issubclass(found, BaseException):
        yield from signature(name, found)
    for method, thing in inspect.getmembers(found):
        inherited = issubclass(found, BaseException) and method not in vars(found)
        if not method.startswith("_") and not inherited and own(thing):
            if isinstance(thing, property):
                yield from said(f"#### {name}.{method}", thing.fget)
            else:
                yield from function(f"{name}.{method}", thing, "####")


def own(thing: object) -> bool:
    """Whether it is a method or property of this project's."""
    target: Any = thing.fget if isinstance(thing, property) else thing
    return inspect.isfunction(target) and target.__module__.startswith("elicit_flows")


def function(name: str, thing: Any, level: str) -> Iterator[str]:
    yield from said(f"{level} {name}", thing)
    yield from signature(name, thing)


def said(heading: str, thing: Any) -> Iterator[str]:
    yield f"{heading}\n"
    text = inspect.getdoc(thing) or ""
    # What dataclasses and enumerations say of themselves is their signature.
    if text and not re.match(r"\w+\(.*\)$", text, re.DOTALL):
        yield prose(text) + "\n"


def signature(name: str, thing: Any) -> Iterator[str]:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return
    shown: list[str] = []
    for one in found.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in shown and not any(part.startswith("*") for part in shown):
            shown.append("*")
        if one.name != "self":
            shown.append(parameter(one))
    returns = "" if inspect.isclass(thing) or found.return_annotation is found.empty else found.return_annotation
    waits = "await " if inspect.iscoroutinefunction(thing) else ""
    yield f"`{waits}{name}({', '.join(shown)})`" + (f" → `{returns}`\n" if returns else "\n")


def parameter(one: inspect.Parameter) -> str:
    """As it stands in the source; annotations are strings there already."""
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    annotation = "" if one.annotation is one.empty else f": {one.annotation}"
    default = "" if one.default is one.empty else f" = {one.default!r}"
    return short(re.sub(r" at 0x[0-9a-f]+", "", f"{stars}{one.name}{annotation}{default}"))


def short(text: str) -> str:
    return text.replace("`", "'").replace("typing.", "").replace("elicit_flows.sdk.", "")
