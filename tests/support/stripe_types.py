"""The installed Stripe SDK's own types, read from its source: what an answer has to look like.

The SDK is generated from Stripe's definition of the API, so its annotations are that definition as far as it goes:
Optional may be absent, a Literal is an enumeration (an open one as well: a double has no business beyond it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import stripe
from stripe import _object_classes

ROOT = Path(stripe.__file__).parent.parent
SCALARS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "bool": (bool,), "float": (int, float)}
ANYTHING = {"Any", "object"}


@dataclass(frozen=True)
class Module:
    """``imported``: name -> (module, name there)."""

    classes: dict[str, ast.ClassDef]
    imported: dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Scope:
    """Where a name in an annotation is looked up: the class that it stands in, then the module."""

    module: Module
    within: ast.ClassDef | None = None

    def find(self, name: str) -> tuple[ast.ClassDef, Scope]:
        inner = self.within and {one.name: one for one in self.within.body if isinstance(one, ast.ClassDef)}.get(name)
        if inner:
            return inner, Scope(self.module, inner)
        if name in self.module.classes:
            return self.module.classes[name], Scope(self.module, self.module.classes[name])
        where, there = self.module.imported[name]
        return Scope(load(where)).find(there)


@cache
def load(name: str) -> Module:
    tree = ast.parse(ROOT.joinpath(*name.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return Module({one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}, imported)


def find_class(module: str, name: str) -> tuple[ast.ClassDef, Scope]:
    return Scope(load(module)).find(name)


def class_of(kind: str) -> tuple[ast.ClassDef, Scope]:
    """The class for the value of ``object`` in an answer."""
    module, name = _object_classes.OBJECT_CLASSES.get(kind) or _object_classes.V2_OBJECT_CLASSES[kind]
    return find_class(module, name)


def fields(node: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        one.target.id: one.annotation
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not is_class_variable(one)
    }


def is_class_variable(one: ast.AnnAssign) -> bool:
    return ast.unparse(one.annotation).startswith("ClassVar") or ast.unparse(one.target).startswith("_")


def faults(answer: dict[str, Any]) -> list[str]:
    """What is wrong with an answer, each as ``path: what``; a list's items are looked at too."""
    kind = answer.get("object")
    if kind == "list":
        return [f"data[{n}].{fault}" for n, one in enumerate(answer["data"]) for fault in faults(one)]
    if kind == "event":
        return [*in_class("", answer, *class_of("event")), *(f"data.{f}" for f in faults(answer["data"]["object"]))]
    return list(in_class("", answer, *class_of(str(kind))))


def in_class(path: str, value: Any, node: ast.ClassDef, scope: Scope) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no {node.name}"
        return
    known = fields(node)
    for name in value.keys() - known.keys():
        yield f"{path}.{name}: {node.name} has no such field"
    for name, annotation in known.items():
        if name in value:
            yield from against(f"{path}.{name}", value[name], annotation, scope)
        elif not is_optional(annotation):
            yield f"{path}.{name}: missing"


def is_optional(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Optional"


def against(path: str, value: Any, annotation: ast.expr, scope: Scope) -> list[str]:
    """What is wrong with ``value`` if the field is annotated so."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return against(path, value, ast.parse(annotation.value, mode="eval").body, scope)
    if isinstance(annotation, ast.Subscript):
        return against_generic(path, value, ast.unparse(annotation.value), arguments(annotation), scope)
    name = ast.unparse(annotation)
    if name in ANYTHING:
        return []
    if name in SCALARS:
        right = isinstance(value, SCALARS[name]) and (name == "bool" or not isinstance(value, bool))
        return [] if right else [f"{path}: {value!r} is no {name}"]
    if name == "Decimal":
        return [] if isinstance(value, str | Decimal) else [f"{path}: {value!r} is no decimal in a string"]
    return list(in_class(path, value, *scope.find(name)))


def arguments(annotation: ast.Subscript) -> list[ast.expr]:
    return annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]


def against_generic(path: str, value: Any, name: str, inner: list[ast.expr], scope: Scope) -> list[str]:
    match name:
        case "Optional":
            return [] if value is None else against(path, value, inner[0], scope)
        case "Literal":
            allowed = [ast.literal_eval(one) for one in inner]
            return [] if value in allowed else [f"{path}: {value!r} is not one of {allowed}"]
        case "Union":
            return against_union(path, value, inner, scope)
        case "ExpandableField":
            return [] if isinstance(value, str) else against(path, value, inner[0], scope)
        case "List":
            return against_items(path, value, inner[0], scope)
        case "ListObject":
            return against_list(path, value, inner[0], scope)
        case "UntypedStripeObject" | "Dict":
            return against_values(path, value, inner[-1], scope)
    raise LookupError(f"{path}: an annotation that this checker does not know: {name}")


def against_union(path: str, value: Any, inner: list[ast.expr], scope: Scope) -> list[str]:
    enumerated = any(ast.unparse(one).startswith("Literal") for one in inner)
    real = [one for one in inner if not (enumerated and ast.unparse(one) == "str")]
    return min((against(path, value, one, scope) for one in real), key=len)


def against_items(path: str, value: Any, item: ast.expr, scope: Scope) -> list[str]:
    if not isinstance(value, list):
        return [f"{path}: {value!r} is no list"]
    return [fault for n, one in enumerate(value) for fault in against(f"{path}[{n}]", one, item, scope)]


def against_list(path: str, value: Any, item: ast.expr, scope: Scope) -> list[str]:
    if not isinstance(value, dict) or value.keys() != {"object", "data", "has_more", "url"}:
        return [f"{path}: {value!r} is no list object"]
    return against_items(f"{path}.data", value["data"], item, scope)


def against_values(path: str, value: Any, item: ast.expr, scope: Scope) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no hash"]
    return [fault for name, one in value.items() for fault in against(f"{path}.{name}", one, item, scope)]
