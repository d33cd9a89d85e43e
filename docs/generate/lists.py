"""Lists that the code has: environment variables, configuration keys, commands, errors, events, metrics, providers."""

from __future__ import annotations

import ast
import tomllib
from argparse import Action, ArgumentParser, _SubParsersAction
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management import call_command, get_commands, load_command_class
from django.db import connection

from docs.generate.api import cell
from elicit_flows.api.event_shapes import EVENT_TYPES
from elicit_flows.api.metrics import MetricsCollector
from elicit_flows.api.openapi import all_errors
from elicit_flows.catalogue import Entry, entries
from elicit_flows.catalogue.most_used import FACTS, MOST_USED, answered, facts, undocumented
from elicit_flows.config_file.schema import SINGLE, TABLES
from elicit_flows.job_table import JOBS

ROOT: Final = Path(__file__).resolve().parents[2]
MEANINGS: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("meanings.toml").read_text(encoding="utf-8")
)
READERS: Final = (
    "text",
    "flag",
    "number",
    "one_of",
    "origin",
    "address",
    "networks",
    "allowed_networks",
    "proxy",
    "authorities",
    "audit_log",
    "smtp",
    "sender",
    "kept",
    "database",
    "redis",
    "broker",
    "installed",
)


def table(heads: list[str], rows: Iterator[list[str]] | list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell(one) for one in line) + " |" for line in lines) + "\n"


def settings() -> str:
    """Every variable that config/settings.py reads, in its order."""
    rows = ([f"`{name}`", default, MEANINGS["settings"][name]] for name, default in variables().items())
    return table(["variable", "default", "meaning"], rows)


def variables() -> dict[str, str]:
    """Name and default of every variable, as the calls of ``config.env`` in the settings have them."""
    found = {}
    for node in ast.walk(ast.parse((ROOT / "config/settings.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("env.") in READERS:
            found[str(ast.literal_eval(node.args[0]))] = default_of(node)
    return dict(sorted(found.items()))


def default_of(call: ast.Call) -> str:
    name = str(ast.literal_eval(call.args[0]))
    if name in MEANINGS["defaults"]:
        return MEANINGS["defaults"][name]
    reader = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "default")]
    # Another variable is no default to be named.
    if reader == "installed" or not given or isinstance(given[0], ast.Name):
        return "off" if reader == "flag" else "none"
    value = ast.literal_eval(given[0])
    if reader == "flag":
        return "on" if value else "off"
    default = f"`{value}`"
    bounds = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg in {"low", "high"}}
    return f"{default}, from {bounds['low']:,} to {bounds['high']:,}" if bounds else default


def configuration() -> str:
    """Every table of a configuration file with its keys."""
    parts = []
    for name, keys in TABLES.items():
        rows = []
        for key, one in keys.items():
            default = "required" if one.required else default_key(one.default)
            rows.append([f"`{key}`", default, MEANINGS[head_of(name)][key]])
        parts.append(f"### {head_of(name)}\n\n{table(['key', 'default', 'meaning'], rows)}")
    return "\n".join(parts)


def head_of(name: str) -> str:
    """How a table is begun in the file."""
    return f"[{name}]" if name in SINGLE else f"[[{name}]]"


def default_key(default: Any) -> str:
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if default in ("", None, {}):
        return ""
    return f"`{str(default).replace(chr(39), chr(34))}`" if isinstance(default, list) else f'`"{default}"`'


def commands() -> str:
    """The management commands of this project."""
    parts = []
    for name, app in sorted(get_commands().items()):
        if isinstance(app, str) and app.startswith("elicit_flows"):
            parser = load_command_class(app, name).create_parser("manage.py", name)
            parts.append("\n".join(command(name, parser)))
    return "\n".join(parts)


BY_DJANGO: Final = {
    "help", "version", "settings", "pythonpath", "traceback", "no_color", "force_color", "verbosity", "skip_checks",
}  # fmt: skip


def command(name: str, parser: ArgumentParser) -> Iterator[str]:
    yield f"## {name}\n"
    if parser.description:
        yield parser.description + "\n"
    yield from arguments(name, parser)


def arguments(name: str, parser: ArgumentParser) -> Iterator[str]:
    """How it is called; a command with commands of its own once for each."""
    actions = [one for one in parser._actions if one.dest not in BY_DJANGO]
    inner = [one for one in actions if isinstance(one, _SubParsersAction)]
    actions = [one for one in actions if one not in inner]
    if not (inner and inner[0].required):
        yield f"`python manage.py {' '.join([name, *(usage(one) for one in actions)])}`\n"
    rows = [[f"`{usage(one).strip('[]')}`", str(one.help or "")] for one in actions if one.help]
    if rows:
        yield table(["argument", "meaning"], rows)
    for choice in inner:
        helps = {one.dest: one.help or "" for one in choice._choices_actions}
        for word, below in choice.choices.items():
            yield f"### {name} {word}\n"
            yield helps.get(word, "") + "\n"
            yield from arguments(f"{name} {word}", below)


def usage(action: Action) -> str:
    value = str(action.metavar or (action.dest.upper() if action.nargs != 0 else ""))
    if action.choices and not action.metavar:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    word = " ".join(one for one in (*action.option_strings[:1], value) if one)
    return word if action.required else f"[{word}]"


def errors() -> str:
    """By status: the code, the usual sentence, and what to do."""
    found = sorted({(kind.status, kind.code, kind.title) for kind in all_errors()})
    rows = ([str(status), f"`{code}`", title, MEANINGS["errors"][code]] for status, code, title in found)
    return table(["status", "code", "title", "what to do"], rows)


def events() -> str:
    return table(["type", "what happened, and what `data` is"], [
        [f"`{name}`", MEANINGS["events"][name]] for name in EVENT_TYPES
    ])  # fmt: skip


def metrics() -> str:
    """What /metrics has, from the collector itself."""
    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0)
    rows = []
    for family in MetricsCollector().collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in getattr(family, "_labelnames", ()))
        rows.append([f"`{name}`", family.type, labels, family.documentation])
    return table(["metric", "type", "labels", "help"], sorted(rows))


def jobs() -> str:
    """The table of background jobs."""
    rows = []
    for job in JOBS:
        calls = f"{job.limit} ({job.per_party} of one {job.party})" if job.limit else ""
        lease = f"{job.lease.total_seconds():g} s" if job.lease else ""
        late = f"{job.late_after.total_seconds() / 60:g} min"
        lag = ", ".join(f"`{what}`" for what in job.lag)
        rows.append([f"`{job.name}`", job.work, f"{job.every:g} s", calls, lease, late, lag])
    return table(["job", "what it does", "every", "at a time", "lease", "late", "`what`"], rows)


def providers() -> str:
    """The catalogue."""
    rows = [
        [f"`{one.slug}`", one.name, one.kind, one.checked, ", ".join(f"`{named.name}`" for named in one.metadata)]
        for one in entries().values()
    ]
    return table(["preset", "name", "kind", "checked", "metadata"], sorted(rows))


def providers_checked() -> str:
    """How many entries there are by what was seen of them."""
    counts: Counter[tuple[str, str]] = Counter((one.kind, one.checked) for one in entries().values())
    kinds, checked = sorted({kind for kind, _ in counts}), ("document", "library", "unverified")
    rows = [[kind, *(str(counts[kind, what]) for what in checked)] for kind in kinds]
    sums = [sum(counts[kind, what] for kind in kinds) for what in checked]
    rows.append([f"all {sum(sums)}", *map(str, sums)])
    return table(["kind", *checked], rows)


def most_used() -> str:
    """What the entries of the most used providers say, and how many of them say it."""
    found = [entry for slug in MOST_USED if (entry := entries().get(slug))]
    known = [facts(entry) for entry in found]
    rows = [[f"`{entry.slug}`", *(_found(entry, fact) for fact in FACTS)] for entry in found]
    rows.append([f"{len(found)} of {len(MOST_USED)}", *(str(sum(one[fact] for one in known)) for fact in FACTS)])
    return f"{table(['provider', *FACTS], rows)}\n{answered(found)}\n"


def _found(entry: Entry, fact: str) -> str:
    if facts(entry)[fact]:
        return "yes"
    return "not documented" if fact in undocumented(entry) else ""


def decisions() -> str:
    """Every decision record, by its number."""
    lines = []
    for path in sorted((ROOT / "docs/adr").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"
