"""Which functions of ours can come to call which other, read from the source.

Calls by name are followed through imports. A call of a method of something that is not known (``kind.begin()``) is
taken to reach every method of that name in the packages whose objects are chosen when the program runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHOSEN_LATE = ("elicit_flows.kinds.",)  # kinds and payment providers are chosen by a row
Names = dict[str, str]


class Reach:
    """``calls``: dotted name of each function to those it mentions."""

    def __init__(self, package: str = "elicit_flows") -> None:
        self.modules: dict[str, ast.Module] = {}
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = ast.parse(path.read_text(encoding="utf-8"))
        self.names = {module: dict(self._named(module)) for module in self.modules}
        self.methods: dict[str, set[str]] = {}
        functions = [(module, *found) for module in self.modules for found in self._functions(module)]
        for module, qualified, _ in functions:
            if "." in qualified and module.startswith(CHOSEN_LATE):
                self.methods.setdefault(qualified.rpartition(".")[2], set()).add(f"{module}.{qualified}")
        self.calls = {f"{module}.{qualified}": set(self._mentioned(module, qualified, node))
                      for module, qualified, node in functions}  # fmt: skip

    def to(self, target: str) -> set[str]:
        """Every function from which ``target`` can be reached."""
        callers: dict[str, set[str]] = {}
        for caller, called in self.calls.items():
            for one in called:
                callers.setdefault(one, set()).add(caller)
        found, new = {target}, [target]
        while new:
            for caller in callers.get(new.pop(), ()):
                if caller not in found:
                    found.add(caller)
                    new.append(caller)
        return found

    def path(self, start: str, target: str) -> list[str]:
        """How ``start`` comes to ``target``, for a message."""
        before: dict[str, str] = {start: ""}
        new = [start]
        while new:
            one = new.pop(0)
            if one == target:
                steps = [one]
                while before[steps[-1]]:
                    steps.append(before[steps[-1]])
                return steps[::-1]
            for called in sorted(self.calls.get(one, ())):
                if called not in before:
                    before[called] = one
                    new.append(called)
        return []

    def _named(self, module: str) -> Iterator[tuple[str, str]]:
        """What each name at the top of a module stands for."""
        for node in ast.walk(self.modules[module]):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.asname or alias.name.split(".")[0], alias.name
        for top in self.modules[module].body:
            for name in _defined(top):
                yield name, f"{module}.{name}"

    def _functions(self, module: str) -> Iterator[tuple[str, ast.stmt]]:
        for node in self.modules[module].body:
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        yield f"{node.name}.{inner.name}", inner
            else:  # ``cache = Cache(fetch)``: who uses the cache comes to what it was made of
                for name in _defined(node):
                    yield name, node

    def _mentioned(self, module: str, qualified: str, function: ast.AST) -> Iterator[str]:
        owner = qualified.rpartition(".")[0]
        called = {node.func for node in ast.walk(function) if isinstance(node, ast.Call)}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield from self._meant(module, [node.id])
            elif isinstance(node, ast.Attribute):
                dotted = _dotted(node)
                if owner and dotted[:1] == ["self"] and len(dotted) == 2:
                    yield f"{module}.{owner}.{dotted[1]}"
                if dotted and dotted[0] in self.names[module]:
                    yield from self._meant(module, dotted)
                elif node in called:
                    yield from self.methods.get(node.attr, ())

    def _meant(self, module: str, dotted: list[str]) -> Iterator[str]:
        meant = self.names[module].get(dotted[0])
        if meant is None:
            return
        yield from self._whole(".".join([meant, *dotted[1:]]))

    def _whole(self, name: str) -> Iterator[str]:
        """What a dotted name stands for, through what packages hand on: a function, a class, which is made, or a method
        of something at the top of a module.
        """
        for _ in range(5):
            owner, _, last = name.rpartition(".")
            if owner in self.modules and last in self.names[owner] and self.names[owner][last] != name:
                name = self.names[owner][last]
                continue
            break
        yield from (name, f"{name}.__init__", name.rpartition(".")[0])


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module makes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _dotted(node: ast.expr) -> list[str]:
    """``a.b.c`` as its parts; [] for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*parts, node.id][::-1] if isinstance(node, ast.Name) else []
